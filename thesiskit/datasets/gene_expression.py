"""Published gene-expression data, which are fetched once and checked against their sha256.

Colon cancer: Alon, Barkai, Notterman, Gish, Ybarra, Mack and Levine (1999), "Broad patterns of
gene expression revealed by clustering analysis of tumor and normal colon tissues probed by
oligonucleotide arrays", PNAS 96(12), 6745-6750; 40 tumour and 22 normal samples, 2,000 genes.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from thesiskit.datasets.source import Source, Table
from thesiskit.errors import DataError
from thesiskit.safe_io import sha256


class ColonData(Source):
    """Colon-cancer gene expression, Alon et al. (1999)."""

    family: ClassVar = "table"

    source: Literal["colon"]
    intensities: Literal["log-standardised", "raw"] = "log-standardised"
    binarise: Literal["all-medians", "training-medians"] = "all-medians"

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:  # noqa: ARG002
        """Return the table, which is fetched where it is not here yet."""
        return [colon(self.intensities)]


@dataclass(frozen=True)
class PublicFile:
    """A file of public data."""

    name: str
    file: str
    url: str
    sha256: str
    licence: str
    about: str


COLON = PublicFile(
    name="colon",
    file="Alon1999.csv",
    url="https://raw.githubusercontent.com/statOmics/HDDAData/"
    "b832c7168821395e51932893949230d4b0e40066/inst/extdata/Alon1999.csv",
    sha256="fe340b1fe67bd1c76fd627749790febe2b54dd243528de27b51d97ab2df04df1",
    licence="CC0",
    about="gene expression in 40 cancerous and 22 normal colon tissues, 2,000 genes",
)
SOURCES = {source.name: source for source in (COLON,)}


def cache_folder() -> Path:
    """Where fetched files are kept."""
    import pooch

    return Path(pooch.os_cache("thesiskit"))


def local_file(source: PublicFile) -> Path | None:
    """Return the file if it is here and unaltered; set an altered copy in the cache aside."""
    folder = os.environ.get("THESISKIT_DATA_DIR")
    if folder:
        path = Path(folder) / source.file
        if path.is_file():
            if sha256(path) != source.sha256:
                raise DataError(
                    f"{path}: not the file expected (sha256 differs from {source.sha256[:12]}...); "
                    "replace it, or unset THESISKIT_DATA_DIR to fetch it"
                )
            return path
    path = cache_folder() / source.file
    if path.is_file():
        if sha256(path) == source.sha256:
            return path
        os.replace(path, path.with_name(path.name + ".damaged"))
    return None


def fetch(source: PublicFile, download: Callable[[str, Path], None] | None = None) -> Path:
    """Return the path of the file, fetching it where it is not here yet.

    Raises
    ------
    DataError: without network, saying what to put where; or if what came is not the file.
    """
    path = local_file(source)
    if path is not None:
        return path
    path = cache_folder() / source.file
    damaged = path.with_name(path.name + ".damaged")
    aside = f" (a damaged copy was set aside as {damaged})" if damaged.exists() else ""
    partial = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(".part", f".{path.name}.", path.parent)
        os.close(descriptor)
        partial = Path(name)
        (download or _download)(source.url, partial)
    except Exception as error:  # whatever the network does, the remedy is the same
        if partial is not None:
            partial.unlink()
        reason = str(error).splitlines()[0][:90] if str(error) else type(error).__name__
        raise DataError(
            f"could not fetch {source.file} ({type(error).__name__}: {reason}){aside}; "
            f"download {source.url} yourself and put it at {path}, "
            "or in a folder named by THESISKIT_DATA_DIR"
        ) from None
    found = sha256(partial)
    if found != source.sha256:
        os.replace(partial, damaged)
        raise DataError(
            f"what {source.url} gave is not the file expected (sha256 {found[:12]}..., not "
            f"{source.sha256[:12]}...); kept as {damaged}"
        )
    os.replace(partial, path)
    return path


def _download(url: str, target: Path) -> None:
    import pooch

    pooch.HTTPDownloader(progressbar=False, timeout=20)(url, str(target), None)


def colon(intensities: str = "log-standardised") -> Table:
    """Return the colon data, response 1 for tumour, in the order of the public file.

    `log-standardised` takes log10, then subtracts each sample's mean and divides by its standard
    deviation (divisor 1,999), which fits the thesis's remark that the fifth correlation was
    around 0.5; `raw` leaves the intensities as they are, which does not (it gives 0.40).
    """
    path = fetch(COLON)
    labels, rows = [], []
    with open(path, encoding="utf-8") as file:
        names = [name.strip('"') for name in next(file).strip().split(",")]
        for line in file:
            label, *values = line.strip().split(",")
            labels.append(label.strip('"'))
            rows.append(np.array(values, dtype=float))
    features = np.array(rows)
    first = len(names) - features.shape[1]
    if intensities == "log-standardised":
        features = np.log10(features)
        features -= features.mean(axis=1, keepdims=True)
        features /= features.std(axis=1, ddof=1, keepdims=True)
    response = np.array([label == "t" for label in labels], dtype=np.uint8)
    return Table(features, response, names[first:], COLON.sha256, f"{COLON.file}, {intensities}")
