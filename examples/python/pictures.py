"""Pictures of the examples: PGM files, which every viewer of pictures opens."""

from __future__ import annotations

import os
import sys

import dumbtorch as torch
from dumbtorch.utils.data import read_idx


def read_arguments(usage: str | None):
    """Of a program's arguments DIR [epochs] [folder for the pictures] [images]: the images in DIR,
    float32 from 0 to 255, the epochs (5) and the folder (.), which is made if need be."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    epochs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    folder = sys.argv[3] if len(sys.argv) > 3 else "."
    os.makedirs(folder, exist_ok=True)
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 60000
    images = read_idx(f"{sys.argv[1]}/train-images-idx3-ubyte.gz")[:count]
    return images.to(torch.float32), epochs, folder


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
