"""The adjustment factor of one feature of the mixture model, from the kernel's tables."""

from fractions import Fraction

import numpy as np

from thesiskit.models.mixture_tables import Tables
from thesiskit.models.selection import WITHIN, LeftOut


def log_discard_probability(counts, gamma_squared, alpha, *, quadrature="exact") -> np.ndarray:
    """Return log P(|COR| <= gamma given labels, alpha), (K,); counts[z][y] are whole numbers."""
    (c00, c01), (c10, c11) = counts
    tables = Tables(c00 + c01 + c10 + c11, np.atleast_1d(np.asarray(alpha, dtype=float)))
    classes, cut = (c00 + c10, c01 + c11), Fraction(gamma_squared)
    left_out, result = LeftOut.of({WITHIN: 1}, classes, cut), np.empty(len(tables.alpha))
    tables.discards(classes, left_out, quadrature).log_discards(c10, c11, result)
    return result
