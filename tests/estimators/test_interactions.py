"""Classifiers and regressors with interactions of discrete features."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference_splitting import exact_probabilities
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from thesiskit.datasets.features import LINES, tic_tac_toe
from thesiskit.errors import UnreliableWarning, UserError
from thesiskit.estimators import InteractionClassifier, InteractionRegressor
from thesiskit.frame import CategoryEncoder, Frame
from thesiskit.models.patterns import MISSING, UNSEEN

QUICK = {"iterations": 60, "burn_in": 20, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
REAL = {"check_positive_only_tag_during_fit": "the check subtracts a mean: values are then real"}


@parametrize_with_checks(
    [InteractionClassifier(1, **QUICK), InteractionRegressor(1, **QUICK)],
    expected_failed_checks=lambda _: REAL,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [InteractionClassifier("all", **QUICK), InteractionRegressor("all", **QUICK)],
    expected_failed_checks=lambda _: REAL,
)
def test_scikit_learn_checks_of_all_orders(estimator, check):
    check(estimator)


def data(n=60, p=4, values=3, classes=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, p))
    y = np.where(rng.random(n) < 0.9, (X[:, 0] + X[:, 1]) % classes, rng.integers(0, classes, n))
    return X, np.array(["a", "b", "c"])[y]


# ---- fitting and predicting ----


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"prior": "gaussian"}])
def test_fit_and_predict(options, classes):
    X, y = data(classes=classes)
    model = InteractionClassifier(2, **QUICK, **options).fit(X, y)
    new = np.random.default_rng(2).integers(0, 4, (30, 4))  # some values unseen
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.7
    assert np.array_equal(p, model.predict_proba(new))
    assert np.array_equal(p, clone(model).fit(X, y).predict_proba(new))
    assert np.array_equal(p, pickle.loads(pickle.dumps(model)).predict_proba(new))
    assert not np.array_equal(
        p, clone(model).set_params(random_state=9).fit(X, y).predict_proba(new)
    )
    assert model.draws_["posterior"]["log_sigma"].shape == (1, 8, 3)
    sets = 1 if classes == 2 else 3
    shape = (1, 8, sets, model.compression_.n_groups)
    assert model.draws_["posterior"]["coefficient"].shape == shape
    beta = model.original_coefficients(random_state=1)
    assert beta.shape == (8, sets, model.compression_.n_patterns)
    s = model.draws_["posterior"]["coefficient"].to_numpy()[0]
    np.testing.assert_allclose(beta.sum(axis=2), s.sum(axis=2), rtol=1e-3, atol=1e-2)


def test_splitting_without_noise_is_what_many_splits_tend_to():
    X, y = data()
    new = np.random.default_rng(2).integers(0, 4, (30, 4))
    model = InteractionClassifier(3, prior="gaussian", **QUICK).fit(X, y)
    overlap = model.compression_.shared(model._codes(new))
    exact = exact_probabilities(*model._draws.flat, overlap, cauchy=False)
    many = model.predict_proba(new, split_draws=20_000)
    # 8 draws of 20,000 splits: a standard error of at most 0.5 / 400
    assert np.abs(exact - many).max() < 6 * 0.5 / np.sqrt(8 * 20_000)
    assert np.array_equal(model.predict_proba(new), model.predict_proba(new, split_draws=10))
    assert np.array_equal(model.predict_proba(new)[7:19], model.predict_proba(new[7:19]))


@pytest.mark.parametrize("prior", ["cauchy", pytest.param("gaussian", marks=pytest.mark.slow)])
def test_compressing_changes_no_prediction(prior):
    X = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1]] * 4)
    y = np.array([0, 1, 1, 1] * 3 + [0, 1, 0, 1])
    new = np.array([[a, b, c, 1] for a in (0, 2) for b in (0, 1) for c in (0, 1)])
    options = {"prior": prior, "sigma": (1, 1, 1), "iterations": 3100, "burn_in": 100}
    found = np.array(
        [
            [
                InteractionClassifier(2, compress=compress, random_state=seed, **options)
                .fit(X, y)
                .predict_proba(new)[:, 1]
                for seed in range(8)
            ]
            for compress in (True, False)
        ]
    )
    error = np.sqrt(found.var(axis=1, ddof=1).sum(axis=0) / 8)
    assert (error < 0.015).all()
    compressed, original = found.mean(axis=1)
    # Student's t of 8 + 8 fits: beyond 8 once in a million
    assert (np.abs(compressed - original) < 8 * error).all()


def test_order_0_is_the_base_rate():
    X, y = data(n=200)
    model = InteractionClassifier(0, iterations=600, burn_in=100, random_state=0).fit(X, y)
    p = model.predict_proba(np.vstack([X[:3], [[7, 7, 7, 7]]]))
    assert (p == p[0]).all()
    assert p[0, 1] == pytest.approx((y == "b").mean(), abs=0.02)
    assert model.largest().empty


def test_min_samples():
    X, y = data()
    model = InteractionClassifier(3, min_samples=5, **QUICK).fit(X, y)
    fewer = model.compression_
    assert fewer.n_groups < InteractionClassifier(3, **QUICK).fit(X, y).compression_.n_groups
    assert model.largest(1000)["samples"].min() == 5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_chains_that_have_not_mixed_are_warned_of():
    X, y = data()
    model = InteractionClassifier(2, iterations=12, burn_in=2, thin=1, random_state=0)
    with pytest.warns(UnreliableWarning, match="increase iterations") as found:
        model.fit(X, y)
    assert found[0].filename == __file__
    assert not model.diagnostics_["reliable"]


# ---- features of any kind ----


def named(n=80, seed=4):
    """Return a table of all kinds of columns, the same as codes, and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, 6))
    labels = np.where(rng.random(n) < 0.9, codes[:, 0] ^ codes[:, 1], 0)
    missing = rng.random((n, 6)) < 0.1
    missing[:, 4:] = False
    kinds = [
        ("size", ["big", "small"], object),
        ("form", ["round", "square"], "category"),
        ("number", [3, 7], "Int64"),
        ("part", [1.0, 2.0], float),
        ("old", [False, True], bool),
        ("mixed", [4, "four"], object),
    ]
    table = pd.DataFrame(
        {
            name: pd.Series(
                [None if gone else values[c] for c, gone in zip(*column, strict=True)], dtype=dtype
            )
            for (name, values, dtype), column in zip(
                kinds, zip(codes.T, missing.T, strict=True), strict=True
            )
        }
    )
    return table, np.where(missing, MISSING, codes), labels


def test_tables_are_as_their_codes():
    table, codes, y = named()
    model = InteractionClassifier(2, **QUICK).fit(table, y)
    assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == list(table.columns)
    found = [one.tolist() for one in model.categories_]
    assert found == [
        ["big", "small"], ["round", "square"], [3, 7], [1, 2], [False, True], ["4", "four"],
    ]  # fmt: skip
    assert np.array_equal(model.compression_.codes, codes)
    floats = np.where(codes == MISSING, np.nan, codes)
    same = InteractionClassifier(2, **QUICK).fit(floats, y)
    p = model.predict_proba(table)
    assert np.array_equal(p, same.predict_proba(floats))
    lists = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    assert np.array_equal(p, clone(model).fit(lists, y).predict_proba(lists))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[table.columns[::-1]])


@pytest.mark.parametrize("none", [None, np.nan, pd.NA])
def test_values_as_python_compares_them(none):
    X = np.array([[1, "a"], [2.0, "b"], [none, none], [True, "a"]], dtype=object)
    frame = Frame.of(X)
    encoder = CategoryEncoder.fit(frame, ["x1", "x2"])
    assert encoder.values == [["1", "2"], ["a", "b"]]
    want = np.array([[0, 0], [1, 1], [MISSING, MISSING], [0, 0]])
    assert np.array_equal(encoder.transform(frame)[0], want)
    new = np.array([[2, "c"], [3, 2], [none, "b"]], dtype=object)
    want = np.array([[1, UNSEEN], [UNSEEN, UNSEEN], [MISSING, 1]])
    assert np.array_equal(encoder.transform(Frame.of(new))[0], want)
    for kind in (bool, np.uint8, np.int64, np.float32, "<U1"):
        column = Frame.of(np.array([[0], [1], [1]]).astype(kind))
        codes, _ = CategoryEncoder.fit(column, ["x1"]).transform(column)
        assert codes.ravel().tolist() == [0, 1, 1]


def test_unseen_makes_new_patterns_and_missing_none():
    rng = np.random.default_rng(0)
    X = rng.choice(["u", "v"], (80, 3)).astype(object)
    y = rng.random(80) < 0.9
    model = InteractionClassifier(2, prior="gaussian", sigma=(5, 1, 1), **QUICK).fit(X, y)
    rows = [[one] * 3 for one in ("new", "other", None, np.nan, pd.NA)]
    with pytest.warns(UserWarning, match="values that no training sample has, in 2 samples"):
        p = model.predict_proba(np.array(rows, dtype=object), split_draws=20_000)[:, 1]
    assert p[0] == p[1]
    assert p[2] == p[3] == p[4]
    # six new coefficients of width 1, and no other: they only blur the intercept
    intercept = model.draws_["posterior"]["coefficient"].to_numpy()[0, :, 0]
    groups = model.compression_
    (g,) = np.flatnonzero(groups.kinds[groups.kind, 0])
    np.testing.assert_allclose(p[2], (1 / (1 + np.exp(-intercept[:, g]))).mean(), rtol=1e-5)
    grid, weight = np.polynomial.hermite_e.hermegauss(60)
    blurred = 1 / (1 + np.exp(-intercept[:, g, None] - np.sqrt(6) * grid))
    assert p[0] == pytest.approx((blurred @ weight / weight.sum()).mean(), abs=0.005)


def test_largest_names_patterns_and_classes():
    X, y = data(n=300, classes=3)
    names = ["k", "l", "m", "n"]
    model = InteractionClassifier(2, iterations=200, burn_in=50, random_state=0)
    found = model.fit(pd.DataFrame(X, columns=names), y).largest(9)
    want = ["pattern", "patterns", "samples", "class", "low", "high", "median"]
    assert list(found.columns) == want
    assert (found["median"].abs().diff().dropna() <= 0).all()
    assert ((found["low"] <= found["median"]) & (found["median"] <= found["high"])).all()
    for row in found.itertuples():
        sample = np.ones(300, dtype=bool)
        for part in row.pattern.split(", "):
            name, value = part.split("=")
            sample &= X[:, names.index(name)] == int(value)
        assert sample.sum() == row.samples
    favoured = found[found["median"] > 0].iloc[0]
    k, m = (int(part[-1]) for part in favoured["pattern"].split(", "))
    assert favoured["class"] == "abc"[(k + m) % 3]


# ---- tic-tac-toe ----


def test_tic_tac_toe_finds_the_eight_lines():
    table = tic_tac_toe()
    X = pd.DataFrame(np.array(table.values)[np.arange(9), table.X], columns=table.features)
    y = np.array(table.classes)[table.response]
    test = np.random.default_rng(0).permutation(len(y)) < 200
    # One chain may stay with other patterns for thousands of iterations: of four, medians do not.
    options = {"min_samples": 40, "chains": 4, "iterations": 120, "burn_in": 50}
    model = InteractionClassifier(3, random_state=1, **options)
    model.fit(X[~test], y[~test])
    found = model.largest(8)
    lines = {", ".join(f"{table.features[int(s)]}=x" for s in line) for line in LINES}
    assert set(found["pattern"]) == lines
    assert (found["class"] == "x wins").all()
    assert (found["median"] > 0).all()
    assert np.mean(y[test] == "x wins") < 0.7
    assert np.mean(model.predict(X[test]) == y[test]) > 0.95


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": 5}, "order 5 is above the number of features, 4"),
        ({"order": -1}, "must not be negative"),
        ({"order": 1.5}, "whole number or 'all'"),
        ({"prior": "laplace"}, "unknown prior 'laplace'"),
        ({"min_samples": 0}, "min_samples must be a whole number from 1"),
        ({"min_samples": 61}, "there are 60 training samples"),
        ({"sigma": (1.0, 2.0)}, "sigma needs 4 values"),
        ({"iterations": 10, "burn_in": 20}, "none remains"),
        ({"compress": "yes"}, "compress must be True or False"),
    ],
)
def test_bad_arguments(options, words):
    X, y = data()
    with pytest.raises(UserError, match=words):
        InteractionClassifier(**{"order": 3, **QUICK, **options}).fit(X, y)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.linspace(0, 1, 300), "column 'x1' has real .*KBinsDiscretizer"),
        (np.linspace(0, 1, 300).astype(object), "column 'x1' has real .*KBinsDiscretizer"),
        (np.arange(300), "column 'x1' has 300 values"),
        (np.array([np.inf, 1.0] * 150), "column 'x1' contains inf"),
        (np.array([-np.inf, "a"] * 150, dtype=object), "column 'x1' contains -inf"),
        (
            np.array([[1], [2]] * 150 + [None], dtype=object)[:300],
            "column 'x1' contains .* in sample 1, which is neither",
        ),
    ],
)
def test_bad_columns(column, words):
    X = np.empty((300, 2), dtype=object if column.dtype.kind == "O" else float)
    X[:, 0], X[:, 1] = 1, column
    y = np.arange(300) % 2
    for one in (X, X.tolist()):
        with pytest.raises(UserError, match=words):
            InteractionClassifier(1, **QUICK).fit(one, y)
    with pytest.raises(UserError, match=words.replace("x1", "form")):
        InteractionRegressor(1, **QUICK).fit(pd.DataFrame(X, columns=["size", "form"]), y)


def test_bad_data():
    X, y = data()
    model = InteractionClassifier(3, **QUICK)
    with pytest.raises(
        ValueError, match="InteractionClassifier needs two classes, got one class: 'a'"
    ):
        model.fit(X, np.full(len(X), "a"))
    with pytest.raises(ValueError, match="requires y"):
        model.fit(X, None)
    model.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])
    with pytest.raises(UserError, match=r"'x2' has real .*KBinsDiscretizer"):
        model.predict(X + np.array([0, 0, 0.5, 0]))
    with pytest.raises(UserError, match="split_draws"):
        model.predict_proba(X, split_draws=0)


def test_columns_without_anything_to_say():
    X, y = data()
    more = np.column_stack([X, np.full(len(X), np.nan), np.full(len(X), 5)])
    model = InteractionClassifier(2, **QUICK).fit(more, y)
    assert model.categories_[4].size == 0
    assert model.categories_[5].tolist() == [5]
    np.testing.assert_allclose(model.predict_proba(more).sum(axis=1), 1)


# ---- regression ----


def responses(n, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 5))
    mean = 10 + 3.0 * ((X[:, 0] == 1) & (X[:, 1] == 2))
    return X, mean, mean + rng.normal(0, noise, n)


@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
def test_regression_recovers_an_interaction(prior):
    X, _, y = responses(300, 1)
    new, mean, future = responses(500, 2)
    model = InteractionRegressor(2, prior=prior, iterations=600, burn_in=200, random_state=0)
    model.fit(X, y)
    (top,) = model.largest(1).itertuples()
    if prior == "cauchy":
        assert top.pattern == "x0=1, x1=2"
        assert top.low - 0.5 < 3 < top.high + 0.5
        assert "class" not in model.largest(1)
    assert model.noise_ == pytest.approx(0.3, abs=0.06)
    assert np.abs(model.predict(new) - mean).mean() < 0.2
    quantiles = model.predict_quantiles(new, [0.05, 0.5, 0.95])
    assert quantiles.shape == (500, 3)
    assert np.array_equal(quantiles[:, 1], model.predict(new))
    inside = ((quantiles[:, 0] < future) & (future < quantiles[:, 2])).mean()
    assert 0.82 < inside < 0.97
    assert model.draws_["posterior"]["log_noise"].shape == (1, 80)
    assert np.array_equal(model.predict(new), clone(model).fit(X, y).predict(new))


def test_regression_is_in_the_units_of_the_responses():
    X, _, y = responses(80, 1)
    new = responses(50, 2)[0]
    # long trajectories go other ways where numbers differ in the last digit
    y = np.round(64 * (y - y.mean()))
    y[0] -= y.sum()
    one = InteractionRegressor(2, **QUICK).fit(X, y)
    other = InteractionRegressor(2, **QUICK).fit(X, 128 * y)
    np.testing.assert_allclose(other.predict(new), 128 * one.predict(new), rtol=1e-12)
    assert other.noise_ == pytest.approx(128 * one.noise_, rel=1e-12)
    moved = InteractionRegressor(2, **QUICK).fit(X, y - 256)
    np.testing.assert_allclose(moved.predict(new), one.predict(new) - 256, rtol=1e-12)


def test_bad_responses():
    X, _, y = responses(30, 1)
    model = InteractionRegressor(2, **QUICK)
    with pytest.raises(UserError, match=r"run from 0 to 1e.200.* between 1e-100 and 1e.100"):
        InteractionRegressor(1).fit(X, 1e200 * (np.arange(len(X)) % 2))
    with pytest.raises(UserError, match="responses are all 4"):
        model.fit(X, np.full(30, 4.0))
    with pytest.raises(ValueError, match="y is missing in sample 4"):
        model.fit(X, np.where(np.arange(30) == 3, np.nan, y))
    model.fit(X, y)
    with pytest.raises(UserError, match="between 0 and 1"):
        model.predict_quantiles(X, [1.5])
    with pytest.raises(UserError, match="split_draws"):
        model.predict_quantiles(X, [0.5], split_draws=0)


@pytest.mark.slow
def test_the_pair_of_published_epistasis_data_is_found():
    """In the GAMETES table, simulated by others, P1 and P2 matter together and neither alone."""
    folder = os.environ.get("THESISKIT_DATA_DIR")
    if not folder or not (path := Path(folder) / "gametes2way.csv.gz").exists():
        pytest.skip("gametes2way.csv.gz is not here")
    table = pd.read_csv(path)
    X, y = table.drop(columns="y"), table["y"]
    model = InteractionClassifier(2, iterations=300, burn_in=150, chains=2, random_state=1)
    top = model.fit(X, y).largest(3)["pattern"]
    assert top[0].startswith("P1=")
    assert ", P2=" in top[0]
    loci = {item.split("=")[0] for pattern in top for item in pattern.split(", ")}
    assert loci == {"P1", "P2"}


def test_a_narrow_terminal_shows_the_medians():
    X, y = data(n=200)
    names = [f"a feature with a rather long name, number {j}" for j in range(X.shape[1])]
    model = InteractionClassifier(2, iterations=100, burn_in=50, random_state=0)
    found = model.fit(pd.DataFrame(X, columns=names), y).largest(3)
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        assert "median" in str(found)


def test_names_of_groups_are_coordinates_of_their_coefficients():
    X, y = data(n=200)
    model = InteractionClassifier(2, iterations=100, burn_in=50, random_state=0).fit(X, y)
    names = model.get_feature_names_out()
    assert len(set(names)) == len(names) == model.compression_.n_groups
    first = model.largest(1).iloc[0]
    draws = model.draws_["posterior"]["coefficient"].sel(group=first["pattern"])
    assert float(draws.median()) == pytest.approx(first["median"], rel=1e-6)
    assert draws["set"].to_numpy().tolist() == [model.classes_[-1]]


def test_annotated_data_go_in():
    class Annotated:
        def __init__(self, X, names):
            self.X, self.var_names = X, names

    X, y = data(n=100)
    names = [f"locus-{j}" for j in range(X.shape[1])]
    model = InteractionClassifier(1, iterations=60, burn_in=20, random_state=0)
    plain = model.fit(pd.DataFrame(X, columns=names), y).predict_proba(
        pd.DataFrame(X, columns=names)
    )
    again = model.fit(Annotated(sparse.csr_matrix(X), names), y)
    assert np.array_equal(again.predict_proba(Annotated(X, names)), plain)
    assert list(again.feature_names_in_) == names
