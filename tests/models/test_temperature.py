"""Temperatures: tau of log odds that are too large, by cross-entropy with Platt's targets."""

import numpy as np
import pytest
from scipy import optimize, special

from thesiskit.errors import UserError
from thesiskit.models import temperature


def drawn(scale, G=3, n=400, seed=1):
    """Log probabilities that are `scale` times too extreme, and classes."""
    rng = np.random.default_rng(seed)
    log = special.log_softmax(rng.standard_normal((n, G)) * 1.5, axis=1)
    y = np.array([rng.choice(G, p=np.exp(one)) for one in log])
    return special.log_softmax(scale * log, axis=1), y


@pytest.mark.parametrize("G", [2, 3])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_tau_minimises_the_cross_entropy(scale, G):
    log, y = drawn(scale, G)
    counts = np.bincount(y, minlength=G)[y]
    target = (counts + 1) / (counts + 2)

    def loss(log_tau):
        p = np.exp(temperature.temper(log, np.exp(log_tau)))
        own = p[np.arange(len(y)), y]
        rest = np.where(np.arange(G) == y[:, None], 0, p).sum(axis=1)
        return -(target * np.log(own) + (1 - target) * np.log(rest)).sum()

    best = np.exp(optimize.minimize_scalar(loss, bounds=(0, 8), method="bounded",
                                           options={"xatol": 1e-10}).x)  # fmt: skip
    tau = temperature.fit_temperature(log, y)
    assert tau == pytest.approx(best, rel=1e-4)
    assert tau == 1 if scale == 0.5 else tau > 1


def test_no_error_does_not_sharpen_and_no_signal_ends():
    y = np.repeat([0, 1], 10)
    sure = np.where(y[:, None] == [0, 1], -1e-9, -40.0)
    tau = temperature.fit_temperature(sure, y)
    # Platt's targets of 10 cases: 11/12, so log odds of 40 become log 11
    assert 40 / tau == pytest.approx(np.log(11), rel=1e-6)
    assert temperature.fit_temperature(sure[::-1], y) == 1e6
    assert temperature.fit_temperature(np.log(np.full((4, 2), 0.5)), y[8:12]) == 1.0
    infinite = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    assert np.isfinite(temperature.fit_temperature(infinite, np.array([0, 1])))


def test_a_class_that_is_far_away_does_not_soften_the_others():
    """A third class that is out of the question: tau is that of the other two alone."""
    log, y = drawn(10.0, 2)
    far = np.column_stack([log, np.full(len(y), -4000.0)])
    tau = temperature.fit_temperature(log, y)
    assert temperature.fit_temperature(far, y) == pytest.approx(tau, rel=1e-9)


def test_inner_folds_divide_each_class():
    rng = np.random.default_rng(2)
    y = np.array([0] * 23 + [1] * 7 + [2] * 12)
    fold = temperature.inner_folds(rng.permutation(y), rng)
    assert sorted(np.bincount(fold)) == [8, 8, 8, 9, 9]
    few = temperature.inner_folds(np.array([0, 0, 0, 1, 1, 1, 1]), rng)
    assert set(few.tolist()) == {0, 1, 2}
    with pytest.raises(UserError, match="class 1 has one"):
        temperature.inner_folds(np.array([0, 0, 1]), rng)


def test_cross_validation_predicts_each_case_without_it():
    log, y = drawn(5.0, 2, n=60)
    seen = []

    def predict(train, test):
        assert not set(train.tolist()) & set(test.tolist())
        assert len(train) + len(test) == 60
        seen.extend(test.tolist())
        return log[test]

    tau = temperature.cross_validated(predict, y, np.random.default_rng(3))
    assert sorted(seen) == list(range(60))
    assert tau == pytest.approx(temperature.fit_temperature(log, y), rel=1e-9)
