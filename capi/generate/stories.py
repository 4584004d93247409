"""Prints the stories of tests/conformance/stories.py, several calls in order, in the words of a class of
conformance.py."""

from __future__ import annotations

import pathlib
import runpy
import sys

from .model import Argument, Kind, SchemaError
from .plan import Hook, Plan, Slot

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "conformance" / "stories.py"


def steps(which: str) -> dict[str, list[dict]]:
    """Those of all stories of a kind, by name."""
    sys.path.insert(0, str(FILE.parent))  # where the words are that they are told in
    try:
        return runpy.run_path(str(FILE))[which]
    finally:
        sys.path.pop(0)


def told(plan: Plan, language):
    """The names and lines of the stories, but for those whose point cannot be said."""
    for name, story_steps in steps("STORIES").items():
        values = [x for s in story_steps if "call" in s for x in s["args"].values()]
        fails = any(x["raises"] for x in values if _is_function(x))
        lacks = None in values or [None] in values
        if (fails and not language.callbacks_fail) or (lacks and not language.open):
            continue
        story = Story(plan, language, name)
        lines = story.lines(story_steps)
        about = [
            s
            for s in story_steps
            if s.get("wrong") or {"loosely", "nested", "threads", "array"} & s.keys()
        ]
        if not about or any(map(story.step, about)):
            yield name, lines


def _is_function(value) -> bool:
    return isinstance(value, dict) and "steps" in value


def is_variable(value) -> bool:
    return isinstance(value, dict) and "variable" in value


class Story:
    """One story in one language. `kinds` are those of its variables."""

    def __init__(self, plan: Plan, language, name: str):
        self.plan, self.language, self.name = plan, language, name
        self.kinds: dict[str, Kind] = {}

    def lines(self, steps: list[dict]) -> list[str]:
        return [line for step in steps for line in self.step(step)]

    def step(self, step: dict) -> list[str]:
        if "call" in step:
            return self.call(step)
        if "loosely" in step:
            return self.loosely(step)
        if "nested" in step:
            return self.language.nested(step)
        if "scope" in step:
            return self.scope(step)
        if "threads" in step:
            return self.threads(step)
        if "repeat" in step:
            head, tail = self.language.loop
            body = self.language.inner(self.lines(step["steps"]))
            return [head.format(step["repeat"]), *body, tail]
        if "less" in step:
            less = f"{self.variable(step['less'])} < {step['than']}"
            return [self.language.same.format(less, self.language.flags[True])]
        if "array" in step:
            name, dtype, shape = step["array"], step["dtype"], step["shape"]
            self.kinds[name] = Kind("f64" if "float" in dtype else "i64", list=bool(shape))
            return self.language.array(name, dtype, shape, step["data"])
        if "make" in step:
            lines: list[str] = []
            self.language.make(step["make"], step["value"], step["grad"], lines)
            self.kinds[step["make"]] = Kind("tensor")
            return lines
        return self.same(step["same"], step["value"])

    def loosely(self, step: dict) -> list[str]:
        language, c = self.language, self.plan.by_name[step["loosely"]]
        self.kinds["result"] = (*c.results, *c.slots)[0].kind
        if not language.assigned or not language.braces or not language.fails:
            return []
        values = [language.raw(self.plain(x)) for x in step["values"]]
        named = {key: language.raw(self.plain(x)) for key, x in step["named"].items()}
        made = language.called(c, values, [language.named.format(*x) for x in named.items()])
        if step["error"]:
            return [language.fails.format(language.text(step["error"]), made)]
        return [language.assigned.format(made)]

    def threads(self, step: dict) -> list[str]:
        lines = self.language.grouped(self.lines(step["steps"]))
        for head, tail in self.language.threads:
            lines = [head.format(step["threads"]), *self.language.inner(lines), tail]
        return lines if self.language.threads else []

    def call(self, step: dict) -> list[str]:
        c = self.plan.by_name.get(step["call"])
        slots = {s.name: s for s in c.slots} if c else {}
        if not c or not {*step["args"]} <= {*slots} or len(step["names"]) > len(c.results):
            raise SchemaError(f"the story '{self.name}': {step['call']} is not called so")
        wrong, lines = step["wrong"], []
        if wrong and not self.language.compiles(slots[wrong].kind, step["args"][wrong]):
            return []
        values = {
            name: self.language.raw(self.plain(value))
            if name == wrong and not _is_function(value)
            else self.value(slots[name], value, lines)
            for name, value in step["args"].items()
        }
        values = {s.name: values[s.name] for s in c.slots if s.name in values}
        if step["error"]:
            return self.language.grouped(lines + self.language.refused(c, values, step["error"]))
        for name, result in zip(step["names"], c.results, strict=False):
            self.kinds[name] = result.kind
        names = [name and self.language.tensor.format(name) for name in step["names"]]
        names += [""] * (len(c.results) - len(names))
        return lines + self.language.called_for(c, names, values)

    def plain(self, value):
        """A value of no kind that fits, its variables by name."""
        if isinstance(value, list):
            return [*map(self.plain, value)]
        return self.variable(value) if is_variable(value) else value

    def variable(self, value: dict):
        name, k = self.language.tensor.format(value["variable"]), value["entry"]
        if value["variable"] not in self.kinds:
            raise SchemaError(f"the story '{self.name}': there is no '{value['variable']}' yet")
        if value["part"]:
            return Expression(self.language.part(name, *value["part"]))
        return Expression(name if k is None else self.language.entry.format(name, k, k + 1))

    def value(self, slot: Slot, value, lines: list[str]) -> str:
        if value is None:
            return self.language.open
        if is_variable(value):
            return self.variable(value)
        if isinstance(value, list) and any(x is None or is_variable(x) for x in value):
            entries = [self.language.open if x is None else self.variable(x) for x in value]
            return self.language.list(slot, entries)
        if isinstance(value, dict) and "path" in value:
            return self.language.path.format(self.language.text(value["path"]))
        if _is_function(value):
            hook = next(h for h in self.plan.hooks if h.name == slot.kind.name)
            return self.function(hook, value, lines)
        if slot.kind.base == "device":
            return self.language.device(value)
        return self.language.value(slot, value, False, lines)

    def function(self, hook: Hook, function: dict, lines: list[str]) -> str:
        """The name of a function of the user's, whose lines come before."""
        inside = Story(self.plan, self.language, self.name)
        inside.kinds = {s.name: s.kind for s in hook.inputs}
        body, gives, back = inside.lines(function["steps"]), function["gives"], ""
        if gives is not None:
            result = hook.results[0]
            back = inside.value(Slot(Argument(result.name, result.kind), ()), gives, body)
        self.language.functions += 1
        name = f"hook{self.language.functions}"
        lines += self.language.function(name, hook, body, back, function["raises"])
        return name

    def same(self, variable: dict, expected) -> list[str]:
        got, kind = self.variable(variable), self.kinds[variable["variable"]]
        if variable["entry"] is not None:
            kind = Kind(kind.base)
        if expected is None:
            return [self.language.absent.format(got)]
        if isinstance(expected, dict):
            return self.language.expect(got, expected)
        if kind.list and isinstance(expected, int):
            return [self.language.count.format(got, expected)]
        lines: list[str] = []
        wanted = self.value(Slot(Argument("", kind), ()), expected, lines)
        return self.language.equal(kind, got, wanted)

    def scope(self, step: dict) -> list[str]:
        around = self.language.scopes.get(step["scope"])
        if not around or (step["raises"] and not self.language.raises):
            return []
        dtype = step["args"].get("dtype")
        word = self.language.enum("dtype", dtype) if dtype else self.language.none
        error = self.language.text(step["raises"])
        body = self.lines(step["steps"])
        body += [self.language.raises.format(error)] if step["raises"] else []
        lines = [around[0].format(word), *self.language.inner(body), around[1]]
        return [self.language.fails.format(error, "\n".join(lines))] if step["raises"] else lines


class Expression(str):
    """What is printed as it is."""
