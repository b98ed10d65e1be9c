"""Damage to what a run wrote is found by the next run, and made again."""

import os
import shutil
import struct
import time
import zipfile

import numpy as np
import pytest
from commands import run
from small import LOGISTIC, MIXTURE, content, opened

from thesiskit import files
from thesiskit.errors import DataError, ResultsError
from thesiskit.files import (
    Results,
    read_arrays,
    read_draws,
    read_key,
    read_record,
    write_arrays,
    write_record,
)
from thesiskit.fitted import load_model
from thesiskit.models.chains import stopping
from thesiskit.study.cells import Unfinished


@pytest.fixture(scope="module", params=["mixture", "logistic"])
def whole(request, tmp_path_factory):
    """The folder of a finished experiment with draws."""
    folder = tmp_path_factory.mktemp("whole")
    text = {"mixture": MIXTURE.replace("[collapsed, gibbs]", "[collapsed]"), "logistic": LOGISTIC}
    (folder / "small.yaml").write_text(text[request.param])
    run("run", folder / "small.yaml", "--results", folder, "--jobs", "0")
    return folder


@pytest.fixture
def done(whole, tmp_path):
    """The config of a copy of it."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.yaml"


def flip(path, place=0.5):
    damaged = bytearray(path.read_bytes())
    damaged[int(place * len(damaged))] ^= 16
    path.write_bytes(damaged)


def garble(path):
    path.write_bytes(b"\xff\xfe\x00 no text")


def empty(path):
    path.write_bytes(b"")


KINDS = ("nc", "npz", "json", "key")
OFTEN = [("nc", flip), ("npz", empty), ("json", garble), ("key", flip)]
OTHERS = [(kind, damage) for damage in (flip, garble, empty) for kind in KINDS]
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in OTHERS if case not in OFTEN]


@pytest.mark.parametrize(("kind", "damage"), [*OFTEN, *SLOW])
def test_a_file_of_a_stage_is_made_again(done, tmp_path, kind, damage):
    path = sorted((tmp_path / "small/fit").glob(f"*.{kind}"))[0]
    before = content(tmp_path)
    damage(path)
    text = run("run", done, "--results", tmp_path, "--jobs", "0")
    assert "already done" in text
    assert "fit: " in text
    assert content(tmp_path) == before
    assert "(already done)" not in next(line for line in text.splitlines() if line[:4] == "fit:")


def test_a_report_alone_refuses_damaged_draws(done, tmp_path):
    path = sorted((tmp_path / "small/fit").glob("*.nc"))[0]
    flip(path, 0.9)
    with pytest.raises(ResultsError, match=r"missing or damaged"):
        read_draws(path)


def test_the_record_of_another_is_damage(tmp_path):
    write_record(tmp_path / "a.json", {"seconds": [1.0, float("nan")]}, of="a")
    assert read_record(tmp_path / "a.json", of="a")["seconds"][0] == 1.0
    assert read_record(tmp_path / "a.json", of="b") is None
    text = (tmp_path / "a.json").read_text()
    (tmp_path / "a.json").write_text(text.replace("1.0", "1.5"))
    assert read_record(tmp_path / "a.json", of="a") is None


def test_damaged_unfinished_work_is_discarded(tmp_path):
    path = tmp_path / "unfinished" / "x.npz"
    first = Unfinished(path, "key")
    first.begin(0).save({"state": np.arange(100.0)})
    assert Unfinished(path, "key").running["place"] == 0
    flip(path)
    assert Unfinished(path, "key").running == {}
    np.savez(path, key="unfinished key", format=1)
    assert Unfinished(path, "key").running == {}
    assert not stopping


def test_seconds_of_a_fit_are_of_the_processor(tmp_path):
    path = tmp_path / "unfinished" / "x.npz"
    first = Unfinished(path, "key").begin(0, seconds=5.0)
    time.sleep(0.5)  # waiting costs nothing
    waited = float(first.seconds)
    assert 5 <= waited < 5.4
    end = time.process_time() + 0.3
    while time.process_time() < end:  # work does, and is counted on after a stop
        pass
    first.save({"state": np.arange(3.0)})
    again = Unfinished(path, "key").begin(0)
    assert waited + 0.3 <= float(again.seconds) < waited + 0.7


def test_an_array_must_be_what_it_says(tmp_path):
    write_arrays(tmp_path / "a.npz", "key", {"x": np.arange(1000.0)})
    assert read_key(tmp_path / "a.npz", thorough=True) == "key"
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(b"'shape': (1000,)", b"'shape': (9000,)"))
    assert read_key(tmp_path / "a.npz") == "key"
    assert read_key(tmp_path / "a.npz", thorough=True) is None
    with pytest.raises(ResultsError, match="missing or damaged"):
        read_arrays(tmp_path / "a.npz")


def test_an_array_that_is_not_there_is_damage(tmp_path):
    write_arrays(tmp_path / "a.npz", "key", {"x": np.arange(3)})
    arrays, key = read_arrays(tmp_path / "a.npz", ("x",))
    assert (list(arrays), key) == (["x"], "key")
    with pytest.raises(ResultsError, match="missing or damaged"):
        read_arrays(tmp_path / "a.npz", ("x", "y"))


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BOMB_BYTES", 2**24)  # writing 16 times as many takes seconds
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(2**22))
    with pytest.raises(ValueError, match=r"x.npy unpacks to \d+ times its size"):
        files.read_npz(tmp_path / "bomb.npz")
    np.savez_compressed(tmp_path / "fine.npz", x=np.zeros(2**20))
    assert not files.read_npz(tmp_path / "fine.npz")[0]["x"].any()


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="Python objects"):
        files.read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "array",
    [np.array(3.5), np.zeros((0, 4)), np.arange(6).reshape(2, 3).T, np.array(["a", "bcd"]),
     np.array([True, False]), np.arange(4, dtype=">i2")],
)  # fmt: skip
def test_arrays_come_back_as_numpy_reads_them(tmp_path, array):
    np.savez(tmp_path / "a.npz", x=array)
    with np.load(tmp_path / "a.npz") as loaded:
        wanted = loaded["x"]
    found = files.read_npz(tmp_path / "a.npz")[0]["x"]
    assert (found.dtype, found.shape, found.tobytes()) == (
            wanted.dtype, wanted.shape, wanted.tobytes()
        )  # fmt: skip


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/tty"):
        with pytest.raises(OSError, match=r"pipe or a device|No such device"):
            files.open_regular(path)
    with pytest.raises(IsADirectoryError):
        files.open_regular(tmp_path)


def test_a_damaged_cell_is_to_do_again(tmp_path):
    (tmp_path / "small.yaml").write_text(MIXTURE)
    run("run", tmp_path / "small.yaml", "--results", tmp_path, "--jobs", "0")
    experiment = opened(tmp_path / "small.yaml", tmp_path)
    cell = experiment.graph.block(0).cell("fit", "2 corrected collapsed")
    flip(experiment.graph.files.path(cell))
    with pytest.raises(ResultsError, match="missing or damaged"):
        experiment.graph.block(0).read("fit", cell.method)
    assert not experiment.graph.done(cell)


def test_a_folder_is_marked_before_anything_is_in_it(tmp_path):
    results = Results(tmp_path, "x")
    results.prepare()
    (tmp_path / "x" / "fit").mkdir()
    results.prepare()
    (tmp_path / "x" / ".thesiskit").unlink()
    with pytest.raises(ResultsError, match=r"has files that thesiskit did not create \(fit\)"):
        results.prepare()


def test_any_flipped_bit_of_a_large_members_header_is_damage(tmp_path):
    """zipfile compares the checksum of a large member only after numpy has read its header."""
    path = tmp_path / "a.npz"
    write_arrays(path, "key", {"x": np.arange(2000.0)})
    whole = path.read_bytes()
    begin = whole.index(b"{", whole.index(b"x.npy"))
    for place in range(8 * begin, 8 * (whole.index(b"}", begin) + 1)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert read_key(path, thorough=True) is None, place
        with pytest.raises(ResultsError, match="missing or damaged"):
            read_arrays(path)


def test_any_flipped_bit_of_a_small_file_is_damage_or_changes_nothing(tmp_path):
    """A comment hides the next array, a name becomes another, or a password is asked for."""
    path, arrays = tmp_path / "a.npz", {"x": np.arange(3), "y": np.ones((2, 2))}
    write_arrays(path, "key", arrays)
    whole, n_refused = path.read_bytes(), 0
    for place in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            contents, key = read_arrays(path)
        except ResultsError:
            n_refused += 1
            continue
        assert (list(contents), key) == (list(arrays), "key"), place
        assert all(np.array_equal(contents[name], arrays[name]) for name in arrays), place
    assert n_refused > 4 * len(whole)


@pytest.mark.parametrize("header", ["-" * 8001 + "1", "(" * 9000, "1" * 5000, "{'shape': " * 200])
def test_a_header_that_no_parser_takes_is_damage(tmp_path, header):
    """Python's own parser raises MemoryError where it is nested too deeply."""
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header.encode()
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        for name in ("key.npy", "format.npy"):
            file.writestr(name, head)
    assert read_key(tmp_path / "a.npz") is None
    with pytest.raises(DataError, match="damaged, or not a model of thesiskit"):
        load_model(tmp_path / "a.npz")


def test_a_format_of_several_numbers_is_damage(tmp_path):
    np.savez(tmp_path / "a.npz", key="key", format=[2, 2], header=np.zeros(3), sha256="")
    assert read_key(tmp_path / "a.npz") is None
