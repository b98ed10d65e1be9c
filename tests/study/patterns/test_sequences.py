"""Experiments with sequences, from config to page, and their command line."""

import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import ROOT, arrays, run

from thesiskit.config import load_config
from thesiskit.errors import ConfigError
from thesiskit.files import Results, read_draws
from thesiskit.models.peers import Method
from thesiskit.report.chains import autocorrelation, autocorrelation_figure
from thesiskit.report.stages import warnings

CONFIG = """
experiment: tiny
title: Tiny
about: A tiny text.
data: { source: text, limit: 260, history: 6, train: 120 }
model:
  kind: logistic
  orders: [4, all]
  priors: [cauchy, gaussian]
  compress: [true, false]
  iterations: 60
  burn_in: 20
  chains: 2
  peers: [n-gram]
report:
  thesis: text
  order: 4
  traced: ["CC:V"]
  parts: [statement-table, parameters, orders, autocorrelation-figure, median-scatter,
          coefficients, methods, chain-table, timing-table]
"""
SAMPLERS = (
    "--set", "model.sigma_scale=[natural, log]", "--set", "model.joint_updates=[0, 1]",
    "--set", "model.compress=true", "--set", "model.orders=[4]", "--set", "model.peers=[]",
    "--set", "report.parts=[chain-table]",
)  # fmt: skip


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(CONFIG)
    return path


def fit(config, results, *settings):
    """Run the stages up to the fits: a report takes longer than all of them."""
    for stage in ("simulate", "compress", "fit-logistic"):
        run(stage, config, "--results", results, *settings)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The results of the fits, made once; copy them before you change them."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "tiny.yaml").write_text(CONFIG)
    fit(folder / "tiny.yaml", folder / "r")
    return folder / "r"


def draws(folder, name):
    return read_draws(folder / "tiny" / "fit" / f"0000-{name}.nc")


def test_stages_one_by_one_and_all_at_once(config, tmp_path, fitted):
    a, b = tmp_path / "a", tmp_path / "b"
    shutil.copytree(fitted, a)
    for stage in ("predict", "report"):
        run(stage, config, "--results", a)
    run("run", config, "--results", b, "--set", "report.parts=[methods]")
    for name in ("probability", "response", "name"):
        one, other = (arrays(folder / "tiny/predict/0000.npz")[name] for folder in (a, b))
        assert np.array_equal(one, other)
    html = (a / "tiny/report.html").read_text()
    assert "CC:V" in html
    fits, table = Results(a, "tiny").load("fit", 0), pd.read_csv(a / "tiny/tables/timings.csv")
    assert "The chains have not converged" in html
    assert table.columns.tolist() == pd.read_csv(a / "tiny/timings.csv").columns.tolist()
    np.testing.assert_allclose(table["train"].dropna(), fits["seconds"])
    assert table["parameters"].notna().sum() == 8  # the n-grams have none


def test_a_stage_before_is_made(config, tmp_path):
    run("simulate", config, "--results", tmp_path / "r")
    lines = run("fit-logistic", config, "--results", tmp_path / "r").splitlines()
    assert lines[0].endswith("(already done)")
    assert [line.partition(":")[0] for line in lines] == ["simulate", "compress", "fit"]


def test_commands_of_other_models_are_refused(config, tmp_path):
    for command in ("select", "fit-naive", "fit-mixture"):
        assert "model.kind: logistic" in run(command, config, "--results", tmp_path, code=2)
    other = ROOT / "configs/chapter2/null.yaml"
    for command in ("compress", "fit-logistic"):
        assert "naive-bayes" in run(command, other, "--results", tmp_path, code=2)


def test_compress_lists_groups(config, tmp_path):
    text = run("compress", config, "--results", tmp_path, "--list", 3, "--pattern", "CC")
    assert "order 6: " in text
    assert "(any): order 0, 120 training samples" in text
    last = text.strip().splitlines()[-1]
    assert last.startswith("CC: order 2, ")
    assert "there is no state 'X'" in run(
        "compress", config, "--results", tmp_path, "--pattern", "XC", code=2
    )
    assert "no training sample expresses '__'" in run(
        "compress", config, "--results", tmp_path, "--pattern", "__", code=2
    )
    assert "fixes 3 states" in run(
        "compress", config, "--results", tmp_path, "--pattern", "CVC", "--order", 2, code=2
    )


def test_chains_go_on_as_if_never_stopped(config, tmp_path, fitted):
    a, b = tmp_path / "a", tmp_path / "b"
    longer = ("--set", "model.iterations=100", "--set", "model.orders=[4]")
    fit(config, a, *longer)
    shutil.copytree(fitted, b)
    run("fit-logistic", config, "--results", b, *longer)
    for name in ("4-cauchy-compressed", "4-gaussian-original"):
        one, other = draws(a, name), draws(b, name)
        for key in ("coefficient", "log_sigma", "log_sigma_trace", "state_coefficient"):
            assert np.array_equal(one[key], other[key]), key
        assert one["coefficient"].shape[1] == 16
        np.testing.assert_allclose(one["log_prior_trace"], other["log_prior_trace"], rtol=1e-12)


def test_a_killed_fit_goes_on(config, tmp_path, fitted, monkeypatch):
    """Interrupt in the middle of the methods, and within one: the result is the same."""
    from thesiskit.models import chains, logistic

    monkeypatch.setattr(chains, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(chains, "SAVE_SHARE", 0.0)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 1e-9)
    calls = {"left": 150}
    few = ("--set", "model.orders=[4]", "--set", "model.compress=true")
    advance = logistic.Chain.advance

    def stop(self, iterations):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise KeyboardInterrupt
        return advance(self, iterations)

    monkeypatch.setattr(logistic.Chain, "advance", stop)
    for stage in ("simulate", "compress"):
        run(stage, config, "--results", tmp_path / "cut", *few)
    run("fit-logistic", config, "--results", tmp_path / "cut", *few, code=130)
    monkeypatch.setattr(logistic.Chain, "advance", advance)
    fit(config, tmp_path / "cut", *few)
    for name in ("4-cauchy-compressed", "4-gaussian-compressed"):
        one, other = draws(fitted, name), draws(tmp_path / "cut", name)
        assert np.array_equal(one["coefficient"], other["coefficient"])


def test_a_missing_or_damaged_file_of_draws_is_made_again(config, tmp_path, fitted):
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "tiny/fit/0000-4-cauchy-compressed.nc"
    before = read_draws(path)["coefficient"]
    path.write_bytes(b"not netCDF")
    text = run("predict", config, "--results", tmp_path)
    assert "0000-4-cauchy-compressed.nc was damaged and is computed again" in text
    assert np.array_equal(read_draws(path)["coefficient"], before)


def test_methods_do_not_depend_on_one_another(config, tmp_path, fitted):
    fit(config, tmp_path / "b", "--set", "model.orders=[4]", "--set", "model.priors=cauchy",
        "--set", "model.compress=true", "--set", "report.parts=[orders]")  # fmt: skip
    one, other = (draws(folder, "4-cauchy-compressed") for folder in (fitted, tmp_path / "b"))
    assert np.array_equal(one["coefficient"], other["coefficient"])


def test_own_text_with_own_states(tmp_path, config):
    (tmp_path / "mine.txt").write_text("abba cab bac! " * 40)
    run("run", config, "--results", tmp_path / "r", "--set", "data.path=mine.txt",
        "--set", "data.states={A: a, X: bc}", "--set", "report.traced=[]",
        "--set", "report.parts=[statement-table, orders, methods]")  # fmt: skip
    assert list(arrays(tmp_path / "r/tiny/simulate/0000.npz")["classes"]) == ["A", "X"]
    (tmp_path / "mine.txt").write_text("1234 567 " * 100)
    text = run("run", config, "--results", tmp_path / "r", "--set", "data.path=mine.txt",
               "--set", "data.states={A: a, X: bc}", code=2)  # fmt: skip
    assert "the text has none of the characters abc" in text


def test_own_sequences(tmp_path, config):
    rng = np.random.default_rng(1)
    rows = ["".join(rng.choice(list("ACGT"), 6)) for _ in range(80)]
    (tmp_path / "mine.txt").write_text("\n".join(rows))
    settings = ("--set", "data={source: sequences, path: mine.txt, train: 60}",
                "--set", "model.orders=[2]", "--set", "report={parts: [orders]}")  # fmt: skip
    run("run", config, "--results", tmp_path / "r", *settings)
    rows[3] = rows[3][1:]
    (tmp_path / "mine.txt").write_text("\n".join(rows))
    text = run("run", config, "--results", tmp_path / "r", *settings, code=2)
    assert "mine.txt: line 4 has 5 states" in text
    assert "give history: N to keep the N most recent states" in text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("model.orders=[4, 9]",), "model.orders: order 9 is above the length of the histories, 6"
         ". Fix: use at most 6, or longer histories"),
        (("model.original=true",), "model.original was removed. Fix: remove it"),
        (("model.iterations=20",), "none remains after burn_in 20"),
        (("data.train=100000",), "data.train: there are 254 samples"),
        (("data.limit=5",), "lower"),
        (("block=2",), "block: each division"),
        (("selection={features: [1]}",), "is for discrete features"),
        (("evaluation.scheme=k-fold",), "evaluation.scheme: sequences come with a test set"),
        (("report.order=3",), "report.order: 3 is not one of model.orders. Fix: choose one"),
        (("report.parts=[selection-table]",), "selection-table needs a selection"),
        (("model.kind=naive-bayes",), "unknown key"),
        (("data={source: hidden-markov, transition: [[1.0]], emission: [[0.3, 0.3]], history: 6, "
          "train: 5, test: 5}",), "sums to 0.6"),
    ],
)  # fmt: skip
def test_mistakes_are_told(config, tmp_path, settings, words):
    options = [text for one in settings for text in ("--set", one)]
    text = run("run", config, "--results", tmp_path, *options, code=2)
    assert words in text.replace("--set ", ""), text
    assert "Traceback" not in text


def test_one_class_only_is_told(tmp_path, config):
    (tmp_path / "mine.txt").write_text("\n".join(["1 2 1", "2 2 1", "1 1 1", "2 1 1"]))
    text = run("run", config, "--results", tmp_path / "r",
               "--set", "data={source: sequences, path: mine.txt, train: 3}",
               "--set", "model.orders=[1]", "--set", "report={parts: [orders]}",
               code=2)  # fmt: skip
    assert "all 3 training samples are of class '1'" in text


def test_sequences_and_chapter_2_do_not_mix():
    path = ROOT / "configs/chapter2/null.yaml"
    with pytest.raises(ConfigError, match=r"model\.kind: logistic needs sequences"):
        load_config(path, settings=("model={kind: logistic, orders: [1]}",))


def test_autocorrelation():
    rng = np.random.default_rng(5)
    x = np.empty((3, 20_000))
    x[:, 0] = 0
    for t in range(1, x.shape[1]):
        x[:, t] = 0.8 * x[:, t - 1] + rng.normal(size=3)
    np.testing.assert_allclose(autocorrelation(x, 5), 0.8 ** np.arange(6), atol=0.04)


def test_samplers_are_compared(config, tmp_path):
    run("run", config, "--results", tmp_path, *SAMPLERS)
    fits, predicted = (Results(tmp_path, "tiny").load(stage, 0) for stage in ("fit", "predict"))
    names = predicted["name"].tolist()
    assert names[:4] == [
        f"4-cauchy-compressed{more}" for more in ("-natural-single", "-natural", "-single", "")
    ]
    assert predicted["joint"].tolist() == [0, 1, 0, 1] * 2
    assert predicted["scale"].tolist() == ["natural", "natural", "log", "log"] * 2
    coefficient = [draws(tmp_path, name)["coefficient"] for name in names]
    assert not any(np.array_equal(coefficient[0], other) for other in coefficient[1:])
    chains = pd.read_csv(tmp_path / "tiny/tables/sampler.csv")
    assert chains["model"].str.contains("joint updates, log sigma").sum() == 2
    assert fits["ess"].shape[0] == len(chains)


def test_one_sampler_is_not_named(config, tmp_path):
    """Where all models share a sampler, their names leave it out."""
    run("run", config, "--results", tmp_path, "--set", "model.sigma_scale=[natural]", "--set",
        "model.joint_updates=0", "--set", "model.peers=[]", "--set",
        "report.parts=[orders]")  # fmt: skip
    table = pd.read_csv(tmp_path / "tiny/tables/scores.csv")
    assert set(table["model"]) == {
        f"{prior}, {how}" for prior in ("Cauchy", "Gaussian") for how in ("compressed", "original")
    }


@pytest.mark.parametrize(("rhat", "words"), [(1.4, "have not converged"), (1.05, "have converged")])
@pytest.mark.parametrize("scale", ["natural", "log"])
def test_autocorrelations_are_of_the_scale_that_moves(rhat, words, scale):
    """The figure shows sigma where the sampler moves sigma, and reports whether chains agree."""
    rng = np.random.default_rng(3)
    log_sigma = np.cumsum(rng.normal(size=(2, 300, 3)), axis=1)
    method = Method(0, order=2, prior="cauchy", compress=True, engine="slice", scale=scale)
    worst = {"rhat": np.array([[3.0, 3.0, 1.0, rhat]]), "ess": np.array([[1.0, 1.0, 90.0, 17.0]])}
    record = SimpleNamespace(
        own=[method], widest_order=2, shown_sigmas=[1, 2], worst=worst,
        log_sigma_trace=lambda _: log_sigma, config={"model": {"until": None}},
    )  # fmt: skip
    (figure,) = autocorrelation_figure(record)
    assert f"the largest R-hat is {rhat:.2f}" in figure.caption
    assert "effective draws is 17" in figure.caption
    assert words in figure.caption
    (bars,) = figure.canvas.axes[1].collections
    trace = log_sigma[:, :, 2]
    wanted = autocorrelation(np.exp(trace) if scale == "natural" else trace)
    np.testing.assert_allclose([segment[1, 1] for segment in bars.get_segments()], wanted)


def test_many_chains_that_do_not_agree_are_one_line():
    methods = [Method(j, order=j, prior="cauchy", engine="slice") for j in range(6)]
    model = {"until": None, "iterations": 9, "peers": []}
    record = SimpleNamespace(
        config={"reduction": None, "data": {}, "model": model}, tables={}, logistic=True,
        own=methods, methods=methods, n_blocks=1, reliable=np.zeros(6, dtype=bool),
        worst={"rhat": np.full((6, 1), 1.5), "ess": np.full((6, 1), 4.0), "reliable": np.zeros(6)},
        name=lambda method: f"order {method.order}",
        checks=pd.DataFrame(columns=["check", "about", "result", "finding"]),
    )  # fmt: skip
    (line,) = warnings(record)
    named = "; ".join(f"order {j} (R-hat 1.50, effective draws 4)" for j in range(3))
    assert f"{named}; ... (6 of 6 models, judged by the log likelihood)" in line
    assert "order 3" not in line
