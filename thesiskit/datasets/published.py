"""Published tables, which come with thesiskit or with scikit-learn, so that nothing is fetched.

The files are in datasets/files/, compressed; data/README.md says where each comes from.

Colon cancer: Alon, Barkai, Notterman, Gish, Ybarra, Mack and Levine (1999), "Broad patterns of
gene expression revealed by clustering analysis of tumor and normal colon tissues probed by
oligonucleotide arrays", PNAS 96(12), 6745-6750; 40 tumour and 22 normal samples, 2,000 genes.
Breast cancer: Wolberg, Street and Mangasarian (1995), Breast Cancer Wisconsin (Diagnostic), UCI
Machine Learning Repository; scikit-learn ships it.
Splice junctions: Towell, Noordewier and Shavlik (1992), Molecular Biology (Splice-junction Gene
Sequences), UCI Machine Learning Repository.
Votes: Schlimmer (1987), Congressional Voting Records, UCI Machine Learning Repository.
"""

import csv
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import MISSING, FeatureTable, Source, Table
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


COLON = PublishedFile(
    "Alon1999.csv.gz", "fe340b1fe67bd1c76fd627749790febe2b54dd243528de27b51d97ab2df04df1"
)
# the first line names the columns, of which y is the class
SPLICE = PublishedFile(
    "splice.csv.gz", "ade9456512272921ccbe649ca7d30d0254eb0dd6bdb14bbd2cd06bb2bb3e244f"
)
VOTES = PublishedFile(
    "votes.csv.gz", "baa151eb4652b5e5135b2430427f77f5a8aaabd12cc9e6e81f15e8671445553b"
)


class ColonData(Source):
    """Colon-cancer gene expression, Alon et al. (1999)."""

    family: ClassVar = "table"
    published: ClassVar = (
        "gene expression in 40 cancerous and 22 normal colon tissues, 2,000 genes; CC0"
    )

    source: Literal["colon"]
    intensities: Literal["log-standardised", "raw"] = "log-standardised"
    """`log-standardised`: log10, standardised within each sample; or `raw`, as published."""
    binarise: Literal["all-medians", "training-medians"] = "all-medians"
    """A gene becomes 1 where it exceeds its median over all cases, as in the thesis; or over the
    training cases."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        return [colon(self.intensities)]


class BreastCancerData(Source):
    """The breast-cancer table that scikit-learn ships."""

    family: ClassVar = "table"
    published: ClassVar = "30 measurements of 569 tumours; CC BY 4.0, comes with scikit-learn"

    source: Literal["breast-cancer"]
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """A measurement becomes 1 where it exceeds its median over the training cases, or over all."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        return [breast_cancer()]


class SpliceData(Source):
    """Primate splice junctions."""

    family: ClassVar = "features"
    published: ClassVar = "60 bases around 3,190 points of primate DNA, of three kinds; CC BY 4.0"

    source: Literal["splice"]
    window: Annotated[int, Field(strict=True, ge=1, le=30)] = 30
    """Number of positions used on either side of the middle."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        return [splice(self.window)]


class VotesData(Source):
    """Votes in the U.S. House of Representatives, 1984."""

    family: ClassVar = "features"
    published: ClassVar = "16 votes of 435 US representatives in 1984, and their party; CC BY 4.0"

    source: Literal["votes"]

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        return [votes()]


# ---- the tables ----


def colon(intensities: str = "log-standardised") -> Table:
    """Return the colon data, response 1 for tumour, in the order of the public file.

    `log-standardised` takes log10, then subtracts each sample's mean and divides by its standard
    deviation (divisor 1,999), which fits the thesis's remark that the fifth correlation was
    around 0.5; `raw` leaves the intensities as they are, which does not (it gives 0.40).
    """
    header, *lines = COLON.text().strip().splitlines()
    names = [name.strip('"') for name in header.split(",")]
    rows = [line.split(",") for line in lines]
    features = np.array([row[1:] for row in rows], dtype=float)
    first = len(names) - features.shape[1]
    if intensities == "log-standardised":
        features = np.log10(features)
        features -= features.mean(axis=1, keepdims=True)
        features /= features.std(axis=1, ddof=1, keepdims=True)
    response = np.array([row[0].strip('"') == "t" for row in rows], dtype=np.uint8)
    return Table(
        features, response, names[first:], COLON.sha256, f"Alon1999.csv, {intensities}",
        classes=("normal", "tumour"),
    )  # fmt: skip


def breast_cancer() -> Table:
    """Return the Wisconsin breast-cancer table of scikit-learn: 569 cases, malignant is 1."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    response = (data.target == 0).astype(np.uint8)
    names = [str(name) for name in data.feature_names]
    digest = hashlib.sha256(np.ascontiguousarray(data.data).tobytes()).hexdigest()
    return Table(
        data.data, response, names, digest, "scikit-learn's breast-cancer table",
        classes=("benign", "malignant"),
    )  # fmt: skip


def splice(window: int = 30) -> FeatureTable:
    """Return splice junctions: classes EI, IE and N, features -30 to -1 and +1 to +30.

    A letter that stands for several bases (N, D, S, R) is MISSING.  Some rows occur twice.

    Parameters
    ----------
    window : keep so many positions on each side of the junction.

    Raises
    ------
    DataError: a window that is not 1 to 30.
    """
    if not 1 <= window <= 30:
        raise DataError(f"window is {window}; it must be from 1 to 30")
    names = [f"{t:+d}" for t in range(-30, 31) if t]
    found = _table(SPLICE, "ACGT", ["EI", "IE", "N"], "splice junctions", names)
    kept = [j for j, name in enumerate(names) if abs(int(name)) <= window]
    return replace(
        found,
        X=found.X[:, kept],
        features=[names[j] for j in kept],
        values=found.values[: len(kept)],
    )


def votes() -> FeatureTable:
    """Return 16 votes (n, y or MISSING) of 435 US representatives of 1984, and their party."""
    return _table(VOTES, "ny", ["democrat", "republican"], "votes of 1984")


def _table(
    file: PublishedFile, letters: str, classes: list[str], name: str, names: list[str] | None = None
) -> FeatureTable:
    """Code the cells of a file by their letters, others as MISSING; `names` are of its features."""
    (_, *given), *rows = csv.reader(file.text().splitlines())
    cells = np.array(rows)
    X = np.full(cells[:, 1:].shape, MISSING, dtype=np.int16)
    for code, letter in enumerate(letters):
        X[cells[:, 1:] == letter] = code
    response = np.searchsorted(classes, cells[:, 0]).astype(np.int32)
    features = names or given
    return FeatureTable(X, response, features, [list(letters) for _ in features], classes, name)


# ---- as a user sees them ----


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
    if isinstance(table, Table):
        names, cells = table.names, (map(repr, case) for case in table.features.tolist())
    else:
        names = table.features
        symbols = [np.array([*values, "", ""]) for values in table.values]  # UNSEEN, MISSING last
        columns = [known[codes] for known, codes in zip(symbols, table.X.T, strict=True)]
        cells = (map(str, case) for case in zip(*columns, strict=True))
    yield ",".join(["class", *names])
    for case, code in zip(cells, table.response.tolist(), strict=True):
        yield ",".join([table.classes[code], *case])  # none of these needs quotes
