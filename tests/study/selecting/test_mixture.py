"""Mixture models from the command line: resuming, warnings, draws, and mistakes."""

import os
import shutil
import signal
import subprocess
import sys
import time

import arviz_stats
import numpy as np
import pytest
import xarray
from commands import ROOT, arrays, invoke, must_fail

from thesiskit.config import load_config
from thesiskit.files import read_draws
from thesiskit.models import chains, mixture
from thesiskit.study.selecting import STREAMS, methods

SMALL = """\
experiment: small
title: Small
about: Small.
data: {source: mixture, features: 40, alpha: 5, response: [0.1, 0.9], train: [10, 10], test: 10}
selection: {features: [2, all]}
model:
  kind: mixture
  samplers: [collapsed, gibbs]
  collapsed: {chains: 2, iterations: 60, burn_in: 20}
  thesis: {iterations: 12, burn_in: 4}
report: {parts: [methods, diagnostics, timing-table]}
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The results of SMALL, made once; copy them before you change them."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "small.yaml").write_text(SMALL)
    assert invoke("run", folder / "small.yaml", "--results", folder).exit_code == 0
    return folder


def draws(folder):
    return {path.name: read_draws(path) for path in sorted((folder / "small" / "fit").glob("*.nc"))}


def assert_same_draws(one, other):
    assert one.keys() == other.keys()
    assert len(one) > 0
    for name in one:
        for key, values in one[name].items():
            np.testing.assert_array_equal(values, other[name][key], err_msg=f"{name} {key}")


def test_stages_one_by_one_equal_run(small, tmp_path, finished):
    for stage in ("simulate", "select", "fit-mixture", "predict", "report"):
        done = invoke(stage, small, "--results", tmp_path / "b")
        assert done.exit_code == 0, done.output
    assert_same_draws(draws(finished), draws(tmp_path / "b"))
    with (
        np.load(finished / "small/predict/0000.npz") as one,
        np.load(tmp_path / "b/small/predict/0000.npz") as other,
    ):
        np.testing.assert_array_equal(one["probability"], other["probability"])


def test_each_model_has_its_own_command(small, tmp_path):
    for stage in ("simulate", "select"):
        invoke(stage, small, "--results", tmp_path)
    must_fail(invoke("fit-naive", small, "--results", tmp_path), "use `thesiskit fit-mixture")


@pytest.mark.parametrize(
    "stop", [pytest.param(3, marks=pytest.mark.slow), 8, pytest.param(15, marks=pytest.mark.slow)]
)
def test_an_interrupted_fit_goes_on_with_the_same_draws(
    small, tmp_path, monkeypatch, finished, stop
):
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 0)  # blocks of one iteration
    calls = [0]
    advance = mixture.MixtureChain.advance

    def interrupted(chain, iterations):
        calls[0] += 1
        if calls[0] > 4 * stop:
            raise KeyboardInterrupt
        return advance(chain, iterations)

    monkeypatch.setattr(mixture.MixtureChain, "advance", interrupted)
    stopped = invoke("run", small, "--results", tmp_path / "parts")
    assert stopped.exit_code == 130
    folder = tmp_path / "parts/small"
    assert [*folder.glob("unfinished/*.npz"), *folder.glob("cells/*/*.npz")]
    monkeypatch.setattr(mixture.MixtureChain, "advance", advance)
    sampled = []

    def note(chain, iterations):
        sampled.append(iterations)
        return advance(chain, iterations)

    monkeypatch.setattr(mixture.MixtureChain, "advance", note)
    assert invoke("run", small, "--results", tmp_path / "parts").exit_code == 0
    assert_same_draws(draws(finished), draws(tmp_path / "parts"))
    assert sum(sampled) < 3 * 2 * 60 + 3 * 12  # what was done was not done again
    assert not (tmp_path / "parts/small/unfinished").exists()


LONG = SMALL.replace("iterations: 60", "iterations: 4000").replace(
    "[collapsed, gibbs]", "[collapsed]"
)
KILLED = """\
import sys
from thesiskit.models import chains
chains.SAVE_SECONDS = 0.05
chains.BLOCK_SECONDS = 0.02
from thesiskit.cli import main
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_killed_fit_goes_on_with_the_same_draws(small, tmp_path):
    small.write_text(LONG)
    assert invoke("run", small, "--results", tmp_path / "whole").exit_code == 0
    command = [sys.executable, "-c", KILLED, "run", str(small), "--results", str(tmp_path / "k")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    unfinished = tmp_path / "k/small/unfinished"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(unfinished.glob("[0-9a-f]*.npz")):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    assert list(unfinished.glob("[0-9a-f]*.npz"))
    assert invoke("run", small, "--results", tmp_path / "k").exit_code == 0
    assert_same_draws(draws(tmp_path / "whole"), draws(tmp_path / "k"))


def test_a_checkpoint_of_other_settings_is_not_used(small, tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(mixture.MixtureChain, "advance", _fail_after(6))
    assert invoke("run", small, "--results", tmp_path / "a").exit_code == 130
    monkeypatch.undo()
    other = ("--set", "model.alpha_prior=[1, 5]")
    assert invoke("run", small, "--results", tmp_path / "a", *other).exit_code == 0
    assert invoke("run", small, "--results", tmp_path / "b", *other).exit_code == 0
    assert_same_draws(draws(tmp_path / "a"), draws(tmp_path / "b"))


def _fail_after(calls):
    advance, left = mixture.MixtureChain.advance, [calls]

    def advance_or_stop(chain, iterations):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return advance(chain, iterations)

    return advance_or_stop


def test_chains_that_disagree_are_warned_of_and_predictions_written(small, tmp_path):
    small.write_text(SMALL.replace("iterations: 60, burn_in: 20", "iterations: 5, burn_in: 1"))
    done = invoke("run", small, "--results", tmp_path)
    assert done.exit_code == 0, done.output
    assert "WARNING: unreliable predictions, because chains have not converged, of " in done.output
    page = (tmp_path / "small/report.html").read_text()
    assert "Some results on this page are unreliable" in page
    assert "collapsed sampler: predictions are unreliable" in page
    with np.load(tmp_path / "small/predict/0000.npz") as found:
        assert np.isfinite(found["probability"]).all()


def test_alpha_at_the_end_of_its_grid_is_said(small, tmp_path):
    small.write_text(SMALL.replace("burn_in: 20", "burn_in: 20, alpha_points: 4"))
    done = invoke("run", small, "--results", tmp_path, "--set", "data.alpha=.inf")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "small/report.html").read_text()
    assert "alpha is often at an end of its grid" in page
    assert "The grid should be widened" in page


def test_draws_are_arviz_data(finished):
    names = sorted(path.name for path in (finished / "small/fit").glob("*.nc"))
    assert names == [
        "0000-2-corrected-collapsed.nc",
        "0000-2-corrected-gibbs.nc",
        "0000-2-uncorrected-collapsed.nc",
        "0000-2-uncorrected-gibbs.nc",
        "0000-all-complete-collapsed.nc",
        "0000-all-complete-gibbs.nc",
    ]
    tree = xarray.load_datatree(finished / "small/fit" / names[0])
    assert tree["posterior"]["labels"].shape == (2, 40, 1, 20)
    assert set(tree["posterior"]["labels"].to_numpy().ravel()) <= {0, 1}
    assert "log_alpha" in arviz_stats.summary(tree, var_names=["log_alpha"]).index[0]
    assert tree.attrs["sampler"] == "collapsed"
    theta = xarray.load_datatree(finished / "small/fit" / names[1])["posterior"]["theta"]
    assert theta.shape == (1, 8, 1, 3)


def test_a_file_of_draws_that_is_gone(small, tmp_path, finished):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "small/fit/0000-2-corrected-gibbs.nc"
    before = path.read_bytes()
    path.unlink()
    again = invoke("predict", small, "--results", tmp_path, "--force")
    assert again.exit_code == 0, again.output
    assert len(path.read_bytes()) == len(before)


def test_thresholds_that_keep_nothing_and_training_sets_of_unequal_size(small, tmp_path):
    text = SMALL.replace("{features: [2, all]}", "{thresholds: [0.5, 0.99]}")
    text = text.replace("iterations: 60, burn_in: 20", "iterations: 20, burn_in: 5")
    text = text.replace("[methods, diagnostics, timing-table]", "[methods]")
    small.write_text(text)
    done = invoke("run", small, "--results", tmp_path)
    assert done.exit_code == 0, done.output
    table = "y,a,b,c\n" + "\n".join(
        f"{i % 2},{(i // 2) % 2},{(i // 3) % 2},{i * 7 % 5 > 2:d}" for i in range(23)
    )
    (tmp_path / "t.csv").write_text(table)
    data = (
        "{source: mixture, features: 40, alpha: 5, response: [0.1, 0.9], train: [10, 10], test: 10}"
    )
    small.write_text(
        text.replace(data, "{source: file, path: t.csv, response: y}")
        + "evaluation: {scheme: k-fold, folds: 4}\n"
    )
    done = invoke("run", small, "--results", tmp_path)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("model.samplers=[metropolis]", ["model.samplers", "use one of collapsed"]),
        ("model.samplers=[collapsed, enumeration]", ["enumeration", "selection.features: [1]"]),
        ("model.collapsed.burn_in=60", ["of 60 iterations none remains after burn_in 60. Fix: "]),
        ("model.collapsed.alpha_points=200000", ["at most 10,000, got 200000"]),
        ("model.collapsed.chains=0", ["model.collapsed.chains", "at least 1"]),
        ("model.collapsed.chain=2", ["unknown key", "did you mean 'chains'"]),
        ("model.kind=mixtures", ["model.kind", "did you mean 'mixture'"]),
        ("model.alpha_points=30", ["model.alpha_points: unknown key"]),
        ("data.response=[0.1, 1.9]", ["data.response", "1.9"]),
        ("data.train=1", ["data.train", "at least 2 samples"]),
        ("report.parts=[log-alpha]", ["log-alpha needs model.kind: naive-bayes"]),
        ("report.parts=[exact-table]", ["exact-table needs enumeration"]),
    ],
)
def test_config_mistakes(small, tmp_path, change, words):
    must_fail(invoke("run", small, "--results", tmp_path, "--set", change), *words)


def test_draws_of_other_settings_are_not_predicted_from(small, tmp_path, finished):
    shutil.copytree(finished, tmp_path / "a")
    other = ("--set", "model.collapsed.chains=1")
    assert invoke("run", small, "--results", tmp_path / "b", *other).exit_code == 0
    name = "small/fit/0000-2-corrected-collapsed.nc"
    predicted = tmp_path / "a/small/predict/0000.npz"
    before = arrays(predicted)["probability"]
    (tmp_path / "b" / name).replace(tmp_path / "a" / name)
    again = invoke("predict", small, "--results", tmp_path / "a", "--force")
    assert again.exit_code == 0, again.output
    assert f"{name} was damaged and is computed again" in again.output
    np.testing.assert_array_equal(arrays(predicted)["probability"], before)


def test_run_makes_draws_again_that_are_gone_and_keeps_those_of_other_methods(
    small, tmp_path, finished
):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    whole = draws(tmp_path)
    (tmp_path / "small/fit/0000-2-corrected-gibbs.nc").unlink()
    assert invoke("run", small, "--results", tmp_path).exit_code == 0
    assert_same_draws(whole, draws(tmp_path))
    some = ("--set", "model.methods=[corrected]", "--set", "model.samplers=[collapsed]")
    assert invoke("run", small, "--results", tmp_path, *some).exit_code == 0
    assert_same_draws(whole, draws(tmp_path))  # the same whatever else runs


def test_force_begins_anew(small, tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(mixture.MixtureChain, "advance", _fail_after(6))
    assert invoke("run", small, "--results", tmp_path).exit_code == 130
    monkeypatch.undo()
    sampled = []
    advance = mixture.MixtureChain.advance

    def note(chain, iterations):
        sampled.append(iterations)
        return advance(chain, iterations)

    monkeypatch.setattr(mixture.MixtureChain, "advance", note)
    assert invoke("run", small, "--results", tmp_path, "--force").exit_code == 0
    assert sum(sampled) == 3 * 2 * 60 + 3 * 12
    assert not (tmp_path / "small/unfinished").exists()


def test_random_streams_keep_the_names_that_samplers_had():
    assert STREAMS == {"gibbs": "thesis", "approximate": "as-printed"}


def test_complete_data_have_one_of_two_samplers_that_differ_in_the_factor():
    config = load_config(ROOT / "configs/chapter2/mixture-simulation.yaml")
    complete = [method.variant for method in methods(config) if method.estimator == "complete"]
    assert complete == ["approximate", "collapsed"]


def test_every_sampler_is_named_and_shown(small, tmp_path):
    samplers = ("--set", "model.samplers=[approximate, collapsed]")
    parts = ("--set", "report.parts=[reliability, calibration-table]")
    done = invoke("run", small, "--results", tmp_path, *samplers, *parts)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "small/report.html").read_text()
    assert "Reliability, approximate sampler" in page
    assert "Reliability, collapsed sampler" in page
    names = {path.name for path in (tmp_path / "small/fit").glob("*.nc")}
    assert "0000-all-complete-approximate.nc" in names  # no thesis sampler to do it


def test_blocks_beyond_the_first_are_warned_of_too(small, tmp_path):
    text = SMALL.replace("iterations: 60, burn_in: 20", "iterations: 5, burn_in: 1")
    small.write_text(text.replace("about: Small.", "about: Small.\nreplicates: 3"))
    done = invoke("run", small, "--results", tmp_path)
    assert done.exit_code == 0, done.output
    assert "2 corrected collapsed (3 of 3 fits)" in done.output


def test_too_many_samples(small, tmp_path):
    big = ("--set", "data.train=[400, 400]")
    must_fail(invoke("run", small, "--results", tmp_path, *big), "data.train", "at most 600")


def test_response_and_labels_drawn_from_the_prior_need_the_mixture(small, tmp_path):
    small.write_text(SMALL.replace("[0.1, 0.9]", "prior"))
    assert invoke("simulate", small, "--results", tmp_path).exit_code == 0
