"""Scores of methods, and the test of their expected errors, against slow and obvious versions."""

from itertools import product

import numpy as np
import pytest
from cases import few
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score

from thesiskit.report import curves, metrics, summary
from thesiskit.report.metrics import CAREFUL, SURE, WELL, Score, aligned


def samples(response, unit=None, group=None):
    n = len(response)
    unit = np.arange(n) if unit is None else np.asarray(unit)
    return metrics.Tested(
        np.asarray(response), unit.astype(str), unit, {}, ["no", "yes"],
        np.full((n, 2), 0.5), group,
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


def test_many_samples_are_convolved_by_fourier_transforms(rng, monkeypatch):
    risk = rng.random(3000) / 2
    slow = metrics._count_distribution(risk)
    monkeypatch.setattr(metrics, "MANY", 10)
    assert metrics._count_distribution(risk) == pytest.approx(slow, abs=1e-12)


def test_no_sample_has_no_error():
    assert metrics.errors_p_value(np.empty(0), 0) == 1


def test_mcnemar_is_the_sign_test_of_samples_in_which_one_is_wrong(rng):
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
    """Expected are 14.3 errors of 100; whether single predictions are right does not matter."""
    p = np.full(100, 1 - 0.143)
    response = np.repeat([0, 1], [wrong, 100 - wrong])
    found = Score(samples(response), "x", two(p))
    assert found.risk.sum() == pytest.approx(14.3)
    assert int(found.wrong.sum()) == wrong
    assert found.verdict == verdict


def test_a_sample_that_is_tested_twice_counts_once():
    once = samples([0, 1, 1, 0])
    twice = samples([0, 1, 1, 0] * 2, [0, 1, 2, 3] * 2)
    assert list(twice.repetition) == [0] * 4 + [1] * 4
    p = two([0.2, 0.7, 0.4, 0.1])
    one, both = Score(once, "x", p), Score(twice, "x", np.concatenate([p, p]))
    assert both.error_interval == one.error_interval
    assert both.log_loss_interval == pytest.approx(one.log_loss_interval)
    assert both.p_value == min(1, 2 * one.p_value)


def test_scores_of_more_classes(rng):
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    of_three = metrics.Tested(y, np.arange(50), np.arange(50), {}, list("abc"), p)
    found = Score(of_three, "x", p)
    assert found.error == np.mean(p.argmax(axis=1) != y)
    assert found.log_loss == pytest.approx(-np.mean(np.log(p[np.arange(50), y])))
    assert found.expected == pytest.approx(1 - p.max(axis=1).mean())
    low, high = found.log_loss_interval
    half = 1.96 * stats.sem(found.loss)
    assert (low, high) == pytest.approx((found.log_loss - half, found.log_loss + half))


def test_differences_are_paired(rng):
    y = rng.integers(0, 2, 40)
    p = rng.random(40)
    q = np.clip(p + 0.01, 0, 1)
    these = samples(y)
    difference, error = Score(these, "p", two(p)).less(Score(these, "q", two(q)))
    losses = [-np.log(np.where(y == 1, one, 1 - one)) for one in (p, q)]
    assert difference == pytest.approx(np.mean(losses[0] - losses[1]))
    assert error == pytest.approx(stats.sem(losses[0] - losses[1]))


# ---- AUC, recalibration and what each sample counts ----


def some(rng, n=70, classes=2):
    """Predictions (n, K) that say a little, some of them equal, and the classes."""
    y = rng.permutation(np.arange(n) % classes)
    log = np.round(rng.normal(size=(n, classes)) + 1.2 * (np.arange(classes) == y[:, None]), 1)
    return special.softmax(log, axis=1), y


def placements(p, y):
    """DeLong's V10 and V01, pair by pair."""
    wins = np.array([[(a > b) + (a == b) / 2 for b in p[y == 0]] for a in p[y == 1]])
    return wins.mean(axis=1), wins.mean(axis=0)


def test_auc_is_that_of_pairs_and_its_error_delongs(rng):
    p, y = some(rng)
    area, error = metrics.auc(p, y, np.arange(len(y)))
    assert area == pytest.approx(roc_auc_score(y, p[:, 1]), rel=1e-12)
    v10, v01 = placements(p[:, 1], y)
    variance = v10.var(ddof=1) / len(v10) + v01.var(ddof=1) / len(v01)
    assert error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_auc_of_more_classes_is_a_mean_and_its_error_that_of_a_bootstrap(rng):
    p, y = some(rng, 90, 3)
    area, error = metrics.auc(p, y, np.arange(90))
    assert area == pytest.approx(roc_auc_score(y, p, multi_class="ovr"), rel=1e-12)
    wins = [(p[y == g, None, g] > p[y != g, g]) + (p[y == g, None, g] == p[y != g, g]) / 2
            for g in range(3)]  # fmt: skip
    again = []
    for _ in range(1500):  # of the samples of each class
        drawn = rng.integers(0, 30, (3, 30))
        areas = []
        for g, each in enumerate(wins):
            rest = np.concatenate([
                np.flatnonzero(y[y != g] == other)[drawn[other]] for other in range(3) if other != g
            ])  # fmt: skip
            areas.append(each[np.ix_(drawn[g], rest)].mean())
        again.append(np.mean(areas))
    assert np.mean([each.mean() for each in wins]) == pytest.approx(area, rel=1e-12)
    assert error == pytest.approx(np.std(again), rel=0.1)


def test_a_sample_of_auc_counts_once(rng):
    p, y = some(rng, 40)
    q, _ = some(rng, 40)
    once = metrics.auc(p, y, np.arange(40))
    assert metrics.auc(np.tile(p, (2, 1)), np.tile(y, 2), np.tile(np.arange(40), 2)) == (
        pytest.approx(once)
    )
    # all samples again with other predictions, and the first ten once more
    rows = np.concatenate([np.arange(40), np.arange(40), np.arange(10)])
    every = np.concatenate([p, q, p[:10]])[:, 1]
    area, error = metrics.auc(np.column_stack([1 - every, every]), y[rows], rows)
    wins = np.array([
        [np.mean([(a > b) + (a == b) / 2 for a in every[rows == i] for b in every[rows == j]])
         for j in np.flatnonzero(y == 0)] for i in np.flatnonzero(y == 1)
    ])  # fmt: skip
    assert area == pytest.approx(wins.mean())
    variance = wins.mean(axis=1).var(ddof=1) / 20 + wins.mean(axis=0).var(ddof=1) / 20
    assert error == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(
    ("n", "true"),
    [pytest.param((5, 25), 0.5, marks=pytest.mark.slow), ((5, 25), 0.9),
     pytest.param((25, 25), 0.856, marks=pytest.mark.slow),
     pytest.param((100, 20), 0.99, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_interval_of_auc_covers_it(rng, n, true):
    """Scores are normal, so the true AUC is known; DeLong's interval covers it in .93 to .98."""
    y, apart, inside = np.repeat([1, 0], n), stats.norm.ppf(true) * 2**0.5, 0
    for _ in range(1500):
        p = special.expit(rng.normal(size=len(y)) + apart * y)
        area, low, high = Score(samples(y), "x", two(p)).auc_interval
        inside += low <= true <= high
        assert 0 <= low <= area <= high <= 1
        assert low < high
    assert 0.926 < inside / 1500 < 0.974  # four standard errors around .94 to .97, less rounding


def test_the_interval_of_auc_is_that_of_a_search(rng):
    """The variance of an AUC of normal scores, by the bivariate normal distribution."""
    m, n = 7, 12
    y, z = np.repeat([1, 0], [m, n]), rng.normal(size=19)
    z[:m] += 1
    found, low, high = Score(samples(y), "x", two(special.expit(z))).auc_interval
    area, error = metrics.auc(two(special.expit(z)), y, np.arange(19))

    def variance(t):
        both = stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]])
        q = both.cdf([stats.norm.ppf(t)] * 2)
        return (t * (1 - t) + (m + n - 2) * (q - t**2)) / (m * n)

    ratio = (m * error**2 / variance(area) + 10) / (m + 10)

    def excess(t):
        return abs(t - area) - 1.96 * np.sqrt(ratio * variance(t))

    assert found == area
    ends = [optimize.brentq(excess, 1e-6, area), optimize.brentq(excess, area, 1 - 1e-6)]
    np.testing.assert_allclose([low, high], ends, atol=1.1e-4)


@pytest.mark.parametrize("n", [(1, 20), (20, 1), (1, 1)])
@pytest.mark.parametrize("area", [0, 0.3, 1])
def test_a_class_with_one_sample_has_an_interval(n, area):
    low, high = metrics.binormal(area, float("nan"), *n)
    assert 0 <= low <= area <= high <= 1
    assert low < high


def test_without_an_error_auc_has_newcombes_interval_and_recalibration_no_slope():
    y = np.repeat([0, 1], 10)
    for p in (np.linspace(0.1, 0.9, 20), 10.0 ** -np.linspace(30, 0.1, 20)):  # also sure ones
        found = Score(samples(y), "x", two(p))
        assert found.auc_interval[0] == 1
        assert found.auc_interval[1:] == metrics.binormal(1, 0, 10, 10)
        assert 0.75 < found.auc_interval[1] < 0.9
        assert np.isnan(found.recalibration).all()
    tied = np.array([0.1] * 9 + [0.5] * 2 + [0.9] * 9)  # one of each class between the others
    assert np.isnan(Score(samples(y), "x", two(tied)).recalibration).all()
    assert np.isnan(Score(samples(y), "x", two(np.full(20, 0.3))).recalibration).all()
    one_class = metrics.auc(two(np.linspace(0.1, 0.9, 20)), np.ones(20, int), np.arange(20))
    assert np.isnan(one_class).all()


def fitted_slowly(p, y, weight):
    """Slope and intercepts, and their errors, by a search and differences of the likelihood."""
    log = np.log(p)

    def loss(x):
        every = x[0] * log + np.append(0, x[1:])
        return -weight @ (special.log_softmax(every, axis=1)[np.arange(len(y)), y])

    start = np.append(1, np.zeros(p.shape[1] - 1))
    options = {"xatol": 1e-7, "fatol": 1e-12, "maxiter": 9999}
    found = optimize.minimize(loss, start, method="Nelder-Mead", options=options).x
    steps = 1e-3 * np.eye(len(start))
    curve = [
        [loss(found + a + b) - loss(found + a - b) - loss(found - a + b) + loss(found - a - b)
         for a in steps] for b in steps
    ]  # fmt: skip
    return found, np.sqrt(np.diag(np.linalg.inv(np.array(curve) / 4e-6)))


@pytest.mark.parametrize("classes", [2, 3])
def test_recalibration_is_the_most_likely(rng, classes):
    p, y = some(rng, 80, classes)
    unit = np.append(np.arange(60), np.arange(20))  # some samples are tested twice
    y[60:] = y[:20]
    found, error = metrics.recalibrated(p, y, unit)
    weight = np.where(unit < 20, 0.5, 1)
    expected = fitted_slowly(p, y, weight)
    assert found == pytest.approx(expected[0], abs=1e-4)
    assert error == pytest.approx(expected[1], rel=1e-3)
    if classes == 2:
        fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        fit.fit(special.logit(p[:, 1:]), y, sample_weight=weight)
        assert found == pytest.approx([fit.coef_[0, 0], fit.intercept_[0]], abs=1e-5)


def test_what_is_too_sure_has_a_slope_below_one(rng):
    log_odds = rng.normal(scale=2, size=4000)
    y = (rng.random(4000) < special.expit(log_odds)).astype(int)
    for factor in (1, 3):
        slope, low, high = Score(
            samples(y), "x", two(special.expit(factor * log_odds))
        ).recalibration[0]
        assert low < 1 / factor < high
        assert slope == pytest.approx((low + high) / 2)


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (3, 12), (12, 12)])
def test_clopper_pearson_is_scipys(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert metrics.clopper_pearson(np.array(hits), np.array(n)) == pytest.approx(tuple(expected))


def test_confusions_and_errors_of_samples(rng):
    p, y = some(rng, 60, 3)
    unit = np.tile(np.arange(30), 2)
    y[30:] = y[:30]
    of_three = metrics.Tested(y, unit, unit, {}, list("abc"), p)
    found = Score(of_three, "x", p)
    assert (found.confusion == confusion_matrix(y, p.argmax(axis=1))).all()
    assert (found.wrong_samples == (((p[:30] + p[30:]) / 2).argmax(axis=1) != y[:30])).all()


# ---- groups of samples ----

EACH = 5  # samples of a group


def test_groups_of_one_sample_change_nothing(rng):
    p, y = some(rng)
    q, _ = some(rng)
    unit = np.append(np.arange(50), np.arange(20))  # some samples are tested twice
    y[50:] = y[:20]
    found = []
    for group in (None, 100 - unit):
        one, other = (Score(samples(y, unit, group), "x", each) for each in (p, q))
        found.append(np.concatenate([
            one.auc_interval, one.recalibration.ravel(), [one.error_of(one.loss)],
            [metrics.mcnemar(one.wrong_samples, other.wrong_samples, one.tested.group_id)],
            one.right_of(0), one.right_of(1), one.error_interval, one.less(other),
        ]))  # fmt: skip
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    # of each sample once, the intervals are exact
    once = Score(samples(y[:50]), "x", p[:50])
    for g in (0, 1):
        hits, n = once.confusion[g, g], once.confusion[g].sum()
        expected = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
        assert once.right_of(g) == pytest.approx((hits / n, *expected))


def test_the_error_of_auc_is_obuchowskis(rng):
    """Structural components summed over groups, of which some have one class."""
    p, y = some(rng, 60)
    group = rng.integers(0, 14, 60)
    group[y == 0] += 2
    _, error = metrics.auc(p, y, np.arange(60), group)
    v10, v01 = placements(p[:, 1], y)
    area = v10.mean()
    ones, zeros = (np.array([(group[y == g] == j).sum() for j in range(16)]) for g in (1, 0))
    by_group = [np.array([v[group[y == g] == j].sum() for j in range(16)])
                for v, g in ((v10, 1), (v01, 0))]  # fmt: skip
    i10, i01, i = (ones > 0).sum(), (zeros > 0).sum(), 16
    off10, off01 = by_group[0] - ones * area, by_group[1] - zeros * area
    s10 = i10 / ((i10 - 1) * ones.sum()) * (off10**2).sum()
    s01 = i01 / ((i01 - 1) * zeros.sum()) * (off01**2).sum()
    s11 = i / (i - 1) * (off10 * off01).sum()
    m, n = ones.sum(), zeros.sum()
    assert i10 < i
    assert error == pytest.approx(np.sqrt(s10 / m + s01 / n + 2 * s11 / (m * n)))


def test_the_errors_of_recalibration_are_those_of_the_sandwich(rng):
    p, y = some(rng, 60)
    group = rng.permutation(np.arange(60) // 4)
    found, error = metrics.recalibrated(p, y, np.arange(60), group)
    x = np.column_stack([special.logit(p[:, 1]), np.ones(60)])
    q = special.expit(x @ found)
    bread = np.linalg.inv(x.T @ (x * (q * (1 - q))[:, None]))
    sums = [((y - q)[:, None] * x)[group == j].sum(axis=0) for j in range(15)]
    meat = sum(np.outer(one, one) for one in sums) * 15 / 14
    assert error == pytest.approx(np.sqrt(np.diag(bread @ meat @ bread)))


def test_errors_are_compared_by_the_signs_of_groups():
    a = np.array([1, 1, 1, 0, 0, 1, 0, 0], bool)  # more in groups 0 and 2; alike in group 3
    b = np.array([0, 0, 0, 1, 0, 0, 0, 0], bool)
    group = np.array([0, 0, 0, 1, 1, 2, 3, 3])
    assert metrics.mcnemar(a, b, group) == pytest.approx(stats.binomtest(2, 3).pvalue)


def in_intervals(draw, true, times=400):
    """How often intervals that know the groups contain the truth, and those that do not."""
    inside = np.zeros(2)
    for _ in range(times):
        found = draw()
        inside += [low <= true <= high for low, high in found]
    return inside / times


def both(y, p, group, interval):
    return [interval(Score(samples(y, group=one), "x", two(p))) for one in (group, None)]


@pytest.mark.slow
def test_intervals_of_auc_cover_it_where_samples_are_in_groups(rng):
    """Groups share an effect and a label: a true signal, and none."""
    who = np.repeat(np.arange(60), EACH)
    for signal in (0, 1):

        def draw(signal=signal):
            y = rng.permutation(60) % 2
            z = (signal * y + rng.normal(size=60))[who] + 0.7 * rng.normal(size=len(who))
            return both(y[who], special.expit(z), who, lambda one: one.auc_interval[1:])

        known, alone = in_intervals(draw, stats.norm.cdf(signal / np.sqrt(2 * 1.49)))
        assert 0.88 < known < 0.99
        assert alone < 0.84


def test_intervals_of_auc_are_narrower_where_groups_have_both_classes(rng):
    """The covariance of the classes in a group counts: without it, the error is too large."""
    who = np.repeat(np.arange(60), 6)
    areas, errors = [], []
    for _ in range(300):
        y = np.tile([0, 1], 180)
        z = 2 * rng.normal(size=60)[who] + y + rng.normal(size=len(who))
        area, error = metrics.auc(two(special.expit(z)), y, np.arange(len(y)), who)
        areas.append(area)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.2)


@pytest.mark.slow
def test_intervals_of_recalibration_cover_it_where_samples_are_in_groups(rng):
    who = np.repeat(np.arange(120), EACH)
    inside = np.zeros((2, 2))
    for _ in range(300):
        x = 0.9 * (rng.normal(size=120)[who] + rng.normal(size=len(who)))
        shared = 0.9 * rng.normal(size=120)[who] + 0.19**0.5 * rng.normal(size=len(who))
        y = (special.ndtr(shared) < special.expit(x)).astype(int)  # calibrated, alike in groups
        found = both(y, special.expit(x), who, lambda one: one.recalibration)
        inside += [[low <= true <= high for true, (_, low, high) in zip((1, 0), one, strict=True)]
                   for one in found]  # fmt: skip
    (slope, intercept), (slope_alone, intercept_alone) = inside / 300
    assert min(slope, intercept) > 0.88
    assert slope_alone < 0.88
    assert intercept_alone < 0.84


def test_intervals_of_sensitivity_cover_it_where_samples_are_in_groups(rng):
    who = np.repeat(np.arange(60), EACH)

    def draw():
        right = special.ndtr(1 + 1.5 * rng.normal(size=60))[who] > rng.random(len(who))
        y = (rng.random(len(who)) < 0.9).astype(int)
        p = np.where(right == y, 0.8, 0.2)
        return both(y, p, who, lambda one: one.right_of(1)[1:])

    known, alone = in_intervals(draw, special.ndtr(1 / np.sqrt(1 + 1.5**2)))
    assert 0.88 < known < 0.995
    assert alone < 0.86


def test_all_right_and_none_right_have_intervals_of_groups():
    y = np.repeat([1, 0], 20)
    who = np.arange(40) // 5
    one = Score(samples(y, group=who), "x", two(np.full(40, 0.9)))
    assert one.right_of(1) == pytest.approx((1, 0.025 ** (1 / 4), 1))  # of 4 groups
    assert one.right_of(0) == pytest.approx((0, 0, 1 - 0.025 ** (1 / 4)))
    assert np.isnan(one.right_of(2)).all()


def test_methods_that_err_as_often_differ_rarely_where_samples_are_in_groups(rng):
    who, found = np.repeat(np.arange(60), EACH), np.zeros(2)
    for _ in range(400):
        shared = 1.5 * rng.normal(size=60)[who]
        a, b = (rng.random(len(who)) < special.expit(side * shared - 1) for side in (1, -1))
        found += [metrics.mcnemar(a, b, who) < 0.05, metrics.mcnemar(a, b) < 0.05]
    assert found[0] / 400 < 0.09
    assert found[1] / 400 > 0.12


@pytest.mark.filterwarnings("error")
def test_one_sample_has_scores_and_no_interval_of_log_loss():
    found = Score(samples([1]), "x", two([0.8]))
    assert found.log_loss == pytest.approx(-np.log(0.8))
    assert np.isnan(found.log_loss_interval[1])
    assert found.error_interval[1] < 1
    assert metrics.paired_t(np.array([1.0]), np.array([2.0])) != 0


def test_of_many_methods_the_best_are_printed():
    response = samples([0, 1, 1, 0])
    scores = [Score(response, f"method {j}", two(np.full(4, 0.5 + j / 100))) for j in range(15)]
    lines = metrics.headline(scores)
    assert len(lines) == 14
    assert lines[1].startswith("method 0 ")
    assert "method 11" in lines[12]  # those closest to one half are best
    assert lines[-1] == "(the best 12 of 15 by log loss)"
    assert metrics.headline([]) == []


def test_columns_are_aligned():
    assert aligned(["", "log loss"], [("a", "0.1"), ("long", "10.25")]) == [
        "      log loss", "a          0.1", "long     10.25"
    ]  # fmt: skip
    assert aligned(["", "log loss"], []) == []


# ---- folds that share training samples ----


def cross_validated(rng, n, signal, fold):
    """Scores of nearest centroids on the best 5 of 40 features, and the true error and AUC."""
    mean = np.where(np.arange(40) < 8, signal, 0)
    y = np.arange(n) % 2
    x, new = (
        rng.normal(size=(rows, 40)) + np.outer(np.arange(rows) % 2, mean) for rows in (n, 600)
    )

    def learn(train, rows):
        means = np.array([x[train][y[train] == g].mean(axis=0) for g in (0, 1)])
        slope = means[1] - means[0]
        slope[np.argsort(-np.abs(slope))[5:]] = 0
        return special.expit((rows - means.mean(axis=0)) @ slope)

    p, base = np.empty(n), np.empty((n, 2))
    for f in np.unique(fold):
        test = fold == f
        p[test] = learn(~test, x[test])
        base[test] = np.bincount(y[~test]) / (~test).sum()
    unit, all_p = np.arange(n), learn(np.ones(n, bool), new)
    area = roc_auc_score(np.arange(600) % 2, all_p)
    each = [metrics.Tested(y, unit, unit, division, ["a", "b"], base)
            for division in ({"fold": fold + 1}, {})]  # fmt: skip
    error = metrics.error_rate(all_p, np.arange(600) % 2)
    return [Score(tested, "x", two(p)) for tested in each], error, area


@pytest.mark.parametrize(
    ("signal", "alone"), few([(0.9, False), (0, False), (0.9, True), (0, True)], keep=1)
)
def test_intervals_of_folds_cover_the_score_of_the_model_of_all_samples(rng, signal, alone):
    """Without the factor they cover it too rarely, on noise and with a signal."""
    n, inside = 24, np.zeros((2, 2))
    for _ in range(300):
        fold = np.arange(n) if alone else rng.permutation(n // 2).repeat(2) % 8
        scores, error, area = cross_validated(rng, n, signal, fold)
        for place, one in enumerate(scores):
            low, high = one.error_interval
            _, first, last = one.auc_interval
            inside[place] += low <= error <= high, first <= area <= last
    assert (inside[0] / 300 > 0.89).all()
    assert (inside[1] / 300 < 0.9).all()


def test_intervals_are_wider_only_where_test_samples_train():
    """Not in one holdout, or in a test set that is predicted twice, but in two holdouts."""
    unit = np.arange(12)
    assert samples(unit % 2, unit).wider == 1
    assert samples(np.tile(unit % 2, 2), np.tile(unit, 2)).wider == 1
    again = np.append(unit, unit[6:] + 3)
    assert samples(again % 2, again).wider == metrics.WIDER
    once = Score(samples(unit % 2), "x", two(unit / 12))
    tested = metrics.Tested(
        unit % 2, unit, unit, {"fold": unit // 4 + 1}, ["a", "b"], np.full((12, 2), 0.5)
    )
    folded = Score(tested, "x", two(unit / 12))
    assert folded.error_of(folded.loss) == pytest.approx(1.4 * 1.15 * once.error_of(once.loss))
    assert folded.error_interval == metrics.wilson(once.error, 12 / 1.4**2)
    assert folded.less(once)[1] == 0
    assert folded.right_of(1)[2] > once.right_of(1)[2]
    wide = np.diff(folded.recalibration[:, 1:]) / np.diff(once.recalibration[:, 1:])
    assert wide == pytest.approx(np.full((2, 1), 1.4))


def test_class_frequencies_in_leave_one_out_are_a_guess():
    """A sample lowers the frequency of its class among the others: AUC is 0, all are wrong."""
    y, unit = np.repeat([0, 1], 15), np.arange(30)
    base = np.stack([15 - (y == g) for g in (0, 1)], axis=1) / 29
    tested = metrics.Tested(y, unit, unit, {"fold": unit + 1}, ["a", "b"], base)
    area, low, high = Score(tested, "x", base).auc_interval
    assert area == low == 0
    assert 0.5 < high < 0.9
    right = unit % 2 == 0
    guess = Score(tested, "x", two(np.where(right == y, 0.6, 0.4)))
    frequencies = Score(tested, "base rate", base)
    assert guess.error == 0.5
    assert frequencies.error == 1
    assert guess.log_loss < frequencies.log_loss


@pytest.mark.parametrize("area", [0, 0.02, 0.6, 1])
@pytest.mark.parametrize("wider", [1, 1.4])
def test_the_ends_of_newcombes_interval_are_as_far_as_their_errors(area, wider):
    m, n = 9, 15
    low, high = metrics.newcombe(area, np.array([m, n]), np.array([n, m]), wider)
    for end in (low, high):
        if 0 < end < 1:
            q1, q2 = end / (2 - end), 2 * end**2 / (1 + end)  # Hanley and McNeil
            mean = (m + n) / 2 - 1  # Newcombe: the same for both
            variance = end * (1 - end) + mean * (q1 - end**2) + mean * (q2 - end**2)
            error = np.sqrt(variance / (m * n))
            assert abs(end - area) == pytest.approx(1.96 * wider * error, abs=3e-4)
        else:
            assert end == area
    assert low < high


def test_errors_of_fewer_samples_are_compared():
    a, b = np.repeat([True, False], [32, 8]), np.repeat([False, True], [32, 8])
    expected = stats.binomtest(8, 10).pvalue
    assert metrics.mcnemar(a, b, wider=2) == pytest.approx(expected)
    assert metrics.mcnemar(a, b) < metrics.mcnemar(a, b, wider=1.4) < expected


def test_stability_is_1_of_equal_selections_and_0_at_random(rng):
    same = [np.arange(5)] * 4
    assert metrics.stability(same, 50) == (1.0, 1.0, 1.0)
    random = [rng.choice(2000, 100, replace=False) for _ in range(20)]
    value, low, high = metrics.stability(random, 2000)
    assert low < 0 < high
    assert value == pytest.approx(0, abs=0.02)
    # with the formula of the paper, from the binary matrix
    Z = np.zeros((20, 2000))
    for row, features in zip(Z, random, strict=True):
        row[features] = 1
    share = 100 / 2000
    assert value == pytest.approx(1 - Z.var(axis=0, ddof=1).mean() / (share * (1 - share)))


def published_stability(Z):
    """Return Phi of a binary matrix (M, p), and its standard error.

    Phi is 1 - the mean of unbiased variances / B, with B = k / p (1 - k / p): definition 4 of
    Nogueira, Sechidis and Brown (2018).  Their variance is the sum of squares of the derivatives of
    ((1 - Phi) B - A) / B by the weights of the selections, with A the mean of variances; they are
    found here by a step on the imaginary axis.
    """
    M, p = Z.shape

    def parts(weight):
        share = (weight[:, None] * Z).sum(axis=0) / weight.sum()
        mean = share.sum() / p
        return (share * (1 - share)).sum() / p, mean * (1 - mean)

    _, B = parts(np.ones(M))
    phi, step, slopes = 1 - Z.var(axis=0, ddof=1).mean() / B, 1e-30, []
    for row in np.eye(M):
        a, b = parts(np.ones(M) + 1j * step * row)
        slopes.append(((1 - phi) * b - a).imag / step / B)
    return phi, np.sqrt(np.sum(np.square(slopes)))


@pytest.mark.parametrize("sizes", [[5] * 6, [1, 2, 9, 4, 30, 3], [0, 3, 3], [40, 2]])
def test_stability_is_that_of_the_published_formulas(rng, sizes):
    Z = np.zeros((len(sizes), 40))
    selections = [rng.choice(40, size, replace=False) for size in sizes]
    for row, features in zip(Z, selections, strict=True):
        row[features] = 1
    value, low, high = metrics.stability(selections, 40)
    wanted, error = published_stability(Z)
    assert value == pytest.approx(wanted, abs=1e-12)
    assert low == pytest.approx(wanted - 1.96 * error, abs=1e-10)
    assert high == pytest.approx(min(1, wanted + 1.96 * error), abs=1e-10)


def test_stability_of_all_features_of_none_and_of_one_selection():
    assert metrics.stability([np.arange(9)] * 3, 9) == (1, 1, 1)
    assert metrics.stability([np.arange(0)] * 3, 9) == (1, 1, 1)
    assert np.isnan(metrics.stability([np.arange(3)], 9)).all()
    assert metrics.stability([np.arange(3), np.arange(3, 6)], 6)[0] == pytest.approx(-1)


def test_a_smoothed_calibration_curve_follows_the_truth(rng):
    p = rng.random(4000)
    x, middle, error = curves.smoothed(p, (rng.random(4000) < p**2).astype(float))
    assert (np.abs(middle - x**2) < 4 * error + 0.02).all()


def test_labels_are_apart_and_inside():
    moved = summary.apart(np.array([0.0, 0.01, 0.02, 0.99, 1.0]), 0.06)
    assert (np.diff(moved) >= 0.06 - 1e-9).all()
    assert moved.min() >= 0
    assert moved.max() <= 1
