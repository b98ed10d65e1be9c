"""The mixture's kernels against rational twins; run on the fast build and on the checked one."""

import re
from fractions import Fraction
from itertools import product
from math import comb, lgamma, log, log1p

import numpy as np
import pytest
import reference
import reference_mixture as twin
from cases import only
from mixture_factors import log_discard_probability
from scipy import special

from thesiskit._kernels import mixture as kernel
from thesiskit.defaults import TABLE_SAMPLES
from thesiskit.errors import DataError
from thesiskit.models import mixture
from thesiskit.models.integrals import pair_integrals, theta_rule
from thesiskit.models.mixture_tables import Tables, interpolation
from thesiskit.models.selection import AT, BELOW, LOT, WITHIN, LeftOut, squared_correlation

ALPHAS = (Fraction(1, 100), Fraction(7, 10), Fraction(30), Fraction(10**8))
COUNTS = [
    ((3, 4), (4, 3)),  # n even, components of equal size
    ((2, 4), (5, 2)),
    ((7, 0), (0, 6)),  # labels = responses
    ((0, 5), (4, 0)),
    ((6, 7), (0, 0)),  # an empty component
    ((0, 0), (5, 4)),
    ((4, 0), (5, 0)),  # an empty class
    ((0, 3), (0, 5)),
    ((1, 0), (0, 0)),  # one sample
    ((0, 0), (0, 1)),
    ((1, 0), (0, 1)),
    ((1, 0), (0, 12)),
]


def attained(counts) -> list[Fraction]:
    """Every value of COR^2 that a feature can have, from 0 up."""
    n0, n1 = (counts[0][y] + counts[1][y] for y in (0, 1))
    y = (0,) * n0 + (1,) * n1
    return sorted(
        {
            reference.correlation_squared(
                (0,) * (n0 - i) + (1,) * i + (1,) * j + (0,) * (n1 - j), y
            )
            for i in range(n0 + 1)
            for j in range(n1 + 1)
        }
    )


def one(n0, n1, cut) -> LeftOut:
    """A feature left out, with COR^2 <= cut."""
    return LeftOut.of({WITHIN: 1}, (n0, n1), cut)


def log_of(q: Fraction) -> float:
    """log q, to full relative precision on either end."""
    return log1p(-float(1 - q)) if q > Fraction(1, 2) else log(q.numerator) - log(q.denominator)


@pytest.mark.parametrize("counts", COUNTS)
def test_discard_factor_against_rational_arithmetic(counts):
    """Equations adjust-factor-mix, prob-n01-n11-z and prob-mix-n01-n11."""
    values = attained(counts)
    cuts = {values[0], values[len(values) // 2], values[-1], values[len(values) // 4]}
    cuts |= {(values[len(values) // 2] + values[-1]) / 2, Fraction(2)}
    dense = np.geomspace(0.01, 1e8, 101)  # more points than nodes: interpolated
    assert len(interpolation(dense, sum(map(sum, counts)))[0]) < len(dense)
    few = np.array([float(a) for a in ALPHAS])
    for cut in sorted(cuts):
        direct = log_discard_probability(counts, cut, few)
        smooth = log_discard_probability(counts, cut, dense)
        for a, ours in zip(few, direct, strict=True):
            exact = log_of(twin.mixture_discard(counts, cut, Fraction(float(a))))
            assert ours == pytest.approx(exact, rel=1e-11, abs=1e-300)
        for a in (0, 37, 100):
            exact = log_of(twin.mixture_discard(counts, cut, Fraction(float(dense[a]))))
            assert smooth[a] == pytest.approx(exact, rel=1e-11, abs=1e-300)


def test_ties_at_the_cut_are_discarded():
    counts = ((2, 3), (3, 1))
    for value in attained(counts)[:-1]:
        at, above = (
            log_discard_probability(counts, cut, 2.0)[0]
            for cut in (value, value + Fraction(1, 10**15))
        )
        assert at == above
        if value:
            assert log_discard_probability(counts, value - Fraction(1, 10**15), 2.0) < at


# ---- ties at the cut ----


def log_factor(counts, known, cut, alpha, tied_kept=0) -> np.ndarray:
    """The log factor of features left out, by event, for (K,) alpha."""
    (n00, n01), (n10, n11) = counts
    classes = (n00 + n10, n01 + n11)
    left_out = LeftOut.of(known, classes, cut, tied_kept)
    result = np.empty(len(alpha))
    Tables(sum(classes), alpha).discards(classes, left_out).log_discards(n10, n11, result)
    return result


@pytest.mark.parametrize("counts", COUNTS)
def test_chances_below_and_at_the_cut_against_rational_arithmetic(counts):
    values = attained(counts)
    dense = np.geomspace(0.01, 1e8, 101)  # more points than nodes: interpolated
    few = np.array([float(a) for a in ALPHAS])
    places = {0, len(values) // 3, len(values) // 2, len(values) - 1}
    for cut in (values[place] for place in places):
        events = (AT, BELOW) if cut else (AT,)
        direct = [log_factor(counts, {event: 1}, cut, few) for event in events]
        smooth = [log_factor(counts, {event: 1}, cut, dense) for event in events]
        for event, ours, others in zip(events, direct, smooth, strict=True):
            for a in range(len(few)):
                exact = log_of(twin.mixture_discard(counts, cut, float(few[a]), event))
                assert ours[a] == pytest.approx(exact, rel=1e-12, abs=1e-14)
            for a in (0, 37, 100):
                exact = log_of(twin.mixture_discard(counts, cut, float(dense[a]), event))
                assert others[a] == pytest.approx(exact, rel=1e-11, abs=1e-11)
        whole = np.exp(log_discard_probability(counts, cut, few))
        np.testing.assert_allclose(np.exp(direct).sum(axis=0), whole, rtol=0, atol=4e-15)


@pytest.mark.parametrize("cells", [(30, 31, 70, 69), (0, 100, 100, 0), (3, 200, 250, 5)])
def test_chances_at_the_cut_of_many_samples(cells):
    # e in the difference of two factors, where it is large enough to be one
    n00, n01, n10, n11 = cells
    n0, n1 = n00 + n10, n01 + n11
    alpha = np.geomspace(0.5, 1e6, 80)
    for i1 in (n1 // 2 + 4, n1 // 2 + 9):
        cut = squared_correlation(n0 // 2, i1, n0, n1)
        counts = ((n00, n01), (n10, n11))
        e, s = (np.exp(log_factor(counts, {event: 1}, cut, alpha)) for event in (AT, BELOW))
        np.testing.assert_allclose(
            e + s,
            np.exp(log_discard_probability(counts, cut, alpha)),
            rtol=0,
            atol=2e-14,
        )
        assert (e > 1e-9).any()
        few = alpha[::13].copy()  # so few that nothing is interpolated
        exact = log_factor(counts, {AT: 1}, cut, few)
        np.testing.assert_allclose(np.log(e)[::13], exact, rtol=0, atol=3e-11)
        both = log_factor(counts, {BELOW: 3, AT: 2}, cut, alpha)
        np.testing.assert_allclose(both, 3 * np.log(s) + 2 * np.log(e), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("m", [1, 3, 12])
@pytest.mark.parametrize("counts", [((2, 1), (1, 2)), ((1, 3), (2, 0)), ((3, 0), (0, 3))])
def test_lots_against_all_configurations(counts, d, m):
    # the features left out, one by one: each is below the cut or ties with it, and those that
    # tie lose against the m kept ones
    alpha = [Fraction(1, 2), Fraction(7)]
    for cut in attained(counts):
        ours = log_factor(counts, {LOT: d}, cut, np.array(alpha, dtype=float), m)
        for a, found in zip(alpha, ours, strict=True):
            e, s = (twin.mixture_discard_brute(counts, cut, a, event) for event in (AT, BELOW))
            exact = Fraction(0)
            for ties in product((0, 1), repeat=d):
                t = sum(ties)
                exact += e**t * s ** (d - t) / comb(m + t, m)
            assert exact == twin.lot(e, s, d, m)
            assert found == pytest.approx(log_of(exact), rel=1e-12)


MANY = list(product((40, 1_000, 100_000, 1_000_000), (1, 2, 30, 2_000)))
LESS = [case for case in MANY if case[0] < 100_000]


@pytest.mark.parametrize(("d", "m"), only(MANY, *LESS, (100_000, 2), (1_000_000, 30)))
def test_lots_among_many(d, m):
    counts = ((8, 5), (3, 9))
    alpha = np.geomspace(0.5, 1e6, 7)
    t = np.arange(d + 1)
    for cut in (attained(counts)[i] for i in (0, 3, 20, -4, -1)):
        ours = log_factor(counts, {LOT: d}, cut, alpha, m)
        e = log_factor(counts, {AT: 1}, cut, alpha)
        s = log_factor(counts, {BELOW: 1}, cut, alpha) if cut else np.full(7, -np.inf)
        # C(d, t) / C(m + t, m)
        ways = special.gammaln(d + 1) + special.gammaln(m + 1)
        ways = ways - special.gammaln(d - t + 1) - special.gammaln(m + t + 1)
        for a in range(len(alpha)):
            rest = (d - t) * s[a] if cut else np.where(t == d, 0, -np.inf)
            exact = special.logsumexp(ways + t * e[a] + rest)
            assert ours[a] == pytest.approx(exact, rel=1e-12, abs=1e-7 if d > 1_000 else 1e-10)


def test_lots_where_nothing_can_tie():
    counts, alpha = ((3, 1), (2, 2)), np.array([0.5, 30.0])
    cut = Fraction(1, 1000)
    assert cut not in attained(counts)
    ours = log_factor(counts, {LOT: 7}, cut, alpha, 2)
    np.testing.assert_allclose(ours, 7 * log_discard_probability(counts, cut, alpha))


@pytest.mark.parametrize(
    ("known", "cut", "message"),
    [
        ({AT: 1}, Fraction(1, 1000), "gamma^2 = 1/1000"),
        ({AT: 2, BELOW: 1}, Fraction(0), "gamma^2 = 0"),
    ],
)
def test_impossible_ties(known, cut, message):
    with pytest.raises(DataError, match=re.escape(message)):
        log_factor(((3, 1), (2, 2)), known, cut, np.ones(1))


def test_features_with_missing_values_have_no_factor():
    left_out = LeftOut.of({WITHIN: 3}, (5, 4), Fraction(1, 9))
    with pytest.raises(
        DataError, match="observed in 5 and 4 samples of the classes, but there are 5"
    ):
        Tables(10, np.ones(1)).discards((5, 5), left_out)


def retained(counts, cut: Fraction, a: Fraction, sums) -> Fraction:
    """P(|COR| > gamma), over counts of ones in the four cells that `sums` lists."""
    (n00, n01), (n10, n11) = counts
    n = (n00 + n10, n01 + n11)
    total = Fraction(0)
    for i00, i01, i10, i11 in sums:
        if not twin._is_dropped((i00 + i10, i01 + i11), n, cut):
            ways = comb(n00, i00) * comb(n01, i01) * comb(n10, i10) * comb(n11, i11)
            ones = i00 + i01, i10 + i11
            zeros = n00 + n01 - ones[0], n10 + n11 - ones[1]
            total += ways * twin._pair_likelihood(ones, zeros, a)
    return total


@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(20), Fraction(10**8)])
def test_factor_very_close_to_one(alpha):
    counts, cut = ((30, 0), (0, 30)), Fraction(4, 5)
    # COR^2 > 4/5 needs few samples on the wrong side
    sums = [
        (i00, 0, 0, i11)
        for i00, i11 in product(range(31), repeat=2)
        if i00 + 30 - i11 <= 7 or 30 - i00 + i11 <= 7
    ]
    exact = retained(counts, cut, alpha, sums)
    ours = log_discard_probability(counts, cut, float(alpha))[0]
    assert ours == pytest.approx(log1p(-float(exact)), rel=1e-11)
    if alpha == 10**8:
        assert 0 < float(exact) < 1e-12
    grid = np.append(np.geomspace(0.05, 1e9, 150), float(alpha))
    smooth = log_discard_probability(counts, cut, grid)[-1]
    assert smooth == pytest.approx(ours, rel=1e-11)


@pytest.mark.parametrize("alpha", [Fraction(1, 100), Fraction(30), Fraction(10**6)])
def test_factor_close_to_zero(alpha):
    # two equal classes and cut 0: discarded are the counts with as many ones in each class
    counts = ((20, 3), (0, 17))
    exact = Fraction(0)
    for i00, i01, i11 in product(range(21), range(4), range(18)):
        if i00 == i01 + i11:
            ways = comb(20, i00) * comb(3, i01) * comb(17, i11)
            exact += ways * twin._pair_likelihood(
                (i00 + i01, i11), (23 - i00 - i01, 17 - i11), alpha
            )
    ours = log_discard_probability(counts, Fraction(0), float(alpha))[0]
    assert ours == pytest.approx(log(exact.numerator) - log(exact.denominator), rel=1e-11)


def test_factor_is_the_same_with_components_or_classes_exchanged(rng):
    alpha = np.geomspace(0.01, 1e8, 90)
    for n in (7, 40, 61, 62):
        for _ in range(4):
            cells = rng.multinomial(n, rng.dirichlet(np.ones(4))).reshape(2, 2)
            cut = Fraction(int(rng.integers(1, 30)), 100)
            value = log_discard_probability(cells, cut, alpha)
            assert np.isfinite(value).all()
            for other in (cells[::-1], cells[:, ::-1], cells[::-1, ::-1]):
                swapped = log_discard_probability(other, cut, alpha)
                np.testing.assert_allclose(swapped, value, rtol=1e-11, atol=1e-300)


def test_factor_of_one_component_is_that_of_no_components():
    # one component of all samples: a feature is exchangeable, hence I1 given s hypergeometric, and
    # s beta-binomial: independent of labels.  Its mean over alpha cannot depend on the cut's tie.
    n, cut, a = 9, Fraction(1, 4), Fraction(3)
    y = (0,) * 4 + (1,) * 5
    total = sum(
        (
            twin.column_likelihood(x, (0,) * n, a)
            for x in product((0, 1), repeat=n)
            if reference.correlation_squared(x, y) <= cut
        ),
        Fraction(0),
    )
    for counts in (((4, 5), (0, 0)), ((0, 0), (4, 5))):
        ours = log_discard_probability(counts, cut, float(a))[0]
        assert ours == pytest.approx(log_of(total), rel=1e-12)


@pytest.mark.parametrize("counts", [((3, 4), (4, 3)), ((2, 0), (3, 8)), ((12, 1), (2, 15))])
def test_simpson_11_against_a_plain_sum(counts):
    (n00, n01), (n10, n11) = counts
    size, n = (n00 + n01, n10 + n11), (n00 + n10, n01 + n11)
    alpha, cut = np.array([0.3, 5.0, 200.0]), Fraction(1, 16)
    theta, weight = np.linspace(0, 1, 11), np.array([1, 4, 2, 4, 2, 4, 2, 4, 2, 4, 1]) / 30

    def rising(start, times):
        return np.prod([start + i for i in range(times)], axis=0) if times else np.ones(len(start))

    for a in alpha:
        u = {
            (z, i): rising(a * theta, i)
            * rising(a * theta[::-1], size[z] - i)
            / rising(np.array([a]), size[z])
            for z in (0, 1)
            for i in range(size[z] + 1)
        }
        total = 0.0
        for i00, i01, i10, i11 in product(*(range(m + 1) for m in (n00, n01, n10, n11))):
            if not twin._is_dropped((i00 + i10, i01 + i11), n, cut):
                ways = comb(n00, i00) * comb(n01, i01) * comb(n10, i10) * comb(n11, i11)
                total += ways * float(weight @ (u[0, i00 + i01] * u[1, i10 + i11]))
        ours = log_discard_probability(counts, cut, a, quadrature="simpson-11")[0]
        assert ours == pytest.approx(log1p(-total), rel=1e-11)
        exact = log_discard_probability(counts, cut, a)[0]
        assert ours != pytest.approx(exact, rel=1e-9)


# ---- marginals ----


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_marginals_of_all_cells(n):
    alpha = np.array([float(a) for a in ALPHAS])
    made = Tables(n, alpha).marginals(np.arange(n // 2 + 1))
    for m, s in product(range(n + 1), range(n // 2 + 1)):
        for i1 in range(max(0, s - (n - m)), min(s, m) + 1):
            i0 = s - i1
            column = (0,) * (n - m - i0) + (1,) * (i0 + i1) + (0,) * (m - i1)
            z = (0,) * (n - m) + (1,) * m
            for a in range(len(alpha)):
                exact = twin.column_likelihood(column, z, float(alpha[a]))
                ours = made.log_marginal(m, a, s, i1)
                assert ours == pytest.approx(
                    log(exact.numerator) - log(exact.denominator), abs=1e-12
                )


@pytest.mark.parametrize("n", [62, 200, 201])
def test_interpolated_marginals_against_integrals(n):
    alpha = np.geomspace(0.02, 1e6, 200)
    totals = np.array([0, 1, n // 7, n // 2])
    made = Tables(n, alpha).marginals(totals)
    points = [0, 3, 77, 140, 199]
    sizes = {0, 1, n // 3, n // 2 - 1, n // 2, n // 2 + 1, n - n // 3, n - 1, n}
    for m in sorted(sizes):
        pairs, cells = [], []
        for s in totals:
            for i1 in sorted({max(0, s - (n - m)), min(s, m), min(s, m) // 2}):
                if max(0, s - (n - m)) <= i1:
                    pairs.append((s - i1, i1))
                    cells.append((s, i1))
        found = pair_integrals(np.array(pairs), (n - m, m), alpha[points]).log_marginal
        for (i0, i1), (s, _), row in zip(pairs, cells, found, strict=True):
            orderings = sum(
                lgamma(size + 1) - lgamma(i + 1) - lgamma(size - i + 1)
                for size, i in ((n - m, i0), (m, i1))
            )
            ours = [made.log_marginal(m, a, s, i1) for a in points]
            np.testing.assert_allclose(ours, row - orderings, rtol=0, atol=1e-8)


# ---- tables ----


def test_few_points_are_their_own_nodes():
    alpha = np.array([0.5, 2.0, 9.0])
    node, matrix = interpolation(alpha, 30)
    assert (node == alpha).all()
    assert (matrix == np.eye(3)).all()
    assert interpolation(np.full(5, 2.0), 30)[0].shape == (1,)


def test_interpolation_reproduces_rational_functions():
    alpha = np.geomspace(0.01, 1e7, 300)
    node, matrix = interpolation(alpha, 50)
    assert matrix.shape == (300, len(node))
    for pole in (0.0, 1.0, 25.0, 49.0):
        values = np.log((node + pole) / (node + 50))
        np.testing.assert_allclose(
            matrix @ values, np.log((alpha + pole) / (alpha + 50)), atol=1e-11
        )


@pytest.mark.parametrize("class_counts", [(4, 6), (5, 4), (4, 4), (7, 0)])
def test_hits_and_misses(class_counts):
    n0, n1 = class_counts
    tables = Tables(n0 + n1, np.array([1.0, 3.0]))
    found = tables.discards(class_counts, one(*class_counts, Fraction(1, 9)))
    out = np.empty(2)
    assert (found.hits, found.misses) == (0, 0)
    found.log_discards(1, 0, out)
    assert (found.hits, found.misses) == (0, 1)
    first = out.copy()
    found.log_discards(1, 0, out)
    found.log_discards(n0 - 1, n1, out)  # components exchanged
    assert (found.hits, found.misses) == (2, 1)
    assert (out == first).all()
    found.fill_all()
    fixed = n0 % 2 == n1 % 2 == 0
    assert found.misses == ((n0 + 1) * (n1 + 1) + fixed) // 2
    misses = found.misses
    for c0, c1 in product(range(n0 + 1), range(n1 + 1)):
        found.log_discards(c0, c1, out)
    assert found.misses == misses
    assert tables.discards(class_counts, one(*class_counts, Fraction(1, 9))) is found


def test_order_and_forgetting_change_nothing(rng):
    n, alpha, cut = 11, np.geomspace(0.1, 1e4, 100), Fraction(1, 20)
    entries = list(product(range(6), range(7)))

    def look(order, **options):
        tables = Tables(n, alpha, **options)
        found, out = tables.discards((5, 6), one(5, 6, cut)), np.empty((len(entries), len(alpha)))
        for e in order:
            found.log_discards(*entries[e], out[e])
        made = tables.marginals(np.arange(n // 2 + 1))
        cells = [
            (m, a, s, i1)
            for m in range(n + 1)
            for s in range(n // 2 + 1)
            for i1 in range(max(0, s - (n - m)), min(s, m) + 1)
            for a in (0, 99)
        ]
        values = np.empty(len(cells))
        for c in rng.permutation(len(cells)):
            values[c] = made.log_marginal(*cells[c])
        return out, values, made.filled

    plain = look(range(len(entries)))
    shuffled = look(rng.permutation(len(entries)))
    forgetful = look(rng.permutation(len(entries)), block_bytes=1)
    assert plain[2] == shuffled[2] == n // 2 + 1
    assert forgetful[2] > n // 2 + 1
    for other in (shuffled, forgetful):
        assert (other[0] == plain[0]).all()
        assert (other[1] == plain[1]).all()


def test_several_cuts_and_classes_share_their_marginals():
    alpha = np.array([0.7, 4.0])
    tables = Tables(8, alpha)
    out = np.empty(2)
    for n1, cut in product((3, 4, 5), (Fraction(0), Fraction(1, 9), Fraction(1, 2))):
        tables.discards((8 - n1, n1), one(8 - n1, n1, cut)).log_discards(1, 2, out)
        counts = ((7 - n1, n1 - 2), (1, 2))
        np.testing.assert_allclose(out, log_discard_probability(counts, cut, alpha), rtol=1e-13)
    # the thesis's rule has marginals of its own
    tables.discards((4, 4), one(4, 4, Fraction(1, 9)), "simpson-11").log_discards(1, 2, out)
    expected = log_discard_probability(
        ((3, 2), (1, 2)), Fraction(1, 9), alpha, quadrature="simpson-11"
    )
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    for n1 in range(9):  # more than are kept
        for cut in range(1, 4):
            tables.discards((8 - n1, n1), one(8 - n1, n1, Fraction(cut, 7))).log_discards(
                min(1, 8 - n1), 0, out
            )
    tables.discards((4, 4), one(4, 4, Fraction(1, 9))).log_discards(1, 2, out)
    expected = log_discard_probability(((3, 2), (1, 2)), Fraction(1, 9), alpha)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


# ---- samplers, one state at a time ----


def some_target(rng, n=9, k=11, dropped=5, cut=Fraction(1, 9), **options):
    settings = mixture.Mixture(
        **{"class_prior": (2.0, 1.0), "alpha_points": 4, "alpha_prior": (1.0, 2.0), **options}
    )
    x = rng.integers(0, 2, (n, k), dtype=np.uint8)
    y = np.append([0, 1], rng.integers(0, 2, n - 2)).astype(np.uint8)
    ones = int(y.sum())
    left_out = LeftOut.of({WITHIN: dropped}, (n - ones, ones), cut)
    return mixture.MixtureTarget(x, y, settings, left_out)


def exact_log_posterior(target, z, point, theta=None) -> float:
    """Log P(z) P(y, x given z, alpha) q^d, theta integrated out or given."""
    a, a0 = target.settings.alpha[point[0]], target.settings.response_alpha[point[1]]
    prior = tuple(Fraction(f) for f in target.settings.class_prior)
    total = log_of(twin.label_prior(z, prior))
    columns = [(tuple(int(v) for v in c), a) for c in target.features.T]
    columns.append((tuple(int(v) for v in target.response), a0))
    for j, (column, concentration) in enumerate(columns):
        if theta is None:
            total += log_of(twin.column_likelihood(column, z, float(concentration)))
            continue
        t = 1 - theta[j] if j < target.k and target.exchanged[j] else theta[j]
        for label in (0, 1):
            ones, zeros = (
                sum(v == value and w == label for v, w in zip(column, z, strict=True))
                for value in (1, 0)
            )
            total += sum(log(concentration * t + i) for i in range(ones))
            total += sum(log(concentration * (1 - t) + i) for i in range(zeros))
            total -= sum(log(concentration + i) for i in range(ones + zeros))
    if target.left_out is not None:
        tally = [twin._tally(target.response, z, c) for c in (0, 1)]
        counts = tuple(zip(*tally, strict=True))
        total += log_of(twin.selection_factor(counts, target.left_out, float(a)))
    return total


@pytest.mark.parametrize("points", [4, 90])
@pytest.mark.parametrize("dropped", [0, 5])
def test_log_posterior_of_the_collapsed_sampler(rng, dropped, points, monkeypatch):
    if points == 90:  # interpolated, with no room for more than one table
        monkeypatch.setattr("thesiskit.models.mixture_tables.POOL_BYTES", 1)
    target = some_target(rng, dropped=dropped, alpha_points=points, replicas=1)
    tables = Tables(target.n, target.settings.alpha, block_bytes=1)
    discards = tables.discards(target.class_counts, target.left_out) if dropped else None
    labels, point = np.zeros((1, 9), dtype=np.uint8), np.zeros((1, 2), dtype=np.intp)
    holder = np.arange(1)
    sampler = mixture.collapsed(target, tables, discards, labels, point, holder)
    capsule = rng.bit_generator.capsule
    for trial in range(12):
        if trial < 4:  # empty components and both sides of n / 2
            labels[0] = [0, 1, rng.random(9) < 0.2, rng.random(9) < 0.8][trial]
            point[0] = rng.integers(0, points, 2)
            sampler.refresh()
        else:
            sampler.sweep_labels(0, capsule)
            sampler.sweep_alpha(0, capsule)
            sampler.sweep_response_alpha(0, capsule)
        kept = sampler.log_posterior(0)
        exact = exact_log_posterior(target, tuple(int(v) for v in labels[0]), point[0])
        assert kept == pytest.approx(exact, abs=1e-9)
        sampler.refresh()
        assert sampler.log_posterior(0) == pytest.approx(kept, abs=1e-11)


@pytest.mark.parametrize("dropped", [0, 5])
def test_log_posterior_of_the_thesis_sampler(rng, dropped):
    """Equations like-part-mix and dir."""
    target = some_target(rng, dropped=dropped, sampler="gibbs")
    tables = Tables(target.n, target.settings.alpha)
    discards = tables.discards(target.class_counts, target.left_out) if dropped else None
    labels, point = np.zeros(9, dtype=np.uint8), np.zeros(2, dtype=np.intp)
    theta = rng.random(target.k + 1)
    sampler = mixture.with_theta(target, discards, labels, theta, point)
    capsule = rng.bit_generator.capsule
    for trial in range(12):
        if trial < 4:
            labels[:] = [0, 1, rng.random(9) < 0.2, rng.random(9) < 0.8][trial]
            point[:] = rng.integers(0, 4, 2)
            sampler.refresh()
        else:
            sampler.sweep_labels(capsule)
            sampler.sweep_theta(3, capsule)
            sampler.sweep_alpha(capsule)
            sampler.sweep_response_alpha(capsule)
        kept = sampler.log_posterior()
        exact = exact_log_posterior(target, tuple(int(v) for v in labels), point, theta)
        assert kept == pytest.approx(exact, abs=1e-9)
        sampler.refresh()
        assert sampler.log_posterior() == pytest.approx(kept, abs=1e-11)


def test_draws_do_not_depend_on_what_tables_forget(rng, monkeypatch):
    target = some_target(rng, n=12, alpha_points=80, replicas=3)

    def draws(**options):
        tables = Tables(target.n, target.settings.alpha, **options)
        discards = tables.discards(target.class_counts, target.left_out)
        labels = np.tile(np.arange(12, dtype=np.uint8) % 2, (3, 1))
        point, holder = np.zeros((3, 2), dtype=np.intp), np.arange(3)
        sampler = mixture.collapsed(target, tables, discards, labels, point, holder)
        out = np.empty((40, 12), dtype=np.uint8), np.empty((40, 2), dtype=np.intp), np.empty(40)
        capsule = (generator := np.random.default_rng(5)).bit_generator.capsule
        sampler.run(0, 2, *out, np.zeros(2, dtype=np.int_), capsule)
        return *out, np.array(generator.random())

    plain = draws()
    monkeypatch.setattr("thesiskit.models.mixture_tables.POOL_BYTES", 1)
    for one, other in zip(plain, draws(block_bytes=1), strict=True):
        assert (one == other).all()


def test_exchanges_are_offered_to_every_other_pair(rng):
    # all replicas alike: every offer is accepted, and says which were made
    target = some_target(rng, replicas=5)
    tables = Tables(target.n, target.settings.alpha)
    labels, point = np.zeros((5, 9), dtype=np.uint8), np.zeros((5, 2), dtype=np.intp)
    holder = np.arange(5)
    sampler = mixture.collapsed(target, tables, None, labels, point, holder)
    for first, accepted, order in [
        (0, [1, 0, 1, 0], [1, 0, 3, 2, 4]),
        (1, [0, 1, 0, 1], [0, 2, 1, 4, 3]),
    ]:
        holder[:] = np.arange(5)
        count = np.zeros(4, dtype=np.int_)
        sampler.exchange(first, count, rng.bit_generator.capsule)
        assert count.tolist() == accepted
        assert holder.tolist() == order


# ---- predictions ----


@pytest.mark.parametrize("given_theta", [False, True])
def test_predictions_of_one_draw_against_direct_arithmetic(rng, given_theta):
    """Equation prob-pred-mix."""
    target = some_target(rng, n=8, k=4, dropped=0)
    assert target.exchanged.any()
    assert not target.exchanged.all()
    f = [Fraction(v) for v in target.settings.class_prior]
    labels = np.array([[0] * 8, [1] * 8, [0, 1] * 4, [1, 1, 1, 0, 1, 1, 0, 1]], dtype=np.uint8)
    point = np.array([[0, 3], [1, 2], [3, 0], [2, 2]], dtype=np.intp)
    theta = rng.random((4, 5))
    new = np.array(list(product((0, 1), repeat=4)), dtype=np.uint8)
    draws = (labels, point, theta) if given_theta else (labels, point)
    ours = np.concatenate(list(target.log_joint(draws, new)), axis=2)
    assert ours.shape == (16, 2, 4)
    y = tuple(int(v) for v in target.response)
    for d in range(4):
        z = tuple(int(v) for v in labels[d])
        a = Fraction(float(target.settings.alpha[point[d, 0]]))
        a0 = Fraction(float(target.settings.response_alpha[point[d, 1]]))

        def chance(column, value, label, concentration, j, d=d, z=z):
            """P(value given label of the new sample, and all old samples)."""
            if not given_theta:
                longer = twin.column_likelihood((*column, value), (*z, label), concentration)
                return longer / twin.column_likelihood(column, z, concentration)
            t = Fraction(float(theta[d, j]))
            if j < target.k and target.exchanged[j]:
                t = 1 - t
            ones, size = twin._tally(column, z, 1)[label], z.count(label)
            phi = (concentration * t + ones) / (concentration + size)
            return phi if value else 1 - phi

        for row, y_new in product(range(16), (0, 1)):
            total = Fraction(0)
            for label in (0, 1):
                p = (f[label] + z.count(label)) / (sum(f) + 8) * chance(y, y_new, label, a0, 4)
                for j in range(4):
                    column = tuple(int(v) for v in target.features[:, j])
                    p *= chance(column, int(new[row, j]), label, a, j)
                total += p
            assert ours[row, y_new, d] == pytest.approx(log(total), abs=1e-11)
    np.testing.assert_allclose(
        target.predict(draws, new), np.exp(ours[:, 1]).sum(1) / np.exp(ours).sum((1, 2)), rtol=1e-12
    )


def test_predictions_do_not_depend_on_the_block_length(rng, monkeypatch):
    target = some_target(rng, n=8, k=4, dropped=0)
    labels = rng.integers(0, 2, (150, 8), dtype=np.uint8)
    point = rng.integers(0, 4, (150, 2))
    new = rng.integers(0, 2, (5, 4), dtype=np.uint8)
    whole = target.predict((labels, point), new)
    for length in (1, 7, 1000):
        monkeypatch.setattr("thesiskit.models.mixture.DRAWS", length)
        np.testing.assert_allclose(target.predict((labels, point), new), whole, rtol=1e-12)


def test_nothing_underflows_for_as_many_samples_as_are_taken():
    n = TABLE_SAMPLES
    alpha = np.geomspace(0.05, 1e6, 9)
    tables = Tables(n, alpha, block_bytes=1 << 20)
    rule = theta_rule("exact", n)
    assert len(rule.theta) == n // 2 + 1
    made = tables.marginals(np.array([0, n // 2]))
    for m, i1 in [(0, 0), (n // 2, n // 2), (n // 2, 0), (n // 3, n // 3), (n // 3, 0)]:
        found = pair_integrals(np.array([[n // 2 - i1, i1]]), (n - m, m), alpha).log_marginal[0]
        for size, ones in ((n - m, n // 2 - i1), (m, i1)):
            found -= lgamma(size + 1) - lgamma(ones + 1) - lgamma(size - ones + 1)
        ours = [made.log_marginal(m, a, n // 2, i1) for a in range(9)]
        np.testing.assert_allclose(ours, found, rtol=1e-9)


def test_the_kernels_are_the_ones_the_models_use(rng):
    target = some_target(rng)
    tables = Tables(target.n, target.settings.alpha)
    discards = tables.discards(target.class_counts, target.left_out)
    assert isinstance(discards, kernel.Discards)
    assert isinstance(tables.marginals(target.totals[:1]), kernel.Marginals)
    assert mixture.Collapsed is kernel.Collapsed
    assert mixture.WithTheta is kernel.WithTheta
