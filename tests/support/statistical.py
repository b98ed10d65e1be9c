"""Checkers with a stated false-alarm rate."""

import numpy as np
from scipy import stats

ALARM = 1e-5  # of each check; every test's seed is fixed as well


def z_score(p: np.ndarray, y: np.ndarray) -> float:
    """How far the number of ones is from what the predictions promise, in standard deviations."""
    return float((y.sum() - p.sum()) / np.sqrt((p * (1 - p)).sum()))


def assert_calibrated(p: np.ndarray, y: np.ndarray) -> None:
    """Each decile of predictions must come true as often as promised (chi-squared)."""
    category = np.minimum((p * 10).astype(int), 9)
    scores = [
        z_score(p[category == c], y[category == c]) for c in range(10) if (category == c).sum() > 30
    ]
    statistic = float(np.sum(np.square(scores)))
    assert stats.chi2.sf(statistic, len(scores)) > ALARM, scores


def assert_proportions(counts: np.ndarray, probability: np.ndarray) -> None:
    """Counts must look multinomial with these probabilities (chi-squared)."""
    expected = counts.sum() * probability
    assert expected.min() > 5, "too few draws for the approximation"
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert stats.chi2.sf(statistic, len(counts) - 1) > ALARM
