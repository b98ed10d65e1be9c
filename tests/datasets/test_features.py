import gzip
import os
import tracemalloc
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from statistical import assert_calibrated, assert_proportions

from thesiskit.datasets import SOURCES
from thesiskit.datasets.features import (
    draw_interactions,
    draw_uniform,
    read_features,
    tic_tac_toe,
)
from thesiskit.datasets.source import MISSING, UNSEEN, FeatureTable
from thesiskit.errors import DataError
from thesiskit.study.patterns import folds


def data_file(name):
    path = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path


# ---- uniform features, and responses from their patterns ----


def test_uniform_features(rng):
    table = draw_uniform(rng, features=3, values=4, samples=20_000)
    assert (table.X.shape, table.X.dtype, table.response.dtype) == ((20_000, 3), "i2", "i4")
    code = table.X @ [16, 4, 1]
    assert_proportions(np.bincount(code, minlength=64), np.full(64, 1 / 64))
    assert (table.response == 0).all()
    assert table.features == ["x1", "x2", "x3"]
    assert table.values == [["1", "2", "3", "4"]] * 3
    with pytest.raises(DataError, match="values is 256; it must be at most 255"):
        draw_uniform(rng, features=1, values=256, samples=1)


def test_the_digest_knows_everything_that_counts():
    def table(x=0, y=0, feature="a", value="u", label="p", source=""):
        X = np.array([[x], [1]], dtype=np.int16)
        y = np.array([y, 1], dtype=np.int32)
        return FeatureTable(X, y, [feature], [[value, "v"]], [label, "q"], source=source)

    same = {table().digest, table(source="elsewhere").digest}
    assert len(same) == 1
    assert len(next(iter(same))) == 64
    changes = ({"x": 1}, {"y": 1}, {"feature": "b"}, {"value": "w"}, {"label": "r"})
    assert len({table(**change).digest for change in changes} | same) == 6


CAUCHY = {"features": 7, "values": 3, "order": 4, "samples": 5500, "train": 500}
SIGMA = np.array([0, 1, 1 / 2, 1 / 3, 1 / 4])


def test_responses_come_as_often_as_the_truth_says(rng):
    """Equation eqn-softmax-class."""
    table, truth = draw_interactions(rng, **CAUCHY, sigma=SIGMA)
    assert truth.shape == (5500, 2)
    np.testing.assert_allclose(truth.sum(axis=1), 1)
    for k in range(2):
        assert_calibrated(truth[:, k], table.response == k)
    assert table.classes == ["1", "2"]


def logits(truth):
    with np.errstate(divide="ignore"):
        log = np.log(truth)
    return log[:, 1] - log[:, 0]


def test_cauchy_coefficients_have_widths_that_add():
    rng = np.random.default_rng(2)
    sigma = np.array([0.1, 0.2, 0.3])
    width = 0.1 + 0.2 * 4 + 0.3 * 6
    found = []
    for _ in range(1500):
        _, truth = draw_interactions(
            rng, features=4, values=3, order=2, sigma=sigma, samples=60, train=60
        )
        found.append(abs(logits(truth)[0]) < width)
    assert abs(np.sum(found) - 750) < 4.5 * np.sqrt(1500) / 2


def test_draws_with_one_class_are_drawn_again(rng):
    for _ in range(30):
        table, _ = draw_interactions(
            rng, features=2, values=2, order=1, sigma=[2.0, 1.0], samples=9, train=2
        )
        assert set(table.response[:2]) == {0, 1}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"features": 0}, "features is 0; it must be at least 1"),
        ({"train": 1}, "train is 1; it must be from 2 to the 5500 samples"),
        ({"order": 0, "sigma": [1e9], "samples": 2, "train": 2}, "one class only"),
    ],
)
def test_models_that_cannot_be_drawn(rng, settings, words):
    with pytest.raises(DataError, match=words):
        draw_interactions(rng, **CAUCHY | {"sigma": SIGMA} | settings)


# ---- tic-tac-toe ----


def test_tic_tac_toe():
    table = tic_tac_toe()
    assert len(np.unique(table.X, axis=0)) == len(table.X) == 958
    assert np.bincount(table.response).tolist() == [332, 626]
    assert table.features[:3] == ["top-left", "top-middle", "top-right"]
    assert table.features[-1] == "bottom-right"
    square = table.X.reshape(-1, 3, 3) == 0
    diagonals = [np.diagonal(s, axis1=1, axis2=2).all(axis=1) for s in (square, square[:, ::-1])]
    lines = square.all(axis=1).any(axis=1) | square.all(axis=2).any(axis=1)
    np.testing.assert_array_equal(table.response, lines | diagonals[0] | diagonals[1])


def test_tic_tac_toe_is_the_published_table():
    frame = pd.read_csv(data_file("tictactoe.csv.gz"))
    table = tic_tac_toe()
    ours = ["".join("xob"[code] for code in row) for row in table.X]
    theirs = frame.drop(columns="y").agg("".join, axis=1)
    assert dict(zip(ours, table.response, strict=True)) == dict(zip(theirs, frame.y, strict=True))


# ---- the user's own table ----


def write(tmp_path, content, name="t.csv"):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path / name


TABLE = "size,colour,y\n10, red ,yes\n9,NA,no\n\n?,blue,yes\n10.0,red,no\n"


def assert_table(table):
    assert table.features == ["size", "colour"]
    assert table.values == [["9", "10"], ["blue", "red"]]
    assert table.classes == ["no", "yes"]
    assert table.X.tolist() == [[1, 1], [0, MISSING], [MISSING, 0], [1, 1]]
    assert table.response.tolist() == [1, 0, 1, 0]
    assert (table.X.dtype, table.response.dtype) == ("i2", "i4")


def test_tables_are_read(tmp_path):
    assert_table(read_features(write(tmp_path, TABLE), "y"))
    assert_table(read_features(write(tmp_path, TABLE.replace("\n", "\r\n")), "y"))
    assert_table(read_features(write(tmp_path, TABLE.replace(",", "\t"), "t.tsv"), "y"))
    packed = write(tmp_path, gzip.compress(TABLE.encode()), "t.csv.gz")
    assert_table(read_features(packed, "y"))
    assert read_features(packed, "y").source == "t.csv.gz"
    with_id = "id," + TABLE.replace("\n", "\nA,").replace("A,\n", "\n").removesuffix("A,")
    assert_table(read_features(write(tmp_path, with_id), "y", ignore=("id",)))
    other = read_features(write(tmp_path, TABLE), "y", missing=("red",))
    assert other.values[1] == ["blue"]


def test_labels_with_quotes_and_columns_without_values(tmp_path):
    table = read_features(write(tmp_path, 'a,b,y\n"1,5",,0\n"a ""b""",,1\n'), "y")
    assert table.values == [["1,5", 'a "b"'], []]
    assert table.X.tolist() == [[0, MISSING], [1, MISSING]]


def test_as_the_training_table(tmp_path):
    train = read_features(write(tmp_path, TABLE), "y")
    path = write(tmp_path, "y,colour,size\nyes,green,9.0\nyes,,11\nyes,red,1.5\n", "test.csv")
    test = read_features(path, "y", like=train)
    assert (test.features, test.values, test.classes) == (
        train.features,
        train.values,
        train.classes,
    )
    assert test.X.tolist() == [[0, UNSEEN], [UNSEEN, MISSING], [UNSEEN, 1]]
    assert test.response.tolist() == [1, 1, 1]
    for content, words in (
        ("y,colour\nyes,red\n", r"test.csv: there is no column 'size'; columns: colour"),
        ("y,colour,size,Id\nyes,red,9,1\n", "has no feature Id\nFix: data.ignore it"),
        ("y,colour,size\nyes,red,9\nmaybe,red,9\n", r"is 'maybe' in line 3, which no .*no, yes"),
    ):
        with pytest.raises(DataError, match=words):
            read_features(write(tmp_path, content, "test.csv"), "y", like=train)


labels = st.lists(st.sampled_from(["a", "B", "0", "1", "2", "-3", "x y", "é", ""]), min_size=3)


@given(st.lists(st.tuples(labels, st.booleans()), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, columns):
    samples = min(len(column) for column, _ in columns)
    frame = pd.DataFrame({f"f{j}": column[:samples] for j, (column, _) in enumerate(columns)})
    frame["y"] = ["one", "two", *["one"] * (samples - 2)]
    path = tmp_path_factory.mktemp("t") / "t.csv"
    frame.to_csv(path, index=False)
    table = read_features(path, "y")
    for j in range(len(columns)):
        values = np.array([*table.values[j], ""])  # MISSING is the last
        assert values[table.X[:, j]].tolist() == frame[f"f{j}"].tolist()
    assert [table.classes[code] for code in table.response] == frame["y"].tolist()


MANY = "a,y\n" + "".join(f"v{i},{i % 2}\n" for i in range(256))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "t.csv: empty. Fix: write a line of names"),
        ("\n \n", "empty"),
        ("a,y\n", "a line of names but no samples"),
        ("a,b\n1,2\n", "there is no column 'y'; columns: a, b"),
        ("y\n1\n2\n", "no features besides the response 'y'"),
        ("a,b,a,y\n", "two columns are named 'a'. Fix: rename one"),
        (",a,y\n", "column 1 has no name"),
        ("a,y\n1,0\n1,0,1\n", "line 3 has 3 cells, the line of names 2"),
        ("a,y\n1,0\n\n1\n", "line 4 has 1 cells"),
        ("a,y\n1,?\n1,NA\n", r"the response 'y' is missing in all samples \('\?', 'NA'\)"),
        (
            "a,y\n1,0\n2,0\n",
            "the response 'y' is '0' in all samples. Fix: choose a response with two classes",
        ),
        ("a,y\n1,0.5\n2,1.5\n", "response 'y' has real values .0.5.. Fix: cut"),
        ("a,y\n1,0\n2.5,1\n", "column 'a' has real values .2.5.. .* KBinsDiscretizer"),
        ("a,y\n-1e-3,0\n,1\n", "column 'a' has real values .-0.001."),
        (MANY, "column 'a' has 256 values, at most 255"),
        (
            'a,y\n"1,0\n2,1\n',
            "line 2: a quoted cell begins and does not end. Fix: correct",
        ),
        (b"a,y\n\xe9,1\n", "not UTF-8 text"),
        (
            "a,b,y\nr1,1,2,0\nr2,3,4,1\n",
            r"names of rows, as R writes them. Fix: write data.id: row.names",
        ),
        ("index,y\n0,a\n1,b\n2,b\n", "column 'index' contains sample numbers"),
        ("a b y\n1 2 0\n1 2\n", "line 1 has no comma and 2 spaces"),
        ('a,y\n"u\tv",0\n', r"column 'a': a value contains the control character '.t'"),
        ("a,y\n" + "u" * 5000 + ",0\n", "column 'a': a value has 5,000 characters"),
        ("g" * 1_000_000 + ",y\n1,0\n", "line 1 has a cell of more than 131,072 characters"),
        ("a,y\n1,0\n\0,1\n", "line 3 contains a NUL character"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, content, words):
    with pytest.raises(DataError, match=words) as caught:
        read_features(write(tmp_path, content), "y")
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    for name, content, words in (
        ("t.xls", "a", "cannot read .xls. Fix: use .csv, .tsv, .tab"),
        ("t.csv.gz", "a", "damaged, or not a gzip file"),
        ("t.csv.gz", gzip.compress(TABLE.encode())[:-9], "damaged, or not a gzip file"),
    ):
        with pytest.raises(DataError, match=words):
            read_features(write(tmp_path, content, name), "y")
    with pytest.raises(DataError, match=r"data.ignore has 'y', which is data.response"):
        read_features(write(tmp_path, TABLE), "y", ignore=("y",))
    assert (
        read_features(write(tmp_path, TABLE, "t.tsv"), "y").features
        == read_features(write(tmp_path, TABLE), "y").features
    )
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        read_features(tmp_path / "none.csv", "y")
    with pytest.raises(DataError, match="no response is given"):
        read_features(write(tmp_path, TABLE), None)
    with pytest.raises(DataError, match="there is no column 'sise'; did you mean 'size'"):
        read_features(write(tmp_path, TABLE), "y", ignore=("sise",))


def test_a_packed_table_that_would_fill_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("thesiskit.datasets.reading.TEXT_BYTES", 1 << 20)
    member = gzip.compress(b"1,0\n" * (1 << 18))  # members one after the other are one text
    path = write(tmp_path, gzip.compress(b"a,y\n") + member * 60, "t.csv.gz")
    tracemalloc.start()
    with pytest.raises(DataError, match="unpacks to more than 50 times its size"):
        read_features(path, "y")
    assert tracemalloc.get_traced_memory()[1] < 2 * (1 << 20) + 200 * path.stat().st_size
    tracemalloc.stop()
    assert 50 * path.stat().st_size + (1 << 21) < 60 * 4 * (1 << 18)


def test_255_values_are_read(tmp_path):
    table = read_features(write(tmp_path, MANY.rsplit("\n", 2)[0]), "y")
    assert len(table.values[0]) == 255
    assert table.X.max() == 254


# ---- published tables ----


def read_published(name, **keys):
    (table,) = SOURCES[name](source=name, **keys).read(Path())
    return table


def test_splice():
    table = read_published("splice")
    assert table.X.shape == (3190, 60)
    assert table.features == [f"{t:+d}" for t in range(-30, 31) if t]
    assert np.bincount(table.response).tolist() == [767, 768, 1655]
    assert (table.X == MISSING).sum() == 60
    donors = table.X[table.response == 0]
    # an intron starts with GT and ends with AG
    assert (donors[:, [30, 31]] == [2, 3]).all(axis=1).mean() > 0.95
    assert (table.X[table.response == 1][:, [28, 29]] == [0, 2]).all(axis=1).mean() > 0.95
    near = read_published("splice", window=2)
    assert near.features == ["-2", "-1", "+1", "+2"]
    np.testing.assert_array_equal(near.X, table.X[:, 28:32])


@pytest.mark.parametrize("window", [0, 31])
def test_windows_beyond_the_sequence(window):
    with pytest.raises(ValidationError, match=r"window\n.* should be (greater|less) than or equal"):
        read_published("splice", window=window)


def test_votes():
    table = read_published("votes")
    assert table.X.shape == (435, 16)
    assert np.bincount(table.response).tolist() == [267, 168]
    assert (table.X == MISSING).sum() == 392
    # of the votes of 1984 this one divides the parties best
    fee = table.X[:, table.features.index("physician-fee-freeze")]
    assert (fee[fee >= 0] == table.response[fee >= 0]).mean() > 0.95


# ---- folds ----


def test_folds_of_distinct_rows_are_even(rng):
    X = np.array(list(product(range(3), repeat=5)))  # 243 rows
    response = rng.choice(3, len(X), p=[0.6, 0.37, 0.03])
    found = folds(X, response, 10, rng)
    assert np.ptp(np.bincount(found, minlength=10)) <= 1
    for k in range(3):
        assert np.ptp(np.bincount(found[response == k], minlength=10)) <= 1
    again = folds(X, response, 10, rng)
    # of the pairs of one fold, a tenth meets again: 2,800 pairs, 280 expected
    pairs = [(a, b) for a, b in combinations(range(len(X)), 2) if found[a] == found[b]]
    assert 180 < sum(again[a] == again[b] for a, b in pairs) < 380


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2), st.integers(0, 2)), min_size=2),
    st.integers(2, 10),
    st.integers(0, 2**32),
)
def test_equal_rows_are_in_one_fold_and_none_is_empty(samples, k, seed):
    X, response = np.array(samples)[:, :2], np.array(samples)[:, 2]
    row = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    rng = np.random.default_rng(seed)
    if k > row.max() + 1:
        words = f"cannot form {k} folds of {row.max() + 1} distinct"
        with pytest.raises(DataError, match=words if row.max() else "have the same features"):
            folds(X, response, k, rng)
        return
    found = folds(X, response, k, rng)
    assert set(found) == set(range(k))
    for group in range(row.max() + 1):
        assert len(set(found[row == group])) == 1


def test_folds_of_the_splice_junctions_are_even(rng):
    table = read_published("splice")
    found = folds(table.X, table.response, 10, rng)
    assert np.ptp(np.bincount(found)) <= 3
    for k in range(3):
        assert np.ptp(np.bincount(found[table.response == k])) <= 2
    with pytest.raises(DataError, match="cannot form 1 folds"):
        folds(table.X, table.response, 1, rng)


def test_no_folds_of_one_row():
    with pytest.raises(DataError, match="all 6 samples have the same features, and equal samples"):
        folds(np.zeros((6, 3), dtype=np.uint8), np.arange(6) % 2, 2, np.random.default_rng(0))


def test_a_long_whole_number_is_not_called_real(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,y\n12345678901234567890,a\n12345678901234567891,b\n")
    with pytest.raises(DataError, match=r"column 'id' has a whole number of 20 digits"):
        read_features(path, "y")


def test_new_values_are_known_by_their_text_or_their_number(tmp_path):
    """A new column of numbers alone was unknown where one of training has a word among them."""
    train, new = tmp_path / "t.csv", tmp_path / "n.csv"
    for symbols in (["01", "02", "A1"], ["1.0", "2.0", "x"], ["FALSE", "TRUE", "maybe"]):
        train.write_text(
            "f,y\n" + "".join(f"{symbol},{k % 2}\n" for k, symbol in enumerate(symbols))
        )
        new.write_text("f\n" + "".join(f"{symbol}\n" for symbol in symbols[:2]))
        table = read_features(train, "y")
        assert table.values == [symbols]
        assert read_features(new, "y", like=table, new=True).X[:, 0].tolist() == [0, 1]
