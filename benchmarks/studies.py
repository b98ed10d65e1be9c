"""How methods predict, and how well they know it: signals, published tables, pairs of loci.

    python benchmarks/studies.py                       all studies: hours
    python benchmarks/studies.py signals screened      some of them: signals, screened, tables,
                                                       tables-screened, pairs

Writes results/studies/NAME.csv, which benchmarks/evidence.py summarises: means over the test
samples of each data set and method; of published tables a row for each method and test sample.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from centroids import NearestCentroids
from scipy import optimize, special
from sklearn.model_selection import StratifiedKFold

from thesiskit.datasets.published import TABLES, MicroarrayData
from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.estimators import (
    MedianBinarizer,
    NaiveBayesClassifier,
    NormalClassifier,
    PoolClassifier,
)
from thesiskit.models import peers
from thesiskit.models.selection import select_by_f, select_features

peers.PEERS["nearest-centroids"] = NearestCentroids()
BITS = ("bernoulli-nb", "bernoulli-nb-calibrated")
REALS = ("gaussian-nb", "nearest-centroids", "lasso", "random-forest")


class Split(NamedTuple):
    """Features and classes of training samples, and of samples to predict."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    new_y: np.ndarray


def by_third_party(name: str, split: Split, kept: int, seed: int) -> np.ndarray:
    """Return P(class) of the new samples by a third-party method, (T, classes)."""
    classes = int(split.y.max()) + 1
    kind = peers.BITS if name in BITS else peers.REALS
    task = peers.Task(kind, classes, kept)
    peers.load(name, kind)
    return peers.fit_predict(name, task, split.X, split.y, split.new, seed)


def cross_validated(name: str, split: Split, kept: int, seed: int) -> float:
    """Return the error rate of a third-party method in ten folds of the training samples.

    There are as many folds as the smallest class has samples, if these are fewer; NaN for one.
    """
    n_folds = min(10, int(np.bincount(split.y).min()))
    if n_folds < 2:
        return np.nan
    errors = 0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(split.X, split.y):
        part = Split(split.X[train], split.y[train], split.X[test], split.y[test])
        p = by_third_party(name, part, kept, seed)
        errors += int((p.argmax(axis=1) != split.y[test]).sum())
    return errors / len(split.y)


def rows_of(about: dict, p: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return a row for each new sample: its error, predicted error, log loss and P(class)."""
    right = p[np.arange(len(y)), y]
    return pd.DataFrame(
        about
        | {f"p{k}": p[:, k] for k in range(p.shape[1])}
        | {
            "class": y,
            "error": p.argmax(axis=1) != y,
            "predicted": 1 - p.max(axis=1),
            "loss": -np.log(np.maximum(right, 1e-15)),
        }
    )


def compare(
    about: dict, split: Split, methods: dict, third_party: tuple[str, ...], kept: int, *,
    folds: bool = False,
) -> Iterator[pd.DataFrame]:  # fmt: skip
    """Yield the rows of each method; of tables that others filtered, by cross-validation too.

    methods : estimators by name; those of naive Bayes have features cut at training medians.
    """
    bits = split
    if not np.isin(split.X, (0, 1)).all():
        cut = MedianBinarizer().fit(split.X)
        bits = split._replace(X=cut.transform(split.X), new=cut.transform(split.new))
    for name, model in methods.items():
        table = bits if isinstance(model, NaiveBayesClassifier) else split
        p = model.fit(table.X, table.y).predict_proba(table.new)
        yield rows_of(about | {"method": name, "cross-validated": np.nan}, p, split.new_y)
    for name in third_party:
        table = bits if name in BITS else split
        error = cross_validated(name, table, kept, 1) if folds else np.nan
        words = peers.PEERS[name].words
        p = by_third_party(name, table, kept, 1)
        yield rows_of(about | {"method": words, "cross-validated": error}, p, split.new_y)


# ---- signals: normal features, some of them relevant ----


def draw_signals(rng, *, relevant: int, of: int, effect: float, train: int, test: int) -> Split:
    """Draw normal features; the first ones differ between two classes by `effect`."""
    parts = []
    for count in (train, test):
        y = np.arange(count) % 2
        X = rng.standard_normal((count, of))
        X[:, :relevant] += effect * y[:, None]
        parts += [X, y]
    return Split(*parts)


SIGNALS = (
    {"relevant": 5, "of": 2000, "effect": 1.5, "train": 60},
    {"relevant": 40, "of": 3000, "effect": 1.5, "train": 60},
    {"relevant": 300, "of": 3000, "effect": 0.5, "train": 60},
    {"relevant": 0, "of": 3000, "effect": 0.0, "train": 60},
)


def words_of(setting: dict) -> str:
    """Return what data are drawn with, in words."""
    effect = f", effect {setting['effect']:g}" if setting["relevant"] else ""
    of = f"{setting['relevant']:,} of {setting['of']:,} relevant"
    return f"{of}{effect}, n = {setting['train']:,}"


def naive_bayes(kept: int | None, **options) -> dict:
    """Return naive Bayes with the correction and without, as the models of the thesis and ours."""
    return {
        "uncorrected": NaiveBayesClassifier(kept, correct=False, relevant="all", **options),
        "corrected": NaiveBayesClassifier(kept, relevant="all", **options),
        "corrected, some relevant": NaiveBayesClassifier(kept, **options),
    }


def signals() -> Iterator[pd.DataFrame]:
    """Few, many and no relevant features, and data of the thesis's model; ten features kept."""
    third_party = (*BITS, "l2-logistic", "lasso")
    for number in range(100):
        rng = np.random.default_rng(number)
        samples = {words_of(one): draw_signals(rng, **one, test=2000) for one in SIGNALS}
        thesis = draw_naive_bayes(
            rng, features=3000, alpha=300, train=(100, 100), test=(1000, 1000)
        )
        samples["the thesis's model, alpha 300, n = 200"] = Split(
            thesis.train.features, thesis.train.response, thesis.test.features,
            thesis.test.response,
        )  # fmt: skip
        for data, split in samples.items():
            methods = naive_bayes(10)
            methods["normal features, corrected"] = NormalClassifier(10, temperature=None)
            about = {"data": data, "set": number, "kept": 10}
            yield from compare(about, split, methods, third_party, 10)


def screened() -> Iterator[pd.DataFrame]:
    """Tables of which somebody kept the best 50 of 10,000 features; all are tested on others."""
    third_party = (*BITS, "l2-logistic")
    for number in range(20):
        for relevant, effect in ((0, 0.0), (20, 1.0)):
            rng = np.random.default_rng([number, relevant])
            setting = {"relevant": relevant, "of": 10_000, "effect": effect, "train": 100}
            split = draw_signals(rng, **setting, test=2000)
            bits = MedianBinarizer().fit_transform(split.X)
            best = np.sort(select_features(bits, split.y, 50, rng).selected)
            table = split._replace(X=split.X[:, best], new=split.new[:, best])
            methods = naive_bayes(None, screened={"of": 10_000})
            about = {"data": words_of(setting), "set": number, "kept": "all"}
            yield from compare(about, table, methods, third_party, 50, folds=True)


# ---- ten published tables ----


def normal(kept: int | None, **options) -> dict:
    """Return the normal model with the correction and without, with a temperature and without."""
    return {
        f"{word}, some relevant{words}": NormalClassifier(
            kept, correct=correct, temperature=temperature, random_state=0, **options
        )
        for word, correct in (("corrected", True), ("uncorrected", False))
        for words, temperature in (("", None), (", residual-tempered", "residual"))
    }


def divided(folds: int) -> Iterator[tuple[dict, Split]]:
    """Yield each fold of two divisions of each table, each class divided by itself."""
    for name in TABLES:
        source = MicroarrayData.model_validate({"source": "microarray", "table": name})
        (table,) = source.read(Path())
        X, y = np.asarray(table.features), table.response.astype(int)
        for division in range(2):
            rng = np.random.default_rng([2007, division])
            fold = np.empty(len(y), dtype=int)
            for label in range(y.max() + 1):
                members = rng.permutation(np.flatnonzero(y == label))
                fold[members] = np.arange(len(members)) % folds
            for f in range(folds):
                train, test = fold != f, fold == f
                about = {"data": name, "set": division, "fold": f}
                yield about, Split(X[train], y[train], X[test], y[test])


def tables() -> Iterator[pd.DataFrame]:
    """Five folds of each table; all that is selected or tuned is so in the training samples."""
    for about, split in divided(5):
        whole = {"pool of ridge, lasso, discriminants": PoolClassifier(random_state=0)}
        alone = ("nearest-centroids", "l2-logistic", "lasso", "random-forest")
        yield from compare(about | {"kept": "all"}, split, whole, alone, 0)
        for kept in (20, 100):
            row = about | {"kept": str(kept)}
            yield from compare(row, split, normal(kept), ("gaussian-nb",), kept)


def tables_screened() -> Iterator[pd.DataFrame]:
    """Halves of each table: one half selects 50 genes and trains, the other is predicted."""
    for about, split in divided(2):
        chosen = select_by_f(split.X, split.y, 50, np.random.default_rng(0), at_most=True).selected
        best = np.sort(chosen)
        table = split._replace(X=split.X[:, best], new=split.new[:, best])
        methods = normal(None, screened={"of": split.X.shape[1]})
        methods["pool of ridge, lasso, discriminants"] = PoolClassifier(random_state=0)
        third_party = (*REALS, "l2-logistic")
        about |= {"kept": "all"}
        yield from compare(about, table, methods, third_party, len(best), folds=True)


# ---- pairs of loci ----

PAIRS = (
    {"loci": 300, "train": 1000},
    {"loci": 300, "train": 1000, "pairs": 1},
    {"loci": 300, "train": 1000, "pairs": 3},
    {"loci": 300, "train": 1000, "pairs": 3, "effect": 1.2},
    {"loci": 300, "train": 1000, "pairs": 1, "penetrance": "threshold", "effect": 1.2},
    {"loci": 300, "train": 1000, "pairs": 1, "penetrance": "multiplicative"},
    {"loci": 300, "train": 400, "pairs": 1, "effect": 1.2},
    {"loci": 3000, "train": 1000, "pairs": 1, "effect": 1.2},
    {"loci": 10_000, "train": 4000, "pairs": 3},
    {"loci": 300, "train": 1000, "haplotype": 10, "correlation": 0.95},
)


def draw_genotypes(
    rng: np.random.Generator,
    n: int,
    loci: int,
    pairs: int = 0,
    effect: float = 0.8,
    penetrance: str = "exclusive-or",
    haplotype: int = 1,
    correlation: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw genotypes (n, loci) and responses (n,), as thesiskit.pairs.genotypes does.

    Also pairs that matter in other ways, and neighbours that are correlated.
    """
    frequency = rng.uniform(0.05, 0.5, loci)
    frequency[: 2 * pairs] = rng.uniform(0.2, 0.5, 2 * pairs)
    threshold = special.ndtri(1 - frequency)
    X = np.zeros((n, loci), dtype=np.int16)
    for _ in range(2):  # two copies of a chromosome
        z = rng.standard_normal((n, loci), dtype=np.float32)
        for j in range(loci if correlation else 0):
            if j % haplotype:
                z[:, j] *= np.sqrt(1 - correlation**2)
                z[:, j] += correlation * z[:, j - 1]
        X += z > threshold
    odds = np.zeros(n)
    for pair in range(pairs):
        a, b = X[:, 2 * pair], X[:, 2 * pair + 1]
        if penetrance == "multiplicative":
            centred = a * b - (a * b).mean()
            odds += effect * centred / max(centred.std(), 1e-9)
        else:
            either = (a > 0) != (b > 0) if penetrance == "exclusive-or" else (a > 0) & (b > 0)
            odds += effect * (2 * either - 1)
    middle = optimize.brentq(lambda c: special.expit(odds - c).mean() - 0.5, -50, 50)
    return X, (rng.random(n) < special.expit(odds - middle)).astype(np.int32)


def pairs() -> Iterator[pd.DataFrame]:
    """Patterns of two loci that are selected from all, with the correction and without."""
    for number, given in enumerate(PAIRS):
        n, setting = given["train"], {key: given[key] for key in given if key != "train"}
        for data_set in range(4):
            rng = np.random.default_rng([data_set, number])
            X, y = draw_genotypes(rng, n + 4000, **setting)
            split = Split(X[:n], y[:n], X[n:], y[n:])
            for kept, disjoint in ((20, True), (50, False)):
                for correct, temperature in ((False, None), (True, None), (True, "residual")):
                    model = NaiveBayesClassifier(
                        kept, order=2, disjoint=disjoint, correct=correct,
                        temperature=temperature, random_state=0,
                    )  # fmt: skip
                    p = model.fit(split.X, split.y).predict_proba(split.new)
                    words = f"{'' if correct else 'un'}corrected, temperature {temperature}"
                    about = {"data": str(given), "set": data_set, "kept": kept, "method": words}
                    yield rows_of(about, p, split.new_y)


ABOUT = ("data", "set", "kept", "method")
STUDIES = {
    "signals": signals,
    "screened": screened,
    "tables": tables,
    "tables-screened": tables_screened,
    "pairs": pairs,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("studies", nargs="*", default=list(STUDIES))
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    folder = given.results / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    for name in given.studies:
        frames = STUDIES[name]()
        if not name.startswith("tables"):
            frames = (one.groupby([*ABOUT], sort=False, dropna=False).mean() for one in frames)
            frames = (one.reset_index() for one in frames)
        frame = pd.concat(frames, ignore_index=True)
        frame.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
