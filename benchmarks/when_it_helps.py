"""When the correction for selection helps, and when it does not: quoted in docs/evidence.md.

    python benchmarks/when_it_helps.py

Drawn data have 2,000 test samples; of real tables each sample is predicted by a model of nine
tenths of the others.  Real features are made binary at their medians over the training samples, for
naive Bayes; the logistic regression has all features as they are, its penalty chosen by
cross-validation.
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from thesiskit.datasets.published import breast_cancer, colon
from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.estimators import MedianBinarizer, NaiveBayesClassifier
from thesiskit.models.peers import REALS, Task, fit_predict

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, y, then those of test samples


def drawn(alpha: float) -> Iterator[Split]:
    """Ten thousand binary features, independent in each class; inf: all of them useless."""
    data = draw_naive_bayes(
        np.random.default_rng(1), features=10_000, alpha=alpha, train=(100, 100), test=(1000, 1000)
    )
    yield data.train.features, data.train.response, data.test.features, data.test.response


def few_strong() -> Iterator[Split]:
    """Two thousand real features, of which five differ by 1.5 standard deviations; 60 samples."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        y = np.arange(2060) % 2
        X = rng.standard_normal((len(y), 2000))
        X[:, :5] += 1.5 * y[:, None]
        yield X[:60], y[:60], X[60:], y[60:]


def folds(table) -> Iterator[Split]:
    X, y = table.features, table.response
    for train, test in StratifiedKFold(10, shuffle=True, random_state=3).split(X, y):
        yield X[train], y[train], X[test], y[test]


def naive_bayes(k: int, **options) -> Callable[..., np.ndarray]:
    def predict(X, y, new) -> np.ndarray:
        model = make_pipeline(MedianBinarizer(), NaiveBayesClassifier(k, random_state=0, **options))
        return model.fit(X, y).predict_proba(new)[:, 1]

    return predict


def whole(X, y, new) -> np.ndarray:
    return fit_predict("l2-logistic", Task(REALS), X, y, new, 1)[:, 1]


def scores(splits: Callable[[], Iterator[Split]], predict: Callable[..., np.ndarray]) -> str:
    """Return error, predicted error and average minus log probability over all test samples."""
    found = [(test_y, predict(X, y, test_X)) for X, y, test_X, test_y in splits()]
    y, p = (np.concatenate(one) for one in zip(*found, strict=True))
    error, predicted = np.mean((p >= 0.5) != y), np.mean(np.minimum(p, 1 - p))
    return f"{error:.2f} ({predicted:.2f}), {log_loss(y, p):.2f}"


ROWS = [
    ("10,000 useless features, 200 samples", 100, lambda: drawn(np.inf)),
    ("10,000 weak independent features, 200 samples", 100, lambda: drawn(300.0)),
    ("2,000 features, five of them strong, 60 samples", 10, few_strong),
    ("gene expression (colon), 2,000 correlated genes, 62 samples", 10, lambda: folds(colon())),
    ("breast cancer, 30 measurements that go together, 569 samples", 10,
     lambda: folds(breast_cancer())),
]  # fmt: skip


def main() -> None:
    print("| data | kept | uncorrected | corrected, all relevant | corrected, some relevant "
          "| logistic regression, L2 |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name, k, splits in ROWS:
        cells = [
            scores(splits, naive_bayes(k, correct=False, relevant="all")),
            scores(splits, naive_bayes(k, relevant="all")),
            scores(splits, naive_bayes(k)),
            scores(splits, whole),
        ]
        print(f"| {name} | {k} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
