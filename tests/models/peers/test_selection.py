import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thesiskit.errors import DataError
from thesiskit.models import peers
from thesiskit.models.folds import stratified
from thesiskit.models.peers import BITS, REALS, Task


def samples(rng, n, p, tests=7):
    X = rng.normal(size=(n + tests, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    strength = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    y = (strength + rng.normal(size=n + tests) > 0).astype(int)
    return X[:n], y[:n], X[n:]


def predict(train, response, test, seed):
    return peers.fit_predict("l2-logistic", Task(REALS), train, response, test, seed)[:, 1]


def twin(train, response, test, seed):
    """The same by scikit-learn's own class on the table itself, however wide it is."""
    scaler = StandardScaler().fit(train)
    varies = scaler.var_ > 1e-20
    scale = np.sqrt(varies.sum())
    folds = PredefinedSplit(stratified(response, np.random.default_rng(seed), 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegressionCV(
            Cs=peers.WHOLE_CS, cv=folds, scoring="neg_log_loss", max_iter=5000, tol=1e-8
        ).fit(scaler.transform(train)[:, varies] / scale, response)
        p = model.predict_proba(scaler.transform(test)[:, varies] / scale)[:, 1]
    return (len(train) * p + 0.5) / (len(train) + 1)


@pytest.mark.parametrize("p", [5, 40, 130])  # fewer columns than samples, as many, and more
def test_l2_logistic_is_scikit_learns_on_the_whole_table(p, rng):
    train, response, test = samples(rng, 40, p)
    train[:, 2] = test[:, 2] = 3.0  # a constant column says nothing
    found = predict(train, response, test, 5)
    assert found == pytest.approx(twin(train, response, test, 5), abs=2e-3)


def test_l2_logistic_knows_wide_tables_quickly(rng):
    train, response, test = samples(rng, 60, 10_000)
    found = predict(train, response, test, 1)
    assert (found > 0).all()
    assert (found < 1).all()
    assert (found == predict(train, response, test, 1)).all()


def test_l2_logistic_standardises_in_parts(rng, monkeypatch):
    train, response, test = samples(rng, 40, 90)
    whole = predict(train, response, test, 3)
    monkeypatch.setattr(peers, "chunks", lambda table: [slice(0, 50), slice(50, 90)])
    assert predict(train, response, test, 3) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("method", ["bernoulli-nb", "bernoulli-nb-calibrated"])
def test_bernoulli_is_scikit_learns(method, rng):
    bits = rng.integers(0, 2, (70, 30)).astype(np.uint8)
    response = np.where(rng.random(70) < 0.8, bits[:, 3], rng.integers(0, 2, 70))
    train, test = bits[:50], bits[50:]
    model = make_pipeline(SelectKBest(f_classif, k=4), BernoulliNB())
    if method == "bernoulli-nb-calibrated":
        folds = PredefinedSplit(stratified(response[:50], np.random.default_rng(3), 5))
        model = CalibratedClassifierCV(model, cv=folds)
    expected = model.fit(train, response[:50]).predict_proba(test)
    task = Task(BITS, keep=4)
    found = peers.fit_predict(method, task, train, response[:50], test, 3)
    np.testing.assert_array_equal(found, expected)
    rare = np.zeros(50, dtype=int)
    rare[0] = 1
    if method == "bernoulli-nb-calibrated":
        with pytest.raises(DataError, match="needs two training samples of each class"):
            peers.fit(method, task, train, rare, 3)
    none = peers.fit(method, Task(BITS, keep=0), train, rare, 3)
    assert peers.predict(method, task, none, test[:1]).tolist() == [[0.98, 0.02]]
