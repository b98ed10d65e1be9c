"""Splitting a sum, and predictions after it, against quadrature that cannot cancel."""

import signal

import numpy as np
import pytest
import reference_splitting as twin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from thesiskit.models import chains
from thesiskit.models import splitting as model
from thesiskit.models.patterns import SequencePatterns

RATIOS = (1e-8, 1e-4, 1e-2, 0.5, 1, 1 + 1e-9, 2, 1e4, 1e8)
SIZES = (0, 1e-300, -1e-300, 1e-8, -1e-8, 1e-3, -1e-3, 1, -10, 1e6, 1e12)
# (s, width, other width), s in units of the larger width and of the smaller one
CELLS = [
    (size * unit, ratio, 1.0)
    for ratio in RATIOS
    for unit in sorted({1.0, float(ratio)})
    for size in SIZES
]
RULE = special.roots_legendre(16)


# --- references: positive integrands, panels that double away from each singularity -------------


def integrate(function, features, marks=(), reach=1e25):
    """Return edges, and the integral of the function up to each, from (centre, scale) features."""
    top = reach * max(max(abs(c), scale) for c, scale in [*features, *((m, 0) for m in marks)])
    edges = [np.asarray(marks, dtype=float)]
    for centre, scale in features:
        steps = scale * 2.0 ** np.arange(np.ceil(np.log2(top / scale)))
        edges += [centre - steps, [centre], centre + steps]
    edges = np.unique(np.concatenate(edges))
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    node, weight = RULE
    panels = half * (function(middle[:, None] + half[:, None] * node) @ weight)
    return edges, np.concatenate([[0], np.cumsum(panels)])


def part(function, s, a, b, features=(), marks=()):
    """Integrate function(x) / (A (A + B)); with its mirror image it makes 1 / (A B)."""
    features = [(0, a), (s / 2, np.hypot(np.hypot(a, b), s)), *features]

    def integrand(x):
        return function(x) / ((a * a + x * x) * (a * a + x * x + b * b + (x - s) ** 2))

    return integrate(integrand, features, marks)


def constant(s, a, b):
    """C of eqn-C-cauchy."""
    return np.pi * (a + b) / (a * b * (s * s + (a + b) ** 2))


def reference_cdf(x, s, a, b):
    total = 0
    for marks, args in ((x, (s, a, b)), (x - s, (-s, b, a))):
        edges, integral = part(np.ones_like, *args, marks=marks)
        total += integral[np.searchsorted(edges, marks)]
    return total / constant(s, a, b)


def reference_logistic(location, s, a, b):
    """E logistic(location + S_t)."""
    total = 0
    for start, args in ((location, (s, a, b)), (location + s, (-s, b, a))):
        total += part(lambda x, m=start: special.expit(m + x), *args, [(-start, np.pi)])[1][-1]
    return total / constant(s, a, b)


def add_cauchy(function, width, features):
    """E function(V), V ~ Cauchy(0, width)."""
    return integrate(
        lambda v: function(v) * width / (np.pi * (width * width + v * v)), [(0, width), *features]
    )[1][-1]


def printed_cdf(x, s, a, b):
    """eqn-cdf-split-cc1 as the thesis prints it."""
    bottom = s**4 + 2 * (a * a + b * b) * s * s + (a * a - b * b) ** 2
    first, last = s * s - (a * a - b * b), s * s + (a * a - b * b)
    terms = (
        s * np.log((x * x + a * a) / ((x - s) ** 2 + b * b))
        + first / a * (np.arctan(x / a) + np.pi / 2)
        + last / b * (np.arctan((x - s) / b) + np.pi / 2)
    )
    return terms / bottom / constant(s, a, b)


def points(s, a, b, rng):
    """Where to look: both peaks, between, far out, and anywhere."""
    top = max(a, b, abs(s))
    steps = np.array([0, 0.3, -0.3, 1, -1, 5, -5, 1e3, -1e3])
    far = top * np.array([-1e12, -1e4, -9, -8, -7.9, -4, -3.9, -1, -0.5, 0.5, 1, 4, 9, 1e5])
    return np.sort(
        np.concatenate([a * steps, s + b * steps, far, [s / 2], top * rng.normal(size=3)])
    )


def test_the_references_agree_with_the_constant_and_with_a_t_distribution():
    """Equation eqn-C-cauchy."""
    for s, a, b in CELLS[::7]:
        total = part(np.ones_like, s, a, b)[1][-1] + part(np.ones_like, -s, b, a)[1][-1]
        np.testing.assert_allclose(total, constant(s, a, b), rtol=1e-13)
    x = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(reference_cdf(x, 0, 2, 2), students_cdf(x, 2), rtol=1e-13)


def students_cdf(x, a):
    return stats.t(3, scale=a / np.sqrt(3)).cdf(x)


# --- the distribution function ------------------------------------------------------------------


def test_cdf_against_quadrature_over_the_whole_grid(rng):
    """Equations eqn-cond-cauchy to eqn-C-cauchy."""
    for s, a, b in CELLS:
        x = points(s, a, b, rng)
        cdf, expected = twin.cauchy_split_cdf(x, s, a, b), reference_cdf(x, s, a, b)
        np.testing.assert_allclose(cdf, expected, rtol=1e-12, atol=0, err_msg=f"{s} {a} {b}")
        np.testing.assert_allclose(cdf, expected, rtol=0, atol=1e-14, err_msg=f"{s} {a} {b}")
        assert (np.diff(cdf) >= -1e-15).all()


def test_cdf_does_not_change_with_the_scale(rng):
    for s, a, b in CELLS[::3]:
        if s and abs(s) < 1e-100:
            continue
        x = points(s, a, b, rng)
        expected = twin.cauchy_split_cdf(x, s, a, b)
        for scale in (2.0**-890, 2.0**850):
            got = twin.cauchy_split_cdf(x * scale, s * scale, a * scale, b * scale)
            np.testing.assert_array_equal(got, expected)


def test_cdf_where_the_printed_form_keeps_its_digits(rng):
    """Equation eqn-cdf-split-cc1."""
    s, a, b = rng.uniform(1, 5, size=(3, 200))
    x = 5 * rng.standard_cauchy(200)
    got = twin.cauchy_split_cdf(x, s, a, 1.5 * a + b)
    np.testing.assert_allclose(got, printed_cdf(x, s, a, 1.5 * a + b), atol=1e-12, rtol=0)


@pytest.mark.parametrize("a", [1e-250, 0.3, 1.0, 1e250])
def test_cdf_is_students_where_the_widths_agree_and_s_is_0(a):
    t = np.concatenate([-np.logspace(-3, 12, 61), np.linspace(-2, 2, 31)])
    cdf = twin.cauchy_split_cdf(a * t, 0, a, a)
    np.testing.assert_allclose(cdf, students_cdf(t, 1), rtol=1e-12)


exponents = st.floats(-8, 8)
signs = st.sampled_from([-1.0, 0.0, 1.0])


@given(exponents, exponents, signs, exponents, signs, exponents)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_cdf_symmetries(x_size, s_size, s_sign, a_size, x_sign, b_size):
    # multiples of 1 / 2^30, so that s - x is exact
    x, s = (
        np.round(sign * 10**size * 2**20) / 2**30
        for sign, size in ((x_sign, x_size), (s_sign, s_size))
    )
    a, b = 10**a_size, 10**b_size
    cdf = twin.cauchy_split_cdf
    here = cdf(x, s, a, b)
    assert here == pytest.approx(1 - cdf(-x, -s, a, b), abs=1e-15, rel=0)
    assert here == pytest.approx(1 - cdf(s - x, s, b, a), abs=1e-15, rel=0)
    assert cdf(x + abs(x) / 8 + 1e-6, s, a, b) >= here - 1e-15
    assert here == pytest.approx(reference_cdf(np.array([x]), s, a, b)[0], abs=1e-14, rel=1e-11)


def test_cdf_at_its_ends_and_at_widths_of_0():
    cdf = twin.cauchy_split_cdf
    x = np.array([-np.inf, -1e308, 1e308, np.inf])
    np.testing.assert_array_equal(cdf(x, [[3.0], [0.0]], 1e-3, 2), [[0, 0, 1, 1]] * 2)
    x = np.array([-np.inf, -1, -1e-300, 0, 2, 5, np.nextafter(5, 6), np.inf])
    np.testing.assert_array_equal(cdf(x, 5, 0, 2), x >= 0)
    np.testing.assert_array_equal(cdf(x, 5, 2, 0), x >= 5)
    np.testing.assert_array_equal(cdf(x, 0, 0, 0), x >= 0)
    narrow = np.where(np.abs(x) < 1e-190, 0.5, x >= 0)
    np.testing.assert_allclose(cdf(x, 5, 1e-190, 2), narrow, rtol=0, atol=1e-15)
    assert np.ndim(cdf(0.1, 0.2, 0.3, 0.4)) == 0
    assert cdf(np.zeros((0, 3)), 1, 1, np.ones(3)).shape == (0, 3)


# --- expected logistic functions ----------------------------------------------------------------


@pytest.mark.parametrize("sd", [1e-9, 0.1, 0.5, 1, 1.9999999, 2, 3, 40, 1e4, 1e8])
def test_expected_logistic_of_a_gaussian_against_quadrature(sd):
    means = np.array([0, 0.3, -1, 2.5, -8, 30, -200, 1e3, 1e7, sd, -3 * sd])

    def expected(mean):
        def integrand(z):
            return stats.norm.pdf(z) * special.expit(mean + sd * z)

        features = [(0, 1), (-mean / sd, np.pi / sd)][: 1 + (abs(mean) < 50 * sd)]
        return integrate(integrand, features, np.arange(-40, 40) / 4, 100)[1][-1]

    got = twin.expected_logistic_gaussian(means, sd)
    np.testing.assert_allclose(got, [expected(mean) for mean in means], rtol=0, atol=5e-15)
    np.testing.assert_allclose(got + twin.expected_logistic_gaussian(-means, sd), 1, rtol=1e-14)


def test_expected_logistic_of_a_gaussian_at_its_limits():
    x = np.array([-750, -30, -1, 0, 0.5, 20, 1e200])
    np.testing.assert_allclose(twin.expected_logistic_gaussian(x, 0), special.expit(x), rtol=1e-14)
    np.testing.assert_allclose(
        twin.expected_logistic_gaussian(1e8 * x[2:5], 1e8), special.ndtr(x[2:5]), atol=1e-14
    )
    assert np.ndim(twin.expected_logistic_gaussian(0.3, 5)) == 0
    assert twin.expected_logistic_gaussian([[0.0], [1.0]], [0, 1, 9]).shape == (2, 3)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 30.0, 1e6])
def test_expected_logistic_of_a_split_against_quadrature(unit):
    """Equation eqn-int-pred, for one group."""
    for s, a, b in CELLS[::2]:
        s, a, b = s * unit, a * unit, b * unit
        location = np.array([0, 1.7, -s, -s / 3 - 20])
        got = twin.expected_logistic_cauchy(location, s, a, b, 0)
        expected = [reference_logistic(m, s, a, b) for m in location]
        np.testing.assert_allclose(got, expected, rtol=0, atol=5e-15, err_msg=f"{s} {a} {b}")


@pytest.mark.parametrize("s", [1e-320, -1e-308, 1e-300])
def test_poles_almost_the_same(s):
    location = np.array([-2.5, 0, 1.7])
    got = twin.expected_logistic_cauchy(location, s, 0.1, 0.1, 0)
    same = twin.expected_logistic_cauchy(location, 0, 0.1, 0.1, 0)
    np.testing.assert_allclose(got, same, rtol=1e-15)
    x = np.array([-1, -1e-3, 0, 0.2])
    np.testing.assert_allclose(twin.cauchy_split_cdf(x, s, 0.1, 0.1), students_cdf(x, 0.1))


@pytest.mark.parametrize("v", [1e-6, 0.5, 1e3])
def test_expected_logistic_with_an_extra_cauchy(v):
    """The extra width as an integral over the function that the test above covers."""
    logistic = twin.expected_logistic_cauchy
    for s, a, b in [(0, 1, 1), (1e-9, 1, 1 + 1e-9), (-3, 1e-8, 1), (0.4, 1e4, 1), (50, 2, 0.1)]:
        for m in (0, -2.5):
            expected = add_cauchy(
                lambda x, m=m, s=s, a=a, b=b: logistic(m + x, s, a, b, 0),
                v,
                [(-m, np.pi + a), (-m - s, np.pi + b)],
            )
            assert logistic(m, s, a, b, v) == pytest.approx(expected, abs=1e-14, rel=0)


@pytest.mark.parametrize("width", [1e-8, 1.0, 1e8])
def test_expected_logistic_where_nothing_or_all_of_s_is_shared(width):
    logistic = twin.expected_logistic_cauchy
    for m, s in ((0.3, 5.0), (-40, 1e-8), (2, -1e7), (1, 0)):
        for v in (1e-8, 0.3, 1e6):
            none, every = (
                add_cauchy(lambda x, c=c: special.expit(c + x), v, [(-c, np.pi)])
                for c in (m, m + s)
            )
            assert logistic(m, s, 0, width, v) == pytest.approx(none, abs=1e-14, rel=0)
            assert logistic(m, s, width, 0, v) == pytest.approx(every, abs=1e-14, rel=0)
        assert logistic(m, s, 0, width, 0) == pytest.approx(special.expit(m), abs=1e-15)
        assert logistic(m, s, width, 0, 0) == pytest.approx(special.expit(m + s), abs=1e-15)
    assert logistic(0.7, 0, 0, 0, 0) == pytest.approx(special.expit(0.7), abs=1e-15)


def test_parts_of_a_prediction_are_the_whole_and_end_when_asked(monkeypatch, rng):
    """However the loops over draws, samples and splits are cut, the random numbers are the same."""
    codes = rng.integers(0, 3, (30, 4))
    groups = SequencePatterns(3).groups(codes[:20], 3, min_samples=1)
    shared, log_sigma = groups.shared(codes[20:]), rng.normal(size=(7, 4))
    found = {}
    for classes in (2, 3):
        coefficient = rng.normal(size=(7, classes - (classes == 2), groups.n_groups))
        for work in (1 << 22, 300, 40, 3):
            monkeypatch.setattr(model, "WORK", work)
            keys = {"cauchy": True, "rng": np.random.default_rng(1), "split_draws": 11}
            p = model.predict(coefficient, log_sigma, shared, classes, **keys)
            assert (p == found.setdefault(classes, p)).all()
            if classes == 2:
                keys["rng"] = np.random.default_rng(1)
                given = (coefficient, log_sigma, np.zeros(7), shared)
                linear = model.predict_response(*given, **keys).linear
                assert (linear == found.setdefault("linear", linear)).all()
    monkeypatch.setattr(chains, "stopping", [signal.SIGTERM])
    with pytest.raises(chains.Stopped):
        model.predict(coefficient, log_sigma, shared, 3, **keys)
