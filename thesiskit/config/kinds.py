"""Blocks of several kinds: the class is named by one of its keys, and imported when it is."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import PlainValidator
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from thesiskit.blocks import Block
from thesiskit.config.logistic import LogisticModel
from thesiskit.models import MODELS


class Kinds(Mapping[str, type[Block]]):
    """The blocks `model` by kind; the module of a model is imported when its block is asked for."""

    def __getitem__(self, kind: str) -> type[Block]:
        return LogisticModel if kind == "logistic" else MODELS[kind].block()

    def __contains__(self, kind: object) -> bool:
        return kind == "logistic" or kind in MODELS

    def __iter__(self) -> Iterator[str]:
        yield from (*MODELS, "logistic")

    def __len__(self) -> int:
        return len(MODELS) + 1


KINDS = Kinds()


def by_tag(tag: str, blocks: Mapping[str, type[Block]]) -> PlainValidator:
    """Return what validates a block by the class that one of its keys names; that is imported."""

    def schema_of(name: str) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda block: blocks[name].model_validate(block)
        )

    def validated(value: Any) -> Block:
        given = value.get(tag) if isinstance(value, dict) else None
        known = [given] if isinstance(given, str) and given in blocks else blocks
        choices = {name: schema_of(name) for name in known}
        schema = core_schema.tagged_union_schema(choices, discriminator=tag)
        return SchemaValidator(schema).validate_python(value)

    return PlainValidator(validated)


class ModelOf:
    """Stands for the blocks `model` in annotations: see `KINDS`."""
