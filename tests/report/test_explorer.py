"""The page of groups: its numbers are those of the fit, and it holds what names users give."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail, run
from packed import unpack

from thesiskit.config import load_config
from thesiskit.files import Results, read_draws
from thesiskit.models.logistic import Probe, expected
from thesiskit.report.explorer import pack, rounded
from thesiskit.study import exploring
from thesiskit.study.experiment import Experiment

MODEL = "chains: 2, iterations: 60, burn_in: 20, joint_updates: 0"
TWO = f"""
experiment: two
title: Two classes
about: A test.
data: {{ source: logistic, states: 3, classes: 2, history: 5, train: 60, test: 25 }}
model: {{ kind: logistic, orders: [2, 5], priors: [cauchy], {MODEL} }}
report: {{ order: 5, parts: [pattern-explorer] }}
"""
THREE = f"""
experiment: three
title: Three classes
about: A test.
data: {{ source: text, limit: 300, history: 8, train: 150 }}
model: {{ kind: logistic, orders: [8], priors: [gaussian], {MODEL} }}
report: {{ parts: [pattern-explorer] }}
"""
ALONE = TWO.replace("experiment: two", "experiment: alone").replace(
    "priors:", "compress: [false], priors:"
)
REAL = f"""
experiment: real
title: Real responses
about: A test.
data: {{ source: interactions, features: 5, values: 3, sigma: [1, 0.5, 0.2], noise: 1.0, train: 50,
        test: 20 }}
model: {{ kind: logistic, response: gaussian, orders: [2, 3], priors: [cauchy], {MODEL} }}
report: {{ order: 3, parts: [pattern-explorer] }}
"""
ODD = f"""
experiment: odd
title: "Odd </script><b>names"
about: A test.
data: {{ source: table, path: odd.csv, response: status }}
evaluation: {{ folds: 3 }}
model: {{ kind: logistic, orders: [2], priors: [gaussian], {MODEL} }}
report: {{ parts: [pattern-explorer, coefficient-table] }}
"""
NAMES = [
    '</script><script>alert("1")</script>',
    'a "quoted" <b>name</b>',
    "🧬 gene & more",
    "{{ 7 }}",
]
VALUES = ["<img src=x onerror=alert(2)>", "no, or 'none'", "é€😀"]
CONFIGS = {"two": TWO, "three": THREE, "alone": ALONE, "real": REAL, "odd": ODD}
STEP = 2.0**-12  # of what real numbers are rounded to


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (60, 4))
    frame = pd.DataFrame({name: np.array(VALUES)[codes[:, t]] for t, name in enumerate(NAMES)})
    frame["status"] = np.where(codes[:, 0] == codes[:, 1], "<case>", "control")
    frame.to_csv(folder / "odd.csv", index=False)
    for name, text in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(text)
        run("run", folder / f"{name}.yaml", "--results", folder / "r")
    return folder


def opened(folder, name):
    path = folder / f"{name}.yaml"
    return Experiment(load_config(path), Results(folder / "r", name), folder)


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return unpack(re.search(r'id="packed">([A-Za-z0-9+/=]*)</script>', text)[1])


def drawn(folder, name, arm):
    found = read_draws(folder / "r" / name / "fit" / f"0000-{arm}.nc")
    values = found["coefficient"].astype(float)
    return values.reshape(-1, *values.shape[2:]), found


ARMS = {
    "two": "5-cauchy-compressed-single", "three": "8-gaussian-compressed-single",
    "alone": "5-cauchy-original-single", "real": "3-cauchy-compressed-single",
    "odd": "2-gaussian-compressed-single",
}  # fmt: skip


def test_packed_numbers_come_back():
    rng = np.random.default_rng(1)
    given = {
        "small": np.array([0, 255]), "wide": np.array([1, 256]), "long": np.array([0, 70_000]),
        "signed": np.array([-1, 8]), "counts": np.array([1.0, 2.0**52]), "none": np.empty(0, int),
        "real": rng.standard_cauchy(1000),
    }  # fmt: skip
    meta, found = unpack(pack({"names": ["</script>", "🧬", "\ud800"]}, given))
    assert meta["names"][:2] == ["</script>", "🧬"]
    for name in given.keys() - {"real"}:
        assert np.array_equal(found[name], given[name])
    assert [found[n].dtype.str for n in ("small", "wide", "long", "signed")] == [
        "|u1", "<u2", "<u4", "<i4"
    ]  # fmt: skip
    assert np.allclose(found["real"], given["real"], rtol=STEP / 2, atol=0)
    assert np.array_equal(rounded(found["real"]), found["real"])


@pytest.mark.parametrize("name", CONFIGS)
def test_coefficients_are_those_of_the_draws(folder, name):
    meta, found = data_of(folder / "r" / name / "patterns.html")
    draws, file = drawn(folder, name, ARMS[name])
    quantiles = np.quantile(draws, [0.05, 0.5, 0.95], axis=0) * file.get("response_unit", 1.0)
    assert found["quantiles"] == pytest.approx(quantiles.reshape(-1), rel=STEP)
    assert np.array_equal(found["cases"], file["cases"])
    assert meta["allGroups"] == len(file["cases"])


def those_with(codes, fixed):
    """Return the training cases with these values, {column: code}."""
    chosen = np.ones(len(codes), dtype=bool)
    for t, v in fixed.items():
        chosen &= codes[:, t] == v
    return codes[chosen]


def has(codes, fixed):
    return len(those_with(codes, fixed))


def codes_of(folder, name):
    found = arrays(folder / "r" / name / "simulate" / "0000.npz")
    n = int(found["train_cases"])
    return found["histories" if "histories" in found else "cases"][:n].astype(int), found


def lists(found, name):
    begin = np.cumsum([0, *found[f"{name}Length"].astype(int)])
    items = found[f"{name}Items"].astype(int)
    return [items[a:b].tolist() for a, b in pairwise(begin)]


@pytest.mark.parametrize("name", ["two", "three", "alone"])
def test_paths_of_the_trie_are_the_patterns(folder, name):
    """Counted in the training cases: shortest and longest pattern, and one state more than that."""
    _, found = data_of(folder / "r" / name / "patterns.html")
    codes, _ = codes_of(folder, name)
    edges, above = lists(found, "edge"), found["above"]
    length = codes.shape[1]
    told = set()
    for g, edge in enumerate(edges):
        path, up = list(edge), above[g]
        while up >= 0:
            assert up < g
            path, up = edges[up] + path, above[up]
        assert len(path) == found["last"][g]
        for order in range(found["first"][g], found["last"][g] + 1):
            fixed = {length - 1 - o: path[o] for o in range(order)}
            assert has(codes, fixed) == found["cases"][g]
        told.update(tuple(path[:o]) for o in range(found["first"][g], found["last"][g] + 1))
    assert len(told) == found["patterns"].sum()
    one_each = {tuple(row[::-1][:o]) for row in codes.tolist() for o in range(length + 1)}
    assert told == one_each


@pytest.mark.parametrize("name", ["real", "odd"])
def test_shortest_and_longest_patterns_of_features(folder, name):
    meta, found = data_of(folder / "r" / name / "patterns.html")
    codes, _ = codes_of(folder, name)
    features = np.repeat(np.arange(codes.shape[1]), [len(one) for one in meta["values"]])
    offset = np.cumsum([0] + [len(one) for one in meta["values"]])
    for g, (short, more) in enumerate(
        zip(lists(found, "shortest"), lists(found, "longest"), strict=True)
    ):
        fixed = {features[i]: i - offset[features[i]] for i in short}
        assert len(fixed) == len(short) == found["first"][g]
        assert has(codes, fixed) == found["cases"][g]
        rows = those_with(codes, fixed)
        common = {t: rows[0, t] for t in range(codes.shape[1]) if len(set(rows[:, t])) == 1}
        extra = {features[i]: i - offset[features[i]] for i in more}
        assert fixed | extra == common
        if short:  # it is a shortest one: no part of it has the same cases
            for t in fixed:
                less = {u: v for u, v in fixed.items() if u != t}
                assert has(codes, less) > found["cases"][g]


@pytest.mark.parametrize("name", CONFIGS)
def test_parts_of_a_test_case_add_up_to_its_linear_function(folder, name):
    meta, found = data_of(folder / "r" / name / "patterns.html")
    experiment = opened(folder, name)
    work, block = experiment._work, experiment.graph.block(0)
    arm = work.own_arms[ARMS[name]]
    draws, file = drawn(folder, name, ARMS[name])
    log_sigma = file["log_sigma"].reshape(-1, file["log_sigma"].shape[-1])
    unit, sets = float(file.get("response_unit", 1.0)), draws.shape[1]
    shared = work.shared(arm, block)
    ids = arrays(folder / "r" / name / "simulate" / "0000.npz")["ids"]
    tests = len(shared.case_of)
    names = ids[-tests:].tolist() if len(ids) else [str(t + 1) for t in range(tests)]
    at = 0
    for t, one in enumerate(meta["tests"]):
        case = shared.case_of[names.index(one["name"])]
        probe = Probe(shared, np.array([case]), ["this case"])
        linear = unit * expected(draws, log_sigma, probe, cauchy=arm.prior == "cauchy")[:, :, 0]
        total = found["testTotal"].reshape(-1, 3, sets)[t]
        others = found["testOthers"].reshape(-1, 3, sets)[t]
        added = found["testAdded"][3 * sets * at : 3 * sets * (at + one["cited"])]
        added = added.reshape(3, sets, one["cited"])
        close = {"rel": STEP, "abs": STEP * float(np.abs(added[0]).sum())}
        assert total[0] == pytest.approx(linear.mean(axis=0), **close)
        assert total[1:] == pytest.approx(np.quantile(linear, [0.05, 0.95], axis=0), **close)
        assert added[0].sum(axis=1) + others[0] == pytest.approx(total[0], **close)
        shares = found["testShare"][at : at + one["cited"]]
        assert ((shares > 0) & (shares <= 1)).all()
        at += one["cited"]
    assert at == len(found["testGroups"])
    assert any(one["worst"] for one in meta["tests"])


def test_a_case_cites_few_groups_and_the_others_together(folder, monkeypatch):
    monkeypatch.setattr(exploring, "MOST_CITED", 3)
    experiment = opened(folder, "odd")
    content = experiment._work.explored(experiment.graph.block(0), fit=True)
    whole, _ = data_of(folder / "r" / "odd" / "patterns.html")
    for one, every in zip(content.tests, whole["tests"], strict=True):
        assert (len(one["groups"]), one["n_others"]) == (3, every["cited"] - 3)
        assert one["added"][0].sum(axis=1) + one["others"][0] == pytest.approx(one["total"][0])


@pytest.mark.parametrize("name", ["three", "odd"])
def test_of_too_many_groups_the_largest_are_shown(folder, name, monkeypatch):
    monkeypatch.setattr(exploring, "MOST_GROUPS", 20)
    experiment = opened(folder, name)
    content = experiment._work.explored(experiment.graph.block(0), fit=True)
    assert content.n_groups >= 20  # with those of the test cases
    assert content.n_groups < content.all_groups
    assert any(
        f"{content.n_groups:,} of {content.all_groups:,} groups" in one for one in content.notes
    )
    if content.sequences:  # it is a trie again
        assert (content.above[1:] >= 0).all()
        assert (content.above < np.arange(content.n_groups)).all()
    for one in content.tests:
        assert (one["groups"] >= 0).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_chains_that_do_not_agree_are_told(folder, name):
    fit = arrays(folder / "r" / name / "fit" / "0000.npz")
    place = fit["name"].tolist().index(ARMS[name])
    text = (folder / "r" / name / "patterns.html").read_text(encoding="utf-8")
    assert ("The chains of this model do not agree" in text) == (not fit["reliable"][place])
    assert ("separate the classes of all training cases" in text) == bool(fit["separated"][place])


def test_long_edges_are_cut(folder, monkeypatch):
    monkeypatch.setattr(exploring, "MOST_EDGE", 2)
    experiment = opened(folder, "three")
    content = experiment._work.explored(experiment.graph.block(0), fit=True)
    lengths = np.diff(content.edges.begin)
    assert lengths.max() == 2
    g = int(np.argmax(content.cut))
    assert content.pattern(g).startswith("…")
    assert not content.pattern(g, shortest=True).startswith("…")


class Tags(HTMLParser):
    """The tags of a page, and the text of its table cells."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells and self.tags[-1] in ("td", "th"):
            self.cells[-1] += data


def test_names_of_users_stay_text(folder):
    page = folder / "r" / "odd" / "patterns.html"
    tags = Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    assert tags.tags.count("script") == 2  # the data, and our own
    assert not {"img", "b"} & set(tags.tags)
    meta, _ = data_of(page)
    assert meta["features"] == NAMES
    assert sorted(meta["values"][0]) == sorted(VALUES)
    assert any(cell.startswith(f"{NAMES[0]}=") for cell in tags.cells)
    assert "alert(1)" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CONFIGS)
def test_the_report_links_the_page_which_needs_nothing_else(folder, name):
    report = (folder / "r" / name / "report.html").read_text(encoding="utf-8")
    assert 'href="patterns.html"' in report
    page = (folder / "r" / name / "patterns.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!report\.html)', page)
    assert "report" in run("report", folder / f"{name}.yaml", "--results", folder / "r")
    page = folder / "r" / name / "patterns.html"
    page.write_text("damaged")
    assert (
        "written again"
        in invoke("report", folder / f"{name}.yaml", "--results", folder / "r").output
    )
    assert "packed" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "order"), [("two", 5), ("odd", 2)])
def test_compress_explores_groups_without_a_fit(folder, tmp_path, name, order):
    (tmp_path / "odd.csv").write_bytes((folder / "odd.csv").read_bytes())
    config = tmp_path / f"{name}.yaml"
    config.write_text(CONFIGS[name].replace("order: 5, parts", "order: 2, parts"))
    said = run("compress", config, "--results", tmp_path / "r", "--explore")
    page = tmp_path / "r" / name / "groups.html"
    assert str(page) in said
    meta, found = data_of(page)
    assert meta["order"] == order  # the largest one, as for --list
    assert "quantiles" not in found
    assert not meta["tests"]
    _, fitted = data_of(folder / "r" / name / "patterns.html")
    for part in ("cases", "patterns", "first", "last", "cut"):
        assert np.array_equal(found[part], fitted[part])
    if name == "two":
        run("compress", config, "--results", tmp_path / "r", "--explore", "--order", 1)
        assert data_of(page)[0]["order"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("engine: gp, priors: [gaussian]", "pattern-explorer needs model.engine: slice"),
        ("orders: [0]", "pattern-explorer needs an order above 0"),
    ],
)
def test_parts_that_there_cannot_be(tmp_path, change, words):
    config = tmp_path / "bad.yaml"
    key = change.partition(":")[0]
    text = re.sub(r"priors: \[cauchy\], ", "", TWO) if "priors" in change else TWO
    text = re.sub(rf"{key}: \[[^\]]*\], ", "", text).replace("order: 5, ", "")
    config.write_text(text.replace("kind: logistic,", f"kind: logistic, {change},"))
    if key == "engine":
        config.write_text(config.read_text().replace("orders: [2, 5]", "orders: [2]"))
    must_fail(invoke("run", config, "--results", tmp_path / "r"), words)


def test_experiments_without_groups_cannot_be_explored(tmp_path):
    must_fail(
        invoke("run", "null", "--set", "report.parts=[pattern-explorer]", "--results", tmp_path),
        "pattern-explorer needs model.kind: logistic",
    )
    must_fail(invoke("compress", "null", "--explore", "--results", tmp_path), "nothing to compress")
