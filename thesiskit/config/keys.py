"""What the keys of a config mean: for `thesiskit docs`, docs/config.md and editors.

The one description of a key is the text below it in its class, in this folder or in datasets/.
"""

import difflib
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union, get_args

from pydantic import BaseModel, BeforeValidator, Field, create_model
from pydantic.fields import FieldInfo

from thesiskit.config import Config
from thesiskit.config.kinds import KINDS, ModelOf
from thesiskit.config.problems import annotation_of
from thesiskit.config.yamlfile import read_yaml
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source
from thesiskit.errors import ConfigError, cut, quoted

TAGS = ("source", "kind")  # keys that say which of several blocks it is


class Key(NamedTuple):
    """A key of a config.

    block : what has it where there are several, such as "source: colon"; else empty.
    default : as YAML writes it; "required" where there is none, empty where it is not given.
    """

    name: str
    block: str
    default: str
    text: str


@cache
def keys() -> list[Key]:
    """Return all keys, blocks before the keys in them."""
    return list(_keys(Config, "", ""))


def _keys(model: type[BaseModel], prefix: str, block: str) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        if name in TAGS and prefix:
            continue  # the block says it
        whole = f"{prefix}{name}"
        text = " ".join((field.description or "").split())
        yield Key(whole, block, _default(field), text)
        inner = _blocks(annotation_of(field))
        if len(inner) > 1:
            tag = _tag(inner[0]).partition(":")[0]
            said = [f"`{_tag(one).partition(': ')[2]}`: {_title(one)}" for one in inner]
            default = _default(inner[0].model_fields[tag])
            yield Key(f"{whole}.{tag}", block, default, " ".join(said))
        for one in inner:
            yield from _keys(one, f"{whole}.", _tag(one) if len(inner) > 1 else block)


def _title(block: type[BaseModel]) -> str:
    return (block.__doc__ or "").partition("\n")[0]


def _blocks(annotation: Any) -> list[type[BaseModel]]:
    """Return the blocks that a key may hold."""
    if annotation is Source:
        return list(SOURCES.values())
    if annotation is ModelOf:
        return list(KINDS.values())
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [block for part in get_args(annotation) for block in _blocks(part)]


def _tag(block: type[BaseModel]) -> str:
    """Return what makes a block this one, such as "kind: mixture"."""
    name = next(name for name in TAGS if name in block.model_fields)
    return f"{name}: {get_args(block.model_fields[name].annotation)[0]}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or isinstance(value, BaseModel):
        return ""
    return str(value).lower() if isinstance(value, bool) else _yaml(value)


def _yaml(value: Any) -> str:
    """Return a short value as YAML writes it on one line."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_yaml(one) for one in value) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        plain = value.isalpha() or "-" in value
        return value if plain and value.lower() not in ("nan", "na") else repr(value)
    return "{}" if value == {} else f"{value:g}" if isinstance(value, float) else str(value)


def described(name: str | None) -> list[str]:
    """Return lines about a key, about all keys of a block, or about all that there are.

    Raises
    ------
    ConfigError: there is no such key; which was perhaps meant.
    """
    if name is None:
        return [_in_short(key) for key in keys()]
    found = [key for key in keys() if key.name == name]
    below = [key for key in keys() if key.name.startswith(f"{name}.")]
    if not found:
        known = list(dict.fromkeys(key.name for key in keys()))
        near = difflib.get_close_matches(cut(name), known, 1)
        near = near or [one for one in known if one.rpartition(".")[2] == name][:1]
        hint = f"did you mean {near[0]}?" if near else "`thesiskit docs` lists all keys"
        raise ConfigError(f"{quoted(name)} is no key of a config; {hint}")
    lines = []
    for key in found:
        lines += [_head(key), *textwrap.wrap(key.text, 96, initial_indent="  ",
                                             subsequent_indent="  ")]  # fmt: skip
    return lines + [_in_short(key) for key in below]


def _head(key: Key) -> str:
    said = [f"({key.block})"] if key.block else []
    said += ["required"] if key.default == "required" else []
    said += [f"default {key.default}"] if key.default not in ("", "required") else []
    return f"{key.name}  {', '.join(said)}".rstrip()


def _in_short(key: Key) -> str:
    first = re.split(r"\.\s+(?=[A-Z`])", key.text)[0].rstrip(".")
    where = f" ({key.block})" if key.block else ""
    return f"{key.name}{where}: {first}"


def schema() -> dict[str, Any]:
    """Return a JSON schema of configs, with which an editor completes and checks keys."""
    sources: Any = Union[tuple(SOURCES.values())]  # noqa: UP007
    models: Any = Union[tuple(KINDS.values())]  # noqa: UP007
    data: Any = Annotated[sources, Field(discriminator="source")]
    model: Any = Annotated[models, Field(discriminator="kind")]
    texts = {name: field.description for name, field in Config.model_fields.items()}
    default: Any = Config.model_fields["model"].default_factory
    whole = create_model(
        "Config",
        __base__=Config,
        data=(data | None, Field(None, description=texts["data"])),
        model=(model, Field(default_factory=default, description=texts["model"])),
    )
    found = whole.model_json_schema()
    blocks = {block.__name__: block for block in _all_blocks(whole)}
    for name, block in blocks.items():
        place = found if block is whole else found["$defs"].get(name)
        if place is None:
            continue
        for key in _listed(block):  # one value stands for a list of it
            key_schema = place["properties"][key]
            kinds = key_schema.get("anyOf", [key_schema])  # a list, or nothing
            items = next(kind["items"] for kind in kinds if "items" in kind)
            place["properties"][key] = {"anyOf": [*kinds, items]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _listed(block: type[BaseModel]) -> list[str]:
    """Return the keys of a block that take one value in place of a list of it."""
    found = block.__pydantic_decorators__.field_validators.get("_list")
    several = [name for name, field in block.model_fields.items()
               if any(isinstance(one, BeforeValidator) for one in field.metadata)]  # fmt: skip
    return several + [name for name in (found.info.fields if found else ())
                      if name in block.model_fields]  # fmt: skip


def _all_blocks(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for block in _blocks(annotation_of(field)):
            yield from _all_blocks(block)


def title_and_minutes(path: Path) -> tuple[str, str]:
    """Return the title of a config, and about how many minutes it takes; not validated."""
    tree, _ = read_yaml(path)
    minutes = tree.get("minutes")
    return str(tree.get("title", "")), "" if minutes is None else f"{minutes:g} min"
