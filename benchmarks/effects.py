"""Coverage of intervals of effects of selected features: raw, corrected, conditional likelihood.

    python benchmarks/effects.py                   all kinds of data: 20 minutes
    python benchmarks/effects.py --sets 20         fewer data sets of each kind

Two kinds of data sets: drawn from the models' own priors, and with fixed effects; 60 samples, 5,000
features, of which the 10 best are selected.  Writes results/studies/effects.csv, a row for each
selected feature and method, which benchmarks/evidence.py summarises.

Conditional likelihood is that of Zhong and Prentice (2008), "Bias-reduced estimators and confidence
intervals for odds ratios in genome-wide association studies", Biostatistics 9, 621-634: z, the log
odds ratio of a selected feature in standard errors, is normal with mean m, given |z| > c, where c
is the largest |z| of a dropped feature; of real features z is t, which is noncentral.  The estimate
has the largest conditional likelihood; the interval has all m for which z is not in the outer 2.5%
of its conditional distribution.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from thesiskit.defaults import ALPHA_PRIOR, PI, normal_grids
from thesiskit.models.effects import effects
from thesiskit.models.naive_bayes import NaiveBayes
from thesiskit.models.naive_bayes import fit as fit_bits
from thesiskit.models.normal import Normal
from thesiskit.models.normal import fit as fit_reals
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_by_f, select_features

N, P, K = 60, 5_000, 10
VARIANCE = 6.0, 1.0  # a and b
FOUND, EFFECT, ODDS = 20, 0.8, 1.7  # features with effects, and these: means, log odds ratios
Y = np.arange(N) % 2
ROOTS = np.sqrt(stats.chi2.ppf((np.arange(200) + 0.5) / 200, N - 2) / (N - 2))


# ---- data: tables and their true effects ----


def own_normal(rng: np.random.Generator, relevant: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table from the prior of the normal model."""
    pi_points, ratios = normal_grids(P)
    pi = rng.choice(pi_points) if relevant == "some" else 1.0
    c = rng.choice([3.0, 10.0, np.inf])
    scale = 1.0 if np.isinf(c) else c / rng.chisquare(c, P)
    ratio = rng.choice(ratios) * scale * (rng.random(P) < pi)
    a, b = VARIANCE
    w = a * b / rng.chisquare(a, P)
    means = rng.normal(size=(2, P)) * np.sqrt(ratio * w)
    X = means[Y] + rng.normal(size=(N, P)) * np.sqrt(w)
    return X, (means[1] - means[0]) / np.sqrt(w)


def own_bits(rng: np.random.Generator, relevant: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table from the prior of naive Bayes."""
    pi = rng.choice(PI) if relevant == "some" else 1.0
    shape, rate = ALPHA_PRIOR
    alpha, theta = rate / rng.gamma(shape), rng.random(P)
    phi = rng.beta(alpha * theta, alpha * (1 - theta), size=(2, P))
    phi = np.where(rng.random(P) < pi, np.clip(phi, 1e-300, 1 - 1e-16), theta)
    X = (rng.random((N, P)) < phi[Y]).astype(np.uint8)
    return X, special.logit(phi[1]) - special.logit(phi[0])


def fixed_normal(rng: np.random.Generator, found: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal features, some of whose means differ."""
    effect = EFFECT * (np.arange(P) < found)
    return rng.normal(size=(N, P)) + Y[:, None] * effect, effect


def fixed_bits(rng: np.random.Generator, found: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features of 0 and 1, some with odds ratios."""
    effect = ODDS * (np.arange(P) < found)
    middle = special.logit(rng.uniform(0.2, 0.8, P))
    phi = special.expit(middle + (Y[:, None] - 0.5) * effect)
    return (rng.random((N, P)) < phi).astype(np.uint8), effect


KINDS = {
    "own prior, all relevant: real": (own_normal, "all", "all"),
    "own prior, some relevant: real": (own_normal, "some", "some"),
    "own prior, all relevant: 0/1": (own_bits, "all", "all"),
    "own prior, some relevant: 0/1": (own_bits, "some", "some"),
    "20 of 5,000 differ: real": (fixed_normal, FOUND, "some"),
    "20 of 5,000 differ: 0/1": (fixed_bits, FOUND, "some"),
    "none differs: real": (fixed_normal, 0, "some"),
    "none differs: 0/1": (fixed_bits, 0, "some"),
}


# ---- intervals ----


def conditional(z: float, c: float, u: np.ndarray) -> tuple[float, float, float]:
    """Return the estimate of m and the ends of its interval, given |z| > c.

    u : values, equally probable, of the deviation that z is divided by.
    """
    sign, z = np.sign(z), abs(z)

    def log_outside(m: float) -> float:
        return special.logsumexp(special.log_ndtr([-c * u - m, m - c * u]))

    def loss(m: float) -> float:
        return log_outside(m) - special.logsumexp(np.log(u) - (z * u - m) ** 2 / 2)

    def log_above(m: float) -> float:
        return special.logsumexp(special.log_ndtr(m - z * u)) - log_outside(m)

    best = optimize.minimize_scalar(loss, bounds=(-1, 1.5 * z), method="bounded").x
    low, high = (
        optimize.brentq(lambda m, p=p: log_above(m) - np.log(p), -2 * z - 9, 2 * z + 9)
        for p in (0.025, 0.975)
    )
    ends = sorted([sign * low, sign * high])
    return sign * best, ends[0], ends[1]


def z_of_reals(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return t of all features, and the standard error of an effect."""
    return stats.ttest_ind(X[Y == 1], X[Y == 0]).statistic, np.sqrt(4 / N)


def z_of_bits(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z of all features, from log odds ratios, and their standard errors."""
    ones = np.stack([X[y == Y].sum(axis=0, dtype=float) for y in (0, 1)])
    cells = np.stack([ones, N / 2 - ones]) + 0.5
    error = np.sqrt((1 / cells).sum(axis=(0, 1)))
    ratio = np.log(cells[0, 1] * cells[1, 0] / cells[1, 1] / cells[0, 0])
    return ratio / error, error


def one_set(kind: str, seed: int) -> Iterator[dict[str, object]]:
    """Yield a row for each selected feature of a data set and each method."""
    draw, option, relevant = KINDS[kind]
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    X, truth = draw(rng, option)
    if X.dtype == np.uint8:
        selection = select_features(PackedFeatures.pack(X), Y, K, rng)
        fits = {
            c: fit_bits(selection, NaiveBayes(relevant=relevant), correct=c) for c in (True, False)
        }
        name, roots, (z, error) = "naive-bayes", np.ones(1), z_of_bits(X)
    else:
        selection = select_by_f(X, Y, K, rng)
        fits = {
            c: fit_reals(selection, Normal(relevant=relevant), correct=c) for c in (True, False)
        }
        name, roots, (z, error) = "normal", ROOTS, z_of_reals(X)
    corrected, uncorrected = (effects(name, fits[c])[:, 0] for c in (True, False))
    c = np.abs(np.delete(z, selection.selected)).max()
    error = np.broadcast_to(error, P)
    for j, with_, without in zip(selection.selected, corrected, uncorrected, strict=True):
        ends = conditional(z[j], min(c, 0.999999 * abs(z[j])), roots)
        found = {
            "raw": with_[:3],
            "corrected": with_[3:],
            "uncorrected": without[3:],
            "conditional likelihood": error[j] * np.array(ends),
        }
        for method, (value, low, high) in found.items():
            yield {
                "data": kind,
                "set": seed,
                "method": method,
                "covered": low <= truth[j] <= high,
                "length": high - low,
                "bias": np.sign(z[j]) * (value - truth[j]),
            }


def main() -> None:
    """Write results/studies/effects.csv."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    rows = [row for kind in KINDS for seed in range(options.sets) for row in one_set(kind, seed)]
    folder = options.results / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows)
    frame.to_csv(folder / "effects.csv", index=False)
    print(frame.groupby(["data", "method"], sort=False)[["covered", "length", "bias"]].mean())


if __name__ == "__main__":
    main()
