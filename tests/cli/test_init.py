"""`thesiskit init` on the kinds of files that people have."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from anndata_files import write_anndata
from click.testing import CliRunner
from commands import arrays, must_fail

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.study.design import Design

SAMPLES, GENES = 60, 800
SETTINGS = ("kind: normal", "features: [10, 100]", "folds: 10")


def command(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def expression():
    """Return measurements, and which tissues are tumours."""
    rng = np.random.default_rng(7)
    sick = rng.permutation(np.arange(SAMPLES) < 25)
    X = rng.normal(size=(SAMPLES, GENES)) + 2 * sick[:, None] * (np.arange(GENES) < 10)
    return X.round(3), np.where(sick, "tumour", "normal")


def write_expression(kind: str) -> str:
    """Write the same table in one of many forms, and return the name of the file."""
    X, y = expression()
    table = pd.DataFrame(X, columns=[f"gene{j}" for j in range(GENES)])
    table.insert(0, "tissue", [f"T{i}" for i in range(SAMPLES)])
    table.insert(1, "taken", [f"2024-03-{1 + i % 28:02d}" for i in range(SAMPLES)])
    table["status"] = y
    name = f"genes.{kind}"
    if kind in ("csv", "tsv", "csv.gz"):
        table.to_csv(name, index=False, sep="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        table.to_parquet(name, index=False)
    return name


def predictions(name: str, *options, upto: str = "predict") -> tuple[np.ndarray, str]:
    """Look at a file, make what was written, and return the predictions and the config.

    The last row of the predictions is the response.
    """
    looked = command("init", name, "--output", "mine.yaml")
    assert looked.exit_code == 0, looked.output
    assert looked.stdout == ""
    assert "Note: " in looked.stderr
    config = load_config(Path("mine.yaml"))
    if config.selection:  # the other model, and temperatures, take most of the time
        options = (*options, "--set", "model.methods=[corrected, uncorrected]")
        options = (*options, "--set", "model.temperature=none")
        options = (*options, "--set", "evaluation.choose=false")
    done = command(upto, "mine.yaml", "--jobs", "0", *options)
    assert done.exit_code == 0, done.output
    folds = []
    for path in sorted(Path("results").glob("*/predict/*.npz")):
        stored = arrays(path)
        p = stored["probability"]
        p = p[..., -1] if p.ndim == 3 else p
        folds.append(np.vstack([p, stored["response"].reshape(-1)]))
    return np.hstack(folds), Path("mine.yaml").read_text()


def samples(name: str) -> tuple[list, str]:
    """Return the samples that the config of a file makes models learn of, and the config."""
    command("init", name, "--output", "mine.yaml")
    (table,) = Design(load_config(Path("mine.yaml")), Path()).tables
    assert table.features.shape == (SAMPLES, GENES)
    return [table.features, table.response, table.classes], Path("mine.yaml").read_text()


@pytest.fixture(scope="module")
def from_csv(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("csv"))
        return samples(write_expression("csv"))


def assert_same_samples(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_table_of_expression_is_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p, text = predictions(write_expression("csv"), "--set", "evaluation.folds=3", upto="run")
    assert p.shape == (5, SAMPLES)  # two sizes, with and without the correction, and the response
    assert p[-1].sum() == 25
    assert ((p[0] > 0.5) == p[-1]).mean() > 0.8
    for line in ("id: tissue", "response: status", "positive: tumour", "- taken # dates"):
        assert line in text
    for line in SETTINGS:
        assert line in text


@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "parquet"])
def test_other_forms_have_the_same_samples(kind, from_csv, tmp_path, monkeypatch):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    found, text = samples(write_expression(kind))
    assert_same_samples(found, from_csv[0])
    for line in SETTINGS:
        assert line in text


def test_anndata_has_the_samples_of_its_table(from_csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = expression()
    obs = pd.DataFrame({"status": y, "batch": "a"}, index=[f"cell{i}" for i in range(SAMPLES)])
    write_anndata(Path("cells.h5ad"), X, obs, pd.DataFrame(index=[f"g{j}" for j in range(GENES)]))
    found, text = samples("cells.h5ad")
    assert "response: status # by its name" in text
    assert_same_samples(found, from_csv[0])


def test_sequences_have_the_samples_of_fasta(tmp_path, monkeypatch):
    rng = np.random.default_rng(9)
    reads = ["".join(rng.choice(list("ACGT"), 10)) for _ in range(90)]
    found = []
    for name, text in (
        ("reads.txt", "\n".join(reads)),
        ("reads.fasta", "".join(f">r{i}\n{one[:4]}\n{one[4:].lower()}\n"
                                for i, one in enumerate(reads))),
        ("reads.fa.gz", "".join(f">r{i} once\n{one}\n" for i, one in enumerate(reads))),
    ):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        content = text.encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        command("init", name, "--output", "mine.yaml")
        config = Path("mine.yaml").read_text()
        assert "folds: 5" in config
        assert "train:" not in config  # the first lines can differ from the last
        (table,) = load_config(Path("mine.yaml")).data.read(folder)
        found.append([table.histories, table.response, table.states, table.classes])
    assert found[0][0].shape == (90, 9)
    assert_same_samples(found[1], found[0])
    assert_same_samples(found[2], found[0])


def test_labels_of_fasta_are_responses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    with open("sites.fa", "w") as file:
        for i in range(80):
            kind = i % 2
            letters = "".join(rng.choice(list("ACGT"), 9)) + "CG"[kind] + "AT"[rng.random() < 0.5]
            file.write(f">site{i} chr1 class={('exon', 'intron')[kind]}\n{letters}\n")
    p, text = predictions("sites.fa", "--smoke")
    assert "predict: label # the last word of each header line: exon (40), intron (40)" in text
    assert (p.shape[1], p[-1].sum()) == (80, 40)
    assert ((p[0] > 0.5) == p[-1]).mean() > 0.9


# figures of all are drawn by `make test-slow`
WRITTEN = [
    pytest.param(kind, pictures, marks=[pytest.mark.slow] * pictures)
    for kind in ("three classes", "a number", "one feature", "real features")
    for pictures in (False, True)
]


@pytest.mark.parametrize(("kind", "pictures"), WRITTEN)
def test_configs_run_as_they_are_written(kind, pictures, tmp_path, monkeypatch, request):
    if pictures:
        request.getfixturevalue("drawn")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 3, (40, 4)), columns=list("abcd"))
    y = np.array(["low", "mid", "high"])[frame["a"]]
    if kind == "a number":
        y = frame["a"] + rng.normal(size=40).round(3)
    elif kind == "one feature":
        frame, y = pd.DataFrame({"a": rng.normal(size=40)}), np.arange(40) % 2
    elif kind == "real features":
        frame += rng.normal(size=frame.shape)
    frame.assign(y=y).to_csv("t.csv", index=False)
    looked = command("init", "t.csv", "--output", "mine.yaml")
    assert looked.exit_code == 0, looked.output
    done = command("run", "mine.yaml", "--jobs", "0", "--smoke", "--set", "evaluation.folds=2")
    assert done.exit_code == 0, done.output
    page = next(Path("results").glob("*/report.html")).read_text()
    openings = "On samples it has not seen", "Root mean squared error", "There is no evidence"
    assert any(words in page for words in openings)


# ---- options and guesses ----


def table(**columns) -> str:
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    return "t.csv"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    return {f"g{j}": rng.normal(size=20).round(3) for j in range(3)}


def config_of(*arguments):
    looked = command("init", *arguments)
    assert looked.exit_code == 0, looked.output
    Path("read.yaml").write_text(looked.stdout, encoding="utf-8")
    return load_config(Path("read.yaml")), looked.stderr


def test_the_response_can_be_named(here):
    name = table(**here, kind=["a", "b"] * 10, status=["x"] * 7 + ["z"] * 13)
    config, said = config_of(name)
    assert (config.data.response, config.data.positive) == ("status", "x")
    assert "Response: status (by its name; 2 classes: z (13), x (7))" in said
    assert config.data.ignore == []
    assert "Recoded: kind (a = 0, b = 1)" in said
    config, said = config_of(name, "--response", "kind")
    assert (config.data.response, config.data.ignore) == ("kind", [])
    must_fail(command("init", name, "--response", "kinds"), "did you mean 'kind'?")


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (["benign", "malignant"], "malignant"),
        (["Control", "Mutated"], "Mutated"),
        (["rare", "usual", "usual"], "rare"),
        (["Yes", "No"], "Yes"),
        (["B", "M"], "M"),
        (["a", "b", "a"], "b"),
        ([1, 2], 2),
        ([-1, 1], 1),
        ([0, 1], None),
        ([True, False], None),
    ],
)
def test_the_class_of_interest_is_guessed(here, values, positive):
    config, _ = config_of(table(**here, last=[values[i % len(values)] for i in range(20)]))
    assert config.data.positive == positive


def test_the_response_is_guessed(here):
    words = ["left", "right"] * 10
    for columns, response in (
        ({"side": words, **here}, "side"),  # the last column is a measurement
        ({**here, "side": words}, "side"),
        ({"side": words, **here, "TumorStatus": [0, 1] * 10}, "TumorStatus"),
        ({"side": words, **here, "Target": ["p", "q"] * 10}, "Target"),
        ({"patient": range(20), **here, "side": words}, "side"),
    ):
        assert config_of(table(**columns))[0].data.response == response


REAL = {"kind": "normal", "temperature": ["residual"]}
BITS = {"kind": "naive-bayes", "temperature": ["none"]}


def bits(seed=2):
    rng = np.random.default_rng(seed)
    return {f"b{j}": rng.integers(0, 2, 30) for j in range(3)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, BITS),
        ({"x": np.linspace(0, 1, 30)}, REAL),  # any real column
        ({"x": 7 * np.arange(30)[::-1]}, REAL),  # a whole number, of which there are many
        ({"x": np.where(np.arange(30) < 9, 0.5, 1.5)}, BITS),  # two values
        ({"x": [f"w{i % 4}" for i in range(30)], "z": np.linspace(0, 1, 30)}, REAL),
        ({"x": [True, False] * 15}, BITS),
        ({"x": np.linspace(0, 1, 30), "y": ["a", "b", "c"] * 10}, REAL),
        ({"x": np.linspace(0, 1, 30), "y": ["a"] * 13 + ["b"] * 15 + ["c"] * 2},
         REAL | {"temperature": ["none"]}),
        ({"x": np.linspace(0, 1, 30), "y": list("abcdefghij") * 3}, REAL),
        ({"y": ["a", "b", "c"] * 10}, None),
    ],
)  # fmt: skip
def test_the_model_is_chosen_by_the_features(tmp_path, monkeypatch, change, expected):
    monkeypatch.chdir(tmp_path)
    columns = {**bits(), "y": ["p", "q"] * 15, **change}
    config, said = config_of(table(**columns))
    found = config.model.model_dump(include={"kind", "temperature"})
    assert found == (expected or {"kind": "logistic"})
    classes = len(set(columns["y"]))
    assert f"{classes} classes: " in said
    assert (getattr(config.data, "positive", None) is None) == (classes > 2 or expected is None)


def test_counts_are_told_to_be_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    columns = {f"g{j}": rng.poisson(np.exp(rng.normal(2, 3, 30))) for j in range(6)}
    config, said = config_of(table(**columns, y=["p", "q"] * 15))
    assert config.model.kind == "normal"
    assert config.data.transform == ["log"]
    assert (
        "Features are transformed (data.transform: log), because values are counts: whole numb"
        in said
    )


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda rng, y: rng.normal(size=(40, 30)) + y[:, None], ["none"]),
        (lambda rng, y: np.exp(2 * rng.normal(size=(40, 30)) + y[:, None]), ["log"]),
        (lambda rng, y: rng.beta(0.4, 2, (40, 30)), ["normal-scores"]),
        (lambda rng, y: rng.standard_t(1, (40, 30)), ["none"]),
        (lambda rng, y: rng.integers(20, 90, (40, 30)), ["none"]),  # such as ages
    ],
)
def test_the_transform_follows_the_columns(tmp_path, monkeypatch, draw, expected):
    monkeypatch.chdir(tmp_path)
    y = np.arange(40) % 2
    X = draw(np.random.default_rng(5), y)
    config, said = config_of(table(**{f"g{j}": x for j, x in enumerate(X.T)}, y=["p", "q"] * 20))
    assert config.data.transform == expected
    assert ("data.transform: " in said) == (expected != ["none"])


def test_chains_of_logistic_models_run_until_they_agree(here):
    rows = [f"{'sml'[i % 3]},{'ro'[i % 2]},{'yn'[i % 7 < 3]}" for i in range(40)]
    Path("own.csv").write_text("\n".join(["size,form,buys", *rows]) + "\n")
    states = np.random.default_rng(0).choice(["up", "down", "still"], (40, 6))
    Path("text.txt").write_text("\n".join(" ".join(line) for line in states))
    for table in ("own.csv", "text.txt"):
        path = Path(table).with_suffix(".yaml")
        assert command("init", table, "--output", path).exit_code == 0
        model = load_config(path).model
        assert (model.chains, model.until.targets[:2], model.iterations) == (4, (1.01, 400), 10_000)
        small = load_config(path, smoke=True).model
        assert small.iterations == 200
        assert small.until == model.until
    wide = ",".join(f"x{j}" for j in range(900))
    values = [",".join("ab"[(i * j) % 5 < 2] for j in range(900)) for i in range(40)]
    for classes in ("yn", "ynm"):
        rows = [
            f"{wide},y",
            *(f"{row},{classes[i % len(classes)]}" for i, row in enumerate(values)),
        ]
        Path("wide.csv").write_text("\n".join(rows) + "\n")
        config, _ = config_of("wide.csv")
        if len(classes) == 2:  # pairs are too many to take all of them
            selection = config.selection
            assert (selection.order, selection.features, selection.disjoint) == (
                2,
                [20],
                [True, False],
            )
            assert config.model.methods == ["corrected", "uncorrected"]
        else:
            assert config.model.kind == "logistic"
            assert config.model.iterations == 4_000


def test_paths_start_where_the_config_is(here):
    name = table(**here, y=[0, 1] * 10)
    Path("deep/er").mkdir(parents=True)
    assert command("init", name, "--output", "deep/er/mine.yaml").exit_code == 0
    assert load_config(Path("deep/er/mine.yaml")).data.path == "../../t.csv"
    assert command("simulate", "deep/er/mine.yaml").exit_code == 0
    must_fail(command("init", name, "--output", "deep/er/mine.yaml"), "exists already")


def test_names_of_files_become_names_of_experiments(here):
    for name, experiment in (
        ("Größe & #1.csv", "my-gr-e-1"),
        ("con.csv", "my-con"),
        ("遺伝子.csv", "my-table"),
    ):
        Path(table(**here, y=[0, 1] * 10)).rename(name)
        config, _ = config_of(name)
        assert (config.experiment, config.data.path) == (experiment, name)


def test_many_columns_are_left_out_by_reason(here):
    flat = {f"flat{j}": [j] * 20 for j in range(40)}
    config, said = config_of(table(**here, **flat, y=[0, 1] * 10))
    assert config.data.ignore == list(flat)
    assert "'flat6', 'flat7' and 32 more (the same in all samples)" in said


def test_a_config_does_not_name_hundreds_of_columns_that_do_no_harm(here):
    flat = {f"flat{j}": [1.5] * 20 for j in range(600)}
    config, said = config_of(table(**here, **flat, y=[0, 1] * 10))
    assert config.data.ignore == []
    assert "600 features are constant" in said


def test_a_link_is_not_written_through(here):
    name = table(**here, y=[0, 1] * 10)
    Path("mine.yaml").symlink_to("elsewhere.yaml")
    must_fail(command("init", name, "--output", "mine.yaml"), "exists already")
    assert not Path("elsewhere.yaml").exists()
    must_fail(command("init", name, "--output", "no/mine.yaml"), "there is no folder no")


def test_all_samples_of_a_table_are_looked_at(here, monkeypatch):
    """Also where it is parsed a few rows at a time."""
    monkeypatch.setattr("thesiskit.datasets.reading.ROWS", 6)
    columns = {"id": [f"t{i}" for i in range(20)], **here, "status": ["a"] * 12 + ["b"] * 8}
    config, said = config_of(table(**columns))
    assert (config.data.id, config.data.response, config.data.positive) == ("id", "status", "b")
    assert "Response: status (by its name; 2 classes: a (12), b (8))" in said
    assert (config.about, config.evaluation.folds) == ("20 samples with 3 features each.", 8)


def test_what_no_model_takes_is_refused_with_a_way_out(here):
    name = table(**here, y=np.random.default_rng(0).normal(size=20))
    config, said = config_of(name)
    assert (config.model.kind, config.model.response) == ("normal", "gaussian")
    assert "ridge" in config.model.methods
    assert "The response is a real number" in said
    name = table(**here, y=[0, 1] + [0] * 18)
    must_fail(command("init", name), "'1' in only one sample")
    name = table(**here, y=["a", "b"] * 9 + ["a", "rare"])
    must_fail(command("init", name), "is rare in only one sample", "Fix: add samples")
    name = table(**here, y=[f"class {i % 10}" for i in range(20)])
    assert "folds: 2" in command("init", name).output
    must_fail(command("init", "none.csv"), "no such file")
    must_fail(command("init", "."), "it is a folder")


# ---- columns of all kinds ----


def clinic(patients=15):
    """Return columns of a table with two samples of each patient, as a hospital exports it."""
    rng = np.random.default_rng(5)
    n = 2 * patients
    y = np.repeat(np.arange(patients) % 2, 2)
    return {
        "patient": [f"P{i // 2:02d}" for i in range(n)],
        "sex": rng.choice(["M", "F"], n),
        "stage": rng.choice(["I", "II", "III"], n),
        "size": [f"{v:.2f}".replace(".", ",") for v in rng.normal(2 + 2 * y)],
        "dose": [f"{v // 1000}.{v % 1000:03d},5" for v in rng.integers(1000, 9000, n)],
        "crp": [("." if i % 7 == 0 else f"{v:.1f}".replace(".", ",")) for i, v in
                enumerate(rng.normal(9, 2, n))],
        "remark": [f"seen on day {i}" for i in range(n)],
        "status": np.where(y == 1, "ill", "well"),
    }  # fmt: skip


def test_columns_of_all_kinds_are_used(here):
    pd.DataFrame(clinic()).to_csv("t.csv", index=False, sep=";")
    must_fail(command("init", "t.csv"), "'.' in column 'crp' is not a number", "init --missing")
    config, said = config_of("t.csv", "--missing", ".")
    data = config.data
    assert (data.decimal, data.thousands, data.missing) == (",", ".", ["."])
    assert (data.id, data.ignore, data.sample_groups) == (None, ["remark"], "patient")
    assert config.model.kind == "normal"
    assert "Numbers have a decimal comma, such as " in said
    assert "Recoded: sex (F = 0, M = 1)" in said
    assert said.count("stage") == 1
    assert (
        "Groups: 'patient', 15 groups of samples, such as patients; each stays in one fold" in said
    )
    assert "the samples are in groups" not in said  # the check does not advise it again
    assert config.evaluation.folds == 7  # patients of the rarer class
    (samples,) = data.read(Path())
    assert samples.names == ["sex", "stage=I", "stage=II", "stage=III", "size", "dose", "crp"]
    assert samples.features[:, 5].max() > 1000


def test_numbers_are_read_as_the_user_says(here):
    text = "g;h;y\n" + "".join(f"{i}'{100 + i}.5;{30 - i};{i % 2}\n" for i in range(1, 25))
    Path("t.csv").write_text(text)
    config, _ = config_of("t.csv", "--thousands", "'", "--decimal", ".")
    assert (config.data.thousands, config.data.decimal) == ("'", ".")
    assert config.data.read(Path())[0].features[0].tolist() == [1101.5, 29]
    Path("t.csv").write_text(text.replace("'", ",").replace(".5", ""))
    must_fail(command("init", "t.csv"), "--decimal")  # 1,101: a decimal comma, or thousands?
    config, _ = config_of("t.csv", "--thousands", ",")
    assert config.data.read(Path())[0].features[0].tolist() == [1101, 29]
    config, _ = config_of("t.csv", "--decimal", ",")
    assert config.data.read(Path())[0].features[0].tolist() == [1.101, 29]
    found = command("check", "t.csv", "--decimal", ",")
    assert found.exit_code == 0, found.output
    Path("t.h5ad").touch()
    must_fail(command("init", "t.h5ad", "--decimal", ","), "are for text tables and Parquet")


def test_groups_of_few_words_are_no_features(here):
    rng = np.random.default_rng(0)
    ill = np.repeat(np.arange(20) % 2, 4)
    X = rng.normal(size=(80, 3)) + ill[:, None]
    rows = [f"{('well', 'ill')[ill[i]]},d{i // 4}," + ",".join(map(str, X[i])) for i in range(80)]
    Path("t.csv").write_text("\n".join(["class,donor,a,b,c", *rows]) + "\n")
    config, _ = config_of("t.csv")
    assert config.data.sample_groups == "donor"
    assert config.selection.features == [1, "all"]  # of three


def test_groups_that_are_left_out_are_no_longer_ignored(here):
    table = pd.DataFrame(clinic(30)).drop(columns=["dose", "crp", "remark"])  # 30 patients
    table.to_csv("t.csv", index=False, sep=";")
    config, said = config_of("t.csv")
    assert (config.data.ignore, config.data.sample_groups) == ([], "patient")
    assert "left out" not in said
    assert "sample_groups: patient # 30 groups of samples" in Path("read.yaml").read_text()
    alone = table.assign(patient=np.where(table.status == "ill", "P0", table.patient))
    alone.to_csv("t.csv", index=False, sep=";")
    config, said = config_of("t.csv")  # a class of one patient cannot be divided
    assert config.data.sample_groups is None
    assert "share values of 'patient', as samples of one" in said


@pytest.mark.parametrize(("rare", "temperatures"), [(3, True), (2, False)])
def test_what_a_small_class_leaves_out_is_said(here, rare, temperatures):
    config, said = config_of(table(**here, y=["a"] * (20 - rare) + ["b"] * rare))
    assert f"Class 'b' has only {rare} samples, which allows {rare} folds, no nested" in said
    assert ("no temperatures" in said) != temperatures
    assert (config.model.temperature != ["none"]) == temperatures


# ---- what a table has that predictions suffer from ----


def test_a_rare_class_is_named(here):
    said = command("init", table(**here, y=["well"] * 14 + ["ill"] * 6)).stderr
    assert "Class 'ill' has only 6 samples; its error rates are uncertain" in said
    rng = np.random.default_rng(0)
    for share, rare in ((0.05, True), (0.4, False)):
        y = np.arange(400) < 400 * share
        pd.DataFrame({"a": rng.normal(size=400), "y": y.astype(int)}).to_csv("t.csv", index=False)
        assert ("is rare" in command("init", "t.csv").stderr) == rare


@pytest.mark.usefixtures("here")
def test_features_that_tell_the_response_stand_ready_to_be_left_out():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(60) % 2)
    columns = {name: rng.normal(size=60) for name in "abc"} | {"copy": 2.5 * y + 1, "y": y}
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    text = command("init", "t.csv").stdout
    assert "\n  # ignore: [copy] # a leak?" in text
    Path("t.yaml").write_text(text.replace("  # ignore:", "  ignore:"))
    assert load_config(Path("t.yaml")).data.ignore == ["copy"]
    pd.DataFrame(columns).assign(site="x").to_csv("t.csv", index=False)
    text = command("init", "t.csv").stdout
    Path("t.yaml").write_text(text.replace("    # - copy", "    - copy"))
    assert load_config(Path("t.yaml")).data.ignore == ["site", "copy"]


@pytest.mark.usefixtures("here")
def test_phenotypes_of_plink_tables_are_responses():
    """`plink --recode A` writes families, names, parents and sexes before the genotypes."""
    rng = np.random.default_rng(3)
    lines = ["FID IID PAT MAT SEX PHENOTYPE rs1_A rs2_C rs3_T"]
    for i in range(40):
        sex, phenotype = rng.integers(1, 3, 2)
        genotypes = " ".join(map(str, rng.integers(0, 3, 3)))
        lines.append(f"F{i // 2} I{i} 0 0 {sex} {-9 if i == 7 else phenotype} {genotypes}")
    Path("p.raw").write_text("\n".join(lines) + "\n")
    assert command("init", "p.raw", "--output", "p.yaml").exit_code == 0
    data = load_config(Path("p.yaml")).data
    assert (data.response, data.id, data.sample_groups) == ("PHENOTYPE", "IID", "FID")
    assert (data.ignore, data.missing) == (["PAT", "MAT", "SEX"], ["-9"])
    (samples,) = data.read(Path())
    assert len(samples.response) == 39
    assert len({*samples.groups}) == 20


def test_a_formula_of_a_text_is_the_text(here):
    pd.DataFrame({"a": [f'="{k / 4}"' for k in range(20)], "y": [0, 1] * 10}).to_csv("t.csv")
    pd.DataFrame({"a": np.arange(20) / 4, "y": [0, 1] * 10}).to_csv("u.csv")
    drafts = [command("init", name).stdout for name in ("t.csv", "u.csv")]
    assert drafts[0].replace("t.csv", "u.csv").replace("my-t", "my-u") == drafts[1]


@pytest.mark.usefixtures("here")
def test_free_text_is_no_feature_and_no_name_of_a_sample():
    words = np.random.default_rng(2).choice([*"abcdefgh"], (30, 5))
    table = pd.DataFrame({"text": [" ".join(line) for line in words], "y": [0, 1] * 15})
    table.to_csv("t.csv", index=False)
    done = command("init", "t.csv")
    assert done.exit_code == 2
    assert "'text' is free text" in done.output
    table.assign(x=np.arange(30) / 7).to_csv("t.csv", index=False)
    text = command("init", "t.csv").stdout
    assert "\n    - text # free text" in text
    assert "id:" not in text
