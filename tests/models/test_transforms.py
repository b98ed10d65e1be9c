"""Transforms of real features: their formulas, fitted to training samples only."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from thesiskit.errors import DataError
from thesiskit.models.packed import SHARES, Transform, check_transform


def counts(rng, n=30, p=40):
    library = np.exp(rng.uniform(-1, 1, n))
    return rng.poisson(library[:, None] * np.exp(rng.normal(4, 1, p))).astype(float)


def test_logs_of_counts_are_those_per_million():
    X = counts(np.random.default_rng(1))
    fitted = Transform.of("log", X)
    size = X.sum(axis=1) / X.sum(axis=1).mean()
    share = (fitted.state[0] - 0.5) / X.mean(axis=0)
    assert np.allclose(share, share[0])
    assert np.isclose(share[0], SHARES).any()
    expected = np.log2((X / size[:, None] + fitted.state[0]) / X.sum(axis=1).mean() * 1e6)
    assert np.allclose(fitted.apply(X), expected)
    # the library of a new sample is its own: twice the counts are the same sample
    assert np.allclose(fitted.apply(2 * X[:3]), expected[:3])
    # a missing value leaves the library size nearly as it was, and zeros are allowed
    X[0, 7] = np.nan
    again = fitted.apply(X)[0]
    assert np.isnan(again[7])
    assert np.allclose(np.delete(again, 7), np.delete(expected[0], 7), atol=0.2)
    assert np.isfinite(fitted.apply(np.zeros((1, 40)))).all()
    some = replace(fitted, state=fitted.state[:, [3, 1]])
    assert np.array_equal(some.apply(X, np.array([3, 1])), fitted.apply(X)[:, [3, 1]])


@pytest.mark.parametrize(
    "change",
    [
        lambda X, _: X + 0.25,  # not whole
        lambda X, _: X[:, :10],  # too few columns for a sum to be a size
        lambda X, rng: rng.permuted(X, axis=0) + 1e6 * rng.integers(1, 9, X.shape)
        * (np.arange(X.shape[1]) == 0),  # a column that is nearly all of the sum
    ],
)  # fmt: skip
def test_logs_of_others_have_no_library_sizes(change):
    rng = np.random.default_rng(2)
    X = change(counts(rng), rng)
    least = np.where(X > 0, X, np.inf).min(axis=0) / 2
    shift = np.where((X == 0).any(axis=0), least, 0)
    fitted = Transform.of("log", X)
    share = ((fitted.state[0] - shift) / X.mean(axis=0))[-1]
    assert np.isclose(share, SHARES).any()
    shift += share * X.mean(axis=0)
    assert np.allclose(fitted.apply(X), np.log2(X + shift))
    # a zero where training samples have none is at least half the smallest of their values
    zeros = fitted.apply(np.zeros((1, X.shape[1])))
    assert np.allclose(zeros, np.log2(np.maximum(shift, least)))


def test_what_is_added_makes_features_least_far_from_normal():
    rng = np.random.default_rng(6)
    logs = Transform.of("log", np.exp(rng.normal(size=(60, 30))))
    assert (logs.state[0] == 0).all()  # exactly normal already
    X = rng.poisson(rng.gamma(4, 20, (60, 30))).astype(float)
    inflated = Transform.of("log", np.where(rng.random(X.shape) < 0.2, 0, X))
    assert np.allclose((inflated.state[0] - 0.5) / inflated.mean, 1)
    shares = set()
    for shape in (0.5, 1, 2, 4, 8):  # the definition, by SciPy, with missing values
        X = rng.gamma(shape, size=(20, 30))
        X[rng.random(X.shape) < 0.2] = np.nan
        mean, departures = np.nanmean(X, axis=0), []
        for share in SHARES:
            logs = np.log2(X + share * mean)
            skewness = stats.skew(logs, nan_policy="omit")
            excess = stats.kurtosis(logs, nan_policy="omit")
            departures.append(np.median(skewness**2 + excess**2 / 4))
        share = SHARES[int(np.argmin(departures))]
        assert np.allclose(Transform.of("log", X).state[0], share * mean)
        shares.add(share)
    assert len(shares) > 2


def test_normal_scores_are_those_of_mid_ranks():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=25), rng.integers(0, 5, 25), np.full(25, 3.0)])
    X[[1, 4], 0] = np.nan
    fitted = Transform.of("normal-scores", X)
    scores = fitted.apply(X)
    for values, found in zip(X.T, scores.T, strict=True):
        held = ~np.isnan(values)
        ranks = stats.rankdata(values[held])
        assert np.allclose(found[held], special.ndtri((ranks - 0.5) / held.sum()))
        assert np.isnan(found[~held]).all()
    assert (scores[:, 2] == 0).all()  # it did not vary
    first, second = np.sort(X[:, 0])[:2]
    new = np.array([[first - 9, 0, 0], [(first + second) / 2, 0, 0], [99, 0, 0]])
    low, middle, high = fitted.apply(new)[:, 0]
    assert low == np.nanmin(scores[:, 0])
    assert high == np.nanmax(scores[:, 0])
    assert np.isclose(middle, np.sort(scores[:, 0])[:2].mean())


@pytest.mark.parametrize("kind", ["log", "normal-scores"])
def test_odd_columns(kind):
    X = counts(np.random.default_rng(4))
    X[:, 2], X[:, 3] = 0, np.nan
    fitted = Transform.of(kind, X)
    with np.errstate(all="raise"):
        found = fitted.apply(X)
    assert np.ptp(found[:, 2]) == 0  # a column of zeros is constant, whatever the libraries
    assert np.isnan(found[:, 3]).all()
    assert fitted.apply(X[:1]).shape == (1, 40)
    X[5, 1] = np.inf
    with pytest.raises(DataError, match="infinite value in sample 6, feature 2"):
        Transform.of(kind, X)
    with pytest.raises(DataError, match="infinite"):
        fitted.apply(X)


def test_logs_of_negative_values_are_refused():
    X = np.array([[1.0, 2], [3, -0.5]])
    with pytest.raises(
        DataError, match=r"feature 'b' is -0.5 in sample 2.* Fix: use normal-scores"
    ):
        check_transform("log", X, ["a", "b"])
    with pytest.raises(DataError, match="feature number 2 is"):
        check_transform("log", X)
    check_transform("normal-scores", X)
