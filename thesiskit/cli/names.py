"""What can stand for a config, a key or a data set on a command line, and what a shell offers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from thesiskit.errors import UserError
from thesiskit.shipped import find, folders, shipped


class _Named(click.ParamType):
    """Something with a name that a shell can complete."""

    def known(self) -> Iterable[str]:
        """Return all names; packages that are slow to import are only imported for this."""
        raise NotImplementedError

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so."""
        del ctx, param
        names = dict.fromkeys(self.known())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class ConfigType(_Named):
    """A config: a path, or the name of one that comes with thesiskit.

    many : the name of a folder stands for the configs in it; a value becomes a list of paths.
    """

    name = "config"

    def __init__(self, *, many: bool = False):
        self.many = many

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | list[Path]:
        """Return the path, or the paths; raise ConfigError where there is none of that name."""
        del param, ctx
        found = find(value) if isinstance(value, str) else [value]
        if self.many:
            return found
        if len(found) > 1:
            raise UserError(f"{value} stands for {len(found)} configs; name one of them")
        return found[0]

    def known(self) -> Iterable[str]:
        """Return the names of configs, and where many may be given, of their folders."""
        return [*shipped(), *(folders() if self.many else ())]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so, and let the shell offer files."""
        offered = super().shell_complete(ctx, param, incomplete)
        return [*offered, CompletionItem(incomplete, type="file")]


class KeyType(_Named):
    """A dotted key of a config."""

    name = "key"

    def known(self) -> Iterable[str]:
        """Return all keys."""
        from thesiskit.config.keys import keys

        return (key.name for key in keys())


class SettingType(KeyType):
    """KEY=VALUE, which overrides a key of the config."""

    name = "setting"

    def known(self) -> Iterable[str]:
        """Return all keys, ready for a value."""
        return (f"{name}=" for name in super().known())


class DataType(_Named):
    """A published data set."""

    name = "name"

    def known(self) -> Iterable[str]:
        """Return the names of the published data sets."""
        from thesiskit.datasets.published import published

        return published()
