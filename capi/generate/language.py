"""What the languages of conformance.py have in common: the frame of a program, and what a case says in phrases that a
language has."""

from __future__ import annotations

import json
import pathlib
from typing import ClassVar

from . import stories
from .model import Kind, SchemaError
from .plan import Call, Hook, Plan, Slot
from .text import call

CALLS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "conformance" / "calls.json"


def _is_tensor(value) -> bool:
    return isinstance(value, dict) and "dtype" in value


def _number(value) -> str:
    return repr(int(value) if isinstance(value, bool) else value)


class Language:
    """What the languages have in common: the frame of a program, and what a case says. A language says
    how: phrases are strings with {}, and `line` joins a call of several arguments."""

    folder = suffix = ""
    top = ""  # what comes before all cases
    around = ""  # number, name and body of a case
    indent = "  "
    named = ""  # an optional argument: its name, its value
    flags = ("false", "true")
    tensor = "a_{}"  # the variable of a tensor
    sizes = reals = "{{{}}}"  # its sizes, its elements
    made = ""  # the statement that makes one: the variable, a call of from_numbers
    certain = "{}"  # a call that does not fail, as an argument of another
    expected: tuple[str, str]  # around what was got, dtype, shape and elements
    count = entry = same = backward = grad = ""
    takes_one = False  # one number where a list is meant
    line = staticmethod(call)
    element = staticmethod(_number)
    word = staticmethod(str)  # an argument's name
    operators: ClassVar[dict[str, str]] = {}  # by Python's special methods
    assigned = ""  # the statement that makes `result`
    bracket = ("", "")  # statements that read and write x[key]
    from_lists = to_lists = ""  # of lists in lists: what makes a tensor, and what it gives back
    braces = open = ""  # a list; what is absent where that is not the default
    fails = ""  # the check of a sentence, and what fails
    gets = ""  # the statement that keeps results: their names, the call
    closing: tuple[str, ...] = ()  # what comes after all cases

    # What stories need.
    tells_stories = False
    learns_kinds = False  # while it runs: a value that does not fit can be given
    callbacks_fail = True  # what the user's function raises is the error of the call
    absent = ""  # that a variable holds nothing
    path = "{}"  # of a file
    user = ("", "")  # the lines around a function of the user's: its name, what it takes
    gives, raises = "return {}", ""
    functions = 0  # how many of the user's were printed: each has a number
    scopes: ClassVar[dict[str, tuple[str, str]]] = {}  # the lines around steps
    none = ""  # where autocast takes a dtype
    loop = ("", "")  # the lines around what is done many times
    threads: tuple[tuple[str, str], ...] = ()  # around what several threads do, from the inside out

    def program(self, plan: Plan, calls: list[dict]) -> str:
        cases: list[str] = []
        self.from_numbers = plan.by_name["from_numbers"]
        for entry in calls:
            cases += filter(None, [self.case(plan, len(cases), entry)])
        for name, lines in stories.told(plan, self) if self.tells_stories else ():
            cases.append(self.frame(len(cases), name, lines))
        return "\n".join([self.top, *cases, *self.bottom(len(cases))]) + "\n"

    def bottom(self, count: int) -> list[str]:
        return [*self.closing]

    def frame(self, number: int, name: str, lines: list[str]) -> str:
        body = "\n".join(self.indent + line for line in self.ordered(lines))
        return self.around.format(number=number, name=name, body=body)

    def case(self, plan: Plan, number: int, entry: dict) -> str:
        for word in ("operator", "brackets", "nested"):
            if word in entry:
                lines = getattr(self, word)(entry)
                return self.frame(number, word, lines) if lines else ""
        c = plan.by_name.get(entry["fn"])
        if c is None:
            raise SchemaError(f"{CALLS.name}: there is no function '{entry['fn']}'")
        unknown = set(entry["args"]) - {a.name for a in c.slots}
        if unknown:
            raise SchemaError(f"{CALLS.name}: {c.c_name} has no argument '{unknown.pop()}'")
        lines, values, grads = [], {}, entry.get("grads", {})
        for a in c.slots:
            if a.name in entry["args"]:
                values[a.name] = self.value(a, entry["args"][a.name], a.name in grads, lines)
        if "error" in entry:
            return self.frame(number, entry["fn"], lines + self.refused(c, values, entry["error"]))
        names = self.names(c)
        lines += self.run(c, names, values)
        for name, expected in zip(names, entry["results"], strict=True):
            lines += self.expect(name, expected)
        lines += self.backward.format(names[0]).splitlines() if grads else []
        for name, expected in grads.items():
            lines += self.expect(self.grad.format(self.tensor.format(name)), expected)
        return self.frame(number, entry["fn"], lines)

    def operator(self, entry: dict) -> list[str]:
        """Nothing where the language has no such operator, or no brackets, no lists of lists."""
        sign = self.operators.get(entry["operator"])
        if not sign:
            return []
        lines: list[str] = []
        words = [self.operand(f"x{i}", x, lines) for i, x in enumerate(entry["operands"])]
        lines.append(self.assigned.format(self.applied(sign, words)))
        return lines + self.expect("result", entry["results"][0])

    def applied(self, sign: str, operands: list[str]) -> str:
        return f" {sign} ".join(["", *operands][-2:]).lstrip()

    def brackets(self, entry: dict) -> list[str]:
        if not self.bracket[0]:
            return []
        lines: list[str] = []
        x, items = self.operand("x", entry["input"], lines), entry["brackets"]
        parts = [self.operand(f"i{k}", i, lines) for k, i in enumerate(items)]
        is_table = len(items) != 1 or isinstance(items[0], list)
        key = self.raw([*map(stories.Expression, parts)]) if is_table else parts[0]
        value = self.operand("value", entry["value"], lines) if "value" in entry else ""
        lines.append(self.bracket[bool(value)].format(x, key, value))
        return lines + self.expect(x if value else "result", entry["results"][0])

    def nested(self, entry: dict) -> list[str]:
        if not self.from_lists:
            return []
        named = [self.named.format(k, self.raw(v)) for k, v in entry["named"].items()]
        named = [self.braces.format(", ".join(named))] if named else []
        made = self.line(self.from_lists, [self.raw(entry["nested"]), *named], ")")
        if "error" in entry:
            return [self.fails.format(self.text(entry["error"]), made)]
        x, data = entry["results"]
        lines = [self.assigned.format(made), *self.expect("result", x)]
        return [*lines, self.same.format(self.to_lists.format("result"), self.raw(data))]

    def text(self, words: str) -> str:
        return json.dumps(words, ensure_ascii=False).replace("\\u0000", "\\x00")

    def enum(self, name: str, value: str) -> str:
        return self.text(value)

    def list(self, a: Slot, parts: list[str]) -> str:
        return self.braces.format(", ".join(parts))

    def raw(self, value) -> str:
        """A value by itself, where the language has no type that it must be of."""
        if isinstance(value, dict):
            return self.text(value["enum"])
        if isinstance(value, list):
            return self.braces.format(", ".join(map(self.raw, value)))
        if value is None or isinstance(value, stories.Expression):
            return value or self.open
        return self.text(value) if isinstance(value, str) else self.number(Kind("operand"), value)

    def operand(self, name: str, value, lines: list[str]) -> str:
        if _is_tensor(value):
            return self.make(name, value, False, lines)
        return self.raw(value)

    def value(self, a: Slot, value, wants_grad: bool, lines: list[str]) -> str:
        if _is_tensor(value):
            return self.make(a.name, value, wants_grad, lines)
        if a.kind.base == "enum":
            return self.enum(a.kind.name, value["enum"] if isinstance(value, dict) else value)
        if isinstance(value, list) or (a.kind.list and not self.takes_one):
            values = value if isinstance(value, list) else [value]
            if a.kind.base == "tensor":
                parts = [self.make(f"{a.name}{i}", v, False, lines) for i, v in enumerate(values)]
            else:
                parts = [self.entry_of(a.kind, v) for v in values]
            return self.list(a, parts)
        return self.text(value) if isinstance(value, str) else self.scalar(a, value)

    def entry_of(self, kind: Kind, value) -> str:
        return self.text(value) if isinstance(value, str) else self.number(kind, value)

    def make(self, name: str, value: dict, wants_grad: bool, lines: list[str]) -> str:
        words = dict(zip(("dtype", "size", "data"), self.literal(value), strict=True))
        if wants_grad:
            words["requires_grad"] = self.flags[True]
        variable = self.tensor.format(name)
        lines.append(self.made.format(variable, self.expression(self.from_numbers, words)))
        return variable

    def literal(self, tensor: dict) -> list[str]:
        """dtype, sizes and elements."""
        sizes = self.sizes.format(", ".join(map(str, tensor["shape"])))
        reals = self.reals.format(", ".join(map(self.element, tensor["data"])))
        return [self.enum("dtype", tensor["dtype"]), sizes, reals]

    def given(self, c: Call, values: dict[str, str]) -> tuple[list[str], list[str]]:
        """(the arguments that have no default, the others by name)"""
        others = [a.name for a in c.optional if a.name in values]
        named = [self.named.format(self.word(name), values[name]) for name in others]
        return [values[a.name] for a in c.required], named

    def expression(self, c: Call, values: dict[str, str]) -> str:
        return self.called(c, *self.given(c, values))

    def number(self, kind: Kind, value) -> str:
        return self.flags[value] if isinstance(value, bool) else repr(value)

    def scalar(self, a: Slot, value) -> str:
        return self.number(a.kind, value)

    def names(self, c: Call) -> list[str]:
        return [r.name for r in c.results] if len(c.results) > 1 else ["result"]

    def refused(self, c: Call, values: dict[str, str], message: str) -> list[str]:
        return [self.fails.format(self.text(message), self.expression(c, values))]

    def run(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        call = self.expression(c, values)
        return [self.gets.format(", ".join(names), call) if names else call]

    def called_for(self, c: Call, names: list[str], values: dict[str, str]) -> list[str]:
        """Runs a call, "" being what nobody wants of its results."""
        while names and not names[-1]:
            names = names[:-1]
        return self.run(c, [name or "_" for name in names], values)

    def expect(self, name: str, expected) -> list[str]:
        if isinstance(expected, list):
            lines = [self.count.format(name, len(expected))]
            for i, entry in enumerate(expected):
                lines += self.expect(self.entry.format(name, i, i + 1), entry)
            return lines
        if isinstance(expected, bool):
            return [self.same.format(name, self.flags[expected])]
        head, tail = self.expected
        return [self.line(head, [name, *self.literal(expected)], tail)]

    # ---- stories

    def compiles(self, kind: Kind, value) -> bool:
        """Whether a value that does not fit can be given at all."""
        return self.learns_kinds

    def function(self, name: str, hook: Hook, body: list[str], back: str, error: str) -> list[str]:
        head, tail = self.user
        last = [self.raises.format(self.text(error))] if error else []
        last += [self.gives.format(back)] if back else []
        takes = ", ".join(s.name for s in hook.inputs)
        return [head.format(name, takes), *self.inner([*body, *last]), tail]

    def inner(self, lines: list[str]) -> list[str]:
        step = "\t" if self.indent == "\t" else "  "
        return [step + line for several in self.ordered(lines) for line in several.splitlines()]

    @staticmethod
    def ordered(lines: list[str]) -> list[str]:
        """All that is in a function or a loop, with what ends at its end."""
        return lines

    def grouped(self, lines: list[str]) -> list[str]:
        """A call that fails, with variables of its own."""
        return lines

    def array(self, name: str, dtype: str, shape: list[int], data: list) -> list[str]:
        """Makes one of the language's own."""
        return []

    def part(self, name: str, start: int, stop: int | None, step: int) -> str:
        return name

    def device(self, words: str) -> str:
        return self.text(words)

    def equal(self, kind: Kind, got: str, wanted: str) -> list[str]:
        return [self.same.format(got, wanted)]
