"""Slow, obvious twins of the normal model: integrals by other rules, loops over points.

Nothing here imports the code it checks.
"""

from itertools import product

import numpy as np
from scipy import special, stats


def panels(low: float, high: float, width: float, nodes: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on panels of equal width."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    count = int(np.ceil((high - low) / width))
    edges = np.linspace(low, high, count + 1)
    half = (edges[1] - edges[0]) / 2
    middles = (edges[:-1] + edges[1:]) / 2
    return (middles[:, None] + half * x).reshape(-1), np.tile(half * w, count)


def effect_rule(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of T ~ Inverse-Gamma(c / 2, c / 2), and their weights in an integral."""
    log, weight = panels(-8.0, 120 / shape, 0.5)
    density = stats.invgamma.pdf(np.exp(log), shape / 2, scale=shape / 2) * np.exp(log)
    return np.exp(log), weight * density


def spreads(counts) -> np.ndarray:
    """Nonzero eigenvalues of diag(n) - n n' / N."""
    n = np.array(counts, dtype=float)
    return np.sort(np.linalg.eigvalsh(np.diag(n) - np.outer(n, n) / n.sum()))[1:]


def upper_tail(counts, f: float, effects: np.ndarray) -> np.ndarray:
    """P(F > f) for each rho_j, by Imhof's integral (1961) of the quadratic form.

    Q = sum c_i chi2_1 - q chi2_{N - G} > 0, with theta(u) = 1/2 sum h arctan(l u),
    r(u) = prod (1 + l^2 u^2)^(h / 4), P(Q > 0) = 1/2 + 1/pi int sin(theta) / (u r) du.
    """
    n = np.array(counts)
    rest = n.sum() - len(n)
    q = f * (len(n) - 1) / rest
    c = 1 + np.multiply.outer(effects, spreads(n))
    log_u, weight = panels(-60.0, 12.0, 0.5)
    # u in units of the chi-squared variables within classes: there r falls fastest
    u = np.exp(log_u) / q / 2
    theta = 0.5 * np.arctan(c[:, :, None] * u).sum(axis=1) - 0.5 * rest * np.arctan(q * u)
    log_r = 0.25 * np.log1p((c[:, :, None] * u) ** 2).sum(axis=1)
    log_r = log_r + 0.25 * rest * np.log1p((q * u) ** 2)
    return 0.5 + (np.sin(theta) * np.exp(-log_r)) @ weight / np.pi


def log_discard(counts, f: float, ratio: float, shape: float | None) -> float:
    """log P(F <= f): T by panels, F by the F distribution or Imhof's integral."""
    effects, weight = (np.ones(1), np.ones(1)) if shape is None else effect_rule(shape)
    n = np.array(counts)
    if len(n) == 2:
        scaled = f / (1 + ratio * effects * spreads(n)[0])
        above = weight @ stats.f.sf(scaled, 1, n.sum() - 2)
    else:
        above = weight @ upper_tail(n, f, ratio * effects)
    return float(np.log1p(-above))


# ---- one feature ----


def brute_density(values: list[np.ndarray], effect: float, a: float, b: float) -> float:
    """Marginal density of the values of a feature in each class, with density 1 of nu.

    The trapezoid rule over log w, over nu = mean + sqrt(w) x, and over mu_g = nu + sqrt(rho w) z.
    """
    middle = np.concatenate(values).mean()
    x, d_x = np.linspace(-30, 30, 301, retstep=True)
    z, d_z = np.linspace(-9, 9, 101, retstep=True)
    log_w, d_w = np.linspace(-7, 20, 181, retstep=True)
    total = 0.0
    for w in np.exp(log_w):
        nu = middle + np.sqrt(w) * x
        mu = nu[:, None] + np.sqrt(effect * w) * z
        inside = np.ones_like(nu)
        for mine in values:
            square = sum((one - mu) ** 2 for one in mine)
            density = np.exp(-square / 2 / w) * (2 * np.pi * w) ** (-len(mine) / 2)
            inside *= density @ stats.norm.pdf(z) * d_z
        prior = stats.invgamma.pdf(w, a / 2, scale=a * b / 2) * w
        total += d_w * d_x * np.sqrt(w) * prior * inside.sum()
    return total


def log_marginal(counts, means, within: float, effect: float, a: float, b: float) -> float:
    """Log marginal likelihood of a feature given rho_j, without what all rho_j share."""
    used = [(n, m) for n, m in zip(counts, means, strict=True) if n]
    r = [n / (1 + effect * n) for n, _ in used]
    middle = sum(one * m for one, (_, m) in zip(r, used, strict=True)) / sum(r)
    q = sum(one * (m - middle) ** 2 for one, (_, m) in zip(r, used, strict=True))
    samples = sum(counts)
    return (
        sum(0.5 * np.log(one / n) for one, (n, _) in zip(r, used, strict=True))
        - 0.5 * np.log(sum(r)) - (a + samples - 1) / 2 * np.log(a * b + within + q)
    )  # fmt: skip


def with_sample(counts, means, within: float, g: int, x: float):
    """Return counts, means and W with one more sample of class g."""
    counts, means = list(counts), list(means)
    n = counts[g]
    within += n / (n + 1) * (x - means[g]) ** 2
    means[g] = (n * means[g] + x) / (n + 1)
    counts[g] += 1
    return counts, means, within


# ---- the whole model ----


def predictions(
    features: list[tuple], left_out: list[tuple], threshold: float, samples: np.ndarray,
    class_weights: np.ndarray, ratios, pis, shapes, a: float, b: float,
    *, factor_ratio: float = 1.0, factor_pi: bool = True,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """P(class) of samples (T, k), (T, G), and the log posterior of the points, by loops.

    features : (counts, means, W) of each kept feature; left_out : (counts, how many).  A sample's
    density is a ratio of marginal likelihoods, with it and without it.
    factor_ratio, factor_pi : sabotage of the factor of what is left out: rho times a number, and
    without pi.
    """
    G = len(class_weights)
    points = list(product(shapes, ratios, pis))
    log = np.zeros((len(points), len(samples), G))
    prior = np.zeros(len(points))
    tails: dict = {}
    marginals: dict = {}

    def mean_marginal(key, data, shape, ratio):
        if (key, shape, ratio) not in marginals:
            effects, weight = (np.ones(1), np.ones(1)) if shape is None else effect_rule(shape)
            each = np.array([log_marginal(*data, ratio * t, a, b) for t in effects])
            marginals[key, shape, ratio] = np.log(weight @ np.exp(each - each.max())) + each.max()
        return marginals[key, shape, ratio]

    def mixed(key, data, shape, ratio, pi):
        none = mean_marginal(key, data, None, 0.0)
        with np.errstate(divide="ignore"):
            return np.logaddexp(
                np.log1p(-pi) + none, np.log(pi) + mean_marginal(key, data, shape, ratio)
            )

    for place, (shape, ratio, pi) in enumerate(points):
        for counts, copies in left_out:
            key = (tuple(counts), shape, ratio)
            if key not in tails:
                tails[key] = np.exp(log_discard(counts, threshold, ratio * factor_ratio, shape))
                tails[tuple(counts)] = np.exp(log_discard(counts, threshold, 0.0, None))
            none, relevant = tails[tuple(counts)], tails[key]
            chance = (1 - pi) * none + pi * relevant if factor_pi else relevant
            prior[place] += copies * np.log(chance)
        for j, data in enumerate(features):
            before = mixed((j,), data, shape, ratio, pi)
            prior[place] += before
            for i, g in product(range(len(samples)), range(G)):
                if not np.isnan(samples[i, j]):
                    after = with_sample(*data, g, samples[i, j])
                    log[place, i, g] += mixed((j, i, g), after, shape, ratio, pi) - before
    posterior = prior - special.logsumexp(prior)
    found = special.logsumexp(log + posterior[:, None, None], axis=0) + np.log(class_weights)
    return special.softmax(found, axis=1), posterior


def draw_normal(rng, *, features, ratio, pi, shape, variance, train):
    """Draw samples of each class, and a last one whose class is drawn too.

    train : how many samples of each class; other arguments as those of the model.  The centre of
    the class means is 0: the model takes it as anything at all.

    Return X (n + 1, p), y (n + 1,), and effect (p,): rho T of a relevant feature, and 0 of others.
    """

    def inverse_gammas(shape, rate):
        return rate / np.maximum(rng.gamma(shape, size=features), 1e-300)

    relevant = rng.random(features) < pi
    spread = 1.0 if shape is None else inverse_gammas(shape / 2, shape / 2)
    effect = np.where(relevant, ratio * spread, 0.0)
    a, b = variance
    within = inverse_gammas(a / 2, a * b / 2)
    mean = np.sqrt(effect * within) * rng.standard_normal((len(train), features))
    last = rng.multinomial(1, rng.dirichlet(np.array(train) + 1.0)).argmax()
    y = np.append(np.repeat(np.arange(len(train), dtype=np.uint8), train), np.uint8(last))
    X = mean[y] + np.sqrt(within) * rng.standard_normal((len(y), features), dtype=np.float32)
    return X, y, effect


def log_sums(logs, log_weight, factor: float) -> np.ndarray:
    """Return logs of sums of exp(factor logs + log_weight) over the first columns, row by row."""
    sums = []
    for row in logs:
        terms = [factor * x + w for x, w in zip(row, log_weight, strict=False)]
        sums.append(max(terms) + np.log(sum(np.exp(one - max(terms)) for one in terms)))
    return np.array(sums)


def along(curve, places) -> np.ndarray:
    """Return a cubic spline at places (F,); outside, by lines that never rise."""
    first, last = curve.x[[0, -1]]
    values = []
    for place in places:
        inside = min(max(place, first), last)
        values.append(curve(inside) + min(curve(inside, 1) * (place - inside), 0))
    return np.array(values)


# ---- real responses ----


def line_log_marginal(x, z, variance_of_slope, a: float, b: float):
    """Log marginal likelihood of values x (n,) on a line in z, with density 1 of its height.

    The slope is N(0, variance_of_slope w), of one variance or several.  Given w, x is normal with
    the covariance w V, V = I + variance z z'; the height and then w are integrated out.
    """
    n, v = len(x), np.asarray(variance_of_slope)
    share = v / (1 + v * (z @ z))  # V^-1 = I - share z z'
    ones = n - share * z.sum() ** 2
    squares = x @ x - share * (z @ x) ** 2 - (x.sum() - share * z.sum() * (z @ x)) ** 2 / ones
    power = (a + n - 1) / 2
    return (
        -0.5 * np.log1p(v * (z @ z)) - 0.5 * np.log(ones)
        - (n - 1) / 2 * np.log(2 * np.pi) + special.gammaln(power) - special.gammaln(a / 2)
        + a / 2 * np.log(a * b / 2) - power * np.log((a * b + squares) / 2)
    )  # fmt: skip


def brute_line(x, z, variance_of_slope: float, a: float, b: float) -> float:
    """Return the same by the trapezoid rule over log w, the height and the slope."""
    height, d_height = np.linspace(-25, 25, 401, retstep=True)
    steps, d_step = np.linspace(-9, 9, 121, retstep=True)
    log_w, d_w = np.linspace(-7, 16, 161, retstep=True)
    total = 0.0
    for w in np.exp(log_w):
        line = x.mean() + np.sqrt(w) * height
        slope = np.sqrt(variance_of_slope * w) * steps
        square = sum((one - line[:, None] - slope * t) ** 2 for one, t in zip(x, z, strict=True))
        density = np.exp(-square / 2 / w) * (2 * np.pi * w) ** (-len(x) / 2)
        inside = (density @ stats.norm.pdf(steps)).sum() * d_step * d_height * np.sqrt(w)
        total += d_w * inside * stats.invgamma.pdf(w, a / 2, scale=a * b / 2) * w
    return float(np.log(total))


def line_log_discard(n: int, f: float, ratio: float, shape: float | None) -> float:
    """Return log P(F <= f) of n values on a line, whose slope has the variance rho T n w / 2 S."""
    effects, weight = (np.ones(1), np.ones(1)) if shape is None else effect_rule(shape)
    return float(np.log1p(-(weight @ stats.f.sf(f / (1 + ratio * effects * n / 2), 1, n - 2))))


def line_densities(X, z, samples, responses, left_out, ratios, pis, shapes, a, b):
    """Return log p(y*) of samples (T, k), (T, responses), up to a constant, and log posteriors.

    X (n, k) : the kept features; z (n,) the standardised response; left_out : (n, F, copies).
    """
    n = len(z)
    points = list(product(shapes, ratios, pis))
    log = np.zeros((len(points), len(samples), len(responses)))
    prior = np.zeros(len(points))
    for j, x in enumerate(X.T):
        has = ~np.isnan(x)
        x, middle = x[has], z[has].mean()
        t = z[has] - middle
        S = (t**2).sum()

        def at(variances, extra, x=x, t=t, middle=middle):
            values = x if extra is None else np.append(x, extra[0])
            places = t if extra is None else np.append(t, extra[1] - middle)
            return np.exp(line_log_marginal(values, places, variances, a, b))

        for i, (shape, ratio, pi) in enumerate(points):
            effects, weight = (np.ones(1), np.ones(1)) if shape is None else effect_rule(shape)
            variances = ratio * effects * len(x) / 2 / S

            def mixed(extra=None, at=at, pi=pi, variances=variances, weight=weight):
                return (1 - pi) * at(0.0, extra) + pi * (weight @ at(variances, extra))

            before = mixed()
            prior[i] += np.log(before)
            for s, g in np.ndindex(log.shape[1:]):
                if not np.isnan(samples[s, j]):
                    log[i, s, g] += np.log(mixed((samples[s, j], responses[g])) / before)
    for i, (shape, ratio, pi) in enumerate(points):
        for size, f, copies in left_out:
            none, some = (
                np.exp(line_log_discard(size, f, rho, c))
                for rho, c in ((0.0, None), (ratio, shape))
            )
            prior[i] += copies * np.log((1 - pi) * none + pi * some)
    prior -= special.logsumexp(prior)
    log_density = special.logsumexp(log + prior[:, None, None], axis=0)
    scale = np.sqrt((n + 1) / (n - 1))
    return log_density + stats.t.logpdf(responses / scale, n - 1), prior


def draw_lines(rng, *, n, features, ratio, pi, shape, variance):
    """Draw n samples and a last one from the prior of lines; return X (n + 1, p) and y (n + 1,)."""
    y = rng.standard_normal(n + 1)
    spread = 1.0 if shape is None else shape / 2 / rng.gamma(shape / 2, size=features)
    effect = np.where(rng.random(features) < pi, ratio * spread, 0.0)
    a, b = variance
    within = a * b / 2 / rng.gamma(a / 2, size=features)
    t = (y - y[:-1].mean()) / y[:-1].std()
    slope = rng.standard_normal(features) * np.sqrt(effect / 2 * within)
    return slope * t[:, None] + np.sqrt(within) * rng.standard_normal((n + 1, features)), y, effect
