"""Parameters, times and predictions of experiments with logistic models."""

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, save_space
from thesiskit.report.record import Arm, Record
from thesiskit.report.stages import divided_words

SHOWN_ORDERS = (5, 10, 20)  # in the table of peers


def _style(arm: Arm) -> dict:
    """Return the style: circles if compressed, else crosses; dashes if Gaussian, else dots."""
    return {
        "color": GREY if arm.scale == "natural" else INK,
        "linestyle": "-" if arm.engine == "gp" else ":" if arm.prior == "cauchy" else "--",
        "marker": "s" if arm.engine == "gp" else "o" if arm.compress else "x",
        "markerfacecolor": "white",
        "markersize": 5,
    }


def parameter_table(record: Record) -> list[Table]:
    """Groups and patterns by order."""
    found = record.compression
    frame = pd.DataFrame(
        {
            "order": found["order"],
            "groups": found["groups"],
            "patterns": found["patterns"],
            "ratio": found["groups"] / found["patterns"],
            "distinct cases": found["rows"],
            "seconds to compress": found["seconds"],
        }
    )
    theirs = record.thesis.get("compressed_over_original_at_order_20")
    beside = ""
    if theirs is not None:
        frame["ratio, thesis"] = [theirs if order == 20 else np.nan for order in found["order"]]
        beside = " The thesis prints the ratio at order 20."
    return [
        Table(
            "parameters",
            "Parameters",
            frame,
            "Numbers of patterns that are present in some training case, and of groups of patterns "
            "that are present in the same training cases."
            + ("" if record.continuous else " Each class has a coefficient for each of them.")
            + _no_more(record)
            + beside,
        )
    ]


def _no_more(record: Record) -> str:
    """Say from which order on there are no new groups, where there is such an order."""
    stopped = int(record.compression["stopped"])
    return f" No groups are added beyond order {stopped}." if stopped < max(record.orders) else ""


def parameter_figure(record: Record) -> list[Figure]:
    """Parameters, their ratio, and times, by order (fig-hmm500-comp, fig-text-comp)."""
    figure, axes = canvas(2, 2, height=5.6)
    found = record.compression
    order = np.argsort(found["order"])
    x = found["order"][order]
    axes[0, 0].plot(x, found["patterns"][order], "-x", color=INK, label="original")
    axes[0, 0].plot(x, found["groups"][order], "-o", color=INK, mfc="white", label="compressed")
    axes[0, 0].set_ylabel("parameters" + ("" if record.continuous else " for each class"))
    axes[0, 0].legend(frameon=False)
    axes[0, 1].plot(x, (found["groups"] / found["patterns"])[order], "-o", color=INK, mfc="white")
    axes[0, 1].set_ylabel("compressed / original")
    axes[0, 1].set_ylim(0, 1.05)
    for words, arms in record.lines(record.own).items():
        for axis, stage in ((axes[1, 0], "train"), (axes[1, 1], "predict")):
            seconds = [record.seconds[stage][arm.row] for arm in arms]
            axis.plot([arm.order for arm in arms], seconds, label=words, **_style(arms[0]))
    axes[1, 0].set_ylabel("seconds to train")
    axes[1, 1].set_ylabel("seconds to predict")
    axes[1, 0].legend(frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.set_xlabel("order")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(bottom=0)
    save_space(axes)
    return [
        Figure(
            "parameters",
            "Parameters and times by order",
            figure,
            "Circles are compressed parameters and crosses original ones. Dotted lines are Cauchy "
            f"priors and dashed lines Gaussian ones.{_no_more(record)}",
        )
    ]


def performance_figure(record: Record) -> list[Figure]:
    """Error rate and AMLP by order (fig-hmm500-error, fig-text-error)."""
    priors = [p for p in ("cauchy", "gaussian") if any(arm.prior == p for arm in record.own)]
    figure, axes = canvas(len(priors), 2, height=2.9 * len(priors) + 0.2, sharey="col")
    for row, prior in enumerate(priors):
        arms = [arm for arm in record.own if arm.prior == prior]
        for words, line in record.lines(arms).items():
            orders = [arm.order for arm in line]
            style = _style(line[0]) | {"linestyle": "-", "label": words, "elinewidth": 0.5}
            wrong = np.array([record.error(arm) for arm in line])
            losses = np.array([record.losses(arm) for arm in line])
            root = np.sqrt(record.n_cases)
            axes[row, 0].errorbar(orders, wrong, np.sqrt(wrong * (1 - wrong)) / root, **style)
            axes[row, 1].errorbar(orders, losses.mean(axis=1), losses.std(axis=1) / root, **style)
        axes[row, 0].set_ylabel("error rate")
        axes[row, 1].set_ylabel("average minus log probability")
        axes[row, 1].legend(frameon=False, fontsize=8)
        for axis in axes[row]:
            axis.set_xlabel("order")
            axis.xaxis.get_major_locator().set_params(integer=True)
    save_space(axes)
    both = len({arm.compress for arm in record.own if arm.engine == "slice"}) > 1
    return [
        Figure(
            "performance",
            "Performance by order",
            figure,
            f"Means over {len(record.response):,} test cases, with bars of one standard error. "
            "Lower is better." + (" Compression does not change the model." if both else ""),
        )
    ]


def score_table(record: Record) -> list[Table]:
    """Error, AMLP and diagnostics of the chains, for each of our models."""
    fits = record.worst
    rows = []
    for j, arm in enumerate(record.own):
        losses = record.losses(arm)
        rows.append(
            {
                "order": arm.order,
                "model": arm.words,
                "parameters a class": record.parameters(arm) or np.nan,
                "error": record.error(arm),
                "AMLP": losses.mean(),
                "its standard error": record.standard_error(losses),
                "log likelihood: R-hat": fits["rhat"][j, 0],
                "log likelihood: effective draws": np.rint(fits["ess"][j, 0]),
                "seconds: train": record.seconds["train"][arm.row],
                "seconds: predict": record.seconds["predict"][arm.row],
            }
        )
    return [
        Table(
            "scores",
            "Performance",
            pd.DataFrame(rows),
            f"Means over {len(record.response):,} test cases. AMLP is the average minus log "
            "probability of the actual class. R-hat compares the chains, or the halves of a single "
            "chain.",
            long=len(rows) > 25,
        )
    ]


def peer_table(record: Record) -> list[Table]:
    """Our models beside other classifiers, at a few orders."""
    orders = [o for o in SHOWN_ORDERS if o in record.orders] or record.orders[-3:]
    arms = [arm for arm in record.arms if not arm.own or arm.compress or arm.engine == "gp"]
    rows = []
    for words, line in record.lines(arms).items():
        by_order = {arm.order: arm for arm in line}
        row: dict = {"model": words}
        for measure in ("AMLP", "error", "seconds"):
            for o in orders:
                arm = by_order.get(o)
                row[f"{measure}: {o}"] = np.nan if arm is None else _measure(record, arm, measure)
        rows.append(row)
    base = _base_rate(record)
    rows.append(
        {"model": "base rate"}
        | {f"AMLP: {o}": base[0] for o in orders}
        | {f"error: {o}": base[1] for o in orders}
        | {f"seconds: {o}": np.nan for o in orders}
    )
    frame = pd.DataFrame(rows).sort_values(f"AMLP: {orders[-1]}", ignore_index=True)
    return [
        Table(
            "peers",
            "Beside other models",
            frame,
            f"Means over the same {len(record.response):,} test cases, by order, which is the "
            "number of states that the model is given. Seconds are those to fit and to predict. "
            "Sorted by AMLP at the largest order.",
        )
    ]


def _measure(record: Record, arm: Arm, measure: str) -> float:
    if measure == "AMLP":
        return float(record.losses(arm).mean())
    if measure == "error":
        return record.error(arm)
    return record.total_seconds(arm)


def _base_rate(record: Record) -> tuple[float, float]:
    """AMLP and error of the frequencies of the classes among the training cases."""
    p = record.tested.base
    return metrics.class_amlp(p, record.response), metrics.class_error(p, record.response)


def model_table(record: Record) -> list[Table]:
    """Our models and other classifiers, sorted by AMLP."""
    rows, compress = [], max(record.config["model"]["compress"])
    for arm in record.arms:
        if not arm.own or arm.engine == "gp" or arm.compress == compress:
            losses = record.losses(arm)
            rows.append(
                {
                    "model": record.title(arm),
                    "AMLP": losses.mean(),
                    "its standard error": record.standard_error(losses),
                    "error": record.error(arm),
                    "seconds": record.total_seconds(arm),
                }
            )
    base = _base_rate(record)
    rows.append(
        {"model": "base rate", "AMLP": base[0], "its standard error": np.nan, "error": base[1],
         "seconds": np.nan}
    )  # fmt: skip
    return [
        Table(
            "models",
            "Beside other models",
            pd.DataFrame(rows).sort_values("AMLP", ignore_index=True),
            f"Means over {len(record.response):,} test cases{divided_words(record)}. "
            "AMLP is the average "
            "minus log probability of the actual class.",
        )
    ]
