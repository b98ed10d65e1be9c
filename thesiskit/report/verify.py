"""Every number that the thesis prints, compared with replicates of its experiments.

A number from the one data set of the thesis is compared with R data sets of ours.  If it comes
from the same distribution, all R + 1 ranks are equally likely.  It is outside 99% if fewer than
k = floor((R + 1) / 200) of ours are at most as large, or at least as large.  With fewer than 199
replicates k is 0; then the row only says whether the number is beyond all replicates.

The files of report/thesis have the numbers (numbers.yaml and tables), where our configs have the
settings (settings.yaml), and why a number may differ (reasons.yaml).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit import defaults
from thesiskit.errors import UserError
from thesiskit.files import Results
from thesiskit.models.peers import Method
from thesiskit.report import claims, metrics
from thesiskit.report.divisions import division_numbers, divisions
from thesiskit.report.layout import (
    Outputs,
    PageTable,
    caption,
    csv_text,
    read_yaml,
    template,
)
from thesiskit.report.page import exhibits
from thesiskit.report.record import THESIS, Record, thesis_numbers
from thesiskit.report.reduction import sweeps
from thesiskit.report.scores import VARIANTS

TAIL = 200  # 1 / 0.005: half of what 99% leaves out
PRINTED, INSIDE, OUTSIDE = "as printed", "inside 99%", "outside 99%"
BEYOND, DIFFERS, NOT_COMPARABLE = "beyond all", "differs", "not comparable"
VERDICTS = (PRINTED, INSIDE, OUTSIDE, DIFFERS, BEYOND, NOT_COMPARABLE)
UNKNOWN = "no reason known"

LATTICE = "lattice"  # a display of the naive Bayes section, with a config of its own
BLANK = "blank"  # a cell of a table that the thesis leaves empty
LEVEL = 0.01  # of the test of all numbers of a table together
OWN_WAY = {"naive_simulation": "exact", "mixture_simulation": "approximate"}
ORDERS = ".orders"  # a setting that other numbers do not depend on
UNSELECTED = "not among the selections here"
COLUMNS = {"cases": 0, "mean_predicted": 3, "fraction_actual": 3}  # decimals printed
WORDS = {"cases": "cases", "mean_predicted": "mean prediction", "fraction_actual": "in class 1"}
# what configs leave to the models: a test holds these to what the models do
GIBBS = {"alpha": 1, "labels": 5, "theta": 20}


# What is known of a number: the columns of verify.csv.  thesis is as printed, here what is found
# where that is no distribution.  Of replicates, mean, sd, low and high are the mean, the standard
# deviation, and the 0.5 and 99.5% quantiles (the least and the most where there are fewer than
# 199); percentile is that of the printed number among them, in %, where equal ones count half.
# `by` is the rule or sampler of these; the other way is another one of the config.  HIDDEN are not
# in the file: chance, the most that a number of the same distribution is outside with, of, the part
# of numbers.yaml, and values (1 + R,), the thesis's and all of ours.
Row = dict[str, Any]
Tree = dict[str, Any]  # of a config, or of numbers.yaml
NOTHING: Row = {
    **dict.fromkeys(("key", "number", "exhibit", "section", "kind", "thesis", "here"), ""),
    **dict.fromkeys(("mean", "sd", "low", "high", "percentile"), np.nan),
    "replicates": 0,
    "by": "",
    "verdict": NOT_COMPARABLE,
    "reason": "",
    "other way": "",
    **dict.fromkeys(("other mean", "other percentile", "other verdict"), np.nan),
    "chance": np.nan,
    "of": "",
    "values": (),
}
HIDDEN = ["chance", "of", "values"]


# ---- one number ----


def row(key: str, number: str, kind: str, thesis: Any, result: Any = "", **columns: Any) -> Row:
    """Return a number of a kind, with what is found of it; without a verdict, it has none.

    key : of numbers.yaml, such as naive_simulation.gamma.10.
    """
    identity = {"key": key, "number": number, "kind": kind, "thesis": thesis, "here": result}
    section = key.partition(".")[0]
    return NOTHING | identity | {"of": section, "section": SECTIONS[section].title} | columns


def spread(printed: float, values: np.ndarray, decimals: int | None = None) -> Row:
    """Place a printed number among replicates (R,); return nothing where none of them has a number.

    decimals : as many as the thesis prints, to which ours are rounded, so that equal ones tie.
    """
    values = np.asarray(values, dtype=float)
    comparable = values if decimals is None else np.round(values, decimals)
    values, rounded = (np.sort(numbers[~np.isnan(numbers)]) for numbers in (values, comparable))
    if not len(values):
        return {}
    below, equal = int((rounded < printed).sum()), int((rounded == printed).sum())
    n = len(values)
    k = (n + 1) // TAIL
    low, high = rounded[max(k, 1) - 1], rounded[n - max(k, 1)]
    return {
        "mean": float(rounded.mean()),
        "sd": float(values.std(ddof=1)) if n > 1 else np.nan,
        "low": float(low),
        "high": float(high),
        "percentile": 100 * (below + equal / 2) / n,
        "replicates": n,
        "verdict": INSIDE if low <= printed <= high else OUTSIDE if k else BEYOND,
        "chance": 2 * k / (n + 1),
        "values": np.append(printed, comparable),
    }


def replicated(key: str, number: str, printed: float, values: np.ndarray, decimals: int) -> Row:
    """Return a number that differs from data set to data set."""
    place = spread(printed, values, decimals)
    return row(key, number, "replicated", printed, "" if place else "in no replicate", **place)


def exact(key: str, number: str, printed: float, result: float, decimals: int) -> Row:
    """Return a number that can be computed, compared to the digits printed."""
    coarse = int(Decimal(repr(printed)).normalize().as_tuple().exponent)
    unit = 10.0 ** (coarse if coarse > 1 else -decimals)
    right = abs(result - printed) <= unit / 2 * (1 + 1e-9)
    return row(key, number, "exact", printed, float(result), verdict=PRINTED if right else DIFFERS)


def equal_settings(printed: Any, result: Any) -> bool:
    """Whether two settings are equal; numbers to eight digits."""
    if printed == result:
        return True
    try:
        return np.shape(printed) == np.shape(result) and np.allclose(printed, result, 1e-8, 0)
    except (TypeError, ValueError):  # they are not numbers
        return False


# ---- settings, and what follows from them ----


def find(tree: Any, path: str) -> Any:
    """Return what is at a dotted path, such as data.train.0; None where there is nothing."""
    for part in path.split("."):
        if tree is None:
            return None
        key = int(part) if part.isdigit() else part
        tree = tree.get(key) if hasattr(tree, "get") else tree[key]
    return tree


def setting_rows(source: Record, of: str, numbers: Tree) -> list[Row]:
    """Return the rows of the settings of an experiment, and of numbers that follow from them.

    numbers : those of the thesis.
    """
    prefix, rows = "naive_simulation" if of == LATTICE else of, []
    tree = source.config | {"found": _derived(source, of, numbers)}
    for name, (path, title, *decimals) in read_yaml(THESIS / "settings.yaml")[of].items():
        key, printed, value = f"{prefix}.{name}", find(numbers, name), find(tree, path)
        has_list = decimals and isinstance(printed, list)
        if has_list and len(printed) == len(value):
            printed = [last[-1] if isinstance(last, list) else last for last in printed]
            rows += [
                exact(f"{key}.{i}", f"{title}, {i + 1}", *pair, *decimals)
                for i, pair in enumerate(zip(printed, value, strict=True))
            ]
        elif decimals and not has_list:
            rows.append(exact(key, title, printed, value, *decimals))
        else:
            value = [round(float(x), *decimals) for x in value] if has_list else value
            verdict = PRINTED if equal_settings(printed, value) else DIFFERS
            rows.append(row(key, title, "setting", printed, value, verdict=verdict))
    return rows


def sampling_rows(sources: list[Record]) -> Iterator[Row]:
    """Yield the settings of the samplers of chapter 3; as printed where all sources have them."""
    of, numbers = "logistic_sampling", thesis_numbers()
    by_source = [setting_rows(source, of, numbers[of]) for source in sources]
    names = [source.config["experiment"] for source in sources]
    for rows in zip(*by_source, strict=True):
        values = "; ".join(f"{row['here']} ({name})" for row, name in zip(rows, names, strict=True))
        verdicts = {row["verdict"] for row in rows}
        yield rows[0] | ({"here": values, "verdict": DIFFERS} if len(verdicts) > 1 else {})


def _derived(source: Record, of: str, numbers: Tree) -> Tree:
    """Return settings that a config says in another way, or that only its results say."""
    model, data = source.config["model"], source.config["data"]
    if of in OWN_WAY:
        alpha = model["alpha_prior"]
        alpha_0 = model.get("response_alpha_prior") or alpha  # of mixtures
        rules = model["quadrature"] if of == "naive_simulation" else [model["thesis"]["quadrature"]]
        simpson = [rule.split("-")[1] for rule in rules if rule.startswith("simpson-")]
        (shape, rate), n = alpha, model.get("alpha_points", defaults.THESIS_GRID_POINTS)
        return {
            "log_alpha": np.log(float(data["alpha"])),
            "alpha_grid": scipy.stats.invgamma.ppf((np.arange(n) + 0.5) / n, shape, scale=rate),
            "alpha_prior": [x if x == y else [x, y] for x, y in zip(alpha, alpha_0, strict=True)],
            "simpson": int(simpson[0]) if simpson else "another rule",
            "updates": GIBBS,
        }
    if of == LATTICE:
        return {"cases": sum(source.config["lattice"]["class_counts"])}
    if of == "colon":
        samples = source.predictions.drop_duplicates("sample")
        groups = source.config["evaluation"]["groups"]
        return {
            "cases": np.bincount(samples["response"], minlength=2).tolist(),
            "genes": int(source.selections["n_features"][:groups].sum()),
        }
    if of == "logistic_sampling":
        return _of_samplers(model, [p for p, _ in numbers["sigma1_quantiles"]])
    if of == "parameter_reduction":
        varied = [sweep.varied for sweep in sweeps(source)]
        return {"varied": varied, "highest_order": int(sweeps(source)[-1].x[-1])}
    if of == "cauchy_classification":
        _, *sigma = data["sigma"]
        return {"order": len(sigma), "sigma": sigma}
    length = data["history"] + 1
    if of == "text":
        return {
            "length": length,
            "states": len(source.classes),
            "windows": None if data["limit"] is None else data["limit"] - data["history"],
            "tests": len(source.response),
        }
    # the largest entry of every row, one number where they agree
    largest = [sorted(set(map(max, data[name]))) for name in ("transition", "emission")]
    likely = [values[0] if len(values) == 1 else values for values in largest]
    arrows = [[i + 1, int(np.argmax(row)) + 1] for i, row in enumerate(data["transition"])]
    return {
        "length": length,
        "hidden_states": len(arrows),
        "arrow": likely[0],
        "emission": likely[1],
        "known_arrows": [arrow for arrow in source.thesis["known_arrows"] if arrow in arrows],
    }


def _of_samplers(model: Tree, p: list[float]) -> Tree:
    """Return settings of the samplers of chapter 3; p are probabilities of quantiles of sigma_1."""
    shape, width, scales = model["sigma_shape"], defaults.SIGMA_STEP, model["sigma_scale"]
    quantiles = scipy.stats.invgamma.ppf(p, shape, scale=(shape + 1) * model["sigma_mode"])
    joint = model["joint_updates"]
    return {
        "sigma1_quantiles": quantiles,
        "sigma_0": {prior: defaults.SIGMA_0[prior] for prior in model["priors"]},
        "step": {prior: defaults.STEP[prior] for prior in model["priors"]},
        "sigma_step": f"{width} on another scale" if scales != ["natural"] else width,
        "most_steps": defaults.MOST_STEPS,
        "sigma_updates": defaults.SIGMA_UPDATES,
        "sigma_scale": ", ".join(scales),
        "joint_updates": joint[0] if len(joint) == 1 else joint,
        "updates": 1 + max(joint),  # the slice update, and each that moves all
    } | {name: model["until"] or model[name] for name in ("iterations", "burn_in", "thin")}


# ---- chapter 2: gammas, tables, t tests ----


def simulation_rows(record: Record, of: str, numbers: Tree) -> Iterator[Row]:
    """Yield the rows of gammas, of the calibration table, and of seconds."""
    gammas = record.by_size("gamma")
    for size, printed in numbers["gamma"].items():
        key = f"{of}.gamma.{size}"
        title = f"gamma, {size} feature{'s' if size > 1 else ''} selected"
        if str(size) in gammas:
            yield replicated(key, title, printed, gammas[str(size)].to_numpy(), 2)
        else:
            yield row(key, title, "replicated", printed, UNSELECTED)
    yield from calibration_rows(record, of)
    n = int(record.predictions["replicate"].max()) + 1
    stage, title = "fit and predict", "seconds to fit and predict"
    if of == "mixture_simulation":
        stage, title = "fit", "seconds to train"
    seconds = record.timings.drop_duplicates(["features", "method"])  # the first variant counts
    seconds = seconds.set_index(["features", "method"])[stage]
    for estimator, column in numbers["seconds"].items():
        for size, printed in column.items():
            value = seconds.get((str(size), estimator if size != "all" else "complete"), np.nan) / n
            value = "" if np.isnan(value) else value
            key, row_title = f"{of}.seconds.{estimator}.{size}", f"{title}, {size}, {estimator}"
            yield row(key, row_title, "seconds", printed, value)


def calibration_rows(record: Record, of: str) -> Iterator[Row]:
    """Yield a row for each cell of the thesis's table, by its own rule or sampler and another."""
    table = record.thesis_calibration
    assert table is not None
    first = OWN_WAY[of] if OWN_WAY[of] in record.variants else record.variants[0]
    second = next((variant for variant in record.variants if variant != first), "")
    for (label, estimator), cells in table.groupby(["features_selected", "method"], sort=False):
        # complete data need no correction
        fitted = "corrected" if estimator == "complete" else estimator
        methods = [record.find(label, fitted, variant) for variant in (first, second) if variant]
        calibrations = [calibration(record, method) for method in methods if method]
        for cell, name in product(cells.itertuples(), COLUMNS):
            printed = getattr(cell, name)
            key = f"{of}.calibration.{label}.{estimator}.{cell.category}.{name}"
            title = f"{label}, {estimator}, C = {cell.category}: {WORDS[name]}"
            numbers = [by_category[name][:, cell.category] for by_category in calibrations]
            places = [spread(printed, values, COLUMNS[name]) for values in numbers]
            if pd.isna(printed):
                if places and places[0]:
                    yield row(key, title, BLANK, "", values=places[0]["values"])
                continue
            if not places:
                yield row(key, title, "calibration", printed, UNSELECTED)
                continue
            note = "" if places[0] else "in no replicate"
            columns = {f"other {k}": v for k, v in places[-1].items() if f"other {k}" in NOTHING}
            ways = {"by": first} | ({"other way": second} | columns if second else {})
            yield row(key, title, "calibration", printed, note, **places[0], **ways)


def calibration(record: Record, method: Method) -> dict[str, np.ndarray]:
    """Calibration by first decimal in every replicate, (R, 10); NaN where there is no sample."""
    p, replicate = record.probability(method), record.predictions["replicate"].to_numpy()
    n = int(replicate.max()) + 1
    cell = 10 * replicate + metrics.categories(p)
    samples = np.bincount(cell, minlength=10 * n).reshape(n, 10)
    sums = {"mean_predicted": p, "fraction_actual": record.response}
    with np.errstate(invalid="ignore"):
        return {"cases": samples} | {
            name: np.bincount(cell, weights, 10 * n).reshape(n, 10) / samples
            for name, weights in sums.items()
        }


def colon_rows(record: Record, of: str, numbers: Tree) -> Iterator[Row]:
    """Yield the rows of counts and t tests over groups of genes, in every division."""
    frame = divisions(record)
    for key, (column, decimals, words) in division_numbers().items():
        values = frame[column].to_numpy()
        yield replicated(f"{of}.{key}", words, numbers[key], values, decimals)


# ---- chapter 3 ----


def logistic_rows(record: Record, of: str, numbers: Tree) -> Iterator[Row]:
    """Yield the row of the ratio of groups to patterns, where the thesis prints it."""
    name = "compressed_over_original_at_order_20"
    key, title = f"{of}.{name}", "groups over patterns at order 20"
    if name in numbers and 20 in record.orders:
        place = list(record.compression["order"]).index(20)
        counts = [record.results.load("compress", i) for i in range(record.n_blocks)]
        ratios = [block["groups"][place] / block["patterns"][place] for block in counts]
        yield replicated(key, title, numbers[name], np.array(ratios), 3)
    elif name in numbers:
        yield row(key, title, "replicated", numbers[name], "needs order 20 in model.orders")


# ---- all numbers of experiments ----


class Section(NamedTuple):
    """A section of the thesis: its title, a short one, and what makes rows of replicates."""

    title: str
    short: str
    rows: Callable[[Record, str, Tree], Iterator[Row]] | None = None


SECTIONS = {
    "introduction": Section("Introduction (chapter 2)", "introduction"),
    "naive_simulation": Section(
        "A Simulation Experiment (naive Bayes)", "naive Bayes", simulation_rows
    ),
    "colon": Section("A Test Using Gene Expression Data", "gene expression", colon_rows),
    "mixture_simulation": Section(
        "A Simulation Experiment (mixture models)", "mixture", simulation_rows
    ),
    "logistic_sampling": Section(
        "Specifications of the Priors and Computation Methods", "chapter 3, sampling"
    ),
    "hmm": Section("Experiments with a Hidden Markov Model", "hidden Markov", logistic_rows),
    "text": Section("Experiments with English Text", "text", logistic_rows),
    "parameter_reduction": Section("Experiments Demonstrating Parameter Reduction", "reduction"),
    "cauchy_classification": Section(
        "Experiments with Data from Cauchy Models", "Cauchy data", logistic_rows
    ),
}


def compare(sources: list[Record]) -> pd.DataFrame:
    """Return every printed number of the experiments given, with what is found.

    Raises UserError for an experiment that is not the thesis's, or is given twice.
    """
    by_section, printed_in = _by_section(sources), exhibits()
    rows = list(sampling_rows([source for source in by_section.values() if source.logistic]))
    for of, source in by_section.items():
        printed = thesis_numbers()["naive_simulation" if of == LATTICE else of]
        rows += setting_rows(source, of, printed) if printed else []
        section = SECTIONS.get(of)
        if section and section.rows:
            rows += section.rows(source, of, printed)
    order = list(SECTIONS)
    rows.sort(key=lambda cells: order.index(cells["of"]))
    changed: dict[str, list[str]] = {}  # settings that are not the thesis's
    for cells in rows:
        key, kind = cells["key"], cells["kind"]
        names = [e.name for e in printed_in if any(fnmatchcase(key, n) for n in e.numbers)]
        cells["exhibit"] = ", ".join(names)
        if cells["verdict"] == DIFFERS and kind == "setting" and not key.endswith(ORDERS):
            changed.setdefault(cells["section"], []).append(cells["number"])
    notes = {section: ", ".join(settings) for section, settings in changed.items()}
    return pd.DataFrame([explain(cells, notes.get(cells["section"], "")) for cells in rows])


def _by_section(sources: list[Record]) -> dict[str, Record]:
    """Return, for each part of numbers.yaml, the source with the most data sets."""
    by_section: dict[str, Record] = {}
    for source in sources:
        of = LATTICE if source.config["lattice"] else source.config["report"].get("thesis")
        name = source.config["experiment"]
        if of in (None, "logistic_sampling"):
            raise UserError(
                f"{name} is not compared with the thesis (report.thesis). Fix: remove it"
            )
        previous = by_section.get(of, source)
        if previous is not source and previous.config["experiment"] == name:
            raise UserError(f"{name} is given twice. Fix: name it once")
        # numbers are compared with the most data sets; claims are tested on all experiments
        by_section[of] = max(previous, source, key=lambda record: record.config["replicates"])
    return by_section


def explain(row: Row, changed: str = "") -> Row:
    """Give a number its reason, where it is not found and a reason is known.

    changed : settings that are not the thesis's.
    """
    if row["verdict"] not in (OUTSIDE, BEYOND, DIFFERS):
        return row
    explanation = reason(row["key"], row["by"]) or UNKNOWN
    if row["kind"] == "setting" and not row["key"].endswith(ORDERS):
        explanation = "set by the config given"
    elif changed and row["kind"] != "setting":
        explanation = f"other settings: {changed}"
    return row | {"reason": explanation}


def reason(key: str, way: str) -> str:
    """Return why a number may not be found here, "" where nothing is known."""
    for entry in read_yaml(THESIS / "reasons.yaml"):
        if fnmatchcase(key, entry["numbers"]) and entry.get("way", way) == way:
            return f"{entry['name']}: {' '.join(entry['reason'].split())}"
    return ""


# ---- all numbers of a table together ----


def outside(cells: np.ndarray) -> np.ndarray:
    """Count the cells of each data set that are outside 99%, or beyond all, of the others, (D,).

    cells : (C, D), NaN where a data set has no number.
    """
    n = (~np.isnan(cells)).sum(axis=1, keepdims=True)
    k = np.maximum(n // TAIL, 1)
    at_most = scipy.stats.rankdata(cells, "max", axis=1, nan_policy="omit")
    at_least = n + 1 - scipy.stats.rankdata(cells, "min", axis=1, nan_policy="omit")
    return (((at_most <= k) | (at_least <= k)) & (n > 1)).sum(axis=0)


def omnibus(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return how many numbers of each table, and of each section, are outside, with a p-value.

    Each replicate in turn is compared with all others and the thesis, as the thesis is.  If the
    thesis's data set is exchangeable with ours, all ranks of its count are equally likely, however
    the numbers of a data set depend on each other.
    """
    rows = []
    for of, varying in numbers[numbers["values"].map(len) > 0].groupby("of", sort=False):
        of_table = varying["kind"].isin(["calibration", BLANK])
        parts = dict.fromkeys(varying["exhibit"][of_table][:1], varying[of_table])
        parts[f"{SECTIONS[of].short}, all that varies"] = varying
        for name, part in parts.items():
            counts = outside(np.stack(part["values"]))
            p = (counts >= counts[0]).mean()
            row = {
                "numbers of": name,
                "numbers": int((part["kind"] != BLANK).sum()),
                "data sets": len(counts) - 1,
                "outside": int(counts[0]),
                "by chance": counts[1:].mean(),
                "p": p,
                "verdict": "compatible" if p > LEVEL else "not compatible",
            }
            rows.append(row if len(counts) * LEVEL >= 1 else row | {"verdict": "too few data sets"})
    return pd.DataFrame(rows)


def omnibus_words(tests: pd.DataFrame) -> list[str]:
    """Return a line for each test."""
    return [
        f"{name}: {outside} of {numbers} outside, {chance:.1f} by chance, p = {p:.2g} ({verdict})"
        for name, numbers, _, outside, chance, p, verdict in tests.itertuples(index=False)
    ]


def summary(numbers: pd.DataFrame) -> str:
    """Return a line that says how many numbers have which verdict."""
    count = Counter(numbers["verdict"])
    n_explained = ((numbers["verdict"] == OUTSIDE) & (numbers["reason"] != UNKNOWN)).sum()
    notes = {OUTSIDE: f" ({n_explained} with a reason)", BEYOND: " replicates, too few for 99%"}
    parts = [f"{count[word]} {word}{notes.get(word, '')}" for word in VERDICTS if count[word]]
    return f"{len(numbers)} numbers: " + ", ".join(parts)


# ---- the page, and the same as CSV ----

MANY = 12  # rows of a table that need not be seen at once
NUMERIC = ("thesis", "here", "sd", "0.5%", "99.5%", "percentile", "replicates")


def verify(sources: list[Record], root: Path) -> tuple[Path, str]:
    """Compare every number of the thesis's experiments with these; return page and summary.

    The files are root/verify/verify.csv and .html; for small forms they are in root/verify-smoke.
    Raises UserError for an experiment that is not in the thesis, or is given twice.
    """
    numbers = compare(sources)
    tests = omnibus(numbers)
    numbers = numbers[numbers["kind"] != BLANK]
    small = any(source.config["experiment"].endswith("-smoke") for source in sources)
    results = Results(root, "verify-smoke" if small else "verify")
    results.prepare()
    outputs = Outputs(results, ["verify.csv", "verify.html", "claims.csv", "together.csv"])
    tested = claims.evaluate_all(sources)
    outputs.write("verify.csv", csv_text(numbers.drop(columns=HIDDEN)))
    outputs.write("claims.csv", csv_text(tested))
    outputs.write("together.csv", csv_text(tests))
    tested = tested[tested["part"].isin(_by_section(sources))]
    line = f"{summary(numbers)}; {claims.verdict_counts(tested['verdict'])}"
    claim_table = claims.claim_table(tested, "claims", "section", "experiment")
    tables = [_overview(numbers), claim_table, *_together(tests), *_differing(numbers)]
    tables += [*_trusted(numbers), *_by_section_tables(numbers), *_others(numbers)]
    tables.append(_compared(sources))
    items = [table.item() for table in tables]
    for item in items:  # columns of numbers and words align as numbers
        numeric = [name.rpartition(": ")[2] in NUMERIC for name in item["columns"]]
        item["words"] = [word and not n for word, n in zip(item["words"], numeric, strict=True)]
        item["rows"] = [[cell.replace(" %", "\u00a0%") for cell in row] for row in item["rows"]]
    page = template("verify.html.j2").render(
        summary=line, small=small, items=items, **_page_counts(numbers)
    )
    outputs.write("verify.html", page)
    outputs.finish("verify")
    return results.folder / "verify.html", "\n".join([line, *omnibus_words(tests)])


def _page_counts(numbers: pd.DataFrame) -> Row:
    """Return what the introduction of the page counts, and the sections that are not given."""
    placed = numbers[numbers["replicates"] > 0]
    enough, uncertain = placed[placed["chance"] > 0], placed[placed["chance"] == 0]
    given = {*numbers["of"], "introduction"}  # which prints no number of an experiment
    return {
        "n_placed": len(placed),
        "n_enough": len(enough),
        "n_outside": (enough["verdict"] == OUTSIDE).sum(),
        "by_chance": sum(enough["chance"]),
        "n_uncertain": len(uncertain),
        "most": uncertain["replicates"].max(),
        "missing": [section.short for of, section in SECTIONS.items() if of not in given],
    }


def _shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the page's tables."""
    placed = numbers["mean"].notna()
    words = numbers[["thesis", "here"]].map(
        lambda cell: ", ".join(map(str, cell)) if isinstance(cell, list) else cell
    )
    columns = {
        "section": [SECTIONS[of].short for of in numbers["of"]],
        "exhibit": numbers["exhibit"],
        "number": numbers["number"],
        "thesis": words["thesis"],
        "here": np.where(placed, numbers["mean"].astype(object), words["here"]),
        "sd": numbers["sd"],
        "0.5%": numbers["low"],
        "99.5%": numbers["high"],
        "percentile": numbers["percentile"].map("{:.1f}".format).replace("nan", ""),
        "replicates": numbers["replicates"].astype(object).replace(0, ""),
        "": numbers["verdict"],
        "reason": numbers["reason"],
    }
    return pd.DataFrame(columns, dtype=object)  # whole numbers stay whole


def _cells(numbers: pd.DataFrame, *without: str) -> pd.DataFrame:
    """Return the page's columns without some, and without those that are empty."""
    frame = _shown(numbers)
    filled = (frame.notna() & (frame != "")).any()
    return frame.loc[:, filled & ~frame.columns.isin(without)]


def _overview(numbers: pd.DataFrame) -> PageTable:
    count = pd.crosstab(numbers["section"], numbers["verdict"])
    count = count.reindex(index=numbers["section"].unique(), columns=VERDICTS, fill_value=0)
    count.insert(0, "numbers", count.sum(axis=1))
    frame = count.rename_axis("section").reset_index()
    return PageTable("overview", "Overview", frame, caption("overview"))


def _together(tests: pd.DataFrame) -> list[PageTable]:
    """Return the tests of all numbers of a table or section."""
    about = caption("together", level=LEVEL, sets=round(1 / LEVEL) - 1)
    title = "All numbers of a table together"
    return [PageTable("together", title, tests, about)] if len(tests) else []


def _differing(numbers: pd.DataFrame) -> Iterator[PageTable]:
    """Yield the tables of numbers that differ here; those without a known reason come first."""
    titles = {
        OUTSIDE: ("outside", "Outside 99%"),
        BEYOND: ("beyond", "Beyond all replicates, which are too few for 99%"),
        DIFFERS: ("differs", "Different here"),
    }
    for verdict, (name, title) in titles.items():
        rows = numbers[numbers["verdict"] == verdict]
        rows = rows.sort_values("reason", key=lambda reason: reason != UNKNOWN, kind="stable")
        if len(rows):
            yield PageTable(name, title, _cells(rows, ""), "", long=len(rows) > MANY)


def _trusted(numbers: pd.DataFrame) -> list[PageTable]:
    """Return what becomes of calibration by another rule or sampler."""
    cells = []
    both = numbers[numbers["other verdict"].notna()]
    for of, rows in both.groupby("of", sort=False):
        for way, verdict in (("by", "verdict"), ("other way", "other verdict")):
            variant, outside = rows[way].iloc[0], rows["key"][rows[verdict] == OUTSIDE]
            cells.append(
                {
                    "section": SECTIONS[of].short,
                    "by": VARIANTS.get(variant, variant),
                    "numbers": len(rows),
                }
                | {word: (rows[verdict] == word).sum() for word in (INSIDE, OUTSIDE, BEYOND)}
                | {"reason": "; ".join(dict.fromkeys(reason(key, variant) for key in outside))}
            )
    title, frame = "By another rule or sampler", pd.DataFrame(cells)
    return [PageTable("ways", title, frame, caption("ways"))] if cells else []


def _by_section_tables(numbers: pd.DataFrame) -> Iterator[PageTable]:
    """Yield the tables of every section: its numbers, and of a calibration table the cells."""
    for (of, title), rows in numbers.groupby(["of", "section"], sort=False):
        replicated = rows[rows["kind"] == "replicated"]
        if len(replicated):
            yield PageTable(of, title, _cells(replicated, "section", "reason"), "")
        cells = rows[rows["kind"] == "calibration"]
        if len(cells):
            yield _calibration_table(of, title, cells)


def _calibration_table(of: str, title: str, cells: pd.DataFrame) -> PageTable:
    """Return where the cells of a calibration table lie."""
    names = ["features", "method", "category", "column"]
    frame = cells["key"].str.rsplit(".", n=4, expand=True).iloc[:, 1:].set_axis(names, axis=1)
    marks = cells["verdict"].map({OUTSIDE: " ✗", BEYOND: " ✗?"}).fillna("")
    text = cells["percentile"].map("{:.0f}".format) + marks
    frame["place"] = text.where(cells["percentile"].notna(), "")
    frame["column"] = pd.Categorical(frame["column"].map(WORDS), [*WORDS.values()])
    rows = ["column", "features", "method"]
    frame = frame.pivot(index=rows, columns="category", values="place")
    frame = frame.reindex(columns=map(str, range(10))).fillna("")
    frame = frame.rename_axis(columns=None).reset_index()
    frame = frame.rename(columns={"column": "percentile of"})
    variant = cells["by"].iloc[0]
    about = caption("table-cells", by=variant and f", by {VARIANTS.get(variant, variant)}")
    title = f"{title}: calibration ({cells['exhibit'].iloc[0]})"
    return PageTable(f"{of}-calibration", title, frame, about)


def _others(numbers: pd.DataFrame) -> Iterator[PageTable]:
    """Yield settings and what follows from them, and seconds beside ours."""
    table, kind = _shown(numbers), numbers["kind"]
    names = ["section", "exhibit", "number", "thesis", "here"]
    settings = table.loc[kind.isin(["setting", "exact"]), [*names, ""]].infer_objects()
    yield PageTable("settings", "Settings", settings, caption("settings"), long=True)
    seconds = table.loc[kind == "seconds", names]
    if len(seconds):
        seconds["here"] = pd.to_numeric(seconds["here"])
        about = caption("verify-seconds")
        yield PageTable("seconds", "Seconds", seconds.infer_objects(), about, long=True)


def _compared(sources: list[Record]) -> PageTable:
    cells = []
    for source in sources:
        record = source.results.provenance()
        cells.append(
            {name: source.config[name] for name in ("experiment", "replicates", "seed")}
            | {"code": record.get("code", {}).get("digest", "")}
            | {"machine": " ".join(record.get("machine", {}).values())}
        )
    return PageTable("sources", "The results that were compared", pd.DataFrame(cells), "")
