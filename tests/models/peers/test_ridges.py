"""Ridges of all penalties at once agree with converged fits of scikit-learn."""

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from thesiskit.models import peers


def drawn(n, p, G):
    rng = np.random.default_rng(5)
    y = np.arange(n) % G
    return rng.normal(size=(n, p)) + 0.7 * (y[:, None] == np.arange(p) % G), y


@pytest.mark.parametrize(
    ("n", "p", "G"), [(60, 8, 2), (60, 40, 3), pytest.param(60, 50, 2, marks=pytest.mark.slow)]
)
def test_the_best_ridge_is_that_of_converged_fits(n, p, G):
    X, y = drawn(n, p, G)
    X /= np.sqrt(p)
    folds = peers._folds(y, 1)

    def fitted(rows, codes, C):
        return LogisticRegression(C=C, tol=1e-9, max_iter=50_000).fit(rows, codes)

    def score(C):
        logs = []
        for train, test in folds:
            p = fitted(X[train], y[train], C).predict_proba(X[test])[range(len(test)), y[test]]
            logs.append(np.log(np.maximum(p, np.finfo(float).eps)).mean())
        return np.mean(logs)

    expected = fitted(X, y, max(peers.WHOLE_CS, key=score)).predict_proba(X)
    fit = peers._best_ridge(X, y, folds)
    scores = X @ fit[:, :-1].T + fit[:, -1]
    scores = np.hstack([0 * scores, scores]) if G == 2 else scores
    assert special.softmax(scores, axis=1) == pytest.approx(expected, abs=1e-5)
