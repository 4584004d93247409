"""Would the tests notice a wrong formula? `make mutate` corrupts the schema's, one at a time.

Each mutant is a copy of the sources with one formula changed (a sign, a function, a constant), its
generated files written anew, built, and put to the tests of its op, which take seconds. Those that
these do not notice are suspects: at the end they are put to all Python tests, which take minutes. A
mutant that no test notices has survived; more than 5 % of survivors is a failure.

    make mutate ARGS="--count 100 --seed 1"     a sample of 100 (default: 40)
    make mutate ARGS="--only gelu_erf"          every mutant of one op
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = Path("capi", "schema")
TREE = ROOT / "build-mutate" / "tree"
BUILD = TREE / "build"
MAX_SURVIVORS = 0.05
# All that a formula can break. The C and C++ programs, which call the same library, are not built.
TARGETS = ("dumbtorch", "dt_python_native", "dt_python_tensor_type")
OP_ROWS = "tests/python/ops/test_ops.py"
ALL_TESTS = ("tests/python", "tests/conformance/test_python.py")
LIMIT_S = 1800  # of a command: a mutant may make a test run forever
PYTEST_USAGE_ERROR, PYTEST_NONE_SELECTED = 4, 5

# What can be done to a formula: a pattern, and what each match is replaced by. Every row changes
# the meaning for ordinary inputs, so a mutant that survives is a gap in the tests, not a formula
# that says the same thing.
SWAPS = {
    "abs": "square",
    "ceil": "floor",
    "cos": "sin",
    "div_floor": "div_trunc",
    "div_trunc": "div_floor",
    "eq": "ne",
    "erf": "tanh",
    "exp": "cos",
    "expm1": "exp",
    "floor": "ceil",
    "ge": "lt",
    "gt": "le",
    "isfinite": "isinf",
    "isinf": "isfinite",
    "le": "gt",
    "log": "sqrt",
    "log1p": "exp",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "logsigmoid": "sigmoid",
    "lt": "ge",
    "maximum": "minimum",
    "minimum": "maximum",
    "modulo": "div_trunc",
    "ne": "eq",
    "pow": "maximum",
    "round": "trunc",
    "rsqrt": "sqrt",
    "sigmoid": "tanh",
    "sign": "abs",
    "sin": "cos",
    "sqrt": "rsqrt",
    "tanh": "sigmoid",
    "trunc": "round",
    "zeros_like": "conj",
}
MUTATIONS = [
    (re.compile(r"(?<= )\+(?= )"), lambda m: "-"),
    (re.compile(r"(?<= )-(?= )"), lambda m: "+"),
    (re.compile(r"(?<= )\*(?= )"), lambda m: "+"),
    (re.compile(r"(?<= )/(?= )"), lambda m: "*"),
    (re.compile(r"(?<= )[&^](?= )"), lambda m: "|"),
    (re.compile(r"(?<= )\|(?= )"), lambda m: "&"),
    (re.compile(r"[!~](?=[a-z])"), lambda m: ""),
    (re.compile(r"(\w+) : (\w+)"), lambda m: f"{m[2]} : {m[1]}"),
    (re.compile(r"(?<![\w)(]) ?-(?=[a-z(])"), lambda m: ""),
    (re.compile(r"\bT\((-?[\d.]+)\)"), lambda m: f"T({float(m[1]) + 1:g})"),
    (re.compile(r"\b(" + "|".join(SWAPS) + r")(?=\()"), lambda m: SWAPS[m[1]]),
]
HEADING = re.compile(r"^\[fn\.(\w+)\]")
FORMULA = re.compile(r'^(y|grad\.\w+|let\.\w+) *= *"([^"]+)"')


@dataclass(frozen=True)
class Mutant:
    path: Path  # relative to the root
    line: int  # counted from 0
    op: str
    public: str  # the op itself, or the public function that it is a part of
    key: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.op} {self.key}: {self.before}  ->  {self.after}"


def mutations_of(formula: str) -> set[str]:
    results = set()
    for pattern, replacement in MUTATIONS:
        for match in pattern.finditer(formula):
            results.add(formula[: match.start()] + replacement(match) + formula[match.end() :])
    return results - {formula}


def public_name(op: str, row: dict, public: set[str]) -> str:
    """The function whose tests come first. The documentation of a private op begins with it."""
    if op in public:
        return op
    name = re.match(r"\w+", row["doc"])[0]
    if name not in public:
        raise ValueError(f"the doc of {op}, which is private, must begin with its public function")
    return name


def all_mutants() -> list[Mutant]:
    texts = {path: path.read_text() for path in sorted((ROOT / SCHEMA).glob("*.toml"))}
    rows = {}
    for text in texts.values():
        rows |= tomllib.loads(text).get("fn", {})
    public = {op for op, row in rows.items() if row.get("public", True)}

    mutants = []
    for path, text in texts.items():
        op = ""
        for number, line in enumerate(text.splitlines()):
            if heading := HEADING.match(line):
                op = heading[1]
            elif op and (found := FORMULA.match(line)):
                key, formula = found.groups()
                where = (path.relative_to(ROOT), number, op, public_name(op, rows[op], public))
                mutants += [
                    Mutant(*where, key, formula, changed)
                    for changed in sorted(mutations_of(formula))
                ]
    return mutants


def run(*command: object, check: bool = True) -> subprocess.CompletedProcess:
    result = subprocess.run(
        [str(part) for part in command],
        cwd=TREE,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LIMIT_S,
    )
    if check and result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result


def environment() -> dict[str, str]:
    """The tests must import the copy, not the checkout that .venv points to."""
    return os.environ | {"PYTHONPATH": str(TREE / "wrappers" / "python")}


def copy_sources() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    sources = {name for name in filter(None, listing.split("\0")) if (ROOT / name).is_file()}
    for name in sources:
        source, target = ROOT / name, TREE / name
        # An unchanged file keeps its time stamp, so the copy rebuilds only what has changed.
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    remove_all_but(sources)


def remove_all_but(sources: set[str]) -> None:
    """A source file that is gone would still be built: CMake takes whole folders."""
    for path in TREE.rglob("*"):
        built = path.is_relative_to(BUILD) or path.suffix in (".so", ".pyc")
        if path.is_file() and not built and str(path.relative_to(TREE)) not in sources:
            path.unlink()


def configure() -> None:
    run(
        *("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja"),
        *("-DDT_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"),
        *("-DDT_KERNEL_OPTIMIZATION=-O1", "-DDT_CUDA=OFF"),
    )


def generate_and_build() -> bool:
    """False if the generator or the compiler refuses the formula."""
    generated = run(sys.executable, "capi/generate", check=False)
    if generated.returncode:
        return False
    return run("cmake", "--build", BUILD, "--target", *TARGETS, check=False).returncode == 0


def tests_pass(*selection: str) -> bool:
    try:
        result = run(sys.executable, "-m", "pytest", "-x", *selection, check=False)
    except subprocess.TimeoutExpired:
        return False
    if result.returncode in (PYTEST_USAGE_ERROR, PYTEST_NONE_SELECTED):
        raise RuntimeError(f"pytest {' '.join(selection)}\n{result.stdout}{result.stderr}")
    return result.returncode == 0


def tests_of(function: str) -> tuple[str, ...]:
    # A row's test is called test_values[17-gelu-3x4].
    return OP_ROWS, f"-k=-{function}-"


def verdict(mutant: Mutant, *selection: str) -> str:
    """invalid (it does not compile), killed, or survived."""
    path = TREE / mutant.path
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    lines[mutant.line] = lines[mutant.line].replace(f'"{mutant.before}"', f'"{mutant.after}"', 1)
    path.write_text("".join(lines))
    try:
        if not generate_and_build():
            return "invalid"
        return "survived" if tests_pass(*selection) else "killed"
    finally:
        path.write_text(original)


def judge(mutants: list[Mutant], *selection: str) -> dict[Mutant, str]:
    """The verdicts of the selected tests; without a selection, of those of each mutant's op."""
    verdicts = {}
    for mutant in mutants:
        started = time.monotonic()
        verdicts[mutant] = verdict(mutant, *(selection or tests_of(mutant.public)))
        print(f"{verdicts[mutant]:9} {time.monotonic() - started:5.0f} s  {mutant}", flush=True)
    return verdicts


def require_green(*selection: str) -> None:
    """What fails before anything is corrupted would be no answer."""
    if not generate_and_build() or not tests_pass(*selection):
        sys.exit("mutate: the tests do not pass before anything is corrupted")


def choose(options: argparse.Namespace) -> list[Mutant]:
    mutants = all_mutants()
    if options.only:
        return [mutant for mutant in mutants if mutant.op == options.only]
    return random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", metavar="OP", help="every mutant of this op")
    options = parser.parse_args()

    copy_sources()
    configure()
    require_green(OP_ROWS)
    verdicts = judge(choose(options))
    suspects = [mutant for mutant, result in verdicts.items() if result == "survived"]
    if suspects:
        print(f"mutate: {len(suspects)} of {len(verdicts)} are put to all tests", flush=True)
        require_green(*ALL_TESTS)
        verdicts |= judge(suspects, *ALL_TESTS)

    counts = Counter(verdicts.values())
    valid = counts["killed"] + counts["survived"]
    print(f"mutate: {counts['killed']} of {valid} noticed, {counts['invalid']} did not compile")
    return 1 if not valid or counts["survived"] > MAX_SURVIVORS * valid else 0


if __name__ == "__main__":
    sys.exit(main())
