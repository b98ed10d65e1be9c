"""Tables of every package and type, as new data of exported models and for estimators."""

import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from commands import run
from plain_table import CASE, DISCRETE, EVERY, GAPS, NUMBERS, PLAIN

from thesiskit import load_model
from thesiskit.errors import DataError, UnreliableWarning
from thesiskit.estimators import InteractionClassifier, NormalClassifier

CONFIG = """
experiment: {family}
title: Own
about: A test.
data: {{ source: {family}, path: table.csv, response: status, id: sample, {data} }}
{model}
"""
MODELS = {
    "table": CONFIG.format(
        family="file", data="positive: case, ignore: [patient]",
        model="selection: { features: [4] }\nmodel: { kind: normal }\n"
        "report: { parts: [methods] }",
    ),
    "numbers": CONFIG.format(
        family="file", data="positive: case, ignore: [patient, stage, smoker]",
        model="selection: { features: [2] }\nmodel: { kind: normal }\n"
        "report: { parts: [methods] }",
    ),
    "features": CONFIG.format(
        family="table", data="ignore: [patient, dose, gene]",
        model="model: { kind: logistic, chains: 1, iterations: 40, burn_in: 10, orders: [1] }\n"
        "report: { parts: [orders] }",
    ),
}  # fmt: skip
COLUMNS = {"table": EVERY, "numbers": NUMBERS, "features": DISCRETE}


def plain_frame(columns):
    """Return the table as pandas reads it."""
    frame = pd.DataFrame({name: PLAIN[name] for name in columns}, dtype=object)
    for name in {*NUMBERS} & {*columns}:
        frame[name] = pd.to_numeric(frame[name])
    return frame.assign(smoker=frame["smoker"] == "True") if "smoker" in columns else frame


def as_polars(frame):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: frame[name].tolist() for name in frame})


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def as_anndata(frame):
    anndata = pytest.importorskip("anndata")
    if not all(map(pd.api.types.is_float_dtype, frame.astype(float, errors="ignore").dtypes)):
        pytest.skip("AnnData holds numbers alone")
    frame = frame.astype(float).set_axis([f"S{i}" for i in range(len(frame))], axis=0)
    return anndata.AnnData(frame)


KINDS_OF_TABLES = {
    "pandas": lambda frame: frame,
    "objects": lambda frame: frame.astype(object),
    "texts": lambda frame: frame.astype(str),
    "decimals": lambda frame: frame.map(lambda value: value if isinstance(value, str) else
                                        str(float(value))),
    "nullable": lambda frame: frame.convert_dtypes(),
    "categorical": lambda frame: frame.astype("category"),
    "spellings of truth": lambda frame: frame.replace({True: "TRUE", False: "false"}),
    "truth as numbers": lambda frame: frame.replace({True: 1, False: 0}),
    "polars": as_polars,
    "texts of polars": lambda frame: as_polars(frame.astype(str)),
    "arrow": as_arrow,
    "categories of arrow": lambda frame: as_arrow(frame.astype("category")),
    "AnnData": as_anndata,
}  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pd.DataFrame(PLAIN).to_csv(folder / "table.csv", index=False)
    models = {"folder": folder}
    for name, text in MODELS.items():
        (folder / f"{name}.yaml").write_text(text)
        file = folder / f"{name}.model"
        run("export", folder / f"{name}.yaml", file, "--results", folder / "r", "--force")
        models[name] = load_model(file)
    return models


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_new_data_in_memory(exported, name, kind):
    """Columns are found by name in every kind of table, and values mean the same."""
    model, frame = exported[name], plain_frame(COLUMNS[name])
    expected = model.predict_proba(frame)
    assert np.ptp(expected[:, 1]) > 0.05
    shuffled = KINDS_OF_TABLES[kind](frame[frame.columns[::-1]])
    np.testing.assert_array_equal(model.predict_proba(shuffled), expected)
    assert list(model.predict(shuffled)) == list(model.predict(frame))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("name", MODELS)
def test_new_files(exported, name, suffix, tmp_path):
    """An exported model finds the columns of a file by name."""
    frame, file = plain_frame(COLUMNS[name]), tmp_path / f"new{suffix}"
    shuffled = frame[frame.columns[::-1]]
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        shuffled.convert_dtypes().to_parquet(file)
    else:
        shuffled.to_csv(file, sep="\t" if suffix == ".tsv" else ",", index=False)
    model, output = exported["folder"] / f"{name}.model", tmp_path / "predictions.csv"
    run("predict", "--model", model, "--new", file, "--output", output)
    written = pd.read_csv(output).filter(like="probability").iloc[:, -1]
    expected = exported[name].predict_proba(frame)
    last = np.abs(expected - written.to_numpy()[:, None]).max(axis=0)
    assert last.min() < 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_new_data_without_names(exported, name):
    """Where the training table has names, arrays are taken by position, of any type."""
    model, frame = exported[name], plain_frame(COLUMNS[name])
    if name == "table":
        pytest.skip("words became features of their own")
    expected = model.predict_proba(frame)
    for table in (frame.to_numpy(object), frame.astype(str).to_numpy(object),
                  frame.astype(object).to_numpy().tolist()):  # fmt: skip
        np.testing.assert_array_equal(model.predict_proba(table), expected)


@pytest.mark.parametrize("none", [None, np.nan, pd.NA, pd.NaT, "", "NA", "<NA>", "NULL"])
@pytest.mark.parametrize("name", MODELS)
def test_missing_values_in_memory(exported, name, none):
    model, frame = exported[name], plain_frame(COLUMNS[name]).astype(object)
    plain, gap = frame.copy(), frame.copy()
    for column in frame:
        plain.loc[[*GAPS], column] = np.nan
        gap[column] = [none if i in GAPS else value for i, value in enumerate(frame[column])]
    expected = model.predict_proba(plain)
    assert len({tuple(row) for row in expected[[*GAPS]]}) == 1
    np.testing.assert_array_equal(model.predict_proba(gap), expected)


@pytest.mark.parametrize(
    "value", [date(2024, 5, 1), pd.Timestamp("2024-05-01"), [1], {"a": 1}, (1, 2), {1}, 1j]
)
@pytest.mark.parametrize("name", MODELS)
def test_values_that_no_feature_has(exported, name, value):
    model, frame = exported[name], plain_frame(COLUMNS[name]).astype(object)
    frame.at[3, frame.columns[-1]] = value
    if name == "features" and isinstance(value, date):
        pytest.skip("a date is a category like others")
    with pytest.raises(DataError, match=r"sample 4.*is not a number|in sample 4, which is neither"):
        model.predict_proba(frame)


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
@pytest.mark.parametrize("columns", [NUMBERS[:2], DISCRETE])
def test_estimators(columns, kind):
    """Every kind of table trains the same model, and gets the same predictions."""
    frame = plain_frame(columns)
    chains = InteractionClassifier(1, iterations=20, burn_in=5, random_state=0)
    estimator = NormalClassifier(2) if columns is not DISCRETE else chains
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        expected = estimator.fit(frame, CASE).predict_proba(frame)
        table = KINDS_OF_TABLES[kind](frame)
        np.testing.assert_array_equal(estimator.predict_proba(table), expected)
        again = estimator.fit(table, CASE)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    np.testing.assert_array_equal(again.predict_proba(table), expected)
