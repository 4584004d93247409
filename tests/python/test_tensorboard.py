"""Event files, read by a decoder of their own: checksums by long division, messages field by field."""

import io
import struct

import dumbtorch as dt
import numpy as np
import pytest
from dumbtorch.utils.tensorboard import SummaryWriter


def crc32c(data):
    """The remainder of a division of polynomials, bit by bit (RFC 3720, appendix B.4)."""
    remainder = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            top = (remainder ^ byte >> bit) & 1
            remainder = remainder >> 1 ^ (0x82F63B78 if top else 0)
    return remainder ^ 0xFFFFFFFF


def unmasked(four):
    rotated = (struct.unpack("<I", four)[0] - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated << 15 | rotated >> 17) & 0xFFFFFFFF


def records(path):
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert unmasked(data[8:12]) == crc32c(data[:8])
        record, check = data[12 : 12 + length], data[12 + length : 16 + length]
        assert len(record) == length and unmasked(check) == crc32c(record)
        yield record
        data = data[16 + length :]


def fields(message):
    """{field: [values]}: numbers, or bytes of what has a length."""
    found, stream = {}, io.BytesIO(message)

    def varint():
        n = shift = 0
        while True:
            byte = stream.read(1)[0]
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while stream.tell() < len(message):
        key = varint()
        read = {
            0: varint,
            1: lambda: struct.unpack("<d", stream.read(8))[0],
            2: lambda: stream.read(varint()),
            5: lambda: struct.unpack("<f", stream.read(4))[0],
        }[key & 7]
        found.setdefault(key >> 3, []).append(read())
    return found


def values(path):
    """(step, tag, fields of the value) of each event but the first."""
    first, *events = map(fields, records(path))
    assert first[3] == [b"brain.Event:2"] and first[1][0] > 1e9
    for event in events:
        ((value,),) = fields(event[5][0]).values()
        value = fields(value)
        yield event[2][0], value.pop(1)[0].decode(), value


@pytest.fixture
def written(tmp_path):
    def write(use):
        with SummaryWriter(tmp_path / "run") as writer:
            use(writer)
        (path,) = (tmp_path / "run").iterdir()
        assert path.name.startswith("events.out.tfevents.")
        return list(values(path))

    return write


def test_the_checksum_is_the_published_one():
    """RFC 3720's examples, and the first bytes that every event file has."""
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(bytes(range(32))) == 0x46DD794E


def test_the_first_record(tmp_path):
    SummaryWriter(tmp_path).close()
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    assert data[:12] == bytes.fromhex("18 00000000000000 a37f4b22".replace(" ", ""))


def test_curves(written):
    def use(writer):
        writer.add_scalar("loss", 0.5, 3, walltime=7.0)
        writer.add_scalar("Straße", dt.tensor(-1.25), 1 << 40)
        writer.add_scalar("at the beginning", float("inf"))

    expected = [(3, "loss", 0.5), (1 << 40, "Straße", -1.25), (0, "at the beginning", float("inf"))]
    assert [(step, tag, v[2][0]) for step, tag, v in written(use)] == expected


def test_histograms(written):
    x = np.sin(np.arange(1000.0))
    found = written(
        lambda w: (w.add_histogram("w", x, 5, bins=10), w.add_histogram("one", dt.ones(3)))
    )
    histogram = fields(found[0][2][5][0])
    assert [histogram[i][0] for i in range(1, 6)] == pytest.approx(
        [x.min(), x.max(), 1000, x.sum(), (x * x).sum()]
    )
    counts, limits = np.histogram(x, 10)
    np.testing.assert_allclose(np.frombuffer(histogram[6][0]), limits[1:])
    np.testing.assert_array_equal(np.frombuffer(histogram[7][0]), counts)
    one = fields(found[1][2][5][0])
    counts, limits = np.frombuffer(one[7][0]), np.frombuffer(one[6][0])
    (place,) = counts.nonzero()[0]
    assert counts.sum() == 3 and limits[place] >= 1 and limits[place] - 1 < 0.1
    with pytest.raises(ValueError, match="there and finite"):
        written(lambda w: w.add_histogram("bad", [1.0, float("nan")]))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_pictures(written, channels):
    pil = pytest.importorskip("PIL.Image")
    pixels = np.arange(5 * 7 * channels).reshape(5, 7, channels).astype(np.uint8) * 2
    floats = dt.from_numpy(pixels.transpose(2, 0, 1).copy()).float() / 255 + 0.001

    def use(writer):
        writer.add_image("whole", pixels, 1, dataformats="HWC")
        writer.add_image("floats", floats, 2)
        if channels == 1:
            writer.add_image("flat", pixels[:, :, 0], 3, dataformats="HW")

    for _, _, value in written(use):
        image = fields(value[4][0])
        assert [image[i][0] for i in (1, 2, 3)] == [5, 7, channels]
        shown = np.asarray(pil.open(io.BytesIO(image[4][0]))).reshape(pixels.shape)
        np.testing.assert_array_equal(shown, pixels)
    with pytest.raises(ValueError, match="expected 1, 3 or 4 channels, got 2"):
        written(lambda w: w.add_image("two", np.zeros((2, 3, 3))))


def test_texts(written):
    ((step, tag, value),) = written(lambda w: w.add_text("note", "**grün**", 4))
    tensor = fields(value[8][0])
    assert (step, tag, tensor[1], tensor[8]) == (4, "note/text_summary", [7], ["**grün**".encode()])
    assert fields(fields(value[9][0])[1][0]) == {1: [b"text"]}


def test_memory_of_the_cpu():
    before = dt.cpu.memory_allocated()
    x = dt.ones(100_000)
    assert dt.cpu.memory_allocated() >= before + 400_000
    assert dt.cpu.max_memory_allocated() >= dt.cpu.memory_allocated() <= dt.cpu.memory_reserved()
    del x
    dt.cpu.reset_peak_memory_stats()
    assert dt.cpu.max_memory_allocated() < before + 400_000
