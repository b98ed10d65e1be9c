"""New samples on the command line: by config, and by a model in a file, for every kind of model."""

import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from code_blocks import quickened
from commands import invoke, must_fail, run
from new_samples import CONFIGS, NEW, SELECTING, write_config, write_tables

import thesiskit
from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.fitted.file import is_model, read_model, write_model
from thesiskit.fitted.methods import FrequencyMethod
from thesiskit.report import metrics
from thesiskit.study.experiment import Experiment


@pytest.fixture
def mine(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    write_tables(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """A function that makes the fits of all methods of a kind once, and returns their folder."""
    folders = {}

    def made(kind):
        if kind not in folders:
            folders[kind] = tmp_path_factory.mktemp(kind)
            write_tables(folders[kind])
            path, model = write_config(folders[kind], kind), folders[kind] / "all.model"
            run("export", path, model, "--all-methods", "--results", folders[kind] / "results")
        return folders[kind] / "results"

    return made


@pytest.fixture
def fitted(mine, fits):
    """A function that writes the config of a kind beside the tables, and its finished fits."""

    def write(kind):
        write_config(mine, kind)
        shutil.rmtree(mine / "results", ignore_errors=True)
        shutil.copytree(fits(kind), mine / "results")

    return write


def by_config(kind, *options, new=""):
    """Return the predictions of all methods of a kind as text, and what else was said."""
    options = options if "--method" in options else (*options, "--all-methods")
    done = invoke("predict", f"{kind}.yaml", "--new", new or NEW[kind], *options)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_model_in_a_file_predicts_as_its_config(kind, mine, fitted, tmp_path, monkeypatch):
    fitted(kind)
    text, _ = by_config(kind)
    run("export", f"{kind}.yaml", "mine.model", "--all-methods")
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("mine.model", NEW[kind]):
        shutil.copy(mine / name, empty)
    shutil.rmtree(mine)
    monkeypatch.chdir(empty)
    run("predict", "--model", "mine.model", "--new", NEW[kind], "--output", "found.csv")
    assert (empty / "found.csv").read_bytes() == text.encode()
    assert sorted(p.name for p in empty.iterdir()) == sorted(["mine.model", NEW[kind], "found.csv"])

    frame = pd.read_csv(io.StringIO(text))
    model = thesiskit.load_model("mine.model")
    assert list(dict.fromkeys(frame.method)) == list(model.methods)
    assert len(frame) == len(model.methods) * len(frame.id.unique())
    for method, rows in frame.groupby("method"):
        if not model.classes:
            found = model.predict_quantiles(NEW[kind], method)
            np.testing.assert_array_equal(found, rows[["5%", "median", "95%"]])
            assert (rows["5%"] < rows["median"]).all()
            assert (rows["median"] < rows["95%"]).all()
            continue
        found = model.predict_proba(NEW[kind], method)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found == rows[[f"probability: {name}" for name in model.classes]].to_numpy()).all()
        assert (model.predict(NEW[kind], method) == rows.predicted.to_numpy()).all()
    # written again it is the same, to the last byte
    model.save("again.model")
    assert (empty / "again.model").read_bytes() == (empty / "mine.model").read_bytes()


def test_fits_are_made_once_and_kept(mine):
    write_config(mine, "naive")
    first, said = by_config("naive")
    assert "40 samples -> results/mine/all-samples (" in said
    assert "batch" in said  # a column that the training table has not
    again, said = by_config("naive")
    assert again == first
    assert "already done" in said
    # folds do not matter to a fit to all samples, priors do
    assert "already done" in by_config("naive", "--set", "evaluation.folds=3")[1]
    assert "already done" not in by_config("naive", "--set", "model.alpha_points=20")[1]
    run("run", "naive.yaml", "--set", "evaluation.folds=3")  # beside the experiment itself
    assert "already done" not in by_config("naive")[1]


def test_processes_change_no_byte(mine):
    write_config(mine, "two-states")
    text, _ = by_config("two-states", "--jobs", 0, "--results", "a")
    assert by_config("two-states", "--jobs", 2, "--results", "b")[0] == text
    for path in (mine / "a").rglob("*.npz"):
        assert path.read_bytes() == (mine / "b" / path.relative_to(mine / "a")).read_bytes()


def test_a_sample_is_predicted_alone_as_among_others(mine, fitted):
    """Also where shares are drawn at random."""
    for kind in ("frequent", "real", "sequences"):
        fitted(kind)
        output = ("--all-methods", "--output", "all.csv")
        text = run("predict", f"{kind}.yaml", "--new", NEW[kind], *output)
        whole = pd.read_csv(mine / "all.csv")
        lines = (mine / NEW[kind]).read_text().splitlines(keepends=True)
        header = NEW[kind].endswith(".csv")
        one = "one" + NEW[kind][-4:]
        (mine / one).write_text("".join([*lines[:header], lines[header + 2]]))
        text = by_config(kind, new=one)[0]
        single = pd.read_csv(io.StringIO(text)).drop(columns="id")
        expected = whole.groupby("method", sort=False).nth(2).drop(columns="id")
        numbers = single.select_dtypes("number").columns.drop("unlike in", errors="ignore")
        np.testing.assert_allclose(single[numbers], expected[numbers], rtol=1e-9)


def test_samples_have_their_names_and_unseen_values_are_said(mine, fitted):
    fitted("features")
    text, said = by_config("features")
    frame = pd.read_csv(io.StringIO(text))
    assert list(frame.id[:2]) == ["shape-0", "shape-1"]
    assert list(frame.columns) == ["id", "method",
                                   "predicted", "probability: no", "probability: yes",
                                   "unlike", "unlike in", "distance"]  # fmt: skip
    assert "flat" in said
    assert "R-hat" in said  # the chains are short
    assert "Note: " in said


def test_some_methods(mine, fitted):
    fitted("naive")
    method = "3 uncorrected exact"
    whole = pd.read_csv(io.StringIO(by_config("naive")[0]))
    some = pd.read_csv(io.StringIO(by_config("naive", "--method", method)[0]))
    assert some.equals(whole[whole.method == method].reset_index(drop=True))
    run("export", "naive.yaml", "one.model", "--method", method)
    assert list(thesiskit.load_model("one.model").methods) == [method]
    must_fail(
        invoke("export", "naive.yaml", "x", "--method", "3 bernoulli-nb"),
        "'3 bernoulli-nb' is a third-party method that cannot be exported",
        "Fix: choose one of 3 corrected exact",
    )
    must_fail(
        invoke("export", "naive.yaml", "x", "--method", "4 corrected"), "no method '4 corrected'"
    )
    said = invoke("predict", "--model", "one.model", "--new", NEW["naive"], "--method", "corrected")
    must_fail(said, f"'{method}'")


def test_short_names_of_methods(mine, fitted):
    """Words or their beginnings, in any order and sample; messages list all methods in full."""
    fitted("naive")
    run("export", "naive.yaml", "all.model", "--all-methods")
    model, every = thesiskit.load_model("all.model"), []
    for short, name in (
        ("EXACT uncorrected 3", "3 uncorrected exact"),
        ("3, corrected, exact", "3 corrected exact"),
        ("all simp", "all complete simpson-21"),
    ):
        assert by_config("naive", "--method", short)[0] == by_config("naive", "--method", name)[0]
        assert model.method(short).name == name
        every.append(name)
    done = invoke("predict", "naive.yaml", "--new", NEW["naive"], "--method", "corrected")
    must_fail(done, "'corrected' matches 2 methods")
    assert "'3 corrected simpson-21'" in done.stderr
    assert "uncorrected" not in done.stderr
    for wrong in ("2 corrected", "", "--"):
        done = invoke("predict", "naive.yaml", "--new", NEW["naive"], "--method", wrong)
        must_fail(done, f"no method {wrong!r}")
        assert all(repr(name) in done.stderr for name in every)


def test_without_a_name_it_is_the_method_that_predicts_best(mine):
    """The same as pages name it, and its cross-validation is kept for `run`."""
    write_config(mine, "naive")
    table = pd.read_csv(mine / "tissues.csv")
    table["gene 0"] += 3 * (table["status"] == "tumour")  # clear enough to recommend a method
    table.assign(again=table["gene 0"]).to_csv(mine / "tissues.csv", index=False)
    done = invoke("predict", "naive.yaml", "--new", NEW["naive"])
    notes = [line for line in done.stderr.splitlines() if "checks with warnings: D09" in line]
    assert len(notes) == 1  # of both fits
    (method,) = pd.read_csv(io.StringIO(done.stdout)).method.unique()
    config = load_config(mine / "naive.yaml")
    experiment = Experiment(config, Results(mine / "results", "mine"), mine)
    record = experiment.record()
    losses = {record.name(method): metrics.log_loss(record.probability(method), record.response)
              for method in record.methods}  # fmt: skip
    name = min(losses, key=losses.__getitem__)
    names = dict(zip(losses, experiment.graph.work.methods("predict"), strict=True))
    assert method == names[name]
    assert by_config("naive", "--method", name)[0] == done.stdout
    run("export", "naive.yaml", "mine.model")
    assert list(thesiskit.load_model("mine.model").methods) == [method]
    said = invoke(
        "predict", "naive.yaml", "--new", NEW["naive"], "--method", method, "--all-methods"
    )
    must_fail(said, "exclude each other. Fix: remove one")


def test_methods_of_others_of_patterns_are_exported(mine, fitted):
    fitted("sequences")
    run("export", "sequences.yaml", "peer.model", "--method", "2-n-gram")
    model = thesiskit.load_model("peer.model")
    assert list(model.methods) == ["2-n-gram"]
    assert not model.methods["2-n-gram"].warning
    fitted("features")
    run("export", "features.yaml", "all.model", "--all-methods")
    methods = list(thesiskit.load_model("all.model").methods)
    assert methods[-1] == "logistic-regression"
    said = "'gradient-boosting' is a third-party method that cannot be exported"
    must_fail(invoke("export", "features.yaml", "x", "--method", "gradient-boosting"), said)


def test_what_cannot_be(mine):
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model", "--method", "3 corrected exact")
    new = ("--new", NEW["naive"])
    must_fail(invoke("predict"), "no model is given. Fix: give a CONFIG")
    must_fail(invoke("predict", *new), "Fix: give a CONFIG, or --model")
    must_fail(invoke("predict", "naive.yaml", "--output", "x"), "--output is for new samples")
    must_fail(invoke("predict", "--model", "mine.model"), "--new TABLE")
    must_fail(invoke("predict", "naive.yaml", "--model", "mine.model", *new), "Fix: remove CONFIG")
    must_fail(invoke("predict", "--model", "mine.model", *new, "--smoke"), "Fix: remove --smoke")
    must_fail(invoke("predict", "naive.yaml", *new, "--output", new[1]), "another name")
    must_fail(
        invoke("validate", "mine.model", "--new", "tissues.csv", "--output", "."),
        "Fix: give another --output",
    )
    (mine / "link").symlink_to(mine / "elsewhere")
    os.mkfifo(mine / "pipe")
    for name in ("link", "pipe", mine):
        must_fail(invoke("predict", "naive.yaml", *new, "--output", name), str(name))
        must_fail(invoke("export", "naive.yaml", name), str(name))
    assert (mine / "link").is_symlink()
    must_fail(invoke("predict", "null", *new), "simulates its samples")
    must_fail(invoke("predict", "correlation-lattice", *new), "has no data")
    must_fail(invoke("predict", "breast-cancer", *new), "does not read new samples")


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("naive", "gen 1,gen 2\n1,2\n", ["lacks 12 of the 12", "gene 0"]),
        ("naive", "gene 1,gene 2\n", ["no samples"]),
        ("features", "name,form\na,round\n", ["colour"]),
        ("two-states", "a b a\n", ["line 1 has 3 states", "5"]),
        ("two-states", "", ["no samples"]),
    ],
)
def test_tables_that_do_not_fit(kind, content, words, model, mine, fitted):
    write_config(mine, kind)
    path = mine / f"bad{NEW[kind][-4:]}"
    path.write_text(content)
    if model:
        fitted(kind)
        run("export", f"{kind}.yaml", "mine.model", "--all-methods")
        must_fail(invoke("predict", "--model", "mine.model", "--new", path), path.name, *words)
    else:
        # before anything is fitted: no folder is left behind
        must_fail(invoke("predict", f"{kind}.yaml", "--new", path), path.name, *words)
        assert not (mine / "results").exists()


def test_a_model_of_another_kind_of_table(mine, fitted):
    fitted("features")
    run("export", "features.yaml", "mine.model", "--all-methods")
    done = invoke("predict", "--model", "mine.model", "--new", NEW["naive"])
    must_fail(done, NEW["naive"], "form")
    done = invoke("predict", "--model", "mine.model", "--new", NEW["sequences"])
    must_fail(done, NEW["sequences"])


@pytest.mark.parametrize("model", [True, False])
def test_new_tables_of_every_format(model, mine, fitted):
    """The same samples in other files have the same predictions."""
    fitted("naive")
    expected, _ = by_config("naive")
    run("export", "naive.yaml", "mine.model", "--all-methods")
    how = ("--model", "mine.model") if model else ("naive.yaml", "--all-methods")
    frame = pd.read_csv(mine / NEW["naive"]).drop(columns="batch")
    frame.to_csv(mine / "new.tsv.gz", sep="\t", index=False)
    frame.to_csv(mine / "new.txt", sep=";", index=False)
    frame.to_parquet(mine / "new.parquet")
    for name in ("new.tsv.gz", "new.txt", "new.parquet"):
        done = invoke("predict", *how, "--new", name)
        assert done.exit_code == 0, done.output
        assert done.stdout == expected, name


def test_tables_with_genes_in_rows(mine, fitted):
    fitted("naive")
    expected, _ = by_config("naive")
    for name in ("tissues.csv", "new-tissues.csv"):
        pd.read_csv(mine / name).T.to_csv(mine / f"turned-{name}", header=[f"s{i}" for i in range(
            len(pd.read_csv(mine / name)))], index_label="gene")  # fmt: skip
    text = (mine / "naive.yaml").read_text()
    turned = text.replace("path: tissues", "orientation: genes-in-rows, path: turned-tissues")
    (mine / "turned.yaml").write_text(turned)
    run("export", "turned.yaml", "turned.model", "--all-methods")
    found = invoke("predict", "--model", "turned.model", "--new", "turned-new-tissues.csv")
    assert found.exit_code == 0, found.output
    frame, whole = (pd.read_csv(io.StringIO(one)) for one in (found.stdout, expected))
    assert list(frame.id[:2]) == ["s0", "s1"]
    assert frame.drop(columns="id").equals(whole.drop(columns="id"))


def test_chains_go_on(mine):
    """More iterations continue the chains of the fit, with the draws of one that was not ended."""
    write_config(mine, "two-states")
    more = ("--set", "model.iterations=60")
    by_config("two-states", "--results", "a")
    before = {path: path.read_bytes() for path in (mine / "a").rglob("fit/*.nc")}
    text, _ = by_config("two-states", "--results", "a", *more)
    assert before
    assert all(path.read_bytes() != content for path, content in before.items())
    assert by_config("two-states", "--results", "b", *more)[0] == text


OTHERS = {
    "naive": ["l2-logistic", "lasso"],
    "normal": ["l2-logistic", "lasso", "pool"],
}


@pytest.mark.parametrize("kind", OTHERS)
def test_methods_of_others_are_exported_as_ours_are(kind, mine):
    """What a file predicts is what the method predicts that is fitted to all samples here."""
    write_config(mine, kind)
    methods = f"model.methods=[corrected, {', '.join(OTHERS[kind])}]"
    run("export", f"{kind}.yaml", "others.model", "--all-methods", "--set", methods)
    model = thesiskit.load_model("others.model")
    text = run("predict", "--model", "others.model", "--new", NEW[kind])
    for method in OTHERS[kind]:
        (name,) = {one for one in model.methods if (one.split()[1] == method and "3" in one) or
                   one == f"all {method}"}  # fmt: skip
        method, p = model.methods[name], model.predict_proba(NEW[kind], name)
        assert name in text
        np.testing.assert_allclose(p.sum(axis=1), 1)
        about, arrays = method.stored()
        again = type(method).restore(about | {"name": name}, arrays, model.inputs)
        samples = model.read(mine / NEW[kind]).inputs
        assert (again.predict(model.inputs, samples)["probability"] == p).all()
        for name, damage in ROTTEN.items():
            if name in arrays:
                with pytest.raises((ValueError, IndexError)):
                    damaged = arrays | {name: damage(arrays[name])}
                    type(method).restore(about | {"name": "x"}, damaged, model.inputs)


ROTTEN = {
    "columns": lambda one: one + 1000,
    "learnt/coef_": lambda one: one * np.nan,
    "learnt/best": lambda one: one + 1000,
}


def test_samples_unlike_the_training_samples_are_said(mine, rng):
    """By config and by a file: in columns for each sample, and in words."""
    level = rng.normal(8, 2, 60)
    frame = pd.DataFrame(level + rng.normal(size=(40, 60)), columns=[f"g{j}" for j in range(60)])
    frame.assign(status=["normal", "tumour"] * 20).to_csv(mine / "tissues.csv", index=False)
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model", "--all-methods")
    new = pd.DataFrame(level + rng.normal(size=(12, 60)), columns=frame.columns)
    new.iloc[3] = np.nan
    for table, words in (
        (new, None),
        (new / 2, "11 of 12 samples are unlike the training samples (p < 0.001): their values are "
         "about 0.5 times as large; perhaps they are on another scale, such as logs"),
        (2.0**new, "(p < 0.001): their values are of another size; perhaps they are on another"),
        (new + 4, "standard deviations larger on average; perhaps they were measured or"),
        (new + rng.normal(0, 3, new.shape), "times the usual one; perhaps they were measured "
                                            "differently"),
        (new[4:6] / 2, "2 of 2 samples are"),
        (pd.concat([new[4:5] / 2, new[6:]]), "1 of 7 samples is unlike the training samples "
         "(p < 0.001): its values are about 0.4"),
        (pd.concat([new[4:5] / 2, *[new[6:]] * 9]), "(p < 0.001; 1% would be by chance"),
    ):  # fmt: skip
        table.to_csv(mine / "new.csv", index=False)
        text, said = by_config("naive", new="new.csv")
        done = invoke("predict", "--model", "mine.model", "--new", "new.csv")
        assert (done.exit_code, done.stdout) == (0, text)
        found = pd.read_csv(io.StringIO(text))
        empty = table.isna().all(axis=1).to_numpy()
        for both in (said, done.stderr):
            assert ("unknown values in '4'" in both) == empty.any()
            assert both.count("unlike the training samples") == (words is not None)
            assert words is None or words in both
        for _, rows in found.groupby("method"):
            np.testing.assert_array_equal(rows.unlike.isna(), empty)
            assert rows["unlike in"].notna().any() == (words is not None)
            assert rows["beyond range"].between(0, 1).all()
        model = thesiskit.load_model("mine.model")
        np.testing.assert_array_equal(model.unlike("new.csv"), rows.unlike)
        if words is None:
            assert rows["beyond range"].mean() < 0.2


def test_a_file_of_an_older_version_compares_no_samples(mine, fitted):
    fitted("naive")
    run("export", "naive.yaml", "mine.model", "--method", "3 corrected exact")
    header, found = read_model(mine / "mine.model")
    old = {name: values for name, values in found.items() if not name.startswith("likeness/")}
    write_model(mine / "old.model", header | {"format": 4}, old)
    done = invoke("predict", "--model", "old.model", "--new", NEW["naive"])
    assert done.exit_code == 0
    assert done.stderr.count("too old to compare new samples") == 1
    assert "unlike" not in done.stdout
    with pytest.raises(ValueError, match="export it again"):
        thesiskit.load_model("old.model").unlike(NEW["naive"])
    write_model(mine / "old.model", header | {"format": 5}, found)  # it had fewer measures
    assert thesiskit.load_model("old.model").likeness is None
    fitted("two-states")  # sequences are not compared
    _, said = by_config("two-states")
    assert "unlike" not in said
    assert "compare" not in said


@pytest.mark.parametrize("kind", ["frequent", "real"])
def test_discrete_samples_unlike_the_training_samples_are_said(kind, mine, rng):
    """Columns name values that are rare, or that no training sample has."""
    values = rng.choice(list("abc"), (80, 8), p=[0.9, 0.08, 0.02])
    values[np.arange(8), np.arange(8)] = "c"
    frame = pd.DataFrame(values, columns=["form", "level", *"uvwxyz"])
    y = {"colour": np.array(["red", "blue"])[np.arange(80) % 2]}
    y = y if kind == "frequent" else {"size": rng.normal(size=80).round(3)}
    frame.assign(name=range(80), **y).to_csv(mine / "shapes.csv", index=False)
    text = CONFIGS[kind].replace(", ignore: [name, size]", ", ignore: [name]")
    (mine / f"{kind}.yaml").write_text(text)
    new = frame.iloc[rng.permutation(80)[:20]].reset_index(drop=True)
    new.iloc[0], new.iloc[1] = "c", "d"
    new.iloc[2] = ""
    new.to_csv(mine / "new.csv", index=False)
    run("export", f"{kind}.yaml", "mine.model", "--all-methods")
    done = invoke("predict", "--model", "mine.model", "--new", "new.csv")
    text, said = by_config(kind, new="new.csv")
    assert done.stdout == text
    found = pd.read_csv(io.StringIO(text)).iloc[:20]
    assert list(found.columns[-3:]) == ["unlike", "unlike in", "distance"]
    assert (found.unlike[:2] < 0.01).all()
    assert (found["unlike in"][:2] == "distance").all()
    assert (found.distance[:2] > 2).all()
    assert found.unlike.isna().tolist() == [False] * 2 + [True] + [False] * 17
    assert (found.unlike[3:] < 0.01).sum() <= 2
    for one in (said, done.stderr):
        assert "unknown values in '3'" in one
        assert "unlike the training samples" in one
        assert "times the usual one; perhaps they were coded differently" in one
    model = thesiskit.load_model("mine.model")
    np.testing.assert_array_equal(model.unlike(new.replace("", None)), found.unlike)


# ---- columns of words, and columns that new samples lack ----

CLINIC = """
experiment: clinic
title: Mine
about: A test.
data: { source: file, path: clinic.csv, response: y }
evaluation: { folds: 2 }
selection: { features: [3] }
model: { kind: KIND, methods: [corrected]MORE }
report: { parts: [methods] }
"""


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    stage = np.where(rng.random(40) < 0.8, np.array(["I", "II"])[y], "III")
    frame = pd.DataFrame({"sex": rng.choice(list("MF"), 40), "stage": stage,
                          "g": rng.normal(size=40) + 3 * y, "h": rng.normal(size=40)})  # fmt: skip
    frame.assign(y=y).to_csv("clinic.csv", index=False)

    def fitted(kind, more=""):
        text = CLINIC.replace("KIND", kind).replace("MORE", more)
        text = text.replace("[3]", "[1]") if kind == "mixture" else text
        (tmp_path / "clinic.yaml").write_text(text)
        run("export", "clinic.yaml", "clinic.model")
        return thesiskit.load_model("clinic.model")

    return frame, fitted


def predicted(frame, *how):
    frame.to_csv("new.csv", index=False)
    return invoke("predict", *how, "--new", "new.csv", "--jobs", "0")


def test_words_have_their_codes_in_a_model_file(clinic):
    frame, fitted = clinic
    model = fitted("normal")
    kept = np.array(model.inputs.names)[model.method().selected]
    assert "g" in kept
    assert any(name.startswith("stage=") for name in kept)
    by_config = predicted(frame.iloc[:3], "clinic.yaml")
    frame.iloc[:3].to_csv("new.csv", index=False)
    by_model = invoke("predict", "--model", "clinic.model", "--new", "new.csv")
    assert by_config.exit_code == 0, by_config.output
    assert by_model.stdout == by_config.stdout
    p = model.predict_proba("new.csv")
    whole = model.predict_proba("clinic.csv")
    np.testing.assert_array_equal(p, whole[:3])  # alone as among others
    np.testing.assert_array_equal(model.predict_proba(frame), whole)
    coded = model.read(Path("clinic.csv")).features
    named = pd.DataFrame(coded, columns=model.inputs.names)
    np.testing.assert_array_equal(model.predict_proba(named), whole)


def test_columns_that_new_samples_lack(clinic):
    frame, fitted = clinic
    model = fitted("normal")
    whole = model.predict_proba("clinic.csv")
    kept = {
        name.partition("=")[0] for name in np.array(model.inputs.names)[model.method().selected]
    }
    assert kept == {"g", "stage"}
    how = ("--model", "clinic.model")
    done = predicted(frame.drop(columns=["sex", "h"]), *how)
    assert done.exit_code == 0, done.output
    assert "new.csv: lacks 'sex', 'h', selected by no method: no effect" in done.stderr
    found = pd.read_csv(io.StringIO(done.stdout))["probability: 1"]
    np.testing.assert_array_equal(found, whole[:, 1])
    done = predicted(frame.drop(columns="stage"), *how)
    assert done.exit_code == 0, done.output
    assert "lacks 'stage', selected by 3 corrected" in done.stderr
    assert "treated as missing" in done.stderr
    model = fitted("mixture", ", samplers: [enumeration], collapsed: { alpha_points: 8 }")
    names = np.array(model.inputs.names)[model.method().selected]
    column = str(names[0]).partition("=")[0]
    done = predicted(frame.drop(columns=column), *how)
    must_fail(done, f"lacks '{column}', which ", "does not accept missing values. Fix: add it")
    others = [one for one in frame if one not in {str(n).partition("=")[0] for n in names}]
    done = predicted(frame.drop(columns=others), *how)
    assert done.exit_code == 0, done.output
    assert "selected by no method" in done.stderr


def own_table(folder, effect, n=24, p=60):
    """Write a table of real features, 5 of which differ by `effect`, and its config."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p)) + effect * np.outer(y, np.arange(p) < 5)
    table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(p)])
    table.assign(status=np.where(y, "tumour", "healthy")).to_csv(folder / "own.csv", index=False)
    table.to_csv(folder / "new.csv", index=False)
    run("init", "own.csv", "--response", "status", "--output", "own.yaml")
    config = folder / "own.yaml"
    config.write_text(quickened(config.read_text()))


def test_where_nothing_is_found_predictions_are_the_class_frequencies(mine):
    """Also in the model file; a method that is named is used all the same."""
    own_table(mine, 0.0)
    done = invoke("predict", "own.yaml", "--new", "new.csv")
    assert "No model is recommended" in done.stderr
    frame = pd.read_csv(io.StringIO(done.stdout))
    assert set(frame.method) == {"class frequencies"}
    assert (frame["probability: tumour"] == 0.5).all()
    run("export", "own.yaml", "own.model")
    assert (thesiskit.load_model("own.model").predict_proba("new.csv") == 0.5).all()
    alone = run("predict", "--model", "own.model", "--new", "new.csv")
    assert "class frequencies" in alone
    named = invoke("predict", "own.yaml", "--new", "new.csv", "--method", "pool")
    assert "No model" not in named.stderr
    assert pd.read_csv(io.StringIO(named.stdout))["probability: tumour"].nunique() > 1


def test_where_something_is_found_a_model_predicts(mine):
    own_table(mine, 3.0)
    done = invoke("predict", "own.yaml", "--new", "new.csv")
    assert "No model" not in done.stderr
    assert pd.read_csv(io.StringIO(done.stdout))["probability: tumour"].nunique() > 1


def test_of_several_guesses_of_a_filtering_the_largest_predicts(mine):
    own_table(mine, 1.5)
    (mine / "filtered.yaml").write_text(
        SELECTING.replace("tissues", "own")
        + "selection: { features: [all], screened: { of: [200, 800] } }\n"
        + "model: { kind: normal, temperature: [none, residual] }\n"
    )
    done = invoke("predict", "filtered.yaml", "--new", "new.csv")
    assert "predictions use the largest, 800" in done.stderr
    (method,) = pd.read_csv(io.StringIO(done.stdout)).method.unique()
    assert "of 800" in method
    assert "tempered" in method


@pytest.mark.parametrize("kind", ["naive-bayes", "normal"])
def test_new_samples_of_a_filtered_table_are_like_the_training_samples(mine, kind):
    """Though none of them took part in the filtering; without imitation a third is unlike."""
    rng, y, shares = np.random.default_rng(3), np.arange(40) % 2, []
    text = SELECTING.replace("tissues", "filtered")
    for number in range(2):
        X, effect = rng.normal(8, 1, (40, 5000)), np.repeat([1.5, 0], [20, 4980])
        X += y[:, None] * effect
        best = np.argsort(-np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) / X.std(axis=0))
        best = best[:50]
        new = rng.normal(8, 1, (200, 50)) + (np.arange(200) % 2)[:, None] * effect[best]
        names = [f"g{j}" for j in best]
        frame = pd.DataFrame(X[:, best], columns=names)
        frame.insert(0, "status", np.where(y, "tumour", "normal"))
        frame.to_csv("filtered.csv", index=False)
        pd.DataFrame(np.concatenate([new, new[:50] / 2]), columns=names).to_csv("new.csv")
        (mine / "filtered.yaml").write_text(
            text.replace("mine", f"filtered-{kind}-{number}")
            + "selection: { features: [10], screened: { of: [5000] } }\n"
            + f"model: {{ kind: {kind} }}\n"
        )
        done = invoke("predict", "filtered.yaml", "--new", "new.csv")
        assert done.exit_code == 0, done.output
        unlike = pd.read_csv(io.StringIO(done.stdout)).unlike < 0.01
        assert unlike[200:].all()
        shares.append(unlike[:200].mean())
    assert np.mean(shares) < 0.03


# ---- another prevalence ----


def moved(frame, classes, shares, training):
    """Return predictions at other shares of the classes, from odds."""
    p = frame[[f"probability: {name}" for name in classes]].to_numpy()
    weighted = p * (np.array(shares) / np.array(training))
    return weighted / weighted.sum(axis=1, keepdims=True)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("naive", "features", "sequences")]


@pytest.mark.parametrize("kind", ["two-states", "three-classes", *SLOW])
def test_another_prevalence(kind, mine, fitted):
    """The odds of all methods are multiplied, by config, by model file, and in Python."""
    fitted(kind)
    text, said = by_config(kind)
    model_file = ("--model", "mine.model", "--new", NEW[kind])
    run("export", f"{kind}.yaml", "mine.model", "--all-methods")
    model = thesiskit.load_model("mine.model")
    assert model.counts.sum() == model.samples
    training = model.counts / model.samples
    names = ", ".join(
        f"{name} {share:.3g}" for name, share in zip(model.classes, training, strict=True)
    )
    assert f"Note: predictions assume the prevalence of the training samples: {names}\n" in said
    rest = training[1:] / training[1:].sum()
    shares = [0.2, *0.8 * rest]
    prevalence = ("--prevalence", f"{model.classes[0]}=0.2")
    found, said = by_config(kind, *prevalence)
    assert f"Note: predictions assume the prevalence: {model.classes[0]} 0.2, " in said
    before, after = (pd.read_csv(io.StringIO(one)) for one in (text, found))
    wanted = moved(before, model.classes, shares, training)
    columns = [f"probability: {name}" for name in model.classes]
    np.testing.assert_allclose(after[columns], wanted, rtol=1e-9, atol=1e-14)
    others = before.columns.difference([*columns, "predicted"])
    assert after[others].equals(before[others])
    for row, p in zip(after["predicted"], wanted, strict=True):
        assert p[model.classes.index(row)] == pytest.approx(p.max())
    done = invoke("predict", *model_file, *prevalence)
    assert done.stdout == found
    method = before["method"][0]
    mine = after[after["method"] == method]
    asked = {"method": method, "prevalence": {model.classes[0]: 0.2}}
    np.testing.assert_array_equal(model.predict_proba(NEW[kind], **asked), mine[columns])
    assert (model.predict(NEW[kind], **asked) == mine["predicted"].to_numpy()).all()


def test_class_frequencies_at_another_prevalence_are_the_prevalence(mine, fitted):
    fitted("naive")
    run("export", "naive.yaml", "mine.model", "--all-methods")
    model = thesiskit.load_model("mine.model")
    only = FrequencyMethod(model.counts)
    replace(model, methods={only.name: only}).save("base.model")
    new = ("--new", NEW["naive"], "--prevalence", "tumour=.02")
    done = invoke("predict", "--model", "base.model", *new)
    frame = pd.read_csv(io.StringIO(done.stdout))
    assert set(frame["method"]) == {"class frequencies"}
    assert frame["probability: tumour"].to_numpy() == pytest.approx(0.02, rel=1e-12)


@pytest.mark.parametrize(
    ("prevalence", "words"),
    [
        (["tumour=0"], "'tumour' is '0'"),
        (["tumour=1"], "between 0 and 1"),
        (["tumour=nan"], "'nan'"),
        (["tumour=-.1"], "'-.1'"),
        (["tumour=few"], "'few', which is not a number"),
        (["tumour"], "such as --prevalence tumour=0.02"),
        (["tumor=.1"], "did you mean tumour?"),
        (["tumour=.1", "tumour=.1"], "twice"),
        (["tumour=.1", "normal=.8"], "add up to 0.9"),
    ],
)
def test_a_prevalence_that_cannot_be(prevalence, words, mine):
    """Refused before anything is fitted."""
    write_config(mine, "naive")
    options = [word for text in prevalence for word in ("--prevalence", text)]
    must_fail(invoke("predict", "naive.yaml", "--new", NEW["naive"], *options), words, "Fix: ")
    assert not (mine / "results").exists()


def test_a_prevalence_without_classes_new_samples_or_counts(mine, fitted):
    write_config(mine, "pool-real")
    real = ("predict", "pool-real.yaml", "--new", NEW["pool-real"], "--prevalence", "high=.1")
    must_fail(invoke(*real), "the responses are real numbers, not classes. Fix: ")
    assert not (mine / "results").exists()
    fitted("naive")
    must_fail(invoke("predict", "naive.yaml", "--prevalence", "tumour=.1"), "Fix: add --new TABLE")
    run("export", "naive.yaml", "mine.model", "--all-methods")
    header, found = read_model(mine / "mine.model")
    del found["class_counts"]
    write_model(mine / "old.model", header | {"format": 8}, found)
    old = ("predict", "--model", "old.model", "--new", NEW["naive"])
    said = invoke(*old)
    assert said.stdout == by_config("naive")[0]
    assert "prevalence" not in said.stderr
    must_fail(invoke(*old, "--prevalence", "tumour=.1"), "too old", "Fix: export it again")
    must_fail(invoke(*old, "--prevalence", "tumor=.1"), "did you mean tumour?")


def test_an_output_never_replaces_an_input_or_a_file_of_somebody_else(mine):
    """Also by other names of the file, and with --force; models and predictions are replaced."""
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model")
    (mine / "notes.csv").write_text("mine")
    (mine / "folder").mkdir()
    (mine / "folder" / "link.yaml").symlink_to(mine / "naive.yaml")
    os.link(mine / "tissues.csv", mine / "hard.csv")
    whole = {path: path.read_bytes() for path in mine.iterdir() if path.is_file()}
    predict = ("predict", "--model", "mine.model", "--new", NEW["naive"], "--output")
    by_config = ("predict", "naive.yaml", "--new", NEW["naive"], "--output")
    by_link = ("export", "folder/link.yaml", "--set", "data.path=../tissues.csv")
    for force in ((), ("--force",)):
        for command, output in [
            (("export", "naive.yaml"), "tissues.csv"),
            (("export", "naive.yaml"), "hard.csv"),
            (("export", "naive.yaml"), "naive.yaml"),
            (by_link, "naive.yaml"),
            (by_link, "tissues.csv"),
            (predict, "mine.model"),
            (predict, NEW["naive"]),
            (by_config, "tissues.csv"),
            (by_config, "naive.yaml"),
            (by_config, "../mine/naive.yaml"),
        ]:
            must_fail(invoke(*command, output, *force), "this command reads the file. Fix:")
    for command in (("export", "naive.yaml"), predict, by_config):
        must_fail(invoke(*command, "notes.csv"), "thesiskit did not write it. Fix: give another")
    must_fail(invoke("init", "tissues.csv", "--output", "notes.csv"), "exists already")
    must_fail(invoke("export", "naive.yaml", "notes.csv"), "add --force")
    assert {path: path.read_bytes() for path in whole} == whole
    run(*predict, "found.csv")
    run(*predict, "found.csv")
    run("export", "naive.yaml", "mine.model")
    must_fail(invoke("export", "naive.yaml", "found.csv"), "thesiskit did not write it")
    run(*predict, "notes.csv", "--force")
    assert (mine / "notes.csv").read_text() == (mine / "found.csv").read_text()


def test_a_model_of_a_later_version_is_a_model(mine):
    write_config(mine, "tempered")
    run("export", "tempered.yaml", "mine.model", "--all-methods")
    header, arrays = read_model(mine / "mine.model")
    write_model(mine / "later.model", header | {"format": 99}, arrays)
    assert is_model(mine / "later.model")
    for content in (b"", b"PK", b"id,method"):
        (mine / "other").write_bytes(content)
        assert not is_model(mine / "other")
