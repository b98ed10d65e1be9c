"""Logistic experiments whose chains run until they agree, from config to page."""

import threading

import numpy as np
import pandas as pd
import pytest
from commands import arrays, run

from thesiskit.files import read_draws

CONFIG = """
experiment: tiny
title: Tiny
about: A tiny text.
data: { source: text, limit: 260, history: 4, train: 120 }
model:
  kind: logistic
  orders: [2, 4]
  priors: [gaussian]
  chains: 2
  until: { rhat: 1.1, ess: 120 }
  iterations: 700
report:
  thesis: text
  parts: [reached-table, orders, chain-table, autocorrelation-figure, statement-table]
"""
TABLE = """
experiment: own
title: Own
about: Own.
data: { source: table, path: own.csv, response: buys }
evaluation: { folds: 2 }
model:
  kind: logistic
  orders: [1]
  chains: 2
  until: { rhat: 1.1, ess: 40 }
  iterations: 450
report: { parts: [methods, reached-table, chain-table] }
"""
FIXED = ("model.until=null", "model.iterations=1000", "report.parts=[orders]")
STAGES = ("simulate", "compress", "fit-logistic")
NAMES = ("2-gaussian-compressed", "4-gaussian-compressed")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory):
    """The finished experiment, made once; copy it before you change it."""
    folder = tmp_path_factory.mktemp("whole")
    text = run("run", config, "--results", folder)
    (folder / "said.txt").write_text(text)
    return folder


def fit(config, results, *settings, code=0):
    for stage in STAGES[:-1]:
        run(stage, config, "--results", results, *settings)
    return run(STAGES[-1], config, "--results", results, *settings, code=code)


def assert_same(a, b, names=NAMES):
    for name in names:
        one, other = (read_draws(folder / f"tiny/fit/0000-{name}.nc") for folder in (a, b))
        assert set(one) == set(other)
        for key, values in one.items():
            if key != "seconds":
                np.testing.assert_array_equal(values, other[key], err_msg=f"{name}: {key}")


def test_a_run_says_what_its_chains_had_reached(whole):
    fits = arrays(whole / "tiny/fit/0000.npz")
    assert fits["name"].tolist() == list(NAMES)
    assert fits["reached"].all()
    assert (fits["judged_rhat"] <= 1.1).all()
    assert (fits["judged_ess"] >= 120).all()
    assert set(fits["iterations"]) <= {200, 300, 450, 675}
    for name, done in zip(NAMES, fits["iterations"], strict=True):
        found = read_draws(whole / f"tiny/fit/0000-{name}.nc")
        assert int(found["done"]) == done
        assert found["log_sigma_trace"].shape[1] == done
        kept = found["coefficient"].shape[1]
        assert kept == len(found["kept_at"]) <= 500
        assert found["kept_at"].min() > done // 2
    said = (whole / "said.txt").read_text()
    assert "iterations until they converged" in said
    html = (whole / "tiny/report.html").read_text()
    assert "Convergence of the chains" in html
    table = pd.read_csv(whole / "tiny/tables/reached.csv")
    assert table["order"].tolist() == [2, 4]
    assert table["iterations"].tolist() == fits["iterations"].tolist()
    assert table["enough"].tolist() == ["yes", "yes"]
    assert table["furthest from the targets"].tolist() == fits["worst"].tolist()
    np.testing.assert_allclose(table["largest R-hat"], fits["judged_rhat"])
    assert "after burn-in" not in html


def test_a_fit_is_one_cell_of_all_chains(config, tmp_path, monkeypatch):
    from thesiskit.models import logistic

    used = set()
    advance = logistic.Chain.advance

    def note(self, iterations):
        used.add(threading.get_ident())
        return advance(self, iterations)

    monkeypatch.setattr(logistic.Chain, "advance", note)
    fit(config, tmp_path, "--jobs", 0)
    assert used  # in this process, in its threads
    assert threading.get_ident() not in used
    names = [path.stem for path in tmp_path.glob("tiny/cells/*/*.npz")]
    assert len(names) == 2


@pytest.mark.parametrize("left", [pytest.param(3, marks=pytest.mark.slow), 700])
def test_an_interrupted_fit_goes_on_with_the_same_bytes(config, tmp_path, whole, monkeypatch, left):
    from thesiskit.models import chains, logistic

    monkeypatch.setattr(chains, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(chains, "SAVE_SHARE", 0.0)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 1e-9)
    calls = {"left": left}
    advance = logistic.Chain.advance

    def stop(self, iterations):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise KeyboardInterrupt
        return advance(self, iterations)

    monkeypatch.setattr(logistic.Chain, "advance", stop)
    fit(config, tmp_path, "--jobs", 0, code=130)
    assert list(tmp_path.glob("tiny/unfinished/*.npz"))
    monkeypatch.undo()
    fit(config, tmp_path, "--jobs", 0)
    assert_same(whole, tmp_path)


def test_processes_and_threads_change_no_byte(config, tmp_path, whole, monkeypatch):
    from thesiskit.models import chains

    fit(config, tmp_path / "processes", "--jobs", 2)
    assert_same(whole, tmp_path / "processes")
    chains.threads.cache_clear()
    monkeypatch.setattr(chains, "cores", lambda: 1)
    fit(config, tmp_path / "thread", "--jobs", 0)
    chains.threads.cache_clear()
    assert_same(whole, tmp_path / "thread")


def test_a_larger_limit_goes_on_from_where_the_chains_stand(config, tmp_path, whole, monkeypatch):
    from thesiskit.models import logistic

    done = arrays(whole / "tiny/fit/0000.npz")["iterations"]
    assert done.max() > 200
    fit(config, tmp_path, "--set", "model.iterations=200")
    short = arrays(tmp_path / "tiny/fit/0000.npz")
    assert short["iterations"].tolist() == [200, 200]
    made = [0]
    advance = logistic.Chain.advance

    def note(self, iterations):
        made[0] += iterations
        return advance(self, iterations)

    monkeypatch.setattr(logistic.Chain, "advance", note)
    run("fit-logistic", config, "--results", tmp_path, "--jobs", 0)
    assert made[0] == 2 * (done - 200).sum()
    assert_same(whole, tmp_path)
    # and chains that were enough do not go on, whatever the limit
    made[0] = 0
    run("fit-logistic", config, "--results", tmp_path, "--jobs", 0,
        "--set", "model.iterations=5000")  # fmt: skip
    assert made[0] == 0
    assert arrays(tmp_path / "tiny/fit/0000.npz")["iterations"].tolist() == done.tolist()


def test_the_limit_is_said(config, tmp_path):
    settings = ("--set", "model.until.rhat=1.0001", "--set", "model.iterations=250")
    text = run("run", config, "--results", tmp_path, "--set", "model.orders=[2]", *settings)
    assert "they reached the iteration limit before converging" in text
    fits = arrays(tmp_path / "tiny/fit/0000.npz")
    assert fits["iterations"].tolist() == [250]
    assert not fits["reached"].any()
    assert pd.read_csv(tmp_path / "tiny/tables/reached.csv")["enough"].tolist() == ["NO"]


def test_chains_that_do_not_support_predictions_are_warned_of(config, tmp_path):
    text = fit(config, tmp_path, "--set", "model.iterations=200", "--set", "model.joint_updates=0")
    assert "WARNING: unreliable predictions, because chains have not converged" in text
    assert "model.iterations=800" in text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["model.chains=1"], "R-hat compares chains, and there is one. Fix: set model.chains to 2"),
        (
            ["model.burn_in=20"],
            "until: the second half of the iterations is kept, regardless of "
            "model.burn_in. Fix: remove model.burn_in, or remove until",
        ),
        (["model.thin=2"], "Fix: remove model.thin, or remove until"),
        (
            ["model.thin=2", "model.burn_in=99999"],  # not: of 10000 iterations none remains
            "Fix: remove model.burn_in and model.thin, or remove until",
        ),
        (["model.until.rhat=1"], "model.until.rhat: must be greater than 1, got 1"),
        (["model.until.rhat=1.2"], "model.until.rhat: must be at most 1.1, got 1.2"),
        (["model.until.ess=0"], "model.until.ess: must be at least 40, got 0"),
        (["model.until.ess=.inf"], "model.until.ess: must be at most 1000, got inf"),
        (["model.until.rat=1.02"], "model.until.rat: unknown key; did you mean 'rhat'?"),
        (["model.until=5"], "model.until: needs a mapping of keys"),
        (["model.until=null", "model.iterations=1000"], "reached-table needs model.until"),
    ],
)
def test_mistakes_are_told(config, tmp_path, settings, words):
    options = [part for one in settings for part in ("--set", one)]
    text = run("run", config, "--results", tmp_path, *options, code=2)
    assert words in " ".join(text.split())


def test_targets_have_defaults_and_the_limit_is_higher(config):
    from thesiskit.config import load_config

    settings = ("model.until={}",)
    model = load_config(config, settings=settings).model
    assert (model.until.rhat, model.until.ess, model.iterations) == (1.01, 400, 700)
    text = CONFIG.replace("  iterations: 700\n", "")
    other = config.with_name("other.yaml")
    other.write_text(text)
    model = load_config(other).model
    assert (model.iterations, model.burn_in, model.thin) == (10_000, 0, 1)


def test_a_dry_run_knows_the_limit(config, tmp_path):
    text = run("run", config, "--results", tmp_path, "--dry-run")
    assert "fit: 3 of 3 tasks to compute" in text
    assert "fewer if chains converge early" in text
    fixed = [part for one in FIXED for part in ("--set", one)]
    text = run("run", config, "--results", tmp_path, "--dry-run", *fixed)
    assert "fit: 7 of 7 tasks to compute" in text
    assert "before the limit" not in text


def table(folder, real=False, separable=False):
    rng = np.random.default_rng(3)
    lines = ["size,form,buys"]
    for _ in range(60):
        size, form = rng.integers(0, 3, 2)
        flip = rng.random() < 0.25 and not separable
        value = "yes" if (size > 0) != flip else "no"
        value = f"{size + rng.normal():.3f}" if real else value
        lines.append(f"{'abc'[size]},{'xyz'[form]},{value}")
    (folder / "own.csv").write_text("\n".join(lines) + "\n")
    (folder / "own.yaml").write_text(TABLE)
    return folder / "own.yaml"


def test_real_responses(tmp_path):
    settings = ("--set", "model.response=gaussian",
                "--set", "report.parts=[methods,reached-table,chain-table]")  # fmt: skip
    run("run", table(tmp_path, real=True), "--results", tmp_path / "r", *settings)
    fits = [arrays(tmp_path / f"r/own/fit/000{i}.npz") for i in range(2)]
    assert all(one["iterations"] >= 200 for one in fits)
    found = read_draws(tmp_path / "r/own/fit/0000-1-cauchy-compressed.nc")
    assert "log noise" in found["quantity_name"].tolist()
    assert found["log_noise"].shape == found["coefficient"].shape[:2]
    assert "Convergence of the chains" in (tmp_path / "r/own/report.html").read_text()
    assert not any(one["separated"].any() for one in fits)


def test_separable_classes_are_said(tmp_path):
    text = run("run", table(tmp_path, separable=True), "--results", tmp_path / "r")
    assert "the prior determines the coefficients there" in " ".join(text.split())
    assert arrays(tmp_path / "r/own/fit/0000.npz")["separated"].all()
    html = (tmp_path / "r/own/report.html").read_text()
    assert "interpret them; predictions remain valid" in html
    text = run("run", table(tmp_path), "--results", tmp_path / "s")
    assert "only the prior bounds" not in text
    assert "mean little" not in (tmp_path / "s/own/report.html").read_text()


def test_a_model_of_all_samples_judges_training_samples(tmp_path):
    config = table(tmp_path)
    (tmp_path / "new.csv").write_text("size,form\na,x\nc,z\n")
    text = run("predict", config, "--new", tmp_path / "new.csv", "--results", tmp_path / "r")
    assert "yes" in text
    (path,) = (tmp_path / "r").glob("**/0000-1-cauchy-compressed.nc")
    names = read_draws(path)["quantity_name"].tolist()
    assert "prediction of training sample 1" in names
