"""Published data that come with thesiskit, so that no experiment needs a network.

Their files are in datasets/files/, compressed; data/README.md says where each comes from.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import FeatureTable, Source, Table
from thesiskit.errors import DataError, UserError, quoted

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class PublishedFile:
    """A file of published data.

    file : its name below datasets/files/.
    sha256 : of its content, not compressed.
    """

    file: str
    sha256: str

    def text(self) -> str:
        """Return the content.

        Raises
        ------
        DataError: the installed file is missing, or not what was shipped.
        """
        path = FILES / self.file
        try:
            content = gzip.decompress(path.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: cannot be read ({error}); install thesiskit again") from None
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DataError(
                f"{path}: not the file that was shipped (sha256 {found[:12]}..., not "
                f"{self.sha256[:12]}...); install thesiskit again"
            )
        return content.decode("utf-8")


def published() -> dict[str, type[Source]]:
    """Return the sources of published data by name."""
    return {name: source for name, source in SOURCES.items() if source.published}


def csv_lines(name: str) -> Iterator[str]:
    """Yield the lines of a published table as CSV: names, then a line for each case, class first.

    Raises
    ------
    UserError: there are no such data, or they are a text.
    """
    known = published()
    if name not in known:
        raise UserError(f"there is no data set {quoted(name)}; choose from {', '.join(known)}")
    source = known[name]
    if source.family == "sequences":
        raise UserError(f"{name} is a text, and no table; `thesiskit show text` is its config")
    (table,) = source.model_validate({"source": name}).read(Path())
    names = table.names if isinstance(table, Table) else table.features
    yield ",".join(["class", *names])
    for case, code in zip(_cells(table), table.response.tolist(), strict=True):
        yield ",".join([table.classes[code], *case])


def _cells(table: Table | FeatureTable) -> Iterator[list[str]]:
    """Yield the cells of each case as text; none of the published ones needs quotes."""
    if isinstance(table, Table):
        yield from (list(map(repr, case)) for case in table.features.tolist())
        return
    symbols = [np.array([*values, "", ""]) for values in table.values]  # UNSEEN, MISSING at the end
    columns = [known[codes] for known, codes in zip(symbols, table.X.T, strict=True)]
    yield from (list(map(str, case)) for case in zip(*columns, strict=True))
