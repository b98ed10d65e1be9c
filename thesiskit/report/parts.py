"""The parts that a report can have, by the name a config gives them, and what each needs."""

import difflib
from collections.abc import Callable
from typing import Any, NamedTuple

from thesiskit.errors import ConfigError
from thesiskit.report import divisions, figures, reliability, sampling, tables
from thesiskit.report.record import Record

BOTH = {"corrected", "uncorrected"}
DATA, LATTICE, TEST_SET = "data", "a lattice", "a test set"
RULES = "two rules in model.quadrature"
METHODS = "corrected and uncorrected in model.methods"
SOME = "a selection other than all"
ONE = "one selection, other than all"
DIVISIONS = "two divisions (replicates)"
NAIVE = "model.kind: naive-bayes"
MIXTURE = "model.kind: mixture"
ENUMERATION = "enumeration and a sampler in model.samplers"
GROUPS = "two groups (evaluation.groups)"
# what a part needs of a config, in words, and whether a config has it
NEEDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    DATA: lambda config: config["data"] is not None,
    LATTICE: lambda config: config["lattice"] is not None,
    TEST_SET: lambda config: config["scheme"] == "test-set",
    RULES: lambda config: len(config["model"]["quadrature"]) > 1,
    METHODS: lambda config: set(config["model"]["methods"]) >= BOTH,
    SOME: lambda config: config["selection"]["features"] != ["all"],
    ONE: lambda config: (
        len(config["selection"]["features"] or config["selection"]["thresholds"]) == 1
        and config["selection"]["features"] != ["all"]
    ),
    DIVISIONS: lambda config: config["replicates"] > 1,
    NAIVE: lambda config: config["model"]["kind"] == "naive-bayes",
    MIXTURE: lambda config: config["model"]["kind"] == "mixture",
    ENUMERATION: lambda config: (
        len(set(config["model"]["samplers"])) > 1 and "enumeration" in config["model"]["samplers"]
    ),
    GROUPS: lambda config: config["evaluation"]["groups"] > 1,
}


class Part(NamedTuple):
    """How a part is made, and what it needs."""

    make: Callable[[Record], list[Any]]
    needs: tuple[str, ...] = (DATA,)


_GROUPS = (DATA, NAIVE, METHODS, ONE)
PARTS: dict[str, Part] = {
    "selection-table": Part(tables.selection_table),
    "calibration-table": Part(tables.calibration_table),
    "score-table": Part(tables.score_table),
    "quadrature-table": Part(tables.quadrature_table, (DATA, NAIVE, RULES)),
    "timing-table": Part(tables.timing_table),
    "diagnostics-table": Part(sampling.diagnostics_table, (DATA, MIXTURE)),
    "exact-table": Part(sampling.exact_table, (DATA, MIXTURE, ENUMERATION)),
    "group-scores": Part(divisions.group_scores, (DATA, GROUPS)),
    "reliability-table": Part(reliability.reliability_table),
    "correlation-scatter": Part(figures.correlation_scatter, (DATA, TEST_SET)),
    "error-rates": Part(figures.error_rates, (DATA, METHODS)),
    "performance": Part(figures.performance),
    "log-alpha": Part(figures.log_alpha, (DATA, NAIVE, SOME)),
    "reliability-figure": Part(reliability.reliability_figure),
    "trace-figure": Part(sampling.trace_figure, (DATA, MIXTURE)),
    "null-figure": Part(figures.null_figure),
    "correlation-lattice": Part(figures.correlation_lattice, (LATTICE,)),
    "colon-summary": Part(divisions.colon_summary, _GROUPS),
    "group-table": Part(divisions.group_table, _GROUPS),
    "division-table": Part(divisions.division_table, _GROUPS),
    "probability-scatter": Part(divisions.probability_scatter, _GROUPS),
    "error-scatter": Part(divisions.error_scatter, _GROUPS),
    "performance-scatter": Part(divisions.performance_scatter, _GROUPS),
    "division-figure": Part(divisions.division_figure, (*_GROUPS, DIVISIONS)),
}


def check_parts(config: dict[str, Any]) -> None:
    """Raise ConfigError for a part that there is not, or that the config has nothing for."""
    for name in config["report"]["parts"]:
        if name not in PARTS:
            near = difflib.get_close_matches(name, PARTS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(PARTS)}"
            raise ConfigError(f"there is no part {name!r}; {hint}")
        for need in PARTS[name].needs:
            if not NEEDS[need](config):
                raise ConfigError(f"{name} needs {need}; add that, or leave it out")
