"""What pydantic finds wrong with a config, in words: place, key, what is wrong, what to do."""

import difflib
import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from thesiskit.config.kinds import KINDS, ModelOf
from thesiskit.config.yamlfile import Places, kind_of
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source
from thesiskit.errors import cut, few, quoted

DISCRIMINATORS = ("source", "kind")  # keys that say which of several kinds a block is
WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "model": "a mapping of keys",
    "dict": "a mapping of keys",
}


def explain(error: ValidationError, model: type[BaseModel], places: Places) -> list[str]:
    """Return one line for each problem."""
    # one problem a key, though each member of a union has its own: the most telling one
    messages: dict[str, tuple[int, str]] = {}
    for problem in error.errors():
        keys, block = _locate(problem["loc"], model, problem["type"] == "extra_forbidden")
        dotted = ".".join(cut(key) for key in keys)
        text = _what(problem, dotted, block)
        if not dotted:  # a check of several keys says itself which one
            named = re.match(r"([a-z_]+(\.[a-z_]+)*): ", text)
            dotted = named[1] if named else ""
        rank = _rank(problem)
        if dotted not in messages or rank > messages[dotted][0]:
            messages[dotted] = (rank, f"{places.of(dotted)}: {text}")
    return [text for _, text in messages.values()]


def _rank(problem: Any) -> int:
    """Say how telling a problem is: a value out of range above a wrong word above a wrong kind."""
    kind, value = problem["type"], problem.get("input")
    if kind == "literal_error":
        return 2 if isinstance(value, str) else 0
    return 1 if any(kind.startswith(stem) for stem in WANTED) or kind == "missing" else 3


def _locate(loc: tuple, model: type[BaseModel], unknown: bool) -> tuple[tuple, type[BaseModel]]:
    """Return the keys of the YAML file that lead to a problem, and the block that holds it.

    Pydantic's own path also names the members of unions it went through; an `unknown` key is the
    last part of it.
    """
    keys: list[str | int] = []
    block = model
    members: Mapping[str, type[BaseModel]] = {}
    for i, part in enumerate(loc):
        if isinstance(part, int) or (unknown and i == len(loc) - 1):
            keys.append(part)
        elif part in members:
            block, members = members[part], {}
        elif part in block.model_fields:
            keys.append(part)
            members = _blocks(annotation_of(block.model_fields[part]))
            if len(members) == 1:
                (block,) = members.values()
    return tuple(keys), block


def annotation_of(field: FieldInfo) -> Any:
    """Return the type of a key, or what stands for the blocks that it may hold."""
    return ModelOf if ModelOf in field.metadata else field.annotation


def _discriminator(block: type[BaseModel]) -> str | None:
    """Return the key that says which of several kinds a block is, None where it is of one kind."""
    return next((name for name in DISCRIMINATORS if name in block.model_fields), None)


def _blocks(annotation: Any) -> Mapping[str, type[BaseModel]]:
    """Return the blocks that a key may hold, by the tag in their `source` or `kind`."""
    if annotation is Source:
        return SOURCES
    if annotation is ModelOf:
        return KINDS
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        name = _discriminator(annotation)
        tag = get_args(annotation.model_fields[name].annotation)[0] if name else annotation.__name__
        return {tag: annotation}
    found: Mapping[str, type[BaseModel]] = {}
    for part in get_args(annotation):
        more = _blocks(part)
        found = {**found, **more} if found and more else found or more
    return found


def _what(problem: Any, dotted: str, block: type[BaseModel]) -> str:
    """Say what is wrong at a key, and what to do."""
    kind, value, context = problem["type"], problem.get("input"), problem.get("ctx", {})
    if kind == "extra_forbidden":
        name = dotted.rpartition(".")[2]
        return f"{dotted}: unknown key; {_suggest(name, sorted(block.model_fields))}"
    if kind.startswith("union_tag"):
        members = _blocks(annotation_of(block.model_fields[dotted.rpartition(".")[2]]))
        tags = re.findall(r"'([^']+)'", context.get("expected_tags", "")) or sorted(members)
        key = _discriminator(next(iter(members.values())))
        if kind == "union_tag_not_found":
            return f"{dotted}.{key}: is required; use one of {', '.join(tags)}"
        tag = str(context.get("tag"))
        return f"{dotted}.{key}: unknown {key} {quoted(tag)}; {_suggest(tag, tags)}"
    if kind == "value_error":
        text = str(context.get("error", problem["msg"]))
        return f"{dotted}: {text}" if dotted else text
    if kind == "string_pattern_mismatch":
        return f"{dotted}: use lower-case letters, digits, '.', '_' and '-', not {quoted(value)}"
    if kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", problem["msg"])
        return f"{dotted}: cannot be {quoted(value)}; {_suggest(cut(value), allowed)}"
    for stem, words in WANTED.items():
        if kind.startswith(stem):
            return f"{dotted}: needs {words}, got {kind_of(value)}"
    bound = next((_bound(one) for one in context.values() if isinstance(one, int | float)), "")
    got = cut(value)
    sentences = {
        "too_short": f"needs at least {bound} entries",
        "too_long": f"needs {bound} entries, got {_length(value)}",
        "missing": "is required; add it",
        "greater_than": f"must be greater than {bound}, got {got}",
        "greater_than_equal": f"must be at least {bound}, got {got}",
        "less_than_equal": f"must be at most {bound}, got {got}",
        "less_than": f"must be less than {bound}, got {got}",
        "finite_number": f"must be a finite number, got {got}",
    }
    return f"{dotted}: {sentences.get(kind) or problem['msg'].lower()}"


def _length(value: Any) -> int | str:
    return len(value) if isinstance(value, list | tuple) else "another number"


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _suggest(name: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(name, allowed, 1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {few(allowed, 25)}"
