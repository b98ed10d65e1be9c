"""Predictive distributions of a real response: eleven tables, filtered halves, simulated data.

    python benchmarks/regression.py                      all: a quarter of an hour
    python benchmarks/regression.py tables filtered      some of them: tables, filtered, simulated

Reads the tables of the folder `regression` in THESISKIT_DATA_DIR, whose first column is the
response, and uses columns without missing values.  Writes results/studies/regression-NAME.csv, a
row for each method and fold, which benchmarks/evidence.py summarises.  Responses are in units of
the training samples' standard deviation.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from studies import Split

from thesiskit.estimators import NormalRegressor, PoolRegressor
from thesiskit.estimators.selecting import SelectingRegressor
from thesiskit.models import peers
from thesiskit.models.density import Density, guess

TABLES = Path(os.environ.get("THESISKIT_DATA_DIR", "")) / "regression"
FOLDS, HALVES, BEST, SEED = 5, 5, 50, 1
FILTERED = ("eye", "liver-alb", "liver-alt", "multidrug", "riboflavin")
THIRD_PARTY = ("ridge", "lasso", "pls", "random-forest", "bayesian-ridge")
LEVELS = (0.5, 0.8, 0.9)


Method = Callable[[Split], Density]


# ---- methods ----


def by_guess(split: Split) -> Density:
    """Predict without features: the Student t distribution of the training responses."""
    return Density.of_students(np.repeat(guess(split.y), len(split.new), axis=0))


def by_estimator(split: Split, model: SelectingRegressor) -> Density:
    """Predict by an estimator."""
    return model.fit(split.X, split.y).density(split.new)


def by_third_party(split: Split, name: str) -> Density:
    """Predict by a third-party method, with a distribution from its inner residuals."""
    task = peers.Task(peers.NUMBERS)
    return Density.of_students(peers.fit_predict(name, task, split.X, split.y, split.new, SEED))


def normal(kept: int | None, words: str, **options) -> dict[str, Method]:
    """Return the normal model with the correction and without, tempered and not."""
    models = {
        f"{label}{words}{ending}": NormalRegressor(
            kept, correct=correct, temperature=temperature, random_state=SEED, **options
        )
        for label, correct in (("corrected", True), ("uncorrected", False))
        for ending, temperature in (("", None), (", tempered", "residual"))
    }
    return {name: partial(by_estimator, model=model) for name, model in models.items()}


def others(*names: str) -> dict[str, Method]:
    """Return the pool, third-party methods, and predictions without features."""
    third_party = {name: partial(by_third_party, name=name) for name in names}
    pool = partial(by_estimator, model=PoolRegressor(random_state=SEED))
    return {"pool": pool, **third_party, "no features": by_guess}


# ---- scores ----


def scores(density: Density, split: Split) -> dict[str, float]:
    """Return means over the new samples.

    "squared error" and "predicted variance" belong to the mean of the distribution, "base" to that
    of the training responses; "inside 90%" is the coverage of the central 90% interval.
    """
    away = np.abs(2 * density.below(split.new_y) - 1)
    return {
        "samples": len(split.new_y),
        "squared error": np.mean((split.new_y - density.mean) ** 2),
        "predicted variance": np.mean(density.sd**2),
        "base": np.mean((split.new_y - split.y.mean()) ** 2),
        "loss": -density.log_density(split.new_y).mean(),
        "crps": density.crps(split.new_y).mean(),
        **{f"inside {level:.0%}": np.mean(away < level) for level in LEVELS},
    }


def compare(about: dict, split: Split, methods: dict[str, Method]) -> Iterator[dict]:
    """Yield the scores of each method, with responses in units of the training samples."""
    mean, sd = split.y.mean(), split.y.std(ddof=1)
    split = split._replace(y=(split.y - mean) / sd, new_y=(split.new_y - mean) / sd)
    for name, method in methods.items():
        yield about | {"method": name} | scores(method(split), split)


# ---- eleven tables ----


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (n, p) without missing values, and the response (n,), of a table."""
    frame = pd.read_csv(TABLES / f"{name}.csv.gz").select_dtypes("number").dropna(axis=1)
    return frame.iloc[:, 1:].to_numpy(float), frame.iloc[:, 0].to_numpy(float)


def tables() -> Iterator[dict]:
    """Eleven tables in five folds, with everything done again in each fold."""
    methods = normal(10, ", 10") | normal(BEST, f", {BEST}") | others(*THIRD_PARTY)
    for path in sorted(TABLES.glob("*.csv.gz")):
        name = path.name.partition(".")[0]
        X, y = read(name)
        folds = KFold(FOLDS, shuffle=True, random_state=SEED).split(X)
        for fold, (train, test) in enumerate(folds):
            split = Split(X[train], y[train], X[test], y[test])
            yield from compare({"data": name, "fold": fold}, split, methods)


def filtered() -> Iterator[dict]:
    """Halves of tables select 50 features; methods see only these, and predict the rest."""
    for name in FILTERED:
        X, y = read(name)
        X = X[:, np.ptp(X, axis=0) > 0]
        screened = {"screened": {"of": X.shape[1]}}
        methods = normal(None, "", **screened) | others("ridge", "lasso")
        for half in range(HALVES):
            rows = np.random.default_rng([SEED, half]).permutation(len(y))
            train, test = np.array_split(rows, 2)
            centred = X[train] - X[train].mean(axis=0)
            spread = np.maximum(np.linalg.norm(centred, axis=0), 1e-300)
            correlation = np.abs(centred.T @ (y[train] - y[train].mean())) / spread
            best = np.sort(np.argsort(-correlation, kind="stable")[:BEST])
            split = Split(X[np.ix_(train, best)], y[train], X[np.ix_(test, best)], y[test])
            yield from compare({"data": name, "fold": half}, split, methods)


# ---- simulated data ----


def draw(rng, relevant: int, of: int, effect: float, n: int, *, linear: bool, new=200) -> Split:
    """Draw independent features, and a response.

    The first features are `effect` times the response plus standard normal noise; or, where
    `linear`, the response is their sum plus noise, which has a share 1 - effect of its variance.
    """
    y, X = rng.standard_normal(n + new), rng.standard_normal((n + new, of))
    if linear:
        signal = X[:, :relevant].sum(axis=1) / np.sqrt(relevant)
        y = np.sqrt(effect) * signal + np.sqrt(1 - effect) * y
    else:
        X[:, :relevant] += effect * y[:, None]
    return Split(X[:n], y[:n], X[n:], y[n:])


SIMULATED = {  # arguments of `draw`, and how many data sets
    "0 of 5,000": ((0, 5000, 0.0, 100), False, 200),
    "5 of 2,000": ((5, 2000, 1.0, 60), False, 50),
    "40 of 3,000": ((40, 3000, 1.0, 60), False, 50),
    "300 of 3,000, weak": ((300, 3000, 0.4, 60), False, 50),
    "5 of 2,000, linear": ((5, 2000, 0.8, 60), True, 50),
    "40 of 3,000, linear": ((40, 3000, 0.8, 60), True, 50),
}
RIVALS = 5  # data sets that other methods than the normal model predict


def simulated() -> Iterator[dict]:
    """Simulated data, 10 features selected."""
    for number, (name, (arguments, linear, data_sets)) in enumerate(SIMULATED.items()):
        for seed in range(data_sets):
            split = draw(np.random.default_rng([number, seed]), *arguments, linear=linear)
            methods = normal(10, ", 10") | (others("ridge", "lasso") if seed < RIVALS else {})
            yield from compare({"data": name, "fold": seed}, split, methods)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    studies = {"tables": tables, "filtered": filtered, "simulated": simulated}
    parser.add_argument("studies", nargs="*", choices=[*studies, []], help="default: all")
    parser.add_argument("--results", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    target = arguments.results / "studies"
    target.mkdir(parents=True, exist_ok=True)
    for name in arguments.studies or studies:
        rows = []
        for row in studies[name]():
            rows.append(row)  # what is done is written, so that a long run can be looked at
            pd.DataFrame(rows).to_csv(target / f"regression-{name}.csv", index=False)


if __name__ == "__main__":
    main()
