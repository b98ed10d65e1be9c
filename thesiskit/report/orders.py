"""Logistic models by their orders: parameters and predictions."""

from itertools import pairwise, product

import numpy as np
import pandas as pd

from thesiskit.errors import pluralise
from thesiskit.models.peers import Method
from thesiskit.report import layout, metrics
from thesiskit.report.layout import Figure, PageTable
from thesiskit.report.record import PRIORS, Record, thesis_numbers


def _style(method: Method) -> dict:
    """Return the look of a line: by colour the prior, by marker whether it is compressed."""
    colour, dashes = (layout.ACCENT, "-") if method.prior == "cauchy" else (layout.INK, "--")
    marker = (layout.COMPRESSED if method.compress else layout.ORIGINAL)["marker"]
    return {"color": colour, "linestyle": dashes, "marker": marker}


# ---- parameters ----


def parameters(record: Record) -> list[Figure | PageTable]:
    """Groups and patterns by order, their ratio, and times (Figures 3.7 and 3.10)."""
    figures = [_parameter_figure(record)] if len(record.orders) > 1 else []
    return [*figures, _parameter_table(record)]


def _parameter_table(record: Record) -> PageTable:
    counts = record.compression
    columns = {name: counts[name] for name in ("order", "groups", "patterns")} | {
        "ratio": counts["groups"] / counts["patterns"],
        "distinct samples": counts["rows"],
        "seconds to compress": counts["seconds"],
    }
    printed = record.comparable.get("compressed_over_original_at_order_20")
    if printed is not None:
        columns["ratio, thesis"] = np.where(counts["order"] == 20, printed, np.nan)
    about = layout.caption("parameters", record=record)
    return PageTable("parameters", "Parameters", pd.DataFrame(columns), about)


def _parameter_figure(record: Record) -> Figure:
    figure, axes = layout.canvas(2, 2, height=5.6)
    order = np.argsort(record.compression["order"])
    names = ("order", "groups", "patterns")
    x, groups, patterns = (record.compression[name][order] for name in names)
    axes[0, 0].plot(x, patterns, label="original", **layout.ORIGINAL)
    axes[0, 0].plot(x, groups, label="compressed", **layout.COMPRESSED)
    axes[0, 0].set_ylabel("parameters" + ("" if record.continuous else " for each class"))
    axes[0, 1].plot(x, groups / patterns, **layout.COMPRESSED)
    axes[0, 1].set(ylabel="compressed / original", ylim=(0, 1.05))
    for words, methods in record.lines(record.own).items():
        orders = [method.order for method in methods]
        for axis, stage in ((axes[1, 0], "train"), (axes[1, 1], "predict")):
            seconds = [record.timings[stage][method.row] for method in methods]
            axis.plot(orders, seconds, label=words, **_style(methods[0]))
    axes[1, 0].set_ylabel("processor seconds to train")
    axes[1, 1].set_ylabel("processor seconds to predict")
    layout.legend(figure, axes[0, 0], axes[1, 0])
    for axis in axes.flat:
        axis.set_xlabel("order")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(bottom=0)
    caption = layout.caption("parameter-figure", record=record)
    return Figure("parameters", "Parameters and times by order", figure, caption)


# ---- predictions of classes ----


def performance(record: Record) -> list[Figure | PageTable]:
    """Error, log loss and R-hat of our models by order (Figures 3.9 and 3.12)."""
    figures = [_performance_figure(record)] if len(record.orders) > 1 else []
    return [*figures, _score_table(record)]


def _performance_figure(record: Record) -> Figure:
    priors = _priors(record)
    figure, axes = layout.canvas(len(priors), 2, height=2.9 * len(priors) + 0.2, sharey="col")
    for row, prior in zip(axes, priors, strict=True):
        methods = [method for method in record.own if method.prior == prior]
        for (words, line), dashes in zip(
            record.lines(methods).items(), layout.DASHES, strict=False
        ):
            orders = [method.order for method in line]
            name = words.removeprefix(f"{prior.capitalize()}, ")
            style = _style(line[0]) | {"label": name, "linestyle": dashes, "elinewidth": 0.5}
            wrong = np.array(
                [metrics.error_rate(record.probability(method), record.response) for method in line]
            )
            losses = np.array([record.losses(method) for method in line])
            root = np.sqrt(record.n_samples)
            row[0].errorbar(orders, wrong, np.sqrt(wrong * (1 - wrong)) / root, **style)
            row[1].errorbar(orders, losses.mean(axis=1), losses.std(axis=1) / root, **style)
        row[0].set_ylabel("error rate")
        row[1].set_ylabel("log loss")
        for axis in row:
            axis.set(xlabel="order", title=f"{prior.capitalize()} priors")
            axis.xaxis.get_major_locator().set_params(integer=True)
    layout.name_series(figure, *axes[:, 1])
    samples = f"{len(record.response):,} test samples"
    caption = f"Means over {samples}, with bars of one standard error; lower is better."
    return Figure("performance", "Performance by order", figure, caption)


def _score_table(record: Record) -> PageTable:
    rows = []
    for j, method in enumerate(record.own):
        losses, seconds = record.losses(method), record.timings.loc[method.row]
        rows.append(
            {
                "order": method.order,
                "model": method.words,
                "parameters a class": record.parameters(method) or np.nan,
                "error": metrics.error_rate(record.probability(method), record.response),
                "log loss": losses.mean(),
                "its standard error": metrics.standard_error(losses, record.n_samples),
                "log likelihood: R-hat": record.worst["rhat"][j, 0],
                "log likelihood: effective draws": np.rint(record.worst["ess"][j, 0]),
                **{f"seconds: {stage}": seconds[stage] for stage in ("train", "predict")},
            }
        )
    about = layout.caption("order-scores", record=record)
    return PageTable("scores", "Performance", pd.DataFrame(rows), about, long=len(rows) > 25)


def reconstruction_table(record: Record) -> list[PageTable]:
    """Results of each hidden Markov model, and their range over all models (sec-sim-blsm)."""
    models, orders = record.config["data"]["arrows"], record.orders
    counts = [record.results.load("compress", block) for block in range(record.n_blocks)]
    place = list(counts[0]["order"]).index(orders[-1])
    ratio = f"groups / patterns, order {orders[-1]}"
    results = {ratio: np.array([b["groups"][place] / b["patterns"][place] for b in counts])}
    scores = {
        "error rate": lambda method: (
            1.0 * (record.probability(method).argmax(1) != record.response)
        ),
        "log loss": record.losses,
    }
    differences: dict[str, np.ndarray] = {}
    for prior, (words, score) in product(_priors(record), scores.items()):
        name = f"{prior.capitalize()}, {words}, order"
        values = {order: score(record.of_order(order, prior)) for order in orders}
        results |= {f"{name} {order}": values[order] for order in orders}
        differences |= {f"{name} {b} - {a}": values[b] - values[a] for a, b in pairwise(orders)}
    rows = []
    for name, losses in (results | differences).items():
        by_model = losses.reshape(len(models), -1)
        mean = by_model.mean(axis=1)
        rows.append({"result": name, "mean": mean.mean(), "least": mean.min(), "most": mean.max()})
        if name in differences:  # the test samples of a model are independent
            twice = 2 * by_model.std(axis=1, ddof=1) / np.sqrt(by_model.shape[1])
            rows[-1] |= {"models: < 0": (mean < -twice).sum(), "> 0": (mean > twice).sum()}
        elif name == ratio and orders[-1] == 20:
            rows[-1]["thesis"] = thesis_numbers()["hmm"]["compressed_over_original_at_order_20"]
    sets = pluralise(record.n_blocks // len(models), "data set")
    about = layout.caption("reconstructions", n_models=len(models), sets=sets)
    means = {name: v.reshape(len(models), -1).mean(axis=1) for name, v in results.items()}
    arrows = {"arrows from 1, 2, ...": [" ".join(map(str, states)) for states in models]}
    title, frame = "Each hidden Markov model", pd.DataFrame(arrows | means)
    return [
        PageTable("reconstructions", "All hidden Markov models", pd.DataFrame(rows), about),
        PageTable("models", title, frame, layout.caption("each-reconstruction"), long=True),
    ]


def _priors(record: Record) -> list[str]:
    return [prior for prior in PRIORS if any(method.prior == prior for method in record.own)]
