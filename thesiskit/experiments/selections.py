"""Selections as arrays, for result files."""

from fractions import Fraction

import numpy as np

from thesiskit.models.selection import Selection


def pack_selections(record: list[Selection], seconds: np.ndarray) -> dict[str, np.ndarray]:
    """Return selections as arrays; lists of unequal length lie end to end."""
    return {
        "offset": np.cumsum([0] + [len(one.selected) for one in record]),
        "selected": np.concatenate([one.selected for one in record]).astype(np.int32),
        "ones": np.concatenate([one.ones for one in record]).astype(np.int32),
        "correlation": np.concatenate([one.correlation for one in record]),
        "gamma_squared": np.array([str(one.gamma_squared) for one in record]),
        "class_counts": np.array([one.class_counts for one in record]),
        "n_features": np.array([one.n_features for one in record]),
        "kept": np.array([len(one.selected) for one in record]),
        "tied": np.array([one.tied for one in record]),
        "tied_kept": np.array([one.tied_kept for one in record]),
        "seconds": seconds,
    }


def unpack_selections(arrays: dict[str, np.ndarray]) -> list[Selection]:
    """Return the selections that pack_selections packed."""
    result = []
    for i, gamma_squared in enumerate(arrays["gamma_squared"]):
        part = slice(arrays["offset"][i], arrays["offset"][i + 1])
        result.append(
            Selection(
                selected=arrays["selected"][part],
                gamma_squared=Fraction(str(gamma_squared)),
                ones=arrays["ones"][part],
                class_counts=(int(arrays["class_counts"][i, 0]), int(arrays["class_counts"][i, 1])),
                n_features=int(arrays["n_features"][i]),
                tied=int(arrays["tied"][i]),
                tied_kept=int(arrays["tied_kept"][i]),
                correlation=arrays["correlation"][part],
            )
        )
    return result
