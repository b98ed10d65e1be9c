"""YAML files with line numbers; what YAML can do that a config has no use for is refused.

Refused with its line: aliases (eight levels of them can stand for 10^8 values), more than
MOST_NODES values, more than MOST_DEPTH levels, tags such as !!python/object, keys that are not text
or are given twice, several documents, and numbers with leading zeros, which some programs read as
octal.  0x1F and 0b11 are numbers, so is 1_000; 0o17, `yes`, dates and 1:00:00 are text.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from thesiskit.errors import ConfigError, quoted, shorten
from thesiskit.files import open_regular

MOST_BYTES = 2**20  # of a config
MOST_NODES = 10_000  # values and keys
MOST_DEPTH = 30
TABLES = {".csv", ".tsv", ".gz", ".parquet", ".npz", ".npy", ".bed", ".h5ad", ".fa", ".fasta"}
MOST_DIGITS = 300  # of a whole number
_TAG = "tag:yaml.org,2002:"
_ZEROS = "!leading-zeros"


class _Refused(yaml.MarkedYAMLError):
    """What YAML allows and a config does not; the problem is said in whole words."""

    def __init__(self, problem: str, mark: yaml.Mark):
        super().__init__(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    """YAML of a config: see above.  Nodes are counted before anything is made of them."""

    def __init__(self, text: str):
        super().__init__(text)
        self._count = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> Any:
        event: Any = self.peek_event()
        mark = event.start_mark
        if self.check_event(yaml.AliasEvent):
            raise _Refused(
                f"the alias *{shorten(event.anchor)} is not supported. Fix: write out the value",
                mark,
            )
        if event.tag is not None:
            said = quoted(event.tag.replace(_TAG, "!!"))
            raise _Refused(f"YAML tags ({said}) are not supported. Fix: remove it", mark)
        self._count, self._depth = self._count + 1, self._depth + 1
        if self._depth > MOST_DEPTH:
            raise _Refused(f"more than {MOST_DEPTH} nested levels. Fix: flatten it", mark)
        if self._count > MOST_NODES:
            raise _Refused(
                f"more than {MOST_NODES:,} values, the limit for a config. Fix: shorten it", mark
            )
        node: Any = super().compose_node(parent, index)
        self._depth -= 1
        problem = _wrong_number(node)
        if problem:
            raise _Refused(problem, mark)
        return node

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.tag != _TAG + "str":
                what = quoted(key.value) if key.id == "scalar" else f"a {key.id}"
                raise _Refused(f"a key is text, not {what}. Fix: put it in quotes", key.start_mark)
            if key.value in seen:
                raise _Refused(f"the key {quoted(key.value)} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _wrong_number(node: yaml.Node) -> str | None:
    """Say what is wrong with a number as it is written, None if nothing is."""
    text = node.value
    if node.tag == _ZEROS:
        said = re.sub("^([-+]?)0[0_]*(?=[0-9])", "\\1", text)
        zeros = f"{shorten(text)} has leading zeros, which some programs read as octal"
        return f"{zeros}. Fix: write {shorten(said)}, or '{shorten(text)}' as text"
    long = node.tag == _TAG + "int" and len(text) > MOST_DIGITS
    if long or (node.tag == _TAG + "float" and "n" not in text.lower() and math.isinf(float(text))):
        return f"the number {shorten(text)} is too large. Fix: put it in quotes if it is text"
    return None


# only true and false are booleans: `yes` and `no` are labels that data may have; 1:00:00 is the
# text of a time limit, not 3600, and 2020-01-01 that of a date
_OTHERWISE = [_TAG + name for name in ("bool", "int", "float", "timestamp", "value")]
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern, _first in (
    (_ZEROS, r"[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?", "-+0"),
    (_TAG + "int", r"[-+]?(0b[01]+|0|[1-9][0-9]*(_[0-9]+)*|0x[0-9a-fA-F]+)", "-+0123456789"),
    (_TAG + "bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    (
        _TAG + "float",
        r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF)|\.(nan|NaN|NAN))",
        "-+0123456789.",
    ),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list(_first))


def read_yaml(path: Path) -> tuple[dict[str, Any], dict[tuple, int]]:
    """Return the mapping in a file, and the line of every key in it."""
    where = shorten(path, 200)
    if TABLES & {suffix.lower() for suffix in path.suffixes}:
        raise ConfigError(f"{where}: is a table, not a config. Fix: run `thesiskit init`")
    try:
        with open_regular(path) as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(
            f"{where}: not found. Fix: choose a built-in experiment of `thesiskit list`"
        ) from None
    except IsADirectoryError:
        raise ConfigError(f"{where}: is a folder. Fix: give the configs in it") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{where}: cannot be read: {why}") from None
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{where}: larger than 1 MB. Fix: give another file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{where}:{line}: is not UTF-8 text. Fix: save it as UTF-8") from None
    node, tree = _read(text, where)
    if not isinstance(tree, dict):
        raise ConfigError(f"{where}:1: a config is a mapping of keys; this is {kind_of(tree)}")
    lines: dict[tuple, int] = {}
    _mark_lines(node, (), lines)
    return tree, lines


def _read(text: str, where: str | None) -> tuple[yaml.Node | None, Any]:
    """Return the node and the value of a text, or say what is not YAML, and in which line.

    where : the file, None where the text is an option's.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = str(error.problem or error.context)
        if "another document" in problem:
            problem = "a second YAML document begins (---). Fix: move it to another file"
        problem = shorten(problem, 200)
        refused = isinstance(error, _Refused)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character {quoted(chr(error.character))} is not allowed. Fix: remove it"
        refused = True
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        line, problem, refused = 1, shorten(error, 200), False
    if where is not None:
        raise ConfigError(f"{where}:{line}: {'' if refused else 'not valid YAML: '}{problem}")
    raise ConfigError(problem if refused else f"the value is not valid YAML: {problem}")


def _mark_lines(node, path: tuple, lines: dict[tuple, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if node.id == "mapping":
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _mark_lines(value, (*path, key.value), lines)
    elif node.id == "sequence":
        for i, value in enumerate(node.value):
            _mark_lines(value, (*path, i), lines)


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
            int(part) if part.isascii() and part.isdecimal() else part for part in key.split(".")
        )
        while location and location not in self.lines:
            location = location[:-1]
        return f"{shorten(self.path, 200)}:{self.lines.get(location, 1)}"

    def override(self, tree: dict, key: str, value: Any, *, parse: bool = False) -> None:
        """Set a dotted key of a tree, to a value or what a piece of YAML stands for."""
        *parents, last = key.split(".")
        try:
            if not all((*parents, last)):
                raise ConfigError(f"{quoted(key)} is not a key. Fix: write one such as data.alpha")
            if key.split(".")[0] == "smoke":
                raise ConfigError("smoke: cannot be overridden. Fix: set the keys themselves")
            value = _read(value, None)[1] if parse else value
            for name in parents:
                if tree.get(name) is None:  # absent, or a key with nothing after it
                    tree[name] = {}
                tree = tree[name]
                if not isinstance(tree, dict):
                    raise ConfigError(f"{shorten(key)}: {shorten(name)} is not a mapping")
        except ConfigError as error:
            raise ConfigError(f"{self.given[key]}: {error}") from None
        tree[last] = value


def kind_of(value: Any) -> str:
    """Say what kind of value something is, and which, where that is short."""
    words = {
        "NoneType": "nothing",
        "bool": "true/false",
        "str": f"the text {quoted(value)}",
        "int": f"the number {shorten(value)}",
        "float": f"the number {shorten(value)}",
        "list": "a list",
        "dict": "a mapping",
    }
    return words.get(type(value).__name__, "something else")
