"""What `thesiskit init` writes for genotypes, and for tables of many discrete features."""

from pathlib import Path

import numpy as np

from thesiskit.datasets.reading import shown
from thesiskit.errors import DataError
from thesiskit.pairs.planes import MOST_VALUES
from thesiskit.pairs.plink import read_plink
from thesiskit.start import (
    LEAST_TEMPERED,
    MANY_FEATURES,
    MOST_FOLDS,
    PARTS,
    FileGuess,
    Keys,
    folds_block,
    yaml_value,
)

SELECTED_PAIRS = 20  # patterns that are kept where they are too many for a model of all
COMPARED = 300  # features, up to which methods that take all of them are compared with


def inspect_bed(path: Path, response: str | None) -> FileGuess:
    """Return what a `.bed` of PLINK holds, with the files beside it."""
    if response is not None:
        raise DataError(f"{shown(path)}: the response is the phenotype in the .fam; no --response")
    table, note = read_plink(path), "Response: the phenotype in the .fam"
    smallest, (samples, loci) = int(np.bincount(table.response).min()), table.X.shape
    about: Keys = {"source": ("plink", "copies of the first allele of the .bim: 0, 1 or 2")}
    return FileGuess("features", about, [note], samples, loci, 3, smallest, "the phenotype")


def pair_blocks(guess: FileGuess) -> str:
    """Return the blocks of a selection of patterns of two discrete features.

    "" of data whose features a model of all their patterns takes, or that have no two classes.
    """
    fits = guess.classes == 2 and not guess.continuous and guess.values <= MOST_VALUES
    if guess.data["source"][0] != "plink" and not (fits and guess.width > MANY_FEATURES):
        return ""
    keep = min(SELECTED_PAIRS, max(1, guess.width // 2))
    peers = ", logistic-regression, random-forest" if guess.width <= COMPARED else ""
    temperature = "[residual] # temperature scaling for correlated patterns"
    if guess.smallest < LEAST_TEMPERED:
        temperature = "[none] # residual needs more samples of each class"
    return f"""\
{folds_block(guess, MOST_FOLDS // 2)}
selection:
  order: 2 # candidates are all patterns of one feature and of two
  features: [{keep}] # numbers of patterns to select, by correlation with the response
  disjoint: [true, false] # each feature in one pattern, or in any number
model:
  kind: naive-bayes
  methods: [corrected, uncorrected{peers}]
  relevant: [some] # the share of relevant patterns is estimated
  temperature: {temperature}
report:
  parts: {yaml_value(["summary", "pairs", *PARTS["table"][1:]])}
"""
