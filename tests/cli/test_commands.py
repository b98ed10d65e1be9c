"""The command line as a user meets it: stages, resuming, and mistakes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from commands import ROOT, invoke, must_fail, wait_for

from thesiskit.files import Results

SMALL = """\
experiment: small
title: Small
about: Small.
replicates: 4
block: 2
data: {source: naive-bayes, features: 40, alpha: 5, train: [10, 10], test: [10, 10]}
selection: {features: [2, all]}
report: {parts: [methods, timing-table]}
"""
STAGES = ("simulate", "select", "fit-naive", "predict", "report")


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_stages_one_by_one_equal_run(small, tmp_path):
    for command in STAGES:
        result = invoke(command, small, "--results", tmp_path / "a")
        assert result.exit_code == 0, result.output
        assert str(tmp_path / "a" / "small") in result.output
    assert invoke("run", small, "--results", tmp_path / "b").exit_code == 0
    for number in range(2):
        a, b = (Results(tmp_path / r, "small").load("predict", number) for r in "ab")
        assert (a["probability"] == b["probability"]).all()
    assert (tmp_path / "a" / "small" / "timings.csv").exists()


def test_run_skips_what_is_done_and_redoes_what_changed(small, tmp_path):
    where = ("--results", tmp_path / "r")
    first = invoke("run", small, *where)
    assert "already done" not in first.output
    assert invoke("run", small, *where).output.count("already done") == 5
    changed = invoke("run", small, *where, "--set", "model.alpha_points=20")
    assert changed.output.count("already done") == 2  # simulate and select stand
    assert invoke("run", small, *where, "--seed", 5).output.count("already done") == 0
    assert invoke("run", small, *where, "--seed", 5, "--force").output.count("already done") == 0


@pytest.mark.parametrize("jobs", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_stages_write_what_they_selected_and_predicted(small, tmp_path, monkeypatch, jobs):
    where = ("--results", tmp_path / "r", "--jobs", jobs)
    folder = tmp_path / "r" / "small"
    invoke("simulate", small, *where)
    assert not (folder / "selected-features.csv").exists()
    invoke("select", small, *where)
    selected = pd.read_csv(folder / "selected-features.csv")
    assert selected["data set, 1 of 4"].tolist() == [1, 1]
    columns = Results(tmp_path / "r", "small").load("select", 0)["selected"][:2]
    assert set(selected["feature"]) == {f"number {j + 1}" for j in columns}
    assert not (folder / "predictions.csv").exists()
    invoke("predict", small, *where)
    predicted = pd.read_csv(folder / "predictions.csv")
    blocks = [Results(tmp_path / "r", "small").load("predict", n) for n in range(2)]
    methods = len(blocks[0]["probability"])
    assert len(predicted) == methods * 4 * 20
    assert predicted["data set"].unique().tolist() == [1, 2, 3, 4]
    of_first = predicted[: 4 * 20]["probability: 1"]
    assert of_first.to_numpy() == pytest.approx(
        np.concatenate([block["probability"][0] for block in blocks])
    )
    written = (folder / "predictions.csv").read_bytes()
    (folder / "predictions.csv").unlink()
    assert "already done" in invoke("predict", small, *where).output
    assert (folder / "predictions.csv").read_bytes() == written
    monkeypatch.setattr("thesiskit.report.parts.MOST_ROWS", methods * 20 * 3)
    invoke("predict", small, *where, "--force")
    first = pd.read_csv(folder / "predictions.csv")
    assert first["data set, 1 to 3 of 4"].unique().tolist() == [1, 2, 3]
    assert first["probability: 1"].isin(predicted["probability: 1"]).all()
    monkeypatch.setattr("thesiskit.report.parts.MOST_ROWS", 1)
    invoke("predict", small, *where, "--force")
    assert len(pd.read_csv(folder / "predictions.csv")) == methods * 20  # at least a data set


def test_logistic_experiments_write_predictions(tmp_path):
    done = invoke(
        "predict", "hmm", "--smoke", "--jobs", 0, "--results", tmp_path, "--set", "model.orders=[1]"
    )
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "hmm-smoke" / "predictions.csv")
    arrays = Results(tmp_path, "hmm-smoke").load("predict", 0)
    assert len(found) == len(arrays["probability"]) * len(arrays["response"])
    assert found["probability: 2"].to_numpy() == pytest.approx(
        arrays["probability"][:, :, 1].ravel()
    )
    assert not (tmp_path / "hmm-smoke" / "selected-features.csv").exists()


def test_only_the_missing_block_is_made_again(small, tmp_path):
    where = ("--results", tmp_path / "r")
    invoke("run", small, *where)
    files = [tmp_path / "r" / "small" / "fit" / f"000{i}.npz" for i in range(2)]
    before = files[0].stat().st_mtime_ns
    content = Results(tmp_path / "r", "small").load("fit", 1)
    files[1].write_bytes(files[1].read_bytes()[:100])  # as if cut short
    assert invoke("run", small, *where).exit_code == 0
    assert files[0].stat().st_mtime_ns == before
    again = Results(tmp_path / "r", "small").load("fit", 1)
    assert (again["log_posterior"] == content["log_posterior"]).all()


def test_same_seed_same_bytes_and_methods_see_the_same_data(small, tmp_path):
    for name, extra in (("a", ()), ("b", ("--set", "model.methods=[uncorrected]"))):
        assert invoke("run", small, "--results", tmp_path / name, *extra).exit_code == 0
    a, b = (Results(tmp_path / name, "small") for name in "ab")
    for stage in ("simulate", "select"):
        for name, array in a.load(stage, 0).items():
            if name != "seconds":
                assert (array == b.load(stage, 0)[name]).all(), name
    assert a.path("simulate", 0).read_bytes() == b.path("simulate", 0).read_bytes()


def test_provenance_says_what_led_to_the_results(small, tmp_path):
    invoke("run", small, "--results", tmp_path, "--seed", 11)
    record = json.loads((tmp_path / "small" / "provenance.json").read_text())
    assert record["seed"] == record["config"]["seed"] == 11
    assert {"code", "packages", "machine", "stages", "data", "python"} <= set(record)
    assert set(record["stages"]) == {"simulate", "select", "fit", "predict"}


def test_a_stage_makes_those_before_that_are_missing(small, tmp_path):
    where = ("--results", tmp_path / "r")
    printed = invoke("select", small, *where).output
    assert [line.partition(":")[0] for line in printed.splitlines()] == ["simulate", "select"]
    assert "already done" not in printed
    printed = invoke("predict", small, *where, "--force").output.splitlines()
    assert [line.partition(":")[0] for line in printed] == ["simulate", "select", "fit", "predict"]
    assert ["already done" in line for line in printed] == [True, True, False, False]


def test_a_report_makes_no_stage(small, tmp_path):
    where = ("--results", tmp_path / "r")
    must_fail(invoke("report", small, *where), "is missing", "thesiskit run CONFIG")
    invoke("run", small, *where)
    must_fail(
        invoke("report", small, *where, "--set", "selection.features=[3]"),
        "was computed with other settings",
        "thesiskit select",
    )


def test_results_of_another_version(small, tmp_path):
    invoke("run", small, "--results", tmp_path)
    path = tmp_path / "small" / "fit" / "0000.npz"
    arrays = dict(np.load(path))
    arrays["format"] = np.array(999)
    np.savez(path, **arrays)
    must_fail(invoke("run", small, "--results", tmp_path), "another version", code=1)


def test_a_results_folder_that_cannot_be_written(small, tmp_path):
    (tmp_path / "file").write_text("")
    must_fail(
        invoke("run", small, "--results", tmp_path / "file" / "r"), "cannot write results", code=1
    )


def test_config_mistakes(tmp_path, small):
    must_fail(invoke("run", tmp_path / "none.yaml"), "not found")
    must_fail(invoke("run", small, "--set", "selection.features=[50]"), "cannot select 50 of 40")
    must_fail(invoke("run", small, "--set", "model.alpha_points=x"), "model.alpha_points: needs a")
    must_fail(invoke("run", small, "--set", "report.parts=[methodes]"), "'methods'?")
    must_fail(invoke("run", small, "--seed", "-1"), "--seed")
    must_fail(invoke("runn", small), "No such command")
    small.write_text(SMALL.replace("train", "trian"))
    must_fail(invoke("run", small), f"{small}:6: data.trian: unknown key; did you mean 'train'?")


def test_keeping_everything_is_said_and_needs_no_correction(small, tmp_path):
    result = invoke("run", small, "--results", tmp_path, "--set", "selection.features=[40]")
    assert "40 (no correction needed)" in result.output
    found = Results(tmp_path, "small").load("predict", 0)
    assert (found["probability"][0] == found["probability"][1]).all()


# ---- a user's own table ----


def own(tmp_path, frame, extra="", name="t.csv", test=None):
    frame.to_csv(tmp_path / name, index=False)
    if test is not None:
        test.to_csv(tmp_path / "test.csv", index=False)
        extra += ", test_path: test.csv"
    path = tmp_path / "own.yaml"
    path.write_text(
        "experiment: own\ntitle: Own\nabout: Own.\n"
        f"data: {{source: file, path: {name}, response: y{extra}}}\n"
        "selection: {features: [1, 2]}\nevaluation: {folds: 3}\n"
        "report: {parts: [methods, selection-table, reliability]}\n"
    )
    return path


def frame(seed=0, n=30):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 4)) + y[:, None] * [2, 1, 0, 0]
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y)


def test_a_test_table_with_another_class_0(tmp_path):
    words = frame().assign(y=np.where(frame().y == 1, "sick", "well"))
    other = words.assign(y=words.y.replace("well", "dead"))
    path = own(tmp_path, words, ", positive: sick", test=other)
    must_fail(
        invoke("run", path, "--results", tmp_path, "--set", "evaluation.scheme=test-set"),
        "the response 'y' is 'dead' in line 2, which no training sample has (well, sick)",
    )


def test_own_table(tmp_path):
    path = own(tmp_path, frame())
    for scheme in ("k-fold", "leave-one-out", "holdout"):
        result = invoke(
            "predict", path, "--results", tmp_path / scheme, "--set", f"evaluation.scheme={scheme}"
        )
        assert result.exit_code == 0, result.output
        found = Results(tmp_path / scheme, "own").load("predict", 0)
        assert len(found["case"]) == {"k-fold": 30, "leave-one-out": 30, "holdout": 8}[scheme]
        # every sample is predicted at most once, from models that did not see it
        assert len(set(found["case"])) == len(found["case"])
        assert ((found["probability"][0] >= 0.5) == found["response"]).mean() > 0.6


def test_medians_come_from_the_training_samples_alone(tmp_path):
    # move the test sample far up: its own bits change, the thresholds do not
    base = frame(1, 21)
    test = frame(2, 6)
    far = test.copy()
    far["c"] += 1e6
    answers = []
    for one in (test, far):
        path = own(tmp_path, base, test=one)
        invoke("select", path, "--results", tmp_path / "r", "--force")
        answers.append(Results(tmp_path / "r", "own").load("select", 0))
    assert (answers[0]["ones"] == answers[1]["ones"]).all()
    assert (answers[0]["selected"] == answers[1]["selected"]).all()


def test_training_and_test_columns(tmp_path):
    where = ("--results", tmp_path / "r")
    path = own(tmp_path, frame(), test=frame(1).rename(columns={"b": "z"}))
    must_fail(invoke("run", path, *where), "test.csv: there is no column 'b'")
    path = own(tmp_path, frame(), test=frame(1).assign(extra=1))
    must_fail(invoke("run", path, *where), "the training table has no feature extra")
    shuffled = frame(1)[["c", "y", "a", "d", "b"]]
    for test in (frame(1), shuffled):
        assert invoke("predict", own(tmp_path, frame(), test=test), *where).exit_code == 0
    # the order of columns does not matter
    a = Results(tmp_path / "r", "own").load("predict", 0)["probability"]
    invoke("predict", own(tmp_path, frame(), test=frame(1)), *where)
    b = Results(tmp_path / "r", "own").load("predict", 0)["probability"]
    assert (a == b).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(y=0), "class 0 only"),
        (lambda f: f.assign(y=[1, 2] * 15), "must be 0 and 1"),
        (
            lambda f: f.assign(b=[np.inf] + [1.0] * 29),
            "a value is infinite in sample 1, feature b",
        ),
        (lambda f: f.assign(b=[f"w{i}" for i in range(30)]), "categorical"),
        (lambda f: f[["a", "y"]], "cannot select 2 of 1 features"),
    ],
)
def test_mistakes_in_the_table(tmp_path, change, words):
    must_fail(invoke("run", own(tmp_path, change(frame())), "--results", tmp_path / "r"), words)


def test_a_constant_feature_is_no_mistake(tmp_path):
    path = own(tmp_path, frame().assign(b=1.5, c=0))
    assert invoke("run", path, "--results", tmp_path / "r").exit_code == 0


def test_thresholds_that_keep_nothing(small, tmp_path):
    text = SMALL.replace("features: [2, all]", "thresholds: [0.2, 0.99]")
    small.write_text(text)
    result = invoke("run", small, "--results", tmp_path)
    assert result.exit_code == 0, result.output
    found = Results(tmp_path, "small").load("predict", 0)
    np.testing.assert_allclose(found["probability"][2:], 0.5)


# ---- data, interruption ----


def test_an_unforeseen_failure_is_one_line_and_a_trace_on_request(small, monkeypatch, tmp_path):
    def fail(*_):
        raise RuntimeError("surprise")

    monkeypatch.setattr("thesiskit.study.design.Design.draw", fail)
    must_fail(invoke("run", small, "--results", tmp_path), "RuntimeError: surprise", code=1)
    shown = invoke("run", small, "--results", tmp_path, "-v")
    assert "Traceback" in shown.output


@pytest.mark.skipif(not shutil.which("kill"), reason="needs signals")
def test_ctrl_c_keeps_finished_blocks_and_the_next_run_resumes(small, tmp_path):
    small.write_text(
        SMALL.replace("replicates: 4\nblock: 2", "replicates: 30000\nblock: 10").replace(
            "features: 40,", "features: 1000,"
        )
    )
    command = [sys.executable, "-m", "thesiskit", "simulate", str(small), "--results"]
    process = subprocess.Popen(
        [*command, str(tmp_path)], stderr=subprocess.PIPE, text=True,
        # in the background, shells have their jobs ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    folder = tmp_path / "small" / "simulate"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(folder.glob("0*.npz"))) < 3:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Interrupted" in stderr
    assert "Traceback" not in stderr
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("0*.npz")}
    assert 3 <= len(kept) < 3000
    assert list(folder.glob(".*")) == []  # no half-written file
    assert (
        invoke("simulate", small, "--results", tmp_path, "--set", "replicates=100").exit_code == 0
    )
    first = folder / "0000.npz"
    assert first.stat().st_mtime_ns == kept[first]


def begun(*arguments):
    """Begin a command, in which signals are heard as in the foreground."""
    return subprocess.Popen(
        [sys.executable, "-m", "thesiskit", *map(str, arguments)],
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


@pytest.fixture
def click_is(tmp_path, monkeypatch):
    """Put a module in the place of the first that the command line imports."""

    def put(text):
        (tmp_path / "first").mkdir()
        (tmp_path / "first" / "click.py").write_text(text)
        paths = [str(tmp_path / "first"), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))

    return put


@pytest.mark.parametrize(
    ("when", "how"),
    [
        ("imports", signal.SIGINT),
        ("works", signal.SIGTERM),
        pytest.param("imports", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("works", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_signal_that_ends_a_command_is_told_in_a_line(how, when, small, tmp_path, click_is):
    """Also while it imports what it needs, and by SIGTERM, of which nothing was said."""
    small.write_text(SMALL.replace("replicates: 4\nblock: 2", "replicates: 30000\nblock: 10"))
    mark = tmp_path / "begun"
    if when == "imports":
        click_is(f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(60)\n")
    process = begun("simulate", small, "--results", tmp_path)
    folder = tmp_path / "small" / "simulate"
    wait_for(mark.exists if when == "imports" else lambda: list(folder.glob("0*.npz")))
    process.send_signal(how)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + how
    (line,) = stderr.splitlines()
    assert "Completed work is saved" in line


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_waits_for_nothing_and_says_so(how, tmp_path, click_is):
    mark = tmp_path / "begun"
    click_is(
        f"import pathlib, time\ntry:\n    pathlib.Path({str(mark)!r}).touch()\n"
        "    time.sleep(60)\nfinally:\n    time.sleep(60)\n"  # as what is saved takes its time
    )
    process = begun("simulate", "a.yaml")
    wait_for(mark.exists)
    process.send_signal(how)
    said = [process.stderr.readline()]
    process.send_signal(how)
    said += process.communicate(timeout=30)[1].splitlines()
    assert process.returncode == 128 + how
    assert "Completed work is saved" in said[0]
    assert said[1:] == ["Stopped at once; unsaved work will be computed again."]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_when_python_ends_changes_nothing(how, click_is):
    click_is(
        "import builtins, os\nclass Last:\n    def __del__(self, kill=os.kill, me=os.getpid()):\n"
        f"        kill(me, {int(how)})\nbuiltins.last = Last()\nraise SystemExit(3)\n"
    )
    process = begun("simulate", "a.yaml")
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 3


# ---- regressions ----


def test_an_edited_response_file_is_noticed(tmp_path):
    data = frame()
    data.assign(name=range(len(data)))[[*"abcd", "name"]].to_csv(tmp_path / "x.csv", index=False)
    labels = data[["y"]].assign(name=range(len(data)))[["name", "y"]]
    labels.to_csv(tmp_path / "y.csv", index=False)
    path = own(tmp_path, data)
    where = ("--results", tmp_path / "r")
    files = ("--set", "data.path=x.csv", "--set", "data.labels=y.csv", "--set", "data.id=name")
    assert invoke("predict", path, *where, *files).exit_code == 0
    assert invoke("predict", path, *where, *files).output.count("already done") == 4
    labels.assign(y=1 - labels.y).to_csv(tmp_path / "y.csv", index=False)
    assert "already done" not in invoke("predict", path, *where, *files).output


def test_report_refuses_stages_that_do_not_belong_together(small, tmp_path):
    where = ("--results", tmp_path)
    invoke("run", small, *where)
    invoke("select", small, *where, "--set", "selection.features=[1, all]")
    must_fail(invoke("report", small, *where), "select", "was computed with other settings")


def test_report_is_made_again_when_a_file_of_it_is_gone(small, tmp_path):
    where = ("--results", tmp_path)
    invoke("run", small, *where)
    gone = tmp_path / "small" / "tables" / "methods.md"
    gone.unlink()
    assert "already done" not in invoke("report", small, *where).output
    assert gone.exists()


def test_priors_do_not_redo_the_division_of_a_table(tmp_path):
    path = own(tmp_path, frame())
    where = ("--results", tmp_path / "r")
    invoke("run", path, *where)
    changed = invoke("run", path, *where, "--set", "model.class_prior=[2, 2]")
    assert changed.output.count("already done") == 2
    unused = invoke("run", path, *where, "--set", "model.class_prior=[2, 2]", "--set", "block=2")
    assert unused.output.count("already done") == 4  # only the page, which shows the config


def test_columns_of_two_values_keep_their_information(tmp_path):
    rng = np.random.default_rng(5)
    y = np.arange(60) % 2
    bits = (rng.random((60, 6)) < 0.7).astype(int)
    bits[:, 0] = y | (rng.random(60) < 0.3)
    scores = []
    for shift, scale in ((0, 1), (1, 1), (-1, 2)):
        table = pd.DataFrame(bits * scale + shift, columns=list("abcdef")).assign(y=y)
        invoke("predict", own(tmp_path, table), "--results", tmp_path / str(shift))
        scores.append(Results(tmp_path / str(shift), "own").load("predict", 0)["probability"])
    assert (scores[0] == scores[1]).all()
    assert (scores[0] == scores[2]).all()


@pytest.mark.parametrize(
    ("content", "name"), [("{broken", "provenance.json"), ("[]", "provenance.json")]
)
def test_a_damaged_provenance_is_written_anew(small, tmp_path, content, name):
    invoke("run", small, "--results", tmp_path)
    (tmp_path / "small" / name).write_text(content)
    assert invoke("run", small, "--results", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "small" / name).read_text())["experiment"] == "small"


def test_a_file_where_a_stage_folder_belongs(small, tmp_path):
    Results(tmp_path, "small").prepare()
    (tmp_path / "small" / "simulate").write_text("")
    must_fail(invoke("run", small, "--results", tmp_path), "cannot be written", code=1)


def test_errors_found_late_name_their_place_too(tmp_path):
    path = own(tmp_path, frame())
    where = ("--results", tmp_path / "r")
    must_fail(
        invoke("run", path, *where, "--set", "selection.features=[9]"),
        "--set selection.features=[9]: selection.features: cannot select 9 of 4 features",
    )
    must_fail(
        invoke("run", path, *where, "--set", "report.parts=[log-alpha, nul-figure]"),
        "report.parts: there is no part 'nul-figure'; did you mean 'null-figure'?",
    )
    must_fail(
        invoke("run", path, *where, "--set", "report.thesis=colin"),
        "report.thesis: the thesis has no 'colin'; use one of introduction, naive_simulation",
    )
    must_fail(
        invoke("run", path, *where, "--set", "model.alpha_prior=[1e-3, 1e8]"),
        "--set model.alpha_prior=[1e-3, 1e8]: model.alpha_prior: ",
        "has the median inf; it must be between",
    )
    assert not (tmp_path / "r").exists()


def test_a_terminal_shows_progress_after_a_while_on_a_line_that_is_erased(monkeypatch, capsys):
    from thesiskit.cli import console as cli

    def slow():
        for i in range(3):
            time.sleep(0.05)
            yield i

    monkeypatch.setattr(cli, "UPDATE_SECONDS", 0.01)
    assert list(cli.watch(slow(), 3, "work")) == [0, 1, 2]
    assert capsys.readouterr().err == ""  # not a terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(cli.watch(slow(), 3, "work")) == [0, 1, 2]
    lines = capsys.readouterr().err
    assert "\rwork: 2 of 3 tasks done (0 min)" in lines
    assert "\n" not in lines
    assert lines.endswith("\r\033[K")
    monkeypatch.setattr(cli, "UPDATE_SECONDS", 60.0)
    assert list(cli.watch(slow(), 3, "work")) == [0, 1, 2]
    assert capsys.readouterr().err == "\r\033[K"


def test_a_trace_on_request_where_several_run(small, monkeypatch, tmp_path):
    def fail(*_):
        raise RuntimeError("surprise")

    monkeypatch.setattr("thesiskit.study.design.Design.draw", fail)
    lattice = ROOT / "configs/chapter2/correlation-lattice.yaml"
    plain = invoke("run", small, lattice, "--results", tmp_path)
    assert plain.exit_code == 1
    assert "Traceback" not in plain.output
    assert "RuntimeError: surprise" in plain.output
    assert "Traceback" in invoke("run", small, lattice, "--results", tmp_path, "-v").output
    assert (tmp_path / "correlation-lattice" / "report.html").exists()


# ---- what is said, and how much of it ----


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "C", "--jobs", "1000000"),
        ("run", "C", "--jobs", "x" * 10**5),
        ("run", "C", "--seed", "9" * 400),
        ("run", "C", "--seed", "9" * 5000),
        ("run", "C", "--set", "x" * 10**5),
        ("run", "C", "--set", f"{'x' * 10**5}=3"),
        ("run", "C", "--set", f"title={'[' * 10**5}"),
        ("run", "C", "--set", f"data.source={'x' * 10**5}"),
        ("run", "C", "--set", f"report.parts=[{'x' * 10**5}]"),
        ("run", "C", "--set", f"selection.features=[{'x, ' * 3000}]"),
        ("run", "C", "--" + "x" * 10**5),
        ("x" * 10**5,),
        ("--" + "x" * 10**5,),
        ("data", "path", "x" * 10**5),
        ("run", "x\n\x1b[31m" * 100),
        ("compress", "C", "--list", "1000000000000"),
        ("compress", "C", "--order", "1000000000000"),
        ("batch", "cell", "C", "--share", f"1/{'9' * 5000}"),
        ("batch", "cell", "C", "9" * 10**5),
    ],
    ids=lambda arguments: " ".join(arguments)[:30].encode("unicode_escape").decode(),
)
def test_a_message_is_short_whatever_was_given(small, tmp_path, arguments):
    given = [str(small) if one == "C" else one for one in arguments]
    where = () if "--results" in given or given[0] not in ("run", "batch") else ("--results",
             tmp_path / "r")  # fmt: skip
    result = invoke(*given, *where)
    assert result.exit_code == 2, result.output
    said = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert len(said) in (1, 2, 3), result.output
    assert sum(map(len, said)) < 430
    assert "Traceback" not in result.output
    assert "run with -v to see where" not in result.output


def test_all_of_a_message_is_shown_on_request(small, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("\n".join(["surprise"] * 100))

    monkeypatch.setattr("thesiskit.study.design.Design.draw", fail)
    where = ("--results", tmp_path / "r")
    shown = invoke("run", small, *where)
    assert shown.output.count("surprise") == 2
    assert "more lines; -v shows them" in shown.output
    assert invoke("run", small, *where, "-v").output.count("surprise") >= 100


@pytest.mark.parametrize("pair", ["[1e-300, 1]", "[1e-3, 1e300]", "[0.5, .inf]", "[.nan, 1]",
                                  "[1e999, 1]", "[true, 1]", "[0, 1]", "[1]", "x"])  # fmt: skip
@pytest.mark.parametrize("key", ["alpha_prior", "response_alpha_prior"])
def test_priors_that_are_none(small, tmp_path, pair, key):
    if key == "response_alpha_prior":
        small.write_text(
            SMALL.replace("naive-bayes, ", "mixture, response: [0.1, 0.9], ")
            + "model: {kind: mixture}\n"
        )
    given = f"model.{key}={pair}"
    result = invoke("run", small, "--results", tmp_path / "r", "--set", given)
    must_fail(result, f"--set {given}: ")
    assert not (tmp_path / "r").exists()


def test_an_error_of_the_system_that_nobody_foresaw_is_a_sentence(small, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "x"))

    monkeypatch.setattr("thesiskit.report.page.write_index", fail)
    done = invoke("run", small, "--results", tmp_path)
    must_fail(done, f"Error: {tmp_path / 'x'}: No space left on device", code=1)
    assert "run with -v" not in done.output
