"""Logistic models by their orders: parameters, predictions, and what the thesis says of them."""

from collections.abc import Iterator
from itertools import chain, pairwise, product

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.errors import counted
from thesiskit.report import metrics
from thesiskit.report.chains import LAGS, autocorrelation
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas
from thesiskit.report.record import PRIORS, Arm, Record, thesis_numbers
from thesiskit.report.stages import divided_words

SHOWN_ORDERS = (5, 10, 20)  # in the table of peers
MOST_SHOWN = 300  # cases in a panel


def _style(arm: Arm) -> dict:
    """Return the style: circles if compressed, else crosses; dashes if Gaussian, else dots."""
    process = arm.engine == "gp"
    return {
        "color": GREY if arm.sampler and arm.scale == "natural" else INK,
        "linestyle": "-" if process else ":" if arm.prior == "cauchy" else "--",
        "marker": "s" if process else "o" if arm.compress else "x",
        "markerfacecolor": "white",
        "markersize": 5,
    }


# ---- parameters ----


def parameter_table(record: Record) -> list[Table]:
    """Groups and patterns by order."""
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
    beside = ""
    if theirs is not None:
        columns["ratio, thesis"] = [theirs if order == 20 else np.nan for order in counts["order"]]
        beside = " The thesis prints the ratio at order 20."
    caption = (
        "Numbers of patterns that are present in some training case, and of groups of patterns "
        "that are present in the same training cases."
        + ("" if record.continuous else " Each class has a coefficient for each of them.")
        + _no_more(record)
        + beside
    )
    return [Table("parameters", "Parameters", pd.DataFrame(columns), caption)]


def _no_more(record: Record) -> str:
    """Say from which order on there are no new groups, where there is such an order."""
    stopped = int(record.compression["stopped"])
    return f" No groups are added beyond order {stopped}." if stopped < max(record.orders) else ""


def parameter_figure(record: Record) -> list[Figure]:
    """Parameters, their ratio, and times, by order (fig-hmm500-comp, fig-text-comp)."""
    figure, axes = canvas(2, 2, height=5.6)
    order = np.argsort(record.compression["order"])
    x, groups, patterns = (
        record.compression[name][order] for name in ("order", "groups", "patterns")
    )
    axes[0, 0].plot(x, patterns, "-x", color=INK, label="original")
    axes[0, 0].plot(x, groups, "-o", color=INK, mfc="white", label="compressed")
    axes[0, 0].set_ylabel("parameters" + ("" if record.continuous else " for each class"))
    axes[0, 0].legend(frameon=False)
    axes[0, 1].plot(x, groups / patterns, "-o", color=INK, mfc="white")
    axes[0, 1].set(ylabel="compressed / original", ylim=(0, 1.05))
    for words, arms in record.lines(record.own).items():
        for axis, stage in ((axes[1, 0], "train"), (axes[1, 1], "predict")):
            seconds = [record.seconds[stage][arm.row] for arm in arms]
            axis.plot([arm.order for arm in arms], seconds, label=words, **_style(arms[0]))
    axes[1, 0].set_ylabel("processor seconds to train")
    axes[1, 1].set_ylabel("processor seconds to predict")
    axes[1, 0].legend(frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.set_xlabel("order")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(bottom=0)
    caption = (
        "Circles are compressed parameters and crosses original ones. Dotted lines are Cauchy "
        f"priors and dashed lines Gaussian ones.{_no_more(record)}"
    )
    return [Figure("parameters", "Parameters and times by order", figure, caption)]


# ---- predictions of classes ----


def performance_figure(record: Record) -> list[Figure]:
    """Error rate and AMLP by order (fig-hmm500-error, fig-text-error)."""
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
        row[1].legend(frameon=False, fontsize=8)
        for axis in row:
            axis.set_xlabel("order")
            axis.xaxis.get_major_locator().set_params(integer=True)
    both = len({arm.compress for arm in record.own if arm.engine == "slice"}) > 1
    caption = (
        f"Means over {len(record.response):,} test cases, with bars of one standard error. "
        "Lower is better." + (" Compression does not change the model." if both else "")
    )
    return [Figure("performance", "Performance by order", figure, caption)]


def score_table(record: Record) -> list[Table]:
    """Error, AMLP and diagnostics of the chains, for each of our models."""
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
    return [Table("scores", "Performance", pd.DataFrame(rows), caption, long=len(rows) > 25)]


def _measures(record: Record, arm: Arm) -> dict[str, float]:
    losses = record.losses(arm)
    return {
        "AMLP": losses.mean(),
        "its standard error": record.standard_error(losses),
        "error": record.error(arm),
        "seconds": record.seconds["all"][arm.row],
    }


def peer_table(record: Record) -> list[Table]:
    """Our models beside other classifiers, at a few orders."""
    orders = [o for o in SHOWN_ORDERS if o in record.orders] or record.orders[-3:]
    arms = [arm for arm in record.arms if not arm.own or arm.compress or arm.engine == "gp"]
    told = {
        words: {arm.order: _measures(record, arm) for arm in line if arm.order in orders}
        for words, line in record.lines(arms).items()
    }
    told["base rate"] = dict.fromkeys(orders, record.base_scores)
    at = [*product(("AMLP", "error", "seconds"), orders)]
    rows = [
        {"model": words} | {f"{name}: {o}": found.get(o, {}).get(name, np.nan) for name, o in at}
        for words, found in told.items()
    ]
    return [
        Table(
            "peers",
            "Beside other models",
            pd.DataFrame(rows).sort_values(f"AMLP: {orders[-1]}", ignore_index=True),
            f"Means over the same {len(record.response):,} test cases, by order, which is the "
            "number of states that the model is given. Processor seconds are those to fit and to "
            "predict. "
            "Sorted by AMLP at the largest order.",
        )
    ]


def model_table(record: Record) -> list[Table]:
    """Our models and other classifiers, sorted by AMLP."""
    compress = max(record.config["model"]["compress"])
    rows = [
        {"model": record.title(arm)} | _measures(record, arm)
        for arm in record.arms
        if not arm.own or arm.engine == "gp" or arm.compress == compress
    ]
    rows.append({"model": "base rate"} | record.base_scores)
    caption = (
        f"Means over {len(record.response):,} test cases{divided_words(record)}. AMLP is the "
        "average minus log probability of the actual class."
    )
    frame = pd.DataFrame(rows).sort_values("AMLP", ignore_index=True)
    return [Table("models", "Beside other models", frame, caption)]


def reconstruction_table(record: Record) -> list[Table]:
    """Results of each hidden Markov model, and their range over all models (sec-sim-blsm)."""
    models, orders = record.config["data"]["arrows"], record.orders
    counts = [record.results.load("compress", block) for block in range(record.n_blocks)]
    place = list(counts[0]["order"]).index(orders[-1])
    ratio = f"groups / patterns, order {orders[-1]}"
    each = {ratio: np.array([one["groups"][place] / one["patterns"][place] for one in counts])}
    differences = {}
    scores = {
        "error rate": lambda arm: 1.0 * (record.probability(arm).argmax(1) != record.response),
        "log loss": record.losses,
    }
    for prior, (words, score) in product(_priors(record), scores.items()):
        name = f"{prior.capitalize()}, {words}, order"
        values = {order: score(record.of_order(order, prior)) for order in orders}
        each |= {f"{name} {order}": found for order, found in values.items()}
        for a, b in pairwise(orders):
            differences[f"{name} {b} - {a}"] = values[b] - values[a]
    rows = []
    for name, values in (each | differences).items():
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
        f"{counted(record.n_blocks // len(models), 'data set')}. The last columns count the models "
        "whose difference is more than two standard errors (of its test samples) from 0."
    )
    means = {name: v.reshape(len(models), -1).mean(axis=1) for name, v in each.items()}
    arrows = {"arrows from 1, 2, ...": [" ".join(map(str, one)) for one in models]}
    about = "The state that each hidden state is most likely to move to; means over data sets."
    return [
        Table("reconstructions", "All hidden Markov models", pd.DataFrame(rows), caption),
        Table("models", "Each hidden Markov model", pd.DataFrame(arrows | means), about, long=True),
    ]


# ---- predictions of real responses ----


def response_table(record: Record) -> list[Table]:
    """Our models and others, sorted by squared error."""
    y, predicted = record.response, record.predictions
    rows = [
        {"model": record.title(arm)}
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
    return [Table("responses", "Beside other models", frame, caption)]


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


def response_figure(record: Record) -> list[Figure]:
    """Responses against their predictive medians, with 90 % intervals."""
    order = record.drawn_order
    arms = [arm for prior in PRIORS if (arm := record.of_order(order, prior))]
    cases = len(record.response)
    shown = np.unique(np.linspace(0, cases - 1, min(cases, MOST_SHOWN)).astype(int))
    y = record.response[shown]
    columns = [
        [record.predictions[name][arm.row][shown] for name in record.predicted[:3]] for arm in arms
    ]
    every = np.concatenate([y, *(median for median, _, _ in columns)])
    room = 0.05 * np.ptp(every)
    ends = every.min() - room, every.max() + room
    figure, axes = canvas(1, len(arms), height=3.9, width=3.8 * len(arms), sharex=True, sharey=True)
    for axis, arm, (median, low, high) in zip(axes.flat, arms, columns, strict=True):
        axis.hlines(y, low, high, color=GREY, linewidth=0.5, zorder=1, rasterized=True)
        axis.axline((y[0], y[0]), slope=1, color=INK, linewidth=0.8, zorder=2)
        axis.plot(median, y, ".", color=INK, markersize=3.5, zorder=3, rasterized=True)
        axis.set_title(arm.words, fontsize=10)
        axis.set(xlabel="predictive median", xlim=ends, ylim=ends)
    axes[0, 0].set_ylabel("response")
    of = f"{len(shown)} of {cases:,} test cases" if len(shown) < cases else f"{cases} test cases"
    title = f"Responses and their predictions, order {order}"
    caption = (
        f"There is one dot for each of {of}. Its line is the predictive interval of 90 %, "
        "which should cross the diagonal for nine cases in ten."
    )
    return [Figure("responses", title, figure, caption)]


# ---- what the thesis says ----

# a statement, what is found, and whether that supports it; None where that is unclear
Found = Iterator[tuple[str, str, bool | None]]


def said_and_found(found: Found, caption: str) -> list[Table]:
    """Return the table of statements."""
    words = {True: "yes", False: "no", None: "unclear"}
    rows = [
        {"the thesis": statement, "here": here, "supported": words[holds]}
        for statement, here, holds in found
    ]
    title = "What the thesis says, and what is found"
    return [Table("statements", title, pd.DataFrame(rows), caption)]


def statement_table(record: Record) -> list[Table]:
    """Each statement of the thesis, our numbers, and whether they support it."""
    makers = (_compression, _same_predictions, _faster_decay, _cauchy_better, _high_orders, _best)
    caption = (
        "Differences of AMLP are means of paired differences over the test cases, with their "
        "standard errors; the errors do not include that the chains are finite. A statement "
        "of a difference is supported if the difference has the stated direction and is at "
        "least two standard errors. A statement that there is no difference is supported if "
        "the difference is below 0.005, or below three standard errors where these are "
        "together at most 0.02. 'Unclear' means that there are too few cases or iterations."
    )
    return said_and_found(chain.from_iterable(make(record) for make in makers), caption)


def _difference(record: Record, a: Arm, b: Arm) -> tuple[float, float]:
    d = record.losses(a) - record.losses(b)  # of AMLP
    return float(d.mean()), record.standard_error(d)


def _words(difference: tuple[float, float]) -> str:
    return f"{difference[0]:+.4f} ± {difference[1]:.4f}"


def _better(difference: tuple[float, float]) -> bool | None:
    return None if abs(difference[0]) < 2 * difference[1] else difference[0] < 0


def _priors(record: Record) -> list[str]:
    return [prior for prior in PRIORS if any(arm.prior == prior for arm in record.own)]


def _compression(record: Record) -> Found:
    counts = record.compression
    last = int(np.argmax(counts["order"]))
    order, growth = counts["order"][last], counts["growth"]
    ratio = counts["groups"][last] / counts["patterns"][last]
    theirs = record.thesis.get("compressed_over_original_at_order_20")
    beside = f" (ratio {theirs})" if theirs is not None and order == 20 else ""
    statement = f"compression leaves few parameters at order {order}{beside}"
    yield statement, f"ratio {ratio:.3f}", bool(ratio < 0.35)
    added, new = int(growth[-1] - growth[-2]), int(counts["rows"][last])
    yield (
        "beyond some order the number of groups stops growing, that of patterns does not",
        # at the last order, every distinct history adds one pattern
        f"order {len(growth) - 1} adds {added:,} groups to {growth[-2]:,}, {new:,} patterns",
        bool(added < new / 4),
    )
    at = record.thesis.get("groups_stop_at")
    if at is not None and len(growth) > at + 1:
        yield (
            f"the number of groups stops growing at order {at}",
            f"groups of orders {at} to {len(growth) - 1}: "
            + ", ".join(f"{count:,}" for count in growth[at:]),
            bool(growth[-1] == growth[at]),
        )


def _same_predictions(record: Record) -> Found:
    for prior in _priors(record):
        differences = {}
        for order in record.orders:
            pair = [record.of_order(order, prior, compress=is_so) for is_so in (True, False)]
            if all(pair):
                well = all(record.reliable[record.own.index(arm)] for arm in pair)
                differences[order] = _difference(record, *pair), well
        if differences:
            order = max(differences, key=lambda order: abs(differences[order][0][0]))
            (difference, error), supported = differences[order]
            alike = None if 3 * error > 0.02 else abs(difference) < 3 * error
            yield (
                f"compressed and original parameters predict alike ({prior.capitalize()})",
                f"largest difference of AMLP {_words((difference, error))}, at order {order}",
                (abs(difference) < 0.005 or alike) if supported else None,
            )


def _faster_decay(record: Record) -> Found:
    """Integrated autocorrelation times up to lag 50 of the sigmas that the thesis shows."""
    for prior in _priors(record):
        pair = [
            record.of_order(record.widest_order, prior, compress=is_so) for is_so in (True, False)
        ]
        if None in pair:
            continue
        times, short = [], False
        for arm in pair:
            trace = record.log_sigma_trace(arm)
            lags = min(LAGS, trace.shape[1] - 1)
            short |= trace.size < 20 * LAGS * trace.shape[2]
            sums = [autocorrelation(trace[:, :, o], lags)[1:].sum() for o in record.shown_sigmas]
            times.append(np.mean([1 + 2 * one for one in sums]))
        yield (
            f"autocorrelations of sigma fall faster when compressed ({prior.capitalize()})",
            f"sum up to lag {lags}: {times[0]:.1f} compressed, {times[1]:.1f} original",
            None if short else bool(times[0] < times[1]),
        )


def _cauchy_better(record: Record) -> Found:
    pairs = {order: [record.of_order(order, prior) for prior in PRIORS] for order in record.orders}
    differences = {
        order: _difference(record, *pair)
        for order, pair in pairs.items()
        if all(pair) and record.thesis.get("cauchy_better")
    }
    if differences:
        shown = [o for o in SHOWN_ORDERS if o in differences] or list(differences)[-3:]
        better = sum(d < 0 for d, _ in differences.values())
        yield (
            "Cauchy priors predict better than Gaussian ones",
            "AMLP, Cauchy less Gaussian: "
            + ", ".join(f"{_words(differences[o])} at order {o}" for o in shown)
            + f"; better at {better} of {len(differences)} orders",
            any(d < -2 * e for d, e in differences.values()) and better > len(differences) / 2,
        )


def _high_orders(record: Record) -> Found:
    if "helps" not in record.thesis:
        return
    before, helped = record.thesis["helps"]
    for prior in _priors(record):
        first, middle, last = (
            record.of_order(order, prior) for order in (before, helped, max(record.orders))
        )
        if first and middle and first is not middle:
            d = _difference(record, middle, first)
            statement = f"order {helped} predicts better than {before} ({prior.capitalize()})"
            yield statement, f"difference of AMLP {_words(d)}", _better(d)
        if middle and last and last is not middle:
            d = _difference(record, last, middle)
            yield (
                f"orders beyond {helped} do no harm ({prior.capitalize()})",
                f"AMLP at order {last.order} less that at {helped}: {_words(d)}; error rate "
                f"{record.error(last):.3f} against {record.error(middle):.3f}",
                d[0] < 0.02 if abs(d[0]) > 3 * d[1] or 3 * d[1] < 0.02 else None,
            )


def _best(record: Record) -> Found:
    if "best" not in record.thesis:
        return
    prior, order = record.thesis["best"]["prior"], record.thesis["best"]["order"]
    claimed = record.of_order(order, prior)
    others = [
        arm for arm in record.own if arm.compress and (arm.order, arm.prior) != (order, prior)
    ]
    if claimed and others:
        rival = min(others, key=lambda arm: float(record.losses(arm).mean()))
        d = _difference(record, claimed, rival)
        yield (
            f"order {order} with {prior.capitalize()} priors predicts best, the model that the "
            "data are from",
            f"AMLP less that of the best other one ({rival.words.split(',')[0]}, order "
            f"{rival.order}): {_words(d)}",
            _better(d),
        )
