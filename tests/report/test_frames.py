"""The frames of a record are the arrays of its results files."""

import numpy as np
import pandas as pd
import pytest
from small import KINDS, opened


@pytest.fixture(scope="module", params=KINDS)
def record(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    (folder / "small.yaml").write_text(KINDS[request.param])
    experiment = opened(folder / "small.yaml", folder / "results")
    for stage in experiment.stages:
        experiment.run(stage, watch=lambda cells, *_: cells)
    experiment.close()
    return experiment.record()


def blocks(record, stage):
    return [record.results.load(stage, number) for number in range(record.n_blocks)]


def test_predictions_have_a_row_for_each_test_sample(record):
    frame, parts = record.predictions, blocks(record, "predict")
    assert frame["response"].tolist() == np.concatenate([p["response"] for p in parts]).tolist()
    p = np.concatenate([p["probability"] for p in parts], axis=1)
    for method in record.methods:
        np.testing.assert_array_equal(record.probability(method), p[method.row])
    for number, rows in frame.groupby("training_set"):
        assert len(rows[["replicate", "fold", "group"]].drop_duplicates()) == 1
        assert rows["sample"].is_unique
        if record.logistic:
            assert len(rows) == len(parts[number]["response"])
    if not record.logistic:
        samples = np.concatenate([p["case"] for p in parts])
        np.testing.assert_array_equal(frame["sample"], samples)


def test_fits_have_a_row_for_each_training_set_and_method(record):
    frame, parts = record.fits, blocks(record, "fit")
    assert set(frame["method"]) == {method.row for method in record.own}
    assert len(frame) == len(record.own) * (frame["training_set"].max() + 1)
    for name in {"seconds", "tau", "reliable", "separated"} & {*parts[0]}:
        values = np.concatenate([np.atleast_2d(part[name]) for part in parts])
        assert frame[name].dtype == values.dtype
        for method in record.own:
            column = parts[0]["arm"].tolist().index(method.row)
            rows = frame[frame["method"] == method.row]
            np.testing.assert_array_equal(rows[name], values[:, column])


def test_selections_have_a_row_for_each_training_set_and_size(record):
    if record.logistic:
        pytest.skip("nothing is selected")
    frame, parts = record.selections, blocks(record, "select")
    for name, column in {"kept": "n_selected", "n_features": "n_features", "tied": "tied"}.items():
        values = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(frame[column], values)
    labels = parts[0]["label"].tolist()
    assert record.by_size("gamma").columns.tolist() == labels
    for i, label in enumerate(labels):
        gamma = frame["gamma"].to_numpy()[i :: len(labels)]
        np.testing.assert_array_equal(record.by_size("gamma")[label], gamma)
    n_train = [part["class_counts"][0].sum() for part in parts]
    assert record.class_counts.sum(axis=1)[0] == n_train[0]
    assert len(record.class_counts) == record.n_sets


def test_timings_have_a_row_for_each_method(record):
    frame, totals = record.timings, record.fits.groupby("method")["seconds"]
    assert len(frame) == len(record.methods)
    for method in record.own:
        seconds = totals.get_group(method.row)
        if record.logistic:
            assert frame["train"][method.row] == pytest.approx(seconds.mean())
        else:
            assert frame["fit"][method.row] == pytest.approx(seconds.sum())
            assert frame["fit and predict"][method.row] >= seconds.sum()
    others = [method.row for method in record.methods if not method.own]
    assert frame["train" if record.logistic else "fit"][others].isna().all()
    assert isinstance(frame, pd.DataFrame)
