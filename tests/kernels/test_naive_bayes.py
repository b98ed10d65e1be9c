"""Every kernel against its twin; run on the fast build and once on the checked one."""

import os
from fractions import Fraction
from math import comb, lgamma, log, pi

import numpy as np
import pytest
import reference
from scipy import special

from thesiskit._kernels import naive_bayes as kernel
from thesiskit._kernels import screening, shims
from thesiskit.errors import UserError
from thesiskit.models import integrals as model
from thesiskit.models.base import gauss_legendre
from thesiskit.models.integrals import theta_rule
from thesiskit.models.packed import PackedFeatures, sample_masks
from thesiskit.models.selection import reach

ALPHAS = (Fraction(1, 1000), Fraction(7, 10), Fraction(300), Fraction(10**8))


def test_the_build_is_the_one_expected():
    assert (os.environ.get("THESISKIT_EXPECT_CHECKED") == "1") == shims.BOUNDS_CHECKED


@pytest.mark.parametrize(("n", "p"), [(1, 1), (63, 5), (64, 513), (65, 1030), (130, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_packing_puts_each_sample_in_its_bit(rng, n, p, order):
    table = np.asarray(rng.integers(0, 2, size=(n, p), dtype=np.uint8), order=order)
    words = np.full((p, -(-n // 64)), 2**64 - 1, dtype=np.uint64)
    screening.pack_columns(table, words)
    for j in range(p):
        value = sum(int(word) << (64 * w) for w, word in enumerate(words[j]))
        assert value == sum(int(bit) << i for i, bit in enumerate(table[:, j]))
    packed = PackedFeatures(words, n)
    columns = rng.permutation(p)[: max(1, p // 2)]
    assert (packed.unpack(columns) == table[:, columns]).all()
    rows = rng.permutation(n)[: max(1, n // 2)]
    assert (packed.unpack(columns, rows) == table[np.ix_(rows, columns)]).all()


def test_class_counts_and_scores(rng):
    n, p = 131, 700
    table = rng.integers(0, 2, size=(n, p), dtype=np.uint8)
    table[:, 0], table[:, 1] = 0, 1
    y = rng.integers(0, 2, size=n)
    samples = np.sort(rng.permutation(n)[:100])
    packed = PackedFeatures.pack(table)
    ones = packed.count_classes(slice(0, p), sample_masks(y, samples))
    chosen, labels = table[samples], y[samples]
    assert (ones[:, 0] == chosen[labels == 0].sum(axis=0)).all()
    assert (ones[:, 1] == chosen[labels == 1].sum(axis=0)).all()
    score = np.empty(p)
    screening.score_counts(ones, (labels == 0).sum(), (labels == 1).sum(), score)
    exact = [float(square) for square in reference.screen(chosen, labels)]
    np.testing.assert_allclose(score, exact, rtol=1e-14, atol=0)
    assert score[0] == score[1] == 0


def use(monkeypatch, engine):
    """Make the integrals use one engine, whatever the size: tables, a shared rule, or their own."""
    monkeypatch.setattr(model, "TABLE_SAMPLES", 10**9 if engine == "tables" else 0)
    monkeypatch.setattr(model, "WORTH", 10**9 if engine == "shared" else 0)


def pairs_of(n0, n1):
    return np.array([(i, j) for i in range(n0 + 1) for j in range(n1 + 1)])


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("engine", ["tables", "shared", "located"])
def test_pair_integrals_against_rational_arithmetic(monkeypatch, alpha, engine):
    """Equations pxj-b and eq-jfact."""
    use(monkeypatch, engine)
    n0, n1 = 4, 7
    pairs = pairs_of(n0, n1)
    log_marginal, mean, rest = model.pair_integrals(pairs, (n0, n1), np.array([float(alpha)]))
    np.testing.assert_allclose(mean + rest, 1, rtol=1e-15)
    exact = [float(reference.marginal(i, j, n0, n1, alpha)) for i, j in pairs]
    exact_mean = [float(reference.theta_mean(i, j, n0, n1, alpha)) for i, j in pairs]
    np.testing.assert_allclose(np.exp(log_marginal[:, 0]), exact, rtol=1e-12)
    np.testing.assert_allclose(mean[:, 0], exact_mean, rtol=1e-12)


@pytest.mark.parametrize("engine", ["tables", "panels"])
@pytest.mark.parametrize("gamma_squared", [Fraction(0), Fraction(4, 25), Fraction(1, 2)])
def test_discard_probability_against_all_configurations(monkeypatch, engine, gamma_squared):
    """Equations adj-fact-H2 to eq-sum-H."""
    use(monkeypatch, engine)
    n0, n1 = 4, 6
    for alpha in ALPHAS:
        exact = reference.discard_by_enumeration(n0, n1, gamma_squared, alpha)
        ours = model.log_discard_probability(n0, n1, gamma_squared, np.array([float(alpha)]))
        np.testing.assert_allclose(ours[0], log(exact), rtol=1e-10)


@pytest.mark.parametrize(("n0", "n1"), [(300, 300), (1, 599), (599, 1), (0, 300)])
def test_tables_and_located_integrals_agree_where_they_meet(monkeypatch, rng, n0, n1):
    pairs = np.stack([rng.integers(0, n0 + 1, 60), rng.integers(0, n1 + 1, 60)], axis=1)
    pairs[:4] = (0, 0), (0, n1), (n0, 0), (n0, n1)
    alpha = np.array([1e-3, 1.0, 300.0, 1e8])
    tables = model.pair_integrals(pairs, (n0, n1), alpha)
    discard = model.log_discard_probability(n0, n1, Fraction(1, 50), alpha)
    use(monkeypatch, "located")
    located = model.pair_integrals(pairs, (n0, n1), alpha)
    for ours, theirs in zip(tables, located, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-11, atol=2e-11)
    other = model.log_discard_probability(n0, n1, Fraction(1, 50), alpha)
    np.testing.assert_allclose(discard, other, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("engine", ["shared", "located"])
def test_probabilities_sum_to_one_for_a_large_unbalanced_sample(monkeypatch, engine):
    # a check that needs no twin
    use(monkeypatch, engine)
    n0, n1 = 3, 997
    pairs = pairs_of(n0, n1)
    for alpha in (1e-3, 20.0, 1e8):
        log_marginal, mean, _ = model.pair_integrals(pairs, (n0, n1), np.array([alpha]))
        assert abs(np.exp(log_marginal).sum() - 1) < 2e-11
        # and E(theta) averages to its prior mean
        assert abs((np.exp(log_marginal) * mean).sum() - 0.5) < 2e-11


def test_simpson_off_the_tables_is_the_same_rule(monkeypatch):
    pairs, alpha = pairs_of(5, 8), np.array([0.5, 300.0])
    tables = model.pair_integrals(pairs, (5, 8), alpha, "simpson-21")
    discard = model.log_discard_probability(5, 8, Fraction(1, 9), alpha, quadrature="simpson-21")
    monkeypatch.setattr(model, "TABLE_SAMPLES", 0)
    points = model.pair_integrals(pairs, (5, 8), alpha, "simpson-21")
    for ours, theirs in zip(tables, points, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    other = model.log_discard_probability(5, 8, Fraction(1, 9), alpha, quadrature="simpson-21")
    np.testing.assert_allclose(discard, other, rtol=1e-12)


def test_simpson_is_off_as_the_errata_say():
    # alpha = 300, n = 100 + 100: counts (0, 3) off by -86 %, (0, 0) by +190 %
    pairs, alpha = np.array([(0, 3), (0, 0)]), np.array([300.0])
    exact = model.pair_integrals(pairs, (100, 100), alpha).log_marginal
    simpson, *_ = model.pair_integrals(pairs, (100, 100), alpha, "simpson-21")
    change = np.exp(simpson - exact)[:, 0] - 1
    assert change[0] == pytest.approx(-0.86, abs=0.005)
    assert change[1] == pytest.approx(1.90, abs=0.01)


@pytest.mark.parametrize("counts", [(5, 8), (30, 41), (0, 12), (100, 100)])
def test_transformed_simpson_against_a_sum_point_by_point(counts, rng):
    """Equations pxj-b and eq-jfact."""
    pairs = pairs_of(*counts)
    pairs = pairs[rng.permutation(len(pairs))[:60]]
    alpha = np.array([0.5, 20.0, 300.0])
    log_marginal, theta, complement = model.pair_integrals(
        pairs, counts, alpha, "simpson-21-transformed"
    )
    for d, (ones0, ones1) in enumerate(pairs.tolist()):
        for k, a in enumerate(alpha):
            value, mean = reference.simpson_transformed(ones0, ones1, *counts, a)
            assert log_marginal[d, k] == pytest.approx(np.log(value), abs=1e-9)
            # the reference puts its ends at 0 and 1 with rounding only
            assert theta[d, k] == pytest.approx(mean, rel=1e-9, abs=1e-12)
            assert complement[d, k] == pytest.approx(1 - mean, rel=1e-9, abs=1e-12)


def test_transformed_simpson_is_near_the_exact_integral():
    alpha = model.InverseGamma(0.5, 5.0).midpoints(30)
    pairs = pairs_of(100, 100)
    pairs = pairs[np.abs(pairs[:, 0] - pairs[:, 1]) <= 40]
    exact = model.pair_integrals(pairs, (100, 100), alpha)
    errors = {}
    for rule in ("simpson-21", "simpson-21-transformed"):
        found = model.pair_integrals(pairs, (100, 100), alpha, rule)
        errors[rule] = np.abs(np.exp(found.log_marginal - exact.log_marginal) - 1).max(axis=1)
    assert errors["simpson-21-transformed"].max() < 0.036
    assert np.median(errors["simpson-21-transformed"]) < 0.01
    assert errors["simpson-21"].max() > 1
    ratio = np.exp(
        model.pair_integrals(np.array([(0, 3)]), (100, 100), np.array([300.0]),
                             "simpson-21-transformed").log_marginal
        - model.pair_integrals(np.array([(0, 3)]), (100, 100), np.array([300.0])).log_marginal
    )  # fmt: skip
    assert ratio == pytest.approx(1.006, abs=5e-4)


def test_transformed_simpson_leaves_the_adjustment_factor_to_the_plain_rule():
    """Equation adj-fact-H2, and the same where a feature ties with the cut."""
    alpha, gamma = np.array([0.5, 300.0]), Fraction(1, 9)
    for probability in (model.log_discard_probability, model.log_tied_probability):
        plain, transformed = (
            probability(6, 6, gamma, alpha, quadrature=rule)
            for rule in ("simpson-21", "simpson-21-transformed")
        )
        np.testing.assert_array_equal(plain, transformed)
        assert np.isfinite(plain).all()


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.3, 0.5, 1.0])
def test_the_transform_maps_the_unit_interval_to_itself(mean):
    rule = model.transformed_rule(mean)
    assert rule.theta[0] == rule.complement[-1] == 0
    assert rule.theta[-1] == pytest.approx(1, abs=1e-15)
    assert (np.diff(rule.theta) >= 0).all()
    np.testing.assert_allclose(rule.theta + rule.complement, 1, atol=1e-15)
    # the derivative of the transform is a parabola, which Simpson's rule integrates exactly
    assert rule.weight.sum() == pytest.approx(1, abs=1e-14)


def test_count_probabilities_are_beta_binomial():
    theta = np.array([0.0, 0.03, 0.5, 0.97, 1.0])
    alpha, n = np.array([0.2, 40.0]), 9
    table = np.empty((2, n + 1, 5))
    kernel.fill_count_probabilities(alpha, theta, 1 - theta, n, table)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-13)
    assert table[0, 0, 0] == table[1, n, 4] == 1
    for k, a in enumerate(alpha):
        for g in range(1, 4):
            for ones in range(n + 1):
                p = reference.rising_u(Fraction(float(a)), ones, n - ones)
                value = sum(float(c) * theta[g] ** i for i, c in enumerate(p))
                assert table[k, ones, g] == pytest.approx(comb(n, ones) * value, rel=1e-9)


def test_reach_is_the_largest_count_strictly_above(rng):
    for _ in range(30):
        n0, n1 = (int(n) for n in rng.integers(1, 9, 2))
        i0, i1 = int(rng.integers(0, n0 + 1)), int(rng.integers(0, n1 + 1))
        y = (0,) * n0 + (1,) * n1

        def squared(a, b, y=y, n0=n0, n1=n1):
            x = (1,) * a + (0,) * (n0 - a) + (1,) * b + (0,) * (n1 - b)
            return reference.correlation_squared(x, y)

        cut = squared(i0, i1)  # attained exactly, so that equality happens
        for b in range(n1 + 1):
            above = [a for a in range(n0 + 1) if squared(a, b) > cut and b * n0 > a * n1]
            assert reach(n0, n1, cut)[b] == max(above, default=-1)


def test_accumulate_counts(rng):
    table = rng.integers(0, 2, size=(6, 11), dtype=np.uint8)
    group = rng.integers(0, 4, size=11).astype(np.intp)
    expected = np.array([[row[group == d].sum() for d in range(4)] for row in table])
    for features in (table, np.asfortranarray(table)):
        counts = np.zeros((6, 4))
        kernel.accumulate_counts(features, group, counts)
        assert (counts == expected).all()


@pytest.mark.parametrize("x", [1e-9, 0.3, 1.0, 15.9, 16.0, 1e3, 1e8])
def test_stirling_error(x):
    if x < 100:
        direct = lgamma(x + 1) - ((x + 0.5) * log(x) - x + 0.5 * log(2 * pi))
        assert shims.shim_stirling_error(x) == pytest.approx(direct, abs=1e-13)
    else:
        assert shims.shim_stirling_error(x) == pytest.approx(1 / (12 * x), rel=1e-6)


def test_deviance():
    for x, m in [(3.0, 3.1), (1e8, 1e8 + 7), (5.0, 50.0), (50.0, 5.0)]:
        ratio = Fraction(x) / Fraction(m)
        if abs(ratio - 1) < Fraction(1, 2):  # x log(x / m) + m - x as a series in m/x - 1
            u = Fraction(m) / Fraction(x) - 1
            exact = float(Fraction(x) * sum((-u) ** j / j for j in range(2, 40)))
        else:
            exact = x * log(x / m) + m - x
        assert shims.shim_deviance(x, x - m) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 101])
def test_dot(rng, size):
    x, y = rng.random(size), rng.random(size)
    assert shims.shim_dot(x, y) == pytest.approx(float(np.sum(x * y)), rel=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 7, 40, 201])
def test_exact_rule_is_exact_by_degree(degree):
    rule = theta_rule("exact", degree - 1)  # meant for degree n + 1
    assert (rule.theta**degree) @ rule.weight == pytest.approx(1 / (degree + 1), rel=1e-12)
    np.testing.assert_array_equal(rule.theta, rule.complement[::-1])
    assert gauss_legendre(5) is gauss_legendre(5)


def log_choose(n, k):
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def test_discard_probability_without_class_differences_is_hypergeometric():
    # alpha -> infinity: all orderings of s ones are equally likely, and s is uniform on 0..n
    n0, n1 = 700, 1300
    for gamma_squared in (Fraction(1, 400), Fraction(1, 2500)):
        limit = reach(n0, n1, gamma_squared)
        retained = 0.0
        for i1 in range(n1 + 1):
            if limit[i1] >= 0:
                i0 = np.arange(limit[i1] + 1)
                log_p = log_choose(n0, i0) + log_choose(n1, i1) - log_choose(n0 + n1, i0 + i1)
                retained += np.exp(log_p).sum() / (n0 + n1 + 1)
        ours = model.log_discard_probability(n0, n1, gamma_squared, np.array([1e14]))
        assert ours[0] == pytest.approx(np.log1p(-2 * retained), rel=1e-9)


def test_arguments_are_checked_before_a_kernel_sees_them():
    with pytest.raises(UserError, match="vector"):
        model.log_discard_probability(3, 3, Fraction(1, 4), np.ones((2, 3)))
    with pytest.raises(UserError, match="counts of ones"):
        model.pair_integrals(np.array([[4, 0]]), (3, 3), np.ones(1))
    with pytest.raises(UserError, match="alpha must be positive"):
        model.pair_integrals(np.array([[1, 0]]), (3, 3), np.array([1.0, np.nan]))
    whole = model.pair_integrals(np.array([[1, 2]]), (3, 3), np.array([2, 300]))
    real = model.pair_integrals(np.array([[1, 2]]), (3, 3), np.array([2.0, 300.0]))
    assert (whole.log_marginal == real.log_marginal).all()
    assert model.pair_integrals(np.empty((0, 2), int), (3, 3), np.ones(4)).theta_mean.shape == (
        0,
        4,
    )


def test_numpy_counts_do_not_overflow():
    gamma_squared = Fraction(469225, 6115311)
    plain = model.log_discard_probability(2500, 2500, gamma_squared, np.array([10.0]))
    reach.cache_clear()
    n0, n1 = np.bincount(np.repeat([0, 1], 2500))
    assert model.log_discard_probability(n0, n1, gamma_squared, np.array([10.0])) == plain


@pytest.mark.parametrize(("n0", "n1"), [(301, 300), (10, 1990), (1500, 1500)])
def test_pairs_that_share_a_rule_agree_with_located_ones(monkeypatch, rng, n0, n1):
    theta = rng.random(200)
    pairs = np.stack([rng.binomial(n0, theta), rng.binomial(n1, theta)], axis=1)
    pairs[:50] = np.stack([rng.integers(0, n0 + 1, 50), rng.integers(0, n1 + 1, 50)], axis=1)
    pairs[50:80] = np.stack([rng.integers(0, 5, 30), rng.integers(0, 5, 30)], axis=1)
    pairs[80:84] = (0, 0), (n0, n1), (0, n1), (n0, 0)
    alpha = np.array([1e-3, 1.0, 300.0, 1e8])
    alone = model.PairIntegrals(*(np.empty((200, 4)) for _ in range(3)))
    model._integrate_alone(pairs, n0, n1, alpha, alone)
    together = model.PairIntegrals(*(np.empty((200, 4)) for _ in range(3)))
    small = model._integrate_together(pairs, n0, n1, alpha, together)
    assert len(small) < 60
    assert (len(small) > 0) == (n0 == 1500)
    usual = np.setdiff1d(np.arange(200), small)
    for ours, theirs in zip(together, alone, strict=True):
        np.testing.assert_allclose(ours[usual], theirs[usual], rtol=1e-10, atol=1e-10)
    # and the whole picks the right one for each pair
    monkeypatch.setattr(model, "WORTH", 10**9)
    for ours, theirs in zip(model.pair_integrals(pairs, (n0, n1), alpha), alone, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
