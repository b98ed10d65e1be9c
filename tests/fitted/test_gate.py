"""Whatever is predicted, printed or stored passes one gate: numbers that are none get a note."""

import copy
import io
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run
from new_samples import NEW, SELECTING, write_config, write_tables

import thesiskit
from thesiskit.errors import DataError, UserError
from thesiskit.estimators import NormalClassifier, NormalRegressor
from thesiskit.fitted import methods
from thesiskit.fitted.file import read_model, write_model
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
    few = ("--results", folder / "results")
    if request.param == "normal-real":
        few += ("--set", "model.methods=[corrected, ridge, pool]")  # others take long
    run("export", write_config(folder, request.param), path, "--all-methods", *few)
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


# ---- model files with the right digest that no fit has ----

FORGED = {
    "a pool as a rival: mixing": ("pool/mixing", lambda x: x * 0 + 2),
    "power": ("pool/power", lambda x: x[None]),
    "weights": ("pool/weight", lambda x: x.astype(int) * 0),
    "share": ("pool/share", lambda x: x * 0.1),
    "share of another shape": ("pool/share", lambda x: x[:, None]),
    "cases": ("pool/cases", lambda x: x * 0),
    "family": ("pool/family", lambda x: x * 0),
    "counts": ("pool/counts", lambda x: x * 0 + 2**62),
    "texts": ("likeness/mean", lambda x: x.astype(str)),
    "long numbers": ("likeness/own", lambda x: x.astype(np.longdouble)),
    "codes as numbers": ("likeness/low", lambda x: x.astype(str)),
}
HEADERS = {
    "format": lambda header: header.update(format=True),
    "class": lambda header: header["inputs"]["classes"].__setitem__(0, "a\x1b[2J"),
    "name": lambda header: header["arms"][0].update(name="a\r\nb"),
    "folder": lambda header: header.update(experiment="../../elsewhere"),
    "hidden folder": lambda header: header.update(experiment=".."),
}


@pytest.fixture(scope="module")
def rival(tmp_path_factory):
    """A model file with a pool as a rival, the name of its arrays, and a table of new samples."""
    folder = tmp_path_factory.mktemp("rival")
    write_tables(folder)
    (folder / "rival.yaml").write_text(
        SELECTING.replace("tissues", "grades").replace(", positive: tumour", "")
        + "selection: { features: [3] }\nmodel: { kind: normal, methods: [corrected, pool] }\n"
    )
    results = ("--results", folder / "results")
    run("export", folder / "rival.yaml", folder / "rival.model", "--all-methods", *results)
    header, arrays = read_model(folder / "rival.model")
    number = next(i for i, one in enumerate(header["arms"]) if one.get("method") == "pool")
    assert f"arm-{number}/learnt/mixing" in arrays
    return header, arrays, f"arm-{number}/learnt/"


@pytest.mark.parametrize("what", FORGED)
def test_arrays_that_no_fit_has_are_refused(rival, what, tmp_path):
    header, arrays, place = rival
    name, change = FORGED[what]
    name = name.replace("pool/", place)
    write_model(tmp_path / "forged.model", header, arrays | {name: change(arrays[name])})
    with pytest.raises(DataError, match=r"Fix: export it again"):
        thesiskit.load_model(tmp_path / "forged.model")


@pytest.mark.parametrize("what", HEADERS)
def test_headers_that_no_export_writes_are_refused(rival, what, tmp_path):
    header, arrays, _ = rival
    header = copy.deepcopy(header)
    HEADERS[what](header)
    write_model(tmp_path / "forged.model", header, arrays)
    with pytest.raises(DataError, match=r"Fix: export it again") as caught:
        thesiskit.load_model(tmp_path / "forged.model")
    assert str(caught.value).isprintable()


def test_states_of_an_n_gram_and_warnings_are_those_of_a_fit(tmp_path):
    write_tables(tmp_path)
    path, few = tmp_path / "mine.model", ("--results", tmp_path / "results")
    few += ("--set", "model.orders=[2]", "--set", "model.peers=[n-gram]")
    run("export", write_config(tmp_path, "sequences"), path, "--all-methods", *few)
    header, arrays = read_model(path)
    name = next(name for name in arrays if name.endswith("learnt/class"))
    odd = copy.deepcopy(header)
    for method in odd["arms"]:
        method["warning"] = "\x1b]0;x\x07"
    write_model(path, odd, arrays)
    with pytest.raises(DataError, match="control character"):
        thesiskit.load_model(path)
    for last, value in (("class", 99), ("cases", 2**62), ("history", 99)):
        held = arrays[f"{name.removesuffix('class')}{last}"]
        if held.size:
            forged = arrays | {f"{name.removesuffix('class')}{last}": held * 0 + value}
            write_model(path, header, forged)
            with pytest.raises(DataError, match=r"Fix: export it again"):
                thesiskit.load_model(path)


def test_a_method_whose_predictions_depend_on_others_is_refused(rival, monkeypatch, tmp_path):
    header, arrays, _ = rival
    write_model(tmp_path / "a.model", header, arrays)
    whole = methods.PeerMethod.predict

    def odd(self, inputs, samples, y=None):
        p = whole(self, inputs, samples, y)["probability"]
        return {"probability": p if len(p) == 1 else np.roll(p, 1, axis=1)}

    monkeypatch.setattr(methods.PeerMethod, "predict", odd)
    with pytest.raises(DataError, match="its parts do not belong together"):
        thesiskit.load_model(tmp_path / "a.model")
