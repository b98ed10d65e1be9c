"""Net benefit, alone and paired, and at another prevalence, against formulas of other packages."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import confusion_matrix

from thesiskit.errors import UserError
from thesiskit.report import benefit, metrics


def scored(rng, n=90, units=None, group=None, division=None):
    """Return two scores of predictions of the same samples, of which some are tested twice."""
    unit = np.arange(n) if units is None else units
    y = rng.integers(0, 2, n)[unit]
    base = np.column_stack([np.full(n, 0.4), np.full(n, 0.6)])
    tested = metrics.Tested(y, unit, unit, division or {}, ["a", "b"], base, group)
    found = []
    for spread in (0.2, 0.4):
        p = np.clip(0.3 + 0.4 * y + rng.normal(0, spread, n), 0, 1)
        found.append(metrics.Score(tested, str(spread), np.column_stack([1 - p, p])))
    return found


def by_confusion(p, y, threshold, prevalence=None):
    """Return net benefit as dcurves does, from sensitivity and specificity."""
    (tn, fp), (fn, tp) = confusion_matrix(y, p >= threshold, labels=[0, 1])
    prevalence = y.mean() if prevalence is None else prevalence
    sensitivity, specificity = tp / (tp + fn), tn / (tn + fp)
    odds = threshold / (1 - threshold)
    return sensitivity * prevalence - (1 - specificity) * (1 - prevalence) * odds


def test_net_benefit_is_that_of_sensitivity_and_specificity(rng):
    a, b = scored(rng)
    y, thresholds = a.tested.response, np.array([0.07, 0.2, 0.5, 0.85])
    for score in (a, b):
        found = benefit.net_benefit(score, thresholds)[:, 0]
        wanted = [by_confusion(score.probability[:, 1], y, t) for t in thresholds]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    # the interval of the difference is that of a paired comparison of means
    found = benefit.net_benefit(a, thresholds, minus=b)
    for row, t in zip(found, thresholds, strict=True):
        gain = [np.where(y == 1, 1, -t / (1 - t)) * (s.probability[:, 1] >= t) for s in (a, b)]
        paired = stats.ttest_rel(*gain).confidence_interval(stats.t(len(y) - 1).cdf(1.96) * 2 - 1)
        wanted = [np.mean(gain[0]) - np.mean(gain[1]), *paired]
        np.testing.assert_allclose(row, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("prevalence", [0.02, 0.6, 0.9])
def test_net_benefit_at_another_prevalence(rng, prevalence):
    """Log odds are moved; errors are those of two independent fractions."""
    score, _ = scored(rng, 400)
    y, p = score.tested.response, score.probability[:, 1]
    odds = p / np.maximum(1 - p, 1e-300) * (prevalence / (1 - prevalence)) / (0.6 / 0.4)
    moved = odds / (1 + odds)
    thresholds = np.array([0.013, 0.1, 0.3, 0.55, 0.8])
    found = benefit.net_benefit(score, thresholds, prevalence)
    for t, (value, low, high) in zip(thresholds, found, strict=True):
        assert value == pytest.approx(by_confusion(moved, y, t, prevalence), abs=1e-12)
        hit = [(moved[y == g] >= t) for g in (0, 1)]
        parts = [one.var() / len(one) for one in hit]  # binomial
        error = np.sqrt(prevalence**2 * parts[1] + ((1 - prevalence) * t / (1 - t)) ** 2 * parts[0])
        assert high - low == pytest.approx(2 * 1.96 * error * np.sqrt(400 / 399), abs=1e-12)


def test_net_benefit_over_groups_folds_and_repetitions(rng):
    """Twice the same prediction is no new sample, and folds widen intervals."""
    a, b = scored(rng, 40)
    tested, thresholds = a.tested, np.array([0.2, 0.6])
    twice = np.tile(np.arange(40), 2)
    again = metrics.Tested(
        np.tile(tested.response, 2), twice, twice, {}, ["a", "b"], np.tile(tested.base, (2, 1))
    )
    doubled = [metrics.Score(again, "x", np.tile(s.probability, (2, 1))) for s in (a, b)]
    for share in (None, 0.3):
        single = benefit.net_benefit(a, thresholds, share, b)
        np.testing.assert_allclose(benefit.net_benefit(doubled[0], thresholds, share, doubled[1]),
                                   single, atol=1e-12)  # fmt: skip
        folds = replace(tested, division={"fold": np.arange(40) % 5})
        wider = [metrics.Score(folds, "x", s.probability) for s in (a, b)]
        wide = benefit.net_benefit(wider[0], thresholds, share, wider[1])
        np.testing.assert_allclose(wide[:, 0], single[:, 0])
        np.testing.assert_allclose(np.ptp(wide, axis=1), 1.4 * np.ptp(single, axis=1))
    # of groups whose samples are equal, the interval is that of one sample each
    pairs = metrics.Score(replace(again, unit=np.arange(80), group=twice), "x",
                          doubled[0].probability)  # fmt: skip
    np.testing.assert_allclose(
        benefit.net_benefit(pairs, thresholds), benefit.net_benefit(a, thresholds), atol=1e-12
    )


@pytest.mark.parametrize("share", [None, 0.2])
def test_intervals_of_net_benefit_cover_it(share):
    """Of 1,000 tables 95% do, of the difference as well; both classes are normal."""
    rng, n, t = np.random.default_rng(11), 200, np.array([0.3])
    sets, prior = 1000, 0.6
    pi = prior if share is None else share
    moved = special.logit(pi) - special.logit(prior)

    def truth(slope):
        cut = (special.logit(t[0]) - moved) / slope
        return pi * stats.norm.sf(cut - 0.5) - (1 - pi) * stats.norm.sf(cut + 0.5) * t[0] / 0.7

    wanted = truth(2.0), truth(2.0) - truth(0.7)
    inside = np.zeros(2)
    for _ in range(sets):
        y = (rng.random(n) < prior).astype(int)
        x = rng.normal(y - 0.5)
        base = np.tile([1 - prior, prior], (n, 1))
        tested = metrics.Tested(y, y, np.arange(n), {}, ["a", "b"], base)
        a, b = (metrics.Score(tested, "x", special.expit(slope * np.column_stack([-x, x])))
                for slope in (2.0, 0.7))  # fmt: skip
        for place, minus in enumerate((None, b)):
            _, low, high = benefit.net_benefit(a, t, share, minus)[0]
            inside[place] += low <= wanted[place] <= high
    # 4 standard errors of a share of 95% are .0276
    assert np.abs(inside / sets - 0.95).max() < 0.0276


def test_a_prevalence_of_three_classes_is_refused():
    config = {"report": {"prevalence": {"a": 0.1}}}
    with pytest.raises(UserError, match=r"report\.prevalence is for two classes\. Fix: "):
        benefit.asked_share(SimpleNamespace(config=config, n_classes=3))
    config["report"] = {}
    assert benefit.asked_share(SimpleNamespace(config=config, n_classes=3)) is None
