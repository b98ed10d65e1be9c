"""Mixture experiments whose chains run until they agree, from config to page."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail

from thesiskit.files import read_draws
from thesiskit.models import chains, mixture

SMALL = """\
experiment: small
title: Small
about: Small.
replicates: 3
block: 3
data: {source: mixture, features: 12, alpha: 5, response: [0.1, 0.9], train: [8, 8], test: 5}
selection: {features: [1]}
model:
  kind: mixture
  samplers: [collapsed, enumeration]
  methods: [corrected, l2-logistic]
  until: {rhat: 1.05, ess: 100}
  collapsed: {chains: 2, iterations: 900, alpha_points: 20}
report: {parts: [methods, diagnostics, reached-table, exact-table]}
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def draws(folder):
    (path,) = (folder / "small" / "fit").glob("*.nc")
    return read_draws(path)


def test_chains_run_until_they_agree_in_every_split(small, tmp_path):
    done = invoke("run", small, "--results", tmp_path)
    assert done.exit_code == 0, done.output
    assert "iterations until they converged" in done.output
    fits, found = arrays(tmp_path / "small/fit/0000.npz"), draws(tmp_path)
    sampled = ~np.isnan(fits["iterations"])
    assert sampled.sum(axis=1).tolist() == [1, 1, 1]  # the other method is exact
    iterations = fits["iterations"][sampled].astype(int)
    assert set(iterations) <= {200, 300, 450, 675, 900}
    assert fits["reached"][sampled].all()
    assert (fits["judged_rhat"][sampled] <= 1.05).all()
    assert (fits["judged_ess"][sampled] >= 100).all()
    assert [name != "" for name in fits["worst"][sampled]] == [True] * 3
    kept = [min(n - n // 2, 500) for n in iterations]
    assert found["draws"].tolist() == kept
    assert found["labels"].shape[:2] == (2, max(kept))
    for s, count in enumerate(kept):  # what is beyond belongs to longer fits
        assert (found["labels"][:, :count, s] <= 1).all()
        assert np.isnan(found["log_alpha"][:, count:, s]).all()
        assert np.isfinite(found["log_alpha"][:, :count, s]).all()
    table = pd.read_csv(tmp_path / "small/tables/reached.csv")
    assert table["enough"].tolist() == ["3 of 3"]
    # with one feature the posterior is known
    predicted = arrays(tmp_path / "small/predict/0000.npz")
    own = [i for i, name in enumerate(predicted["variant"]) if name in ("collapsed", "enumeration")]
    one, other = predicted["probability"][own]
    assert np.abs(one - other).max() < 0.1


@pytest.mark.parametrize("left", [5, pytest.param(900, marks=pytest.mark.slow)])
def test_an_interrupted_fit_goes_on_with_the_same_draws(small, tmp_path, monkeypatch, left):
    stage = ("fit-mixture", small, "--jobs", 0, "--results")
    assert invoke(*stage, tmp_path / "whole").exit_code == 0
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 0)  # blocks of one iteration
    calls, advance = [0], mixture.MixtureChain.advance

    def interrupted(chain, iterations):
        calls[0] += 1
        if calls[0] > left:
            raise KeyboardInterrupt
        return advance(chain, iterations)

    monkeypatch.setattr(mixture.MixtureChain, "advance", interrupted)
    assert invoke(*stage, tmp_path / "parts").exit_code == 130
    assert list(tmp_path.glob("parts/small/unfinished/*.npz"))
    monkeypatch.undo()
    assert invoke(*stage, tmp_path / "parts").exit_code == 0
    one, other = draws(tmp_path / "whole"), draws(tmp_path / "parts")
    for key, values in one.items():
        np.testing.assert_array_equal(values, other[key], err_msg=key)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("model.collapsed.chains=1", ["set model.collapsed.chains to 2 or more"]),
        ("model.collapsed.burn_in=5", ["Fix: remove model.collapsed.burn_in, or remove until"]),
        ("model.samplers=[collapsed, gibbs]", ["remove gibbs in model.samplers"]),
        ("model.samplers=[enumeration]", ["add collapsed in model.samplers"]),
        ("model.until.rhat=1.08", ["rhat at most 1.05 and ess at least 100"]),
        ("model.until.ess=0", ["model.until.ess: must be at least 40, got 0"]),
    ],
)
def test_mistakes_are_told(small, tmp_path, change, words):
    must_fail(invoke("run", small, "--results", tmp_path, "--set", change), *words)


def test_a_dry_run_and_the_limit_unless_given(small, tmp_path):
    from thesiskit.config import load_config

    done = invoke("run", small, "--results", tmp_path, "--dry-run")
    assert "fewer if chains converge early" in done.output
    assert "fit: 3 of 3 tasks to compute" in done.output
    small.write_text(SMALL.replace("iterations: 900, ", ""))
    assert load_config(small).model.collapsed.iterations == 10_000
    assert load_config(small, settings=("model.until=null",)).model.collapsed.iterations == 400
