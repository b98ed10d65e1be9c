"""Published tables from scikit-learn, or through it from OpenML.

Breast cancer: Wolberg, Street and Mangasarian (1995), Breast Cancer Wisconsin (Diagnostic), UCI
Machine Learning Repository; scikit-learn ships it.
Splice junctions: Towell, Noordewier and Shavlik (1992), Molecular Biology (Splice-junction Gene
Sequences), UCI Machine Learning Repository.
Votes: Schlimmer (1987), Congressional Voting Records, UCI Machine Learning Repository.
"""

import hashlib
import os
import warnings
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from thesiskit.datasets.gene_expression import PublicFile, local_file
from thesiskit.datasets.reading.cells import read_cells
from thesiskit.datasets.source import MISSING, FeatureTable, Source, Table
from thesiskit.errors import DataError

SPLICE = PublicFile(
    name="splice",
    file="splice.csv.gz",
    url="https://www.openml.org/d/46",
    sha256="e7b23c9a36e38de5eda5772506d655230cd61f18a6fef13993e47bcfaf1cd439",
    licence="CC BY 4.0",
    about="bases around 3,190 points of primate DNA: exon-intron and intron-exon borders, neither",
)
VOTES_FILE = "votes.csv.gz"


class BreastCancerData(Source):
    """The breast-cancer table that scikit-learn ships."""

    family: ClassVar = "table"

    source: Literal["breast-cancer"]
    binarise: Literal["all-medians", "training-medians"] = "training-medians"

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:  # noqa: ARG002
        """Return the table."""
        return [breast_cancer()]


class SpliceData(Source):
    """Primate splice junctions, fetched from OpenML."""

    family: ClassVar = "features"

    source: Literal["splice"]
    window: Annotated[int, Field(strict=True, ge=1, le=30)] = 30  # positions on either side

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:  # noqa: ARG002
        """Return the table."""
        return [splice(self.window)]


class VotesData(Source):
    """Votes in the U.S. House of Representatives, 1984, fetched from OpenML."""

    family: ClassVar = "features"

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
    return Table(data.data, response, names, digest, "scikit-learn's breast-cancer table")


def splice(window: int = 30) -> FeatureTable:
    """Return splice junctions: classes EI, IE and N, features -30 to -1 and +1 to +30.

    A letter that stands for several bases (N, D, S, R) is MISSING.  Some rows occur twice.

    Parameters
    ----------
    window : keep so many positions on each side of the junction.

    Raises
    ------
    DataError: a window that is not 1 to 30; no file and no network; other data than expected.
    """
    if not 1 <= window <= 30:
        raise DataError(f"window is {window}; it must be from 1 to 30")
    path = local_file(SPLICE)
    frame = _read(path) if path else _fetch(46, "splice junctions", SPLICE.file)
    frame = frame[[name for name in frame if name.lower() != "instance_name"]]
    if frame.shape[1] != 61:
        raise DataError(f"the splice junctions have {frame.shape[1] - 1} positions, not 60")
    frame.columns = ["y", *(f"{t:+d}" for t in range(-30, 31) if t)]
    keep = ["y", *(f"{t:+d}" for t in range(-window, window + 1) if t)]
    return _table(frame[keep], "ACGT", ["EI", "IE", "N"], "splice junctions")


def votes() -> FeatureTable:
    """Return 16 votes (n, y or MISSING) of 435 US representatives of 1984, and their party.

    A file `votes.csv.gz` in THESISKIT_DATA_DIR has a column y (democrat, republican) and one for
    each vote, with anything but n and y for missing.

    Raises
    ------
    DataError: no file and no network; other data than expected.
    """
    folder = os.environ.get("THESISKIT_DATA_DIR")
    if folder and (path := Path(folder) / VOTES_FILE).is_file():
        frame = _read(path)
    else:
        frame = _fetch(56, "votes", VOTES_FILE)
    return _table(frame, "ny", ["democrat", "republican"], "votes of 1984")


def _read(path: Path) -> pd.DataFrame:
    """Return the cells of a file as text, the class first."""
    names, rows = read_cells(path, ",")
    return _class_first(pd.DataFrame([cells for _, cells in rows], columns=names), "y", str(path))


def _fetch(number: int, name: str, file: str) -> pd.DataFrame:
    """Return the cells of an OpenML table as text, the class first."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each attempt that fails warns
            frame = fetch_openml(data_id=number, as_frame=True).frame
    except Exception as error:  # whatever the network does, the remedy is the same
        reason = str(error).splitlines()[0][:90] if str(error) else type(error).__name__
        raise DataError(
            f"could not fetch the {name} from OpenML ({type(error).__name__}: {reason}); put "
            f"{file} in a folder named by THESISKIT_DATA_DIR (data/README.md), or run this once "
            "with network: scikit-learn keeps a copy"
        ) from None
    cells = frame.astype(object).where(frame.notna(), "").astype(str)
    return _class_first(cells, "Class", f"OpenML's {name}")


def _class_first(frame: pd.DataFrame, response: str, where: str) -> pd.DataFrame:
    if response not in frame:
        raise DataError(f"{where}: there is no column {response!r}; it must hold the classes")
    return frame[[response, *frame.columns.drop(response)]].rename(columns={response: "y"})


def _table(frame: pd.DataFrame, letters: str, classes: list[str], name: str) -> FeatureTable:
    """Code the cells by their letters, others as MISSING."""
    cells = frame.apply(lambda column: column.str.strip(" '")).to_numpy(dtype=str)
    found = sorted(set(cells[:, 0]))
    if found != classes:
        raise DataError(f"the {name} have classes {', '.join(found[:5])}, not {', '.join(classes)}")
    X = np.full(cells[:, 1:].shape, MISSING, dtype=np.int16)
    for code, letter in enumerate(letters):
        X[cells[:, 1:] == letter] = code
    features = [str(column) for column in frame.columns[1:]]
    response = np.searchsorted(classes, cells[:, 0]).astype(np.int32)
    return FeatureTable(X, response, features, [list(letters) for _ in features], classes, name)
