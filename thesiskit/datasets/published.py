"""Published tables: some come with thesiskit or with scikit-learn, ten are fetched when asked for.

Those that come with thesiskit are in datasets/files/, compressed; data/README.md says where each
comes from.

Colon cancer: Alon, Barkai, Notterman, Gish, Ybarra, Mack and Levine (1999), "Broad patterns of
gene expression revealed by clustering analysis of tumor and normal colon tissues probed by
oligonucleotide arrays", PNAS 96(12), 6745-6750; 40 tumour and 22 normal samples, 2,000 genes.
Breast cancer: Wolberg, Street and Mangasarian (1995), Breast Cancer Wisconsin (Diagnostic), UCI
Machine Learning Repository; scikit-learn ships it.
Splice junctions: Towell, Noordewier and Shavlik (1992), Molecular Biology (Splice-junction Gene
Sequences), UCI Machine Learning Repository.
Votes: Schlimmer (1987), Congressional Voting Records, UCI Machine Learning Repository.
Microarrays: files of github.com/ramhiser/datamicroarray at one commit, with their sha256.  A file
is looked for in THESISKIT_DATA_DIR, then in the cache of the user, and else fetched into that.
"""

import csv
import gzip
import hashlib
import io
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from thesiskit.blocks import Transforms
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import FeatureTable, Source, Table
from thesiskit.defaults import MISSING, NO_TRANSFORM
from thesiskit.errors import DataError, UserError, quoted, shorten
from thesiskit.files import read_bytes

FILES = Path(__file__).parent / "files"
SHIPPED = {  # sha256 of the content, not compressed; of splice and votes the first column is y
    "Alon1999.csv.gz": "fe340b1fe67bd1c76fd627749790febe2b54dd243528de27b51d97ab2df04df1",
    "splice.csv.gz": "ade9456512272921ccbe649ca7d30d0254eb0dd6bdb14bbd2cd06bb2bb3e244f",
    "votes.csv.gz": "baa151eb4652b5e5135b2430427f77f5a8aaabd12cc9e6e81f15e8671445553b",
}

URL = (
    "https://raw.githubusercontent.com/ramhiser/datamicroarray/"
    "a95f6f68ed3debf48ee54f198435fa12aa655b16/data/"
)
with open(FILES / "microarray.csv", encoding="utf-8", newline="") as _file:
    # `intensities` want a floor and a logarithm; others are logarithms or fractions
    TABLES = {row["name"]: row for row in csv.DictReader(_file)}
SHA256 = {name: row["sha256"] for name, row in TABLES.items()}  # of the files
EXTRA = "data.source: microarray needs: pip install 'thesiskit[microarray]'"
FLOOR = 16.0  # intensities below it say nothing
SECONDS, RETRIES = 30, 2  # of a connection that says nothing; after a failure


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
    """A gene becomes 1 where it exceeds its median over all samples, as in the thesis; or over the
    training samples."""
    transform: Transforms = [NO_TRANSFORM]

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        return [colon(self.intensities)]


class BreastCancerData(Source):
    """The breast-cancer table that scikit-learn ships."""

    family: ClassVar = "table"
    published: ClassVar = "30 measurements of 569 tumours; CC BY 4.0, comes with scikit-learn"

    source: Literal["breast-cancer"]
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """A measurement becomes 1 above its median over the training samples, or over all."""
    transform: Transforms = [NO_TRANSFORM]

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
        """Return splice junctions: classes EI, IE and N, features -30 to -1 and +1 to +30.

        A letter that stands for several bases (N, D, S, R) is MISSING.  Some rows occur twice.
        """
        names = [f"{t:+d}" for t in range(-30, 31) if t]
        table = _coded("splice.csv.gz", "ACGT", ["EI", "IE", "N"], "splice junctions", names)
        columns = [j for j, name in enumerate(names) if abs(int(name)) <= self.window]
        features, values = [names[j] for j in columns], table.values[: len(columns)]
        return [replace(table, X=table.X[:, columns], features=features, values=values)]


class VotesData(Source):
    """Votes in the U.S. House of Representatives, 1984."""

    family: ClassVar = "features"
    published: ClassVar = "16 votes of 435 US representatives in 1984, and their party; CC BY 4.0"

    source: Literal["votes"]

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:
        """Return 16 votes (n, y or MISSING) of 435 representatives, and their party."""
        return [_coded("votes.csv.gz", "ny", ["democrat", "republican"], "votes of 1984")]


class MicroarrayData(Source):
    """A published table of gene expression."""

    family: ClassVar = "table"

    source: Literal["microarray"]
    table: Literal[*TABLES]  # type: ignore
    """Which table, by the first author of its paper. Its file is looked for in the folder that the
    variable `THESISKIT_DATA_DIR` names, and else fetched once."""
    binarise: Literal["all-medians", "training-medians"] = "training-medians"
    """For models of binary features: a gene becomes 1 where it exceeds its median over the training
    samples, or over all."""
    transform: Transforms = [NO_TRANSFORM]

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:
        """Return the table."""
        return [_microarray(self.table)]


# ---- the tables ----


def colon(intensities: str = "log-standardised") -> Table:
    """Return the colon data, response 1 for tumour, in the order of the public file.

    `log-standardised` takes log10, then subtracts each sample's mean and divides by its standard
    deviation (divisor 1,999), which fits the thesis's remark that the fifth correlation was
    around 0.5; `raw` leaves the intensities as they are, which does not (it gives 0.40).
    """
    names, *rows = csv.reader(_shipped("Alon1999.csv.gz").splitlines())
    features = np.array([row[1:] for row in rows], dtype=float)
    first = len(names) - features.shape[1]
    if intensities == "log-standardised":
        features = np.log10(features)
        features -= features.mean(axis=1, keepdims=True)
        features /= features.std(axis=1, ddof=1, keepdims=True)
    response = np.array([row[0] == "t" for row in rows], dtype=np.uint8)
    return Table(
        features,
        response,
        names[first:],
        ("normal", "tumour"),
        digest=SHIPPED["Alon1999.csv.gz"],
        source=f"Alon1999.csv, {intensities}",
    )


def breast_cancer() -> Table:
    """Return the Wisconsin breast-cancer table of scikit-learn: 569 samples, malignant is 1."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    response = (data.target == 0).astype(np.uint8)
    names = [str(name) for name in data.feature_names]
    return Table(
        data.data,
        response,
        names,
        ("benign", "malignant"),
        digest=hashlib.sha256(np.ascontiguousarray(data.data).tobytes()).hexdigest(),
        source="scikit-learn's breast-cancer table",
    )


def _coded(
    file: str, letters: str, classes: list[str], name: str, names: list[str] | None = None
) -> FeatureTable:
    """Code the cells of a file by their letters, others as MISSING; `names` are of its features."""
    (_, *header), *rows = csv.reader(_shipped(file).splitlines())
    cells, features = np.array(rows), names or header
    X = np.full(cells[:, 1:].shape, MISSING, dtype=np.int16)
    for code, letter in enumerate(letters):
        X[cells[:, 1:] == letter] = code
    response = np.searchsorted(classes, cells[:, 0]).astype(np.int32)
    return FeatureTable(
        X, response, features, [list(letters) for _ in features], classes, source=name
    )


def _shipped(file: str) -> str:
    """Return the content of a file that comes with thesiskit."""
    path = FILES / file
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}). Fix: reinstall thesiskit") from None
    _check_digest(path, content, SHIPPED[file], "the included file", "reinstall thesiskit")
    return content.decode("utf-8")


def _check_digest(path: Path, content: bytes, digest: str, description: str, remedy: str) -> None:
    actual = hashlib.sha256(content).hexdigest()
    if actual != digest:
        words = f"not {description} (sha256 {actual[:12]}..., not {digest[:12]}...). Fix: {remedy}"
        raise DataError(f"{path}: {words}")


# ---- microarrays ----


def _microarray(name: str) -> Table:
    """Return a table with intensities as logarithms, classes as its file orders them."""
    arrays = _parse(_content(name), name)
    features, scale = arrays["x"], "as published"
    if TABLES[name]["intensities"] == "yes":
        features, scale = np.log2(np.maximum(features, FLOOR)), f"log2 of max(x, {FLOOR:g})"
    return Table(
        features,
        arrays["y"],
        arrays["names"].tolist(),
        tuple(arrays["classes"].tolist()),
        missing=int(np.isnan(features).sum()),
        digest=hashlib.sha256(f"{SHA256[name]}, {scale}".encode()).hexdigest(),
        source=f"{name} ({TABLES[name]['what']}), {scale}",
    )


def _cache() -> Path:
    """Return the folder, below XDG_CACHE_HOME, of what is fetched."""
    if not (find_spec("pooch") and find_spec("rdata")):
        raise DataError(EXTRA)
    import pooch

    return Path(pooch.os_cache("thesiskit")) / "microarray"


def held(name: str) -> list[Path]:
    """Return the files of a microarray table: in THESISKIT_DATA_DIR, and what was fetched."""
    data_dir = os.environ.get("THESISKIT_DATA_DIR")
    folders = [*([Path(data_dir), Path(data_dir) / "microarray"] if data_dir else []), _cache()]
    return [file for folder in folders if (file := folder / f"{name}.RData").is_file()]


def _content(name: str) -> bytes:
    """Return the bytes of a published file, which is fetched if it is nowhere."""
    path = (held(name) or [fetch(name)])[0]
    try:
        content = read_bytes(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    remedy = "remove the file to download it again"
    _check_digest(path, content, SHA256[name], "the published file", remedy)
    return content


def fetch(name: str) -> Path:
    """Fetch a file into the cache; what is not the published one is not kept."""
    cache = _cache()
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")  # it would announce each file on the terminal
    file = f"{name}.RData"
    try:
        shelf = pooch.create(
            cache, URL, registry={file: f"sha256:{SHA256[name]}"}, retry_if_failed=RETRIES
        )
        return Path(shelf.fetch(file, downloader=pooch.HTTPDownloader(timeout=SECONDS)))
    except (OSError, ValueError) as error:  # requests' errors are of OSError
        reason = shorten(str(error).partition("\n")[0] or type(error).__name__, 80)
        if isinstance(error, requests.ConnectionError | requests.Timeout):
            reason = "no connection"
        elif "hash" in str(error):
            reason = "what is there now is not the published file"
        raise DataError(
            f"{file} cannot be fetched ({reason}). Fix: put {URL}{file} into {cache}"
        ) from None


def _parse(content: bytes, name: str) -> dict[str, np.ndarray]:
    """Return x (n, p), y (n,) codes, names (p,) or none, and the names of the classes."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an old file does not name its encoding
        table = rdata.read_rda(io.BytesIO(content), default_encoding="latin1")[name]
    x, y = table["x"], table["y"]  # x is a data frame, or a matrix with or without names
    columns = getattr(x, "columns", None)
    if columns is None:
        columns = getattr(x, "coords", {}).get("dim_1", [])
    return {
        "x": np.ascontiguousarray(x, dtype=float),
        "y": np.asarray(y.codes, dtype=np.uint8),
        "names": np.array(_unique(np.asarray(columns).tolist()), dtype=str),
        "classes": np.array([str(category) for category in y.categories], dtype=str),
    }


def _unique(names: Sequence[object]) -> list[str]:
    """Return names of which none is empty, and no two are equal."""
    unique: dict[str, None] = {}
    for j, value in enumerate(names):
        base = str(value).strip() if value == value and value is not None else ""  # NaN is R's NA
        name = base = base or f"gene {j + 1}"
        again = 1
        while name in unique:
            again += 1
            name = f"{base} ({again})"
        unique[name] = None
    return list(unique)


# ---- as a user sees them ----


def published() -> dict[str, type[Source]]:
    """Return the sources of published data by name."""
    return {name: source for name, source in SOURCES.items() if source.published}


def csv_lines(name: str) -> Iterator[str]:
    """Yield the lines of a published table as CSV: names, then each sample, its class first."""
    sources = published()
    if name not in sources:
        raise UserError(
            f"there is no data set {quoted(name)}. Fix: choose from {', '.join(sources)}"
        )
    source = sources[name]
    if source.family == "sequences":
        raise UserError(f"{name} is a text, not a table; `thesiskit show text` is its config")
    (table,) = source.model_validate({"source": name}).read(Path())
    if isinstance(table, Table):
        names, cells = table.names, (map(repr, sample) for sample in table.features.tolist())
    else:
        names = table.features
        symbols = [np.array([*values, "", ""]) for values in table.values]  # UNSEEN, MISSING last
        columns = [values[codes] for values, codes in zip(symbols, table.X.T, strict=True)]
        cells = (map(str, sample) for sample in zip(*columns, strict=True))
    yield ",".join(["class", *names])
    for sample, code in zip(cells, table.response.tolist(), strict=True):
        yield ",".join([table.classes[code], *sample])  # none of these needs quotes
