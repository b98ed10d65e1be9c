"""Published gene-expression data.

Colon cancer: Alon, Barkai, Notterman, Gish, Ybarra, Mack and Levine (1999), "Broad patterns of
gene expression revealed by clustering analysis of tumor and normal colon tissues probed by
oligonucleotide arrays", PNAS 96(12), 6745-6750; 40 tumour and 22 normal samples, 2,000 genes.
"""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from thesiskit.datasets.published import PublishedFile
from thesiskit.datasets.source import Source, Table

COLON = PublishedFile(
    "Alon1999.csv.gz", "fe340b1fe67bd1c76fd627749790febe2b54dd243528de27b51d97ab2df04df1"
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

    def read(self, folder: Path, *, continuous: bool = False) -> list[Table]:  # noqa: ARG002
        """Return the table."""
        return [colon(self.intensities)]


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
