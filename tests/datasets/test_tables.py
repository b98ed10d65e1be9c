import decimal
import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import ROOT

from thesiskit.datasets import SOURCES, published, reading
from thesiskit.datasets.features import read_features
from thesiskit.datasets.synthetic import draw_mixture
from thesiskit.datasets.tables import FileData, read_table
from thesiskit.errors import DataError


def table(n=12, p=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).round(3)
    y = np.arange(n) % 2
    return X, y, pd.DataFrame(X, columns=[f"g{j}" for j in range(p)]).assign(y=y)


def test_csv_and_parquet(tmp_path):
    X, y, frame = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        read = read_table(tmp_path / name, "y", ignore=("g2",))
        np.testing.assert_array_equal(read.features, X[:, [0, 1, 3]])
        assert read.names == ["g0", "g1", "g3"]
        assert (read.response == y).all()


def test_labels_become_classes(tmp_path):
    _, y, frame = table()
    frame["y"] = np.where(y == 1, "sick", "well")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert (read_table(tmp_path / "t.csv", "y", positive="sick").response == y).all()
    with pytest.raises(DataError, match=r"0 and 1, found sick, well.*data\.positive"):
        read_table(tmp_path / "t.csv", "y")
    with pytest.raises(DataError, match="no response is 'ill'"):
        read_table(tmp_path / "t.csv", "y", positive="ill")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(y=[1, 2] * 6), "must be 0 and 1, found 1, 2"),
        (
            lambda f: f.assign(y=[*range(7)] + [0] * 5),
            r"7 values .*for 12 samples.*gauss",
        ),
        (lambda f: f.assign(y=None), "response 'y' is missing in all samples"),
        (
            lambda f: f.assign(g1=list("abcdef") * 2),
            r"categorical: g1 .*'a'.*at most 20 categories",
        ),
        (lambda f: f.rename(columns={"y": "yy"}), "no column 'y'; did you mean 'yy'"),
        (lambda f: f[["y"]], "no features"),
    ],
)
def test_bad_tables(tmp_path, change, words):
    change(table()[2]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=words):
        read_table(tmp_path / "t.csv", "y")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    for name in ("t.xlsx", "x.npy", "t.bed"):
        (tmp_path / name).write_text("1 2")
    for name, response, words in [
        ("empty.csv", "y", "empty. Fix: write a line of names"),
        ("t.xlsx", "y", r"cannot read \.xlsx. Fix: use \.csv, .*save the sheet as \.csv"),
        ("none.csv", "y", "no such file"),
        ("x.npy", "y", r"cannot read \.npy. Fix: use \.csv"),
        ("t.bed", "y", r"no longer reads PLINK files\nFix: write data.source: plink"),
    ]:
        with pytest.raises(DataError, match=words):
            read_table(tmp_path / name, response)


# ---- what must not be believed ----


def csv(tmp_path, content, name="t.csv"):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path / name


WIDE = ";".join(f"gene{j}" for j in range(3000))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "a,b,y\nr1,1,2,0\nr2,3,4,1\n",
            r"names of rows, as R writes them. Fix: write data.id: row.names",
        ),
        ("a,b,y\n1,2,0,\n3,4,1,\n", "line 2 has 4 cells, .* 3. Fix: take the comma at its end out"),
        ("a,b,y\n1,2,0\n3,1\n", "line 3 has 2 cells, the line of names 3. Fix: correct the line"),
        ("a,y,y\n1,1,0\n2,0,1\n", "two columns are named 'y'. Fix: rename one of columns 2 and 3"),
        ("a,y, y\n1,1,0\n2,0,1\n", "two columns are named 'y'. Fix: rename one"),
        ("caf\u00e9,cafe\u0301,y\n1,1,0\n2,0,1\n", "two columns are named 'cafe"),
        ("a\u200b,a,y\n1,1,0\n2,0,1\n", "two columns are named 'a'"),
        (",a,y\n0,1,0\n1,2,1\n", r"column 1 has no name.*index=False.*\['Unnamed: 0'\]"),
        ("Unnamed: 0,a,y\n0,1,0\n1,2,1\n", "column 1 has no name"),
        (
            "index,a,y\n0,1,0\n1,5,1\n2,2,1\n",
            r"'index' contains sample numbers\. Fix: .*index=False",
        ),
        (
            "X,a,y\n1,1,0\n2,5,1\n3,2,1\n",
            r"column 'X' contains sample numbers\. Fix: .*row.names = FALSE",
        ),
        ("a;b;y\n1,5;2;0\n2;1,5;1\n", r"categorical: a, b .*'1,5' in line 2.*decimal point"),
        ("a b y\n1 2 0\n1 2\n", r"line 1 has no comma and 2 spaces.*save.*sep=' '"),
        (WIDE + "\n1\n", "no column 'y'; columns: gene0, gene1"),
        ("g" * 1_000_000 + ",y\n1,0\n", "line 1 has a cell of more than 131,072 characters, the"),
        ("g" * 5000 + ",y\n1,0\n", "the name of column 1 has 5,000 characters. Fix: rename it"),
        (
            '"a\nb",y\n1,0\n',
            r"name of column 1 contains the control character '.n' .*. Fix: rename",
        ),
        ('a,b,y\n"1,2,0\n3,4,1\n', "line 2: a quoted cell begins and does not end"),
        ("a,b,y\n1,2\x00,0\n", "line 2 contains a NUL character"),
        ("a\x00,b,y\n1,2,0\n", "line 1 contains a NUL character"),
        ("a,y\n1,0\n2,1\n".encode("utf-16"), "UTF-16 text. Fix: save it as UTF-8"),
        ('a,y\n"1,000",0\n2,1\n', r"categorical: a .*'1,000'.*no thousands separator"),
        ("a,y\n1_000,0\n2,1\n", r"categorical: a \(for example '1_000' in line 2\)"),
        ("a,y\n\u0661,0\n2,1\n", "categorical: a"),
        ("a,y\n0x1F,0\n2,1\n", "categorical: a .*'0x1F'"),
        ("a,y\ntrue,0\n2,1\n", "categorical: a .*'true' in line 2"),
        ("a,y\n2024-01-01,0\n2,1\n", "categorical: a .*'2024-01-01'"),
        ("a,y\n1e309,0\n2,1\n", "a value is infinite in sample 1, feature a"),
        (f"a,y\n{10**400},0\n2,1\n", "a value is infinite in sample 1, feature a"),
        ("a,b,y\n1,inf,0\n2,-Inf,1\n", r"is infinite in sample 1, feature b \(and 1 more\)"),
        ("a,y\n1,0\n2,1e400\n", "must be 0 and 1, found 0, inf"),
        ("a,y\n12%,0\n14%,1\n", "categorical: a .*'12%' in line 2.. Fix: write numbers without"),
        ("a,y\n<5,0\n7,1\n9,1\n", "line 2: '<5' in column 'a' is not a number. Fix: correct it"),
        ("p,a,y\nx,1,0\nz,2,1\nw,1,1\n", "categorical: p .*sample ID .data.id: p., or"),
        ("My table,,\na,b,y\n1,2,0\n", "no column 'y'; .*; line 2 has it: take the lines before"),
        ("a,b,Y\n1,2,0\n", "no column 'y'; did you mean 'Y'"),
        ("a,b\nr1,1,2\nr2,3,4\n", "no column 'y'; columns: row.names, a, b"),
        ("<html><body>404</body></html>\n", "it is not a table. Fix: save it as CSV"),
        ('{"a": [1, 2]}\n', "it is not a table. Fix: save it as CSV"),
        (b"PK\x03\x04" + bytes(30), "a zip archive or an Excel file. Fix: save the sheet as CSV"),
    ],
)
def test_tables_that_say_something_else_are_not_believed(tmp_path, content, words):
    with pytest.raises(DataError, match=words) as caught:
        read_table(csv(tmp_path, content), "y")
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_missing_values_are_counted(tmp_path):
    read = read_table(csv(tmp_path, "a,b,y\n1,#N/A,0\n2,4,1\nnan, ,1\n4,5,0\n"), "y")
    gap = np.nan
    np.testing.assert_array_equal(read.features, [[1, gap], [2, 4], [gap, gap], [4, 5]])
    assert read.missing == 3
    (note,) = read.notes
    assert note == "t.csv: 3 values are missing (37.5%), in 2 of 2 features and 2 of 4 samples"
    truth = read_table(csv(tmp_path, "a,y\nTrue,0\nNA,0\nFalse,1\n"), "y")
    np.testing.assert_array_equal(truth.features, [[1], [np.nan], [0]])


def test_forms_of_csv_that_are_read(tmp_path):
    plain = "a,b,y\n1,2.5,0\n-3e2,4,1\n"
    for content in (
        plain,
        "\ufeff" + plain,
        plain.replace("\n", "\r\n"),
        plain.replace("\n", "\r"),
        plain.replace("\n", "\n\n"),
        plain.replace(",", " , "),
        'a,"b",y\n"1","2.5",0\n-3e2, "4",1',
    ):
        read = read_table(csv(tmp_path, content), "y")
        assert read.features.tolist() == [[1, 2.5], [-300, 4]]
        assert (read.names, read.response.tolist()) == (["a", "b"], [0, 1])
    truth = read_table(csv(tmp_path, "a,y\nTrue,0\nFalse,1\n"), "y")
    assert truth.features.tolist() == [[1], [0]]
    numbered = csv(tmp_path, ",a,y\n0,7,0\n1,8,1\n")
    assert read_table(numbered, "y", ignore=("Unnamed: 0",)).features.tolist() == [[7], [8]]


def test_what_is_ignored_is_said_once_and_not_the_response(tmp_path):
    path = csv(tmp_path, "a,b,y\n1,2,0\n2,3,1\n")
    with pytest.raises(DataError, match=r"data.ignore has 'y', which is data.response"):
        read_table(path, "y", ignore=("a", "y"))
    with pytest.raises(DataError, match=r"data.ignore names 'a' twice"):
        read_table(path, "y", ignore=("a", "a"))


def test_an_index_of_parquet_is_left_out_by_word_only(tmp_path):
    frame = table()[2]
    for index, name in (
        (range(5, 17), "__index_level_0__"),
        (pd.Index(range(12), name="id"), "id"),
    ):
        frame.set_index(pd.Index(index)).to_parquet(tmp_path / "t.parquet", index=True)
        with pytest.raises(DataError, match=rf"\('{name}'\) is the table's index.*index=False"):
            read_table(tmp_path / "t.parquet", "y")
        read = read_table(tmp_path / "t.parquet", "y", ignore=(name,))
        assert read.names == ["g0", "g1", "g2", "g3"]


def test_parquet_with_two_columns_of_a_name(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [pyarrow.array([1.0, 2.0]), pyarrow.array([0, 1]), pyarrow.array([1, 0])]
    parquet.write_table(
        pyarrow.Table.from_arrays(columns, names=["a", "y", "y "]), tmp_path / "t.parquet"
    )
    with pytest.raises(DataError, match=r"two columns are named 'y'. Fix: rename one"):
        read_table(tmp_path / "t.parquet", "y")


def test_damaged_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    table(400)[2].to_parquet(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    flipped = bytearray(whole)
    for place in rng.integers(0, len(whole), 20):
        flipped[place] ^= 255
    for content in (b"", whole[:-9], whole[:3000], bytes(flipped)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"t\.parquet: damaged, or not Parquet") as caught:
            read_table(path, "y")
        assert len(str(caught.value)) < 400


def test_a_parquet_file_that_would_fill_the_memory(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    same = pyarrow.array(np.zeros(4_000_000, dtype=np.int8))
    names = [*(f"g{j}" for j in range(9)), "y"]
    found = pyarrow.Table.from_arrays([same] * 10, names=names)
    parquet.write_table(found, tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        read_table(tmp_path / "t.parquet", "y")


KINDS = ("t.csv", "t.parquet")


@pytest.mark.parametrize("name", KINDS)
def test_pipes_devices_and_folders_are_not_waited_for(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(DataError, match=rf"{name}: cannot be read: it is a pipe or a device"):
        read_table(path, "y")
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="it is a pipe or a device"):
        read_table(path, "y")
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="it is a folder"):
        read_table(path, "y")
    for none in (tmp_path / "none" / name, tmp_path / ("\0" + name)):
        with pytest.raises(DataError, match="no such file"):
            read_table(none, "y")


def test_breast_cancer():
    read = published.breast_cancer()
    assert read.features.shape == (569, 30)
    assert read.response.sum() == 212


# ---- the colon data ----


def test_colon_has_the_bits_of_the_published_standardised_table():
    read = published.colon()
    assert read.features.shape == (62, 2000)
    assert read.response.sum() == 40
    np.testing.assert_allclose(read.features.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(read.features.std(axis=1, ddof=1), 1, rtol=1e-12)
    bits = read.features > np.median(read.features, axis=0)
    assert (bits.sum(axis=0) == 31).all()  # no value ties with its median
    given = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "colon.csv.gz"
    if not given.exists():
        pytest.skip("the standardised table to compare with is not here")
    with gzip.open(given, "rt") as file:
        other = pd.read_csv(file)
    # its rows are in another order: match them by their nearest row of ours
    theirs = other.drop(columns="y").to_numpy()
    row = [int(np.abs(read.features - one).max(axis=1).argmin()) for one in theirs]
    assert sorted(row) == list(range(62))
    their_bits = theirs > np.median(theirs, axis=0)
    assert (bits[row] == their_bits).sum() == 124_000
    assert (read.response[row] == other["y"]).all()


def test_raw_intensities_give_other_bits():
    raw = published.colon("raw")
    assert raw.features.min() == 5.82
    standard = published.colon()
    a, b = (t.features > np.median(t.features, axis=0) for t in (raw, standard))
    assert (a == b).sum() == 93_531


def test_a_shipped_file_that_was_altered_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("thesiskit.datasets.published.FILES", tmp_path)
    path = tmp_path / "Alon1999.csv.gz"
    for content in (None, b"x", gzip.compress(b"another table")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError, match=r"Alon1999\.csv\.gz: .*. Fix: reinstall thesiskit"):
            published.colon()


def test_the_readme_of_the_data_names_every_shipped_file():
    text = (ROOT / "data" / "README.md").read_text()
    for file, sha256 in published.SHIPPED.items():
        assert sha256 in text
        assert file in text


@pytest.mark.parametrize(
    ("y", "positive"),
    [([1.0, 2.0], 2), (["Yes", "No"], "Yes"), ([True, False], True), ([2, 1], 1.0)],
)
def test_positive_finds_its_response(tmp_path, y, positive):
    frame = table()[2].assign(y=y * 6)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = read_table(tmp_path / "t.csv", "y", positive=positive).response
    assert list(found) == [int(str(v) == str(y[y.index(positive)])) for v in frame["y"]]


def test_positive_is_for_two_classes(tmp_path):
    table()[2].assign(y=["a", "b", "c"] * 4).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"3 values .* two\. .*remove data\.positive"):
        read_table(tmp_path / "t.csv", "y", positive="a")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "c", "a"], ("a", "b", "c")),
        ([10, 9, -1], ("-1", "9", "10")),
        ([0, 2, 1.5], ("0", "1.5", "2")),
        (["10", "x", "9"], ("10", "9", "x")),
        ([2, 1, 3, 0], ("0", "1", "2", "3")),
    ],
)
def test_more_than_two_values_are_a_class_each(tmp_path, y, classes):
    table()[2].assign(y=y * (12 // len(y))).to_csv(tmp_path / "t.csv", index=False)
    found = read_table(tmp_path / "t.csv", "y")
    assert found.classes == classes
    assert found.response.dtype == np.uint8
    assert [found.classes[code] for code in found.response[: len(y)]] == [f"{v}" for v in y]


def test_test_samples_have_the_classes_of_the_training_table(tmp_path):
    frame = table()[2]
    frame.assign(y=["b", "c", "a"] * 4).to_csv(tmp_path / "t.csv", index=False)
    source = FileData(source="file", path="t.csv", response="y", test_path="test.csv")
    for y, codes in ([["c", "a"], [2, 0]], [["b", "b"], [1, 1]]):
        frame.assign(y=y * 6).to_csv(tmp_path / "test.csv", index=False)
        train, test = source.read(tmp_path)
        assert test.classes == train.classes == ("a", "b", "c")
        assert test.response.tolist() == codes * 6
    frame.assign(y=["a", "d"] * 6).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match=r"'y' is 'd' in line 3, which no .*\(a, b, c\)"):
        source.read(tmp_path)
    frame.assign(y=[0, 1, 2] * 4).to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=[0, 1] * 6).to_csv(tmp_path / "test.csv", index=False)
    assert source.read(tmp_path)[1].response.tolist() == [0, 1] * 6
    frame.assign(y=[0, 1] * 6).to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=[0, 2] * 6).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(DataError, match=r"is '2' in line 3, which no training sample has \(0, 1\)"):
        source.read(tmp_path)


def test_odd_responses(tmp_path):
    frame = table()[2]
    frame.assign(y=pd.array([None, *([0, 1] * 5), 1], dtype="Int64")).to_parquet(
        tmp_path / "t.parquet"
    )
    read = read_table(tmp_path / "t.parquet", "y")
    assert read.response.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]
    np.testing.assert_array_equal(read.features, frame.to_numpy()[1:, :4])
    assert read.notes[0].endswith("t.parquet: 1 sample without a response dropped: row 1")
    (tmp_path / "h.csv").write_text("a,b,y\n")
    with pytest.raises(DataError, match="a line of names but no samples"):
        read_table(tmp_path / "h.csv", "y")


def test_mixture_data_have_the_right_proportions():
    """Equations prior-theta and prob-x."""
    rng = np.random.default_rng(6)
    drawn = draw_mixture(
        rng, features=3_000, alpha=2.0, response=(0.1, 0.9), train=(300, 100), test=(200, 200)
    )
    z = np.repeat([0, 1], (300, 100))
    y = drawn.train.response
    assert abs(y[z == 0].mean() - 0.1) < 0.08
    assert abs(y[z == 1].mean() - 0.9) < 0.13
    X = drawn.train.features
    assert X.shape == (400, 3_000)
    # Var(phi_0 - phi_1) = 2 E(theta (1 - theta)) / (alpha + 1), and the counts' own
    p = np.stack([X[z == c].mean(axis=0) for c in (0, 1)])
    spread = 2 * (1 / 6) / 3
    noise = (1 / 6) * (2 / 3) * (1 / 300 + 1 / 100)
    assert np.var(p[0] - p[1]) == pytest.approx(spread + noise, rel=0.1)


def test_mixture_data_without_counts_are_drawn_from_the_prior():
    """Equation prior-p."""
    sizes, agreement = [], []
    for seed in range(400):
        rng = np.random.default_rng([8, seed])
        drawn = draw_mixture(
            rng,
            features=1,
            alpha=5.0,
            response=lambda: 5.0,
            train=20,
            test=3,
            label_prior=(1.0, 3.0),
        )
        assert drawn.train.features.shape == (20, 1)
        assert drawn.test.features.shape == (3, 1)
        assert 0 < drawn.train.response.sum() < 20
        sizes.append(drawn.train.response.mean())
        agreement.append(drawn.test.response.mean())
    assert abs(np.mean(sizes) - 0.5) < 0.1
    assert np.corrcoef(sizes, agreement)[0, 1] > 0.5


def test_mixture_data_of_one_class_only():
    with pytest.raises(DataError, match="one class only"):
        draw_mixture(
            np.random.default_rng(0),
            features=2,
            alpha=1.0,
            response=(0.0, 0.0),
            train=5,
            test=1,
        )


@pytest.mark.parametrize("kind", ["list", "empty list", "struct", "map", "bytes", "dictionary"])
@pytest.mark.parametrize("role", ["feature", "response", "ignored"])
def test_a_parquet_column_whose_cells_are_no_cells_is_named(kind, role, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    odd = {
        "list": pa.array([[1.0, 2.0]] * 8),
        "empty list": pa.array([[]] * 8, pa.list_(pa.int8())),
        "struct": pa.array([{"u": 1}] * 8),
        "map": pa.array([[("u", 1)]] * 8, pa.map_(pa.string(), pa.int8())),
        "bytes": pa.array([b"a", b"\xff"] * 4),
        "dictionary": pa.array([b"a", b"\xff"] * 4).dictionary_encode(),
    }[kind]
    table = pa.table({"g": np.arange(8) % 3, "odd": odd, "y": ["a", "b"] * 4})
    parquet.write_table(table, tmp_path / "t.parquet")
    options = {"ignore": ["odd"]} if role == "ignored" else {}
    response = "odd" if role == "response" else "y"
    for read, more in ((read_table, {"positive": "b"}), (read_features, {})):
        if role == "ignored":
            found = read(tmp_path / "t.parquet", response, **more, **options)
            assert list(found.names if read is read_table else found.features) == ["g"]
            continue
        with pytest.raises(DataError, match=r"t\.parquet: column 'odd' contains .*data\.ignore"):
            read(tmp_path / "t.parquet", response, **more, **options)


def test_packed_text_is_read_no_further_than_a_table_goes(tmp_path, rng, monkeypatch):
    """Text that unpacks to 151 MB was read whole, and looked at, before it was refused."""
    monkeypatch.setattr(reading, "TEXT_BYTES", 2**19)
    member = gzip.compress(b"".join(rng.choice([b"0,1\n", b"1,0\n"], 20_000)) + b"0,1\n" * 2**17)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"g,y\n") + member * 4)
    times = 4 * 4 * (2**17 + 20_000) / path.stat().st_size
    assert 60 < times < 190
    tracemalloc.start()
    with pytest.raises(DataError, match=r"unpacks to more than 50 times its size"):
        read_table(path, "y")
    assert tracemalloc.get_traced_memory()[1] < 25e6  # bytes; without the limit 51e6
    tracemalloc.stop()


# ---- lines and cells as a person reads them ----


@pytest.mark.parametrize("blank", ['""', "\u00a0", "\x0c", ",,", ",,,,,"])
def test_lines_that_are_blank_to_a_person_are_no_samples(tmp_path, blank):
    path = tmp_path / "t.csv"
    lines = ["a,b,y", "1,2,0", "3,4,1", "5,6,0", "7,8,1"]
    wide = blank.count(",") > 1
    for places in ((5,), (5, 5)) if wide else ((1,), (2,), (2, 4, 4), (5,)):
        rows = lines.copy()
        for place in reversed(places):
            rows.insert(place, blank)
        path.write_text("\n".join(rows) + "\n")
        table = read_table(path, "y")
        assert table.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert table.response.tolist() == [0, 1, 0, 1]


def test_codes_of_missing_values_count_however_they_are_written(tmp_path):
    """Also beside words, with a decimal comma, in a response, and with spaces around."""
    path = tmp_path / "t.csv"
    path.write_text(
        "a,b,y\n1,u,1\n999.0,v, 999.00\n3,999,0\n4, none yet,1\n9.99e2,u,0\n5,v,1\n6,v,0\n"
    )
    table = read_table(path, "y", missing=("999", " none yet "))
    a, b = table.features.T.tolist()
    assert (a[:3], a[4]) == ([1, 3, 4], 5)
    assert np.isnan(a[3])
    assert np.isnan(b[1:3]).all()
    assert (table.response.tolist(), table.classes) == ([1, 0, 1, 0, 1, 0], ("0", "1"))
    path.write_text("a;y\n1,5;0\n999,0;1\n2,5;1\n")
    table = read_table(path, "y", missing=("999",), decimal=",")
    assert np.isnan(table.features[:, 0]).tolist() == [False, True, False]


def test_whole_numbers_that_no_float_has_are_told_apart(tmp_path):
    """Names and groups of 2^60 and more were one."""
    frame = pd.DataFrame({"id": 2**60 + np.arange(8), "g": np.arange(8.0), "y": [0, 1] * 4})
    frame["pat"] = 2**60 + np.arange(8) // 2
    for name, write in (("t.csv", frame.to_csv), ("t.parquet", frame.to_parquet)):
        write(tmp_path / name, index=False)
        data = {"path": name, "response": "y", "id": "id", "sample_groups": "pat"}
        source = SOURCES["file"].model_validate({"source": "file"} | data)
        (table,) = source.read(tmp_path)
        assert table.ids == [str(2**60 + i) for i in range(8)]
        assert len({*table.groups}) == 4


def test_rows_with_a_cell_more_are_rows_of_r_only_where_it_is_certain(tmp_path):
    path = tmp_path / "t.csv"
    for text in (
        "id,g,h,y\ns0,1.2,0.3,1,ok\ns1,1.2,.4,0,no\n",  # remarks without a name
        "g,h,y\n101,5,0.2,1\n98,5,0.2,0\n",  # a decimal comma
        'g; h; y\n1; 2; "1;x"\n2; 3; "0;y"\n',
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=r"line 2 has \d cells, the line of names \d"):
            read_table(path, "y")


def test_decimals_of_databases_are_numbers(tmp_path):
    cells = [decimal.Decimal("1.25"), None, decimal.Decimal(3), decimal.Decimal("-0.5")]
    pd.DataFrame({"g": cells, "y": [0, 1, 1, 0]}).to_parquet(tmp_path / "t.parquet", index=False)
    table = read_table(tmp_path / "t.parquet", "y")
    np.testing.assert_array_equal(table.features[:, 0], [1.25, np.nan, 3, -0.5])


@pytest.mark.parametrize("missing", [["7"], []])
def test_names_of_samples_are_never_missing(tmp_path, missing):
    frame = pd.DataFrame({"id": ["NA", "7", "x", "None"], "g": range(4), "y": [0, 1] * 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    for name in ("t.csv", "t.parquet"):
        table = read_table(tmp_path / name, "y", id="id", missing=tuple(missing))
        assert table.ids == ["NA", "7", "x", "None"]


def test_whole_numbers_beside_a_gap_are_told_apart(tmp_path):
    frame = pd.DataFrame({"g": range(9), "y": [0, 1, 1] * 3})
    frame["pat"] = pd.array([2**60 + i // 2 for i in range(8)] + [None], dtype="Int64")
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    data = {"source": "file", "path": "t.parquet", "response": "y", "sample_groups": "pat"}
    (table,) = SOURCES["file"].model_validate(data).read(tmp_path)
    assert len({*table.groups} - {""}) == 4


def test_text_in_the_last_line_of_a_large_table(tmp_path, monkeypatch):
    monkeypatch.setattr("thesiskit.datasets.reading.ROWS", 7)
    lines = [f"{k},{k / 2},{k},{k % 2}" for k in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y", *lines, "1,NA,x9,1"]) + "\n")
    with pytest.raises(DataError, match="line 102: 'x9' in column 'c' is not a number"):
        read_table(tmp_path / "t.csv", "y")


def test_counts_without_names_are_not_searched_for_long(tmp_path):
    """The search for HTSeq's last lines took the square of the number of lines."""
    path = tmp_path / "t.tsv"
    path.write_text("".join(f"gene{k}\t{k % 2}\n" for k in range(200_000)))
    with pytest.raises(DataError):
        read_table(path, "y")
    path.write_text("gene1\t5\r\ngene2\t7\r\n__no_feature\t3\r\n")
    with pytest.raises(DataError, match="HTSeq"):
        read_table(path, "y")


@pytest.mark.parametrize("cell", ["++inf", "+-inf", "1" * 400])
def test_odd_numbers_are_no_raw_errors(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"g,y\n1,0\n2,1\n{cell},0\n3,1\n4,1\n5,0\n")
    with pytest.raises(DataError):
        read_table(tmp_path / "t.csv", "y")
