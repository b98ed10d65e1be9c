"""AnnData files, as anndata 0.12 lays them out."""

import os
import signal
import time

import h5py
import numpy as np
import pytest
from scipy import sparse

from thesiskit.datasets import SOURCES, reading
from thesiskit.errors import DataError

X = np.array([[0, 1.5, 0, 2], [3, 0, 0, 0], [0, 0, 4, 1], [1, 1, 0, 0]], dtype=np.float32)
TEXT = h5py.string_dtype()


def source(**keys):
    keys = {"path": "t.h5ad", "response": "status", "positive": "sick"} | keys
    return SOURCES["file"].model_validate({"source": "file", **keys})


def frame(file, name, index, **columns):
    """Write a table of anndata: an array is a plain column, a list of texts a categorical one."""
    group = file.create_group(name)
    group.attrs.update({"encoding-type": "dataframe", "_index": "_index"})
    group.attrs["column-order"] = np.array(list(columns), dtype=TEXT)
    group.create_dataset("_index", data=index, dtype=TEXT)
    for column, values in columns.items():
        if isinstance(values, np.ndarray):
            group.create_dataset(column, data=values)
            continue
        held = sorted({one for one in values if one is not None})
        inner = group.create_group(column)
        inner.attrs["encoding-type"] = "categorical"
        inner.create_dataset("categories", data=held, dtype=TEXT)
        codes = [-1 if one is None else held.index(one) for one in values]
        inner.create_dataset("codes", data=np.array(codes, dtype=np.int8))


def write(folder, matrix=X, name="t.h5ad", status=("sick", "well", "sick", "well"), **columns):
    with h5py.File(folder / name, "w") as file:
        if sparse.issparse(matrix):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{matrix.format}_matrix", "shape": matrix.shape})
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(matrix, part))
        else:
            file.create_dataset("X", data=matrix)
        frame(file, "obs", [f"cell{j}" for j in range(4)], status=list(status), **columns)
        frame(file, "var", [f"g{j}" for j in range(4)])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_dense_and_sparse_matrices(tmp_path, form):
    write(tmp_path, form(X))
    (table,) = source().read(tmp_path)
    np.testing.assert_array_equal(table.features, X)
    assert (table.names, table.ids) == ([f"g{j}" for j in range(4)], [f"cell{j}" for j in range(4)])
    assert (table.response.tolist(), table.classes) == ([1, 0, 1, 0], ("well", "sick"))
    (part,) = source(ignore=["g1"]).read(tmp_path)
    np.testing.assert_array_equal(part.features, X[:, [0, 2, 3]])


def test_columns_of_every_form(tmp_path):
    write(tmp_path, age=np.array([1, 0, 0, 1]), old=np.array([True, False, True, True]),
          code=["0", "1", "1", "0"], donor=["u", "v", "w", "x"])  # fmt: skip
    for name, y in (("age", [1, 0, 0, 1]), ("old", [1, 0, 1, 1]), ("code", [0, 1, 1, 0])):
        (table,) = source(response=name, positive=None).read(tmp_path)
        assert table.response.tolist() == y
    (table,) = source(id="donor").read(tmp_path)
    assert table.ids == ["u", "v", "w", "x"]
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        group = file["obs"].create_group("nullable")
        group.create_dataset("values", data=np.array([1, 0, 1, 0]))
        group.create_dataset("mask", data=np.zeros(4, dtype=bool))
        file["obs"].attrs["column-order"] = np.array(["nullable"], dtype=TEXT)
    (table,) = source(response="nullable", positive=None).read(tmp_path)
    assert table.response.tolist() == [1, 0, 1, 0]


def test_an_index_of_nullable_text(tmp_path):
    write(tmp_path)
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        for name in ("obs", "var"):
            names = file[name]["_index"].asstr()[()]
            del file[name]["_index"]
            group = file[name].create_group("_index")
            group.create_dataset("values", data=names, dtype=TEXT)
            group.create_dataset("mask", data=np.zeros(4, dtype=bool))
    (table,) = source().read(tmp_path)
    assert (table.ids[3], table.names[3]) == ("cell3", "g3")


def test_new_cells_and_labels(tmp_path):
    write(tmp_path)
    data = source()
    (table,) = data.read(tmp_path)
    write(tmp_path, X[::-1].copy(), "new.h5ad")
    new = data.read_new(tmp_path / "new.h5ad", table)
    np.testing.assert_array_equal(new.features, X[::-1])
    assert "the response 'status' of new cases is not used" in new.notes[0]
    (tmp_path / "new.csv").write_text("g3,g2,g1,g0\n1,2,3,4\n")
    assert data.read_new(tmp_path / "new.csv", table).features.tolist() == [[4, 3, 2, 1]]
    (tmp_path / "labels.csv").write_text("cell,y\ncell3,1\ncell2,0\ncell1,1\ncell0,0\n")
    (table,) = source(labels="labels.csv", response="y", positive=None).read(tmp_path)
    assert table.response.tolist() == [0, 1, 0, 1]


def links_elsewhere(file):
    del file["X"]
    file["X"] = h5py.ExternalLink("other.h5ad", "X")


def another_shape(file):
    del file["X"]
    file["X"] = X[:3]


def old(file):
    del file["obs"]
    file["obs"] = np.zeros(4, dtype=[("index", "S4"), ("status", "i4")])


def same_names(file):
    file["var/_index"][1] = "g0"


def words(file):
    del file["X"]
    file.create_dataset("X", data=[["a"] * 4] * 4, dtype=TEXT)


def codes(file):
    file["obs/status/codes"][0] = 9


@pytest.mark.parametrize(
    ("change", "keys", "said"),
    [
        (links_elsewhere, {}, "X is a link to something else"),
        (another_shape, {}, r"X has shape \(3, 4\), and obs and var have other lengths"),
        (old, {}, "old form; write it again with anndata 0.8 or later"),
        (same_names, {}, "two variables are called 'g0'; rename one of variables 1 and 2"),
        (words, {}, "X must be a matrix of numbers"),
        (codes, {}, "the codes of 'status' are damaged"),
        (lambda file: file.pop("var"), {}, "it has no var; write it again"),
        (lambda file: None, {"response": "state"}, "no column 'state'; did you mean 'status'"),
        (lambda file: None, {"response": None}, "say which column is the response"),
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
    with pytest.raises(DataError, match=r"4 cases and 1,000,000,000 variables needs 16\.0 GB"):
        source().read(tmp_path)
    write(tmp_path, status=["sick", None, "well", "sick"])
    with pytest.raises(DataError, match="the response is missing in case 2"):
        source().read(tmp_path)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_flipped_bytes_are_refused_or_harmless(tmp_path, form, monkeypatch):
    monkeypatch.setattr(reading, "PATIENCE", 2)  # some make the HDF5 library loop
    rng = np.random.default_rng(0)
    write(tmp_path, form(X))
    whole = (tmp_path / "t.h5ad").read_bytes()
    refused = []
    for _ in range(40):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), int(rng.integers(1, 8))):
            changed[place] = int(rng.integers(256))
        (tmp_path / "t.h5ad").write_bytes(bytes(changed))
        try:
            source().read(tmp_path)
        except DataError as error:
            refused.append(str(error))
    assert refused
    assert max(map(len, refused)) < 400


@pytest.mark.parametrize("fault", [lambda: os.kill(os.getpid(), signal.SIGKILL),
                                   lambda: time.sleep(9)])  # fmt: skip
def test_a_library_that_crashes_or_loops_is_survived(tmp_path, fault, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(reading, "PATIENCE", 1)
    monkeypatch.setattr(h5py, "File", lambda *_: fault())
    with pytest.raises(DataError, match="damaged: it cannot be read to its end"):
        source().read(tmp_path)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix])
def test_a_sparse_matrix_has_each_value_once(tmp_path, form):
    held = form(X)
    held.indices[:2], held.data[:2] = held.indices[1::-1].copy(), held.data[1::-1].copy()
    write(tmp_path, held)  # in another order: that is allowed
    np.testing.assert_array_equal(source().read(tmp_path)[0].features, X)
    held.indices[1] = held.indices[0]
    write(tmp_path, held)
    with pytest.raises(DataError, match="X says 1 value twice"):
        source().read(tmp_path)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_complex_values_are_no_numbers_of_a_table(tmp_path, form):
    write(tmp_path, form(X + 1j))
    with pytest.raises(DataError, match="X must be a matrix of numbers, got complex"):
        source().read(tmp_path)
