"""Predicted and observed errors where there is little or nothing to find: the tables of evidence.

    python benchmarks/little.py                     all tables, about twenty minutes
    python benchmarks/little.py noise few counts    some of them

Each row is the mean over drawn data sets, with its standard error, of the predicted error less the
observed one on 1,000 new samples, and of the log loss.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np

from thesiskit.estimators import NormalClassifier, PoolClassifier

NEW = 1000  # samples that are predicted
Table = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Table]


def halves(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return classes of n training samples, half of each, and of NEW samples."""
    return np.concatenate([rng.permutation(np.arange(size) % 2) for size in (n, NEW)])


def shifted(p: int, relevant: int, difference: float) -> Draw:
    """Return what draws normal features, of which the first ones differ between the classes."""

    def draw(rng: np.random.Generator, n: int) -> Table:
        y = halves(rng, n)
        effect = np.where(np.arange(p) < relevant, difference, 0)
        return rng.normal(size=(len(y), p)) + np.outer(y, effect), y

    return draw


def counts(rng: np.random.Generator, n: int) -> Table:
    """Draw negative binomial counts of 500 genes with library sizes that vary fourfold."""
    y = halves(rng, n)
    level = rng.normal(3.5, 1.0, 500) + np.outer(y, np.where(np.arange(500) < 20, 1.0, 0))
    size = rng.uniform(np.log(0.5), np.log(2), len(y))[:, None]
    rate = rng.gamma(4, np.exp(level + size) / 4)
    return rng.poisson(rate).astype(float), y


def log_normal(rng: np.random.Generator, n: int) -> Table:
    """Draw 500 log-normal features, 20 of which differ between the classes."""
    X, y = shifted(500, 20, 0.8)(rng, n)
    return np.exp(1.5 * X), y


def score(make: Callable[[], object], draw: Draw, n: int, data_sets: int) -> np.ndarray:
    """Return predicted and observed errors and log losses of data sets, (data sets, 3)."""
    rows = []
    for seed in range(data_sets):
        X, y = draw(np.random.default_rng(1000 * n + seed), n)
        p = make().fit(X[:n], y[:n]).predict_proba(X[n:])  # type: ignore[attr-defined]
        own = np.clip(p[np.arange(NEW), y[n:]], 1e-15, 1)
        rows.append([1 - p.max(axis=1).mean(), (p.argmax(axis=1) != y[n:]).mean(),
                     -np.log(own).mean()])  # fmt: skip
    return np.array(rows)


def noise() -> Iterator[tuple[str, Callable, Draw, int, int]]:
    """Yield what has nothing to find."""
    for n in (12, 20, 40, 80, 160):
        draw = shifted(500, 0, 0)
        yield f"noise, n = {n}, pool", lambda: PoolClassifier(random_state=0), draw, n, 40
        yield f"noise, n = {n}, normal", lambda: NormalClassifier(20, random_state=0), draw, n, 40


def few() -> Iterator[tuple[str, Callable, Draw, int, int]]:
    """Yield tables of few features, and of few samples."""
    for p in (1, 2, 3):
        for n in (10, 20):
            for difference in (0.0, 1.0, 2.0):
                name = f"{p} features that differ by {difference:g}, n = {n}, normal"
                draw = shifted(p, p, difference)
                yield name, lambda: NormalClassifier(None, random_state=0), draw, n, 60
    for n in (10, 20, 40):
        draw = shifted(500, 20, 1.0)
        name = f"20 of 500 that differ by 1, n = {n}"
        yield f"{name}, normal", lambda: NormalClassifier(20, random_state=0), draw, n, 30
        yield f"{name}, pool", lambda: PoolClassifier(random_state=0), draw, n, 30


def skewed() -> Iterator[tuple[str, Callable, Draw, int, int]]:
    """Yield counts and log-normal values, as they are and transformed."""
    for words, draw in (("counts", counts), ("log-normal values", log_normal)):
        for form in ("none", "log"):

            def normal(form: str = form) -> NormalClassifier:
                return NormalClassifier(20, transformation=form, random_state=0)

            def pool(form: str = form) -> PoolClassifier:
                return PoolClassifier(transformation=form, random_state=0)

            yield f"{words}, n = 60, transform {form}, normal", normal, draw, 60, 20
            yield f"{words}, n = 60, transform {form}, pool", pool, draw, 60, 20


def main() -> None:
    """Print the tables that are named, or all."""
    tables = {"noise": noise, "few": few, "counts": skewed}
    print("table,predicted less observed,standard error,predicted,observed,log loss")
    for name in sys.argv[1:] or tables:
        for words, make, draw, n, data_sets in tables[name]():
            found = score(make, draw, n, data_sets)
            less = found[:, 0] - found[:, 1]
            error = less.std(ddof=1) / np.sqrt(len(less))
            predicted, observed, loss = found.mean(axis=0)
            print(f'"{words}",{less.mean():.3f},{error:.3f},{predicted:.3f},{observed:.3f},{loss:.3f}',
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
