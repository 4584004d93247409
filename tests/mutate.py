"""Would the tests notice a wrong formula? `make mutate` corrupts the schema's, one at a time.

Each mutant is a copy of the sources with one formula changed (a sign, a function, a constant), its
generated files written anew, built, and put to the tests. The tests of the formula's own op come
first; only if they stay green does the whole suite run. A mutant that no test notices has survived;
more than 5 % of survivors is a failure.

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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build-mutate" / "tree"
BUILD = TREE / "build"
MAX_SURVIVORS = 0.05

# What can be done to a formula: a pattern, and what each match is replaced by. Every row changes
# the meaning for ordinary inputs, so a mutant that survives is a gap in the tests, not a formula
# that says the same thing.
SWAPS = {
    "abs": "square",
    "cos": "sin",
    "eq": "ne",
    "erf": "tanh",
    "exp": "cos",
    "expm1": "exp",
    "ge": "lt",
    "gt": "le",
    "le": "gt",
    "log": "sqrt",
    "log1p": "exp",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "lt": "ge",
    "maximum": "minimum",
    "minimum": "maximum",
    "ne": "eq",
    "rsqrt": "sqrt",
    "sigmoid": "tanh",
    "sign": "abs",
    "sin": "cos",
    "sqrt": "rsqrt",
    "tanh": "sigmoid",
    "zeros_like": "conj",
}
MUTATIONS = [
    (re.compile(r"(?<= )\+(?= )"), lambda m: "-"),
    (re.compile(r"(?<= )-(?= )"), lambda m: "+"),
    (re.compile(r"(?<= )\*(?= )"), lambda m: "+"),
    (re.compile(r"(?<= )/(?= )"), lambda m: "*"),
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


def all_mutants() -> list[Mutant]:
    mutants = []
    for path in sorted((ROOT / "capi" / "schema").glob("*.toml")):
        op = ""
        for number, line in enumerate(path.read_text().splitlines()):
            if heading := HEADING.match(line):
                op = heading[1]
            elif op and (found := FORMULA.match(line)):
                key, formula = found.groups()
                for changed in sorted(mutations_of(formula)):
                    mutants.append(
                        Mutant(path.relative_to(ROOT), number, op, key, formula, changed)
                    )
    return mutants


def run(*command: object, check: bool = True) -> subprocess.CompletedProcess:
    result = subprocess.run(
        [str(part) for part in command], cwd=TREE, capture_output=True, text=True, env=environment()
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
    for name in filter(None, listing.split("\0")):
        source, target = ROOT / name, TREE / name
        if not source.is_file():
            continue
        # An unchanged file keeps its time stamp, so the copy rebuilds only what has changed.
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def configure() -> None:
    run(
        *("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja"),
        *("-DDT_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"),
        *("-DDT_KERNEL_OPTIMIZATION=-O1", "-DDT_CUDA=OFF"),
    )


def generate_and_build() -> bool:
    """False if the generator or the compiler refuses the formula."""
    generated = run(sys.executable, "capi/generate", check=False)
    return generated.returncode == 0 and run("cmake", "--build", BUILD, check=False).returncode == 0


def tests_pass(*selection: str) -> bool:
    result = run(sys.executable, "-m", "pytest", "-x", *selection, check=False)
    none_selected = result.returncode == 5
    return result.returncode == 0 or none_selected


def verdict(mutant: Mutant) -> str:
    """invalid (it does not compile), killed, or survived."""
    path = TREE / mutant.path
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    lines[mutant.line] = lines[mutant.line].replace(f'"{mutant.before}"', f'"{mutant.after}"', 1)
    path.write_text("".join(lines))
    try:
        if not generate_and_build():
            return "invalid"
        return "survived" if tests_pass("-k", mutant.op) and tests_pass() else "killed"
    finally:
        path.write_text(original)


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
    if not generate_and_build() or not tests_pass():
        print("mutate: the tests do not pass before anything is corrupted", file=sys.stderr)
        return 1

    chosen = choose(options)
    counts = {"killed": 0, "survived": 0, "invalid": 0}
    for mutant in chosen:
        started = time.monotonic()
        result = verdict(mutant)
        counts[result] += 1
        print(f"{result:9} {time.monotonic() - started:5.0f} s  {mutant}", flush=True)

    valid = counts["killed"] + counts["survived"]
    print(f"mutate: {counts['killed']} of {valid} noticed, {counts['invalid']} did not compile")
    return 1 if not valid or counts["survived"] > MAX_SURVIVORS * valid else 0


if __name__ == "__main__":
    sys.exit(main())
