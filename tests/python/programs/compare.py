"""compare(program): runs it in both libraries, statement by statement, and says where they first differ."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import dumbtorch
import torch
from oracle import is_older

from .case import Case
from .known import known
from .known_saved import freed
from .tensors import Pair, dtype_name, largest, may_look_at, nature, parts, values

# Relative to the largest finite number in sight, and to the least precise dtype of a statement: float64 may be made of
# float32.
TOLERANCE = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 3e-5, "float64": 1e-10}

# What computes with tensors that it does not name, of whatever dtype: a backward, a step, a function, and numbers that
# tensors once were, which are not made equal.
MADE_BEFORE = r"\b(backward|grad|step|autocast)\(|\b[nfmo]\d+\b|\blambda\b|\.(half|bfloat16)\("


@dataclass(frozen=True)
class Difference:
    aspect: str  # what differs: "raised", "dtype", "shape", "values", ..., "crash"
    place: str  # where: "x3", "x3.grad", "m1.weight"; "" for the statement itself
    ours: str
    theirs: str
    statement: str = ""  # after which it was seen
    line: int = 0
    tolerance: float = 0.0  # by how much elements may differ that are taken for equal

    @property
    def kind(self) -> tuple[str, ...]:
        """What stays the same while a program is reduced."""
        if self.aspect in ("raised", "error type", "error text", "crash"):
            return (self.aspect, _words(self.ours), _words(self.theirs))
        part = "gradient" if ".grad" in self.place else ""
        what = () if self.aspect == "values" else (_words(self.ours), _words(self.theirs))
        return (self.aspect, part, _operation(self.statement), *what)

    def __str__(self) -> str:
        where = f" of {self.place}" if self.place else ""
        ours, theirs = (t if len(t) < 300 else t[:300] + "..." for t in (self.ours, self.theirs))
        return f"{self.aspect}{where} after line {self.line}\n  dumbtorch: {ours}\n  PyTorch:   {theirs}"


def _words(error: str) -> str:
    """An error without names, numbers and shapes."""
    return re.sub(r"[^A-Za-z_:' ]+", " ", error)[:70]


def _operation(statement: str) -> str:
    """What a statement does: the function's name, or the kind of expression."""
    if not statement:
        return ""
    node = ast.parse(statement).body[0]
    value = getattr(node, "value", None) or node
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2]
    return type(getattr(value, "op", value)).__name__


@dataclass(frozen=True)
class Settings:
    device: str = "cpu"  # where dumbtorch computes; PyTorch, the oracle, stays on the CPU
    # What is compared of errors: that there is one ("raised"), also its type ("type"), also its sentence ("text").
    errors: str = "raised"
    ignored: tuple[str, ...] = ()  # regular expressions: what matches one is passed over


def compare(program: str, settings: Settings = Settings()) -> Difference | None:  # noqa: B008
    """The first difference that the pages docs/differences*.md do not tell of."""
    run = _Run(settings)
    with warnings.catch_warnings(), _default_device(settings.device):
        warnings.simplefilter("ignore")
        try:
            run.statements(ast.parse(program).body)
            run.look()
        except _Differ as found:
            return found.difference
        except _Stopped:
            return None
        finally:
            run.forget()
    return None


def run_in_pytorch(program: str) -> None:
    """As compare() does, but without the other library."""
    names: dict = {"t": torch}
    for node in ast.parse(program).body:
        _error_of(lambda: exec(compile(ast.Module([node], []), "<program>", "exec"), names))  # noqa: B023


class _Differ(Exception):
    def __init__(self, difference: Difference):
        super().__init__(str(difference))
        self.difference = difference


IS_OLDER = is_older(torch)  # it lacks some derivatives


class _Stopped(Exception):
    """They differ as they should, and go separate ways from here."""


@contextlib.contextmanager
def _default_device(device: str):
    """Computes there, with all digits that the oracle has: a GPU's convolutions would round to TF32."""
    before, rounds = dumbtorch.get_default_device(), dumbtorch.backends.cudnn.allow_tf32
    dumbtorch.set_default_device(device)
    dumbtorch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        dumbtorch.backends.cudnn.allow_tf32 = rounds
        dumbtorch.set_default_device(before)


class _Run:
    """A program while it runs: the names that it made, in both libraries."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.ours: dict = {"t": dumbtorch}
        self.theirs: dict = {"t": torch}
        self.versions: dict[str, tuple[int, int]] = {}
        self.dtypes: set[str] = set()  # of all tensors so far
        self.statement, self.line = "", 0
        self.history: list[str] = []
        self.forgotten: tuple = ()

    def statements(self, body: list[ast.stmt], indent: str = "") -> None:
        for node in body:
            self.statement, self.line = ast.unparse(node), node.lineno
            self.history.append(indent + self.statement.partition("\n")[0])
            if isinstance(node, ast.With):  # what is in a block is compared one by one, too
                manager = compile(ast.Expression(node.items[0].context_expr), "<program>", "eval")
                with eval(manager, self.ours), eval(manager, self.theirs):
                    self.statements(node.body, indent + "    ")
            else:
                self._one(node)

    def _one(self, node: ast.stmt) -> None:
        code = compile(ast.Module([node], []), "<program>", "exec")
        self.forgotten = freed(self._before(node))
        theirs = _error_of(lambda: exec(code, self.theirs))
        ours = _error_of(lambda: exec(code, self.ours))
        late = None if self.settings.device == "cpu" else _error_of(dumbtorch.cuda.synchronize)
        if ours and late:  # what is refused is not begun
            self._differ("raised", f"{_sentence(ours)}, and later {_sentence(late)}", "one error")
        self._compare_errors(ours or late, theirs)
        if late:
            raise _Stopped  # the statement has been done, with a bad index
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        for n in names:
            if not isinstance(n.ctx, ast.Load):
                self.versions.pop(n.id, None)
        self.look({n.id for n in names})

    def _before(self, node: ast.stmt) -> Case:
        """The statement, before it runs, with what it names: a look may bring other views up to date."""
        named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return self._case(Difference("", "", "", "", self.statement), of=named)

    def _compare_errors(self, ours: Exception | None, theirs: Exception | None) -> None:
        if IS_OLDER and "not implemented" in str(theirs):
            raise _Stopped
        texts = [_sentence(e) for e in (ours, theirs)]
        if (ours is None) != (theirs is None):
            self._differ("raised", *texts)
        if ours is None:
            return
        if self.settings.errors != "raised" and type(ours).__name__ != type(theirs).__name__:
            self._differ("error type", *texts)
        if self.settings.errors == "text" and not _same_sentence(*texts):
            self._differ("error text", *texts)
        if re.search(r"\b(backward|grad)\(", self.statement):
            raise _Stopped  # how far a backward came before it failed is nobody's promise

    def look(self, used: Iterable[str] | None = None) -> None:
        """Compares all values, and everything else of what a statement used (None: of everything). What a statement
        did not use is not asked, since a view may be brought up to date by the question."""
        pairs = [p for name in self.theirs if name[-1].isdigit()
                 for p in parts(name, self.ours.get(name), self.theirs[name])]  # fmt: skip
        asked = [p for p in pairs if used is None or p.name in used or p.place != p.name]
        for pair in asked:
            for aspect, ours, theirs in nature(pair):
                self._differ(aspect, ours, theirs, pair)
            self._compare_versions(pair)
        self.dtypes |= {dtype_name(p.theirs) for p in asked if isinstance(p.theirs, torch.Tensor)}
        for pair in pairs:
            # Its own size counts too: it may be written through a view at which PyTorch lets nobody look.
            tolerance = functools.partial(self._tolerance, [*asked, pair])
            for aspect, ours, theirs in values(pair, tolerance):
                self._differ(aspect, ours, theirs, pair, tolerance())

    def _tolerance(self, pairs: list[Pair]) -> float:
        tensors = [p.theirs for p in pairs if isinstance(p.theirs, torch.Tensor)]
        dtypes = {dtype_name(x) for x in tensors} | set(
            re.findall(r"\b(?:b?float\d\d)\b", self.statement)
        )
        if isinstance(pairs[-1].theirs, float) or re.search(MADE_BEFORE, self.statement):
            dtypes |= self.dtypes
        precision = max((dtypes | {"float64"}) & TOLERANCE.keys(), key=TOLERANCE.get)
        return TOLERANCE[precision] * max([1.0, *map(largest, tensors)])

    def _compare_versions(self, pair: Pair) -> None:
        """How often a new tensor was written is nobody's promise; that it was written later, is."""
        tensors = isinstance(pair.theirs, torch.Tensor) and isinstance(pair.ours, dumbtorch.Tensor)
        if not tensors or pair.place != pair.name:
            return
        versions = (pair.ours._version, pair.theirs._version)
        before = self.versions.setdefault(pair.name, versions)
        self.versions[pair.name] = versions
        ours, theirs = (v != b for v, b in zip(versions, before))
        if ours != theirs:
            self._differ("version", *versions, pair)

    def _differ(self, aspect: str, ours, theirs, pair: Pair | None = None, tolerance=0.0) -> None:
        """Raises what this difference means; does nothing if it is documented and harmless."""
        place = pair.place if pair else ""
        where = (self.statement, self.line, tolerance)
        difference = Difference(aspect, place, str(ours), str(theirs), *where)
        text = f"{aspect} {place}\n{self.statement}\n{ours}\n{theirs}"
        if any(re.search(pattern, text) for pattern in self.settings.ignored):
            raise _Stopped
        why = known(self._case(difference, getattr(pair, "theirs", None)))
        if why is None:
            raise _Differ(difference)
        if why.final:
            raise _Stopped

    def _case(self, difference: Difference, tensor: object = None, of=None) -> Case:
        names = self.theirs if of is None else of & self.theirs.keys()
        return Case(
            difference,
            "\n".join(self.history),
            self.settings.device,
            torch.is_grad_enabled(),
            tensor,
            {n: self.theirs[n] for n in names if may_look_at(self.theirs[n])},
            self.forgotten,
        )

    def forget(self) -> None:
        """Gradients with graphs are cycles."""
        for names in (self.ours, self.theirs):
            for value in names.values():
                if isinstance(value, (torch.Tensor, dumbtorch.Tensor)):
                    with contextlib.suppress(RuntimeError):
                        value.grad = None
            names.clear()


def _error_of(call) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error.with_traceback(None)
    return None


def _sentence(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}" if error else "no error"


def _same_sentence(ours: str, theirs: str) -> bool:
    """Ours may name the function first."""
    return theirs.partition(": ")[2].partition("\n")[0].strip() in ours
