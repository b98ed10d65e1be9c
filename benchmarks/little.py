"""Predicted and observed errors where there is little or nothing to find: docs/evidence/little.csv.

    python benchmarks/little.py                     all tables, about twenty minutes
    python benchmarks/little.py noise few counts    some of them

Each row is a mean over drawn data sets with 1,000 new samples each; `difference` is the predicted
less the observed error, with its standard error.  docs/evidence/little.csv has the output.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np

from thesiskit.estimators import NormalClassifier, PoolClassifier

NEW = 1000  # samples that are predicted
NORMAL = "normal model"
HEAD = "data,samples,method,observed error,predicted error,difference,standard error,log loss"
Table = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Table]
Row = tuple[str, str, Callable, Draw, int, int]  # data, method, model, draw, samples, data sets


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


def noise() -> Iterator[Row]:
    """Yield what has nothing to find."""
    name = "noise, 500 features"
    for n in (12, 20, 40, 80, 160):
        draw = shifted(500, 0, 0)
        yield name, "pool", lambda: PoolClassifier(random_state=0), draw, n, 40
        yield name, NORMAL, lambda: NormalClassifier(20, random_state=0), draw, n, 40


def few() -> Iterator[Row]:
    """Yield tables of few features, and of few samples."""
    for p in (1, 2, 3):
        for n in (10, 20):
            for difference in (0.0, 1.0, 2.0):
                name = f"{p} feature{'s'[: p - 1]}, difference {difference:g} sd"
                draw = shifted(p, p, difference)
                yield name, NORMAL, lambda: NormalClassifier(None, random_state=0), draw, n, 60
    for n in (10, 20, 40):
        draw = shifted(500, 20, 1.0)
        name = "20 of 500, difference 1 sd"
        yield name, NORMAL, lambda: NormalClassifier(20, random_state=0), draw, n, 30
        yield name, "pool", lambda: PoolClassifier(random_state=0), draw, n, 30


def skewed() -> Iterator[Row]:
    """Yield counts and log-normal values, as they are and transformed."""
    for words, draw in (("counts", counts), ("log-normal values", log_normal)):
        for form in ("none", "log"):

            def normal(form: str = form) -> NormalClassifier:
                return NormalClassifier(20, transformation=form, random_state=0)

            def pool(form: str = form) -> PoolClassifier:
                return PoolClassifier(transformation=form, random_state=0)

            yield f"{words}, transform {form}", NORMAL, normal, draw, 60, 20
            yield f"{words}, transform {form}", "pool", pool, draw, 60, 20


def main() -> None:
    """Print the tables that are named, or all."""
    tables = {"noise": noise, "few": few, "counts": skewed}
    print(HEAD)
    for name in sys.argv[1:] or tables:
        for words, method, make, draw, n, data_sets in tables[name]():
            scores = score(make, draw, n, data_sets)
            differences = scores[:, 0] - scores[:, 1]
            error = differences.std(ddof=1) / np.sqrt(len(differences))
            predicted, observed, loss = scores.mean(axis=0)
            numbers = (observed, predicted, differences.mean(), error, loss)
            row = ",".join(f"{number:.3f}" for number in numbers)
            print(f'"{words}",{n},{method},{row}', flush=True)


if __name__ == "__main__":
    main()
