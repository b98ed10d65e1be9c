"""Whether samplers of the mixture model agree, their traces, and the exact posterior."""

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, kept_words
from thesiskit.report.record import EXACT, Arm, Record
from thesiskit.report.stages import enough

QUANTITIES = ("log alpha", "log posterior", "agreement", "prediction")


def diagnostics_table(record: Record) -> list[Table]:
    """R-hat, effective draws, exchanges and table use of every sampled arm."""
    fits, rows = record.fits, []
    for j, arm in record.sampled:
        row: dict[str, Any] = {"features": arm.label, "method": arm.words, "sampler": arm.variant}
        for q, name in enumerate(QUANTITIES):
            row[f"R-hat: {name}"] = np.quantile(fits["rhat"][:, j, q], 0.99)
        for q, name in enumerate(QUANTITIES):
            row[f"effective draws: {name}"] = np.rint(np.quantile(fits["ess"][:, j, q], 0.01))
        exchanged = fits["exchanged"][:, j]
        none = np.isnan(exchanged).all()
        row["exchanges"] = np.nan if none else np.nanmin(np.nanmean(exchanged, axis=0))
        low, high = fits["at_end"][:, j].mean(axis=0)
        row |= {"alpha at grid's: low end": low, "alpha at grid's: high end": high}
        hits, misses = np.nansum(fits["table"][:, j], axis=0)
        row |= {"factor table: found": hits, "factor table: computed": misses}
        rows.append(row | {"reliable": enough(fits["reliable"][:, j])})
    caption = (
        "R-hat compares the chains, which start from dispersed labels, or the halves of a "
        "single chain. It is computed for quantities that do not change if the components are "
        "exchanged: log alpha, the log posterior, the agreement of labels with responses, and "
        "a predictive probability. Effective draws are the number of independent draws that "
        "the correlated draws are worth. Exchanges are the smallest fraction accepted between "
        "neighbouring powers of the likelihood. A fit is reliable if every quantity has an "
        "R-hat of at most 1.05 and at least 100 effective draws. The factor table counts how "
        "often an adjustment factor was found in the table, and how often it was computed. "
        "Fits share this table, so the counts depend on earlier fits in the same threads. A "
        "quantity that no chain ever changes counts as known."
    )
    if len(fits["reliable"]) > 1:
        caption += " With many fits, the 99th and 1st percentiles are shown."
    return [Table("diagnostics", "Do the chains agree?", pd.DataFrame(rows), caption)]


def trace_figure(record: Record) -> list[Figure]:
    """Agreement of labels with responses, and log alpha, along the chains of the first fit."""
    variants = [name for name in record.variants if name != EXACT]
    caption = (
        "The upper row is the agreement of labels with responses: the number of cases in the "
        "better matching of components with classes. The lower row is log alpha. There is one "
        "line for each chain, by iteration after burn-in. If the labels stay at the responses, "
        "the line stays at the top, which is the number of training cases."
    )
    return [
        Figure(
            "traces" if variant == variants[0] else f"traces-{variant}",
            f"Along the chains, {variant} sampler",
            _draw_traces(record, variant),
            caption,
        )
        for variant in variants
    ]


def _draw_traces(record: Record, variant: str):
    rows: list[list[Arm | None]] = []
    for method in dict.fromkeys(way.method for way in record.ways(("corrected", "uncorrected"))):
        shown = {arm for row in rows for arm in row}
        found = [record.find(label, method, variant) for label in record.labels]
        rows.append([None if arm in shown else arm for arm in found])
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    figure, axes = canvas(
        2 * len(rows), len(columns), height=2.9 * len(rows) + 0.4, width=2.2 * len(columns) + 1.2
    )
    cases = int(np.nanmax(record.fits["cases"][0]))
    for c, column in enumerate(columns):
        for r, arm in enumerate(column):
            pair = axes[2 * r : 2 * r + 2, c]
            if arm is None:
                for axis in pair:
                    axis.set_visible(False)
                continue
            traces = record.fits["traces"][record.own.index(arm)]
            for axis, q in zip(pair, (2, 0), strict=True):
                for chain, values in enumerate(traces[..., q]):
                    colour = INK if chain == 0 else GREY
                    known = values[np.isfinite(values)]
                    axis.plot(known, color=colour, linewidth=0.7, zorder=2 - 0.1 * chain)
            pair[0].set_title(f"{kept_words(arm.label)}, {arm.words}", fontsize=9)
            pair[0].set_ylim(cases * 0.49, cases * 1.02)
            pair[1].set_xlabel("iteration", fontsize=8)
            if c == 0:
                pair[0].set_ylabel("agreement", fontsize=9)
                pair[1].set_ylabel("log alpha", fontsize=9)
    return figure


def exact_table(record: Record) -> list[Table]:
    """Samplers against the exact posterior."""
    fits, predicted, rows = record.fits, record.predictions, []
    exact = {arm.method: j for j, arm in enumerate(record.own) if arm.variant == EXACT}
    first = np.all(
        [predicted[name] == predicted[name][0] for name in ("replicate", "group", "fold")], axis=0
    )
    for j, arm in record.sampled:
        true = exact[arm.method]
        row: dict[str, Any] = {"method": arm.words, "sampler": arm.variant}
        for q, name in enumerate(("mean log alpha", "mean agreement")):
            mean, error = fits["means"][0, j, q], fits["errors"][0, j, q]
            off = mean - fits["means"][0, true, q]
            row |= {
                f"{name}: exact": fits["means"][0, true, q],
                f"{name}: sampled": mean,
                f"{name}: error in standard errors": off / error
                if error > 1e-9 * abs(mean)
                else np.nan,
            }
        p, truth = (record.probability(one)[first] for one in (arm, record.own[true]))
        row["P(class 1): exact"] = " and ".join(f"{one:.4f}" for one in np.unique(truth))
        row["P(class 1): largest difference"] = np.abs(p - truth).max()
        rows.append(row)
    caption = (
        "With one feature, the posterior depends on the labels only through four counts, and "
        "is summed over these. The exact posterior has the grids of the collapsed sampler and "
        "exact quadrature; a sampler with other grids has another posterior. Standard errors "
        "allow for correlated draws. If there are several training sets, the first is shown."
    )
    return [Table("exact", "Samplers against the exact posterior", pd.DataFrame(rows), caption)]
