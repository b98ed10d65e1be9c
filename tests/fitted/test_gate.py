"""Whatever is predicted, printed or stored passes one gate: numbers that are none get a note."""

import io
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run
from new_samples import NEW, write_config, write_tables

import thesiskit
from thesiskit.errors import UserError
from thesiskit.estimators import NormalClassifier, NormalRegressor
from thesiskit.models import pipeline
from thesiskit.models.base import NO_PREDICTION, check_predictions, lacks_prediction

FAR = (1e3, -1e3, 1e30, 1e160, -1e160, 1.7e308, -1.7e308)
KINDS = ("naive", "normal", "three-classes", "normal-real", "pool-real")


@pytest.mark.parametrize(
    ("row", "lacks"),
    [
        ([0.2, 0.3, 0.5], False),
        ([0, 0, 1 + 1e-12], False),
        ([np.nan] * 3, True),
        ([-0.1, 0.6, 0.5], True),
        ([1.1, 0, -0.1], True),
        ([0.2, 0.3, 0.5 + 1e-8], True),
        ([np.inf, 0, 0], True),
    ],
)
def test_what_probabilities_are(row, lacks):
    arrays = {"probability": np.array([[0.1, 0.2, 0.7], row])}
    assert lacks_prediction(arrays).tolist() == [False, lacks]
    if lacks:
        with pytest.raises(UserError, match=r"sample 2: no prediction: .*Fix: scale as"):
            check_predictions(arrays)


def test_what_probabilities_of_class_1_and_quantities_are():
    assert lacks_prediction({"probability": np.array([0, 1, 1.1, np.nan])}).tolist() == [
        False, False, True, True]  # fmt: skip
    arrays = {"mean": np.array([np.nan, 1, 1]), "low": np.array([1, np.inf, 2])}
    assert lacks_prediction(arrays | {"sd": np.full(3, np.inf)}).tolist() == [False, True, False]


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    write_tables(folder)
    path = folder / "mine.model"
    results = ("--results", folder / "results")
    run("export", write_config(folder, request.param), path, "--all-methods", *results)
    return folder, path, folder / NEW[request.param]


@pytest.mark.filterwarnings("error")
def test_samples_far_away_have_a_prediction_or_a_note(model, tmp_path):
    _, path, table = model
    new = pd.read_csv(table)
    number = [name for name in new if new[name].dtype.kind == "f"]
    rows = pd.concat([new.iloc[:1]] * (len(FAR) + 1), ignore_index=True)
    rows[number] = rows[number].fillna(new[number].mean())
    rows.loc[: len(FAR) - 1, number] = np.tile(np.array(FAR)[:, None], len(number))
    if "name" in rows:
        rows["name"] = [f"s{i}" for i in range(len(rows))]
    rows.to_csv(tmp_path / "far.csv", index=False)
    done = invoke("predict", "--model", path, "--new", tmp_path / "far.csv")
    frame = pd.read_csv(io.StringIO(done.stdout), keep_default_na=False)
    fitted = thesiskit.load_model(path)
    columns = [name for name in frame if name.startswith("probability") or name in ("median", "5%")]
    values = frame[columns].replace("", "nan").astype(float)
    noted = frame["note"] != "" if "note" in frame else np.zeros(len(frame), dtype=bool)
    assert (values.isna().all(axis=1) == noted).all()
    assert np.isfinite(values[~noted]).all(axis=None)
    assert "Warning" not in done.stderr
    assert not np.asarray(noted).reshape(len(fitted.methods), -1)[:, -1].any()
    if fitted.classes:
        np.testing.assert_allclose(values[~noted].sum(axis=1), 1, atol=1e-9)
        assert (frame["predicted"][noted] == "").all()
    if noted.any():
        assert set(frame["note"][noted]) == {NO_PREDICTION}
        must_fail(done, "no prediction", "Fix: scale them as the training samples", code=1)
        method = frame["method"][noted].iloc[0]
        with pytest.raises(UserError, match="no prediction"):
            fitted.predict(tmp_path / "far.csv", method)
    else:
        assert done.exit_code == 0, done.output


def test_a_note_is_written_and_the_exit_code_is_1(model, monkeypatch, tmp_path):
    """Whichever model it is: what has no prediction is NaN, not one of the classes."""
    _, path, table = model
    fitted = thesiskit.load_model(path)
    kind = type(next(iter(fitted.methods.values())))
    whole = kind.predict

    def broken(self, *arguments):
        arrays = {name: values.copy() for name, values in whole(self, *arguments).items()}
        for values in arrays.values():
            values[1:2] = np.nan
        return arrays

    monkeypatch.setattr(kind, "predict", broken)
    name = next(iter(fitted.methods))
    done = invoke("predict", "--model", path, "--new", table, "--method", name,
                  "--output", tmp_path / "found.csv")  # fmt: skip
    must_fail(done, "1 sample has no prediction", code=1)
    frame = pd.read_csv(tmp_path / "found.csv", keep_default_na=False)
    assert (frame["note"] != "").tolist() == [row == 1 for row in range(len(frame))]
    with pytest.raises(UserError, match="sample 2: no prediction"):
        fitted.predict(table, name)


def test_estimators_and_studies_raise(monkeypatch, tmp_path, rng):
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    classifier = NormalClassifier(n_features=3).fit(X, y)
    regressor = NormalRegressor(n_features=3).fit(X, X[:, 0] + rng.normal(size=30))
    far = np.vstack([X[:2], np.full((1, 5), 1.7e308)])
    for method in (classifier.predict_proba, classifier.predict, regressor.predict):
        with suppress(UserError):
            assert np.isfinite(np.asarray(method(far), dtype=float)).all()
    monkeypatch.setattr(pipeline.Fitted, "predict", lambda self, values: np.full((3, 2), np.nan))
    with pytest.raises(UserError, match="sample 1, 2, 3: no prediction"):
        classifier.predict_proba(far)
