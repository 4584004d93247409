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
    events = [event for event in events if 5 in event]
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


def test_curves_of_the_new_style(written):
    def use(writer):
        writer.add_scalar("loss", 0.1, 3, None, True)
        writer.add_scalar("loss", dt.tensor(0.1).double(), 4, new_style=True, double_precision=True)

    single, double = (value for _, _, value in written(use))
    assert 2 not in single
    for value in (single, double):
        assert fields(fields(value[9][0])[1][0]) == {1: [b"scalars"]}
    assert fields(single[8][0]) == {1: [1], 5: [struct.pack("<f", 0.1)]}
    assert fields(double[8][0]) == {1: [2], 6: [struct.pack("<d", dt.tensor(0.1).item())]}


def test_a_run_that_goes_on(tmp_path):
    with SummaryWriter(tmp_path, "", 7, 10, 120, ".x") as writer:
        assert (writer.max_queue, writer.flush_secs, writer.filename_suffix) == (10, 120, ".x")
        writer.add_scalar("loss", 1.0, 7)
    (path,) = tmp_path.iterdir()
    _, version, start, event = map(fields, records(path))
    assert (version[2], version[3]) == ([7], [b"brain.Event:2"])
    assert (start[2], fields(start[7][0])) == ([7], {1: [1]})
    assert event[2] == [7]


def test_a_closed_writer_begins_another_file(tmp_path):
    writer = SummaryWriter(tmp_path, purge_step=3)
    writer.close()
    writer.close()
    writer.flush()
    (first,) = tmp_path.iterdir()
    writer.add_scalar("loss", 1.0, 5)
    writer.close()
    (second,) = set(tmp_path.iterdir()) - {first}
    assert [(step, tag) for step, tag, _ in values(second)] == [(5, "loss")]
    assert len(list(records(second))) == 2


def test_events_reach_the_file_in_time(tmp_path):
    writer = SummaryWriter(tmp_path, flush_secs=0)
    writer.add_scalar("loss", 1.0, 5)
    (path,) = tmp_path.iterdir()
    assert len(list(records(path))) == 2
    writer.close()


def growing():
    bounds = [1e-12 * 1.1**i for i in range(1000)]
    bounds = [b for b in bounds if b < 1e20]
    return np.array([-b for b in bounds[::-1]] + [0] + bounds)


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 10, [-1.0, 0.0, 0.5, 2.0]], ids=str)
def test_histograms(written, bins):
    x = np.sin(np.arange(1000.0)) * 0.9
    given = {} if bins == "tensorflow" else {"bins": bins}
    ((step, tag, value),) = written(lambda w: w.add_histogram("w", dt.from_numpy(x), 5, **given))
    histogram = fields(value[5][0])
    assert [histogram[i][0] for i in range(1, 6)] == pytest.approx(
        [x.min(), x.max(), 1000, x.sum(), (x * x).sum()]
    )
    counts, limits = np.histogram(x, growing() if bins == "tensorflow" else bins)
    full = counts.nonzero()[0]
    first, end = full[0], full[-1] + 1
    np.testing.assert_allclose(np.frombuffer(histogram[6][0]), limits[first : end + 1], 1e-9, 1e-12)
    wanted = np.concatenate([[0], counts])[first : end + 1]
    np.testing.assert_array_equal(np.frombuffer(histogram[7][0]), wanted)


def test_histograms_of_fewer_bins(written):
    x = np.arange(10.0)
    ((_, _, value),) = written(lambda w: w.add_histogram("w", x, bins=10, max_bins=3))
    histogram = fields(value[5][0])
    np.testing.assert_array_equal(np.frombuffer(histogram[7][0]), [0, 3, 3, 3, 1])
    np.testing.assert_allclose(np.frombuffer(histogram[6][0]), [0, 2.7, 5.4, 8.1, 9])


def test_histograms_of_what_is_not_finite(written):
    x = np.array([1.0, np.nan, 2.0, np.inf])
    ((_, _, value),) = written(lambda w: w.add_histogram("w", x, bins=[0.0, 1.5, 3.0]))
    np.testing.assert_array_equal(np.frombuffer(fields(value[5][0])[7][0]), [0, 1, 1])


def test_histograms_of_nothing(written):
    with pytest.raises(ValueError, match="The input has no element."):
        written(lambda w: w.add_histogram("none", []))
    with pytest.raises(ValueError, match="The histogram is empty"):
        written(lambda w: w.add_histogram("outside", [3.0], bins=[0.0, 1.0]))


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


def test_several_curves_in_one_picture(tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".x") as writer:
        for step in range(2):
            writer.add_scalars(
                "run/loss", {"train": step + 0.5, "test": dt.tensor(step + 2.0)}, step
            )
        writer.flush()
        assert writer.get_logdir() == str(tmp_path)
    folders = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    assert [folder.name for folder in folders] == ["run_loss_test", "run_loss_train"]
    for folder, first in zip(folders, (2.0, 0.5)):
        (path,) = folder.iterdir()
        assert path.name.endswith(".x")
        found = [(step, tag, value[2][0]) for step, tag, value in values(path)]
        assert found == [(step, "run/loss", first + step) for step in range(2)]


@pytest.mark.parametrize(("n", "wide"), [(10, 8), (3, 3)])
@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_several_pictures(written, order, n, wide):
    pil = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (10, 4, 5, 3), np.uint8)
    given = pixels if order == "NHWC" else pixels.transpose(0, 3, 1, 2).copy()
    one = pixels[0] if order == "NHWC" else given[0]

    def use(writer):
        writer.add_images("all", given[:n], 1, dataformats=order)
        writer.add_images("one", one, 1, dataformats=order[1:])

    (_, _, value), (_, _, single) = written(use)
    shown = [np.asarray(pil.open(io.BytesIO(fields(v[4][0])[4][0]))) for v in (value, single)]
    rows = -(-n // wide)
    assert shown[0].shape == (rows * 4, wide * 5, 3)
    for i in range(rows * wide):
        y, x = divmod(i, wide)
        wanted = pixels[i] if i < n else np.zeros_like(pixels[0])
        np.testing.assert_array_equal(shown[0][4 * y : 4 * y + 4, 5 * x : 5 * x + 5], wanted)
    np.testing.assert_array_equal(shown[1], pixels[0])


def test_pictures_of_other_dimensions(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="expected a NCHW tensor, NCHW or NHWC"):
            writer.add_images("flat", np.zeros((2, 3, 3)))


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        settings = {"lr": 0.5, "kind": "adam", "on": True, "none": None, "x": dt.tensor(2.0)}
        writer.add_hparams(settings, {"loss": 0.25}, {"kind": ["adam", "sgd"]}, "first", 3)
        both = "hparam_dict and metric_dict should be dictionary."
        same = r"parameter: hparam_domain_discrete\[a\] should be a list of same type as hparam_dict\[a\]."
        for said, *wrong in ((both, [], {}), (both, {}, []), (same, {"a": 1}, {}, {"a": ["b"]})):
            with pytest.raises(TypeError, match=said):
                writer.add_hparams(*wrong)
        with pytest.raises(ValueError, match="int, float, str, bool, or torch.Tensor"):
            writer.add_hparams({"a": [1]}, {})
    (path,) = (tmp_path / "first").iterdir()
    *contents, (step, tag, value) = values(path)
    assert (step, tag, value[2][0]) == (3, "loss", 0.25)
    found = {}
    for step, tag, value in contents:
        plugin = fields(fields(value[9][0])[1][0])
        assert step == 3 and plugin[1] == [b"hparams"]
        found |= {tag: fields(plugin[2][0])}
    experiment = fields(found["_hparams_/experiment"][2][0])
    kinds = [fields(info) for info in experiment[4]]
    assert [(k[1][0], k[4][0]) for k in kinds] == [(b"lr", 3), (b"kind", 1), (b"on", 3), (b"x", 3)]
    assert [fields(v)[3] for v in fields(kinds[1][5][0])[1]] == [[b"adam"], [b"sgd"]]
    assert fields(fields(experiment[5][0])[1][0])[2] == [b"loss"]
    entries = [fields(entry) for entry in fields(found["_hparams_/session_start_info"][3][0])[1]]
    said = {entry[1][0]: next(iter(fields(entry[2][0]).values()))[0] for entry in entries}
    assert said == {b"lr": 0.5, b"kind": b"adam", b"on": 1.0, b"x": 2.0}
    assert fields(found["_hparams_/session_end_info"][4][0]) == {1: [1]}


def test_what_is_not_written(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        assert not hasattr(writer, "add_graph")
        with pytest.raises(
            AttributeError, match="'add_figure': event files take scalars.*add_image"
        ):
            writer.add_figure("f", None)


def test_memory_of_the_cpu():
    before = dt.cpu.memory_allocated()
    x = dt.ones(100_000)
    assert dt.cpu.memory_allocated() >= before + 400_000
    assert dt.cpu.max_memory_allocated() >= dt.cpu.memory_allocated() <= dt.cpu.memory_reserved()
    del x
    dt.cpu.reset_peak_memory_stats()
    assert dt.cpu.max_memory_allocated() < before + 400_000
