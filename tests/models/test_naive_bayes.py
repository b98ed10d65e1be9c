from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import reference
from cases import only
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from statistical import assert_calibrated, z_score

from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.errors import ThesiskitError, UserError
from thesiskit.models import naive_bayes as nb
from thesiskit.models.integrals import (
    InverseGamma,
    PairIntegrals,
    log_discard_probability,
    pair_integrals,
)
from thesiskit.models.selection import WITHIN, LeftOut, Selection, select_features


def printed(class_counts, gamma_squared, count):
    """What the thesis says of features left out."""
    return LeftOut.of({WITHIN: count}, class_counts, gamma_squared)


def small(seed, n=(5, 6), p=8, tests=4):
    rng = np.random.default_rng(seed)
    drawn = draw_naive_bayes(rng, features=p, alpha=3.0, train=n, test=(tests, tests))
    return drawn.train.features, drawn.train.response, drawn.test.features, rng


@pytest.mark.parametrize(
    ("k", "correct"), only(product((1, 3, 8), (True, False)), (1, True), (3, False), (8, True))
)
def test_predictions_against_rational_arithmetic(correct, k):
    """Equations prior-psi-b, eq-unc-pp, eq-jfact, eq-alpha-int2, eq-alpha-int2-mod, eq-corfact."""
    X, y, new, rng = small(1)
    found = select_features(X, y, k, rng, ties="as-printed")
    settings_ = nb.NaiveBayes(class_prior=(2.0, 0.5), alpha_points=4)
    posterior = nb.fit(found, settings_, correct=correct)
    ours = nb.predict(posterior, new[:, found.selected])
    alpha = [Fraction(a) for a in posterior.alpha]
    discard = [
        reference.discard_by_enumeration(5, 6, found.gamma_squared, a) if correct else Fraction(1)
        for a in alpha
    ]
    for row, p in zip(new, ours, strict=True):
        exact = reference.predictive(
            X[:, found.selected],
            y,
            row[found.selected],
            alpha,
            (Fraction(2), Fraction(1, 2)),
            discard,
            found.n_dropped,
        )
        assert p == pytest.approx(float(exact), rel=1e-11)


def test_posterior_of_alpha_is_normalised_and_zero_where_nothing_was_dropped():
    X, y, _, rng = small(2)
    posterior = nb.fit(select_features(X, y, 8, rng), nb.NaiveBayes())
    assert (posterior.log_discard == 0).all()
    assert np.logaddexp.reduce(posterior.log_posterior) == pytest.approx(0, abs=1e-12)
    posterior = nb.fit(select_features(X, y, 2, rng), nb.NaiveBayes())
    assert (posterior.log_discard < 0).all()


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_swapping_classes_or_values_or_columns(seed):
    X, y, new, rng = small(seed, p=12)
    found = select_features(X, y, 4, rng, ties="as-printed")
    p = nb.predict(nb.fit(found, nb.NaiveBayes()), new[:, found.selected])
    assert ((p > 0) & (p < 1)).all()

    def again(ones, counts, rows):
        left_out = printed(counts, found.gamma_squared, 8)
        other = Selection(
            found.selected, found.gamma_squared, ones, counts, 12, 0, 0, None, left_out
        )
        return nb.predict(nb.fit(other, nb.NaiveBayes()), rows)

    n0, n1 = found.class_counts
    rows = new[:, found.selected]
    classes = again(found.ones[:, ::-1], (n1, n0), rows)
    np.testing.assert_allclose(classes, 1 - p, rtol=1e-9, atol=1e-12)
    values = again(np.array([n0, n1]) - found.ones, (n0, n1), 1 - rows)
    np.testing.assert_allclose(values, p, rtol=1e-9)
    order = rng.permutation(4)
    columns = again(found.ones[order], (n0, n1), rows[:, order])
    np.testing.assert_allclose(columns, p, rtol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_corrected_equals_uncorrected_when_nothing_is_dropped(seed):
    X, y, new, rng = small(seed)
    found = select_features(X, y, 8, rng)
    a, b = (
        nb.predict(nb.fit(found, nb.NaiveBayes(), correct=c), new[:, found.selected])
        for c in (True, False)
    )
    assert (a == b).all()


def test_correction_moves_alpha_up():
    X, y, _, rng = small(5, n=(30, 30), p=400)
    found = select_features(X, y, 5, rng)
    means = []
    for correct in (True, False):
        posterior = nb.fit(found, nb.NaiveBayes(), correct=correct)
        means.append(np.exp(posterior.log_posterior) @ np.log(posterior.alpha))
    assert means[0] > means[1] + 0.1


def test_nothing_kept_predicts_the_base_rate():
    """Equation predp-y."""
    X, y, new, rng = small(3)
    found = select_features(X, y, None, rng, threshold=1)
    p = nb.predict(nb.fit(found, nb.NaiveBayes()), new[:, found.selected])
    np.testing.assert_allclose(p, (1 + 6) / (2 + 11), rtol=1e-14)


def test_many_points_against_direct_integration():
    """Equation eq-alpha-int2-mod, with the prior prior-alpha-b."""
    X, y, new, rng = small(7, n=(10, 9), p=40)
    found = select_features(X, y, 3, rng, ties="as-printed")
    predicted = nb.predict(nb.fit(found, nb.NaiveBayes(alpha_points=4000)), new[:, found.selected])
    prior = InverseGamma(0.5, 5.0)

    def joint(t, label, row):
        alpha = np.array([np.exp(t)])
        kept = nb.FeatureCounts.of(found, True)
        log_marginal, mean, _ = pair_integrals(kept.pairs, kept.class_counts, alpha)
        total = prior.log_density(alpha)[0] + t + kept.copies @ log_marginal[:, 0]
        total += (
            found.n_dropped
            * log_discard_probability(*found.class_counts, found.gamma_squared, alpha)[0]
        )
        ones = kept.pairs[kept.group, label]
        p1 = (alpha[0] * mean[kept.group, 0] + ones) / (alpha[0] + found.class_counts[label])
        return np.exp(total + 30 + np.log(np.where(row == 1, p1, 1 - p1)).sum())

    for row, p in zip(new[:2, found.selected], predicted[:2], strict=True):
        parts = [
            integrate.quad(joint, -1, 25, args=(y_, row), limit=200, epsabs=0, epsrel=1e-10)[0]
            * (1 + found.class_counts[y_])
            for y_ in (0, 1)
        ]
        assert p == pytest.approx(parts[1] / sum(parts), abs=1e-5)


def test_more_points_settle_predictions():
    X, y, new, rng = small(8, n=(20, 20), p=100)
    found = select_features(X, y, 6, rng)
    rows = new[:, found.selected]
    target = nb.predict(nb.fit(found, nb.NaiveBayes(alpha_points=4000)), rows)
    errors = [
        np.abs(nb.predict(nb.fit(found, nb.NaiveBayes(alpha_points=K)), rows) - target).max()
        for K in (5, 30, 400)
    ]
    assert errors[2] < 1e-6
    assert errors[2] <= errors[1] <= errors[0]


@pytest.mark.parametrize("counts", [
    pytest.param((50_000, 50_000), marks=pytest.mark.slow), (100, 99_900),
    pytest.param((1, 99_999), marks=pytest.mark.slow), (500, 500),
])  # fmt: skip
def test_nothing_overflows_for_large_n_and_any_alpha(rng, counts):
    n0, n1 = counts
    alpha = np.array([1e-3, 1.0, 1e4, 1e8])
    pairs = np.stack([rng.integers(0, n0 + 1, 8), rng.integers(0, n1 + 1, 8)], axis=1)
    pairs[:4] = (0, 0), (n0, n1), (0, n1), (n0, 0)
    log_marginal, mean, _ = pair_integrals(pairs, counts, alpha)
    assert np.isfinite(log_marginal).all()
    assert ((mean > 0) & (mean < 1)).all()
    # swapping zeros and ones changes nothing
    mirrored, _, mirrored_mean = pair_integrals(np.array(counts) - pairs, counts, alpha)
    np.testing.assert_allclose(mirrored, log_marginal, rtol=1e-9)
    np.testing.assert_allclose(mirrored_mean, mean, rtol=1e-9)
    for gamma_squared in (Fraction(0), Fraction(1, 100)):
        value = log_discard_probability(n0, n1, gamma_squared, alpha[:2])
        assert np.isfinite(value).all()
        assert (value <= 0).all()
        swapped = log_discard_probability(n1, n0, gamma_squared, alpha[:2])
        np.testing.assert_allclose(value, swapped, rtol=1e-9)


def test_ten_million_dropped_features():
    ones = np.array([[20, 80], [40, 60]])
    found = Selection(np.arange(2), Fraction(1, 25), ones, (100, 100), 10_000_002, 1, 1, None)
    posterior = nb.fit(found, nb.NaiveBayes())
    assert np.isfinite(posterior.log_posterior.max())
    p = nb.predict(posterior, np.array([[1, 1], [0, 0]], dtype=np.uint8))
    assert ((p > 0) & (p < 1)).all()
    assert p[0] > 0.5 > p[1]


def test_certain_predictions_stay_below_one():
    ones = np.tile([[1, 99]], (300, 1))
    found = Selection(np.arange(300), Fraction(0), ones, (100, 100), 300, 1, 1, None)
    p = nb.predict(nb.fit(found, nb.NaiveBayes()), np.array([[1] * 300, [0] * 300], dtype=np.uint8))
    assert p[1] == 2.0**-53
    assert p[0] == 1 - 2.0**-53


DATA_SETS = 1000


def simulate_from_the_prior(replicates, correct):
    p, y = [], []
    for seed in range(replicates):
        rng = np.random.default_rng([7, seed])
        alpha = InverseGamma(0.5, 5.0).sample(rng)
        drawn = draw_naive_bayes(rng, features=60, alpha=alpha, train=(10, 10), test=1)
        found = select_features(drawn.train.features, drawn.train.response, 4, rng)
        posterior = nb.fit(found, nb.NaiveBayes(alpha_points=60), correct=correct)
        p.append(nb.predict(posterior, drawn.test.features[:, found.selected])[0])
        y.append(drawn.test.response[0])
    return np.array(p), np.array(y)


def test_corrected_predictions_are_calibrated_over_the_prior():
    """Equation eqn-cal."""
    assert_calibrated(*simulate_from_the_prior(DATA_SETS, True))


def test_and_the_test_would_notice_that_uncorrected_ones_are_not():
    with pytest.raises(AssertionError):
        assert_calibrated(*simulate_from_the_prior(DATA_SETS, False))


def test_and_a_wrong_sign_in_the_factor(monkeypatch):
    right = nb.log_factor
    monkeypatch.setattr(nb, "log_factor", lambda *a: [-one for one in right(*a)])
    with pytest.raises(AssertionError):
        assert_calibrated(*simulate_from_the_prior(DATA_SETS // 2, True))


def test_simulated_counts_have_the_distribution_of_the_model(rng):
    """Equations sample-x-b, prior-theta-b, prior-phi-b and pxj-b."""
    # P(I0, I1) of the generator against the marginal of the model: the two know nothing of each
    # other
    drawn = draw_naive_bayes(rng, features=200_000, alpha=2.0, train=(3, 2), test=(1, 1))
    ones = [drawn.train.features[drawn.train.response == c].sum(axis=0) for c in (0, 1)]
    observed = np.bincount(3 * ones[0] + ones[1], minlength=12)
    pairs = np.array([(i, j) for i in range(4) for j in range(3)])
    log_marginal = pair_integrals(pairs, (3, 2), np.array([2.0])).log_marginal
    expected = np.exp(log_marginal[:, 0])
    from statistical import assert_proportions

    assert_proportions(observed, expected)


def test_infinite_alpha_makes_features_useless(rng):
    drawn = draw_naive_bayes(rng, features=3000, alpha=np.inf, train=(200, 200), test=(1, 1))
    rate = [drawn.train.features[drawn.train.response == c].mean(axis=0) for c in (0, 1)]
    z = (rate[1] - rate[0]).mean() / (rate[1] - rate[0]).std() * np.sqrt(3000)
    assert abs(z) < 5
    assert abs(z_score(np.full(2, 0.5), drawn.test.response)) < 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"class_prior": (0.0, 1.0)}, r"class_prior\[0\] must be a positive number, got 0.0"),
        ({"alpha_prior": (-1.0, 5.0)}, r"alpha_prior\[0\] must be a positive number"),
        ({"alpha_prior": (0.5, float("nan"))}, r"alpha_prior\[1\] must be a positive"),
        ({"alpha_points": 0}, "alpha_points must be a whole number from 1"),
        ({"alpha_points": "3"}, "alpha_points must be a whole number from 1"),
        ({"alpha_points": float("nan")}, "alpha_points must be a whole number from 1"),
        ({"class_prior": (1.0,)}, "class_prior must be a pair"),
        ({"class_prior": ("a", 1.0)}, "must be a positive number, got 'a'"),
        ({"alpha_prior": 3.0}, "alpha_prior must be a pair"),
        ({"quadrature": "simpson"}, "unknown quadrature 'simpson'"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(UserError, match=words):
        nb.NaiveBayes(**options)


def test_bad_arguments_of_the_discard_probability():
    for arguments, words in [
        ((-1, 5, Fraction(1, 4), [1.0]), "class counts"),
        ((5, 5, Fraction(-1, 4), [1.0]), "gamma_squared must not be negative"),
        ((5, 5, Fraction(1, 4), [0.0]), "alpha must be positive"),
    ]:
        with pytest.raises(UserError, match=words):
            log_discard_probability(*arguments)
    assert log_discard_probability(5, 5, (1, 4), [1.0]) == log_discard_probability(
        5, 5, Fraction(1, 4), [1.0]
    )


def test_real_features_are_refused(rng):
    X, y = rng.normal(size=(20, 5)), np.repeat([0, 1], 10)
    with pytest.raises(UserError, match="binary features"):
        nb.fit(select_features(X, y, 2, rng), nb.NaiveBayes())


def test_prediction_refuses_other_tables():
    X, y, new, rng = small(4)
    posterior = nb.fit(select_features(X, y, 3, rng), nb.NaiveBayes())
    for features, words in [
        (new[:, :4], "3 features were selected, but got a table of shape"),
        (new[0, :3], "got a table of shape"),
        (new[:, :3] * 7, "features must be 0 or 1"),
        (new[:, :3] + np.inf, "infinite value"),
    ]:
        with pytest.raises(UserError, match=words):
            nb.predict(posterior, features)
    assert nb.predict(posterior, new[:0, :3]).shape == (0,)


def test_samples_are_predicted_alike_in_any_number(monkeypatch):
    X, y, new, rng = small(6, tests=20)
    found = select_features(X, y, 3, rng)
    posterior = nb.fit(found, nb.NaiveBayes())
    whole = nb.predict(posterior, new[:, found.selected])
    monkeypatch.setattr(nb, "SAMPLES", 7)
    np.testing.assert_allclose(nb.predict(posterior, new[:, found.selected]), whole, rtol=1e-13)


def test_simpson_stays_finite_for_large_n():
    ones = np.array([[10_000, 10_000], [5_000, 5_050]])
    found = Selection(np.arange(2), Fraction(0), ones, (10_000, 10_000), 2, 1, 1, np.zeros(2))
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    p = nb.predict(nb.fit(found, nb.NaiveBayes(quadrature="simpson-21")), rows)
    assert np.isfinite(p).all()
    mirrored = Selection(np.arange(2), Fraction(0), 10_000 - ones, (10_000, 10_000), 2, 1, 1, None)
    q = nb.predict(nb.fit(mirrored, nb.NaiveBayes(quadrature="simpson-21")), 1 - rows)
    np.testing.assert_allclose(p, q, rtol=1e-9)


def test_density_of_log_alpha_is_one_whatever_the_number_of_points():
    X, y, _, rng = small(9, n=(20, 20), p=100)
    found = select_features(X, y, 5, rng)
    curves = []
    for options in ({"alpha_points": 2000}, {"alpha_points": 1000}):
        posterior = nb.fit(found, nb.NaiveBayes(**options))
        t, density = np.log(posterior.alpha), np.exp(nb.log_alpha_density(posterior))
        assert np.trapezoid(density, t) == pytest.approx(1, abs=5e-3)
        curves.append((t, density))
    peak = curves[1][0][np.argmax(curves[1][1])]
    values = [np.interp(peak, t, density) for t, density in curves]
    assert values[0] == pytest.approx(values[1], rel=1e-2)


@pytest.mark.parametrize(
    ("quadrature", "remedy"),
    [("exact", "use another alpha_prior"), ("simpson-21", "use quadrature: exact")],
)
def test_a_posterior_of_nothing_names_a_remedy_that_is_one(quadrature, remedy, monkeypatch):
    X, y, _, rng = small(2)
    monkeypatch.setattr(
        nb, "pair_integrals",
        lambda pairs, counts, alpha, rule: PairIntegrals(
            *(np.full((len(pairs), len(alpha)), -np.inf),) * 3
        ),
    )  # fmt: skip
    with pytest.raises(ThesiskitError, match=f"posterior weight 0. Fix: {remedy}"):
        nb.fit(select_features(X, y, 8, rng), nb.NaiveBayes(quadrature=quadrature))
