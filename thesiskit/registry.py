"""What configs and commands name: data sources, models, and the configs that are shipped."""

import difflib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from thesiskit.errors import ConfigError, quoted, shorten


class Registry(Mapping[str, Any]):
    """Classes by name; a class is imported when it is looked up.

    names : "module:Class" by name, below a package.
    more : the same with whole names of modules.
    Packages of others name theirs in their metadata, as entry points of the group of this package.
    """

    def __init__(self, package: str, names: dict[str, str], more: Mapping[str, str] | None = None):
        self.package, self.names, self.more = package, names, more or {}

    @cached_property
    def _theirs(self) -> dict[str, str]:
        """Those of other packages, which are looked for when a name is not one of ours."""
        return {one.name: one.value for one in metadata.entry_points(group=self.package)}

    def __getitem__(self, name: str) -> Any:
        if name in self.names:
            return resolve_name(f"{self.package}.{self.names[name]}")
        return resolve_name(self.more.get(name) or self._theirs[name])

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self.more or name in self._theirs

    def __iter__(self) -> Iterator[str]:
        return iter({**self.names, **self.more, **self._theirs})

    def __len__(self) -> int:
        return len({**self.names, **self.more, **self._theirs})


# ---- candidates: what is selected from other data than tables of numbers ----

# by the family of the data; each is a folder of its own
_CANDIDATES = {
    "features": "thesiskit.pairs:PATTERNS",
}


@dataclass(frozen=True)
class Candidates:
    """What a folder of candidates brings: places as "module:name", some of them by a name.

    unit : what is selected, in a word.
    needed : what a config without a selection is told.
    sources : of data.
    files : by suffix, functions that inspect a file for `thesiskit init`.
    parts : of reports; each shows what the correction does to what was selected.
    block : the class of the config block `selection`.
    work : the class of experiments that select.
    draft : a function that returns the blocks of a config for a file, "" where they do not suit.
    method, model, covariates : of models for new samples: the class of a fitted method, the
        function that returns the model of all methods, and the class of a model of covariates.
    """

    unit: str
    needed: str
    sources: Mapping[str, str]
    files: Mapping[str, str]
    parts: Mapping[str, str]
    block: str
    work: str
    draft: str
    method: str
    model: str
    covariates: str

    def load(self, name: str) -> Any:
        """Return the class or function of a field."""
        return resolve_name(getattr(self, name))


def candidates_of(family: str | None) -> Candidates | None:
    """Return what is selected from data of a family, None where it is columns, or nothing."""
    return resolve_name(_CANDIDATES[family]) if family in _CANDIDATES else None


def all_candidates() -> list[Candidates]:
    """Return all that are not columns of tables."""
    return [resolve_name(place) for place in _CANDIDATES.values()]


def fit_command(kind: str) -> str:
    """Return the command that fits a kind of model, such as fit-naive."""
    return f"fit-{kind.partition('-')[0]}"


# ---- configs ----
# A name is that of a file without its ending, such as null, or that of a folder, such as chapter2,
# which stands for all configs in it.

_INSTALLED = Path(__file__).parent / "configs"
_SOURCES = Path(__file__).parents[1] / "configs"  # where thesiskit runs from its sources


@cache
def shipped() -> dict[str, Path]:
    """Return the path of every config that comes with thesiskit, by name, in order of folders."""
    folder = _INSTALLED if _INSTALLED.is_dir() else _SOURCES
    return {path.stem: path for path in sorted(folder.glob("*/*.yaml"))}


def folders() -> dict[str, list[Path]]:
    """Return the paths of the configs of each folder, such as chapter2."""
    found: dict[str, list[Path]] = {}
    for path in shipped().values():
        found.setdefault(path.parent.name, []).append(path)
    return found


def exhibits() -> dict[str, list[str]]:
    """Return the tables and figures of the thesis that each config reproduces."""
    import yaml  # only where they are asked for

    reproduced: dict[str, list[str]] = {}
    path = Path(__file__).parent / "report/thesis/exhibits.yaml"
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        if "experiment" in entry:
            reproduced.setdefault(entry["experiment"], []).append(entry["name"])
    return reproduced


def find(text: str) -> list[Path]:
    """Return the configs that a path, a name, or a folder or its name stands for.

    Raises
    ------
    ConfigError: it is no file, and no such name; which name was perhaps meant.
    """
    path = Path(text)
    with suppress(OSError, ValueError):  # a name that no file can have
        if path.is_file():
            return [path]
        configs = sorted(path.glob("*.yaml"))  # none where it is no folder
        if configs and text not in (*shipped(), *folders()):
            return configs
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return [path]
    if text in shipped():
        return [shipped()[text]]
    if text in folders():
        return folders()[text]
    names = [*shipped(), *folders()]
    near = difflib.get_close_matches(shorten(text), names, 1)
    hint = f"did you mean {near[0]}?" if near else "`thesiskit list` shows all names"
    raise ConfigError(f"{quoted(text)} not found; {hint}")


def name_of(path: Path) -> str:
    """Return how to name a config on a command line: a shipped one by its name."""
    return path.stem if shipped().get(path.stem) == path else str(path)
