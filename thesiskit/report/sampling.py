"""Whether chains agree, where they went, and how they compare with the exact posterior."""

from itertools import product

import numpy as np
import pandas as pd

from thesiskit.report.figures import GREY, INK, Figure, canvas, kept_words, save_space
from thesiskit.report.record import Arm, Record
from thesiskit.report.tables import Table

QUANTITIES = ("log alpha", "log posterior", "agreement", "prediction")
EXACT = "enumeration"
AT_END = 0.1  # of the draws: more of them say that the grid should be wider


def sampled_arms(record: Record) -> list[tuple[int, Arm]]:
    """The arms that have draws, with their columns in the arrays of the fit stage."""
    arms = {arm.row: arm for arm in record.arms}
    return [
        (j, arms[int(row)])
        for j, row in enumerate(record.fits["arm"])
        if arms[int(row)].variant != EXACT
    ]


def unreliable(record: Record) -> list[str]:
    """One sentence for each arm whose chains do not support its predictions."""
    if not record.mixture:
        return []
    sentences = []
    for j, arm in sampled_arms(record):
        bad = int((record.fits["reliable"][:, j] == 0).sum())
        of = len(record.fits["reliable"])
        if bad:
            worst = np.nanmax(record.fits["rhat"][:, j])
            least = np.nanmin(record.fits["ess"][:, j])
            where = f" in {bad:,} of {of:,} fits" if of > 1 else ""
            sentences.append(
                f"{arm.label} features, {arm.words}, {arm.variant} sampler: the chains do not "
                f"support the predictions{where} (R-hat up to {worst:.2f}, effective draws down "
                f"to {least:.0f})."
            )
        end = np.nanmax(record.fits["at_end"][:, j].mean(axis=0))
        if end > AT_END and record.config["model"][_block(arm)]["alpha_points"] > 20:
            sentences.append(
                f"{arm.label} features, {arm.words}, {arm.variant} sampler: alpha is at an end of "
                f"its grid in {end:.0%} of the draws; widen the grid with more alpha_points or "
                "another alpha_prior."
            )
    return sentences


def _block(arm: Arm) -> str:
    return "collapsed" if arm.variant == "collapsed" else "thesis"


def diagnostics_table(record: Record) -> list[Table]:
    """R-hat, effective draws, exchanges and table use of every sampled arm."""
    fits = record.fits
    rows = []
    for j, arm in sampled_arms(record):
        rhat, ess = fits["rhat"][:, j], fits["ess"][:, j]
        exchanged = fits["exchanged"][:, j]
        hits, misses = np.nansum(fits["table"][:, j], axis=0)
        low, high = fits["at_end"][:, j].mean(axis=0)
        rows.append(
            {"features": arm.label, "method": arm.words, "sampler": arm.variant}
            | {
                f"R-hat: {name}": np.quantile(rhat[:, q], 0.99) if len(rhat) > 1 else rhat[0, q]
                for q, name in enumerate(QUANTITIES)
            }
            | {
                f"effective draws: {name}": np.quantile(ess[:, q], 0.01)
                if len(ess) > 1
                else ess[0, q]
                for q, name in enumerate(QUANTITIES)
            }
            | {
                "exchanges": np.nan if np.isnan(exchanged).all() else np.nanmin(
                    np.nanmean(exchanged, axis=0)
                ),
                "alpha at grid's: low end": low,
                "alpha at grid's: high end": high,
                "factor table: found": hits,
                "factor table: computed": misses,
                "reliable": _share(fits["reliable"][:, j]),
            }
        )  # fmt: skip
    many = len(fits["reliable"]) > 1
    return [
        Table(
            "diagnostics",
            "Do the chains agree?",
            pd.DataFrame(rows),
            "R-hat compares the chains, which start from dispersed labels (one chain: its halves), "
            "on quantities that exchanging the components leaves alone: log alpha, the log "
            "posterior, the agreement of labels with responses, and a predictive probability. "
            "Effective draws are what the correlated draws are worth. Exchanges: the least "
            "fraction accepted between neighbouring powers of the likelihood. Reliable: R-hat at "
            "most 1.05 and 100 effective draws or more, of each. The factor table says how often "
            "an adjustment factor was found, and how often computed, for all alpha."
            + (" Of many fits, the 99th and 1st percentiles." if many else ""),
        )
    ]


def _share(reliable: np.ndarray) -> str:
    if len(reliable) == 1:
        return "yes" if reliable[0] else "NO"
    return f"{int(reliable.sum()):,} of {len(reliable):,}"


def trace_figure(record: Record) -> list[Figure]:
    """Agreement of labels with responses, and log alpha, along the chains of the first fit."""
    figures = []
    variants = [name for name in record.variants if name != EXACT]
    columns = {arm: j for j, arm in sampled_arms(record)}
    for variant in variants:
        methods = [
            method
            for method in ("corrected", "uncorrected", "complete")
            if any(arm.method == method and arm.variant == variant for arm in columns)
        ]
        panels = [
            arm
            for method, label in product(methods, record.labels)
            for arm in columns
            if (arm.method, arm.label, arm.variant) == (method, label, variant)
        ]
        across = min(4, len(panels))
        down = -(-len(panels) // across)
        cases = int(record.fits["traces"][..., 2].max(initial=0, where=_known(record)))
        figure, axes = canvas(2 * down, across, height=2.9 * down + 0.4, width=2.4 * across + 0.8)
        for place, arm in enumerate(panels):
            row, column = divmod(place, across)
            traces = record.fits["traces"][columns[arm]]
            for axis, q in ((axes[2 * row, column], 2), (axes[2 * row + 1, column], 0)):
                for c, chain in enumerate(traces[..., q]):
                    values = chain[np.isfinite(chain)]
                    axis.plot(values, color=INK if c == 0 else GREY, linewidth=0.7,
                              zorder=2 - 0.1 * c)  # fmt: skip
            axes[2 * row, column].set_title(f"{kept_words(arm.label)}, {arm.words}", fontsize=9)
            axes[2 * row, column].set_ylim(cases * 0.49, cases * 1.02)
            if column == 0:
                axes[2 * row, 0].set_ylabel("agreement", fontsize=9)
                axes[2 * row + 1, 0].set_ylabel("log alpha", fontsize=9)
        for place in range(len(panels), down * across):
            row, column = divmod(place, across)
            axes[2 * row, column].set_visible(False)
            axes[2 * row + 1, column].set_visible(False)
        save_space(axes)
        suffix = "" if variant == variants[0] else f"-{variant}"
        figures.append(
            Figure(
                f"traces{suffix}",
                f"Along the chains, {variant} sampler",
                figure,
                "Above, the agreement of labels with responses (the number of cases in the better "
                "matching of components and classes); below, log alpha; by iteration after "
                "burn-in, one line for each chain. Labels stuck at the responses show as a line "
                "at the top.",
            )
        )
    return figures


def _known(record: Record) -> np.ndarray:
    return np.isfinite(record.fits["traces"][..., 2])


def exact_table(record: Record) -> list[Table]:
    """Samplers against the exact posterior."""
    fits = record.fits
    rows = []
    exact = {
        arm.method: j
        for j, row in enumerate(fits["arm"])
        for arm in record.arms
        if arm.row == int(row) and arm.variant == EXACT
    }
    arms = {arm.row: arm for arm in record.arms}
    predicted = {arm.row: np.unique(record.probability(arm)) for arm in record.arms}
    for j, arm in sampled_arms(record):
        true = exact[arm.method]
        truth = arms[int(fits["arm"][true])]
        row = {"method": arm.words, "sampler": arm.variant}
        for q, name in enumerate(("mean log alpha", "mean agreement")):
            mean, error = fits["means"][0, j, q], fits["errors"][0, j, q]
            row |= {
                f"{name}: exact": fits["means"][0, true, q],
                f"{name}: sampled": mean,
                f"{name}: error in standard errors": (mean - fits["means"][0, true, q]) / error,
            }
        distance = np.abs(record.probability(arm) - record.probability(truth)).max()
        row |= {
            "P(class 1): exact": " and ".join(f"{p:.4f}" for p in predicted[truth.row]),
            "P(class 1): largest difference": distance,
        }
        rows.append(row)
    return [
        Table(
            "exact",
            "Samplers against the exact posterior",
            pd.DataFrame(rows),
            "With one feature, labels matter through four counts, and the posterior is a sum over "
            "them. Standard errors allow for correlated draws.",
        )
    ]
