"""Selecting from all patterns of one, two and three features, against a twin that lists them all."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import reference_interactions as twin

from thesiskit.errors import DataError, UserError
from thesiskit.models import interactions
from thesiskit.models.interactions import (
    Planes,
    Run,
    decode,
    encode,
    express,
    forecast,
    select_patterns,
)
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_features


def drawn(seed, n, p, values=(2, 3, 4), missing=0.0, alike=0.0):
    """Codes and responses; later columns copy most of earlier ones with probability `alike`."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, rng.choice(values), n) for _ in range(p)])
    for j in range(1, p):
        if rng.random() < alike:
            codes[:, j] = np.where(rng.random(n) < 0.9, codes[:, rng.integers(j)], codes[:, j])
    codes[rng.random(codes.shape) < missing] = -1
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    return codes.astype(np.int8), y


def fields(found):
    rows = found.left_out.rows.tolist()
    present = found.present
    counts = found.ones.tolist()
    if present is None:
        present = np.tile(found.class_counts, (len(counts), 1))
    counts = [tuple(one + other) for one, other in zip(counts, present.tolist(), strict=True)]
    return (found.selected.tolist(), counts, found.gamma_squared, found.tied, found.tied_kept,
            rows, found.n_features)  # fmt: skip


def selected(codes, y, k, seed=3, **options):
    return select_patterns(Planes.pack(codes, y), k, np.random.default_rng(seed), **options)


def expected(codes, y, k, order, threshold=None, disjoint=False, ld=None, seed=3):
    drawn_seed = int(np.random.default_rng(seed).integers(2**63))
    cut = None if threshold is None else Fraction(threshold) ** 2
    return twin.select(codes.tolist(), y.tolist(), k, drawn_seed, order, cut, disjoint, ld)


CASES = {
    "one": dict(n=40, p=30, order=1, k=5),
    "pairs": dict(n=90, p=60, order=2, k=20),
    "many pairs": dict(n=150, p=200, order=2, k=50, values=(3,)),
    "ties": dict(n=14, p=25, order=2, k=30),
    "two values": dict(n=70, p=40, order=2, k=10, values=(2,)),
    "many values": dict(n=200, p=12, order=2, k=10, values=(2, 7, 16)),
    "missing": dict(n=60, p=40, order=2, k=20, missing=0.1),
    "mostly missing": dict(n=25, p=20, order=2, k=20, missing=0.7),
    "threes": dict(n=70, p=17, order=3, k=30),
    "threes with ties": dict(n=12, p=14, order=3, k=100),
    "threes, missing": dict(n=50, p=14, order=3, k=40, missing=0.15),
    "words": dict(n=64, p=20, order=2, k=9),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["best", "threshold", "disjoint", "ld", "both", "both above"])
def test_against_all_patterns_listed(name, how, monkeypatch):
    case = dict(CASES[name])
    order, k = case.pop("order"), case.pop("k")
    codes, y = drawn(len(name), **case, alike=0.3 if how in ("ld", "both") else 0)
    codes[:, 3] = 1  # constant
    options = {}
    if how in ("disjoint", "both", "both above"):
        options["disjoint"], k = True, min(k, 3)
    if how in ("ld", "both", "both above"):
        options["ld"] = 0.3
    if how in ("threshold", "both above"):
        options["threshold"], k = "0.2", None
    monkeypatch.setattr(interactions, "ROWS", 7)
    monkeypatch.setattr(interactions, "ROOM", 500)
    wanted = expected(codes, y, k, order, **options)
    assert wanted[0] or name == "many values"
    for listed in (1, 150, interactions.LISTED):
        monkeypatch.setattr(interactions, "LISTED", listed)
        assert fields(selected(codes, y, k, order=order, **options)) == wanted
