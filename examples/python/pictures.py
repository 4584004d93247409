"""Pictures of the examples: PGM files, which every viewer of pictures opens."""

from __future__ import annotations


def save_grid(images, columns: int, path: str) -> None:
    """Writes images [N, 1, height, width] with numbers from 0 to 1, `columns` of them in a row."""
    count, _, height, width = images.shape
    rows = count // columns
    sheet = images.reshape(rows, columns, height, width).transpose(1, 2)
    values = (sheet.reshape(rows * height, columns * width).clamp(0, 1) * 255).tolist()
    with open(path, "wb") as file:
        file.write(f"P5\n{columns * width} {rows * height}\n255\n".encode())
        for row in values:
            file.write(bytes(int(value) for value in row))
