"""Pictures of the examples: PNG files, which browsers, editors and viewers of pictures open."""

from __future__ import annotations

import os
import struct
import sys
import zlib

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


def chunk(name: bytes, content: bytes) -> bytes:
    """A part of a PNG file: its length, its name, what it holds, and the checksum of both."""
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def png(rows: list[bytes], width: int) -> bytes:
    """The file of a picture whose pixels are bytes from black, 0, to white, 255. Nothing is compressed, so that the
    program in C, which has no zlib, writes the same: each row is a stored block, and begins with 0, for no filter."""
    content = b"\x78\x01"
    for number, row in enumerate(rows, 1):
        stored = width + 1
        content += struct.pack("<BHH", number == len(rows), stored, 0xFFFF - stored) + b"\0" + row
    content += struct.pack(">I", zlib.adler32(b"".join(b"\0" + row for row in rows)))
    header = struct.pack(
        ">IIBBBBB", width, len(rows), 8, 0, 0, 0, 0
    )  # 8 bits for each pixel, of grey
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", content)
        + chunk(b"IEND", b"")
    )


def save_grid(images, columns: int, path: str) -> None:
    """Writes images [N, 1, height, width] with numbers from 0 to 1, `columns` of them in a row."""
    count, _, height, width = images.shape
    rows = count // columns
    sheet = images.reshape(rows, columns, height, width).transpose(1, 2)
    values = (sheet.reshape(rows * height, columns * width).clamp(0, 1) * 255).tolist()
    with open(path, "wb") as file:
        file.write(png([bytes(int(value) for value in row) for row in values], columns * width))
