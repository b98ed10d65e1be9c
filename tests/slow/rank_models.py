"""Ranks of the parameters of each model: data from its prior, draws from its posterior."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from rank_tests import DRAWS, rank_last, spaced
from reference_normal import draw_normal
from scipy import special

from thesiskit.datasets.synthetic import draw_mixture, draw_naive_bayes
from thesiskit.defaults import PI, SIGMA_0, normal_grids
from thesiskit.models.base import PatternTraining, Training
from thesiskit.models.integrals import InverseGamma
from thesiskit.models.logistic import Logistic
from thesiskit.models.mixture import Mixture
from thesiskit.models.naive_bayes import NaiveBayes, relevant_given
from thesiskit.models.normal import Normal
from thesiskit.models.patterns import FeaturePatterns, SequencePatterns
from thesiskit.models.selection import Screened, select_by_f, select_features


def rank_truth(draws, truth, rng):
    """Return the rank of the true value of each quantity among its draws (L,)."""
    return {name: rank_last(np.append(each, truth[name]), rng) for name, each in draws.items()}


def select(X, y, rng, *, keep=None, screened=0, **options):
    """Return the columns of X in a table, all or so many best ones, and what is selected of it."""
    if not screened:
        return np.arange(X.shape[1]), select_features(X, y, keep, rng, **options)
    best = np.sort(select_features(X, y, screened, rng).selected)
    before = Screened(X.shape[1])
    return best, select_features(
        X[:, best], y, keep or screened, rng, prefiltered=before, **options
    )


# ---- naive Bayes ----


def naive_bayes(rng, *, correct, train, features=200, points=300, relevant="all", **selecting):
    """Rank log alpha; also log pi and the number of relevant features, where pi is drawn."""
    model, some = NaiveBayes(relevant=relevant, alpha_points=points, pi=PI), relevant == "some"
    alpha, pi = model.prior.sample(rng), rng.choice(PI) if some else None
    drawn = draw_naive_bayes(rng, features=features, alpha=alpha, train=train, test=1, pi=pi)
    X, y = drawn.train.features, drawn.train.response
    columns, selection = select(X, y, rng, **selecting)
    kept = columns[selection.selected]
    posterior = model.fit(Training(selection, y, lambda: X[:, kept], correct))
    draws, truth = draw_from_naive_bayes(posterior, DRAWS, rng), {"log alpha": np.log(alpha)}
    if some:
        truth |= {"log pi": np.log(pi), "relevant features": drawn.truth["relevant"][kept].sum()}
    return rank_truth({name: draws[name] for name in truth}, truth, rng)


def draw_from_naive_bayes(posterior, count, rng):
    """Return draws of log alpha and pi, and of how many kept features are relevant, (L,) each.

    Predictions are integrals, and need no draws.  Each point of alpha's grid stands for a cell, in
    which alpha is drawn from the prior.
    """
    drawn = rng.choice(posterior.log_joint.size, size=count, p=np.exp(posterior.log_joint.ravel()))
    point, j = np.divmod(drawn, len(posterior.pi))
    quantile = (point + rng.random(count)) / len(posterior.alpha)
    group = posterior.counts.group
    relevant = np.ones((count, len(group)), dtype=bool)
    if posterior.irrelevant is not None:
        chance = np.empty((count, len(posterior.counts.pairs)))
        for place in np.unique(j):
            chance[j == place] = relevant_given(posterior, point[j == place], place).T
        relevant = rng.random(relevant.shape) < chance[:, group]
    return {
        "log alpha": np.log(posterior.settings.prior.quantile(quantile)),
        "log pi": np.log(posterior.pi[j]),
        "relevant features": relevant.sum(axis=1),
    }


# ---- normal features ----


def normal(rng, *, correct, train, features=200, keep=10):
    """Rank log rho, log pi and the number of relevant features."""
    model = Normal()
    pis, ratios = normal_grids(features)
    pi, ratio = rng.choice(pis), rng.choice(ratios)
    shape = model.effect_shapes[rng.integers(len(model.effect_shapes))]
    X, y, effect = draw_normal(
        rng, features=features, ratio=ratio, pi=pi, shape=shape, variance=(10.0, 1.0), train=train
    )
    X, y = X[:-1], y[:-1]
    selection = select_by_f(X, y, keep, rng)
    kept = selection.selected
    posterior = model.fit(Training(selection, y, lambda: X[:, kept], correct))
    # points of the grids of rho, with c, and pi
    chance = np.exp(posterior.log_joint.reshape(-1))
    row, j = np.divmod(rng.choice(len(chance), DRAWS, p=chance / chance.sum()), len(posterior.pi))
    irrelevant = [
        posterior.irrelevance(np.array([r]), p)[:, 0] for r, p in zip(row, j, strict=True)
    ]
    draws = {
        "log rho": posterior.ratio[row % len(posterior.ratio)],
        "log pi": posterior.pi[j],
        "relevant features": (rng.random((DRAWS, keep)) >= irrelevant).sum(axis=1),
    }
    relevant = (effect[kept] > 0).sum()
    truth = {"log rho": ratio, "log pi": pi, "relevant features": relevant}
    return rank_truth(draws, truth, rng)


# ---- mixtures ----


def mixture(rng, *, correct, train, features, **selecting):
    """Rank what exchanging the components leaves alone.

    log alpha, log alpha_0, agreement (the larger of the number of samples whose label is their
    response, and whose is not), and the log odds of a sample given labels and both alphas.  A
    point of the grids stands for a cell, 1 / K of the prior: alphas are spread over it by the
    prior, and for the log odds, which are given points, the true ones go to the points of their
    cells.
    """
    model = Mixture(chains=1, iterations=496, burn_in=100, until=None)
    priors = [InverseGamma(*each) for each in (model.alpha_prior, model.response_alpha_prior)]
    drawn = draw_mixture(
        rng, features=features, alpha=priors[0].sample(rng),
        response=partial(priors[1].sample, rng), train=train, test=1,
    )  # fmt: skip
    X, y = drawn.train.features, drawn.train.response
    columns, selection = select(X, y, rng, **selecting)
    kept = columns[selection.selected]
    training = Training(selection, y, lambda: X[:, kept], correct, rng.spawn(1), jobs=1)
    posterior = model.fit(training)
    labels, point, *_ = posterior.flat
    target, chosen = posterior.target, spaced(len(labels))
    K = target.settings.alpha_points
    labels = np.concatenate([labels[chosen], drawn.truth["labels"][None]])
    alphas = zip(priors, (drawn.alpha, drawn.truth["alpha_0"]), strict=True)
    true = [special.gammaincc(prior.shape, prior.rate / alpha) for prior, alpha in alphas]
    quantile = np.concatenate([(point[chosen] + rng.random((len(chosen), 2))) / K, [true]])
    cell = np.minimum((quantile * K).astype(np.intp), K - 1)
    same = (labels == y).sum(axis=1)
    odds = [one[0, 1] - one[0, 0] for one in target.log_joint((labels, cell), X[:1, kept])]
    values = {
        "log alpha": quantile[:, 0],  # ranks are the same on any scale
        "log alpha_0": quantile[:, 1],
        "agreement": np.maximum(same, len(y) - same),
        "log odds": np.concatenate(odds),
    }
    return {name: rank_last(each, rng) for name, each in values.items()}


# ---- logistic models ----


class InUnits(Logistic):
    """The model with responses in their own units: the truth is drawn from its prior."""

    def scale(self, response):
        return 0.0, 1.0


def logistic(rng, *, train, shape, order, history=False, classes=2, real=False, **settings):
    """Rank log sigma_1 and P(last class) of a new sample; of real responses noise and function.

    shape : the number of states or features, and of the values of each.
    """
    width, values = shape
    model = InUnits(order=order, burn_in=200, chains=1, until=None, **settings)
    codes = rng.integers(0, values, (train + 1, width))
    truth, response = draw_responses(rng, codes, model, history, 0 if real else classes)
    symbols = [str(value) for value in range(values)]
    patterns = SequencePatterns(symbols)
    if not history:
        patterns = FeaturePatterns([f"x{j}" for j in range(width)], [symbols] * width)
    codes = codes.astype(patterns.dtype)
    find = partial(patterns.groups, codes[:-1], order, compress=model.compress, min_samples=1)
    training = PatternTraining(patterns, codes[:-1], response[:-1], 0 if real else classes, find)
    posterior = model.sample(training, rng.spawn(1), jobs=1).posterior(model, training)
    shared = training.groups.shared(codes[-1:])
    chosen = spaced(len(posterior.log_sigma))
    draws = {"log sigma_1": posterior.log_sigma[chosen, 1]}
    if real:
        draws["log noise"] = posterior.log_noise[chosen]
        draws["linear function"] = posterior.respond(shared, rng).linear[chosen, 0]
    else:
        draws["probability"] = [
            predict_by_draw(posterior, d, codes[-1:], rng, shared) for d in chosen
        ]
    return rank_truth(draws, truth, rng)


def predict_by_draw(posterior, d, codes, rng, shared):
    """Return P(last class) of a sample given draw d."""
    alone = replace(
        posterior,
        coefficient=posterior.coefficient[d : d + 1],
        log_sigma=posterior.log_sigma[d : d + 1],
    )
    return alone.predict(codes, rng, 1, shared)[0, -1]


def draw_responses(rng, codes, model, history, classes):
    """Return what responses of the model's prior are drawn with, and responses (n,).

    They are drawn again, with widths and coefficients, until all but the last are of two classes
    at least: to condition on that leaves the posterior given these as it is.
    """
    width = codes.shape[1]
    orders = range(model.order + 1)
    subsets = [
        [range(width - o, width)] if history else combinations(range(width), o) for o in orders
    ]
    patterns = [
        [np.unique(codes[:, list(columns)], axis=0, return_inverse=True)[1].reshape(-1)
         for columns in each]
        for each in subsets
    ]  # fmt: skip
    draw = rng.standard_cauchy if model.cauchy else rng.standard_normal
    while True:
        sigma = model.rates(model.order) / rng.gamma(model.sigma_shape, size=model.order + 1)
        sigma[0] = model.sigma_0 or SIGMA_0[model.prior]
        eta = np.zeros((len(codes), classes if classes > 2 else 1))
        for scale, each in zip(sigma, patterns, strict=True):
            for pattern in each:
                eta += scale * draw((pattern.max() + 1, eta.shape[1]))[pattern]
        truth = {"log sigma_1": np.log(sigma[1])}
        if not classes:
            noise = model.noise_rate / rng.gamma(model.noise_shape)
            truth |= {"log noise": np.log(noise), "linear function": eta[-1, 0]}
            return truth, eta[:, 0] + noise * rng.standard_normal(len(eta))
        eta = np.hstack([np.zeros((len(eta), 1)), eta]) if classes == 2 else eta
        probability = special.softmax(eta, axis=1)
        response = (rng.random((len(eta), 1)) >= probability.cumsum(axis=1)[:, :-1]).sum(axis=1)
        if np.ptp(response[:-1]):
            return truth | {"probability": probability[-1, -1]}, response
