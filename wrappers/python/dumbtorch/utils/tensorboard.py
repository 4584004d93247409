"""torch.utils.tensorboard: event files, which TensorBoard shows as curves, histograms, pictures and texts.

An event file is a row of records: the length of the data (8 bytes), its checksum, the data, and their checksum (4 bytes
each, little-endian). Checksums are CRC-32C, masked (`_masked`). The data are messages of protocol buffers, of which the
first says the file's version:

    Event    1: wall_time (double), 2: step (int64), 3: file_version (string), 5: summary (Summary),
             7: session_log {1: status (1: a start)}
    Summary  1: value (Value, repeated)
    Value    1: tag (string), 2: simple_value (float), 4: image (Image), 5: histo (Histogram), 8: tensor (Tensor),
             9: metadata (Metadata)
    Image    1: height, 2: width, 3: colorspace (channels), 4: encoded_image_string (a PNG file)
    Histogram  1: min, 2: max, 3: num, 4: sum, 5: sum_squares (doubles), 6: bucket_limit, 7: bucket (packed doubles)
    Tensor   1: dtype (1: floats, 2: doubles, 7: strings), 2: shape {2: {1: size}}, 5: float_val, 6: double_val
             (packed), 8: string_val (bytes, repeated)
    Metadata 1: plugin {1: name (string), 2: content (bytes)}

Hyperparameters are the content of three values without numbers (`_hyperparameters`): of messages

    Content  2: Experiment, 3: Start, 4: end {1: status (1: a success)}
    Experiment  4: hyperparameter {1: name, 4: type (1: string, 3: number), 5: values {1: Value}}, repeated;
                5: metric {1: {2: tag}}, repeated
    Start    1: {1: name, 2: Value}, repeated
    Value    2: number (double), 3: string
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
import zlib

from .. import _missing, _ops, as_tensor
from .._tensor_type import TensorBase
from .._types import float64

__getattr__ = _missing.getattr_of(__name__)

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


def _ordered(x, dataformats: str, known: tuple[str, ...]):
    """A picture, or several, if there are as many dimensions as letters."""
    if dataformats not in known or x.ndim != len(dataformats):
        orders = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ValueError(f"expected a {dataformats} tensor, {orders}; got {tuple(x.shape)}")
    return x


def _growing_bounds() -> list[float]:
    bounds, bound = [], 1e-12
    while bound < 1e20:
        bounds.append(bound)
        bound *= 1.1
    return [*(-b for b in reversed(bounds)), 0.0, *bounds]


def _histogram(x, bins, max_bins) -> tuple[list, list]:
    """The upper bounds of bins and how many elements lie in each, from one without elements before the first that has
    some to the last that has."""
    if isinstance(bins, str) and bins != "tensorflow":
        import numpy

        bins = numpy.histogram_bin_edges(x.numpy(), bins).tolist()
    bins = _growing_bounds() if isinstance(bins, str) else bins
    bins = bins if isinstance(bins, int) else as_tensor(bins, dtype=float64, device="cpu")
    found, bounds = _ops.histogram(x, bins)
    counts, bounds = found.tolist(), bounds.tolist()
    if max_bins is not None and len(counts) > max_bins:
        each = len(counts) // max_bins
        counts = [sum(counts[i : i + each]) for i in range(0, len(counts), each)]
        bounds = [*bounds[:-1:each], bounds[-1]]
    full = [i for i, n in enumerate(counts) if n]
    if not full:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, end = full[0], full[-1] + 1
    return bounds[first : end + 1], [0.0, *counts][first : end + 1]


def _hyperparameters(given: dict, metrics: dict, domains: dict) -> dict[str, bytes]:
    """The contents of the three values that hyperparameters are, by tag."""
    if type(given) is not dict or type(metrics) is not dict:
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    experiment, start = b"", b""
    for name, value in given.items():
        if value is None:
            continue
        possible, domain = domains.get(name, []), b""
        if not isinstance(possible, list) or not all(isinstance(p, type(value)) for p in possible):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
        if possible:
            domain = _bytes(5, b"".join(_bytes(1, _setting(p)) for p in possible))
        kind = _whole(4, 1 if isinstance(value, str) else 3)
        experiment += _bytes(4, _bytes(1, name.encode()) + kind + domain)
        start += _bytes(1, _bytes(1, name.encode()) + _bytes(2, _setting(value)))
    for name in metrics:
        experiment += _bytes(5, _bytes(1, _bytes(2, name.encode())))
    ends = {"experiment": _bytes(2, experiment), "session_start_info": _bytes(3, start)}
    return ends | {"session_end_info": _bytes(4, _whole(1, 1))}


def _setting(value) -> bytes:
    if isinstance(value, str):
        return _bytes(3, value.encode())
    if not isinstance(value, (int, float, TensorBase)):
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    return _double(2, float(value))


class SummaryWriter:
    """Writes what a training does into a folder, of which `tensorboard --logdir` shows the pictures:

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

    What is there of `purge_step` and later steps is hidden. Events reach the file after `flush_secs` at the latest,
    when another one is added; `max_queue` changes nothing.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        log_dir=None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ):
        host = socket.gethostname()
        if log_dir is None:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + host + comment)
        self.log_dir, self.filename_suffix = os.fspath(log_dir), filename_suffix
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self._open()

    def _open(self) -> None:
        """Begins a file, whose first event is the format's version."""
        self._others: dict[str, SummaryWriter] = {}  # by folder: a curve of several in one picture
        os.makedirs(self.log_dir, exist_ok=True)
        host = socket.gethostname()
        name = f"events.out.tfevents.{int(time.time()):010d}.{host}.{os.getpid()}.{next(self._numbers)}"
        self._file = open(os.path.join(self.log_dir, name + self.filename_suffix), "xb")
        self._flushed = time.time()
        self._write(_bytes(3, b"brain.Event:2"))
        if self.purge_step is not None:
            self._write(_bytes(3, b"brain.Event:2"), self.purge_step)
            self._write(_bytes(7, _whole(1, 1)), self.purge_step)
            self.purge_step = None

    def _write(self, event: bytes, global_step=None, walltime=None) -> None:
        now = time.time()
        head = _double(1, now if walltime is None else walltime)
        head += b"" if global_step is None else _whole(2, int(global_step))
        self._file.write(_record(head + event))
        if now - self._flushed > self.flush_secs:
            self.flush()

    def _add(self, tag: str, value: bytes, global_step, walltime) -> None:
        if self._file.closed:
            self._open()
        summary = _bytes(1, _bytes(1, tag.encode()) + value)
        self._write(_bytes(5, summary), global_step or 0, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A point of a curve; in the new style as a tensor, which may have double precision."""
        x = float(scalar_value)
        value = _float(2, x)
        if new_style:
            kind, field, code = (2, 6, "<d") if double_precision else (1, 5, "<f")
            tensor = _whole(1, kind) + _bytes(field, struct.pack(code, x))
            value = _bytes(8, tensor) + _bytes(9, _bytes(1, _bytes(1, b"scalars")))
        self._add(tag, value, global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict, global_step=None, walltime=None) -> None:
        """Points of several curves in one picture, each in a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self._others:
                self._others[folder] = SummaryWriter(
                    folder, flush_secs=self.flush_secs, filename_suffix=self.filename_suffix
                )
            self._others[folder].add_scalar(main_tag, value, global_step, walltime)

    def add_hparams(
        self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None
    ) -> None:
        """Hyperparameters and what came of them, in a folder of their own."""
        contents = _hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete or {})
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for tag, content in contents.items():
                plugin = _bytes(1, b"hparams") + _bytes(2, content)
                writer._add(f"_hparams_/{tag}", _bytes(9, _bytes(1, plugin)), global_step, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_histogram(
        self, tag: str, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ) -> None:
        """How often numbers between two bounds occur among the values. `bins`: how many equal ones, their bounds,
        "tensorflow" for bounds that grow by a tenth, or a word of NumPy's; some beside each other become one where
        there are more than `max_bins`.
        """
        x = _tensor(values).double().flatten()
        if not x.numel():
            raise ValueError("The input has no element.")
        limits, counts = _histogram(x, bins, max_bins)
        numbers = (x.min().item(), x.max().item(), x.numel(), x.sum().item(), (x * x).sum().item())
        fields = b"".join(_double(i + 1, n) for i, n in enumerate(numbers))
        fields += _doubles(6, limits) + _doubles(7, counts)
        self._add(tag, _bytes(5, fields), global_step, walltime)

    def add_image(
        self, tag: str, img_tensor, global_step=None, walltime=None, dataformats: str = "CHW"
    ) -> None:
        """A picture of 1, 3 or 4 channels: floats from 0 to 1, or uint8. `dataformats`: CHW, HWC or HW."""
        x = _ordered(_tensor(img_tensor), dataformats, ("CHW", "HWC", "HW"))
        x = x.permute(1, 2, 0) if dataformats == "CHW" else x.unsqueeze(-1) if x.ndim == 2 else x
        self._add_picture(tag, x, global_step, walltime)

    def add_images(
        self, tag: str, img_tensor, global_step=None, walltime=None, dataformats: str = "NCHW"
    ) -> None:
        """Pictures as one, in rows of eight. `dataformats`: NCHW, NHWC, or that of add_image."""
        x = _tensor(img_tensor)
        if "N" not in dataformats:
            return self.add_image(tag, x, global_step, walltime, dataformats)
        x = _ordered(x, dataformats, ("NCHW", "NHWC"))
        x = x if dataformats == "NHWC" else x.permute(0, 2, 3, 1)
        count, height, width, channels = x.shape
        columns = min(count, 8)
        rows = -(-count // columns)
        canvas = x.new_zeros(rows * columns, height, width, channels)
        canvas[:count] = x
        canvas = canvas.reshape(rows, columns, height, width, channels).transpose(1, 2)
        canvas = canvas.reshape(rows * height, columns * width, channels)
        return self._add_picture(tag, canvas, global_step, walltime)

    def _add_picture(self, tag: str, x, global_step, walltime) -> None:
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

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def flush(self) -> None:
        """What was added is in the files."""
        for writer in self._others.values():
            writer.flush()
        if not self._file.closed:
            self._file.flush()
            self._flushed = time.time()

    def close(self) -> None:
        """Ends the file; what is added later goes into another one."""
        for writer in self._others.values():
            writer.close()
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.close()


_missing.install(SummaryWriter, _missing.OF_WRITERS)
