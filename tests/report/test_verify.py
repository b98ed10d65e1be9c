"""The thesis's numbers among replicates: arithmetic, coverage, pages, refusals."""

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from commands import ROOT
from printed import printed_keys

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.files import Results, write_result
from thesiskit.models import mixture
from thesiskit.report import metrics
from thesiskit.report import verify as thesis
from thesiskit.report.claims import claims
from thesiskit.report.layout import recorded
from thesiskit.report.page import exhibits, exhibits_found, write_index
from thesiskit.report.record import THESIS, Record, thesis_numbers
from thesiskit.report.verify import (
    BEYOND,
    COLUMNS,
    DIFFERS,
    INSIDE,
    NOT_COMPARABLE,
    OUTSIDE,
    PRINTED,
    UNKNOWN,
    calibration,
    calibration_rows,
    verify,
)
from thesiskit.study.experiment import Experiment

CONFIGS = {path.stem: path for path in (ROOT / "configs").rglob("*.yaml")}
STUDIES = ("naive-replicates", "mixture-replicates", "hmm-replicates", "cauchy-replicates")
SINGLES = ("text", "correlation-lattice", "parameter-reduction")
REASONS = yaml.safe_load((THESIS / "reasons.yaml").read_text())


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# ---- arithmetic ----


@pytest.mark.parametrize("n", [1, 2, 12, 198, 199, 398, 399, 1000])
def test_percentile_and_verdict_by_counting(n, rng):
    values = rng.integers(0, 40, n) / 10
    for printed in (-0.1, 0.0, 0.1, 2.0, 3.9, 5.0):
        below = sum(one < printed for one in values)
        equal = sum(one == printed for one in values)
        above = n - below - equal
        found = thesis.spread(printed, values, 1)
        assert found["percentile"] == pytest.approx(100 * (below + equal / 2) / n)
        k = int((n + 1) * 0.005 + 1e-9)
        assert found["chance"] == pytest.approx(2 * k / (n + 1))
        if n < 199:
            beyond = below == n or above == n
            assert found["verdict"] == (BEYOND if beyond else INSIDE)
        else:
            outside = below + equal < k or above + equal < k
            assert found["verdict"] == (OUTSIDE if outside else INSIDE)


@pytest.mark.parametrize("n", [199, 300, 999])
def test_of_all_ranks_at_most_one_in_a_hundred_is_outside(n):
    values = np.arange(n, dtype=float)
    verdicts = [thesis.spread(rank - 0.5, values)["verdict"] for rank in range(n + 1)]
    outside = verdicts.count(OUTSIDE)
    assert outside == 2 * ((n + 1) // 200)
    assert outside / (n + 1) == pytest.approx(thesis.spread(0.5, values)["chance"])
    assert BEYOND not in verdicts


def test_replicates_are_rounded_as_the_thesis_prints():
    found = thesis.spread(0.36, np.array([0.355001, 0.3649, 0.366]), 2)
    assert found["percentile"] == pytest.approx(100 * 1 / 3)  # two are equal, one is above
    assert thesis.spread(0.36, np.array([0.3549, 0.3651]), 2)["percentile"] == 50


def test_replicates_without_a_number_do_not_count():
    found = thesis.spread(1.0, np.array([np.nan, 0.5, np.nan, 2.0, 3.0]))
    assert (found["replicates"], found["mean"]) == (3, pytest.approx(5.5 / 3))
    assert not thesis.spread(1.0, np.full(3, np.nan))
    found = thesis.replicated("hmm", "w", 1.0, np.full(3, np.nan), 2)
    assert found["verdict"] == NOT_COMPARABLE


@pytest.mark.parametrize(
    ("printed", "here", "decimals", "right"),
    [(5.7, 5.7038, 1, True), (5.7, 5.76, 1, False), (2.6, 2.6049, 2, True), (2.6, 2.606, 2, False),
     (1.85e7, 18_519_347, 2, True), (1.85e7, 18_560_000, 2, False)],
)  # fmt: skip
def test_numbers_that_follow_are_compared_to_the_digits_printed(printed, here, decimals, right):
    row = thesis.exact("hmm", "w", printed, here, decimals)
    assert (row["verdict"] == PRINTED) == right


def test_settings_are_the_same_or_not():
    assert thesis.equal_settings([1, "all", [0.5]], [1.0, "all", [0.5]])
    assert thesis.equal_settings(0.3333333333, 0.33333333330000001)
    for a, b in (([1, 2], [1]), (300, 301), (1, "1"), (0, 1e-9), ("a", None)):
        assert not thesis.equal_settings(a, b)


# ---- calibration tables, on data that are made up ----


def made_up(root, rng, shift=0.0, n=300, samples=2000):
    """A record of predictions that are calibrated, and the table of one data set more."""
    p = rng.beta(1.5, 1.5, (n + 1, samples))
    y = (rng.random(p.shape) < p).astype(int)
    p[-1] = np.clip(p[-1] + shift, 0, 1)
    table = metrics.calibration(p[-1], y[-1]).round(3)
    table.columns = ["category", *COLUMNS]
    results = Results(root, "made-up")
    write_result(
        results.path("predict", 0), "",
        {
            "probability": np.array([p[:-1].ravel()]), "response": y[:-1].ravel(),
            "replicate": np.repeat(np.arange(n), samples), "label": np.array(["10"]),
            "method": np.array(["corrected"]), "variant": np.array(["exact"]),
            "relevant": np.array(["all"]),
            "temperature": np.array(["none"]),
            **dict.fromkeys(("group", "fold", "case", "seconds"), np.zeros(n * samples)),
        },
    )  # fmt: skip
    record = Record(
        results, 1, {"model": {"kind": "naive-bayes"}, "scheme": "test-set", "data": {}}
    )
    record.__dict__["thesis_calibration"] = table.assign(features_selected="10", method="corrected")
    return record


def test_calibration_of_every_replicate(tmp_path, rng):
    record = made_up(tmp_path, rng, n=5, samples=30)
    found = calibration(record, record.methods[0])
    for r in range(5):
        mine = slice(30 * r, 30 * r + 30)
        one = metrics.calibration(
            record.probability(record.methods[0])[mine], record.response[mine]
        )
        one.columns = ["category", *COLUMNS]
        for name in COLUMNS:
            np.testing.assert_allclose(found[name][r], one[name])


def test_a_table_of_the_same_distribution_is_inside_and_a_shifted_one_is_not(tmp_path, rng):
    same = list(calibration_rows(made_up(tmp_path / "a", rng), "naive_simulation"))
    assert len(same) == 30
    assert sum(row["verdict"] == OUTSIDE for row in same) <= 3
    shifted = list(calibration_rows(made_up(tmp_path / "b", rng, 0.15), "naive_simulation"))
    outside = [row for row in shifted if row["verdict"] == OUTSIDE]
    assert len(outside) >= 10
    assert sum(row["key"].endswith("fraction_actual") for row in outside) >= 5
    explained = [thesis.explain(row) for row in shifted]
    assert {row["reason"] for row in explained if row["verdict"] == OUTSIDE} == {UNKNOWN}


# ---- all numbers of a table together ----


def counted_outside(cells):
    """Literally: each data set in turn against all others, cell by cell."""
    counts = []
    for d in range(cells.shape[1]):
        rows = [thesis.spread(row[d], np.delete(row, d)) for row in cells if row[d] == row[d]]
        counts.append(sum(row.get("verdict") in (OUTSIDE, BEYOND) for row in rows))
    return counts


@pytest.mark.parametrize("data_sets", [2, 9, 199, 200, 420])
def test_numbers_outside_are_counted_as_the_rows_have_them(data_sets, rng):
    cells = np.round(rng.normal(size=(4, data_sets)), 1)
    cells[1] = rng.integers(0, 3, data_sets)  # many are equal
    cells[2, rng.random(data_sets) < 0.5] = np.nan
    cells[3, 1:] = np.nan  # only the first has a number
    assert thesis.outside(cells).tolist() == counted_outside(cells)


def frame_of(cells, kind="calibration"):
    """Rows of numbers whose first column is the thesis's."""
    rows = [
        thesis.row("naive_simulation.x", f"{i}", kind, one[0], exhibit="Table 9", values=one)
        for i, one in enumerate(cells)
    ]
    return pd.DataFrame(rows)


def dependent(rng, data_sets, cells=40):
    """Cells that go together within a data set, with few values and some missing ones."""
    shared = rng.standard_t(3, data_sets)
    x = np.round(0.8 * shared + 0.6 * rng.normal(size=(cells, data_sets)), 1)
    x[: cells // 4][x[: cells // 4] < -1] = np.nan
    return x


@pytest.mark.parametrize("tables", [250, pytest.param(1000, marks=pytest.mark.slow)])
def test_p_of_a_table_is_uniform_however_its_cells_depend(rng, tables):
    p = []
    for _ in range(tables):
        found = thesis.omnibus(frame_of(dependent(rng, 100)))
        assert found["numbers of"].tolist() == ["Table 9", "naive Bayes, all that varies"]
        p.append(found["p"][0])
    p = np.array(p)
    for level in (0.02, 0.05, 0.1, 0.2):  # at most the level, as ties make p larger
        error = np.sqrt(level * (1 - level) / len(p))
        assert (p <= level + 1e-9).mean() < level + 3.5 * error
    for level in (0.02, 0.05):  # and hardly less
        assert (p <= level + 1e-9).mean() > level / 3


def test_p_of_a_shifted_table_is_small_and_says_so(rng):
    p = []
    for _ in range(40):
        cells = rng.normal(size=(40, 200))
        same = thesis.omnibus(frame_of(cells)).iloc[0]
        cells[:, 0] += 3.0
        shifted = thesis.omnibus(frame_of(cells)).iloc[0]
        p.append(same["p"])
        assert shifted["p"] == pytest.approx(1 / 200)
        assert shifted["verdict"] == "not compatible"
        assert shifted["outside"] > 3 > 1.5 > shifted["by chance"]
    assert np.mean(np.array(p) <= 0.01) <= 0.1
    few = thesis.omnibus(frame_of(cells[:, :50])).iloc[0]
    assert few["verdict"] == "too few data sets"
    (line, _) = thesis.omnibus_words(thesis.omnibus(frame_of(cells)))
    assert re.fullmatch(
        r"Table 9: \d+ of 40 outside, \d\.\d by chance, p = 0\.005 \(not compatible\)", line
    )


def test_cells_that_the_thesis_leaves_empty_count_for_replicates(tmp_path, rng):
    record = made_up(tmp_path, rng, n=120, samples=40)
    table = record.thesis_calibration
    table.loc[3, ["mean_predicted", "fraction_actual"]] = np.nan
    table.loc[3, "cases"] = 0
    rows = pd.DataFrame(list(calibration_rows(record, "naive_simulation")))
    blank = rows["kind"] == thesis.BLANK
    assert set(rows["key"][blank].str.rpartition(".")[2]) == {"mean_predicted", "fraction_actual"}
    found = thesis.omnibus(rows)
    assert found["numbers"].tolist() == [(~blank).sum()] * len(found)
    counts = thesis.outside(np.stack(rows["values"][rows["values"].map(len) > 0]))
    told = rows["verdict"].isin([OUTSIDE, BEYOND])
    assert counts[0] == told.sum() == found["outside"][0]
    assert found["by chance"][0] == pytest.approx(counts[1:].mean())
    without = thesis.outside(np.stack(rows["values"][~blank & (rows["values"].map(len) > 0)]))
    assert counts[1:].sum() > without[1:].sum()


# ---- what is shipped ----

THESIS_SAMPLER = ("model.joint_updates=0", "model.sigma_scale=[natural]")


def described(name, *settings):
    config = load_config(CONFIGS[name], settings=settings)
    return config.model_dump(mode="json") | {"scheme": config.scheme}


@pytest.mark.parametrize(
    ("name", "of"),
    [("naive-replicates", "naive_simulation"), ("mixture-replicates", "mixture_simulation"),
     ("correlation-lattice", "lattice"), ("hmm-replicates", "logistic_sampling")],
)  # fmt: skip
def test_the_configs_have_the_settings_of_the_thesis(name, of):
    settings = () if of != "logistic_sampling" else THESIS_SAMPLER
    source = Record(Results("nowhere", name), 0, described(name, *settings))
    numbers = thesis_numbers()["naive_simulation" if of == "lattice" else of]
    found = thesis.setting_rows(source, of, numbers)
    assert found
    assert [row for row in found if row["verdict"] != PRINTED] == []


def sampling(*settings):
    """The rows of sampling settings that are not as printed, by key."""
    source = Record(Results("nowhere", "x"), 0, described("hmm-replicates", *settings))
    (of, numbers) = "logistic_sampling", thesis_numbers()["logistic_sampling"]
    found = thesis.setting_rows(source, of, numbers)
    return {row["key"].partition(".")[2]: row["here"] for row in found if row["verdict"] != PRINTED}


def test_another_sampler_is_not_the_one_that_is_printed():
    assert sampling(*THESIS_SAMPLER) == {}
    assert sampling(*THESIS_SAMPLER, "model.joint_updates=1") == {
        "joint_updates": 1, "beta_updates_per_iteration": 2,
    }  # fmt: skip
    assert sampling(*THESIS_SAMPLER, "model.sigma_scale=[log]") == {
        "sigma_scale": "log", "slice_width.sigma": "1.0 on another scale",
    }  # fmt: skip
    until = sampling(*THESIS_SAMPLER, "model.chains=2", "model.until={rhat: 1.1, ess: 40}")
    assert set(until) == {"iterations", "burn_in", "thinning"}
    assert set(sampling(*THESIS_SAMPLER, "model.priors=[cauchy]")) == {
        "sigma0.gaussian", "slice_width.beta_gaussian",
    }  # fmt: skip


def test_settings_are_as_printed_only_where_all_experiments_have_them():
    sources = [
        Record(Results("nowhere", "x"), 0, described(name, *THESIS_SAMPLER, *more))
        for name, *more in [("hmm-replicates",), ("cauchy-replicates", "model.joint_updates=1")]
    ]
    both = {row["key"].partition(".")[2]: row for row in thesis.sampling_rows(sources)}
    assert both["joint_updates"]["verdict"] == DIFFERS
    assert both["joint_updates"]["here"] == "0 (hmm-replicates); 1 (cauchy-replicates)"
    assert both["iterations"]["verdict"] == both["sigma_scale"]["verdict"] == PRINTED
    alone = {row["key"].partition(".")[2]: row for row in thesis.sampling_rows(sources[:1])}
    assert alone["joint_updates"]["verdict"] == PRINTED


def test_reasons_of_settings_and_of_numbers():
    row = thesis.row("hmm.length", "w", "setting", 1, 2, verdict=DIFFERS)
    assert thesis.explain(row)["reason"] == "set by the config given"
    number = thesis.replicated("hmm.x", "w", 5.0, np.arange(3.0), 2)
    assert thesis.explain(number)["reason"].startswith("arrows lost")
    assert (
        thesis.explain(number, "training samples")["reason"] == "other settings: training samples"
    )


def test_other_settings_are_told():
    config = described("mixture-replicates")
    config["data"]["alpha"], config["model"]["alpha_prior"] = 301.0, [0.5, 5.2]
    source = Record(Results("nowhere", "x"), 0, config)
    numbers = thesis_numbers()["mixture_simulation"]
    found = thesis.setting_rows(source, "mixture_simulation", numbers)
    wrong = {row["key"].partition(".")[2] for row in found if row["verdict"] == DIFFERS}
    assert {"alpha", "prior.b", "alpha_grid.0", "alpha_grid.9"} <= wrong
    assert not {"features", "prior.a", "iterations"} & wrong


def test_what_configs_leave_to_the_models():
    assert (thesis.GIBBS["labels"], thesis.GIBBS["theta"]) == (
        mixture.ROUNDS, mixture.THETA_UPDATES,
    )  # fmt: skip


def test_reasons_fit_numbers_and_their_way():
    numbers = printed_keys()
    for entry in REASONS:
        assert ".calibration." in entry["numbers"] or any(
            fnmatchcase(key, entry["numbers"]) for key in numbers
        )
    key = "mixture_simulation.calibration.10.corrected.3.cases"
    assert thesis.reason(key, "gibbs").startswith("sampler: ")
    assert thesis.reason(key, "approximate") == ""
    assert thesis.reason("hmm.orders", "").startswith("study: ")
    assert thesis.reason("hmm.helps.cauchy.better", "").startswith("arrows lost: ")


def test_exhibits_name_configs_and_parts_and_numbers():
    shown = exhibits()
    assert len({one.name for one in shown}) == len(shown) == 39
    known = printed_keys() + [
        f"{of}.calibration.10.corrected.3.cases"
        for of in ("naive_simulation", "mixture_simulation")
    ]
    for one in shown:
        assert bool(one.part) != bool(one.why), one.name
        if one.experiment:
            config = load_config(CONFIGS[one.experiment])
            assert config.experiment == one.experiment
            assert not one.part or one.part in config.report.parts, one.name
        for pattern in one.numbers:
            hit = [
                key for key in known
                if fnmatchcase(key, pattern) or pattern.startswith(f"{key}.")
                or key.startswith(f"{pattern}.")
            ]  # fmt: skip
            assert hit, pattern


def test_exhibits_are_numbered_and_the_page_of_the_thesis_says_which_config_remakes_which():
    counts, named = defaultdict(list), defaultdict(list)
    for one in exhibits():
        chapter, place = one.name.split(".")
        counts[chapter].append(int(place))
        if one.part:
            named[one.experiment].append(one.name.split()[1])
        for path in re.findall(r"thesiskit/\S+", one.why):
            assert (ROOT / path).is_file(), path
    lengths = {"Figure 2": 14, "Table 2": 4, "Figure 3": 21}
    assert counts == {name: list(range(1, n + 1)) for name, n in lengths.items()}
    told = {}
    for line in (ROOT / "docs/thesis.md").read_text().splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 4 and "." in cells[1]:
            numbers = re.sub(
                r"(\d)\.(\d+) to \d\.(\d+)",
                lambda m: ", ".join(f"{m[1]}.{i}" for i in range(int(m[2]), int(m[3]) + 1)),
                cells[1],
            )
            told[cells[2].strip("`")] = sorted(re.findall(r"[\d.]+", numbers))
    assert told == {name: sorted(numbers) for name, numbers in named.items()}


# ---- from command to page ----


QUICK = {
    "text": ("model.orders=[5, 10]", "model.compress=[true]", "model.chains=2", "model.peers=[]"),
    "hmm-replicates": ("replicates=2",),
    "cauchy-replicates": ("replicates=2", "model.orders=[4, 7]"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """What is written of small forms of all experiments that the thesis prints numbers of."""
    root = tmp_path_factory.mktemp("results")
    records = []
    for name in (*STUDIES, *SINGLES, "colon"):
        config = load_config(CONFIGS[name], smoke=True, settings=QUICK.get(name, ()))
        experiment = Experiment(config, Results(root, config.experiment), CONFIGS[name].parent)
        for stage in experiment.stages:
            experiment.run(stage, watch=lambda items, *_: items)
        records.append(experiment.record())
    _, line = verify(records, root)
    write_index(root)
    return SimpleNamespace(root=root, line=line)


@pytest.fixture(scope="module")
def verified(finished):
    return pd.read_csv(finished.root / "verify-smoke" / "verify.csv", keep_default_na=False)


def test_no_number_is_forgotten(verified):
    keys = set(verified["key"])
    assert len(keys) == len(verified)
    keys |= {key for claim in claims() for key in claim.numbers}
    for leaf in printed_keys():
        covers = [
            key for key in keys
            if key == leaf or key.startswith(f"{leaf}.") or leaf.startswith(f"{key}.")
        ]  # fmt: skip
        assert covers, leaf
    for of in ("naive", "mixture"):
        table = pd.read_csv(THESIS / f"{of}-calibration.csv", dtype={"features_selected": str})
        for cell, name in ((cell, name) for cell in table.itertuples() for name in COLUMNS):
            place = (cell.features_selected, cell.method, str(cell.category), name)
            key = ".".join((f"{of}_simulation", "calibration", *place))
            assert (key in keys) == (not pd.isna(getattr(cell, name))), key


def test_every_claim_has_a_row_and_each_experiment_tests_some(finished):
    rows = pd.read_csv(finished.root / "verify-smoke/claims.csv", keep_default_na=False)
    assert rows["id"].tolist() == [claim.id for claim in claims()]
    tested = rows[rows["experiment"] != ""]
    assert set(tested["part"]) == {claim.of for claim in claims()} - {"introduction"}
    assert set(tested["experiment"]) == {
        f"{name}-smoke" for name in (*STUDIES, *SINGLES, "colon") if name != "correlation-lattice"
    }
    page = (finished.root / "verify-smoke" / "verify.html").read_text()
    assert "Claims of the thesis" in page
    assert rows["claim"][rows["id"] == "hmm-groups-stop"].item() in page
    assert "claims of the thesis: " in finished.line


def test_every_number_has_the_name_of_its_table_or_figure(verified):
    named = verified.set_index("key")["exhibit"]
    assert set(named[named.index.str.contains("naive_simulation.calibration")]) == {"Table 2.1"}
    assert set(named[named.index.str.contains("mixture_simulation.seconds")]) == {"Table 2.4"}
    assert named["naive_simulation.gamma.10"] == "Figure 2.4"
    assert named["hmm.compressed_over_original_at_order_20"] == "Figure 3.7"
    assert named["logistic_sampling.iterations"] == ""


def test_tests_of_tables_are_on_the_page_in_the_files_and_in_the_line(finished):
    folder = finished.root / "verify-smoke"
    _, *lines = finished.line.split("\n")
    assert [line.partition(":")[0] for line in lines][:2] == [
        "Table 2.1", "naive Bayes, all that varies",
    ]  # fmt: skip
    assert any(line.startswith("Table 2.3: ") for line in lines)
    assert all(line.endswith("(too few data sets)") for line in lines)
    text = (folder / "verify.html").read_text()
    assert "All numbers of a table together" in text
    for line in lines:
        assert line.partition(":")[0] in text


def test_every_row_has_a_verdict_and_the_line_counts_them(verified, finished):
    counts = verified["verdict"].value_counts()
    assert set(counts.index) <= {
        PRINTED, INSIDE, OUTSIDE, BEYOND, DIFFERS, NOT_COMPARABLE
    }  # fmt: skip
    line = finished.line
    said = {words: number for number, words in re.findall(r"(\d+) ([a-z]+(?: [a-z]+)?)", line)}
    assert int(said["numbers"]) == len(verified)
    assert int(said["as printed"]) == counts[PRINTED]
    assert int(said["inside"]) == counts[INSIDE]
    assert OUTSIDE not in counts.index  # four replicates cannot say so
    named = verified[verified["verdict"].isin([BEYOND, DIFFERS])]
    assert (named["reason"] != "").all()
    # few samples and iterations: told as different from the thesis's
    assert set(named["key"]) >= {"hmm.sequences.train", "mixture_simulation.iterations"}


def test_the_page_says_it_all(verified, finished):
    folder = finished.root / "verify-smoke"
    html = (folder / "verify.html").read_text()
    assert not re.search(r"""(src|href)=["']?https?://""", html)
    anchors = re.findall(r'href="#([^"]+)"', html)
    assert len(anchors) > 8
    for anchor in anchors:
        assert html.count(f'id="{anchor}"') == 1
    assert finished.line.partition("\n")[0] in html
    shown = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "nan" not in shown.lower().split()
    for key in verified["key"][verified["kind"] != "calibration"]:
        assert verified["number"][verified["key"] == key].item() in unescape(html)


def test_small_forms_are_not_the_thesis_s(finished):
    assert "verify.html" not in (finished.root / "index.html").read_text()
    assert (
        "Quick demonstration with reduced data"
        in (finished.root / "verify-smoke" / "verify.html").read_text()
    )


def test_links_lead_to_parts(tmp_path):
    few = ("data.features=50", "selection.features=[1, 10]")
    sets = [part for setting in few for part in ("--set", setting)]
    run = invoke("run", CONFIGS["naive-simulation"], "--results", tmp_path, *sets)
    assert run.exit_code == 0, run.output
    assert invoke("run", CONFIGS["correlation-lattice"], "--results", tmp_path).exit_code == 0
    found = [one for one in exhibits_found(tmp_path) if one.link]
    assert {one.experiment for one in found} == {"naive-simulation", "correlation-lattice"}
    index = (tmp_path / "index.html").read_text()
    for one in exhibits():
        assert one.name in index
    assert index.count(": not run") == sum(bool(one.part) for one in exhibits()) - len(found)
    for one in found:
        page, anchor = one.link.split("#")
        assert (tmp_path / page).read_text().count(f'id="{anchor}"') == 1
        assert f'href="{one.link}"' in index
        assert f'href="{one.copy}"' in index
    folder = tmp_path / "naive-simulation"
    html = (folder / "report.html").read_text()
    assert re.search(r"<p>Found: (yes|in part|no|not tested)\.</p>", html)
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", html)[0].startswith("Figure 2.5: ")
    assert "Table 2.1: Calibration" in html
    assert "tab-bnaive" not in html + index
    written = recorded(Results(tmp_path, "naive-simulation"))
    for name, part in {
        "figures/figure-2.7.pdf": "figures/log-alpha.pdf",
        "figures/figure-2.7.png": "figures/log-alpha.png",
        "tables/table-2.1.csv": "tables/calibration.csv",
        "tables/table-2.1.tex": "tables/calibration.tex",
    }.items():
        assert (folder / name).read_bytes() == (folder / part).read_bytes()
        assert written[name] == written[part]
    assert all(one.verdict in ("", "values not printed") for one in found)
    lattice = CONFIGS["correlation-lattice"]
    assert invoke("verify", lattice, "--results", tmp_path).exit_code == 0
    verdicts = {one.name: one.verdict for one in exhibits_found(tmp_path)}
    assert verdicts["Figure 2.3"] == "all as printed"
    assert verdicts["Table 2.1"] == "not compared"


def test_an_index_without_the_thesis_is_not_about_it(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    assert invoke("run", path, "--results", tmp_path / "r").exit_code == 0
    assert "exhibits" not in (tmp_path / "r" / "index.html").read_text()


# ---- refusals ----

OWN = """\
experiment: mine
title: Mine
about: Mine.
replicates: 3
data: {source: naive-bayes, features: 20, alpha: 5, train: [10, 10], test: [5, 5]}
selection: {features: [3]}
report: {parts: [methods]}
"""


def refused(result, *words):
    assert result.exit_code == 2, result.output
    (line,) = result.output.strip().splitlines()
    for word in words:
        assert word in line, line


def test_not_run(tmp_path):
    study = CONFIGS["naive-replicates"]
    refused(
        invoke("verify", study, "--results", tmp_path, "--set", "replicates=2"),
        "is missing",
        f"run `thesiskit run naive-replicates --set replicates=2 --results {tmp_path}`",
    )  # fmt: skip
    refused(invoke("verify", study, "--results", tmp_path, "--partial"), "is missing")
    assert not (tmp_path / "verify").exists()


def test_run_with_other_settings_or_in_part(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(OWN.replace("report: {", "report: {thesis: naive_simulation, "))
    where = ("--results", tmp_path / "r")
    assert invoke("run", path, *where).exit_code == 0
    refused(
        invoke("verify", path, *where, "--set", "data.alpha=6"),
        "other settings", f"run `thesiskit run {path} --set data.alpha=6 --results ",
    )  # fmt: skip
    more = (path, *where, "--set", "replicates=5")
    refused(invoke("verify", *more), "0003.npz is missing", "add --partial for the first 3")
    assert invoke("verify", *more, "--partial").exit_code == 0
    found = pd.read_csv(tmp_path / "r" / "verify" / "verify.csv")
    assert 'href="verify/verify.html"' in (tmp_path / "r" / "index.html").read_text()
    assert found.loc[found["kind"] == "replicated", "here"].str.contains("not among").all()
    text = (tmp_path / "r" / "verify" / "verify.html").read_text()
    assert "Not compared, because their configs were not named" in text
    (tmp_path / "copy.yaml").write_text(path.read_text())
    again = invoke("verify", path, tmp_path / "copy.yaml", *where)
    refused(again, "mine is given twice", "name it once")


def test_not_the_thesis_s(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(OWN)
    assert invoke("run", path, "--results", tmp_path / "r").exit_code == 0
    refused(
        invoke("verify", path, "--results", tmp_path / "r"),
        "mine is not compared with the thesis", "remove it",
    )  # fmt: skip
    assert not (tmp_path / "r" / "verify").exists()
