import gzip
import os

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from thesiskit.datasets import files, gene_expression
from thesiskit.datasets.files import read_table
from thesiskit.datasets.synthetic import draw_mixture
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


def test_npz_and_memory_mapped_npy(tmp_path):
    X, y, _ = table()
    np.savez(tmp_path / "t.npz", X=X, y=y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    assert (read_table(tmp_path / "t.npz", None).features == X).all()
    read = read_table(tmp_path / "x.npy", "y.npy")
    assert isinstance(read.features, np.memmap)
    assert (read.response == y).all()


def test_plink_bed(tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    genotypes = np.random.default_rng(1).integers(0, 3, size=(10, 6)).astype("int8")
    properties = {"pheno": ["1", "2"] * 5, "sid": [f"rs{j}" for j in range(6)]}
    bed_reader.to_bed(tmp_path / "t.bed", genotypes, properties=properties)
    read = read_table(tmp_path / "t.bed", None, ignore=("rs2",))
    assert (read.features == np.delete(genotypes, 2, axis=1)).all()
    assert list(read.response) == [0, 1] * 5
    genotypes[3, 4] = -127
    bed_reader.to_bed(tmp_path / "m.bed", genotypes, properties=properties)
    with pytest.raises(DataError, match="1 genotypes are missing, first in case 4, rs4"):
        read_table(tmp_path / "m.bed", None)


def test_labels_become_classes(tmp_path):
    _, y, frame = table()
    frame["y"] = np.where(y == 1, "sick", "well")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert (read_table(tmp_path / "t.csv", "y", positive="sick").response == y).all()
    with pytest.raises(DataError, match=r"0 and 1, found sick, well; .*data\.positive"):
        read_table(tmp_path / "t.csv", "y")
    with pytest.raises(DataError, match="no response is 'ill'"):
        read_table(tmp_path / "t.csv", "y", positive="ill")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(y=[0, 1, 2] * 4), "must be 0 and 1, found 0, 1, 2"),
        (lambda f: f.assign(y=[None, *[0, 1] * 5, 1]), "response is missing in case 1"),
        (lambda f: f.assign(g1=["a", "b"] * 6), r"categorical: g1 .*'a'.*get_dummies"),
        (lambda f: f.rename(columns={"y": "yy"}), "no column 'y'; did you mean 'yy'"),
        (lambda f: f[["y"]], "no features"),
    ],
)
def test_bad_tables(tmp_path, change, words):
    change(table()[2]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=words):
        read_table(tmp_path / "t.csv", "y")


def test_files_that_cannot_be_read(tmp_path):
    X, y, _ = table(400, 50)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    for name in ("t.npz", "x.npy"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match=f"{name}: damaged"):
            read_table(tmp_path / name, None if name == "t.npz" else "y.npy")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "t.txt").write_text("1 2")
    np.savez(tmp_path / "other.npz", A=X)
    for name, response, words in [
        ("empty.csv", "y", "damaged, or not a table"),
        ("t.txt", "y", r"cannot read \.txt; use \.csv"),
        ("none.csv", "y", "there is no such file"),
        ("other.npz", None, "no array 'X'; it holds A"),
        ("x.npy", None, "name the .npy file"),
    ]:
        with pytest.raises(DataError, match=words):
            read_table(tmp_path / name, response)


def test_lengths_that_differ(tmp_path):
    X, y, _ = table()
    np.savez(tmp_path / "t.npz", X=X, y=y[:-1])
    with pytest.raises(DataError, match="12 rows of features but 11 responses"):
        read_table(tmp_path / "t.npz", None)


def test_breast_cancer():
    read = files.breast_cancer()
    assert read.features.shape == (569, 30)
    assert read.response.sum() == 212


# ---- the colon data ----


def test_colon_has_the_bits_of_the_published_standardised_table(colon_file):
    read = gene_expression.colon()
    assert read.features.shape == (62, 2000)
    assert read.response.sum() == 40
    np.testing.assert_allclose(read.features.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(read.features.std(axis=1, ddof=1), 1, rtol=1e-12)
    bits = read.features > np.median(read.features, axis=0)
    assert (bits.sum(axis=0) == 31).all()  # no value ties with its median
    published = colon_file.parent / "colon.csv.gz"
    if not published.exists():
        pytest.skip("the standardised table to compare with is not here")
    with gzip.open(published, "rt") as file:
        other = pd.read_csv(file)
    # its rows are in another order: match them by their nearest row of ours
    theirs = other.drop(columns="y").to_numpy()
    row = [int(np.abs(read.features - one).max(axis=1).argmin()) for one in theirs]
    assert sorted(row) == list(range(62))
    their_bits = theirs > np.median(theirs, axis=0)
    assert (bits[row] == their_bits).sum() == 124_000
    assert (read.response[row] == other["y"]).all()


def test_raw_intensities_give_other_bits(colon_file):
    raw = gene_expression.colon("raw")
    assert raw.features.min() == 5.82
    standard = gene_expression.colon()
    a, b = (t.features > np.median(t.features, axis=0) for t in (raw, standard))
    assert (a == b).sum() == 93_531


def test_without_network_the_error_says_what_to_put_where(no_data):
    with pytest.raises(DataError) as caught:
        gene_expression.fetch(gene_expression.COLON)
    message = str(caught.value)
    assert gene_expression.COLON.url in message
    assert str(no_data / "Alon1999.csv") in message
    assert "THESISKIT_DATA_DIR" in message


def test_an_altered_file_is_named_or_set_aside_and_fetched_again(
    no_data, tmp_path, monkeypatch, colon_file
):
    good = colon_file.read_bytes()

    # in the user's folder: named, never touched
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "Alon1999.csv").write_bytes(good[:-10])
    monkeypatch.setenv("THESISKIT_DATA_DIR", str(mine))
    with pytest.raises(DataError, match=r"mine/Alon1999\.csv: not the file expected"):
        gene_expression.fetch(gene_expression.COLON)
    monkeypatch.delenv("THESISKIT_DATA_DIR")

    # in the cache: kept aside, fetched again
    no_data.mkdir()
    (no_data / "Alon1999.csv").write_bytes(good[:-10])
    path = gene_expression.fetch(
        gene_expression.COLON, download=lambda _, target: target.write_bytes(good)
    )
    assert path.read_bytes() == good
    assert (no_data / "Alon1999.csv.damaged").read_bytes() == good[:-10]

    # what comes from the network is wrong: kept aside, refused
    path.unlink()
    with pytest.raises(DataError, match="is not the file expected"):
        gene_expression.fetch(
            gene_expression.COLON, download=lambda _, target: target.write_bytes(b"<html>")
        )
    assert not path.exists()
    assert (no_data / "Alon1999.csv.damaged").read_bytes() == b"<html>"


def test_the_pinned_file_is_the_one_the_readme_names():
    text = (ROOT / "data" / "README.md").read_text()
    assert gene_expression.COLON.sha256 in text
    assert gene_expression.COLON.file in text


def test_the_data_folder_of_the_environment_comes_first(colon_file):
    folder = os.environ.get("THESISKIT_DATA_DIR")
    if folder:
        assert str(colon_file.parent) == str(folder)


def test_phenotypes_that_are_missing(tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    genotypes = np.random.default_rng(1).integers(0, 3, size=(4, 3)).astype("int8")
    bed_reader.to_bed(tmp_path / "t.bed", genotypes, properties={"pheno": ["1", "2", "-9", "2"]})
    for positive in (None, "2", 2):
        with pytest.raises(DataError, match="phenotype is missing in case 3"):
            read_table(tmp_path / "t.bed", None, positive=positive)
    with pytest.raises(DataError, match="no column 'rs9'"):
        read_table(tmp_path / "t.bed", None, ignore=("rs9",))


@pytest.mark.parametrize(
    ("y", "positive"),
    [([1.0, 2.0], 2), (["Yes", "No"], "Yes"), ([True, False], True), ([2, 1], 1.0)],
)
def test_positive_finds_its_response(tmp_path, y, positive):
    frame = table()[2].assign(y=y * 6)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = read_table(tmp_path / "t.csv", "y", positive=positive).response
    assert list(found) == [int(str(v) == str(y[y.index(positive)])) for v in frame["y"]]


def test_three_classes_are_refused_with_positive_too(tmp_path):
    table()[2].assign(y=["a", "b", "c"] * 4).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="the response has 3 values"):
        read_table(tmp_path / "t.csv", "y", positive="a")


def test_odd_responses(tmp_path):
    X, y, frame = table()
    np.savez(tmp_path / "t.npz", X=X, y=y[:, None])
    with pytest.raises(DataError, match="must be a vector"):
        read_table(tmp_path / "t.npz", None)
    frame.assign(y=pd.array([None, *([0, 1] * 5), 1], dtype="Int64")).to_parquet(
        tmp_path / "t.parquet"
    )
    with pytest.raises(DataError, match="response is missing in case 1"):
        read_table(tmp_path / "t.parquet", "y")
    (tmp_path / "h.csv").write_text("a,b,y\n")
    with pytest.raises(DataError, match="a header but no cases"):
        read_table(tmp_path / "h.csv", "y")


def test_mixture_data_have_the_right_proportions():
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
    with pytest.raises(DataError, match="one class 10,000 times"):
        draw_mixture(
            np.random.default_rng(0),
            features=2,
            alpha=1.0,
            response=(0.0, 0.0),
            train=5,
            test=1,
        )
