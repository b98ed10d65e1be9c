"""Long statistical studies: `make test-slow`."""

import numpy as np
import pytest
from statistical import assert_calibrated

from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.models import integrals
from thesiskit.models import naive_bayes as nb
from thesiskit.models.integrals import InverseGamma
from thesiskit.models.selection import select_features

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("k", "threshold"), [(1, None), (5, None), (50, None), (None, "0.4")])
def test_calibration_over_many_data_sets(k, threshold):
    settings = nb.NaiveBayes(class_prior=(2.0, 1.0), alpha_points=100)
    p, y = [], []
    for seed in range(20_000):
        rng = np.random.default_rng([11, seed])
        drawn = draw_naive_bayes(
            rng,
            features=200,
            alpha=InverseGamma(0.5, 5.0).sample(rng),
            train=(12, 18),
            test=1,
            class_prior=(2.0, 1.0),
        )
        X, labels = drawn.train.features, drawn.train.response
        found = select_features(X, labels, k, rng, threshold=threshold)
        posterior = nb.fit(found, settings)
        p.append(nb.predict(posterior, drawn.test.features[:, found.selected])[0])
        y.append(drawn.test.response[0])
    assert_calibrated(np.array(p), np.array(y))


def test_calibration_with_missing_values():
    settings = nb.NaiveBayes(alpha_points=100)
    p, y = [], []
    rate = np.linspace(0, 0.7, 200)  # features differ in how often they are missing
    for seed in range(4_000):
        rng = np.random.default_rng([13, seed])
        drawn = draw_naive_bayes(
            rng,
            features=200,
            alpha=InverseGamma(0.5, 5.0).sample(rng),
            train=(12, 18),
            test=1,
        )
        X, new = (one.features.astype(float) for one in (drawn.train, drawn.test))
        X[rng.random(X.shape) < rate] = np.nan
        new[rng.random(new.shape) < rate] = np.nan
        found = select_features(X, drawn.train.response, 5, rng)
        p.append(nb.predict(nb.fit(found, settings), new[:, found.selected])[0])
        y.append(drawn.test.response[0])
    assert_calibrated(np.array(p), np.array(y))


@pytest.mark.parametrize("alpha", [1e-3, 5.0, 1e4, 1e8])
def test_probabilities_of_all_counts_add_up_for_large_n(alpha):
    n0, n1 = 60, 1_940
    pairs = np.array([(i, j) for i in range(n0 + 1) for j in range(n1 + 1)])
    log_marginal, mean, rest = integrals.pair_integrals(pairs, (n0, n1), np.array([alpha]))
    weight = np.exp(log_marginal)
    assert weight.sum() == pytest.approx(1, abs=1e-10)
    assert (weight * mean).sum() == pytest.approx(0.5, abs=1e-10)
    assert (weight * rest).sum() == pytest.approx(0.5, abs=1e-10)
