"""Genotypes of PLINK files: what is unpacked, what is refused, and predictions of new samples."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail
from plink_files import write_plink as write

from thesiskit.config import load_config
from thesiskit.datasets import SOURCES, checking
from thesiskit.datasets.source import MISSING
from thesiskit.errors import DataError
from thesiskit.fitted import load_model
from thesiskit.models import peers
from thesiskit.pairs.interactions import Planes
from thesiskit.pairs.plink import Genotypes, read_plink


def drawn(n, p, seed=0):
    X = np.random.default_rng(seed).integers(-1, 3, (n, p))
    X[:4, 0] = [0, 1, 2, MISSING]
    return X


def source(**keys):
    return SOURCES["plink"].model_validate({"source": "plink", **keys})


@pytest.mark.parametrize("n", [5, 6, 7, 8])  # the last byte has room for others
def test_all_genotypes_of_all_samples(tmp_path, n):
    X = drawn(n, 9)
    table = read_plink(write(tmp_path / "a.bed", X))
    assert np.array_equal(table.X[:, :], X)
    assert table.X.shape == X.shape
    assert np.array_equal(table.response, np.arange(n) % 2)
    assert table.features == [f"rs{j}" for j in range(9)]
    assert table.values == [["0", "1", "2"]] * 9
    assert table.ids == [f"i{i}" for i in range(n)]
    assert np.array_equal(table.X.missing, (X == MISSING).sum(axis=0))
    assert table.as_table().missing == (X == MISSING).sum()


def test_bits_that_stand_behind_the_last_sample_are_nothing(tmp_path):
    path = write(tmp_path / "a.bed", drawn(5, 2))
    content = bytearray(path.read_bytes())
    before = read_plink(path)
    content[4] |= 0b01010100  # of missing genotypes
    path.write_bytes(content)
    after = read_plink(path)
    assert np.array_equal(after.X[:, :], before.X[:, :])
    assert np.array_equal(after.X.missing, before.X.missing)
    assert after.digest != before.digest  # the file is another one


def test_what_is_asked_for_is_what_an_array_has(tmp_path, monkeypatch):
    X = drawn(30, 23)
    lazy = read_plink(write(tmp_path / "a.bed", X)).X
    monkeypatch.setattr("thesiskit.pairs.plink.BLOCK", 100)  # several parts
    some, mask = np.array([7, 3, 3, 29]), np.arange(30) % 3 == 1
    assert np.array_equal(lazy[5], X[5])
    for rows in (slice(None), slice(4, 20, 3), some, mask, 5, [1, 2], np.arange(0)):
        for columns in (slice(2, 9), np.array([5, 1, 22]), np.arange(23) % 2 == 0, 11, slice(0, 0)):
            expected = X[rows][..., columns]
            assert np.array_equal(lazy[rows, columns], expected)
            assert lazy[rows, columns].shape == expected.shape
            if type(rows) is not int:
                assert np.array_equal(lazy[rows][:, columns], expected)
    both = np.concatenate([lazy[some], lazy[mask]])
    assert type(both) is Genotypes
    assert np.array_equal(both[:, :], np.concatenate([X[some], X[mask]]))
    assert np.array_equal(both[[12, 1], 3:5], np.concatenate([X[some], X[mask]])[[12, 1], 3:5])
    with pytest.raises(TypeError):
        np.concatenate([lazy, X])
    y = np.arange(30) % 2
    samples = np.flatnonzero(np.arange(30) % 5 > 0)
    for a, b in zip(vars(Planes.pack(lazy, y, samples)).values(),
                    vars(Planes.pack(X, y, samples)).values(), strict=True):  # fmt: skip
        assert np.array_equal(a, b)


def test_loci_of_test_samples_are_found_by_name_and_alleles(tmp_path):
    X, new = drawn(20, 6), drawn(9, 6, seed=1)
    alleles = [("A", "G"), ("C", "T"), ("A", "T"), ("0", "G"), ("A", "AC"), ("G", "T")]
    write(tmp_path / "a.bed", X, alleles=alleles)
    order, turned = [4, 2, 0, 5, 3, 1], np.array([4, 1, 3])
    theirs = [pair[::-1] if j in turned else pair for j, pair in enumerate(alleles)]
    theirs[3], theirs[5] = ("G", "C"), ("0", "T")  # only one allele was seen in these samples
    there = np.where(np.isin(np.arange(6), turned) & (new >= 0), 2 - new, new)
    write(
        tmp_path / "b.bed", there[:, order], names=[f"rs{j}" for j in order],
        alleles=[theirs[j] for j in order], ids=[f"n{i}" for i in range(9)],
    )  # fmt: skip
    train, test = source(path="a.bed", test_path="b.bed").read(tmp_path)
    assert np.array_equal(test.X[:, :], new)
    assert np.array_equal(np.concatenate([train.X, test.X])[:, :], np.concatenate([X, new]))
    assert test.notes[-1] == (
        "b.bed: 3 loci have swapped alleles: counted as in the training samples"
    )
    assert np.array_equal(test.X.missing, (new == MISSING).sum(axis=0))
    fewer = [j for j in order if j not in (0, 5)]
    write(tmp_path / "c.bed", there[:, fewer], names=[f"rs{j}" for j in fewer],
          alleles=[theirs[j] for j in fewer], phenotype=[-9] * 9)  # fmt: skip
    with pytest.raises(DataError, match=r"c\.bed: lacks 2 loci of the training samples: rs0, rs5"):
        source(path="a.bed", test_path="c.bed").read(tmp_path)
    held = source(path="a.bed").read_new(tmp_path / "c.bed", train)
    assert list(held.lacking) == ["rs0", "rs5"]
    assert (held.X[:, [0, 5]] == MISSING).all()
    assert np.array_equal(held.X[:, 1:5], new[:, 1:5])
    theirs[2], theirs[4] = ("A", "C"), ("A", "AG")
    write(tmp_path / "b.bed", there, alleles=theirs)
    for read in (
        lambda: source(path="a.bed", test_path="b.bed").read(tmp_path),
        lambda: source(path="a.bed").read_new(tmp_path / "b.bed", train),
    ):
        with pytest.raises(DataError, match=r"2 loci have other alleles .* rs2 \(A/C for A/T\)"):
            read()


def test_names_of_loci_and_samples(tmp_path):
    X = drawn(12, 6)
    names, pairs = ["rs1", ".", "rs1", "rs2", ".", "rs9"], [("A", "G")] * 6
    path = write(tmp_path / "a.bed", X, names=names, alleles=pairs, ids=["1", "2"] * 6)
    table = read_plink(path, ignore=["rs9"])
    assert table.features == ["1:100", "1:101", "1:102", "rs2", "1:104"]
    assert table.notes[0].endswith("4 loci have no name, or that of another; the name is "
                                   "chromosome:position")  # fmt: skip
    assert table.ids[:2] == ["f0 1", "f1 2"]
    assert np.array_equal(table.X[:, :], X[:, :5])
    bim = path.with_suffix(".bim")
    bim.write_text(bim.read_text().replace(" 101 A G", " 104 A T"))
    assert read_plink(path).features[1:5] == ["1:104:A:T", "1:102", "rs2", "1:104:A:G"]
    bim.write_text(bim.read_text().replace("104 A T", "104 G A"))
    with pytest.raises(
        DataError, match=r"a\.bim: loci at one place with the same name and alleles"
    ):
        read_plink(path)
    with pytest.raises(DataError, match="'rs7'"):
        read_plink(write(path, X), ignore=["rs7"])


def test_samples_without_a_phenotype_are_left_out(tmp_path):
    X = drawn(8, 4)
    path = write(tmp_path / "a.bed", X, phenotype=[1, -9, 2, 0, 1, "NA", 2, 2])
    kept = [0, 2, 4, 6, 7]
    table = read_plink(path)
    assert np.array_equal(table.X[:, :], X[kept])
    assert table.response.tolist() == [0, 1, 0, 1, 1]
    assert table.ids == [f"i{i}" for i in kept]
    assert np.array_equal(table.X.missing, (X[kept] == MISSING).sum(axis=0))
    assert "a.bed: 3 samples without a phenotype dropped: i1, i3, i5" in table.notes
    assert len(source(path="a.bed").read_new(path, table).X) == 8


def test_covariates_stand_beside_the_genotypes(tmp_path):
    write(tmp_path / "a.bed", drawn(6, 3), ["2", "1", "-9", "2", "1", "1"])
    fam = [line.split()[:2] for line in (tmp_path / "a.fam").read_text().splitlines()]
    lines = [" ".join([*fam[i], str(40 + i), "NA" if i == 4 else str(i / 10)])
             for i in (3, 1, 0, 2, 4, 5)]  # fmt: skip
    (tmp_path / "a.cov").write_text("\n".join(["#FID IID age pc1", *lines]) + "\n")
    (read,) = source(path="a.bed", covariates=["pc1", "age"]).read(tmp_path)
    assert [*read.covariates] == ["pc1", "age"]
    np.testing.assert_array_equal(read.covariates["age"], [40, 41, 43, 44, 45])
    np.testing.assert_array_equal(read.covariates["pc1"], [0, 0.1, 0.3, np.nan, 0.5])
    for text, said in (
        ("FID IID age pc1\n" + "\n".join(lines[1:]), "no line for the sample"),
        ("FID IID age bmi\n" + "\n".join(lines), "there is no column 'pc1'"),
        ("age pc1\n" + "\n".join(lines), "first FID and IID"),
        ("FID IID pc1 age\n" + "\n".join(lines).replace(" 40 ", " old "), "not a number"),
        ("FID IID pc1 age\n" + "\n".join(lines).replace(" 40 ", " inf "), "not a number"),
        ("FID IID age pc1\n" + "\n".join(lines) + " 3", "has not 4 columns"),
        ("", "first FID and IID"),
    ):
        (tmp_path / "a.cov").write_text(text)
        with pytest.raises(DataError, match=said):
            source(path="a.bed", covariates=["pc1"]).read(tmp_path)


@pytest.mark.parametrize(
    ("phenotype", "said"),
    [
        ([-9] * 6, "the phenotype in the .fam is missing in all samples. Fix: write 1"),
        ([2] * 6, "is 2 in all samples that have one"),
        ([0, 1] * 3, "is 1 in all samples that have one; a 0 counts as missing (`plink --1"),
        ([1, 2, 1.5, 2, 1, 2], "is 1.5 in some samples; it must be 1 (control) or 2 (case)"),
        ([1, 2, 3, 2, 1, 2], "is 3 in some samples"),
    ],
)
def test_phenotypes_that_are_no_classes(tmp_path, phenotype, said):
    with pytest.raises(DataError) as error:
        read_plink(write(tmp_path / "a.bed", drawn(6, 2), phenotype))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("suffix", "change", "said"),
    [
        (".bed", lambda b: b[:-1], "has 6 bytes, but 6 samples in the .fam and 2 loci in the .bim "
         "make 7; the file is truncated"),
        (".bed", lambda b: b + b"\0", "has 8 bytes"),
        (".bed", lambda b: b"", "it is no .bed of PLINK 1"),
        (".bed", lambda b: b"chr1\t10\t20\n", "it is no .bed of PLINK 1, which begins with"),
        (".bed", lambda b: b"\x6c\x1b\x00" + b[3:], "are sample after sample; `plink --bfile OLD"),
        (".fam", lambda b: b + b"a b 0 0 1 2\n" * 3, "but 9 samples"),
        (".fam", lambda b: b.replace(b" 0 0", b" 0", 1), "line 1 has 5 columns; a .fam has six"),
        (".fam", lambda b: b"", "is empty"),
        (".fam", lambda b: b.replace(b"f1 i1", b"f0 i0"), "several samples of the .fam are named"),
        (".bim", lambda b: b"\n" + b, "line 1 has 0 columns; a .bim has six"),
        (".bim", lambda b: b.replace(b"rs1", b"r\x011"), "control character"),
        (".bim", None, "no such file"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(tmp_path, suffix, change, said):
    path = write(tmp_path / "a.bed", drawn(6, 2))
    one = path.with_suffix(suffix)
    if change is None:
        one.unlink()
    else:
        one.write_bytes(change(one.read_bytes()))
    with pytest.raises(DataError) as error:
        read_plink(path)
    assert said in str(error.value)
    assert f"{one.name}: " in str(error.value) or f"the {suffix}" in str(error.value)


# ---- experiments ----

CONFIG = """\
experiment: {name}
title: Pairs
about: Two loci of forty.
data: {data}
evaluation: {{ folds: 2 }}
selection: {{ features: [6], order: 2, disjoint: [true, false] }}
model: {{ kind: naive-bayes, relevant: [some], methods: [corrected, random-forest] }}
report: {{ parts: [summary, data-card, selected-features] }}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Write the same samples as study.bed and study.csv, a config for each, and new samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(peers, "TREES", 20)
    rng = np.random.default_rng(5)
    X = rng.binomial(2, 0.4, (150, 40))
    X[rng.random(X.shape) < 0.02] = MISSING
    y = 1 + (((X[:, 0] > 0) != (X[:, 1] > 0)) ^ (rng.random(150) < 0.1))
    write(Path("study.bed"), X, y)
    order = rng.permutation(40)
    new = np.where(X >= 0, 2 - X, X)[:30, order]
    names = [f"rs{j}" for j in order]
    write(Path("new.bed"), new, names=names, alleles=[("G", "A")] * 40)
    table = pd.DataFrame(X, columns=[f"rs{j}" for j in range(40)]).replace(MISSING, "")
    table.insert(0, "name", [f"i{i}" for i in range(150)])
    table.assign(status=y).to_csv("study.csv", index=False)
    table[:30].to_csv("new.csv", index=False)
    for name, data in (
        ("bed", "{ source: plink, path: study.bed }"),
        ("csv", "{ source: table, path: study.csv, response: status, id: name }"),
    ):
        Path(f"{name}.yaml").write_text(CONFIG.format(name=name, data=data))
    return X, new, names


def test_predictions_are_those_of_a_table(study):
    for name in ("bed", "csv"):
        done = invoke("run", f"{name}.yaml", "--jobs", "0")
        assert done.exit_code == 0, done.output
        options = ("--all-methods", "--output", f"{name}.out", "--jobs", "0")
        done = invoke("predict", f"{name}.yaml", "--new", f"new.{name}", *options)
        assert done.exit_code == 0, done.output
    for part in ("methods", "selected-features"):
        found = [Path(f"results/{name}/tables/{part}.csv").read_text() for name in ("bed", "csv")]
        assert found[0] == found[1]
    bed, csv = (pd.read_csv(f"{name}.out") for name in ("bed", "csv"))
    assert bed["id"].tolist() == csv["id"].tolist()
    assert np.array_equal(bed["probability: case"], csv["probability: 2"])
    assert (bed["predicted"] == np.where(csv["predicted"] == 2, "case", "control")).all()


def test_a_model_file_needs_the_loci_that_it_keeps(study):
    _, new, names = study
    method = "6 disjoint corrected exact some"
    done = invoke("export", "bed.yaml", "bed.model", "--method", method, "--jobs", "0")
    assert done.exit_code == 0, done.output
    predicted = ("predict", "--model", "bed.model", "--new")
    assert invoke(*predicted, "new.bed", "--output", "all.csv").exit_code == 0
    model = load_model(Path("bed.model"))
    kept = {model.inputs.names[j] for j in model.method().columns(model.inputs)}
    assert {"rs0", "rs1"} <= kept < {*names}
    for drop, said in (
        ({*names} - kept, "selected by no method: no effect"),
        ({"rs0"}, "lacks 'rs0', selected by 6 disjoint corrected exact...: treated as missing"),
    ):
        there = [j for j in range(40) if names[j] not in drop]
        write(Path("fewer.bed"), new[:, there], names=[names[j] for j in there],
              alleles=[("G", "A")] * len(there))  # fmt: skip
        done = invoke(*predicted, "fewer.bed", "--output", "fewer.csv")
        assert done.exit_code == 0, done.output
        assert said in done.output
        fewer, whole = (
            pd.read_csv(f"{name}.csv")["probability: case"] for name in ("fewer", "all")
        )
        assert np.array_equal(fewer, whole) == (drop != {"rs0"})
    write(Path("other.bed"), new, names=names, alleles=[("C", "A")] * 40)
    must_fail(invoke(*predicted, "other.bed"), "40 loci have other alleles", "C/A for A/G")


def test_a_config_is_written_that_runs(study):
    X, *_ = study
    families = [f"{i // 2}" for i in range(150)]
    write(Path("kin.bed"), X, 1 + np.random.default_rng(1).integers(0, 2, 150), families=families)
    done = invoke("init", "kin.bed", "--output", "kin.yaml")
    assert done.exit_code == 0, done.output
    config = load_config(Path("kin.yaml"))
    assert config.data.source == "plink"
    assert config.data.sample_groups == "family"
    assert "74 groups of samples" in done.output
    assert (config.selection.order, config.selection.features) == (2, [20])
    assert config.selection.disjoint == [True, False]
    assert "random-forest" in config.model.methods
    assert config.evaluation.folds == 5
    assert "pairs" in config.report.parts
    done = invoke("simulate", "kin.yaml", "--jobs", "0")
    assert done.exit_code == 0, done.output
    with np.load("results/my-kin/simulate/0000.npz") as found:
        fold = found["fold"][0]
    assert np.array_equal(fold[::2], fold[1::2])


def test_a_logistic_model_takes_the_loci_of_selected_patterns(study):
    text = Path("bed.yaml").read_text().replace("disjoint: [true, false]", "disjoint: [true]")
    model = "{ kind: logistic, orders: [1], chains: 1, iterations: 20, burn_in: 5, peers: [] }"
    lines = [f"model: {model}" if one.startswith("model:") else one for one in text.splitlines()]
    lines[-1] = "report: { parts: [methods] }"
    Path("logistic.yaml").write_text("\n".join(lines) + "\n")
    done = invoke("run", "logistic.yaml", "--jobs", "0")
    assert done.exit_code == 0, done.output
    done = invoke("predict", "logistic.yaml", "--new", "new.bed", "--jobs", "0", "--method", "x")
    must_fail(done, "there is no method 'x'")


def test_of_many_genotypes_some_are_looked_at(tmp_path, monkeypatch):
    X = np.random.default_rng(0).integers(0, 3, (40, 30))
    X[7] = X[3]
    table = read_plink(write(tmp_path / "a.bed", X))
    assert len(checking.findings([table])) == 1  # the same person twice
    monkeypatch.setattr(checking, "LARGE", 1000)
    monkeypatch.setattr(checking, "SOME", 600)
    assert checking.findings([table])[-1] == (
        "D15 Coverage: only 15 of 30 features were checked, one of 2"
    )
    dense = replace(table, X=X.astype(np.int16))
    assert checking.findings([dense]) == checking.findings([table])


MEMORY = """\
import resource, sys
from pathlib import Path
import numpy as np
from thesiskit.pairs.plink import read_plink
from thesiskit.pairs.interactions import Planes
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
Planes.pack(np.arange(12).reshape(6, 2) % 3, np.arange(6) % 2)
before = peak()
table = read_plink(Path(sys.argv[1]))
assert table.as_table().missing == 0
assert table.X[:, 4000:4010].shape == (4000, 10)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kB there")
def test_genotypes_are_not_in_memory(tmp_path):
    n, p = 4000, 20_000  # 20 MB packed, 80 MB as bytes
    path = write(tmp_path / "a.bed", np.zeros((n, 1), dtype=int))
    bim = path.with_suffix(".bim")
    bim.write_text("".join(f"1 rs{j} 0 {j} A G\n" for j in range(p)))
    genotypes = np.random.default_rng(0).integers(0, 4, (p, n // 4, 4), dtype=np.uint8)
    genotypes[genotypes == 0b01] = 0
    shifts = np.array([1, 4, 16, 64], dtype=np.uint8)
    path.write_bytes(b"\x6c\x1b\x01" + (genotypes * shifts).sum(axis=2, dtype=np.uint8).tobytes())
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40e6


@pytest.mark.parametrize("phenotype", ["--1", "1" * 5000, "-" + "9" * 5000])
def test_a_phenotype_that_python_takes_for_no_number_is_refused(tmp_path, phenotype):
    path = write(tmp_path / "a.bed", drawn(8, 3))
    fam = path.with_suffix(".fam")
    fam.write_text(fam.read_text().replace(" 1\n", f" {phenotype}\n"))
    with pytest.raises(DataError, match=r"the phenotype in the \.fam is"):
        read_plink(path)


def test_a_covariate_is_no_column_that_is_left_out(tmp_path):
    rows = "".join(f"{i % 3},{i},{i % 2}\n" for i in range(12))
    (tmp_path / "t.csv").write_text(f"a,age,y\n{rows}")
    (tmp_path / "new.csv").write_text("a,age\n1,30\n")
    keys = {"source": "table", "path": "t.csv", "response": "y", "covariates": ["age"]}
    data = SOURCES["table"].model_validate(keys)
    (table,) = data.read(tmp_path)
    new = data.read_new(tmp_path / "new.csv", table)
    assert new.notes == []
    assert new.covariates["age"].tolist() == [30]
