"""The parts that a report can have: the name in a config, the function, and what it needs."""

import difflib
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pandas as pd

from thesiskit.defaults import LEAVE_OUT, RESIDUAL
from thesiskit.errors import ConfigError
from thesiskit.registry import Candidates, all_candidates, candidates_of
from thesiskit.report import (
    chains,
    claims,
    curves,
    divisions,
    orders,
    posteriors,
    reduction,
    scores,
    stages,
    summary,
    validation,
)
from thesiskit.report.record import EXACT, Record

MOST_ROWS = 100_000  # of the predictions that a stage writes, if those of a data set are fewer
Config = dict[str, Any]


def _sizes(config: Config) -> list[Any]:
    """Return the sizes or thresholds of the selection; empty if nothing is selected."""
    selection = config["selection"] or {}
    return selection.get("features") or selection.get("thresholds") or []


class Need(NamedTuple):
    """What a part needs, as messages name it, and whether a config has it."""

    words: str
    met: Callable[[Config], bool]


def _kind(*kinds: str) -> Need:
    """Return the need of a model of some kinds."""
    return Need(f"model.kind: {' or '.join(kinds)}", lambda c: c["model"]["kind"] in kinds)


def _in_model(words: str, key: str, *values: Any) -> Need:
    """Return the need of values in a list of the model block; without any, of two values there."""

    def met(config: Config) -> bool:
        there = config["model"].get(key, [])
        return all(value in there for value in values) if values else len(there) > 1

    return Need(words, met)


PRINTED = Need("report.thesis", lambda c: bool(c["report"].get("thesis")))
DATA = Need("data", lambda c: c["data"] is not None)
FILE = Need("data.path", lambda c: bool(c["data"] and c["data"].get("path")))
LATTICE = Need("a lattice", lambda c: c["lattice"] is not None)
REDUCTION = Need("a reduction", lambda c: c["reduction"] is not None)
HMM = Need("data.source: hidden-markov", lambda c: bool(c["data"] and "transition" in c["data"]))
TEST_SET = Need("a test set", lambda c: c["scheme"] == "test-set")
TESTS = Need("test samples", lambda c: c["scheme"] != "none")
SITES = Need("evaluation.leave_out", lambda c: c["scheme"] == LEAVE_OUT)
ARROWS = Need("data.arrows", lambda c: bool(c["data"] and c["data"].get("arrows")))
SELECTION = Need(
    "a selection of features, for another model than logistic",
    lambda c: c["selection"] is not None and c["model"]["kind"] != "logistic",
)
SOME = Need("a selection other than all", lambda c: _sizes(c) not in ([], ["all"]))
ONE = Need("one selection, other than all", lambda c: len(_sizes(c)) == 1 and SOME.met(c))
SIZES = Need("several selections", lambda c: len(_sizes(c)) > 1)  # a line has several points
SCREENED = Need("selection.screened", lambda c: bool(c["selection"] and c["selection"]["screened"]))
SEVERAL = Need(
    "several numbers in selection.screened.of",
    lambda c: SCREENED.met(c) and len(c["selection"]["screened"]["of"]) > 1,
)
KEPT = Need(
    "a selection other than all, or selection.screened", lambda c: SOME.met(c) or SCREENED.met(c)
)
KNOWN = Need(
    "corrected in model.methods, or all features",
    lambda c: (
        "corrected" in c["model"].get("methods", []) or ("all" in _sizes(c) and not SCREENED.met(c))
    ),
)
NAIVE, NORMAL, MIXTURE = _kind("naive-bayes"), _kind("normal"), _kind("mixture")
POOL = _kind("pool")
LOGISTIC = Need(
    "model.kind: logistic with chains",
    lambda c: c["model"]["kind"] == "logistic" and "chains" in c["model"].get("engine", ["chains"]),
)
INDEPENDENT = _kind("naive-bayes", "normal")
PRIORS = _in_model("both priors in model.priors", "priors")
METHODS = _in_model(
    "corrected and uncorrected in model.methods", "methods", "corrected", "uncorrected"
)
TEMPERED = _in_model("residual in model.temperature", "temperature", RESIDUAL)
RELEVANT = _in_model("some in model.relevant", "relevant", "some")
COMPRESSED = _in_model("true in model.compress", "compress", True)
ORDERS = Need("an order above 0 in model.orders", lambda c: c["model"].get("orders", []) != [0])
UNTIL = Need("model.until", lambda c: bool(c["model"].get("until")))
CLASSES = Need(
    "classes (model.response: classes)", lambda c: c["model"].get("response") != "gaussian"
)
ENUMERATION = Need(
    "enumeration and a sampler in model.samplers",
    lambda c: len(c["model"].get("samplers", [])) > 1 and EXACT in c["model"].get("samplers", []),
)


class Part(NamedTuple):
    """The function that makes a part, and what it needs."""

    make: Callable[[Any], list[Any]]  # takes the record of the finished experiment
    needs: tuple[Need, ...] = (DATA, SELECTION, CLASSES, TESTS)

    @property
    def about(self) -> str:
        """What it shows: the first line of its function's docstring."""
        return (self.make.__doc__ or "").strip().partition("\n")[0]


def _reliability(record: Record) -> list[Any]:
    """Calibration, ROC and net benefit of the recommended method; else diagrams of all methods."""
    closer = record.config["own"] or record.continuous
    return (curves.reliability if closer else scores.reliability_part)(record)


_GROUPS = (DATA, SELECTION, NAIVE, METHODS, ONE)
PARTS: dict[str, Part] = {
    "summary": Part(summary.summary, (DATA,)),
    "methods": Part(summary.methods, (DATA,)),
    "sites": Part(validation.sites, (DATA, SITES)),
    "checks": Part(summary.checks, (DATA, FILE)),
    "checklist": Part(summary.checklist, (DATA,)),
    "data-card": Part(stages.data_card, (DATA,)),
    "selected-features": Part(posteriors.selected_table, (DATA, SELECTION, KEPT)),
    "pool-features": Part(posteriors.pool_table, (DATA, SELECTION, POOL)),
    "screened-answers": Part(
        scores.screened_answers, (DATA, SELECTION, CLASSES, INDEPENDENT, SEVERAL, KNOWN)
    ),
    "predictions": Part(summary.predictions, (DATA, TESTS)),
    "selection-table": Part(scores.selection_table, (DATA, SELECTION)),
    "calibration-table": Part(scores.calibration_table),
    "timing-table": Part(scores.timing_table, (DATA, TESTS)),
    "diagnostics": Part(chains.diagnostics, (DATA, SELECTION, MIXTURE)),
    "exact-table": Part(chains.exact_table, (DATA, SELECTION, MIXTURE, ENUMERATION)),
    "reliability": Part(_reliability, (DATA, TESTS)),
    "correlation-scatter": Part(scores.correlation_scatter, (DATA, SELECTION, TEST_SET)),
    "performance": Part(scores.performance, (DATA, SELECTION, CLASSES, TESTS, SIZES)),
    "log-alpha": Part(posteriors.log_alpha, (DATA, SELECTION, NAIVE, SOME)),
    "temperature-table": Part(posteriors.temperature_table, (DATA, SELECTION, TEMPERED)),
    "null-figure": Part(scores.null_figure),
    "correlation-lattice": Part(scores.correlation_lattice, (LATTICE,)),
    "colon-summary": Part(divisions.colon_summary, _GROUPS),
    "group-table": Part(divisions.group_table, _GROUPS),
    "divisions": Part(divisions.divisions_part, _GROUPS),
    "group-scatters": Part(divisions.group_scatters, _GROUPS),
    "sequence-groups": Part(reduction.sequence_groups, (REDUCTION,)),
    "feature-groups": Part(reduction.feature_groups, (REDUCTION,)),
    "hidden-markov": Part(reduction.hidden_markov, (HMM,)),
    "reduction": Part(reduction.parameter_reduction, (REDUCTION,)),
    "parameters": Part(orders.parameters, (LOGISTIC,)),
    "statement-table": Part(claims.statement_table, (CLASSES, PRINTED)),
    "orders": Part(orders.performance, (LOGISTIC, CLASSES)),
    "reconstruction-table": Part(orders.reconstruction_table, (LOGISTIC, CLASSES, ARROWS)),
    "coefficients": Part(chains.coefficients, (LOGISTIC, COMPRESSED)),
    "chain-table": Part(chains.sampler_table, (LOGISTIC,)),
    "reached-table": Part(stages.reached_table, (DATA, UNTIL)),
    "autocorrelation-figure": Part(chains.autocorrelation_figure, (LOGISTIC, ORDERS)),
    "median-scatter": Part(chains.median_scatter, (LOGISTIC, COMPRESSED, PRIORS)),
}


def _of_candidates(kind: Candidates) -> dict[str, Part]:
    """Return the parts that show what the correction does to candidates that were selected."""

    def met(config: Config) -> bool:
        return candidates_of(config.get("candidates")) == kind

    needs = (DATA, SELECTION, Need(f"a selection of {kind.unit}s", met), RELEVANT, KNOWN)
    return {name: Part(resolve_name(place), needs) for name, place in kind.parts.items()}


for _candidates in all_candidates():
    PARTS |= _of_candidates(_candidates)
OWN = (  # what the page of a user's table begins with, in this order, and what it ends with
    "summary", "screened-answers", "checks", "methods", "sites", "reliability", "selected-features",
    "pool-features", *(name for kind in all_candidates() for name in kind.parts), "predictions",
)  # fmt: skip
LAST = ("data-card", "checklist")


def wanted_parts(config: Config) -> list[str]:
    """Return the parts of a report; that on the user's own data has those in OWN and LAST.

    So does that on a table of which no sample is tested, without parts that need test samples.
    """
    untested = parts_without_tests(config)
    named = [name for name in config["report"]["parts"] if name not in untested]
    if not (config.get("own") or config["scheme"] == "none"):
        return named
    first, last = ([name for name in names if not _lacking(name, config)] for names in (OWN, LAST))
    return [*first, *(name for name in named if name not in (*first, *last)), *last]


def parts_without_tests(config: Config) -> list[str]:
    """Return the parts that a config names, and that are left out because no sample is tested."""
    return [name for name in config["report"]["parts"] if TESTS in _lacking(name, config)]


def _lacking(name: str, config: Config) -> list[Need]:
    """Return what a part needs and the config does not have."""
    return [need for need in PARTS[name].needs if not need.met(config)]


def stage_rows(record: Record, stage: str) -> pd.DataFrame | None:
    """Return the rows of the CSV file of `select` or `predict`; None where there are none.

    Of data that are drawn the file has the features of the first data set.  Predictions are those
    of the first data sets, or divisions of a table, that have at most MOST_ROWS rows together; the
    header says which where these are not all.
    """
    if _lacking("selected-features" if stage == "select" else "predictions", record.config):
        return None
    config, folds, n_sets = record.config, record.folds, record.config["replicates"]
    first = Record(record.results, folds, config | {"replicates": 1})
    if stage == "select":
        used = first if config["drawn"] else record
        frame = posteriors.selected_table(used, fitted=False)[0].frame
        if config["drawn"] and n_sets > 1:
            frame.insert(0, f"data set, 1 of {n_sets:,}", 1)
        return frame
    blocks = -(-MOST_ROWS // (len(first.methods) * len(first.response)))
    several = Record(record.results, min(folds * blocks, record.n_blocks), config)
    frame = stages.prediction_table(several).frame
    sets = int(several.predictions["replicate"].max()) + 1
    kept = min(sets, max(1, MOST_ROWS * sets // len(frame)))
    if kept < n_sets:
        name = "data set" if config["drawn"] else "replicate"
        number = frame.pop(name) if name in frame else pd.Series(1, index=frame.index)
        frame.insert(1, f"{name}, 1 to {kept:,} of {n_sets:,}", number)
        frame = frame[number <= kept]
    return frame


def check_parts(config: Config) -> None:
    """Raise ConfigError for an unknown part, or for one that lacks what it needs."""
    for name in config["report"]["parts"]:
        if name not in PARTS:
            near = difflib.get_close_matches(name, PARTS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(PARTS)}"
            raise ConfigError(f"there is no part {name!r}; {hint}")
        lacking = _lacking(name, config)
        if lacking and TESTS not in lacking:  # else a note says that it is left out
            raise ConfigError(f"{name} needs {lacking[0].words}; add that, or remove it")
