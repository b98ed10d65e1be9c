"""Data sets: drawn from a model, published, or the user's own.

Each is a `Source` (datasets/source.py), known by the name that a config gives as `data.source`.
Its module is imported when a config asks for it.  To add one, write its class in a module here,
and name it below; a package of its own names it in its metadata, under the entry points of
`thesiskit.datasets`.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import metadata
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thesiskit.datasets.source import Source

_OURS = {
    "naive-bayes": "synthetic:NaiveBayesData",
    "mixture": "synthetic:MixtureData",
    "normal": "normal:NormalData",
    "signals": "signals:SignalsData",
    "colon": "gene_expression:ColonData",
    "microarray": "microarray:MicroarrayData",
    "breast-cancer": "public_tables:BreastCancerData",
    "file": "table_files:FileData",
    "hidden-markov": "sequences:HiddenMarkovData",
    "logistic": "sequences:LogisticData",
    "text": "texts:TextData",
    "sequences": "sequence_files:SequenceFileData",
    "interactions": "features:InteractionData",
    "tic-tac-toe": "features:TicTacToeData",
    "splice": "public_tables:SpliceData",
    "votes": "public_tables:VotesData",
    "epistasis": "epistasis:EpistasisData",
    "table": "feature_files:TableData",
}


class _Sources(Mapping[str, "type[Source]"]):
    """The sources by name; a source is imported when it is looked up."""

    @cached_property
    def _theirs(self) -> dict[str, str]:
        """Sources of other packages; these are looked for when a name is not one of ours."""
        return {one.name: one.value for one in metadata.entry_points(group="thesiskit.datasets")}

    def __getitem__(self, name: str) -> "type[Source]":
        if name in _OURS:
            return resolve_name(f"{__name__}.{_OURS[name]}")
        return resolve_name(self._theirs[name])

    def __contains__(self, name: object) -> bool:
        return name in _OURS or name in self._theirs

    def __iter__(self) -> Iterator[str]:
        return iter(_OURS | self._theirs)

    def __len__(self) -> int:
        return len(_OURS | self._theirs)


SOURCES = _Sources()
