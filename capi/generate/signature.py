"""Reads signature strings: "(input: tensor, dim: i64[]? = none, *, keepdim: bool = false) -> tensor"."""

from __future__ import annotations

import ast
import re

from .model import Argument, Kind, SchemaError

# name[list][?]: what each part of a kind's spelling means is in docs/schema.md.
_KIND = re.compile(r"([\w.]+)([?!]?)(?:\[(\d*)\])?(\??)")
_ARGUMENT = re.compile(
    r"(\w+)\s*:\s*([\w.]+[?!]?(?:\[\d*\])?\??)(?:\s*=\s*(.+?))?(?:\s+since\s+(\d+))?(\s+in Python)?",
    re.DOTALL,
)
_PLAIN = {
    "tensor", "operand", "scalar", "i64", "f64", "bool", "str", "path", "bytes", "pointer", "device",
    "object",
}  # fmt: skip


class Names:
    """What user-defined names in kinds refer to."""

    def __init__(self, enums, handles, options, callbacks):
        self.enums, self.handles = set(enums), set(handles)
        self.options, self.callbacks = set(options), set(callbacks)

    def base(self, word: str) -> tuple[str, str]:
        """(base, name) of a kind's first word."""
        if word in _PLAIN:
            return word, ""
        if word in self.enums:
            return "enum", word
        if word in self.handles:
            return "handle", word
        family, _, name = word.partition(".")
        if family == "options" and name in self.options:
            return "options", name
        if family == "callback" and name in self.callbacks:
            return "callback", name
        raise SchemaError(f"unknown kind '{word}'")


def parse_kind(text: str, names: Names) -> Kind:
    match = _KIND.fullmatch(text)
    if not match:
        raise SchemaError(f"'{text}' is not a kind")
    word, mark, count, optional = match.groups()
    base, name = names.base(word)
    is_list = count is not None
    return Kind(
        base=base,
        name=name,
        list=is_list,
        optional=bool(optional) or (mark == "?" and not is_list),
        element_optional=mark == "?" and is_list,
        mutable=mark == "!",
        count=int(count) if count else 0,
    )


def parse_default(text: str, kind: Kind) -> object:
    if text == "none" and (kind.optional or kind.base != "enum"):
        if not kind.optional:
            raise SchemaError("only an optional argument can have the default none")
        return None
    if text in ("true", "false"):
        return text == "true"
    if text in ("inf", "-inf"):
        return float(text)
    if kind.base == "enum":
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise SchemaError(f"'{text}' is not a default value") from None
    return float(value) if kind.key in ("f64", "f64?") else value


def parse_argument(text: str, names: Names, keyword_only: bool = False) -> Argument:
    match = _ARGUMENT.fullmatch(text.strip())
    if not match:
        raise SchemaError(f"'{text}' is not 'name: kind = default since level in Python'")
    name, kind_text, default, since, python_only = match.groups()
    kind = parse_kind(kind_text, names)
    value = parse_default(default.strip(), kind) if default is not None else None
    return Argument(
        name=name,
        kind=kind,
        has_default=default is not None,
        default=value,
        keyword_only=keyword_only,
        since=int(since or 0),
        python_only=bool(python_only),
    )


def split_list(text: str) -> list[str]:
    """Splits at commas that are outside of brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0 and not quoted:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_arguments(text: str, names: Names) -> tuple[Argument, ...]:
    args, keyword_only = [], False
    for part in split_list(text):
        if part == "*":
            keyword_only = True
        else:
            args.append(parse_argument(part, names, keyword_only))
    repeated = {a.name for a in args if sum(b.name == a.name for b in args) > 1}
    if repeated:
        raise SchemaError(f"argument '{repeated.pop()}' appears twice")
    return tuple(args)


def sentence_of(name: str, docs: dict) -> str:
    """What an argument's row, or [args] of its file, says of it."""
    if not docs.get(name, "").strip():
        raise SchemaError(f"'{name}' has no documentation: add args.{name} = \"...\"")
    return docs[name]


def parse_signature(text: str, names: Names):
    """(arguments, results, in place) of "(arguments) -> results"."""
    match = re.fullmatch(r"\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if not match:
        raise SchemaError(f"'{text}' is not '(arguments) -> results'")
    args = parse_arguments(match[1], names)
    result = match[2]
    if result == "self":
        return args, (), True
    if result.startswith("("):
        return args, parse_arguments(result[1:-1], names), False
    return args, (Argument("out", parse_kind(result, names)),), False
