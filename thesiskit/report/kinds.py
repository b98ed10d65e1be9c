"""The kinds of experiments, as reports tell them apart by their config: records and summaries."""

from collections.abc import Callable
from typing import Any, NamedTuple

from thesiskit.report import reduction
from thesiskit.report.finished import Finished
from thesiskit.report.logistic import summary as logistic_summary
from thesiskit.report.logistic.record import LogisticRecord
from thesiskit.report.selection import summary as selection_summary
from thesiskit.report.selection.record import Record
from thesiskit.store.results import Results


class Kind(NamedTuple):
    """How the results of a kind of experiment are read, and what is said of a stage."""

    record: type[Finished]
    summary: Callable[[Any, str], str]


def kind(config: dict[str, Any]) -> Kind:
    """Return the kind of a config."""
    if config["reduction"] is not None:
        return Kind(reduction.ReductionRecord, reduction.summary)
    if config["data"] is None:
        return Kind(Finished, lambda record, stage: "the lattice of counts")  # noqa: ARG005
    if config["model"]["kind"] == "logistic":
        return Kind(LogisticRecord, logistic_summary.summary)
    return Kind(Record, selection_summary.summary)


def finished(results: Results, n_blocks: int, config: dict[str, Any]) -> Finished:
    """Return the results of an experiment, as its tables and figures read them."""
    return kind(config).record(results, n_blocks, config)


def summary(record: Finished, stage: str) -> str:
    """Say in a line what the files of a stage show."""
    return kind(record.config).summary(record, stage)
