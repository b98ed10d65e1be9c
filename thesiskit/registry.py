"""Classes that configs name: data sources and models."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import metadata
from pkgutil import resolve_name
from typing import Any


class Registry(Mapping[str, Any]):
    """Classes by name; a class is imported when it is looked up.

    names : "module:Class" by name, below a package.
    Packages of others name theirs in their metadata, as entry points of the group of this package.
    """

    def __init__(self, package: str, names: dict[str, str]):
        self.package, self.names = package, names

    @cached_property
    def _theirs(self) -> dict[str, str]:
        """Those of other packages, which are looked for when a name is not one of ours."""
        return {one.name: one.value for one in metadata.entry_points(group=self.package)}

    def __getitem__(self, name: str) -> Any:
        if name in self.names:
            return resolve_name(f"{self.package}.{self.names[name]}")
        return resolve_name(self._theirs[name])

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self._theirs

    def __iter__(self) -> Iterator[str]:
        return iter(self.names | self._theirs)

    def __len__(self) -> int:
        return len(self.names | self._theirs)
