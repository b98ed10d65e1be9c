"""Experiments with sequences by mixing: run, page, new samples, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from browser import sideways, violations
from commands import arrays, run

from thesiskit.config import load_config
from thesiskit.datasets.sequences import shipped_text
from thesiskit.errors import DataError
from thesiskit.files import Results
from thesiskit.fitted import load_model
from thesiskit.fitted.file import read_model, write_model
from thesiskit.models import mixing
from thesiskit.study.experiment import Experiment

CONFIG = """
experiment: mixed
title: Mixed
about: A text.
data: { source: text, history: 8, train: 800, test: 300 }
model: { kind: logistic, engine: mixing }
report: { parts: [summary, methods, predictions, reliability, timing-table] }
"""
SEQUENCES = """
experiment: reads
title: Reads
about: Short sequences.
data: { source: sequences, path: reads.txt }
evaluation: { folds: 3, choose: true }
model: { kind: logistic, engine: [chains, mixing], orders: [2], iterations: 60, burn_in: 20,
         chains: 1, thin: 1, peers: [n-gram] }
report: { parts: [summary, methods, orders, chain-table, parameters, timing-table] }
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mixed.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def reads(tmp_path):
    """Sequences of six letters, whose last one repeats the third before it nine times of ten."""
    letters = np.random.default_rng(2).choice(list("ACGT"), (150, 6))
    letters[:135, -1] = letters[:135, -4]
    (tmp_path / "reads.txt").write_text("\n".join(map("".join, letters)) + "\n")
    path = tmp_path / "reads.yaml"
    path.write_text(SEQUENCES)
    return path


def record(path, name):
    one = Experiment(load_config(path), Results(path.parent / "results", name), path.parent)
    return one.record()


def predicted(folder):
    """Return the bytes of what is predicted in each file of an experiment, without the seconds."""
    files = [arrays(path) for path in sorted((folder / "predict").glob("*.npz"))]
    return [
        {name: a.tobytes() for name, a in found.items() if "seconds" not in name} for found in files
    ]


def test_a_text_is_predicted_as_by_the_model_itself(config, tmp_path):
    run("run", config, "--results", tmp_path / "results")
    found = record(config, "mixed")
    assert [found.name(method) for method in found.methods] == ["Mixing, order 8"]
    codes = np.ascontiguousarray(shipped_text()[0], dtype=np.int32)
    X, y = np.lib.stride_tricks.sliding_window_view(codes, 8)[:-1], codes[8:]
    p = mixing.fit(X[:800], y[:800], 8, 3, 3).predict(X[800:1100])
    np.testing.assert_allclose(found.probability(found.methods[0]), p, rtol=1e-12)
    page = (tmp_path / "results/mixed/report.html").read_text()
    assert "Mixing, order 8" in page
    folders = {path.name for path in (tmp_path / "results/mixed").iterdir()}
    assert {"simulate", "predict"} <= folders
    assert not {"compress", "fit"} & folders


def test_new_samples_and_files_of_models(config, tmp_path):
    model = tmp_path / "m.npz"
    run("export", config, model, "--results", tmp_path / "results", "--yes")
    loaded = load_model(model)
    (name,) = loaded.methods
    assert name == "8-mixing"
    text = tmp_path / "new.txt"
    text.write_text("We shall see what the house of representatives has to say.")
    out = tmp_path / "p.csv"
    run("predict", "--model", model, "--new", text, "--output", out)
    table = pd.read_csv(out, comment="#")
    assert np.isfinite(table.select_dtypes("number")).all(axis=None)
    header, arrays = read_model(model)
    place = next(key for key in arrays if key.endswith("nodes"))
    arrays[place] = arrays[place].copy()
    arrays[place][0, 0] = len(arrays[place])
    forged = tmp_path / "forged.npz"
    write_model(forged, header, arrays)
    with pytest.raises(DataError):
        load_model(forged)


def test_new_samples_are_predicted_as_by_a_file_of_the_model(reads, tmp_path):
    """N is new: it ends the context.  Windows of the training samples give the same numbers."""
    results, new = tmp_path / "results", tmp_path / "new.txt"
    new.write_text("ACGTA\nACNTA\nGGNTA\nNNNNN\n")
    only = ("--set", "model={kind: logistic, engine: mixing}", "--set", "report.parts=[methods]")
    run("run", reads, "--results", results, *only)
    told = run(
        "predict", reads, "--new", new, "--output", tmp_path / "a.csv", "--results", results, *only
    )
    assert "states that no training sample has, in 3 samples: N" in told
    run("export", reads, tmp_path / "m.npz", "--results", results, *only)
    run("predict", "--model", tmp_path / "m.npz", "--new", new, "--output", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    lines = (tmp_path / "reads.txt").read_text().split()
    codes = np.array([["ACGT".index(letter) for letter in line] for line in lines])
    model = mixing.fit(codes[:, :-1], codes[:, -1], 5, 4, 4)
    coded = [["ACGT".find(letter) for letter in line] for line in new.read_text().split()]
    p = pd.read_csv(tmp_path / "a.csv").filter(like="probability").to_numpy()
    np.testing.assert_allclose(p, model.predict(np.array(coded)), rtol=1e-12)
    assert np.array_equal(p[1], p[2])


def test_both_engines_are_compared_and_chosen_inside_each_fold(reads, tmp_path):
    run("run", reads, "--results", tmp_path / "results")
    found = record(reads, "reads")
    names = [found.name(method) for method in found.methods]
    assert "Mixing, order 5" in names
    assert any(name.startswith("Cauchy") for name in names)
    assert [method.engine for method in found.own] == ["slice"]
    best = min(found.scores, key=lambda score: score.log_loss)
    assert best.name == "Mixing, order 5"  # the others look two states back
    (mixed,) = (method.row for method in found.methods if method.engine == "mixing")
    assert (found.choice[1] == mixed).all()


def test_numbers_of_processes_change_no_byte(reads, tmp_path):
    files = []
    only = ("--set", "report.parts=[methods]", "--set", "model.peers=[]")
    for jobs in ("1", "2"):
        folder = tmp_path / f"results-{jobs}"
        run("run", reads, "--results", folder, "--jobs", jobs, *only)
        files.append(predicted(folder / "reads"))
    assert len(files[0]) == 3
    assert files[0] == files[1]


def test_a_killed_fit_is_made_again(config, tmp_path, monkeypatch):
    """An interrupt while mixing learns leaves no result; the next run has the same bytes."""
    run("run", config, "--results", tmp_path / "whole")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(mixing, "fit", stop)
        run("run", config, "--results", tmp_path / "cut", code=130)
    assert not [*(tmp_path / "cut/mixed").glob("predict/*.npz")]
    run("run", config, "--results", tmp_path / "cut")
    assert predicted(tmp_path / "cut/mixed") == predicted(tmp_path / "whole/mixed")


def test_the_page_of_both_engines_fits_a_screen(browser, reads, tmp_path):
    run("run", reads, "--results", tmp_path / "results")
    for width in (1280, 390):
        with browser.page(tmp_path / "results/reads/report.html", width=width) as page:
            assert "Mixing, order 5" in page.locator("#methods").inner_text()
            assert sideways(page) <= 0
            assert violations(page) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("model.engine=gibbs", "model.engine"),
        ("model.iterations=100", "iterations is for engine: chains. Fix: remove it"),
        ("model.priors=[gaussian]", "priors is for engine: chains. Fix: remove it"),
        ("model.orders=[3]", "orders is for engine: chains. Fix: remove it"),
        ("model.peers=[mixing]", "Fix: set model.engine: [chains, mixing]"),
        ("report.parts=[chain-table]", "chain-table needs model.kind: logistic with chains"),
        ("report.parts=[orders]", "orders needs model.kind: logistic with chains"),
    ],
)
def test_mistakes_are_told(config, tmp_path, settings, words):
    text = run("run", config, "--results", tmp_path, "--set", settings, code=2)
    assert words in text.replace("--set ", ""), text
    assert "Traceback" not in text


def test_mixing_of_features_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "x,y,0\ny,x,1\n" * 9)
    text = SEQUENCES.replace("sequences, path: reads.txt", "table, path: t.csv, response: y")
    (tmp_path / "c.yaml").write_text(text.replace("n-gram", "random-forest"))
    told = run("run", tmp_path / "c.yaml", "--results", tmp_path / "r", code=2)
    assert "model.engine: mixing is for sequences. Fix: remove it" in told


def test_long_histories_use_the_last_64_states(config, tmp_path):
    config.write_text(CONFIG.replace("history: 8", "history: 90"))
    one = Experiment(load_config(config), Results(tmp_path / "r", "mixed"), tmp_path)
    assert [*one.graph.work.methods("predict")] == ["64-mixing"]


def test_a_text_of_one_symbol_is_refused(config, tmp_path):
    (tmp_path / "one.txt").write_text("a" * 2_000)
    path = ("--set", f"data.path={tmp_path / 'one.txt'}")
    told = run("run", config, "--results", tmp_path / "r", *path, code=2)
    assert "all 800 training samples are of class 'V'. Fix: " in told


def test_more_states_than_mixing_takes_are_refused(reads, tmp_path):
    states = np.random.default_rng(3).integers(0, 300, (900, 6))
    lines = [" ".join(f"s{state}" for state in row) for row in states]
    (tmp_path / "reads.txt").write_text("\n".join(lines) + "\n")
    only = ("--set", "model={kind: logistic, engine: mixing}", "--set", "report.parts=[methods]")
    told = run("run", reads, "--results", tmp_path / "r", *only, code=2)
    assert "states; mixing takes at most 256. Fix: merge the rare ones" in told


def test_orders_above_the_length_are_refused_for_chains(reads, tmp_path):
    told = run("run", reads, "--results", tmp_path / "r", "--set", "model.orders=[9]", code=2)
    assert "order 9 is above the length of the histories, 5. Fix: use at most 5" in told


def test_memory_of_a_hundred_million_states_is_said(config, tmp_path):
    data = "data={source: hidden-markov, transition: [[0.5, 0.5], [0.5, 0.5]], "
    data += "emission: [[0.5, 0.5], [0.2, 0.8]], history: 8, train: 100000000, test: 10}"
    text = run("run", config, "--results", tmp_path / "r", "--dry-run", "--set", data)
    assert "at least 10.6 GB of memory" in text


def test_memory_above_that_of_the_machine_is_refused(config, tmp_path):
    data = "data={source: hidden-markov, transition: [[0.5, 0.5], [0.5, 0.5]], "
    data += "emission: [[0.5, 0.5], [0.2, 0.8]], history: 8, train: 1000000000, test: 10}"
    text = run("run", config, "--results", tmp_path / "r", "--set", data, code=2)
    assert "GB of memory" in text
    assert "--yes" in text


@pytest.mark.parametrize(("n", "engines"), [(300, 0), (5_000, 1)])
def test_init_compares_both_engines_where_there_are_many(tmp_path, n, engines):
    letters = np.random.default_rng(2).choice(list("ACGT"), (n, 6))
    (tmp_path / "reads.txt").write_text("\n".join(map("".join, letters)) + "\n")
    run("init", tmp_path / "reads.txt", "--output", tmp_path / "reads.yaml")
    text = (tmp_path / "reads.yaml").read_text()
    assert text.count("engine: [chains, mixing]") == engines
    assert "chains" in load_config(tmp_path / "reads.yaml").model.engine
