"""AnnData files, as the package anndata writes them."""

import os
import signal
import sys
import time

import h5py
import numpy as np
import pandas as pd
import pytest
from anndata_files import write_anndata, write_anndata_07
from scipy import sparse

from thesiskit.datasets import SOURCES, reading
from thesiskit.datasets.tables import read_table
from thesiskit.errors import DataError

X = np.array([[0, 1.5, 0, 2], [3, 0, 0, 0], [0, 0, 4, 1], [1, 1, 0, 0]], dtype=np.float32)
OBS = [f"cell{i}" for i in range(4)]


def source(**keys):
    keys = {"path": "t.h5ad", "response": "status", "positive": "sick"} | keys
    return SOURCES["file"].model_validate({"source": "file", **keys})


def write(folder, matrix=X, name="t.h5ad", status=("sick", "well", "sick", "well"), **columns):
    obs = pd.DataFrame({"status": pd.Categorical(status), **columns}, index=OBS)
    var = pd.DataFrame(index=[f"g{j}" for j in range(4)])
    write_anndata(folder / name, matrix, obs, var)


def test_the_package_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "t.h5ad").touch()
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    with pytest.raises(DataError, match=r"Fix: pip install 'thesiskit\[anndata\]'"):
        source().read(tmp_path)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_matrices(tmp_path, form):
    write(tmp_path, form(X))
    (table,) = source().read(tmp_path)
    np.testing.assert_array_equal(table.features, X)
    assert (table.names, table.ids) == ([f"g{j}" for j in range(4)], OBS)
    assert (table.response.tolist(), table.classes) == ([1, 0, 1, 0], ("well", "sick"))
    (part,) = source(ignore=["g1"]).read(tmp_path)
    np.testing.assert_array_equal(part.features, X[:, [0, 2, 3]])


def test_columns_of_every_form(tmp_path):
    write(tmp_path, age=[1, 0, 0, 1], old=[True, False, True, True],
          code=pd.Categorical(["0", "1", "1", "0"]), donor=["u", "v", "w", "x"],
          nullable=pd.array([1, 0, 1, 0], dtype="Int64"))  # fmt: skip
    for name, y in (("age", [1, 0, 0, 1]), ("old", [1, 0, 1, 1]), ("code", [0, 1, 1, 0]),
                    ("nullable", [1, 0, 1, 0])):  # fmt: skip
        (table,) = source(response=name, positive=None).read(tmp_path)
        assert table.response.tolist() == y
    (table,) = source(id="donor").read(tmp_path)
    assert table.ids == ["u", "v", "w", "x"]


def test_new_cells_and_labels(tmp_path):
    write(tmp_path)
    data = source()
    (table,) = data.read(tmp_path)
    write(tmp_path, X[::-1].copy(), "new.h5ad")
    new = data.read_new(tmp_path / "new.h5ad", table)
    np.testing.assert_array_equal(new.features, X[::-1])
    assert "the response 'status' of new samples is not used" in new.notes[0]
    (tmp_path / "new.csv").write_text("g3,g2,g1,g0\n1,2,3,4\n")
    assert data.read_new(tmp_path / "new.csv", table).features.tolist() == [[4, 3, 2, 1]]
    (tmp_path / "labels.csv").write_text("cell,y\ncell3,1\ncell2,0\ncell1,1\ncell0,0\n")
    (table,) = source(labels="labels.csv", response="y", positive=None).read(tmp_path)
    assert table.response.tolist() == [0, 1, 0, 1]


def links_elsewhere(file):
    del file["X"]
    file["X"] = h5py.ExternalLink("other.h5ad", "X")


def links_below(file):
    del file["obs/status"]
    file["obs/status"] = h5py.SoftLink("/obs/other")


def put(file, matrix, **options):
    del file["X"]
    held = file.create_dataset("X", data=matrix, **options)
    held.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def another_shape(file):
    put(file, X[:3])


def same_names(file):
    file["var/_index"][1] = "g0"


def words(file):
    put(file, [["a"] * 4] * 4, dtype=h5py.string_dtype())
    file["X"].attrs["encoding-type"] = "string-array"


def complex_numbers(file):
    put(file, X + 1j)


def bomb(file):
    put(file, np.zeros((6_000, 6_000)), compression="gzip")


@pytest.mark.parametrize(
    ("change", "keys", "said"),
    [
        (links_elsewhere, {}, "X is a link to something else"),
        (links_below, {}, "obs is a link to something else"),
        (another_shape, {}, r"X has shape \(3, 4\), and obs and var have other lengths"),
        (same_names, {}, "two variables are named 'g0'. Fix: rename one of variables 1 and 2"),
        (words, {}, "X must be a matrix of numbers"),
        (complex_numbers, {}, "X must be a matrix of numbers"),
        (bomb, {}, "unpacks to more than"),
        (lambda file: file.pop("var"), {}, "it has no var\nFix: save it again"),
        (lambda file: None, {"response": "state"}, "no column 'state'; did you mean 'status'"),
        (lambda file: None, {"response": None}, "no response is given"),
        (lambda file: None, {"ignore": ["g9"]}, "no column 'g9'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, change, keys, said):
    write(tmp_path)
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        change(file)
    with pytest.raises(DataError, match=said) as caught:
        source(**keys).read(tmp_path)
    assert len(str(caught.value)) < 400


def test_damaged_files(tmp_path):
    write(tmp_path, sparse.csr_matrix(X))
    whole = (tmp_path / "t.h5ad").read_bytes()
    for content in (b"", b"a,b\n1,2\n", whole[:900], whole[: len(whole) // 2]):
        (tmp_path / "t.h5ad").write_bytes(content)
        with pytest.raises(DataError, match="damaged, or not AnnData"):
            source().read(tmp_path)
    write(tmp_path, sparse.csr_matrix(X))
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        file["X/indices"][0] = 77
    with pytest.raises(DataError, match="damaged, or not AnnData"):
        source().read(tmp_path)
    write(tmp_path, sparse.csr_matrix(X))
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        file["X"].attrs["shape"] = (4, 10**9)
    with pytest.raises(DataError, match=r"its 4 x 1,000,000,000 values take 16\.0 GB"):
        source().read(tmp_path)
    write(tmp_path, status=["sick", None, "well", "sick"])
    (table,) = source().read(tmp_path)
    assert table.ids == ["cell0", "cell2", "cell3"]
    assert table.notes[0].endswith("1 sample without a response dropped: cell1")


@pytest.mark.parametrize("fault", [lambda: os.kill(os.getpid(), signal.SIGKILL),
                                   lambda: time.sleep(9)])  # fmt: skip
def test_a_library_that_crashes_or_loops_is_survived(tmp_path, fault, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(reading, "PATIENCE", 1)
    monkeypatch.setattr(h5py, "File", lambda *_: fault())
    with pytest.raises(DataError, match="damaged: the end is missing"):
        source().read(tmp_path)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix])
def test_a_sparse_matrix_has_each_value_once(tmp_path, form):
    held = form(X)
    held.indices[:2], held.data[:2] = held.indices[1::-1].copy(), held.data[1::-1].copy()
    write(tmp_path, held)  # in another order: that is allowed
    np.testing.assert_array_equal(source().read(tmp_path)[0].features, X)
    held.indices[1] = held.indices[0]
    write(tmp_path, held)
    with pytest.raises(DataError, match="X has 1 value twice"):
        source().read(tmp_path)


def test_categories_that_refer_to_another_file_are_refused(tmp_path):
    """A file of version 0.7 refers to its words by address; these lay in a text beside it."""
    h5py = pytest.importorskip("h5py")
    obs = pd.DataFrame({"status": ["a", "b"] * 3}, index=[*"uvwxyz"])
    var = pd.DataFrame(index=["g"])
    write_anndata_07(tmp_path / "t.h5ad", np.arange(6.0)[:, None], obs, var)
    (tmp_path / "secret.txt").write_bytes(b"SECRET01SECRET02")
    with h5py.File(tmp_path / "t.h5ad", "a") as file:
        outside = [(str(tmp_path / "secret.txt"), 0, 16)]
        file.create_dataset("words", shape=(2,), dtype="S8", external=outside)
        file["obs/status"].attrs["categories"] = file["words"].ref
    with pytest.raises(DataError, match="obs is a link to something else"):
        read_table(tmp_path / "t.h5ad", "status", positive="a")


def test_filling_and_lengths_are_bounded_before_they_are_read(tmp_path):
    """A small file can stand for many texts: each that was not written is the filling."""
    write(tmp_path)
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        held = dict(file["obs/_index"].attrs)
        del file["obs/_index"]
        options = {"dtype": h5py.string_dtype(), "fillvalue": "a" * 50_000}
        file["obs"].create_dataset("_index", (10**6,), **options).attrs.update(held)
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        source().read(tmp_path)


@pytest.mark.parametrize(("place", "value"), [("shape", [np.inf, 4]), ("codes", 255)])
def test_numbers_of_a_file_that_are_no_places(tmp_path, place, value):
    write(tmp_path, sparse.csr_matrix(X))
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        if place == "shape":
            file["X"].attrs["shape"] = value
        else:
            held = dict(file["obs/status/codes"].attrs)
            del file["obs/status/codes"]
            codes = np.array([0, 1, value, 1], dtype=np.uint8)
            file["obs/status"].create_dataset("codes", data=codes).attrs.update(held)
    with pytest.raises(DataError, match="damaged, or not AnnData"):
        source().read(tmp_path)
