"""Logistic models by their orders: parameters and predictions."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.errors import pluralise
from thesiskit.models.peers import Method
from thesiskit.report import metrics
from thesiskit.report.layout import GREY, INK, Figure, PageTable, canvas
from thesiskit.report.record import PRIORS, Record, thesis_numbers
from thesiskit.report.stages import divided_words

MOST_SHOWN = 300  # cases in a panel


def _style(arm: Method) -> dict:
    """Return the style: circles if compressed, else crosses; dashes if Gaussian, else dots."""
    return {
        "color": GREY if arm.sampler and arm.scale == "natural" else INK,
        "linestyle": ":" if arm.prior == "cauchy" else "--",
        "marker": "o" if arm.compress else "x",
        "markerfacecolor": "white",
        "markersize": 5,
    }


# ---- parameters ----


def parameters(record: Record) -> list[Figure | PageTable]:
    """Groups and patterns by order, their ratio, and times (fig-hmm500-comp, fig-text-comp)."""
    figures = [_parameter_figure(record)] if len(record.orders) > 1 else []
    return [*figures, _parameter_table(record)]


def _parameter_table(record: Record) -> PageTable:
    counts = record.compression
    columns = {
        "order": counts["order"],
        "groups": counts["groups"],
        "patterns": counts["patterns"],
        "ratio": counts["groups"] / counts["patterns"],
        "distinct cases": counts["rows"],
        "seconds to compress": counts["seconds"],
    }
    theirs = record.thesis.get("compressed_over_original_at_order_20")
    comparison = ""
    if theirs is not None:
        columns["ratio, thesis"] = [theirs if order == 20 else np.nan for order in counts["order"]]
        comparison = " The thesis prints the ratio at order 20."
    caption = (
        "Numbers of patterns that are present in some training case, and of groups of patterns "
        "that are present in the same training cases."
        + ("" if record.continuous else " Each class has a coefficient for each of them.")
        + _no_more(record)
        + comparison
    )
    return PageTable("parameters", "Parameters", pd.DataFrame(columns), caption)


def _no_more(record: Record) -> str:
    """Say from which order on there are no new groups, where there is such an order."""
    stopped = int(record.compression["stopped"])
    return f" No groups are added beyond order {stopped}." if stopped < max(record.orders) else ""


def _parameter_figure(record: Record) -> Figure:
    figure, axes = canvas(2, 2, height=5.6)
    order = np.argsort(record.compression["order"])
    x, groups, patterns = (
        record.compression[name][order] for name in ("order", "groups", "patterns")
    )
    axes[0, 0].plot(x, patterns, "-x", color=INK, label="original")
    axes[0, 0].plot(x, groups, "-o", color=INK, mfc="white", label="compressed")
    axes[0, 0].set_ylabel("parameters" + ("" if record.continuous else " for each class"))
    axes[0, 0].legend(loc="best", frameon=False)
    axes[0, 1].plot(x, groups / patterns, "-o", color=INK, mfc="white")
    axes[0, 1].set(ylabel="compressed / original", ylim=(0, 1.05))
    for words, arms in record.lines(record.own).items():
        for axis, stage in ((axes[1, 0], "train"), (axes[1, 1], "predict")):
            seconds = [record.seconds[stage][arm.row] for arm in arms]
            axis.plot([arm.order for arm in arms], seconds, label=words, **_style(arms[0]))
    axes[1, 0].set_ylabel("processor seconds to train")
    axes[1, 1].set_ylabel("processor seconds to predict")
    axes[1, 0].legend(loc="best", frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.set_xlabel("order")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(bottom=0)
    caption = (
        "Circles are compressed parameters and crosses original ones. Dotted lines are Cauchy "
        f"priors and dashed lines Gaussian ones.{_no_more(record)}"
    )
    return Figure("parameters", "Parameters and times by order", figure, caption)


# ---- predictions of classes ----


def performance(record: Record) -> list[Figure | PageTable]:
    """Error, log loss and R-hat of our models by order (fig-hmm500-error, fig-text-error)."""
    figures = [_performance_figure(record)] if len(record.orders) > 1 else []
    return [*figures, _score_table(record)]


def _performance_figure(record: Record) -> Figure:
    priors = _priors(record)
    figure, axes = canvas(len(priors), 2, height=2.9 * len(priors) + 0.2, sharey="col")
    for row, prior in zip(axes, priors, strict=True):
        for words, line in record.lines([arm for arm in record.own if arm.prior == prior]).items():
            orders = [arm.order for arm in line]
            style = _style(line[0]) | {"linestyle": "-", "label": words, "elinewidth": 0.5}
            wrong = np.array([record.error(arm) for arm in line])
            losses = np.array([record.losses(arm) for arm in line])
            root = np.sqrt(record.n_cases)
            row[0].errorbar(orders, wrong, np.sqrt(wrong * (1 - wrong)) / root, **style)
            row[1].errorbar(orders, losses.mean(axis=1), losses.std(axis=1) / root, **style)
        row[0].set_ylabel("error rate")
        row[1].set_ylabel("average minus log probability")
        row[1].legend(loc="best", frameon=False, fontsize=8)
        for axis in row:
            axis.set_xlabel("order")
            axis.xaxis.get_major_locator().set_params(integer=True)
    has_both = len({arm.compress for arm in record.own if arm.engine == "slice"}) > 1
    caption = (
        f"Means over {len(record.response):,} test cases, with bars of one standard error. "
        "Lower is better." + (" Compression does not change the model." if has_both else "")
    )
    return Figure("performance", "Performance by order", figure, caption)


def _score_table(record: Record) -> PageTable:
    rows, seconds = [], record.seconds
    for j, arm in enumerate(record.own):
        measures = _measures(record, arm)
        rows.append(
            {
                "order": arm.order,
                "model": arm.words,
                "parameters a class": record.parameters(arm) or np.nan,
                **{name: measures[name] for name in ("error", "AMLP", "its standard error")},
                "log likelihood: R-hat": record.worst["rhat"][j, 0],
                "log likelihood: effective draws": np.rint(record.worst["ess"][j, 0]),
                **{f"seconds: {stage}": seconds[stage][arm.row] for stage in ("train", "predict")},
            }
        )
    caption = (
        f"Means over {len(record.response):,} test cases. AMLP is the average minus log "
        "probability of the actual class. R-hat compares the chains, or the halves of a single "
        "chain. Seconds are processor seconds."
    )
    return PageTable("scores", "Performance", pd.DataFrame(rows), caption, long=len(rows) > 25)


def _measures(record: Record, arm: Method) -> dict[str, float]:
    losses = record.losses(arm)
    return {
        "AMLP": losses.mean(),
        "its standard error": record.standard_error(losses),
        "error": record.error(arm),
        "seconds": record.seconds["all"][arm.row],
    }


def model_table(record: Record) -> list[PageTable]:
    """Our models and other classifiers, sorted by AMLP."""
    compress = max(record.config["model"]["compress"])
    rows = [
        {"model": record.name(arm)} | _measures(record, arm)
        for arm in record.arms
        if not arm.own or arm.compress == compress
    ]
    p, y = record.tested.base, record.response  # the frequencies of the classes
    amlp, error = metrics.amlp(p, y), metrics.error_rate(p, y)
    rows.append({"model": "base rate", "AMLP": amlp, "error": error})
    caption = (
        f"Means over {len(record.response):,} test cases{divided_words(record)}. AMLP is the "
        "average minus log probability of the actual class."
    )
    frame = pd.DataFrame(rows).sort_values("AMLP", ignore_index=True)
    title = "Beside other models"
    return [PageTable("models", title, frame, caption, long=len(frame) > 25)]


def reconstruction_table(record: Record) -> list[PageTable]:
    """Results of each hidden Markov model, and their range over all models (sec-sim-blsm)."""
    models, orders = record.config["data"]["arrows"], record.orders
    counts = [record.results.load("compress", block) for block in range(record.n_blocks)]
    place = list(counts[0]["order"]).index(orders[-1])
    ratio = f"groups / patterns, order {orders[-1]}"
    results = {ratio: np.array([b["groups"][place] / b["patterns"][place] for b in counts])}
    differences = {}
    scores = {
        "error rate": lambda arm: 1.0 * (record.probability(arm).argmax(1) != record.response),
        "log loss": record.losses,
    }
    for prior, (words, score) in product(_priors(record), scores.items()):
        name = f"{prior.capitalize()}, {words}, order"
        values = {order: score(record.of_order(order, prior)) for order in orders}
        results |= {f"{name} {order}": losses for order, losses in values.items()}
        for a, b in pairwise(orders):
            differences[f"{name} {b} - {a}"] = values[b] - values[a]
    rows = []
    for name, values in (results | differences).items():
        by_model = values.reshape(len(models), -1)
        mean = by_model.mean(axis=1)
        rows.append({"result": name, "mean": mean.mean(), "least": mean.min(), "most": mean.max()})
        if name in differences:  # the test samples of a model are independent
            twice = 2 * by_model.std(axis=1, ddof=1) / np.sqrt(by_model.shape[1])
            rows[-1] |= {"models: < 0": (mean < -twice).sum(), "> 0": (mean > twice).sum()}
        elif name == ratio and orders[-1] == 20:
            rows[-1]["thesis"] = thesis_numbers()["hmm"]["compressed_over_original_at_order_20"]
    caption = (
        f"The mean, the least and the most over {len(models)} hidden Markov models, each with "
        f"{pluralise(record.n_blocks // len(models), 'data set')}. The last columns count the "
        "models whose difference is more than two standard errors (of its test samples) from 0."
    )
    means = {name: v.reshape(len(models), -1).mean(axis=1) for name, v in results.items()}
    arrows = {"arrows from 1, 2, ...": [" ".join(map(str, states)) for states in models]}
    about = "The state that each hidden state is most likely to move to; means over data sets."
    return [
        PageTable("reconstructions", "All hidden Markov models", pd.DataFrame(rows), caption),
        PageTable(
            "models", "Each hidden Markov model", pd.DataFrame(arrows | means), about, long=True
        ),
    ]


# ---- predictions of real responses ----


def responses(record: Record) -> list[Figure | PageTable]:
    """Our models and others, sorted by squared error; responses against their predictions."""
    figures = [_response_figure(record)] if True in record.config["model"]["compress"] else []
    return [_response_table(record), *figures]


def _response_table(record: Record) -> PageTable:
    y, predicted = record.response, record.predictions
    rows = [
        {"model": record.name(arm)}
        | _scores(record, y, *(predicted[name][arm.row] for name in record.predicted))
        | {"seconds": record.seconds["all"][arm.row]}
        for arm in record.arms
    ]
    mean, sd = record.tested.base.T
    base = scipy.stats.norm(mean, sd)
    scores = _scores(record, y, mean, base.ppf(0.05), base.ppf(0.95), base.logpdf(y))
    rows.append({"model": "base rate"} | scores | {"seconds": np.nan})
    frame = pd.DataFrame(rows).sort_values("root mean squared error", ignore_index=True)
    caption = (
        f"Means over {record.n_cases:,} test cases{divided_words(record)}. Errors are those of the "
        "predictive median, in the units of the response. Minus log density is that of the "
        "actual response, in the same units. 'Within 90 %' is the fraction of responses inside "
        "the predictive interval of 90 %. The base rate is a normal distribution with the mean "
        "and the standard deviation of the training responses."
    )
    return PageTable("responses", "Beside other models", frame, caption)


def _scores(record: Record, y: np.ndarray, median, low, high, log_density) -> dict[str, float]:
    square, root = (y - median) ** 2, metrics.root_mean_square(median, y)
    error = record.standard_error(square) / (2 * root) if root and len(y) > 1 else np.nan
    within = np.nan if np.isnan(low).all() else np.mean((low <= y) & (y <= high))
    return {
        "root mean squared error": root,
        "its standard error": error,
        "mean absolute error": np.abs(y - median).mean(),
        "minus log density": -log_density.mean(),
        "within 90 %": within,
    }


def _response_figure(record: Record) -> Figure:
    order = record.drawn_order
    arms = [arm for prior in PRIORS if (arm := record.of_order(order, prior))]
    cases = len(record.response)
    rows = np.unique(np.linspace(0, cases - 1, min(cases, MOST_SHOWN)).astype(int))
    y = record.response[rows]
    columns = [
        [record.predictions[name][arm.row][rows] for name in record.predicted[:3]] for arm in arms
    ]
    responses = np.concatenate([y, *(median for median, _, _ in columns)])
    room = 0.05 * np.ptp(responses)
    ends = responses.min() - room, responses.max() + room
    figure, axes = canvas(1, len(arms), height=3.9, width=3.8 * len(arms), sharex=True, sharey=True)
    for axis, arm, (median, low, high) in zip(axes.flat, arms, columns, strict=True):
        axis.hlines(y, low, high, color=GREY, linewidth=0.5, zorder=1, rasterized=True)
        axis.axline((y[0], y[0]), slope=1, color=INK, linewidth=0.8, zorder=2)
        axis.plot(median, y, ".", color=INK, markersize=3.5, zorder=3, rasterized=True)
        axis.set_title(arm.words, fontsize=10)
        axis.set(xlabel="predictive median", xlim=ends, ylim=ends)
    axes[0, 0].set_ylabel("response")
    of = f"{len(rows)} of {cases:,} test cases" if len(rows) < cases else f"{cases} test cases"
    title = f"Responses and their predictions, order {order}"
    caption = (
        f"There is one dot for each of {of}. Its line is the predictive interval of 90 %, "
        "which should cross the diagonal for nine cases in ten."
    )
    return Figure("responses", title, figure, caption)


def _priors(record: Record) -> list[str]:
    return [prior for prior in PRIORS if any(arm.prior == prior for arm in record.own)]
