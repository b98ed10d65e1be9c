"""Files of fitted models: what is altered, of a later version, or no model is refused."""

import contextlib
import json
import os
import re
import zipfile
from itertools import product

import numpy as np
import pytest
from commands import arrays, run
from new_samples import write_config, write_tables

from thesiskit.errors import DataError, UserError
from thesiskit.fitted import load_model
from thesiskit.fitted.file import FORMAT, _digest, read_model, write_model

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of each kind of method, by name."""
    folder = tmp_path_factory.mktemp("models")
    write_tables(folder)
    os.environ["THESISKIT_JOBS"] = "0"
    found = {}
    kinds = ("naive", "missing", "mixture", "normal", "features", "real", "sequences")
    for kind in kinds:
        path = folder / f"{kind}.model"
        config = write_config(folder, kind)
        run("export", config, path, "--all-methods", "--results", folder / "results")
        found[kind] = path
    return found


def refused(path, *words):
    with pytest.raises(DataError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    for word in words:
        assert word in message


def test_it_says_what_it_is_and_holds_no_pickle(models):
    for path in models.values():
        found = arrays(path)  # np.load without pickles
        header = json.loads(found["header"].tobytes())
        assert header["what"] == "thesiskit fitted model"
        assert header["format"] == FORMAT
        assert all(values.dtype.kind in "iufbU" for values in found.values())
        assert str(path.parent) not in found["header"].tobytes().decode()


def test_files_that_are_no_models(tmp_path, models):
    path = tmp_path / "x.model"
    refused(path, "No such file")
    path.write_text("gene 1,gene 2\n")
    refused(path, "not a model of thesiskit")
    np.savez(path.with_suffix(".npz"), X=np.zeros(3))
    refused(path.with_suffix(".npz"), "not a model of thesiskit")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "pipe")
    refused(tmp_path, "directory")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", bytes(2**29))
    refused(path, "unpacks to")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abc":
            archive.writestr(f"{name}.npy", bytes(10**8))
    refused(path, "unpacks to 300,000,000 bytes")
    header = np.frombuffer(b"[]", dtype=np.uint8)
    np.savez(path.with_suffix(".npz"), header=header, sha256=np.array("x"))
    refused(path.with_suffix(".npz"), "not a model of thesiskit")


def test_what_is_altered_is_refused(tmp_path, models):
    found = arrays(models["naive"])
    path = tmp_path / "x.npz"
    for name, values in found.items():
        if not values.size or name == "sha256":
            continue
        other = values.copy()
        if name == "header":
            other = np.frombuffer(values.tobytes().replace(b"tumour", b"normal"), dtype=np.uint8)
        else:
            other.reshape(-1)[0] += 1
        np.savez(path, **found | {name: other})
        refused(path, "altered or damaged")
    np.savez(path, **{name: values for name, values in found.items() if "alpha" not in name})
    refused(path, "altered or damaged")
    np.savez(path, **found, more=np.zeros(1))
    refused(path, "altered or damaged")


def test_every_cut_and_every_turned_byte_is_noticed(tmp_path, models, rng):
    content = models["real"].read_bytes()
    path = tmp_path / "x.model"
    for end in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:end])
        refused(path)
    expected = load_model(models["real"])
    for place in rng.integers(0, len(content), 25):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            found = load_model(path)
        except DataError:
            continue
        # what zip does not look at, such as a date
        found.save(path)
        assert found.experiment == expected.experiment
        assert path.read_bytes() == content


def test_a_later_version_is_told_apart(tmp_path, models):
    header, found = read_model(models["naive"])
    path = tmp_path / "x.model"
    write_model(path, header | {"format": FORMAT + 1, "thesiskit": "7.5", "new": 1}, found)
    refused(path, "later version, thesiskit 7.5", f"format {FORMAT + 1}", "update thesiskit")
    for wrong in (0, "1", None):
        write_model(path, header | {"format": wrong}, found)
        refused(path, "its format is")


def crafted(path, models, kind, change, **others):
    """Write a model that says of itself that it is whole, with other content."""
    header, found = read_model(models[kind])
    header = json.loads(json.dumps(header))
    change(header)
    write_model(path, header, found | others)
    with pytest.raises(DataError, match=r"not a valid fitted model|which no fit contains"):
        load_model(path)


def nothing(header):
    """Leave a header as it is."""


def test_counts_of_classes_are_those_of_the_samples(tmp_path, models):
    path = tmp_path / "x.model"
    counts = load_model(models["naive"]).counts
    for wrong in (counts + 1, counts[:1], counts.astype(float), counts * [-1, 1], counts[None]):
        crafted(path, models, "naive", nothing, class_counts=wrong)
    header, found = read_model(models["naive"])
    del found["class_counts"]
    write_model(path, header, found)
    refused(path, "not a valid fitted model")
    assert load_model(models["real"]).counts is None


def test_content_that_does_not_belong_together_reaches_no_kernel(tmp_path, models):
    path = tmp_path / "x.model"
    _, naive = read_model(models["naive"])
    ones = naive["arm-0/ones"]
    wrong = {
        "arm-0/selected": [naive["arm-0/selected"] + 10_000, -naive["arm-0/selected"] - 1],
        "arm-0/ones": [ones * 1000, -ones - 1, ones[1:]],
        "arm-0/alpha": [-naive["arm-0/alpha"], naive["arm-0/alpha"][1:], np.zeros(0)],
        "inputs/columns": [naive["inputs/columns"][::-1], naive["inputs/columns"] + 5],
        "inputs/thresholds": [naive["inputs/thresholds"][1:]],
    }
    for name, values in wrong.items():
        for value in values:
            crafted(path, models, "naive", nothing, **{name: value})
    kept, own = naive["likeness/kept"], naive["likeness/own"]
    wrong = {
        "kept": [kept[1:], kept[::-1], kept + 100, kept * 1.0],
        "low": [naive["likeness/low"][1:]],
        "features": [naive["likeness/features"] + 100, -1 - naive["likeness/features"]],
        "tested": [naive["likeness/tested"] + 100, naive["likeness/tested"][1:]],
        "mean": [naive["likeness/mean"][1:]],
        "spread": [naive["likeness/spread"] * 0],
        "middles": [naive["likeness/middles"][:, 1:], naive["likeness/middles"][:0]],
        "directions": [naive["likeness/directions"][1:]],
        "factors": [naive["likeness/factors"][1:], naive["likeness/factors"][0]],
        "own": [own[:, 1:], own[0], own[:1]],
    }
    for name, values in wrong.items():
        for value in values:
            crafted(path, models, "naive", nothing, **{f"likeness/{name}": value})
    _, gaps = read_model(models["missing"])
    present, left_out = gaps["arm-0/present"], gaps["arm-0/left_out"]
    wrong = {
        "arm-0/present": [present * 0, -present, present + 100, present[1:]],
        "arm-0/left_out": [left_out[1:], -left_out, left_out[:, 1:], left_out + 100],
    }
    for name, values in wrong.items():
        for value in values:
            crafted(path, models, "missing", nothing, **{name: value})
    _, mixture = read_model(models["mixture"])
    labels = mixture["arm-0/labels"]
    wrong = {
        "arm-0/labels": [labels[:, 1:], labels + 2, labels[:0]],
        "arm-0/point": [mixture["arm-0/point"] + 100, mixture["arm-0/point"] - 100],
        "arm-0/features": [mixture["arm-0/features"] + 1, mixture["arm-0/features"][1:]],
        "arm-0/response": [mixture["arm-0/response"] * 0, mixture["arm-0/response"][1:]],
        "arm-1/theta": [np.zeros((3, 3))],
    }
    for name, values in wrong.items():
        for value in values:
            crafted(path, models, "mixture", nothing, **{name: value})
    _, normal = read_model(models["normal"])
    counts, log_joint = normal["arm-0/counts"], normal["arm-0/log_joint"]
    wrong = {
        "arm-0/selected": [normal["arm-0/selected"] + 10_000, -normal["arm-0/selected"] - 1],
        "arm-0/counts": [counts * 1000, -counts, counts * 0, counts[1:], counts[:, 1:]],
        "arm-0/class_counts": [np.array([40]), np.array([0, 40]), np.array([9, 9, 22])],
        "arm-0/means": [normal["arm-0/means"] * np.nan, normal["arm-0/means"][1:]],
        "arm-0/within": [-normal["arm-0/within"], normal["arm-0/within"][1:]],
        "arm-0/variance": [np.zeros(2), np.ones(3), np.array([1, np.inf])],
        "arm-0/log_joint": [log_joint[1:], log_joint + 1, log_joint - np.inf, log_joint * np.nan],
    }
    for name, values in wrong.items():
        for value in values:
            crafted(path, models, "normal", nothing, **{name: value})
    methods = json.loads(json.dumps(read_model(models["naive"])[0]["arms"]))
    mine = {name: values for name, values in naive.items() if name.startswith("arm-0/")}
    crafted(path, models, "features", lambda header: header.update(arms=methods[:1]), **mine)
    for kind in ("features", "sequences", "real"):
        _, found = read_model(models[kind])
        codes, coefficient = found["codes"], found["arm-0/coefficient"]
        wrong = {
            "codes": [codes[:, 1:], codes + 100, codes[:5], codes.astype(float)],
            "arm-0/coefficient": [coefficient[:, :, 1:], coefficient[:0], coefficient[0]],
            "arm-0/log_sigma": [found["arm-0/log_sigma"][:, 1:], found["arm-0/log_sigma"][1:]],
        }
        for name, values in wrong.items():
            for value in values:
                crafted(path, models, kind, nothing, **{name: value})
    header, found = read_model(models["sequences"])
    number = [method["name"] for method in header["arms"]].index("2-n-gram")
    mine = {name: found[f"arm-{number}/learnt/{name}"] for name in ("history", "class", "cases")}
    wrong = {
        "history": [mine["history"][1:], np.zeros((len(mine["history"]), 9), dtype=int)],
        "class": [mine["class"] - 10, mine["class"] + 10],
        "cases": [mine["cases"] * 0, mine["cases"][1:]],
    }
    for name, values in wrong.items():
        for value in values:
            arrays = {f"arm-{number}/learnt/{name}": value}
            crafted(path, models, "sequences", nothing, **arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("inputs"),
        lambda header: header.update(arms=[]),
        lambda header: header.update(arms=[1]),
        lambda header: header.update(family="sequences"),
        lambda header: header.update(family="nothing"),
        lambda header: header.update(source={"source": "file"}),
        lambda header: header.update(source=7),
        lambda header: header["arms"][0].update(kind="nothing"),
        lambda header: header["arms"][0].update(kind="mixture"),
        lambda header: header["arms"][0].update(class_counts=[0, -5]),
        lambda header: header["arms"][0].update(gamma_squared="1/0"),
        lambda header: header["arms"][0]["settings"].update(alpha_points=-1),
        lambda header: header["arms"][0]["settings"].update(other=1),
        lambda header: header["inputs"].update(classes=["a", "b", "c"]),
        lambda header: header["inputs"].update(names=["a"]),
        lambda header: header["inputs"].update(width="many"),
    ],
)
def test_headers_that_say_nothing_valid(change, tmp_path, models):
    crafted(tmp_path / "x.model", models, "naive", change)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["inputs"].update(classes=["a"]),
        lambda header: header["inputs"].update(classes=["a", "b", "c"]),
        lambda header: header["arms"][0].update(tau=0.5),
        lambda header: header["arms"][0].update(tau="warm"),
        lambda header: header["arms"][0].update(tau=float("nan")),
        lambda header: header["arms"][0]["settings"].update(effect_shapes=[0]),
        lambda header: header["arms"][0]["settings"].update(ratio=[]),
        lambda header: header["arms"][0]["settings"].update(ratio=None),
        lambda header: header["arms"][0]["settings"].update(class_prior=[1, 1, 1]),
        lambda header: header["arms"][0]["settings"].update(variance=[1]),
    ],
)
def test_headers_of_normal_models_that_say_nothing_valid(change, tmp_path, models):
    crafted(tmp_path / "x.model", models, "normal", change)


def test_a_file_of_the_first_format_has_no_temperatures(tmp_path, models):
    header, found = read_model(models["naive"])
    header["arms"] = [{k: v for k, v in method.items() if k != "tau"} for method in header["arms"]]
    path = tmp_path / "old.model"
    write_model(path, header | {"format": 1}, found)
    old, new = load_model(path), load_model(models["naive"])
    table = models["naive"].parent / "new-tissues.csv"
    for method in new.methods:
        np.testing.assert_array_equal(
            old.predict_proba(table, method), new.predict_proba(table, method)
        )


def test_a_source_that_is_not_installed(tmp_path, models):
    header, found = read_model(models["naive"])
    header["source"] = {"source": "elsewhere"}
    write_model(tmp_path / "x.model", header, found)
    refused(tmp_path / "x.model", "data.source: elsewhere", "install")


def test_python_takes_frames_arrays_and_paths(models):
    import pandas as pd

    folder = models["naive"].parent
    model = load_model(models["naive"])
    frame = pd.read_csv(folder / "new-tissues.csv")
    method = "3 corrected exact"
    p = model.predict_proba(folder / "new-tissues.csv", method)
    np.testing.assert_array_equal(model.predict_proba(frame, method), p)
    np.testing.assert_array_equal(model.predict_proba(frame[model.inputs.names].values, method), p)
    for wrong, words in (
        (frame.drop(columns="gene 3"), "no column 'gene 3'"),
        (frame.values[:, :3], "12 columns"),
        (frame.iloc[:0], "no samples"),
    ):
        with pytest.raises(DataError, match=words):
            model.predict_proba(wrong, method)
    with pytest.raises(ValueError, match="several methods"):
        model.predict_proba(frame)
    with pytest.raises(ValueError, match="predict_proba"):
        model.predict_quantiles(frame, method)

    model = load_model(models["features"])
    frame = pd.read_csv(folder / "new-shapes.csv", keep_default_na=False)
    frame = frame.replace({"form": {"?": None}})
    method = "2-gaussian-compressed"
    found = model.predict_proba(frame, method)
    np.testing.assert_array_equal(found, model.predict_proba(folder / "new-shapes.csv", method))

    model = load_model(models["sequences"])
    rows = [line.split() for line in (folder / "new-reads.txt").read_text().splitlines()]
    method = "2-cauchy-compressed"
    found = model.predict_proba(np.array(rows), method)
    np.testing.assert_array_equal(found, model.predict_proba(folder / "new-reads.txt", method))

    model = load_model(models["real"])
    with pytest.raises(ValueError, match="predict_quantiles"):
        model.predict_proba(frame)


def new_samples(models, kind):
    import pandas as pd

    name = {"normal": "new-gaps.csv", "naive": "new-tissues.csv", "features": "new-shapes.csv"}[
        kind
    ]
    model = load_model(models[kind])
    frame = pd.read_csv(models[kind].parent / name)[model.inputs.names]
    return model, frame, next(iter(model.methods))


@pytest.mark.parametrize("kind", ["naive", "normal", "features"])
def test_tables_of_other_packages_and_types_are_matched_by_name(kind, models):
    model, frame, method = new_samples(models, kind)
    p, turned = model.predict_proba(frame, method), frame[frame.columns[::-1]]
    tables = [turned, turned.convert_dtypes(), turned.astype(object), turned.astype("string")]
    with contextlib.suppress(ImportError):
        import pyarrow

        tables.append(pyarrow.Table.from_pandas(turned))
    with contextlib.suppress(ImportError):
        import polars

        text = turned.astype(object).where(turned.notna(), None)
        tables += [polars.DataFrame({name: text[name].tolist() for name in text})]
    for table in tables:
        np.testing.assert_array_equal(model.predict_proba(table, method), p)
        np.testing.assert_array_equal(model.unlike(table), model.unlike(frame))


@pytest.mark.parametrize("kind", ["naive", "normal", "features"])
@pytest.mark.parametrize("value", [[1], {"a": 1}, (1, 2), 1j], ids=str)
def test_a_cell_that_is_no_value_has_its_column_and_row(kind, value, models):
    model, frame, method = new_samples(models, kind)
    cells = frame.astype(object).to_numpy(copy=True)
    cells[1, 2] = value
    name = re.escape(frame.columns[2])
    place = f"column '?{name}'? contains .* in sample 2, which is neither"
    with pytest.raises(DataError, match=place):
        model.predict_proba(frame.__class__(cells, columns=frame.columns), method)


def made_again(path, models, kind, change, **others):
    """Return the model of a file with other content, whose digest is right."""
    header, found = read_model(models[kind])
    header = json.loads(json.dumps(header))
    change(header)
    write_model(path, header, found | others)
    return load_model(path)


def no_names(header):
    header["inputs"]["names"] = []


def twice(*place):
    def change(header):
        *path, last = place
        for key in path:
            header = header[key]
        header[last][1] = header[last][0]

    return change


NAMES = [
    ("naive", twice("inputs", "names"), "names has 'gene 0' twice"),
    ("normal", twice("inputs", "names"), "names has 'gene 0' twice"),
    ("naive", no_names, "names is empty, and a table names its columns"),
    ("normal", twice("inputs", "classes"), "classes has 'normal' twice"),
    ("features", twice("inputs", "features"), "features has '"),
    ("features", twice("inputs", "classes"), "classes has 'no' twice"),
    ("sequences", twice("inputs", "states"), "states has 'A' twice"),
    ("sequences", twice("inputs", "classes"), "classes has 'A' twice"),
    ("naive", twice("arms"), "methods has '"),
]


@pytest.mark.parametrize(("kind", "change", "words"), NAMES)
def test_names_that_are_not_those_of_a_table(kind, change, words, tmp_path, models):
    with pytest.raises(DataError) as caught:
        made_again(tmp_path / "x.model", models, kind, change)
    assert str(caught.value).startswith(f"{tmp_path / 'x.model'}: ")
    assert words in str(caught.value)


MODELS = ("naive", "mixture", "normal", "features", "real", "sequences")


@pytest.mark.parametrize(
    ("kind", "every"),
    [*product(MODELS, [False]), *(pytest.param(*x, marks=SLOW) for x in product(MODELS, [True]))],
)
def test_no_array_has_a_number_that_no_fit_has(kind, every, tmp_path, models):
    """Of every method, or of an array of each name."""
    _, found = read_model(models[kind])
    path = tmp_path / "x.model"
    by_name = {name.rpartition("/")[2]: name for name in found}
    for name in found if every else by_name.values():
        values = found[name]
        for wrong in (np.nan, np.inf, -np.inf, 1e308) if values.dtype.kind == "f" else ():
            if not values.size or (wrong == -np.inf and name.endswith("log_joint")):
                continue  # which a probability of zero has
            if wrong == np.inf and name.endswith("spread"):
                continue  # of what does not vary
            other = values.astype(float)
            other.flat[-1] = wrong
            with pytest.raises(
                DataError, match=re.escape(f"{name} has {wrong:g}, which no fit contains")
            ):
                made_again(path, models, kind, nothing, **{name: other})
        with pytest.raises(DataError, match=f"{name} has the type complex128"):
            made_again(path, models, kind, nothing, **{name: np.ones(3) + 1j})


@pytest.mark.parametrize("kind", ["normal", "real"])
def test_a_model_that_could_not_be_read_is_not_written(kind, tmp_path, models, monkeypatch):
    model = load_model(models[kind])
    monkeypatch.setattr("thesiskit.fitted.file.MOST", 1e-3)  # as for a table near 1e200
    with pytest.raises(UserError, match=r"cannot be stored .*in other units"):
        model.save(tmp_path / "x.model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["NaN", "Infinity", "-Infinity", "1e999", "1e308"])
def test_no_header_has_such_a_number(wrong, tmp_path, models):
    header, found = read_model(models["real"])
    path = tmp_path / "x.model"
    for method in header["arms"]:
        if "mean" in method:
            method["mean"] = "HERE"
    text = json.dumps(header).replace('"HERE"', wrong).encode()
    monkey = np.frombuffer(text, dtype=np.uint8)
    record = {"header": monkey, "sha256": np.array(_digest(monkey, found)), **found}
    with open(path, "wb") as file:
        np.savez(file, **record)
    refused(path, f"its header has {wrong}, which no fit contains")


@pytest.mark.parametrize("number", [0, -1, 2])
def test_sequences_have_all_their_patterns(number, tmp_path, models):
    def change(header):
        for method in header["arms"]:
            if "min_samples" in method:
                method["min_samples"] = number

    crafted(tmp_path / "x.model", models, "sequences", change)


def test_a_feature_that_is_selected_twice(tmp_path, models):
    _, found = read_model(models["naive"])
    selected = found["arm-0/selected"].copy()
    selected[1] = selected[0]
    crafted(tmp_path / "x.model", models, "naive", nothing, **{"arm-0/selected": selected})
