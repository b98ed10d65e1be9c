"""The posterior of alpha, by selection."""

import numpy as np

from thesiskit.report.layout import (
    GREY,
    INK,
    Figure,
    canvas,
    hide_from,
    kept_words,
    save_space,
)
from thesiskit.report.record import Arm, Record


def log_alpha(record: Record) -> list[Figure]:
    """Posterior of log alpha, one panel per selection (fig-post-alpha)."""
    complete = [arm for arm in record.main_arms if arm.method == "complete"]
    partial = [label for label in record.labels if label not in {arm.label for arm in complete}]
    truth = record.config["data"].get("alpha")
    known = isinstance(truth, float | int) and np.isfinite(truth)
    wanted = [(label, manner) for label in partial for manner in record.plain_manners]
    columns = 2 if len(wanted) > 1 else 1
    rows = -(-len(wanted) // columns)
    figure, axes = canvas(rows, columns, height=2.4 * rows + 0.4, sharex=True)
    hide_from(axes, len(wanted))
    shown = [np.log(truth)] if known else []
    points = {}
    for (label, manner), axis in zip(wanted, axes.flat, strict=False):
        own = [record.find(label, method, manner=manner)
               for method in ("corrected", "uncorrected")]  # fmt: skip
        styles = {"complete": "-", "corrected": "--", "uncorrected": ":"}
        whole = [arm for arm in complete if arm.manner == manner]
        for arm in [*whole[:1], *filter(None, own)]:
            words = "all features" if arm.method == "complete" else arm.method
            x, density = _log_alpha_density(record, arm)
            axis.plot(x, density, styles[arm.method], color=INK, label=words)
            shown += list(x[density > 1e-3 * density.max()])
        points[axis] = x
        if known:
            axis.axvline(np.log(truth), color=GREY, linewidth=1.5, zorder=0)
        several = ", some relevant" if manner.relevant == "some" else ""
        axis.set_title(kept_words(label) + several, fontsize=10)
        axis.set_ylim(bottom=0)
    low, high = min(shown) - 1, max(shown) + 1
    axes[0, 0].set_xlim(low, high)
    for axis, x in points.items():
        x = x[(x > low) & (x < high)]
        axis.plot(x, np.zeros(len(x)), ".", color=INK, markersize=4, clip_on=False, zorder=3)
    figure.supxlabel("log alpha", fontsize=10)
    figure.supylabel("posterior density", fontsize=10)
    lines = {
        line.get_label(): line for axis in points for line in axis.get_legend_handles_labels()[0]
    }
    figure.legend(lines.values(), lines, loc="outside upper center", ncols=3, frameon=False)
    save_space(axes)
    return [
        Figure(
            "log-alpha",
            "Posterior of log alpha",
            figure,
            ("The grey line is the value with which the data were drawn. " if known else "")
            + "Dots mark the points at which the posterior is computed. A small alpha means that "
            "features predict well; without the correction for selection, alpha is estimated too "
            "small.",
        )
    ]


def _log_alpha_density(record: Record, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    fits = record.fits
    column = list(fits["arm"]).index(arm.row)
    alpha = fits["alpha"][0, column % fits["alpha"].shape[1]]
    return np.log(alpha), np.exp(fits["log_density"][column])
