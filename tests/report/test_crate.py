"""ro-crate-metadata.json names every file of an experiment, with its hash, and how it was made."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from commands import ROOT, run
from rocrate.rocrate import ROCrate

from thesiskit import __version__

NULL = ROOT / "configs/chapter2/null.yaml"
SMALL = ("--smoke", "--jobs", "0", "--set", "experiment=paper")
BESIDE = {"provenance.json", "ro-crate-metadata.json", ".thesiskit", ".runner"}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def described(folder):
    """Return the crate, and the sha256 that it gives each file."""
    crate = ROCrate(folder)
    entities = crate.data_entities
    assert {one.type for one in entities} == {"File"}
    return crate, {one.id: one.get("sha256") for one in entities}


def test_each_file_that_is_named_exists_with_its_hash(finished_null):
    _, files = described(finished_null)
    for name, digest in files.items():
        path = finished_null / name
        assert path.is_file()
        assert digest == (None if name == "provenance.json" else sha256(path)), name
    made = {
        str(path.relative_to(finished_null))
        for path in finished_null.rglob("*")
        if path.is_file() and "cells" not in path.parts
    }
    times = {name for name in made if name.endswith("/0000.json")}  # of seconds
    assert made - times - BESIDE == files.keys() - BESIDE


def test_each_file_was_made_by_an_action_from_config_seed_and_earlier_files(finished_null):
    crate, files = described(finished_null)
    actions = {one.id: one for one in crate.get_by_type("CreateAction")}
    stages = ("simulate", "select", "fit", "predict")
    assert list(actions) == [f"#make-{stage}" for stage in (*stages, "report")]
    made, before = [], {"provenance.json", "#seed", "#data"}
    for action in actions.values():
        assert action["instrument"].id == "#thesiskit"
        assert {one.id for one in action["object"]} == before
        results = [one.id for one in action["result"]]
        made += results
        before |= set(results)
    assert sorted(made) == sorted(files.keys() - {"provenance.json"})
    assert {one.id for one in crate.root_dataset["mentions"]} == actions.keys()


def test_code_seed_and_times_are_those_of_the_provenance(finished_null):
    crate, _ = described(finished_null)
    record = json.loads((finished_null / "provenance.json").read_text())
    tool = crate.get("#thesiskit")
    assert tool["softwareVersion"] == __version__
    assert record["code"]["digest"] in tool["identifier"]
    needed = {one["name"]: one["softwareVersion"] for one in tool["softwareRequirements"]}
    assert needed == {**record["packages"], "Python": record["python"]}
    assert crate.get("#seed")["value"] == record["seed"] == 2007
    for stage, entry in record["stages"].items():
        assert crate.get(f"#make-{stage}")["endTime"] == entry["finished"]
    assert crate.root_dataset["datePublished"]


def test_a_crate_that_was_changed_is_written_again(finished_null, tmp_path):
    root = tmp_path / "r"
    shutil.copytree(finished_null.parent, root)
    path = root / "paper-smoke/ro-crate-metadata.json"
    path.write_text(path.read_text().replace("CreateAction", "Action"))
    assert "was damaged or changed" in run("run", NULL, *SMALL, "--results", root)
    _, files = described(root / "paper-smoke")
    assert "CreateAction" in path.read_text()
    assert files["report.html"] == sha256(root / "paper-smoke/report.html")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    rows = [f"{i % 2}," + ",".join(map(str, rng.integers(0, 2, 5))) for i in range(24)]
    path = tmp_path / "mine.csv"
    path.write_text("status,a,b,c,d,e\n" + "\n".join(rows) + "\n")
    return path


def test_files_of_the_users_have_their_hash(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "experiment: mine\ntitle: Mine\nabout: Mine.\n"
        "data: {source: file, path: mine.csv, response: status}\n"
        "evaluation: {folds: 3}\nselection: {features: [2]}\n"
        "report: {parts: [score-table]}\n"
    )
    run("run", "mine.yaml", "--jobs", "0")
    crate, _ = described(tmp_path / "results/mine")
    found = crate.get("#data-file-1")
    assert (found["name"], found["sha256"]) == ("mine.csv", sha256(table))
    assert len(crate.get("#data")["sha256"]) == 64
    assert found in crate.get("#make-simulate")["object"]
