"""torch.utils.tensorboard: event files, which TensorBoard shows as curves, histograms, pictures and texts.

An event file is a row of records: the length of the data (8 bytes), its checksum, the data, and their checksum (4 bytes
each, little-endian). Checksums are CRC-32C, masked (`_masked`). The data are messages of protocol buffers, of which the
first says the file's version:

    Event    1: wall_time (double), 2: step (int64), 3: file_version (string), 5: summary (Summary)
    Summary  1: value (Value, repeated)
    Value    1: tag (string), 2: simple_value (float), 4: image (Image), 5: histo (Histogram), 8: tensor (Tensor),
             9: metadata (Metadata)
    Image    1: height, 2: width, 3: colorspace (channels), 4: encoded_image_string (a PNG file)
    Histogram  1: min, 2: max, 3: num, 4: sum, 5: sum_squares (doubles), 6: bucket_limit, 7: bucket (packed doubles)
    Tensor   1: dtype (7: strings), 2: shape {2: {1: size}}, 8: string_val (bytes, repeated)
    Metadata 1: plugin {1: name (string)}
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
import zlib

from .. import _ops, as_tensor
from .._tensor_type import TensorBase

__all__ = ["SummaryWriter"]


# ---- records


def _crc_table() -> list[int]:
    """What each byte does to a CRC-32C (Castagnoli's polynomial, bits reversed)."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    """A checksum that may itself be part of data that is checked."""
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


# ---- messages


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1  # negative numbers are ten bytes
    parts = []
    while n > 0x7F:
        parts.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*parts, n])


def _whole(field: int, n: int) -> bytes:
    return _varint(field << 3) + _varint(n)


def _double(field: int, x: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", x)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _float(field: int, x: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def _doubles(field: int, numbers) -> bytes:
    return _bytes(field, struct.pack(f"<{len(numbers)}d", *numbers))


def _png(rows: list[bytes], width: int, channels: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, len(rows), 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def _tensor(x):
    x = x.detach() if isinstance(x, TensorBase) else as_tensor(x)
    return x.cpu()


class SummaryWriter:
    """Writes what a training does into a folder, of which `tensorboard --logdir` shows the pictures:

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)
    """

    _numbers = itertools.count()

    def __init__(self, log_dir=None, comment: str = "", *, filename_suffix: str = ""):
        host = socket.gethostname()
        if log_dir is None:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + host + comment)
        self.log_dir = os.fspath(log_dir)
        os.makedirs(self.log_dir, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{host}.{os.getpid()}.{next(self._numbers)}"
        self._file = open(os.path.join(self.log_dir, name + filename_suffix), "xb")
        self._file.write(_record(_double(1, time.time()) + _bytes(3, b"brain.Event:2")))

    def _add(self, tag: str, value: bytes, global_step, walltime) -> None:
        event = _double(1, time.time() if walltime is None else walltime)
        event += _whole(2, int(global_step or 0))
        self._file.write(_record(event + _bytes(5, _bytes(1, _bytes(1, tag.encode()) + value))))

    def add_scalar(self, tag: str, scalar_value, global_step=None, walltime=None) -> None:
        """A point of a curve."""
        self._add(tag, _float(2, float(scalar_value)), global_step, walltime)

    def add_histogram(
        self, tag: str, values, global_step=None, bins: int = 64, walltime=None
    ) -> None:
        """How often numbers between two bounds occur among the values."""
        x = _tensor(values).double().flatten()
        if not x.numel() or not x.isfinite().all():
            raise ValueError("expected values that are there and finite")
        low, high = x.min().item(), x.max().item()
        counts = _ops.histc(x, bins, low, high).tolist()
        width = ((high - low) or 2.0) / bins
        start = low if high > low else low - 1  # as histc widens an empty range
        limits = [start + width * (i + 1) for i in range(bins)]
        numbers = (low, high, x.numel(), x.sum().item(), (x * x).sum().item())
        fields = b"".join(_double(i + 1, n) for i, n in enumerate(numbers))
        fields += _doubles(6, limits) + _doubles(7, counts)
        self._add(tag, _bytes(5, fields), global_step, walltime)

    def add_image(
        self, tag: str, img_tensor, global_step=None, walltime=None, dataformats: str = "CHW"
    ) -> None:
        """A picture of 1, 3 or 4 channels: floats from 0 to 1, or uint8. `dataformats`: CHW, HWC or HW."""
        x = _tensor(img_tensor)
        if dataformats not in ("CHW", "HWC", "HW") or x.ndim != len(dataformats):
            raise ValueError(
                f"expected a {dataformats} tensor, CHW, HWC or HW; got {tuple(x.shape)}"
            )
        x = x.permute(1, 2, 0) if dataformats == "CHW" else x.unsqueeze(-1) if x.ndim == 2 else x
        height, width, channels = x.shape
        if channels not in (1, 3, 4):
            raise ValueError(f"expected 1, 3 or 4 channels, got {channels}")
        if x.is_floating_point():
            x = (x * 255).clamp(0, 255)
        pixels = bytes(itertools.chain.from_iterable(x.reshape(height, -1).int().tolist()))
        rows = [pixels[i * width * channels : (i + 1) * width * channels] for i in range(height)]
        fields = _whole(1, height) + _whole(2, width) + _whole(3, channels)
        self._add(
            tag, _bytes(4, fields + _bytes(4, _png(rows, width, channels))), global_step, walltime
        )

    def add_text(self, tag: str, text_string: str, global_step=None, walltime=None) -> None:
        """A text, in Markdown."""
        shape = _bytes(2, _bytes(2, _whole(1, 1)))
        tensor = _bytes(8, _whole(1, 7) + shape + _bytes(8, text_string.encode()))
        metadata = _bytes(9, _bytes(1, _bytes(1, b"text")))
        self._add(tag + "/text_summary", tensor + metadata, global_step, walltime)

    def flush(self) -> None:
        """What was added is in the file."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.close()
