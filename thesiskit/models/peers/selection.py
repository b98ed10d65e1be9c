"""Models to compare with: scikit-learn's selection followed by Bernoulli naive Bayes."""

import warnings

import numpy as np

from thesiskit.errors import DataError


def load() -> None:
    """Import scikit-learn, so that its import is not counted in the time of the first fit."""
    import sklearn.calibration
    import sklearn.feature_selection
    import sklearn.naive_bayes  # noqa: F401


def fit_predict(
    method: str, k: int, train: np.ndarray, response: np.ndarray, test: np.ndarray, seed: int
) -> np.ndarray:
    """Return P(y* = 1) for the test rows, (T,).

    `bernoulli-nb` is SelectKBest (the F statistic, which orders features as |COR| does) followed
    by BernoulliNB; `bernoulli-nb-calibrated` puts that pipeline, selection included, inside
    CalibratedClassifierCV with its defaults on five shuffled folds, as scikit-learn's manual
    advises.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_selection import SelectKBest, f_classif
    from sklearn.model_selection import StratifiedKFold
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import make_pipeline

    if k == 0:  # no feature passes the threshold: predict the base rate
        return np.full(len(test), response.mean())
    model = make_pipeline(SelectKBest(f_classif, k=k), BernoulliNB())
    if method == "bernoulli-nb-calibrated":
        folds = min(5, int(np.bincount(response.astype(int)).min()))
        if folds < 2:
            raise DataError("bernoulli-nb-calibrated needs two training cases of each class")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        model = CalibratedClassifierCV(model, cv=splitter)
    # constant columns have F = 0 / 0: scikit-learn warns, and ranks them last
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(train, response).predict_proba(test)[:, 1]
