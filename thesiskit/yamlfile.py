"""YAML files with line numbers, and validation errors in words."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from thesiskit.errors import ConfigError

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


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number and a repeated key an error."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# only true and false are booleans: `yes` and `no` are labels that data may have; and 1:00:00 is
# the text of a time limit, not 3600
_OTHERWISE = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:int")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^[-+]?\.(inf|Inf|INF)$"),
    list("-+0123456789."),
)


def read_yaml(path: Path) -> tuple[dict[str, Any], dict[tuple, int]]:
    """Return the mapping in a file, and the line of every key in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such config; see configs/ for examples") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder; give the configs in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text: {error}") from None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        tree = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error}") from None
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:1: not valid YAML: {error}") from None
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}:1: a config is a mapping of keys; this is {_kind(tree)}")
    lines: dict[tuple, int] = {}
    _mark_lines(node, (), lines)
    return tree, lines


def _mark_lines(node, path: tuple, lines: dict[tuple, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _mark_lines(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            _mark_lines(value, (*path, i), lines)


def parse_value(text: str) -> Any:
    """Return the value that a piece of YAML stands for."""
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, TypeError, ValueError, RecursionError):
        raise ConfigError("the value is not valid YAML") from None


def override(tree: dict, key: str, value: Any) -> None:
    """Set a dotted key."""
    *parents, last = key.split(".")
    for name in parents:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{key}: {name} is not a mapping")
    tree[last] = value


@dataclass(frozen=True)
class Places:
    """Where the keys of a config were given: in its file, or by an option."""

    path: Path
    lines: dict[tuple, int]
    given: dict[str, str]

    def of(self, key: str, location: tuple = ()) -> str:
        """Return "file:line" of a dotted key (or of what should hold it), or the option."""
        for name, origin in self.given.items():
            if key == name or key.startswith(name + ".") or name.startswith(key + "."):
                return origin
        location = location or tuple(
            int(part) if part.isdigit() else part for part in key.split(".")
        )
        while location and location not in self.lines:
            location = location[:-1]
        return f"{self.path}:{self.lines.get(location, 1)}"


def explain(error: ValidationError, model: type[BaseModel], places: Places) -> list[str]:
    """Return one line for each problem."""
    # one problem a key, though each member of a union has its own: the most telling one
    messages: dict[str, tuple[int, str]] = {}
    for problem in error.errors():
        keys, block = _locate(problem["loc"], model, problem["type"] == "extra_forbidden")
        dotted = ".".join(str(key) for key in keys)
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
    members: dict[str, type[BaseModel]] = {}
    for i, part in enumerate(loc):
        if isinstance(part, int) or (unknown and i == len(loc) - 1):
            keys.append(part)
        elif part in members:
            block, members = members[part], {}
        elif part in block.model_fields:
            keys.append(part)
            members = _blocks(block.model_fields[part].annotation)
            if len(members) == 1:
                (block,) = members.values()
    return tuple(keys), block


def _discriminator(block: type[BaseModel]) -> str | None:
    """Return the key that says which of several kinds a block is, None where it is of one kind."""
    return next((name for name in DISCRIMINATORS if name in block.model_fields), None)


def _blocks(annotation: Any) -> dict[str, type[BaseModel]]:
    """Return the blocks that a key may hold, by the tag in their `source` or `kind`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        name = _discriminator(annotation)
        tag = get_args(annotation.model_fields[name].annotation)[0] if name else annotation.__name__
        return {tag: annotation}
    found: dict[str, type[BaseModel]] = {}
    for part in get_args(annotation):
        found |= _blocks(part)
    return found


def _what(problem: Any, dotted: str, block: type[BaseModel]) -> str:
    """Say what is wrong at a key, and what to do."""
    kind, value, context = problem["type"], problem.get("input"), problem.get("ctx", {})
    if kind == "extra_forbidden":
        name = dotted.rpartition(".")[2]
        return f"{dotted}: unknown key; {_suggest(name, sorted(block.model_fields))}"
    if kind.startswith("union_tag"):
        members = _blocks(block.model_fields[dotted.rpartition(".")[2]].annotation)
        tags = re.findall(r"'([^']+)'", context.get("expected_tags", "")) or sorted(members)
        key = _discriminator(next(iter(members.values())))
        if kind == "union_tag_not_found":
            return f"{dotted}.{key}: is required; use one of {', '.join(tags)}"
        tag = str(context.get("tag"))
        return f"{dotted}.{key}: unknown {key} {tag!r}; {_suggest(tag, tags)}"
    if kind == "value_error":
        text = str(context.get("error", problem["msg"]))
        return f"{dotted}: {text}" if dotted else text
    if kind == "string_pattern_mismatch":
        return f"{dotted}: use lower-case letters, digits, '.', '_' and '-', not {value!r}"
    if kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", problem["msg"])
        return f"{dotted}: cannot be {value!r}; {_suggest(str(value), allowed)}"
    for stem, words in WANTED.items():
        if kind.startswith(stem):
            return f"{dotted}: needs {words}, got {_kind(value)}"
    bound = next((f"{one:g}" for one in context.values() if isinstance(one, int | float)), "")
    sentences = {
        "too_short": f"needs at least {bound} entries",
        "too_long": f"needs {bound} entries, got {_length(value)}",
        "missing": "is required; add it",
        "greater_than": f"must be greater than {bound}, got {value}",
        "greater_than_equal": f"must be at least {bound}, got {value}",
        "less_than_equal": f"must be at most {bound}, got {value}",
        "less_than": f"must be less than {bound}, got {value}",
        "finite_number": f"must be a finite number, got {value}",
    }
    return f"{dotted}: {sentences.get(kind) or problem['msg'].lower()}"


def _length(value: Any) -> int | str:
    return len(value) if isinstance(value, list | tuple) else "another number"


def _suggest(name: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(name, allowed, 1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(allowed)}"


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {value!r}"
    names = {
        bool: "true/false",
        int: "the number",
        float: "the number",
        list: "a list",
        dict: "a mapping",
    }
    name = names.get(type(value), type(value).__name__)
    return f"{name} {value}" if isinstance(value, int | float) else name
