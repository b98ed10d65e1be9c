"""Calibration of the normal model by ranks, on small grids of the priors, and what it catches."""

import numpy as np
import pytest
from commands import ROOT

from thesiskit.config import load_config
from thesiskit.datasets.synthetic import draw_normal
from thesiskit.errors import ConfigError
from thesiskit.models import normal
from thesiskit.models.selection import select_by_f
from thesiskit.report import ranks as rank_bands

RATIO, PI, SHAPES = (0.01, 0.1, 0.4, 1.5), (0.02, 0.1, 0.5), (3.0, None)
SETTINGS = normal.Normal(ratio=RATIO, pi=PI, effect_shapes=SHAPES)
SETS, WIDTH, KEPT = 120, 150, 6


def p_values(train, *, correct=True, sets=SETS):
    """Return the p-value of each quantity's ranks."""
    counts: dict[str, list[int]] = {}
    for seed in range(sets):
        rng = np.random.default_rng([seed, len(train)])
        drawn = draw_normal(
            rng,
            features=WIDTH,
            ratio=float(rng.choice(RATIO)),
            pi=float(rng.choice(PI)),
            shape=SHAPES[rng.integers(2)],
            variance=(10.0, 1.0),
            train=train,
            test=1,
        )
        X, y = drawn.train.features, drawn.train.response
        kept = select_by_f(X, y, KEPT, rng)
        posterior = normal.fit(kept, SETTINGS, correct=correct)
        case = X[0, kept.selected].astype(float)
        found = SETTINGS.ranks(posterior, drawn.truth, kept.selected, case, rng)
        for name, rank in found.counts.items():
            counts.setdefault(name, []).append(rank)
    return {name: rank_bands.ecdf_p_value(np.array(r), 99) for name, r in counts.items()}


@pytest.mark.parametrize("train", [[12, 12], [10, 8, 7]])
def test_ranks_are_uniform_with_the_correction_and_not_without(train):
    found = p_values(train)
    odds = ["log odds"] if len(train) == 2 else ["log odds of class 1", "log odds of class 2"]
    assert list(found) == ["log rho", "log pi", "relevant features", *odds]
    assert min(found.values()) > 1e-3, found
    wrong = p_values(train, correct=False, sets=40)
    assert max(wrong[name] for name in ("log pi", "relevant features", odds[0])) < 1e-3, wrong


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["data.ratio=0.5"], "everything drawn from the prior"),
        (["data.relevant=0.1"], "everything drawn from the prior"),
        (["model.relevant=[all]"], r"model\.relevant: \[some\], because data\.relevant is some"),
        (["data.test=[1, 1, 1]"], "test has 3 numbers and train 2"),
        (["data.train=[4, 0]"], "each class needs at least one case"),
        (["model={}", "evaluation.ranks=false"], r"data\.relevant: some needs model\.kind: normal"),
    ],
)
def test_ranks_need_the_prior_of_the_model(changes, words):
    path = ROOT / "configs/studies/calibration-normal.yaml"
    with pytest.raises(ConfigError, match=words):
        load_config(path, settings=tuple(changes))
