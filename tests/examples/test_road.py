"""The programs of docs/learn.md in their small settings: the same output from Python and C, and what a
reader is promised to see. The numbers of the models are PyTorch's: `with_torch` runs the same source
on it."""

import collections
import gzip
import importlib.util
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import dumbtorch
import pytest
from building import BUILD, ROOT, needs, run
from dumbtorch.safetensors import load_file, save_file
from dumbtorch.utils.data import read_idx

PYTHON = ROOT / "examples" / "python"
DEVICE = os.environ.get("DT_TEST_DEVICE", "cpu")
C = BUILD / "examples" / "c"


def run_both(name: str, *arguments: object) -> str:
    """What the Python program prints, which must be what the C program prints."""
    printed = run(sys.executable, PYTHON / f"{name}.py", *arguments)
    assert run(C / name, *arguments) == printed
    return printed


def example(name: str) -> ModuleType:
    """The Python program as a module; `main` has not run."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", PYTHON / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_torch(name: str) -> ModuleType:
    """The same source, with PyTorch in dumbtorch's place."""
    pytest.importorskip("torch")
    source = (PYTHON / f"{name}.py").read_text()
    source = source.replace("import dumbtorch as torch", "import torch")
    source = source.replace("from dumbtorch", "from torch")
    module = ModuleType(f"torch_{name}")
    exec(compile(source, f"{name}.py on torch", "exec"), module.__dict__)
    return module


def same_weights(ours, theirs) -> None:
    """Gives PyTorch's module the weights of ours, which must have the same names."""
    import torch

    state = {name: torch.tensor(value.tolist()) for name, value in ours.state_dict().items()}
    theirs.load_state_dict(state)


def losses(torch, module, model, tokens: list, lr: float) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = module.loss_of(model, torch.tensor(tokens))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.fixture(scope="session")
def text_file(tmp_path_factory) -> Path:
    """A text that is easy to learn."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("To be, or not to be: that is the question.\n" * 100)
    return path


def test_tensors():
    printed = run_both("tensors")
    assert "tensor([[ 5., 14.],\n        [14., 50.]])" in printed


def test_autograd():
    printed = run_both("autograd")
    assert "TanhBackward0" in printed and "torch::autograd::AccumulateGrad" in printed
    assert "w and b: finite differences agree" in printed


def test_layers_by_hand():
    printed = run_both("layers_by_hand")
    assert printed.count("autograd agrees") == 4 and "DISAGREES" not in printed


def test_char_gpt(text_file):
    printed = run_both("char_gpt", text_file, 10)
    first, last = (float(line.split()[-1]) for line in printed.splitlines()[1:11:9])
    assert last < 0.8 * first
    assert len(printed.split("not seen ")[1].split("\n", 1)[1]) == 202


def on_a_terminal(*command: object) -> str:
    """What a program writes to a terminal, its errors among it."""
    ours, its = pty.openpty()
    with subprocess.Popen(list(map(str, command)), stdout=its, stderr=its):
        os.close(its)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            written = b""
            try:
                while some := terminal.read(65536):
                    written += some
            except OSError:  # EIO: the program has ended
                pass
    return written.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("language", ["python", "c"])
def test_lines_are_not_printed_behind_the_bar(language, text_file):
    """On a terminal the bar is off the line before another one is printed there, and gone at the end."""
    program = [sys.executable, PYTHON / "char_gpt.py"] if language == "python" else [C / "char_gpt"]
    shown = on_a_terminal(*program, text_file, 10)
    assert shown.count("█") > 10 and "░ 1/10 loss " in shown
    assert re.sub(r"[^\n]*\r\x1b\[K", "", shown) == run(*program, text_file, 10)


def test_char_gpt_learns_as_on_torch():
    torch = pytest.importorskip("torch")
    ours, theirs = example("char_gpt"), with_torch("char_gpt")
    dumbtorch.manual_seed(0)
    model, other = ours.CharGPT(20), theirs.CharGPT(20)
    same_weights(model, other)
    tokens = torch.randint(0, 20, (4, 65), generator=torch.Generator().manual_seed(0)).tolist()
    found = losses(dumbtorch, ours, model, tokens, 0.003)
    assert found == pytest.approx(losses(torch, theirs, other, tokens, 0.003), rel=1e-4)


@pytest.mark.parametrize("language", ["python", "c"])
def test_char_gpt_refuses_what_is_no_text(language, tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("too short")
    program = [sys.executable, PYTHON / "char_gpt.py"] if language == "python" else [C / "char_gpt"]
    result = subprocess.run([*map(str, program), str(short)], capture_output=True, text=True)
    assert result.returncode == 1 and "short.txt: " in result.stderr


@pytest.fixture(scope="session")
def names_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("names") / "names.txt"
    path.write_text("Emma\nOlivia\nAva\nIsabella\nSophia\nMia\nAmelia\nEvelyn\n" * 4)
    return path


def test_lstm_names(names_file):
    printed = run_both("lstm_names", names_file, 20).splitlines()
    assert printed[0] == "32 names" and len(printed) == 1 + 11 + 10
    assert float(printed[11].split()[-1]) < 0.8 * float(printed[1].split()[-1])


def test_lstm_names_learns_as_on_torch():
    torch = pytest.importorskip("torch")
    ours, theirs = example("lstm_names"), with_torch("lstm_names")
    dumbtorch.manual_seed(0)
    model, other = ours.Names(), theirs.Names()
    same_weights(model, other)
    tokens = ours.encode(["emma", "olivia", "ava", "isabella"]).tolist()
    found = losses(dumbtorch, ours, model, tokens, 0.005)
    assert found == pytest.approx(losses(torch, theirs, other, tokens, 0.005), rel=1e-4)


@pytest.mark.parametrize("language", ["python", "c"])
def test_lstm_names_says_which_name_is_wrong(language, tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("Emma\nMary-Ann\n")
    program = (
        [sys.executable, PYTHON / "lstm_names.py"] if language == "python" else [C / "lstm_names"]
    )
    result = subprocess.run([*map(str, program), str(file)], capture_output=True, text=True)
    assert result.returncode == 1 and "name 2 is not made of letters" in result.stderr


def run_each(name: str, tmp_path: Path, *arguments: object) -> str:
    """The same for a program that writes files: each language has a folder of its own, and leaves the
    same files there."""
    folders = [tmp_path / "python", tmp_path / "c"]
    for folder in folders:
        folder.mkdir()
    programs = ([sys.executable, PYTHON / f"{name}.py"], [C / name])
    printed = [
        run(*program, *(str(a).replace("OUT", str(folder)) for a in arguments))
        for program, folder in zip(programs, folders)
    ]
    assert printed[0] == printed[1]
    for file in filter(Path.is_file, folders[0].rglob("*")):
        twin = folders[1] / file.relative_to(folders[0])
        assert file.read_bytes() == twin.read_bytes(), file.name
    return printed[0]


def test_sales(tmp_path):
    printed = run_each("sales", tmp_path, "OUT/sales.tsv", 2, 4000)
    errors = [float(line.split()[-3]) for line in printed.splitlines()[1:]]
    assert len(errors) == 5 and max(errors[1:]) < errors[0]


@pytest.mark.parametrize("language", ["python", "c"])
def test_sales_says_what_is_wrong_with_a_line(language, tmp_path):
    run(C / "sales", tmp_path / "good.tsv", 1, 20)
    lines = (tmp_path / "good.tsv").read_text().splitlines()
    lines[7] = lines[7].replace(lines[7].split("\t")[5], "cheap")
    (tmp_path / "bad.tsv").write_text("\n".join(lines))
    program = [sys.executable, PYTHON / "sales.py"] if language == "python" else [C / "sales"]
    command = [*map(str, program), str(tmp_path / "bad.tsv")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "bad.tsv', line 8, column 6 'price': 'cheap' is no number" in result.stderr


def test_surrogate(tmp_path):
    printed = run_each("surrogate", tmp_path, 100, "OUT").splitlines()
    first, last = (float(printed[i].split()[-1]) for i in (0, 10))
    assert last < 0.1 * first
    assert float(printed[-1].split()[-1]) < 0.5


@needs("gfortran")
def test_surrogate_in_fortran(tmp_path):
    source = ROOT / "examples" / "fortran" / "surrogate.f90"
    printed = run(sys.executable, ROOT / "tests/fortran_program.py", source, 30, tmp_path)
    assert printed == run(C / "surrogate", 30, tmp_path)


def blocks(language: str, heading: str) -> list[str]:
    """The blocks of a language in a section of docs/learn.md."""
    section = (
        (ROOT / "docs" / "learn.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    )
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_the_pages_step_is_what_the_program_prints():
    assert "".join(blocks("text", "One step, number by number")) == run(C / "layers_by_hand")


def test_the_pages_graph_is_what_the_program_prints():
    printed = run(C / "autograd")
    graph, check = blocks("text", "The graph of a loss")
    assert printed.startswith(graph) and printed.endswith(check)


def test_the_pages_kernels_are_those_that_run():
    command = [C / "layers_by_hand"]
    environment = os.environ | {"DT_TRACE": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    ran = re.findall(r"^dumbtorch: run (\w+)", result.stderr, re.MULTILINE)
    names = blocks("trace", "The same step, seen from below")[0].split()
    assert ran[: len(names)] == names


def test_the_page_names_every_program():
    page = (ROOT / "docs" / "learn.md").read_text()
    programs = {path.stem for path in (ROOT / "examples" / "c").glob("*.c")}
    assert programs - {"predict"} == set(re.findall(r"`C/(\w+)", page))
    assert all(f"`PY/{name}.py" in page for name in programs - {"predict"})


@pytest.fixture(scope="session")
def images_folder(tmp_path_factory) -> Path:
    """MNIST's four files with pictures that are easy to tell apart: digit d is a bright row 2 d + 4."""
    folder = tmp_path_factory.mktemp("images")
    for part, count in (("train", 400), ("t10k", 100)):
        pictures = bytearray()
        for i in range(count):
            noise = random.Random(i)
            row = 2 * (i % 10) + 4
            for y in range(28):
                pictures += bytes(noise.randrange(60) + 190 * (y == row) for _ in range(28))
        sizes = struct.pack(">4i", 0x803, count, 28, 28), struct.pack(">2i", 0x801, count)
        labels = bytes(i % 10 for i in range(count))
        for name, data in (
            ("images-idx3", sizes[0] + pictures),
            ("labels-idx1", sizes[1] + labels),
        ):
            (folder / f"{part}-{name}-ubyte.gz").write_bytes(gzip.compress(data))
    return folder


def test_classifier(images_folder, tmp_path):
    """In one folder, which the first one makes: neither takes the other's checkpoint for its own."""
    folder = tmp_path / "new"
    printed = run(sys.executable, PYTHON / "classifier.py", images_folder, 3, folder)
    assert run(C / "classifier", images_folder, 3, folder) == printed
    lines = printed.splitlines()
    assert [line.split()[-1] for line in lines[:3]] == ["0.003000", "0.002250", "0.000750"]
    assert float(lines[2].split()[3]) < float(lines[0].split()[3])


@pytest.mark.parametrize("language", ["python", "c"])
def test_classifier_goes_on_as_if_it_had_not_stopped(language, images_folder, tmp_path):
    program = (
        [sys.executable, PYTHON / "classifier.py"] if language == "python" else [C / "classifier"]
    )
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole = run(*program, images_folder, 3, tmp_path / "whole")
    command = [*map(str, program), str(images_folder), "3", str(tmp_path / "cut")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()  # the first epoch has been saved
        process.kill()
    rest = run(*command)
    done = int(rest.split("going on after epoch ")[1].split()[0])
    assert rest.splitlines()[1:] == whole.splitlines()[done:]


def test_classifier_goes_on_for_more_epochs(images_folder, tmp_path):
    """By the schedule of the new number: that of the old one ends with a rate of 0."""
    for program in ([sys.executable, PYTHON / "classifier.py"], [C / "classifier"]):
        run(*program, images_folder, 2, tmp_path)
    printed = run_both("classifier", images_folder, 3, tmp_path).splitlines()
    assert printed[0] == "going on after epoch 2" and printed[1].endswith(" rate 0.000750")


def test_classifier_ends_quietly_by_ctrl_c(images_folder, tmp_path):
    command = [sys.executable, PYTHON / "classifier.py", images_folder, 9, tmp_path]
    with subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as a terminal's programs
    ) as process:
        process.stdout.readline()  # the first epoch has been saved
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said == "stopped: the same command goes on after the last whole epoch\n"
    assert "going on after epoch " in run(*command)


@pytest.mark.parametrize("language", ["python", "c"])
def test_classifier_stops_early(language, images_folder, tmp_path):
    """With 20 images there are 2 to judge by: soon nothing is better."""
    program = (
        [sys.executable, PYTHON / "classifier.py"] if language == "python" else [C / "classifier"]
    )
    printed = run(*program, images_folder, 12, tmp_path, 20)
    assert re.search(r"stopped: no better than \d+.00 % for 3 epochs\n", printed)


@pytest.fixture(scope="session")
def gpt2_folder(tmp_path_factory) -> Path:
    """Files as they are published for GPT-2, of a small model with random weights; the pairs are those that
    are most frequent in a text."""
    from dumbtorch.models import gpt2

    folder = tmp_path_factory.mktemp("gpt2")
    characters = list(example("bpe").printable_bytes().values())
    words = [list(word) for word in ("hello", "Ġhello", "Ġthere", "Ġthe", "Ġit", "llama")]
    merges = []
    for _ in range(12):
        counts = collections.Counter(pair for word in words for pair in zip(word, word[1:]))
        pair = counts.most_common(1)[0][0]
        merges.append(pair)
        words = [" ".join(w).replace(" ".join(pair), "".join(pair)).split(" ") for w in words]
    pieces = [*characters, *("".join(pair) for pair in merges), "<|endoftext|>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))  # with \u0120 escapes, as published
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    dumbtorch.manual_seed(0)
    model = gpt2(vocabulary=len(pieces), context=24, width=128, layers=2, heads=2)
    state = {f"transformer.{name}": value for name, value in model.state_dict().items()}
    state["transformer.h.0.attn.bias"] = dumbtorch.ones(1, 1, 24, 24).tril()
    save_file(state, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    "text", ["hello there, it's the  llama\n in 2026_!", "\n\n 'll Åse  ", "hellohello"]
)
def test_gpt2_writes(gpt2_folder, text):
    """C joins pairs in one walk through the file, Python by looking for the first pair each time."""
    bpe = example("bpe").BPE(gpt2_folder / "vocab.json", gpt2_folder / "merges.txt")
    tokens = bpe.encode(text)
    assert bpe.decode(tokens) == text.encode() and len(tokens) < len(text.encode())
    command = [str(C / "gpt2"), "write", str(gpt2_folder), text, "30"]
    in_c = subprocess.run(command, capture_output=True, check=True).stdout
    sys_path = [sys.executable, str(PYTHON / "gpt2.py"), *command[1:]]
    in_python = subprocess.run(sys_path, capture_output=True, check=True).stdout
    assert in_c.decode(errors="replace") == in_python.decode()
    numbers = " ".join(map(str, tokens))
    assert in_c.startswith(f"{len(tokens)} tokens: {numbers}\n".encode())


def test_gpt2_reads_pytorchs_file(gpt2_folder, tmp_path):
    """And says what is missing where there is neither."""
    program = [[str(C / "gpt2")], [sys.executable, str(PYTHON / "gpt2.py")]]
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(gpt2_folder / name, tmp_path)
    for command in program:
        given = [*command, "write", str(tmp_path), "hello", "5"]
        failed = subprocess.run(given, capture_output=True, text=True, check=False)
        assert failed.returncode and "has no model.safetensors and no pytorch_mod" in failed.stderr
    torch = pytest.importorskip("torch")
    state = load_file(gpt2_folder / "model.safetensors")
    state = {name: torch.from_numpy(x.numpy()) for name, x in state.items()}
    torch.save(state, tmp_path / "pytorch_model.bin")
    for command in program:
        printed = [
            subprocess.run(
                [*command, "write", str(folder), "hello", "5"], capture_output=True, check=True
            ).stdout
            for folder in (gpt2_folder, tmp_path)
        ]
        assert printed[0] == printed[1] != b""


def test_a_ready_made_gpt2_writes_what_the_lesson_does(gpt2_folder):
    """The tokens of `models` are the text of `gpt2`, whose network is written by hand in C."""
    bpe = example("bpe").BPE(gpt2_folder / "vocab.json", gpt2_folder / "merges.txt")
    text = "hello there"
    file = gpt2_folder / "model.safetensors"
    tokens = run_both("models", "write", file, 30, *bpe.encode(text)).split()
    assert len(tokens) == len(bpe.encode(text)) + 30
    command = [str(C / "gpt2"), "write", str(gpt2_folder), text, "30"]
    lesson = subprocess.run(command, capture_output=True, check=True).stdout
    assert lesson.split(b"\n", 1)[1] == bpe.decode(list(map(int, tokens))) + b"\n"


def test_a_ready_made_resnet_trains():
    losses = [float(line.split()[-1]) for line in run_both("models", "train", 8).splitlines()]
    assert len(losses) == 8 and losses[-1] < 0.5 * losses[0]


def test_the_tour_of_a_gpu_says_what_it_needs():
    if dumbtorch.cuda.is_available():
        pytest.skip("there is a GPU")
    printed = run_both("cuda_tour")
    assert printed == f"cuda_tour needs an NVIDIA GPU: {dumbtorch.cuda.why_unavailable()}\n"


@pytest.mark.skipif(DEVICE == "cpu", reason="DT_TEST_DEVICE=cuda runs this")
def test_the_tour_of_a_gpu():
    """Times and the table of kernels are each run's own; the rest is the same in both languages."""
    for program in ([sys.executable, PYTHON / "cuda_tour.py"], [C / "cuda_tour"]):
        tour, _, table = run(*program).partition("profile:")
        times = [float(x) for x in re.findall(r"([\d.]+) ms", tour)]
        assert len(times) == 7 and all(time > 0 for time in times)
        assert re.sub(r"[\d.]+ ms", "- ms", tour).splitlines() == [
            "order: calls return before the work is done",
            "  sent after - ms, done after - ms",
            "streams: 1000 ones times 1000 ones, and 1 = 1001",
            "  between the two events - ms",
            "copies: 64 MB to the GPU",
            "  ordinary memory - ms",
            "  page-locked memory - ms",
            "  they arrive: True",
            "capture: a step of training, one by one and as a graph",
            "  - ms and - ms",
            "  both learn the same: True",
        ]
        assert " the kernels of ten steps" in table and len(table.splitlines()) > 6


def test_gpt2_trains(tmp_path):
    file = tmp_path / "tokens.bin"
    file.write_bytes(struct.pack("<300H", *(i * 7 % 50 for i in range(300))))
    printed = run_both("gpt2", "train", 6, file, "tiny")
    losses = [float(line.split()[-1]) for line in printed.splitlines()[1:]]
    assert losses[-1] < losses[0] - 1
    assert run_both("gpt2", "train", 1, "random", "tiny").startswith("437888 parameters\n")


def test_gpt2_learns_as_on_torch():
    """The weights, gradients and steps of the architecture written in PyTorch's functions."""
    torch = pytest.importorskip("torch")
    import architectures
    from dumbtorch.models import gpt2

    dumbtorch.manual_seed(0)
    model = gpt2(vocabulary=50, context=16, width=32, layers=2, heads=4, dropout=0.0)
    weights = {n: torch.tensor(v.tolist()).requires_grad_() for n, v in model.state_dict().items()}
    tokens = torch.randint(0, 50, (2, 17), generator=torch.Generator().manual_seed(0))
    options = dict(lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    ours = dumbtorch.optim.AdamW(model.parameters(), **options)
    theirs = torch.optim.AdamW(weights.values(), **options)
    mine = dumbtorch.tensor(tokens.tolist())
    for _ in range(5):
        scores = model(mine[:, :-1]).flatten(0, 1)
        loss = dumbtorch.nn.functional.cross_entropy(scores, mine[:, 1:].flatten())
        expected = torch.nn.functional.cross_entropy(
            architectures.gpt2(weights, tokens[:, :-1], 2, 4).flatten(0, 1), tokens[:, 1:].flatten()
        )
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
        for optimizer, value in ((ours, loss), (theirs, expected)):
            optimizer.zero_grad()
            value.backward()
            optimizer.step()


def test_gpt2_refuses_another_checkpoint(gpt2_folder, tmp_path):
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(gpt2_folder / name, tmp_path)
    state = load_file(gpt2_folder / "model.safetensors")
    del state["transformer.ln_f.bias"]
    save_file(state, tmp_path / "model.safetensors")
    for program in ([sys.executable, str(PYTHON / "gpt2.py")], [str(C / "gpt2")]):
        command = [*program, "write", str(tmp_path), "hello"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 1 and '"ln_f.bias"' in result.stderr


def test_weights_of_something_else(gpt2_folder, tmp_path):
    """A file that no size of the network can be read from is refused in one line that says what it has not."""
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(gpt2_folder / name, tmp_path)
    file = tmp_path / "model.safetensors"
    save_file(dumbtorch.nn.Linear(3, 4).state_dict(), file)
    for name, *given in (("gpt2", tmp_path, "hello"), ("models", file, "3", "1")):
        for program in ([sys.executable, PYTHON / f"{name}.py"], [C / name]):
            command = [*map(str, program), "write", *map(str, given)]
            result = subprocess.run(command, capture_output=True, text=True)
            said = "the weights are no GPT-2's, which have wte.weight, wpe.weight and h.0.attn.c_attn.weight\n"
            assert (result.returncode, result.stderr) == (1, said), name


def picture(path: Path) -> list[bytes]:
    """The rows of a PNG file of bytes of grey, all of whose checksums must be right."""
    data, parts = path.read_bytes(), {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size) == (zlib.crc32(name + content),)
        parts[name] = content
        at += 12 + size
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"] and at == len(data)
    width, height, *kind = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert kind == [8, 0, 0, 0, 0]
    pixels = zlib.decompress(parts[b"IDAT"])
    assert len(pixels) == (width + 1) * height and not any(pixels[:: width + 1])
    return [pixels[at : at + width] for at in range(1, len(pixels), width + 1)]


def test_vae(images_folder, tmp_path):
    printed = run_each("vae", tmp_path, images_folder, 6, "OUT/pictures")
    losses = [float(line.split()[-1]) for line in printed.splitlines()]
    assert len(losses) == 6 and losses[-1] < 0.8 * losses[0]
    copies, samples = (
        picture(tmp_path / "c" / "pictures" / f"vae_{n}.png") for n in ("copies", "samples")
    )
    assert {(len(p), len(p[0])) for p in (copies, samples)} == {(224, 280)}
    images = read_idx(images_folder / "train-images-idx3-ubyte.gz")[:10]
    # The first ten images side by side; each was divided by 255 and multiplied with it again.
    shown = dumbtorch.tensor([list(row) for row in copies[:28]]).reshape(28, 10, 28).transpose(0, 1)
    assert (shown - images.to(shown.dtype)).abs().max().item() <= 1


def test_dcgan(images_folder, tmp_path):
    printed = run_each("dcgan", tmp_path, images_folder, 2, "OUT", 128)
    assert re.fullmatch(r"(epoch \d generator \d+\.\d{4} judge \d+\.\d{4}\n){2}", printed)
    drawn = picture(tmp_path / "c" / "dcgan.png")
    assert (len(drawn), len(drawn[0])) == (56, 280)


def test_matmul():
    """Speeds are not looked at; that the lesson's products are right is."""
    printed = run(C / "matmul", 96).splitlines()
    assert printed[0].startswith("96 x 96; the limit of one thread is ")
    ways = ["naive", "tiled", "vectorised", "library, one thread", "library, all threads"]
    assert [line[:28].strip() for line in printed[1:6]] == ways
    assert all(line.endswith("% of the limit  right") for line in printed[1:6])
    printed = run(sys.executable, PYTHON / "matmul.py", 48).splitlines()
    assert [line.split()[0] for line in printed[:4]] == ["naive", "by_element", "by_row", "library"]
    assert all(line.endswith("% right") for line in printed[:4])
