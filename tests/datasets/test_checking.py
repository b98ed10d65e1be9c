"""What a check of a table finds: each finding in a table made for it, and in no other."""

import numpy as np
import pandas as pd
import pytest
from anndata_files import write_anndata

from thesiskit.config import load_config
from thesiskit.datasets import SOURCES
from thesiskit.datasets.checking import (
    LEVEL,
    association,
    findings,
    fisher,
    follows_order,
    independent_rows,
    rank_test,
    runs_test,
    summarise_checks,
    warnings_of,
)
from thesiskit.datasets.source import CHECKS, Table
from thesiskit.frame import Column

N = 200
ORDER = "the order of the samples is associated with the response"


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
    """Make forty patients of five samples each, of one class each."""
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
    """Take out values so that no feature tells, but their number in a sample does."""
    X = table.copy()
    rows = np.flatnonzero(X["y"] == 1)[:36]
    for j, row in enumerate(rows):
        X.iloc[row, j % 6] = np.nan
    return X


FINDINGS = {
    "exact repeats": (
        lambda t: with_repeats(t, 0),
        "2 samples equal another one (4 and 201, 9 and 202), 1 with a different response: ",
    ),
    "near repeats": (
        lambda t: with_repeats(t, 1e-3),
        "2 samples nearly equal another one (4 and 201, 9 and 202), 1 with a different ",
    ),
    "a copy of the response": (
        lambda t: t.assign(told=2 * t["y"] + 1),
        "D02 Leak: 'told' predicts the response perfectly. Fix: add it to data.ignore",
    ),
    "a feature that separates": (
        lambda t: t.assign(told=t["y"] + np.linspace(0, 0.9, N)),
        "D02 Leak: 'told' predicts the response perfectly. Fix: add it to data.ignore",
    ),
    "samples sorted by class": (
        lambda t: t.sort_values("y"),
        "D04 Sample order: the samples are sorted by the response. Folds are random",
    ),
    "samples in blocks": (
        lambda t: t.assign(y=np.arange(N) // 20 % 2),
        f"{ORDER} (p < 0.001)",
    ),
    "a drift": (
        lambda t: t.assign(
            y=(np.random.default_rng(2).random(N) < np.linspace(0.2, 0.8, N)).astype(int)
        ),
        f"{ORDER} (p < 0.001)",
    ),
    "groups": (patients, "Fix: set data.sample_groups: who"),
    "patients of both classes": (
        lambda t: t.assign(patient=np.arange(N) % 50),
        "Fix: set data.sample_groups: patient",
    ),
    "a batch among features": (
        lambda t: t.assign(array_batch=np.where(np.arange(N) % 5 < 3, t["y"], 2)),
        "the response is associated with 'array_batch' (p < 0.001); ",
    ),
    "a constant": (lambda t: t.assign(flat=7), "1 feature is constant and without"),
    "a duplicate": (
        lambda t: t.assign(twin=t["c"]),
        "1 feature equals another one ('twin' = 'c') and would count twice",
    ),
    "a code of a missing value": (
        lambda t: t.assign(a=t["a"].where(np.arange(N) % 40 > 0, -999)),
        "deviations from the median: -999 of 'a' in sample 1. One",
    ),
    "wildly different scales": (
        lambda t: t.assign(b=1e-4 * t["b"], e=3e4 * t["e"]),
        "2 features are on another scale: the spread of 'e' is 300,000,000 times that of 'b', but",
    ),
    "one feature in other units": (
        lambda t: t.assign(e=1e3 * t["e"]), "1 feature is on another scale: the spread of 'e' is ",
    ),
    "a long tail": (
        lambda t: pd.concat([np.exp(2 * t[list("abcdef")]), t[["y"]]], axis=1),
        "features are not below 0, and most features have a long tail (median skewness 8.5); the ",
    ),
    "counts": (
        lambda t: pd.concat([(1000 * np.exp(t[list("abcdef")])).round(), t[["y"]]], axis=1),
        "not below 0, with a long tail; the normal model fits their logarithms better. Fix: set",
    ),
    "a column with a long tail": (
        lambda t: t.assign(crp=np.exp(2 * frame(seed=9)["a"])),
        "1 feature has a long tail and no value below 0: 'crp'. Fix: log-transform these",
    ),
    "a long tail and a mistake": (
        lambda t: t.assign(crp=100 + frame(seed=9)["a"].where(np.arange(N) > 0, 1e5)),
        "deviations from the median: 100100 of 'crp' in sample 1. One",
    ),
    "missing values in a class": (
        with_missing, "values are missing more often in some classes, in 'b'; "
    ),
    "samples with missing values": (
        few_missing,
            "values are missing more often in some classes, by their number in a sample (p "
    ),
    "numbers of the samples": (
        lambda t: t.assign(a=np.arange(100, 100 + N)),
            "column 'a' looks like sample numbers"
    ),
    "ids": (
        lambda t: t.assign(patient_id=np.arange(N)[::-1] * 7),
        "column 'patient_id' looks like sample numbers. Fix: add it to data.ignore",
    ),
    "dates as numbers": (
        lambda t: t.assign(seen=20240101 + np.arange(N) % 28),
        "column 'seen' looks like dates (20240101). Fix: ",
    ),
    "genes that became dates": (
        lambda t: t.rename(columns={"b": "1-Mar", "d": "2-Sep"}),
        "2 feature names are dates ('1-Mar', '2-Sep'); spreadsheets convert symbols such as",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FINDINGS)
def test_a_finding_and_no_other(tmp_path, what):
    make, words = FINDINGS[what]
    (line,) = found(tmp_path, make(frame()))
    assert words in line


COLUMNS = {
    "a site": (
        lambda y, rng: np.where(rng.random(N) < 0.7, y, 2),
        "the response is associated with 'x' (p",
    ),
    "dates": (
        lambda y, rng: [
            f"2024-0{m}-{d:02}" for m, d in zip(y + 3, rng.integers(1, 28, N), strict=True)
        ],
        "the response is associated with 'x' (p < 0.001); ",
    ),
    "dates with the day first": (
        lambda y, rng: [
            f"{d}/{m + 3}/2024" for m, d in zip(y, rng.integers(13, 28, N), strict=True)
        ],
        "the response is associated with 'x' (p < 0.001); ",
    ),
    "numbers": (lambda y, rng: y + rng.normal(size=N), "the response is associated with 'x' (p "),
    "names with letters": (
        lambda y, rng: [f"{'TN'[k]}{i}" for i, k in enumerate(y)],
        "the response is associated with 'x' (p < 0.001); ",
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


def test_names_of_samples_that_go_with_the_response(tmp_path):
    table = frame()
    table["id"] = [f"{'TN'[k]}{i}" for i, k in enumerate(table["y"])]
    (line,) = found(tmp_path, table, id="id")
    assert line.startswith("D03 Batch: the response is associated with 'data.id' (p < 0.001); ")


@pytest.mark.parametrize("make", [frame, discrete])
def test_groups_are_found_in_any_column_and_asked_for_once(tmp_path, make):
    source, table = "file" if make is frame else "table", patients(make())
    for who in (table["who"], table["who"].map("P{:02}".format)):
        for ignore in ([], ["who"]):
            if source == "table" or ignore or who.dtype == int:
                (line,) = found(tmp_path, table.assign(who=who), source, ignore=ignore)
                assert "Fix: set data.sample_groups: who" in line
    assert found(tmp_path, table, source, ignore=["who"], grouped="who") == []


def test_real_responses(tmp_path):
    rng = np.random.default_rng(6)
    table = discrete().assign(y=rng.normal(size=N))
    assert found(tmp_path, table, "table", continuous=True) == []
    table = table.sort_values("y")
    (line,) = found(tmp_path, table, "table", continuous=True)
    assert line.startswith("D04 Sample order: the samples are sorted by the response")
    table = discrete().assign(y=rng.integers(0, 200, N))
    (line,) = found(tmp_path, table.assign(told=table["y"]), "table", continuous=True)
    assert "'told' predicts the response perfectly" in line


def real(**columns):
    """Return a table of real features with a real response, and other columns."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(N, 8))).add_prefix("g")
    return table.assign(y=rng.normal(50, 5, N), **columns)


def test_real_features_with_a_real_response(tmp_path):
    table, rng = real(), np.random.default_rng(9)
    assert found(tmp_path, table, continuous=True) == []
    for told in (table["y"].round(0), -(table["y"] ** 3).round(-3)):
        (line,) = found(tmp_path, table.assign(told=told), continuous=True)
        assert line.startswith("D02 Leak: 'told' predicts the response almost perfectly. Fix")
    gaps = table["y"].round(0).where(rng.random(N) < 0.5)
    (line,) = found(tmp_path, table.assign(told=gaps), continuous=True)
    assert "'told' predicts the response almost perfectly" in line
    near = table["y"] + rng.normal(0, 1.5, N)  # a correlation of .96 is a good feature
    assert found(tmp_path, table.assign(near=near), continuous=True) == []
    (line,) = found(tmp_path, table.sort_values("y"), continuous=True)
    assert line.startswith("D04 Sample order: the samples are sorted by the response")
    low = table["y"] < 48
    (line,) = found(tmp_path, table.assign(g0=table["g0"].where(~low)), continuous=True)
    assert "missing more often with high or low responses, in 'g0'" in line
    batch = np.where(table["y"] + rng.normal(0, 2, N) < 50, "a", "b")
    (line,) = found(tmp_path, table.assign(batch=batch), continuous=True, ignore=["batch"])
    assert line.startswith("D03 Batch: the response is associated with 'batch'")


def test_a_perfect_correlation_of_few_samples_is_chance(tmp_path):
    table = pd.DataFrame(np.random.default_rng(2).normal(size=(4, 300))).add_prefix("g")
    y = np.random.default_rng(3).normal(size=4)
    assert table.corrwith(pd.Series(y), method="spearman").abs().max() == 1
    assert found(tmp_path, table.assign(y=y), continuous=True) == []


def test_tails_of_a_real_response(tmp_path):
    table = real()
    y = np.exp(table["y"] / 5)
    (line,) = found(tmp_path, table.assign(y=y), continuous=True)
    assert line.startswith("D13 Long tails: the response has a long tail (skewness ")
    assert "Fix: log-transform the response" in line
    assert "the median and the ends of predictive intervals can be exponentiated" in line
    table.loc[7, "y"] = 130
    (line,) = found(tmp_path, table, continuous=True)
    assert line.startswith("D14 Extreme values: the response is 130 in sample 8, more than 8")
    table["y"] = np.random.default_rng(0).gamma(20, size=N)  # little skewness
    assert found(tmp_path, table, continuous=True) == []


def test_classes_with_fewer_samples_than_folds(tmp_path):
    table = frame()
    table["y"] = np.array(["a", "b", "c"])[np.where(np.arange(N) % 60 == 3, 2, table["y"])]
    (line,) = found(tmp_path, table, folds=10)
    assert "1 class has fewer samples than there are folds (10): 'c' (4). Fix" in line
    assert found(tmp_path, table, folds=4) == found(tmp_path, table, folds=0) == []


def test_few_samples_are_divided_by_some_gene_of_many(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(12, 2000))).assign(y=rng.permutation(np.arange(12) % 2))
    X = table.drop(columns="y").to_numpy()
    order = np.diff(table["y"].to_numpy()[X.argsort(axis=0)], axis=0)
    assert (np.count_nonzero(order, axis=0) == 1).any()  # such a gene is there
    assert found(tmp_path, table) == []


def test_repeats_of_training_samples_among_test_samples(tmp_path):
    frame().iloc[4:6].to_csv(tmp_path / "test.csv", index=False)
    (line,) = found(tmp_path, frame(), test_path="test.csv", folds=0)
    assert "2 samples equal another one (5 and test sample 1, 6 and " in line


def test_odd_columns_of_texts(tmp_path):
    table = discrete(40).assign(code=[f"k{j}" for j in range(40)], same="x",
                                seen=[f"2024-03-{1 + j % 4:02}" for j in range(40)])  # fmt: skip
    flat, code, seen = found(tmp_path, table, "table")
    assert "1 feature is constant and without information: 'same'" in flat
    assert "column 'code' differs in all samples, as IDs do. Fix: add it to data.ignore" in code
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
        (lambda X: np.random.default_rng(1).poisson(42_000, (20, 8)), False),
        (lambda X: np.tile([35, 1990, 400, 9000], (20, 2)) + np.arange(20)[:, None], False),
    ],
)
def test_counts_of_a_large_range(tmp_path, change, counts):
    rng = np.random.default_rng(3)
    X = change(rng.poisson(np.exp(rng.normal(2, 3, (20, 8)))).astype(float))
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(y=np.arange(20) % 2)
    assert any("features are counts" in line for line in found(tmp_path, table)) == counts


def test_sequences(tmp_path):
    rng = np.random.default_rng(1)
    reads = ["".join(one) for one in rng.choice(list("ACGT"), (90, 20))]
    assert found(tmp_path, "\n".join(reads), "sequences", train=60, first=True) == []
    reads.sort(key=lambda read: read[-1])
    (line,) = found(tmp_path, "\n".join(reads), "sequences", train=60, first=True)
    assert "the samples are sorted by the response, and data.train uses the first" in line
    (line,) = found(tmp_path, "\n".join([reads[0], *rng.permutation(reads)]), "sequences")
    assert "1 sample equals another one (1 and " in line
    assert "they share a fold" in line
    short = ["".join(one) for one in rng.choice(list("AC"), (90, 4))]  # repeats are no wonder
    assert found(tmp_path, "\n".join(short), "sequences") == []


def test_each_check_has_a_status(tmp_path):
    lines = found(tmp_path, with_repeats(frame(), 0).assign(told=lambda t: 2 * t["y"] + 1))
    assert [line[:3] for line in lines] == ["D01", "D02"]
    rows = summarise_checks(lines, "table", ["D02"])
    assert [code for code, *_ in rows] == [*CHECKS]
    status = {code: state for code, state, _ in rows}
    assert (status["D01"], status["D02"], status["D03"]) == ("warning", "accepted", "passed")
    assert warnings_of(rows) == [lines[0], "D02 Leak: accepted (data.accept)"]
    assert dict.fromkeys(status.values()).keys() == {"warning", "accepted", "passed"}
    states = {code: state for code, state, _ in summarise_checks([], "sequences")}
    assert states["D01"] == "passed"
    assert states["D02"] == states["D12"] == "not applicable"
    assert summarise_checks([], "table", transformed=True)[-2][1] == "not applicable"


@pytest.mark.parametrize("source", ["file", "table", "sequences", "plink"])
def test_warnings_are_accepted_by_code(source):
    keys = {"source": source, "path": "t"} | (
        {"response": "y"} if source in ("file", "table") else {}
    )
    assert SOURCES[source].model_validate(keys | {"accept": ["D02"]}).accept == ["D02"]
    with pytest.raises(ValueError, match=r"no check has the code 'D2'. Fix: choose D01 \(Dup"):
        SOURCES[source].model_validate(keys | {"accept": ["D2"]})


def test_iris_has_a_sample_twice():
    from sklearn.datasets import load_iris

    iris = load_iris()
    repeat, order = findings([Table(iris.data, iris.target, classes=tuple(iris.target_names))])
    assert "1 sample equals another one (102 and 143), with the same" in repeat
    assert order.startswith("D04 Sample order: the samples are sorted by the response")


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
    lines = [line for seed in range(50) for line in findings([noise(seed)])
             if "is constant" not in line and "are constant" not in line]  # fmt: skip
    assert len(lines) <= 1, lines


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


DATES = {
    "years": lambda rng, n: rng.integers(1940, 2001, n),
    "dates, as the days of a spreadsheet": lambda rng, n: 42_000 + rng.integers(0, 700, n) / 2,
    "dates, as seconds since 1970": lambda rng, n: rng.integers(1_400_000_000, 1_600_000_000, n),
    "dates, as milliseconds since 1970": lambda rng, n: rng.integers(14e11, 16e11, n),
}
SIZES = {
    "counts of the size of days": lambda rng, n: rng.poisson(42_000, n),
    "counts of the size of years": lambda rng, n: rng.poisson(2000, n),
    "intensities": lambda rng, n: rng.integers(20_000, 60_000, n),
    "measurements": lambda rng, n: rng.normal(2000, 20, n),
    "ages": lambda rng, n: rng.integers(18, 90, n),
}


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize("name", ["x", "visit_date"])
def test_numbers_that_are_dates(tmp_path, kind, name):
    rng = np.random.default_rng(1)
    lines = found(tmp_path, frame().assign(**{name: DATES[kind](rng, N)}))
    (line,) = [line for line in lines if "another scale" not in line]
    assert line.startswith(f"D10 IDs and dates: column '{name}' looks like {kind} (")
    assert line.endswith(". Fix: use a time since an event, such as an age, or data.ignore")


@pytest.mark.parametrize("kind", SIZES)
def test_numbers_that_are_no_dates(tmp_path, kind):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        lines = found(tmp_path, frame(60).assign(x=SIZES[kind](rng, 60)))
        assert not any("looks like" in line for line in lines)


def test_years_of_a_discrete_table(tmp_path):
    rng = np.random.default_rng(1)
    (line,) = found(tmp_path, discrete().assign(birth=rng.integers(1980, 1990, N)), "table")
    assert line.startswith("D10 IDs and dates: column 'birth' looks like years (")


def test_names_that_are_all_dates_are_no_genes(tmp_path):
    names = dict(zip("abcdef", pd.date_range("2024-01-01", periods=6).astype(str), strict=True))
    assert found(tmp_path, frame().rename(columns=names)) == []


WORDS = [
    f"{a} {b}" for a in ("north", "old", "sea") for b in ("hill", "gate", "end", "side", "pier")
]
CELLS = {
    "uuid": lambda rng, n: [f"{a:08x}-{b:08x}" for a, b in rng.integers(1 << 32, size=(n, 2))],
    "hex": lambda rng, n: [f"{a:06x}" for a in rng.integers(1 << 24, size=n)],
    "barcode": lambda rng, n: ["".join(row) + "-1" for row in rng.choice(list("ACGT"), (n, 16))],
    "tcga": lambda rng, n: [
        f"TCGA-{''.join(row)}-01A" for row in rng.choice(list("ABCDEF123456"), (n, 4))
    ],
    "remarks": lambda rng, n: [" ".join(rng.choice(WORDS, 4)) for _ in range(n)],
    "15 sites": lambda rng, n: rng.choice(WORDS, n).tolist(),
    "5 sites": lambda rng, n: rng.choice(WORDS[:5], n).tolist(),
    "numbers": lambda rng, n: [f"{value:.3f}" for value in rng.normal(size=n)],
    "whole numbers": lambda rng, n: [f"{value}" for value in rng.integers(0, 9, n)],
    "dates": lambda rng, n: [f"2024-03-{day:02}" for day in rng.integers(1, 28, n)],
}


def test_no_column_is_associated_with_a_response_by_chance():
    rng, p_values = np.random.default_rng(7), []
    for kind in CELLS:
        for n in np.repeat([20, 40, 100], 20).tolist():
            y = rng.permutation(np.arange(n) % 3 // rng.integers(1, 3))
            p_values.append(association(Column.of_texts(kind, CELLS[kind](rng, n)), y))
    assert np.mean(np.array(p_values) < LEVEL) <= 2 * LEVEL


def draw_groups(rng, labels):
    """Return the group and the class of samples, in the order of the groups or at random."""
    n_groups = int(rng.integers(8, 40))
    group = np.repeat(np.arange(n_groups), rng.integers(1, 30, n_groups))
    group = group if rng.random() < 0.5 else rng.permutation(group)
    chance = {
        "one class each": rng.integers(0, 2, n_groups),
        "mostly one class": rng.beta(0.5, 0.5, n_groups),
        "at random": np.full(n_groups, 0.2),
    }
    return group, (rng.random(len(group)) < chance[labels][group]).astype(int)


@pytest.mark.parametrize("labels", ["one class each", "mostly one class", "at random"])
def test_groups_are_tested_not_samples(labels):
    """Alarms by the order, and by columns that are one for a group or mostly so, are rare."""
    rng, alarms = np.random.default_rng(3), np.zeros(4)
    for _ in range(70):
        group, y = draw_groups(rng, labels)
        rows = independent_rows(group.astype(str).tolist(), y)
        site = rng.choice(list("abcd"), group.max() + 1)[group]
        mixed = np.where(rng.random(len(y)) < 0.7, site, "a")
        age = rng.normal(size=group.max() + 1)[group].astype(str)
        columns = [Column.of_texts("x", cells).take(rows) for cells in (site, mixed, age)]
        p_values = [follows_order(y[rows]), *(association(column, y[rows]) for column in columns)]
        alarms += np.array(p_values) < LEVEL
    assert alarms.max() <= 1


def test_ten_patients_with_twenty_samples_each():
    patient = np.repeat(np.arange(10), 20)
    X, y = np.random.default_rng(0).normal(size=(200, 6)), patient % 5 < 2
    X[:, 0] = np.array([61, 34, 70, 45, 58, 39, 66, 52, 47, 71])[patient]
    aside = {"site": [f"site {'abcdeabcde'[k]}" for k in patient]}
    table = Table(X, y.astype(np.uint8), list("abcdef"), aside=aside)
    assert any("the response is associated with 'site'" in line for line in findings([table]))
    table = Table(X, y.astype(np.uint8), list("abcdef"), aside=aside, groups=[*map(str, patient)])
    assert findings([table]) == []
    y = np.arange(200) % 2  # a batch for each class of each patient
    aside = {"batch": [f"run {'ab'[k]}" for k in y]}
    table = Table(X, y.astype(np.uint8), list("abcdef"), aside=aside, groups=[*map(str, patient)])
    assert any("the response is associated with 'batch'" in line for line in findings([table]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e300, -1e300, 1.7e308])
def test_huge_values_give_a_line_and_no_warning(tmp_path, value):
    table = frame()
    table.loc[[3, 50, 90], "b"] = value
    assert any("deviations from the median" in line for line in found(tmp_path, table))
    table["b"] = np.where(np.arange(N) % 2, value, -value)
    found(tmp_path, table)


def test_what_a_config_says_of_folds_and_groups_counts(tmp_path):
    frame().sort_values("y").to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.yaml").write_text(
        "experiment: mine\ntitle: Mine\nabout: Mine.\n"
        "data: { source: file, path: t.csv, response: y }\n"
        "evaluation: { scheme: holdout }\nselection: { features: [2] }\n"
        "model: { kind: normal }\nreport: { parts: [predictions] }\n"
    )
    config = load_config(tmp_path / "c.yaml")
    (line,) = [line for _, status, line in config.check_tables(config.data.read(tmp_path))
               if status == "warning"]  # fmt: skip
    assert "sorted by the response" in line
    assert "olds" not in line


@pytest.mark.parametrize("name", ["patient_age", "survival_time", "lab_value"])
def test_names_that_only_begin_so_are_features(tmp_path, name):
    table = frame()
    table[name] = (50 + 5 * table["y"] + 8 * frame(seed=1)["a"]).round()
    assert found(tmp_path, table) == []


@pytest.mark.parametrize("kind", ["labels", "genes in rows", "parquet", "h5ad"])
def test_columns_beside_the_features_of_any_file(tmp_path, kind):
    table, keys = frame(), {"response": "y"}
    table["site"] = np.where(table["y"] == 1, "north", "south")
    table["sample"] = [f"c{i}" for i in range(N)]
    X = table[list("abcdef")]
    if kind == "labels":
        X.assign(sample=table["sample"]).to_csv(tmp_path / "t.csv", index=False)
        table[["sample", "y", "site"]].to_csv(tmp_path / "l.csv", index=False)
        keys |= {"path": "t.csv", "labels": "l.csv", "id": "sample"}
    elif kind == "genes in rows":
        table.set_index("sample").T.to_csv(tmp_path / "t.csv", index_label="gene")
        keys |= {"path": "t.csv", "orientation": "genes-in-rows", "ignore": ["site"]}
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        table.drop(columns="sample").to_parquet(tmp_path / "t.parquet", index=False)
        keys |= {"path": "t.parquet", "ignore": ["site"]}
    else:
        obs = table[["y", "site"]].astype(str).set_axis([f"cell{i}" for i in range(N)])
        var = pd.DataFrame(index=[*"abcdef"])
        write_anndata(tmp_path / "t.h5ad", X.to_numpy(), obs, var)
        keys |= {"path": "t.h5ad"}
    tables = SOURCES["file"].model_validate({"source": "file"} | keys).read(tmp_path)
    (line,) = findings(tables)
    assert line.startswith("D03 Batch: the response is associated with 'site' (p < 0.001); ")


def test_a_feature_of_words_is_no_batch(tmp_path):
    """Of three words and more it was said to be a place where samples were taken."""
    table = frame()
    grades = np.where(table["y"] == 1, "high", "low")
    rare = np.random.default_rng(0).random(N) < 0.3
    table["grade"] = np.where(rare, "middle", grades)
    assert not any("grade" in line and "batch" in line for line in found(tmp_path, table))
