"""Every way to broadcast, against the loop one would write by hand (c/broadcast.c), on one core."""

from __future__ import annotations

from measure import Row, Target, Variant

# The pattern's name in c/broadcast.c and what is added to what.
PATTERNS = {
    "same": "[1024,1024] + [1024,1024]",
    "row_10": "[4096,10] + [10]",
    "row_1024": "[1024,1024] + [1024]",
    "column_1024": "[1024,1024] + [1024,1]",
    "column_4": "[65536,4] + [65536,1]",
    "outer": "[1024,1] + [1024]",
    "scalar": "[1024,1024] + [1]",
    "channel": "[64,16,784] + [16,1]",
    "middle": "[64,64,256] + [64,1,256]",
    "transposed": "[1024,1024].T + [1024,1024]",
}
SLOWER = 1.3  # how much slower than the direct loop we may be


def rows(machine) -> list[Row]:
    def case(name: str):
        return lambda seconds: machine.native.seconds(name, seconds)

    return [
        Row(
            "broadcast",
            text,
            Target(ratio=1 / SLOWER),
            Variant("dumbtorch", case(f"broadcast_{pattern}")),
            (Variant("direct loop", case(f"direct_{pattern}")),),
        )
        for pattern, text in PATTERNS.items()
    ]
