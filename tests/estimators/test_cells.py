"""What tables and responses hold in Python: missing values, text, dates, lists."""

import datetime

import numpy as np
import pandas as pd
import pytest

from thesiskit.estimators import (
    InteractionClassifier,
    InteractionRegressor,
    MixtureClassifier,
    NaiveBayesClassifier,
    NormalClassifier,
    PoolClassifier,
    SequenceClassifier,
)

SHORT = {"iterations": 20, "burn_in": 5, "random_state": 0}
MODELS = {
    "normal": NormalClassifier(2, random_state=0),
    "pool": PoolClassifier(random_state=0),
    "naive": NaiveBayesClassifier(2, random_state=0),
    "patterns": NaiveBayesClassifier(2, order=1, random_state=0),
    "mixture": MixtureClassifier(2, chains=1, iterations=8, random_state=0),
    "sequences": SequenceClassifier(1, **SHORT),
    "interactions": InteractionClassifier(1, **SHORT),
    "regression": InteractionRegressor(1, **SHORT),
}
DISCRETE = ("patterns", "interactions", "regression")
pytestmark = pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")


def table(n=16):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=["a", "b", "c"])
    return X, np.arange(n) % 2


def with_cell(X, value):
    cells = X.astype(object).to_numpy(copy=True)
    cells[3, 1] = value
    return pd.DataFrame(cells, columns=X.columns)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, (1, 2), 1j, b"x", datetime.date(2020, 1, 1), pd.Timestamp("2020-01-01")],
    ids=lambda value: type(value).__name__,
)
def test_a_cell_that_is_no_value_has_its_column_and_sample(kind, value):
    if kind in DISCRETE and isinstance(value, datetime.date):
        pytest.skip("a date is a category")
    X, y = table()
    odd = with_cell(X, value)
    model = MODELS[kind].fit(X, y)
    for call in (lambda: MODELS[kind].fit(odd, y), lambda: model.predict(odd)):
        with pytest.raises(
            ValueError, match=r"column ('?b'?|number 2) contains .* in (sample|sample) 4"
        ):
            call()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_a_missing_response_has_its_sample(kind, value):
    X, y = table()
    responses = [y.astype(object)]
    if kind != "regression":
        responses.append(np.array(["no", "yes"], dtype=object)[y])
    for labels in responses:
        labels[3] = value
        for form in (labels, labels.tolist(), pd.Series(labels)):
            with pytest.raises(ValueError, match="y is missing in sample 4"):
                MODELS[kind].fit(X, form)


def test_responses_of_another_kind():
    X, y = table()
    with pytest.raises(ValueError, match="y must be numbers, and is 'no' in sample 1"):
        MODELS["regression"].fit(X, np.array(["no", "yes"])[y])
    text = MODELS["regression"].fit(X, y.astype(str)).predict(X)
    np.testing.assert_array_equal(text, MODELS["regression"].fit(X, y).predict(X))
    with pytest.raises(ValueError, match="y is text in sample 2, but not in sample 1"):
        MODELS["normal"].fit(X, [1, "yes"] * 8)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "sequences"])
def test_types_of_columns_change_no_prediction(kind):
    X, y = table()
    model = MODELS[kind].fit(X, y)
    expected = model.predict(X)
    for same in (X.astype("Float64"), X.astype(str), X.astype("category"), X.astype(object)):
        np.testing.assert_array_equal(model.predict(same), expected)
    if kind != "mixture":
        gap = X.astype("Float64")
        gap.iloc[3, 1] = pd.NA
        assert len(MODELS[kind].fit(gap, y).predict(gap)) == len(X)


def test_dates_in_a_column_of_discrete_features_are_new_values():
    X, y = table()
    model = MODELS["interactions"].fit(X, y)
    dates = X.assign(b=pd.Timestamp("2020-01-01"))
    with pytest.warns(UserWarning, match=r"'b' is 2020-01-01 .*in training 0, 1"):
        model.predict(dates)


def test_a_missing_state_has_its_sample():
    X, y = table()
    for states in (X, X.replace({0: "A", 1: "C"})):
        with pytest.raises(ValueError, match=r"a state is missing in (row 3|sample 4), column"):
            MODELS["sequences"].fit(with_cell(states, pd.NA), y)
