"""Published tables, shipped with thesiskit or with scikit-learn.

Breast cancer: Wolberg, Street and Mangasarian (1995), Breast Cancer Wisconsin (Diagnostic), UCI
Machine Learning Repository; scikit-learn ships it.
Splice junctions: Towell, Noordewier and Shavlik (1992), Molecular Biology (Splice-junction Gene
Sequences), UCI Machine Learning Repository.
Votes: Schlimmer (1987), Congressional Voting Records, UCI Machine Learning Repository.
"""

import csv
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from thesiskit.datasets.published import PublishedFile
from thesiskit.datasets.source import MISSING, FeatureTable, Source, Table
from thesiskit.errors import DataError

# the first line names the columns, of which y is the class
SPLICE = PublishedFile(
    "splice.csv.gz", "ade9456512272921ccbe649ca7d30d0254eb0dd6bdb14bbd2cd06bb2bb3e244f"
)
VOTES = PublishedFile(
    "votes.csv.gz", "baa151eb4652b5e5135b2430427f77f5a8aaabd12cc9e6e81f15e8671445553b"
)


class BreastCancerData(Source):
    """The breast-cancer table that scikit-learn ships."""

    family: ClassVar = "table"
    published: ClassVar = "30 measurements of 569 tumours; CC BY 4.0, comes with scikit-learn"

    source: Literal["breast-cancer"]
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """A measurement becomes 1 where it exceeds its median over the training cases, or over all."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:  # noqa: ARG002
        """Return the table."""
        return [breast_cancer()]


class SpliceData(Source):
    """Primate splice junctions."""

    family: ClassVar = "features"
    published: ClassVar = "60 bases around 3,190 points of primate DNA, of three kinds; CC BY 4.0"

    source: Literal["splice"]
    window: Annotated[int, Field(strict=True, ge=1, le=30)] = 30
    """Number of positions used on either side of the middle."""

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:  # noqa: ARG002
        """Return the table."""
        return [splice(self.window)]


class VotesData(Source):
    """Votes in the U.S. House of Representatives, 1984."""

    family: ClassVar = "features"
    published: ClassVar = "16 votes of 435 US representatives in 1984, and their party; CC BY 4.0"

    source: Literal["votes"]

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:  # noqa: ARG002
        """Return the table."""
        return [votes()]


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
