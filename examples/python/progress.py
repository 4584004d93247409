"""The progress bar of the examples: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time


def clear_progress() -> None:
    """Takes the bar off the line."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class ProgressBar:
    """A line on the error stream that is rewritten a few times a second and gone at the end."""

    def __init__(self, total: int):
        self.total, self.shown, self.line = total, 0.0, ""
        self.live = sys.stderr.isatty()

    def update(self, done: int, text: str = "") -> None:
        now = time.perf_counter()
        if not self.live or (done < self.total and now - self.shown < 0.1):
            return
        self.shown = now
        filled = 30 * done // self.total
        line = f"{'█' * filled}{'░' * (30 - filled)} {done}/{self.total} {text}"
        self.line = line if done < self.total else ""
        self._show()

    def write(self, text: str) -> None:
        """Prints a line, above the bar."""
        clear_progress()
        print(text, flush=True)
        if self.live:
            self._show()

    def _show(self) -> None:
        print(f"\r\033[K{self.line}", end="", file=sys.stderr, flush=True)
