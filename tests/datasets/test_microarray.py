"""Published tables that are fetched: where files are looked for, what they hold, and a study."""

import http.server
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import yaml
from commands import run
from rdata_files import Shelf, table_file

from thesiskit.config import load_config
from thesiskit.datasets import published
from thesiskit.datasets.published import MicroarrayData, colon
from thesiskit.errors import ConfigError, DataError

pytest.importorskip("rdata")
pytest.importorskip("pooch")
GIVEN = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "microarray"
KNOWN = {  # samples, genes and classes, as README.md beside the files has them
    "alon": (62, 2000, {"n": 22, "t": 40}),
    "christensen": (217, 1413, {"blood": 85, "other": 113, "placenta": 19}),
    "khan": (63, 2308, {"BL": 8, "EWS": 23, "NB": 12, "RMS": 20}),
    "su": (102, 5565, {"1": 25, "2": 26, "3": 28, "4": 23}),
    "west": (49, 7129, {"negative": 25, "positive": 24}),
}


def table(name):
    (found,) = MicroarrayData(source="microarray", table=name).read(Path())
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("THESISKIT_DATA_DIR", raising=False)
    return tmp_path / "cache" / "thesiskit" / "microarray"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    return Shelf(tmp_path / "given", monkeypatch)


def small(rng, n, p, classes=2):
    y = np.arange(n) % classes
    return rng.normal(size=(n, p)) + y[:, None] * (np.arange(p) < 3), y


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the published files are not in THESISKIT_DATA_DIR")
@pytest.mark.parametrize("name", KNOWN)
def test_a_published_table_has_its_samples_genes_and_classes(name, monkeypatch):
    monkeypatch.setenv("THESISKIT_DATA_DIR", str(GIVEN))
    found = table(name)
    n, p, classes = KNOWN[name]
    assert found.features.shape == (n, p)
    assert dict(zip(found.classes, np.bincount(found.response), strict=True)) == classes
    assert len(found.names) in (0, p)
    assert found.missing == 0
    if name == "alon":  # the table that comes with thesiskit
        raw = np.sort(colon("raw").features, axis=None)
        logs = np.sort(found.features, axis=None)
        assert logs == pytest.approx(np.log2(np.maximum(raw, 16)), abs=1e-3)


def test_intensities_get_a_floor_and_a_logarithm(shelf, rng):
    x, y = small(rng, 12, 5)
    shelf("golub", 1000 * x, y, ["ALL", "AML"])
    shelf("west", x, y, ["no", "yes"])
    found = table("golub")
    assert found.features == pytest.approx(np.log2(np.maximum(1000 * x, 16)))
    assert found.features.min() == 4
    assert table("west").features == pytest.approx(x)
    assert found.classes == ("ALL", "AML")
    assert (found.response == y).all()
    assert len({found.digest, table("west").digest}) == 2


def test_genes_without_names_or_with_one_name_get_their_own(shelf, rng):
    x, y = small(rng, 9, 6, classes=3)
    x[2, 3] = np.nan
    shelf("khan", x, y, ["a", "b", "c"], ["g", None, "g", "", "h", "g"])
    found = table("khan")
    assert found.names == ["g", "gene 2", "g (2)", "gene 4", "h", "g (3)"]
    assert found.classes == ("a", "b", "c")
    assert found.missing == 1
    shelf("su", x, y, ["a", "b", "c"])
    assert table("su").names == []


def test_what_others_put_into_the_cache_is_not_believed(shelf, cache, rng):
    """An earlier version kept tables there once they were parsed, and took them as they were."""
    x, y = small(rng, 8, 4)
    shelf("west", x, y, ["no", "yes"])
    cache.mkdir(parents=True)
    forged = {"x": 0 * x, "y": y, "names": np.array([], dtype=str), "classes": np.array(["a", "b"])}
    np.savez(cache / f"west-{published.SHA256['west'][:16]}.npz", **forged)
    np.testing.assert_array_equal(table("west").features, x)


def test_a_file_that_is_not_the_published_one_is_refused(shelf, rng):
    path = shelf("west", *small(rng, 8, 4), ["no", "yes"])
    path.write_bytes(table_file("west", *small(rng, 8, 4), ["no", "yes"], None))
    with pytest.raises(DataError, match=r"not the published file .* remove the file") as caught:
        table("west")
    assert str(path) in str(caught.value)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of the files of a folder; `asked` are those that were asked for."""
    folder, asked = tmp_path / "served", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *arguments):
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        monkeypatch.setattr(published, "URL", f"http://127.0.0.1:{one.server_port}/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield folder, asked
        one.shutdown()


def test_a_file_is_fetched_once_and_checked(shelf, server, cache, rng, monkeypatch, capfd):
    folder, asked = server
    path = shelf("west", *small(rng, 8, 4), ["no", "yes"])
    content = path.read_bytes()
    path.unlink()
    monkeypatch.setattr(published, "RETRIES", 0)
    (folder / "west.RData").write_bytes(b"something else")
    with pytest.raises(DataError, match=r"cannot be fetched .*not the published file"):
        table("west")
    assert not (cache / "west.RData").exists()
    (folder / "west.RData").write_bytes(content)
    first = table("west")
    assert (cache / "west.RData").read_bytes() == content
    asked.clear()
    assert table("west").digest == first.digest
    assert asked == []
    assert capfd.readouterr() == ("", "")


def test_without_a_network_one_sentence_says_what_to_do(cache, monkeypatch):
    monkeypatch.setattr(published, "URL", "http://127.0.0.1:9/")
    monkeypatch.setattr(published, "RETRIES", 0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(DataError) as caught:
        table("khan")
    said = str(caught.value)
    assert "http://127.0.0.1:9/khan.RData" in said
    assert str(cache) in said
    assert "no connection" in said
    assert len(said.splitlines()) == 1


def test_a_command_says_how_much_it_fetches_and_where_it_is(shelf, server, cache, rng):
    folder, asked = server
    for name in published.TABLES:
        path = shelf(name, *small(rng, 8, 4), ["no", "yes"])
        path.rename(folder / path.name)
    kept = shelf("khan", *small(rng, 8, 4), ["no", "yes"])
    lines = run("fetch", "microarray").splitlines()
    assert lines[0] == "9 of 10 tables to download: 16.4 MB"
    assert set(lines[-1].removeprefix("microarray: ").split(", ")) == {str(cache), str(kept.parent)}
    assert len(list(cache.glob("*.RData"))) == 9
    asked.clear()
    assert run("fetch", "microarray").startswith("0 of 10 tables to download: 0.0 MB")
    assert asked == []
    assert table("west").features.shape == (8, 4)


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the published files are not in THESISKIT_DATA_DIR")
def test_sizes_are_those_of_the_files():
    for name, row in published.TABLES.items():
        assert int(row["kilobytes"]) == round((GIVEN / f"{name}.RData").stat().st_size / 1000)


# ---- an experiment with one of the tables ----


def study(tmp_path, **more):
    tree = {
        "experiment": "tables",
        "title": "Tables",
        "about": "A test.",
        "replicates": 3,
        "block": 2,
        "data": {"source": "microarray", "table": "west"},
        "evaluation": {"folds": 3},
        "selection": {"features": [3]},
        "model": {"methods": ["corrected", "l2-logistic"]},
        "report": {"parts": ["data-card", "timing-table"]},
    }
    path = tmp_path / "tables.yaml"
    path.write_text(yaml.safe_dump(tree | more))
    return path


def test_what_is_wrong_with_the_table_is_said(shelf, rng, tmp_path):
    shelf("west", *small(rng, 20, 6), ["no", "yes"], [f"w{j}" for j in range(6)])
    with pytest.raises(ConfigError, match=r"data\.table: cannot be 'alone'; did you mean 'alon'"):
        load_config(study(tmp_path, data={"source": "microarray", "table": "alone"}))
    path = study(tmp_path, selection={"features": [7]})
    assert "cannot select 7 of 6" in run("run", path, "--results", tmp_path / "c", code=2)
    new = tmp_path / "new.csv"
    new.write_text("a,b\n1,2\n")
    said = run("predict", study(tmp_path), "--new", new, "--results", tmp_path / "d", code=2)
    assert "microarray does not read new samples" in said
