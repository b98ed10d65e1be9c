"""What a check of a table finds: each finding in a table made for it, and in no other."""

import numpy as np
import pandas as pd
import pytest

from thesiskit.config import load_config
from thesiskit.datasets import SOURCES
from thesiskit.datasets.checking import findings, fisher, rank_test, runs_test
from thesiskit.datasets.source import Table

N = 200
ORDER = "the order of the cases goes with the response"


def found(folder, table, source="file", *, folds=5, first=False, grouped=None, **keys):
    """Return what is found in a data frame, or of sequences in lines of text."""
    text = table if isinstance(table, str) else table.to_csv(index=False)
    (folder / "t.csv").write_text(text)
    continuous = keys.pop("continuous", False)
    keys = {"response": "y"} | keys if source != "sequences" else keys
    made = SOURCES[source].model_validate({"source": source, "path": "t.csv", **keys})
    tables = made.read(folder, continuous=continuous)
    lines = findings(tables, folds=folds, first=first, grouped=grouped)
    assert all("\n" not in line and len(line) < 300 for line in lines)
    return lines


def frame(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef")).assign(y=y)


def discrete(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.choice(["low", "mid", "high"], (n, 12))
    y = rng.permutation(np.arange(n) % 2)
    return pd.DataFrame(X, columns=[f"q{j}" for j in range(12)]).assign(y=y)


def patients(table):
    """Make forty patients of five cases each, of one class each."""
    rng = np.random.default_rng(4)
    who = rng.permutation(np.repeat(np.arange(40), 5))
    return table.assign(who=who, y=rng.permutation(np.arange(40) % 2)[who])


@pytest.mark.parametrize("make", [frame, discrete])
def test_nothing_is_found_where_nothing_is(tmp_path, make):
    assert found(tmp_path, make(), "file" if make is frame else "table") == []


def with_repeats(table, noise):
    again = table.iloc[[3, 8]].copy()
    again.iloc[:, :6] += noise
    again["y"] = [table["y"][3], 1 - table["y"][8]]
    return pd.concat([table, again])


def with_missing(table):
    gone = (table["y"] == 1) & (np.arange(len(table)) % 3 == 0)
    return table.assign(b=table["b"].where(~gone))


def few_missing(table):
    """Take out values so that no feature tells, but their number in a case does."""
    X = table.copy()
    rows = np.flatnonzero(X["y"] == 1)[:36]
    for j, row in enumerate(rows):
        X.iloc[row, j % 6] = np.nan
    return X


FINDINGS = {
    "exact repeats": (
        lambda t: with_repeats(t, 0),
        "2 cases have exactly the features of another case (4 and 201, 9 and 202), 1 with another "
        "response: ",
    ),
    "near repeats": (
        lambda t: with_repeats(t, 1e-3),
        "2 cases have nearly the features of another case (4 and 201, 9 and 202), 1 with another ",
    ),
    "a copy of the response": (
        lambda t: t.assign(told=2 * t["y"] + 1),
        "1 feature tells the response alone, without an error: 'told'; ",
    ),
    "a feature that separates": (
        lambda t: t.assign(told=t["y"] + np.linspace(0, 0.9, N)),
        "1 feature tells the response alone, without an error: 'told'; ",
    ),
    "cases sorted by class": (
        lambda t: t.sort_values("y"),
        "the cases are sorted by the response; folds are drawn at random",
    ),
    "cases in blocks": (
        lambda t: t.assign(y=np.arange(N) // 20 % 2),
        f"{ORDER} (p ",
    ),
    "a drift": (
        lambda t: t.assign(
            y=(np.random.default_rng(2).random(N) < np.linspace(0.2, 0.8, N)).astype(int)
        ),
        f"{ORDER} (p ",
    ),
    "groups": (patients, "data.case_groups: who keeps it together"),
    "patients of both classes": (
        lambda t: t.assign(patient=np.arange(N) % 50),
        "data.case_groups: patient keeps it together",
    ),
    "a batch among features": (
        lambda t: t.assign(array_batch=np.where(np.arange(N) % 5 < 3, t["y"], 2)),
        "the response goes with 'array_batch' (p < 1e-12): ",
    ),
    "a constant": (lambda t: t.assign(flat=7), "1 feature does not vary, and so can tell nothing"),
    "a duplicate": (
        lambda t: t.assign(twin=t["c"]),
        "1 feature has the values of another one ('twin' those of 'c'): ",
    ),
    "a code of a missing value": (
        lambda t: t.assign(a=t["a"].where(np.arange(N) % 40 > 0, -999)),
        "deviations from the median: -999 of 'a' in case 1; ",
    ),
    "wildly different scales": (
        lambda t: t.assign(b=1e-4 * t["b"], e=3e4 * t["e"]),
        "2 features are on another scale: the spread of 'e' is 3e+08 times that of 'b'; ",
    ),
    "one feature in other units": (
        lambda t: t.assign(e=1e3 * t["e"]), "1 feature is on another scale: the spread of 'e' is ",
    ),
    "a long tail": (
        lambda t: pd.concat([np.exp(2 * t[list("abcdef")]), t[["y"]]], axis=1),
        "6 of 6 features have a long tail, and none is below 0: the normal model fits their ",
    ),
    "counts": (
        lambda t: pd.concat([(1000 * np.exp(t[list("abcdef")])).round(), t[["y"]]], axis=1),
        "none below 0, as counts are: the normal model fits their logarithms better (data.tra",
    ),
    "missing values in a class": (
        with_missing, "values are missing more often in some classes, in 'b': "
    ),
    "cases with missing values": (
        few_missing, "values are missing more often in some classes, by their number in a case (p "
    ),
    "numbers of the cases": (
        lambda t: t.assign(a=np.arange(100, 100 + N)), "column 'a' looks like numbers of the cases"
    ),
    "ids": (
        lambda t: t.assign(patient_id=np.arange(N)[::-1] * 7),
        "column 'patient_id' looks like numbers of the cases; data.ignore leaves it out",
    ),
    "dates as numbers": (
        lambda t: t.assign(seen=20240101 + np.arange(N) % 28),
        "column 'seen' looks like dates (20240101); ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FINDINGS)
def test_a_finding_and_no_other(tmp_path, what):
    make, words = FINDINGS[what]
    (line,) = found(tmp_path, make(frame()))
    assert words in line


COLUMNS = {
    "a site": (lambda y, rng: np.where(rng.random(N) < 0.7, y, 2), "the response goes with 'x' (p"),
    "dates": (
        lambda y, rng: [
            f"2024-0{m}-{d:02}" for m, d in zip(y + 3, rng.integers(1, 28, N), strict=True)
        ],
        "the response goes with 'x' (p < 1e-12): ",
    ),
    "dates with the day first": (
        lambda y, rng: [
            f"{d}/{m + 3}/2024" for m, d in zip(y, rng.integers(13, 28, N), strict=True)
        ],
        "the response goes with 'x' (p < 1e-12): ",
    ),
    "numbers": (lambda y, rng: y + rng.normal(size=N), "the response goes with 'x' (p "),
    "names with letters": (
        lambda y, rng: [f"{'TN'[k]}{i}" for i, k in enumerate(y)],
        "the response goes with 'x' (p < 1e-12): ",
    ),
    "names": (lambda y, rng: [f"P{i}" for i in range(N)], ""),
    "a site by chance": (lambda y, rng: rng.choice(list("abc"), N), ""),
    "words": (lambda y, rng: [f"seen {rng.random()} times" for _ in range(N)], ""),
    "dates by chance": (lambda y, rng: [f"2024-03-{d:02}" for d in rng.integers(1, 28, N)], ""),
    "empty": (lambda y, rng: [""] * N, ""),
}


@pytest.mark.parametrize("source", ["file", "table"])
@pytest.mark.parametrize("what", COLUMNS)
def test_columns_that_are_no_features(tmp_path, what, source):
    make, words = COLUMNS[what]
    table = frame() if source == "file" else discrete()
    table["x"] = make(table["y"].to_numpy(), np.random.default_rng(1))
    lines = found(tmp_path, table, source, ignore=["x"])
    assert len(lines) == bool(words)
    assert not words or words in lines[0]


def test_names_of_cases_that_go_with_the_response(tmp_path):
    table = frame()
    table["id"] = [f"{'TN'[k]}{i}" for i, k in enumerate(table["y"])]
    (line,) = found(tmp_path, table, id="id")
    assert line.startswith("the response goes with 'data.id' (p < 1e-12): ")


@pytest.mark.parametrize("make", [frame, discrete])
def test_groups_are_found_in_any_column_and_asked_for_once(tmp_path, make):
    source, table = "file" if make is frame else "table", patients(make())
    for who in (table["who"], table["who"].map("P{:02}".format)):
        for ignore in ([], ["who"]):
            if source == "table" or ignore or who.dtype == int:
                (line,) = found(tmp_path, table.assign(who=who), source, ignore=ignore)
                assert "data.case_groups: who keeps it together" in line
    assert found(tmp_path, table, source, ignore=["who"], grouped="who") == []


def test_real_responses(tmp_path):
    rng = np.random.default_rng(6)
    table = discrete().assign(y=rng.normal(size=N))
    assert found(tmp_path, table, "table", continuous=True) == []
    table = table.sort_values("y")
    (line,) = found(tmp_path, table, "table", continuous=True)
    assert line.startswith("the cases are sorted by the response")
    table = discrete().assign(y=rng.integers(0, 200, N))
    (line,) = found(tmp_path, table.assign(told=table["y"]), "table", continuous=True)
    assert "tells the response alone, without an error: 'told'" in line


def test_classes_with_fewer_cases_than_folds(tmp_path):
    table = frame()
    table["y"] = np.array(["a", "b", "c"])[np.where(np.arange(N) % 60 == 3, 2, table["y"])]
    (line,) = found(tmp_path, table, folds=10)
    assert line.startswith("1 class has fewer cases than there are folds (10): 'c' (4); ")
    assert found(tmp_path, table, folds=4) == found(tmp_path, table, folds=0) == []


def test_few_cases_are_divided_by_some_gene_of_many(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(12, 2000))).assign(y=rng.permutation(np.arange(12) % 2))
    X = table.drop(columns="y").to_numpy()
    order = np.diff(table["y"].to_numpy()[X.argsort(axis=0)], axis=0)
    assert (np.count_nonzero(order, axis=0) == 1).any()  # such a gene is there
    assert found(tmp_path, table) == []


def test_repeats_of_training_cases_among_test_cases(tmp_path):
    frame().iloc[4:6].to_csv(tmp_path / "test.csv", index=False)
    (line,) = found(tmp_path, frame(), test_path="test.csv", folds=0)
    assert "2 cases have exactly the features of another case (5 and test case 1, 6 and " in line


def test_odd_columns_of_texts(tmp_path):
    table = discrete(40).assign(code=[f"k{j}" for j in range(40)], same="x",
                                seen=[f"2024-03-{1 + j % 4:02}" for j in range(40)])  # fmt: skip
    flat, code, seen = found(tmp_path, table, "table")
    assert "1 feature does not vary, and so can tell nothing: 'same'" in flat
    assert "column 'code' differs in all cases, as names do; data.ignore" in code
    assert "column 'seen' looks like dates (2024-03-01)" in seen


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda X: X, True),
        (lambda X: np.where(X == 3, np.nan, X), True),
        (lambda X: X - 1, False),  # some are below 0
        (lambda X: X + 0.5, False),
        (lambda X: np.log2(X + 1), False),
        (lambda X: X + 100_000, False),  # a range that is not large
        (lambda X: X % 256, False),  # as of pixels
        (lambda X: 20 * np.arange(160).reshape(20, 8), True),
        (lambda X: np.tile([35, 1990, 400, 9000], (20, 2)) + np.arange(20)[:, None], False),
    ],
)
def test_counts_of_a_large_range(tmp_path, change, counts):
    rng = np.random.default_rng(3)
    X = change(rng.poisson(np.exp(rng.normal(2, 3, (20, 8)))).astype(float))
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(y=np.arange(20) % 2)
    assert any("as counts are" in line for line in found(tmp_path, table)) == counts


def test_sequences(tmp_path):
    rng = np.random.default_rng(1)
    reads = ["".join(one) for one in rng.choice(list("ACGT"), (90, 20))]
    assert found(tmp_path, "\n".join(reads), "sequences", train=60, first=True) == []
    reads.sort(key=lambda read: read[-1])
    (line,) = found(tmp_path, "\n".join(reads), "sequences", train=60, first=True)
    assert line.startswith("the cases are sorted by the response, and data.train takes the first")
    (line,) = found(tmp_path, "\n".join([reads[0], *rng.permutation(reads)]), "sequences")
    assert "1 case has exactly the features of another case (1 and " in line
    assert "they share a fold" in line
    short = ["".join(one) for one in rng.choice(list("AC"), (90, 4))]  # repeats are no wonder
    assert found(tmp_path, "\n".join(short), "sequences") == []


def test_iris_has_a_case_twice():
    from sklearn.datasets import load_iris

    iris = load_iris()
    repeat, order = findings([Table(iris.data, iris.target, classes=tuple(iris.target_names))])
    assert "1 case has exactly the features of another case (102 and 143), with the same" in repeat
    assert order.startswith("the cases are sorted by the response")


def noise(seed):
    """Return a table in which nothing is, of a size and kind that the seed says."""
    rng = np.random.default_rng([5, seed])
    n, p = (int(np.exp(rng.uniform(*np.log(ends)))) for ends in ((20, 200), (5, 5000)))
    classes = int(rng.integers(2, 5))
    y = rng.permutation(np.append(np.tile(np.arange(classes), 2),
                                  rng.integers(0, classes, n - 2 * classes)))  # fmt: skip
    X = rng.normal(size=(n, p))
    if seed % 5 == 1:
        X = rng.exponential(size=(n, p))
    elif seed % 5 == 2:
        X = rng.integers(0, rng.integers(2, 6), (n, p)).astype(float)
    elif seed % 5 >= 3:
        X = X.round(seed % 2 + 1)
        X[rng.random((n, p)) < rng.choice([0.001, 0.01, 0.1, 0.3])] = np.nan
    days = rng.integers(1, 28, n)
    aside = {
        "site": rng.choice(list("abcde")[: rng.integers(2, 6)], n).tolist(),
        "run": rng.integers(1, 12, n).astype(str).tolist(),
        "day": [f"2024-03-{day:02}" for day in days],
        "code": [f"{letter}{i}" for i, letter in enumerate(rng.choice(list("abc"), n))],
    }
    names = [f"f{j}" for j in range(p)]
    return Table(X, y, names, tuple("wxyz"[:classes]), ids=aside["code"], aside=aside)


def test_false_alarms_are_rare():
    """At most one table of noise in fifty has a finding; that a feature is constant is none."""
    lines = [line for seed in range(100) for line in findings([noise(seed)])
             if "not vary" not in line]  # fmt: skip
    assert len(lines) <= 2, lines


def test_p_values_are_those_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 60)
    x = rng.integers(0, 9, 60).astype(float)
    wanted = stats.kruskal(*(x[y == k] for k in range(3))).pvalue
    assert rank_test(x, y) == pytest.approx(wanted)
    assert fisher(9, 12, 20, 50) == pytest.approx(2 * stats.hypergeom.sf(8, 50, 20, 12))
    labels = np.repeat([0, 1, 2], [20, 25, 15])
    shuffled = [1 + np.count_nonzero(np.diff(rng.permutation(labels))) for _ in range(20_000)]
    for runs in (30, 35):
        y = np.append(labels[: 60 - runs + 1], np.zeros(0, int))
        share = np.mean(np.array(shuffled) <= runs)
        mean, spread = np.mean(shuffled), np.std(shuffled)
        assert share == pytest.approx(stats.norm.cdf(runs + 0.5, mean, spread), abs=0.02)
    sample = rng.permutation(labels)
    runs = 1 + np.count_nonzero(np.diff(sample))
    assert runs_test(sample) == pytest.approx(np.mean(np.array(shuffled) <= runs), abs=0.02)


def test_what_a_config_says_of_folds_and_groups_counts(tmp_path):
    frame().sort_values("y").to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.yaml").write_text(
        "experiment: mine\ntitle: Mine\nabout: Mine.\n"
        "data: { source: file, path: t.csv, response: y }\n"
        "evaluation: { scheme: holdout }\nselection: { features: [2] }\n"
        "model: { kind: normal }\nreport: { parts: [predictions] }\n"
    )
    config = load_config(tmp_path / "c.yaml")
    (line,) = config.check_tables(config.data.read(tmp_path))
    assert "folds" not in line


@pytest.mark.parametrize("name", ["patient_age", "survival_time", "lab_value"])
def test_names_that_only_begin_so_are_features(tmp_path, name):
    table = frame()
    table[name] = (50 + 5 * table["y"] + 8 * frame(seed=1)["a"]).round()
    assert found(tmp_path, table) == []


@pytest.mark.parametrize("kind", ["labels", "genes in rows", "parquet", "h5ad"])
def test_columns_beside_the_features_of_any_file(tmp_path, kind):
    table, keys = frame(), {"response": "y"}
    table["site"] = np.where(table["y"] == 1, "north", "south")
    table["case"] = [f"c{i}" for i in range(N)]
    X = table[list("abcdef")]
    if kind == "labels":
        X.assign(case=table["case"]).to_csv(tmp_path / "t.csv", index=False)
        table[["case", "y", "site"]].to_csv(tmp_path / "l.csv", index=False)
        keys |= {"path": "t.csv", "labels": "l.csv", "id": "case"}
    elif kind == "genes in rows":
        table.set_index("case").T.to_csv(tmp_path / "t.csv", index_label="gene")
        keys |= {"path": "t.csv", "orientation": "genes-in-rows", "ignore": ["site"]}
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        table.drop(columns="case").to_parquet(tmp_path / "t.parquet", index=False)
        keys |= {"path": "t.parquet", "ignore": ["site"]}
    else:
        anndata = pytest.importorskip("anndata")
        obs = table[["y", "site"]].astype(str).set_axis([f"cell{i}" for i in range(N)])
        anndata.AnnData(X.to_numpy(), obs=obs).write_h5ad(tmp_path / "t.h5ad")
        keys |= {"path": "t.h5ad"}
    tables = SOURCES["file"].model_validate({"source": "file"} | keys).read(tmp_path)
    (line,) = findings(tables)
    assert line.startswith("the response goes with 'site' (p < 1e-12): ")
