"""Simulation-based calibration: ranks, their bands, and what they catch."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from commands import arrays
from reference_mixture import label_posterior
from scipy import special, stats

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.datasets.synthetic import draw_mixture, draw_naive_bayes, draw_noise
from thesiskit.defaults import PI
from thesiskit.errors import ConfigError
from thesiskit.models import naive_bayes as nb
from thesiskit.models import ranks
from thesiskit.models.integrals import InverseGamma
from thesiskit.models.selection import select_features, squared_correlation
from thesiskit.report import ranks as rank_bands
from thesiskit.study.design import Design
from thesiskit.study.patterns import PatternDesign

# ---- bands ----


def passes(found, draws, level=0.99):
    low, high = rank_bands.ecdf_band(len(found), draws, level)
    reached = rank_bands.reached(found, draws)
    return bool(((low <= reached) & (reached <= high)).all())


@pytest.mark.parametrize(("n", "draws"), [(3, 2), (4, 3), (6, 1)])
def test_coverage_is_that_of_all_sets_of_ranks(n, draws):
    sets = np.array(list(product(range(draws + 1), repeat=n)))
    reached = np.array([rank_bands.reached(one, draws) for one in sets])
    share = np.arange(1, draws + 1) / (draws + 1)
    tails = 2 * np.minimum(
        stats.binom.cdf(reached, n, share), stats.binom.sf(reached - 1, n, share)
    )
    least = tails.min(axis=1)
    for gamma in (0.0, 0.05, 0.2, 0.5, 0.9, 2.5):
        expected = (least > gamma).mean()
        assert rank_bands.coverage(n, draws, gamma) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "draws"), [(20, 9), (300, 99), (2000, 39)])
def test_the_band_covers_simulated_ranks(rng, n, draws):
    low, high = rank_bands.ecdf_band(n, draws, 0.99)
    sets = 20_000
    counts = rng.multinomial(n, np.full(draws + 1, 1 / (draws + 1)), size=sets)
    reached = counts.cumsum(axis=1)[:, :draws]
    within = ((low <= reached) & (reached <= high)).all(axis=1).sum()
    assert 0.99 <= uniform_coverage(n, draws, low, high) < 0.9935  # counts come in steps
    assert stats.binomtest(int(within), sets, uniform_coverage(n, draws, low, high)).pvalue > 1e-5


def uniform_coverage(n, draws, low, high):
    """The probability that the band promises: that of the least gamma that makes it."""
    share = np.arange(1, draws + 1) / (draws + 1)
    inside = [2 * np.minimum(stats.binom.cdf(one, n, share), stats.binom.sf(one - 1, n, share))
              for one in (low, high)]  # fmt: skip
    inside = np.minimum(*inside)
    return rank_bands.coverage(n, draws, inside.min() * (1 - 1e-12))


def test_p_values_of_uniform_ranks_are_uniform_or_above(rng):
    p = np.array([rank_bands.ecdf_p_value(rng.integers(0, 20, 100), 19) for _ in range(2_000)])
    for level in (0.01, 0.1, 0.5):
        assert stats.binom.sf((p <= level).sum() - 1, len(p), level) > 1e-5
    assert (p <= 0.5).mean() > 0.4  # near to it


BIASED = {
    "shifted": lambda u: u**1.2,
    "too wide": lambda u: 0.5 + 0.85 * (u - 0.5),
    "too narrow": lambda u: stats.norm.cdf(1.25 * stats.norm.ppf(u)),
}


@pytest.mark.parametrize("name", BIASED)
def test_biased_ranks_leave_the_band(rng, name):
    u = rng.random(2_000)
    assert passes((100 * u).astype(int), 99)
    biased = np.minimum((100 * BIASED[name](u)).astype(int), 99)
    assert not passes(biased, 99)
    assert rank_bands.ecdf_p_value(biased, 99) < 1e-4
    assert rank_bands.histogram(biased, 99).p_value < 1e-4


def test_histograms_have_equal_bins():
    found = rank_bands.histogram(np.repeat(np.arange(100), 3), 99)
    assert found.counts.tolist() == [15] * 20
    assert found.p_value == 1
    low, high = found.band(0.99)
    assert stats.binom.cdf(high[0], 300, 0.05) - stats.binom.cdf(low[0] - 1, 300, 0.05) >= 0.99
    assert len(rank_bands.histogram(np.tile(np.arange(97), 2), 96).counts) == 20  # 97 is prime
    assert len(rank_bands.histogram(np.arange(30), 99).counts) == 5


# ---- counting ----


def test_ties_are_broken_at_random(rng):
    counts = [
        ranks.compare_last({"q": np.array([1.0, 2.0, 2.0, 3.0, 2.0])}, rng).counts["q"]
        for _ in range(3_000)
    ]
    assert set(counts) == {1, 2, 3}
    assert stats.chisquare(np.bincount(counts)[1:]).pvalue > 1e-5


def test_draws_are_spaced():
    assert ranks.spaced(40).tolist() == list(range(40))
    places = ranks.spaced(396)
    assert len(places) == 99
    assert (places[0], places[-1]) == (0, 395)
    assert np.ptp(np.diff(places)) <= 1


def test_arms_without_ranks_have_no_draws():
    one = ranks.of_arm([ranks.Ranks({"a": 3, "b": 5}, 9), ranks.Ranks({"a": 0, "b": 9}, 9)])
    found = ranks.of_arms([{}, one])
    assert found["rank_names"].tolist() == ["a", "b"]
    assert found["rank_draws"].tolist() == [0, 9]
    assert found["ranks"].tolist() == [[[-1, -1], [-1, -1]], [[3, 5], [0, 9]]]
    assert ranks.of_arms([ranks.of_arm([None])]) == {}


# ---- naive Bayes ----

N = (5, 7)
THETA, WEIGHT = special.roots_sh_legendre(60)


def log_given_theta(alpha, ones):
    """log P(these counts given alpha, theta), orderings aside, at the nodes of theta."""
    total = np.zeros(len(THETA))
    for i, n in zip(ones, N, strict=True):
        a, b = alpha * THETA, alpha * (1 - THETA)
        total += special.betaln(a + i, b + n - i) - special.betaln(a, b)
    return total


def marginal(alpha, ones):
    return WEIGHT @ np.exp(log_given_theta(alpha, ones))


@cache
def dropped(alpha, gamma_squared):
    """P(|COR| <= gamma) of a feature, over all counts."""
    return sum(
        special.comb(N[0], i) * special.comb(N[1], j) * marginal(alpha, (i, j))
        for i in range(N[0] + 1)
        for j in range(N[1] + 1)
        if squared_correlation(i, j, *N) <= gamma_squared
    )


def chance_below(selection, correct, true_alpha, prior=(0.5, 5.0)):
    """P(alpha < the true one), summed over 400 quantiles of its prior."""
    u = (np.arange(400) + 0.5) / 400
    alpha = stats.invgamma(prior[0], scale=prior[1]).ppf(u)
    log = np.zeros(400)
    for k, a in enumerate(alpha):
        log[k] = sum(np.log(marginal(a, one)) for one in selection.ones)
        if correct:
            log[k] += selection.n_dropped * np.log(dropped(a, selection.gamma_squared))
    weight = np.exp(log - log.max())
    cut = stats.invgamma(prior[0], scale=prior[1]).cdf(true_alpha) * 400
    return float(weight @ np.clip(cut - np.arange(400), 0, 1) / weight.sum())


NAIVE = {
    "experiment": "tiny",
    "title": "Tiny",
    "about": "Tiny.",
    "replicates": 30,
    "block": 15,
    "data": {"source": "naive-bayes", "features": 12, "alpha": "prior", "train": list(N),
             "test": 1},
    "evaluation": {"ranks": True},
    "selection": {"thresholds": [0.4]},
    "model": {"kind": "naive-bayes", "alpha_points": 400},
    "report": {"parts": ["rank-table"]},
}  # fmt: skip


def study(folder, config):
    """Run a study; return its config, and ranks (arms, data sets, Q) with their names."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(config))
    done = CliRunner().invoke(main, ["run", str(path), "--results", str(folder)])
    assert done.exit_code == 0, done.output
    blocks = [arrays(one) for one in sorted((folder / "tiny/predict").glob("*.npz"))]
    found = np.concatenate([one["ranks"] for one in blocks], axis=1)
    assert (folder / "tiny/tables/ranks.csv").exists()
    return load_config(path), found, blocks[0]


def assert_expected(found, chance, draws, worth=1.0):
    """Sums of ranks against the chances that a draw is below the truth."""
    found, chance = np.array(found), np.array(chance)
    variance = (draws * chance * (1 - chance) / worth + 1 / 12).sum()
    assert abs((found - draws * chance).sum()) < 4.5 * np.sqrt(variance)
    spread = draws * chance * (1 - chance) / worth + 0.5
    assert (np.abs(found - draws * chance) < 5.5 * np.sqrt(spread)).all()


def test_naive_ranks_are_those_of_the_posterior(tmp_path):
    config, found, first = study(tmp_path, NAIVE)
    assert first["rank_names"].tolist() == ["log alpha", "log odds"]
    assert first["rank_draws"].tolist() == [99, 99]
    design = Design(config, tmp_path)
    chances = {True: [], False: []}
    for replicate in range(30):
        drawn = design.drawn(replicate)
        selection = select_features(
            drawn.train.features, drawn.train.response, None, np.random.default_rng(0),
            threshold="0.4",
        )  # fmt: skip
        for correct, known in chances.items():
            known.append(chance_below(selection, correct, drawn.alpha))
    for arm, correct in enumerate((True, False)):
        assert_expected(found[arm, :, 0], chances[correct], 99)


def test_ranks_where_some_features_are_relevant(tmp_path):
    selection = {"features": [3], "screened": {"keep": 6}}
    config, found, first = study(tmp_path, NAIVE | {
        "data": NAIVE["data"] | {"relevant": "some"}, "model": {"relevant": "some"},
        "selection": selection, "replicates": 200, "block": 100,
    })  # fmt: skip
    names = ["log alpha", "log pi", "relevant features", "log odds"]
    assert first["rank_names"].tolist() == names
    for q in range(4):
        assert rank_bands.ecdf_p_value(found[0, :, q], 99) > 1e-4
    assert config.model.relevances == ["some"]


def test_naive_draws_have_the_posterior_of_alpha_and_theta(rng):
    drawn = draw_naive_bayes(rng, features=30, alpha=3.0, train=N, test=1)
    selection = select_features(
        drawn.train.features, drawn.train.response, 2, rng, ties="as-printed"
    )
    settings = nb.NaiveBayes(alpha_points=1000)
    posterior = nb.fit(selection, settings)
    draws = nb.sample(posterior, 4_000, rng)
    assert draws.theta.shape == (4_000, 2)
    below = np.array(
        [chance_below(selection, True, a) for a in np.quantile(draws.alpha, [0.1, 0.5, 0.9])]
    )
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=4.5 * 0.5 / np.sqrt(4_000))


@pytest.mark.parametrize("ones", [(0, 0), (5, 0), (2, 3)])
@pytest.mark.parametrize("alpha", [0.02, 2.0, 1e6])
def test_theta_has_its_density(rng, ones, alpha):
    """Equation pxj-b."""
    zeros = tuple(n - i for i, n in zip(ones, N, strict=True))
    theta = nb.draw_theta(np.full(4_000, alpha), ones, zeros, rng)
    grid = np.linspace(0, 1, 20_001)[1:-1]
    log = sum(np.log(special.poch(alpha * grid, i)) for i in ones)
    log = log + sum(np.log(special.poch(alpha * (1 - grid), i)) for i in zeros)
    cdf = np.cumsum(np.exp(log - log.max()))
    assert stats.kstest(theta, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > 1e-5


def test_naive_log_odds_by_hand(rng):
    drawn = draw_naive_bayes(rng, features=30, alpha=3.0, train=N, test=1)
    selection = select_features(drawn.train.features, drawn.train.response, 1, rng)
    posterior = nb.fit(selection, nb.NaiveBayes(class_prior=(2.0, 1.0)))
    i0, i1 = selection.ones[0]
    draws = nb.Draws(np.full(2, 2.0), np.ones(2), np.full((2, 1), 0.3), np.array([[True], [False]]))
    odds = nb.log_odds(posterior, draws, np.array([1]))
    base = (1 + 7) / (2 + 5)
    ratio = base * ((0.6 + i1) / (2 + 7)) / ((0.6 + i0) / (2 + 5))
    assert odds == pytest.approx(np.log([ratio, base]))


def naive_ranks(rng, *, n=(8, 8), p=40, some=False, selecting=(None, {"threshold": "0.5"}),
                correct=True, **settings):  # fmt: skip
    """p values that ranks of log alpha, and of log pi where it is drawn, are uniform."""
    found = {"alpha": [], "pi": []}
    model = nb.NaiveBayes(alpha_points=100, **settings)
    k, more = selecting
    for _ in range(400):
        true = {"alpha": InverseGamma(0.5, 5.0).sample(rng)}
        true |= {"pi": rng.choice(PI)} if some else {}
        drawn = draw_naive_bayes(
            rng, features=p, alpha=true["alpha"], train=n, test=1, pi=true.get("pi")
        )
        selection = select_features(drawn.train.features, drawn.train.response, k, rng, **more)
        draws = nb.sample(nb.fit(selection, model, correct=correct), 99, rng)
        for name, value in true.items():
            values = {name: np.append(getattr(draws, name), value)}
            found[name].append(ranks.compare_last(values, rng).counts[name])
    return {name: rank_bands.ecdf_p_value(np.array(one), 99) for name, one in found.items() if one}


def test_a_wrong_prior_or_likelihood_is_found(rng):
    assert naive_ranks(rng)["alpha"] > 1e-4
    assert naive_ranks(rng, alpha_prior=(3.0, 5.0))["alpha"] < 1e-6
    assert naive_ranks(rng, correct=False)["alpha"] < 1e-6


@pytest.mark.parametrize("n", [(3, 3), (5, 5)])
def test_ties_that_are_not_counted_are_found(rng, n):
    assert naive_ranks(rng, n=n, p=200, selecting=(5, {}))["alpha"] > 1e-4
    assert naive_ranks(rng, n=n, p=200, selecting=(5, {"ties": "as-printed"}))["alpha"] < 1e-6


def test_a_wrong_pi_is_found(rng):
    study = {"n": (20, 20), "p": 100, "some": True, "selecting": (5, {})}
    assert min(naive_ranks(rng, **study, relevant="some").values()) > 1e-4
    assert naive_ranks(rng, **study)["alpha"] < 1e-6
    wrong = naive_ranks(rng, **study, relevant="some", pi=(0.01, 0.1, 1.0))
    assert wrong["pi"] < 1e-6


# ---- mixtures ----


def test_mixture_ranks_are_those_of_the_posterior(tmp_path):
    points = 4
    config, found, first = study(
        tmp_path,
        NAIVE
        | {
            "replicates": 12,
            "data": {"source": "mixture", "features": 5, "alpha": "prior", "response": "prior",
                     "train": 5, "test": 1},
            "model": {"kind": "mixture", "alpha_prior": [2.0, 3.0],
                      "response_alpha_prior": [2.0, 3.0],
                      "collapsed": {"chains": 1, "iterations": 600, "burn_in": 105,
                                    "alpha_points": points}},
        },
    )  # fmt: skip
    assert first["rank_names"].tolist() == ["log alpha", "log alpha_0", "agreement", "log odds"]
    design = Design(config, tmp_path)
    prior = stats.invgamma(2.0, scale=3.0)
    grid = prior.ppf((np.arange(points) + 0.5) / points)
    for arm, correct in enumerate((True, False)):
        chances = []
        for replicate in range(12):
            drawn = design.drawn(replicate)
            X, y = drawn.train.features, drawn.train.response
            selection = select_features(X, y, None, np.random.default_rng(0), threshold="0.4")
            exact = label_posterior(
                X[:, selection.selected], y, [Fraction(a) for a in grid],
                [Fraction(a) for a in grid], (Fraction(1), Fraction(1)),
                selection.left_out if correct else None,
            )  # fmt: skip
            true = [prior.cdf(a) * points for a in (drawn.alpha, drawn.truth["alpha_0"])]
            row = [
                sum(p * np.clip(cut - i, 0, 1) for i, p in enumerate(exact[name]))
                for name, cut in zip(("alpha", "alpha0"), true, strict=True)
            ]
            same = int((drawn.truth["labels"] == y).sum())
            truth, agreement = max(same, 5 - same), np.zeros(6)
            for z, p in exact["labels"].items():
                agreement[max((z == y).sum(), (z != y).sum())] += p
            row.append(agreement[:truth].sum() + agreement[truth] / 2)
            chances.append(row)
        chances = np.array(chances)
        for q in range(2):
            assert_expected(found[arm, :, q], chances[:, q], 99, worth=0.5)
        # most ties, whose ranks are spread over them
        gap = found[arm, :, 2] / 99 - chances[:, 2]
        assert abs(gap.mean()) < 4.5 * 0.35 / np.sqrt(12)


def test_alpha_0_is_drawn_again_with_the_responses(rng):
    def drawn():
        return draw_mixture(
            rng, features=1, alpha=1.0, response=lambda: rng.choice([0.05, 50.0]), train=2, test=1
        )

    # of two cases, one of each class: (1 + 2 a / (a + 1)) / 9, by hand
    chance = [1 + 2 * a / (a + 1) for a in (0.05, 50.0)]
    large = sum(drawn().truth["alpha_0"] == 50 for _ in range(2_000))
    assert stats.binomtest(large, 2_000, chance[1] / sum(chance)).pvalue > 1e-5


# ---- logistic models ----

TINY = {
    "experiment": "tiny",
    "title": "Tiny",
    "about": "Tiny.",
    "replicates": 6,
    "evaluation": {"ranks": True},
    "report": {"parts": ["rank-table"]},
}
CHAIN = {"iterations": 4160, "burn_in": 200, "thin": 40, "sigma_0": 2.0, "sigma_shape": 1.0}
SHORT = {"iterations": 1190, "thin": 10}
SEQUENCES = {"source": "logistic", "states": 2, "history": 1, "train": 8, "test": 1}
FEATURES = {"source": "interactions", "features": 1, "values": 2, "sigma": "prior", "train": 8,
            "test": 1}  # fmt: skip


def weighted(rng, model, cases, draws=100_000):
    """Draw from the prior of an order-1 model of classes: log sigma_1, log P(class), weights.

    log P (draws, K) is of the test case, whose pattern of order 1 may be new.
    """
    classes = len(cases.classes)
    cauchy, sets = model.priors[0] == "cauchy", 1 if classes == 2 else classes
    sigma = (model.sigma_shape + 1) * model.sigma_mode / rng.gamma(model.sigma_shape, size=draws)
    sample = rng.standard_cauchy if cauchy else rng.standard_normal
    f = model.sigma_0 * sample((draws, sets, 1)) + sigma[:, None, None] * sample((draws, sets, 2))
    if sets == 1:
        f = np.concatenate([np.zeros((draws, 1, 2)), f], axis=1)
    f = f - special.logsumexp(f, axis=1, keepdims=True)
    counts = np.zeros((classes, 2))
    np.add.at(counts, (cases.train_response, cases.train[:, -1]), 1)
    log = np.einsum("dkx,kx->d", f, counts)
    return np.log(sigma), f[:, :, cases.test[0, -1]], np.exp(log - log.max())


def weighted_real(rng, model, cases, draws=40_000):
    """The same of real responses: log sigma_1, log noise, f, weights.

    A Cauchy coefficient is a normal one whose variance is one over a chi-squared variable: given
    these and the noise, coefficients are integrated out.
    """
    y = cases.train_response
    sigma = (model.sigma_shape + 1) * model.sigma_mode / rng.gamma(model.sigma_shape, size=draws)
    noise = (model.noise_shape + 1) * model.noise_mode / rng.gamma(model.noise_shape, size=draws)
    width = np.stack([np.full(draws, model.sigma_0), sigma, sigma], axis=1)
    variance = width**2 / rng.chisquare(1, (draws, 3))
    x = np.concatenate([cases.train[:, 0], cases.test[:1, 0]])
    A = np.stack([np.ones(len(x)), x == 0, x == 1], axis=1)
    cov = np.einsum("ij,dj,kj->dik", A, variance, A)
    own, cross, test = cov[:, :-1, :-1], cov[:, :-1, -1], cov[:, -1, -1]
    own = own + noise[:, None, None] ** 2 * np.eye(len(y))
    solved = np.linalg.solve(own, np.stack([np.broadcast_to(y, (draws, len(y))), cross], axis=2))
    log = -(solved[:, :, 0] @ y) / 2 - np.linalg.slogdet(own)[1] / 2
    mean = np.einsum("di,di->d", cross, solved[:, :, 0])
    left = np.maximum(test - np.einsum("di,di->d", cross, solved[:, :, 1]), 0)
    f = mean + np.sqrt(left) * rng.standard_normal(draws)
    return np.log(sigma), np.log(noise), f, np.exp(log - log.max())


@pytest.mark.parametrize(
    ("data", "model"),
    [
        (SEQUENCES | {"classes": 2}, {"priors": ["cauchy"], "compress": [True, False]}),
        (FEATURES | {"classes": 3}, {"priors": ["cauchy"], "compress": [True, False]}),
        (FEATURES, {"priors": ["gaussian"]} | SHORT),
        (FEATURES, {"response": "gaussian", "standardise": False, "noise_shape": 6.0,
                    "compress": [True, False]}),
    ],
    ids=["sequences", "features", "gaussian", "responses"],
)  # fmt: skip
def test_logistic_ranks_are_those_of_the_posterior(tmp_path, rng, data, model):
    model = {"kind": "logistic", "orders": [1]} | CHAIN | model
    config, found, first = study(tmp_path, TINY | {"data": data, "model": model})
    assert (first["rank_draws"] == 99).all()
    design = PatternDesign(config, tmp_path)
    chances = []
    for replicate in range(6):
        cases = design.cases(replicate)
        true = [cases.truth["log_sigma"][1]]
        if "response" in model:
            *values, weight = weighted_real(rng, design.model, cases)
            true += [cases.truth["log_noise"], cases.truth["linear"][8]]
        else:
            log_sigma, f, weight = weighted(rng, design.model, cases)
            values = [log_sigma, f[:, -1]]
            true.append(np.log(cases.truth["probability"][8, -1]))
        assert weight.sum() ** 2 / np.square(weight).sum() > 500
        signs = np.sign(np.array(true) - np.transpose(values))
        chances.append(0.5 + weight @ signs / weight.sum() / 2)
    names = ["log sigma_1", "predictive probability"]
    if "response" in model:
        names = ["log sigma_1", "log noise", "linear function"]
    assert first["rank_names"].tolist() == names
    for arm in found:
        for q in range(len(names)):
            assert_expected(arm[:, q], np.array(chances)[:, q], 99, worth=0.4)


# ---- data from the prior ----


def test_features_are_drawn_from_the_model(tmp_path):
    model = {"kind": "logistic", "orders": [1], "sigma_shape": 2.0, "sigma_mode": 0.3,
             "response": "gaussian", "standardise": False, "noise_shape": 3.0}  # fmt: skip
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(TINY | {"replicates": 800, "data": FEATURES, "model": model}))
    design = PatternDesign(load_config(path), tmp_path)
    truth = [design.cases(replicate).truth for replicate in range(800)]
    sigma = np.exp([one["log_sigma"] for one in truth])
    np.testing.assert_allclose(sigma[:, 0], 5)
    assert stats.kstest(sigma[:, 1], stats.invgamma(2.0, scale=3 * 0.3).cdf).pvalue > 1e-5
    noise = np.exp([one["log_noise"] for one in truth])
    assert stats.kstest(noise, stats.invgamma(3.0, scale=4 * 0.5).cdf).pvalue > 1e-5


def test_noise_has_its_mode(rng):
    values = np.array([draw_noise(rng, 5.0, 2.0) for _ in range(4_000)])
    assert stats.kstest(values, stats.invgamma(5.0, scale=12.0).cdf).pvalue > 1e-5


# ---- mistakes ----

LOGISTIC = {"kind": "logistic", "orders": [1]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": NAIVE["data"] | {"alpha": 3.0}}, "data.alpha: prior"),
        ({"evaluation": {"ranks": True, "feature_groups": 2}}, "evaluation.feature_groups: 1"),
        ({"data": NAIVE["data"] | {"relevant": 0.5}}, "data.relevant: all or some"),
        ({"data": NAIVE["data"] | {"relevant": "some"}}, "needs model.relevant: [some]"),
        ({"model": {"relevant": ["all", "some"]}}, "needs model.relevant: [all]"),
        ({"model": {"kind": "mixture"}}, "needs data.source: mixture"),
        ({"data": {"source": "mixture", "features": 5, "alpha": "prior", "response": "prior",
                   "train": [5, 5], "test": 1}, "model": {"kind": "mixture"}}, "as one number"),
        ({"data": FEATURES | {"sigma": [1.0, 1.0]}, "model": LOGISTIC, "selection": None,
          "block": 1}, "data.sigma: prior"),
        ({"data": FEATURES, "model": LOGISTIC | {"response": "gaussian"}, "selection": None,
          "block": 1}, "needs model.standardise: false"),
        ({"data": FEATURES, "model": LOGISTIC | {"min_cases": 2}, "selection": None, "block": 1},
         "leave out model.min_cases"),
        ({"data": FEATURES | {"prior": "cauchy"}, "model": LOGISTIC, "selection": None,
          "block": 1}, "comes from the model"),
        ({"data": FEATURES, "model": LOGISTIC | {"standardise": False}, "selection": None,
          "block": 1}, "standardise is for real responses"),
        ({"data": FEATURES, "model": LOGISTIC | {"orders": [0]}, "selection": None, "block": 1},
         "needs an order above 0"),
        ({"evaluation": {}}, "rank-table needs evaluation.ranks: true"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path, changes, words):
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(NAIVE | changes))
    try:
        load_config(path)
    except ConfigError as error:
        text = str(error)
    else:
        done = CliRunner().invoke(main, ["run", str(path), "--results", str(tmp_path)])
        assert done.exit_code == 2
        text = done.output
    assert words in " ".join(text.split()), text
