"""Effects of selected features against draws from the posterior, closed forms, and coverage."""

import sys

import numpy as np
import pytest
from commands import ROOT
from scipy import special, stats

from thesiskit.errors import UserError
from thesiskit.models import naive_bayes, normal
from thesiskit.models.effects import effects
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_by_f, select_features

sys.path.insert(0, str(ROOT / "benchmarks"))
import effects as study  # the benchmark

DRAWS = 400_000
LEVELS = (0.025, 0.975)
GRID = {"ratio": (0.05, 0.5, 3.0), "pi": (0.1, 0.5), "variance": (6.0, 1.1)}


def agrees(found, draws, log_weight):
    """Whether mean and quantiles are those of weighted draws; no false alarm below 1e-5."""
    weight = special.softmax(log_weight)
    size = 1 / (weight**2).sum()
    assert size > 2_000
    mean = weight @ draws
    sd = np.sqrt(weight @ (draws - mean) ** 2)
    assert abs(found[0] - mean) < 5 * sd / np.sqrt(size)
    for level, value in zip(LEVELS, found[1:], strict=True):
        error = 5 * np.sqrt(level * (1 - level) / size)
        assert weight @ (draws < value - 1e-9) - error <= level
        assert weight @ (draws <= value + 1e-9) + error >= level


def prior_draws(rng, settings, weight):
    """Draw rho_j, w_j of a feature, its points of the grid with some weights (C, R, J)."""
    c, rho, pi = np.unravel_index(
        rng.choice(weight.size, DRAWS, p=(weight / weight.sum()).ravel()), weight.shape
    )
    shape = settings.shapes[c]
    finite = np.where(np.isinf(shape), 1.0, shape)
    scale = np.where(np.isinf(shape), 1.0, finite / rng.chisquare(finite))
    relevant = rng.random(DRAWS) < settings.pi_points[pi]
    a, b = settings.variance
    return np.array(settings.ratio)[rho] * scale * relevant, a * b / rng.chisquare(a, DRAWS)


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize("kind", [2, 3, "line"])
def test_effects_against_draws_from_the_prior(kind, correct):
    """Draws of all that is unknown, weighted by the likelihood of the values of one feature."""
    rng = np.random.default_rng(4)
    n = 12
    X = rng.normal(size=(n, 5))
    y = rng.normal(size=n) if kind == "line" else np.arange(n) % kind
    X[:, 0] += 1.2 * y
    settings = normal.Normal(**GRID)
    selection = select_by_f(X, y, 1, rng)
    posterior = normal.fit(selection, settings, correct=correct)
    shape = posterior.log_joint.shape
    weight = np.exp(normal._left_out(selection, settings, correct)[0]).reshape(shape)
    ratio, w = prior_draws(rng, settings, weight)
    x = X[:, selection.selected[0]]
    if kind == "line":
        t = (y - y.mean()) / y.std()
        beta = rng.normal(size=DRAWS) * np.sqrt(ratio * n / 2 * w / (t @ t))
        offset, draws = np.outer(beta, t), [beta / np.sqrt(w)]
    else:
        means = rng.normal(size=(DRAWS, kind)) * np.sqrt(ratio * w)[:, None]
        offset, size = means[:, y], means / np.sqrt(w)[:, None]
        rest = (size.sum(axis=1)[:, None] - size) / (kind - 1)
        draws = [size[:, 1] - size[:, 0]] if kind == 2 else list((size - rest).T)
    residual = x - offset
    squares = n * residual.var(axis=1)
    log_weight = -(n - 1) / 2 * np.log(w) - squares / (2 * w)
    found = effects("normal", posterior)[0]
    for row, one in zip(found, draws, strict=True):
        agrees(row[3:], one, log_weight)


@pytest.mark.parametrize("relevant", ["all", "some"])
@pytest.mark.parametrize("ones", [(1, 5), (0, 4), (6, 6)])
def test_odds_ratios_against_draws_from_the_prior(ones, relevant):
    rng = np.random.default_rng(3)
    n = (7, 8)
    column = np.concatenate([np.arange(m) < i for m, i in zip(n, ones, strict=True)])
    y = np.repeat([0, 1], n)
    selection = select_features(column[:, None].astype(int), y, 1, rng)
    settings = naive_bayes.NaiveBayes(relevant=relevant, pi=(0.2, 0.6))
    posterior = naive_bayes.fit(selection, settings)
    alpha, theta = rng.choice(posterior.alpha, DRAWS), rng.random(DRAWS)
    phi = rng.beta(alpha * theta, alpha * (1 - theta), size=(2, DRAWS))
    pi = rng.choice(settings.pi_points, DRAWS)
    phi = np.clip(np.where(rng.random(DRAWS) < pi, phi, theta), 1e-300, 1 - 1e-16)
    log_like = sum(stats.binom.logpmf(i, m, p) for i, m, p in zip(ones, n, phi, strict=True))
    ratio = special.logit(phi[1]) - special.logit(phi[0])
    found = effects("naive-bayes", posterior)[0, 0]
    agrees(found[3:], ratio, log_like)
    a, b, c, d = ones[1] + 0.5, n[1] - ones[1] + 0.5, ones[0] + 0.5, n[0] - ones[0] + 0.5
    middle, half = np.log(a * d / b / c), 1.959964 * np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    np.testing.assert_allclose(found[:3], [middle, middle - half, middle + half], rtol=1e-6)


def test_the_simplest_posterior_is_a_closed_form():
    """All features relevant, one rho, T_j = 1: a noncentral t distribution function."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [9, 14])
    X = rng.normal(size=(23, 6)) + np.outer(y, np.arange(6) / 2)
    a, b, rho = 6.0, 1.1, 0.4
    settings = normal.Normal(
        relevant="all", ratio=(rho,), pi=(1.0,), variance=(a, b), effect_shapes=(None,)
    )
    posterior = normal.fit(select_by_f(X, y, 6, rng), settings, correct=False)
    found = effects("normal", posterior)[:, 0]
    n, N = np.array([9, 14]), 23
    for j, column in enumerate(posterior.selection.selected):
        groups = [X[y == g, column] for g in (0, 1)]
        difference = groups[1].mean() - groups[0].mean()
        # the difference is known with variance 1/n_0 + 1/n_1 in units of w, before 2 rho
        known, prior = (1 / n).sum(), 2 * rho
        share = prior / (prior + known)
        W = sum(((group - group.mean()) ** 2).sum() for group in groups)
        S, freedom = a * b + W + difference**2 / (prior + known), a + N - 1
        D, sd = share * difference, np.sqrt(share * known)
        location = D * np.sqrt(freedom / S) / sd
        for level, value in zip(LEVELS, found[j, 4:], strict=True):
            # P(D u / sqrt S + sd Z <= x) = P(noncentral t of parameter x / sd >= location)
            p = stats.nct.sf(location, freedom, value / sd)
            assert p == pytest.approx(level, abs=2e-6)
        u = np.sqrt(2) * np.exp(special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2))
        assert found[j, 3] == pytest.approx(D * u / np.sqrt(S), rel=1e-6)
        test = stats.ttest_ind(groups[1], groups[0])
        interval = test.confidence_interval()
        s = np.sqrt(W / (N - 2))
        np.testing.assert_allclose(found[j, :3], np.array([difference, *interval]) / s, rtol=1e-9)


def test_missing_values_and_features_that_separate_the_classes():
    """Each feature has its own counts; without variation within classes raw ones are infinite."""
    rng = np.random.default_rng(6)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 4)) + y[:, None]
    X[:7, 0] = np.nan
    X[:, 1] = y
    found = effects("normal", normal.fit(select_by_f(X, y, 4, rng), normal.Normal()))
    assert np.isinf(found[0, 0, 0])  # the second column
    assert np.isfinite(found[:, :, 3:]).all()
    order = select_by_f(X, y, 4, rng).selected.tolist()
    alone = select_by_f(X[7:, :1], y[7:], 1, rng)
    raw = effects("normal", normal.fit(alone, normal.Normal()))[0, 0, :3]
    np.testing.assert_allclose(found[order.index(0), 0, :3], raw, rtol=1e-9)


def test_effects_do_not_depend_on_units_or_on_which_class_is_first():
    rng = np.random.default_rng(7)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 50)) + 1.5 * y[:, None] * (np.arange(50) < 2)
    first, other, turned = (
        effects("normal", normal.fit(select_by_f(A, b, 5, rng), normal.Normal()))
        for A, b in ((X, y), (1e5 * X, y), (X, 1 - y))
    )
    np.testing.assert_allclose(first, other, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(first, -turned[:, :, [0, 2, 1, 3, 5, 4]], rtol=1e-5, atol=1e-6)


def test_only_some_features_have_effects_if_so_many_are_asked_for():
    rng = np.random.default_rng(8)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 50))
    fits = {
        "normal": normal.fit(select_by_f(X, y, 6, rng), normal.Normal()),
        "naive-bayes": naive_bayes.fit(
            select_features(PackedFeatures.pack(X > 0), y, 6, rng), naive_bayes.NaiveBayes()
        ),
    }
    for kind, posterior in fits.items():
        some = effects(kind, posterior, 2)
        assert np.isnan(some[2:]).all()
        np.testing.assert_array_equal(some[:2], effects(kind, posterior)[:2])
        assert np.isnan(effects(kind, posterior, 0)).all()


@pytest.mark.parametrize("kind", ["pool", "mixture"])
def test_other_models_have_no_effects(kind):
    with pytest.raises(UserError, match=r"no effects of single features. Fix: use the normal"):
        effects(kind, None)


@pytest.mark.parametrize("kind", [
    "own prior, all relevant: real",
    pytest.param("own prior, all relevant: 0/1", marks=pytest.mark.slow),
])  # fmt: skip
def test_intervals_cover_effects_that_are_drawn_from_the_prior(kind, monkeypatch):
    """A small form of benchmarks/effects.py: 40 data sets with 5 of 300 features selected.

    Coverage is a mean over data sets; 95% less 4.5 standard errors is a false alarm below 1e-5.
    """
    monkeypatch.setattr(study, "P", 300)
    monkeypatch.setattr(study, "K", 5)
    monkeypatch.setattr(study, "conditional", lambda *_: (0, 0, 0))  # which takes time
    covered = {"raw": [], "corrected": []}
    for seed in range(40):
        rows = [*study.one_set(kind, seed)]
        for method, values in covered.items():
            values.append(np.mean([row["covered"] for row in rows if row["method"] == method]))
    means, errors = ({m: f(v) for m, v in covered.items()} for f in (np.mean, stats.sem))
    assert abs(means["corrected"] - 0.95) < 4.5 * errors["corrected"] + 0.01
    assert means["raw"] < 0.95 - 4.5 * errors["raw"]
