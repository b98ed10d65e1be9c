"""Scores of arms, and the test of their promises, against slow and obvious versions."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from thesiskit.report import metrics
from thesiskit.report.metrics import CAREFUL, SURE, WELL, Score, aligned


def cases(response, unit=None):
    n = len(response)
    unit = np.arange(n) if unit is None else np.asarray(unit)
    return metrics.Tested(
        np.asarray(response), unit.astype(str), unit, {}, ["no", "yes"],
        np.full((n, 2), 0.5),
    )  # fmt: skip


def two(p):
    return np.column_stack([1 - np.asarray(p), p])


def test_the_p_value_of_errors_against_enumeration(rng):
    risk = rng.random(9) / 2
    mass = np.zeros(10)
    for wrong in product((0, 1), repeat=9):
        mass[sum(wrong)] += np.prod(np.where(wrong, risk, 1 - risk))
    for errors in range(10):
        expected = min(1, 2 * min(mass[: errors + 1].sum(), mass[errors:].sum()))
        assert metrics.errors_p_value(risk, errors) == pytest.approx(expected, rel=1e-12)


def test_the_p_value_of_equal_risks_is_binomial():
    below, above = stats.binom.cdf(3, 100, 0.14), stats.binom.sf(2, 100, 0.14)
    found = metrics.errors_p_value(np.full(100, 0.14), 3)
    assert found == pytest.approx(2 * min(below, above), rel=1e-9)


def test_many_cases_are_convolved_by_fourier_transforms(rng, monkeypatch):
    risk = rng.random(3000) / 2
    slow = metrics._number_of_ones(risk)
    monkeypatch.setattr(metrics, "MANY", 10)
    assert metrics._number_of_ones(risk) == pytest.approx(slow, abs=1e-12)


def test_no_case_has_no_error():
    assert metrics.errors_p_value(np.empty(0), 0) == 1


def test_mcnemar_is_the_sign_test_of_cases_in_which_one_is_wrong(rng):
    a, b = rng.random(60) < 0.3, rng.random(60) < 0.5
    only = int((a & ~b).sum()), int((b & ~a).sum())
    expected = stats.binomtest(only[0], sum(only), 0.5).pvalue
    assert metrics.mcnemar(a, b) == pytest.approx(expected, rel=1e-9)
    assert metrics.mcnemar(a, a) == 1


@pytest.mark.parametrize(("errors", "n"), [(0, 20), (3, 60), (60, 60)])
def test_wilson_is_scipys(errors, n):
    expected = stats.binomtest(errors, n).proportion_ci(0.95, method="wilson")
    assert metrics.wilson(errors / n, n) == pytest.approx(tuple(expected), abs=1e-4)


@pytest.mark.parametrize(("wrong", "verdict"), [(3, CAREFUL), (14, WELL), (30, SURE)])
def test_the_verdict_is_about_the_total(wrong, verdict):
    """Promised are 14.3 errors of 100; whether single predictions are right does not matter."""
    p = np.full(100, 1 - 0.143)
    response = np.repeat([0, 1], [wrong, 100 - wrong])
    found = Score(cases(response), "x", two(p))
    assert found.risk.sum() == pytest.approx(14.3)
    assert int(found.wrong.sum()) == wrong
    assert found.verdict == verdict


def test_a_case_that_is_tested_twice_counts_once():
    once = cases([0, 1, 1, 0])
    twice = cases([0, 1, 1, 0] * 2, [0, 1, 2, 3] * 2)
    assert list(twice.repeat) == [0] * 4 + [1] * 4
    p = two([0.2, 0.7, 0.4, 0.1])
    one, both = Score(once, "x", p), Score(twice, "x", np.concatenate([p, p]))
    assert both.error_interval == one.error_interval
    assert both.amlp_interval == pytest.approx(one.amlp_interval)
    assert both.p_value == min(1, 2 * one.p_value)


def test_scores_of_more_classes(rng):
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    of_three = metrics.Tested(y, np.arange(50), np.arange(50), {}, list("abc"), p)
    found = Score(of_three, "x", p)
    assert found.error == np.mean(p.argmax(axis=1) != y)
    assert found.amlp == pytest.approx(-np.mean(np.log(p[np.arange(50), y])))
    assert found.expected == pytest.approx(1 - p.max(axis=1).mean())
    low, high = found.amlp_interval
    half = 1.96 * stats.sem(found.loss)
    assert (low, high) == pytest.approx((found.amlp - half, found.amlp + half))


def test_differences_are_paired(rng):
    y = rng.integers(0, 2, 40)
    p = rng.random(40)
    q = np.clip(p + 0.01, 0, 1)
    these = cases(y)
    difference, error = Score(these, "p", two(p)).less(Score(these, "q", two(q)))
    losses = [-np.log(np.where(y == 1, one, 1 - one)) for one in (p, q)]
    assert difference == pytest.approx(np.mean(losses[0] - losses[1]))
    assert error == pytest.approx(stats.sem(losses[0] - losses[1]))


@pytest.mark.filterwarnings("error")
def test_one_case_has_scores_and_no_interval_of_amlp():
    found = Score(cases([1]), "x", two([0.8]))
    assert found.amlp == pytest.approx(-np.log(0.8))
    assert np.isnan(found.amlp_interval[1])
    assert found.error_interval[1] < 1
    assert metrics.paired_t(np.array([1.0]), np.array([2.0])) != 0


def test_of_many_arms_the_best_are_printed():
    response = cases([0, 1, 1, 0])
    scores = [Score(response, f"arm {j}", two(np.full(4, 0.5 + j / 100))) for j in range(15)]
    lines = metrics.headline(scores)
    assert len(lines) == 14
    assert lines[1].startswith("arm 0 ")
    assert "arm 11" in lines[12]  # those closest to one half are best
    assert lines[-1] == "(the best 12 of 15 by AMLP)"
    assert metrics.headline([]) == []


def test_columns_are_aligned():
    assert aligned(["", "AMLP"], [("a", "0.1"), ("long", "10.25")]) == [
        "       AMLP", "a       0.1", "long  10.25"
    ]  # fmt: skip
    assert aligned(["", "AMLP"], []) == []
