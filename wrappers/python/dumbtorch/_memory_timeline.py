"""A picture of the memory that is in use while a program runs, as the profiler saw it: SVG, which browsers show."""

from __future__ import annotations

from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 400, 90, 20, 40, 40
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def _bytes(n: float) -> str:
    size, unit = next(((s, u) for s, u in UNITS if n >= s), UNITS[-1])
    return f"{n / size:.4g} {unit}"


def svg(events) -> str:
    """Steps of the memory after each activity, and the op after which the most was in use."""
    points = sorted((e.time_range.end, e.memory_allocated, e.name) for e in events)
    if not points or not any(used for _, used, _ in points):
        raise ValueError("no activity has a size of memory: profile with profile_memory=True")
    begin, end = min(e.time_range.start for e in events), points[-1][0]
    at, most, name = max(points, key=lambda p: p[1])

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (time - begin) / max(end - begin, 1e-9)

    def y(used: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * used / most

    def text(across: float, down: float, words: str, anchor: str = "middle") -> str:
        return (
            f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    path = f"M{x(begin):.1f} {y(0):.1f}" + "".join(
        f"H{x(time):.1f}V{y(used):.1f}" for time, used, _ in points
    )
    parts = [
        f'<path d="{path}V{y(0):.1f}Z" fill="lightsteelblue" stroke="steelblue"/>',
        f'<circle cx="{x(at):.1f}" cy="{y(most):.1f}" r="4" fill="crimson"/>',
        text(WIDTH / 2, TOP - 16, f"most in use: {_bytes(most)}, after {name}"),
    ]
    for i in range(5):
        used, time = most * i / 4, begin + (end - begin) * i / 4
        parts.append(text(LEFT - 8, y(used) + 4, _bytes(used), "end"))
        parts.append(text(x(time), HEIGHT - BOTTOM + 18, f"{(time - begin) / 1e3:.4g} ms"))
        parts.append(
            f'<path d="M{LEFT} {y(used):.1f}H{WIDTH - RIGHT}" stroke="gray" stroke-opacity="0.3"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
