"""What was selected and predicted by method: scores, calibration, and their figures."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import product
from textwrap import fill
from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.models.peers import NONE, Method
from thesiskit.report import layout, metrics
from thesiskit.report.layout import Figure, PageTable
from thesiskit.report.posteriors import base_label, features_words
from thesiskit.report.record import Record

STYLES: dict[str, layout.Look] = {  # of lines; thesiskit.mplstyle lists what each marker means
    "corrected": {"marker": "o", "color": layout.ACCENT, "zorder": 3},
    "uncorrected": {"marker": "s", "color": layout.INK, "markersize": 7.5},
    "bernoulli-nb": {"marker": "^", "color": layout.QUIET},
    "bernoulli-nb-calibrated": {"marker": "v", "color": layout.QUIET},
    "naive-corrected": {"marker": "D", "color": layout.QUIET},
    "naive-uncorrected": {"marker": "P", "color": layout.QUIET},
    "normal-corrected": {"marker": "d", "color": layout.QUIET},
    "normal-uncorrected": {"marker": "X", "color": layout.QUIET},
}
VARIANTS = {  # how titles call rules for theta, and samplers
    "exact": "exact quadrature",
    "simpson-21": "Simpson's rule with 21 points",
    "collapsed": "collapsed sampler",
    "simpson-21-transformed": "Simpson's rule with 21 points, theta transformed",
    "gibbs": "Gibbs sampler of the thesis's text",
    "approximate": "Gibbs sampler without the factor in the labels",
    "enumeration": "exact posterior",
}
BINS = np.linspace(0, 1, 26)
PEERS = {  # third-party methods, as rows of histograms name them
    "bernoulli-nb": "SelectKBest +\nBernoulliNB",
    "bernoulli-nb-calibrated": "the same in\nCalibratedClassifierCV",
}
LEVEL = 0.99  # of the bands, all categories of a method together


def style(family: Method) -> layout.Look:
    """Return how the line of a method is drawn; with a temperature, its markers are hollow."""
    line = {"linestyle": "--" if family.relevant == "some" else "-"}
    hollow = {"markerfacecolor": "white"} if family.tempered else {}
    return STYLES.get(family.estimator, {"marker": "p", "color": layout.QUIET}) | line | hollow


# ---- tables ----


def selection_table(record: Record) -> list[PageTable]:
    """The numbers of features kept, gamma, and the ties at gamma."""
    thesis = {str(k): v for k, v in record.comparable.get("gamma", {}).items()}
    sets, by_label = record.n_sets, record.selections.groupby("label", sort=False)
    columns = {
        "selected": ("n_selected", "mean"),
        "of": ("n_features", "max"),
        "gamma": ("gamma", pd.Series.mean),
        "gamma, lowest": ("gamma", "min"),
        "gamma, highest": ("gamma", "max"),
        "tied at gamma": ("tied", "mean"),
        "of these selected": ("tied_selected", "mean"),
    }
    frame = by_label.agg(**columns)
    has_gamma = by_label["n_selected"].sum() < by_label["n_features"].sum()
    frame.iloc[:, 2:] = frame.iloc[:, 2:].where(has_gamma, axis=0)
    frame = frame.rename_axis("selection").reset_index()
    if sets == 1:
        frame = frame.drop(columns=["gamma, lowest", "gamma, highest"])
    if thesis:
        frame["gamma, thesis"] = frame["selection"].map(thesis)
    title = f"Selected {record.unit}s"
    return [PageTable("selection", title, frame, layout.caption("selection", record=record))]


def calibration_table(record: Record) -> list[PageTable]:
    """Calibration by first decimal of the prediction, one table for each rule or sampler."""
    tables, methods = [], (record.methods[0].estimator, "corrected", "uncorrected")
    about = layout.caption("calibration", record=record)
    for variant in record.variants:
        blocks = [
            _calibration_block(record, label, variant)
            for label in record.labels
            if any(record.find(label, method, variant) for method in methods)
        ]
        suffix = "" if variant == record.variants[0] else f"-{variant}"
        title = f"Calibration, {VARIANTS.get(variant, variant)}"
        frame = pd.concat(blocks, ignore_index=True)
        tables.append(PageTable(f"calibration{suffix}", title, frame, about, long=bool(suffix)))
    return tables


def _calibration_block(record: Record, label: str, variant: str) -> pd.DataFrame:
    frame = pd.DataFrame({"features": [label] * 10, "C": range(10)})
    for family in record.families(("corrected", "uncorrected", "complete")):
        method = record.find(label, family.estimator, variant, family.options)
        if method is None or method.family != family:
            continue
        calibration = metrics.calibration(*record.probability_and_hit(method))
        title = family.words.replace("complete", "corrected")
        frame[f"{title}: #"] = calibration["samples"]
        frame[f"{title}: Pred"] = calibration["predicted"]
        frame[f"{title}: Actual"] = calibration["actual"]
        thesis = record.thesis_calibration if record.comparable else None
        if thesis is not None and family.options == Method(relevant="all"):
            rows = (thesis.features_selected == label) & (thesis.method == family.estimator)
            theirs = thesis[rows].set_index("category").reindex(range(10))
            names = {"#": "cases", "Pred": "mean_predicted", "Actual": "fraction_actual"}
            for name, column in names.items():
                frame[f"{title}, thesis: {name}"] = theirs[column].to_numpy()
    return frame


@lru_cache(maxsize=2)
def measured(record: Record) -> dict[Method, dict[str, float]]:
    """Return error, expected error, log loss and squared error of every method."""
    y = record.response
    return {method: metrics.scores(record.probability(method), y) for method in record.methods}


def timing_table(record: Record) -> list[PageTable]:
    """Processor seconds spent on each method, the thesis's beside ours."""
    about = layout.caption("timings-patterns" if record.logistic else "timings", record=record)
    long = record.logistic and len(record.timings) > 25
    return [PageTable("timings", "Computation time", record.timings, about, long=long)]


# ---- calibration with exact bands ----


def reliability(record: Record, method: Method) -> pd.DataFrame:
    """Calibration with the exact band of each category, all holding together at LEVEL."""
    p, y = record.probability_and_hit(method)
    frame, category = metrics.calibration(p, y), metrics.categories(p)
    filled = np.flatnonzero(frame["samples"])
    bands = np.full((len(frame), 2), np.nan)
    for c in filled:
        bands[c] = metrics.exact_band(p[category == c], 1 - (1 - LEVEL) / len(filled))
    frame["band low"], frame["band high"] = bands.T
    weight = 1 / metrics.times(record.tested.unit)
    hits, samples = (np.bincount(category, of, 10) for of in (weight * y, weight))
    frame["actual low"], frame["actual high"] = metrics.clopper_pearson(hits, samples)
    inside = np.where((bands[:, 0] <= frame.actual) & (frame.actual <= bands[:, 1]), "yes", "no")
    frame["inside"] = np.where(frame["samples"] > 0, inside, "")
    return frame


def reliability_part(record: Record) -> list[PageTable | Figure]:
    """Calibration of every method with exact bands: diagrams, and tables of selected features."""
    tables = [] if record.logistic else _reliability_tables(record)
    return [*_reliability_figures(record), *tables]


def _reliability_tables(record: Record) -> list[PageTable]:
    """Return how many categories are inside their bands, and all categories."""
    names_variant = record.mixture and len(record.variants) > 1
    parts, rows = [], []
    for method in record.methods if names_variant else record.main_methods:
        keys = {"features": method.label, "method": method.words}
        keys |= {"sampler": method.variant} if names_variant else {}
        frame = reliability(record, method).rename(columns={"category": "C"})
        inside, filled = int((frame.inside == "yes").sum()), int((frame.samples > 0).sum())
        rows.append(keys | {"categories inside their band": inside, "of": filled})
        parts.append(pd.DataFrame(keys | dict(frame.items())))
    shared = len(record.response) > record.predictions["replicate"].nunique()
    repeated = record.tested.repetition.any()
    words = layout.caption("bands", record=record, level=LEVEL, shared=shared, repeated=repeated)
    counts, frame = pd.DataFrame(rows), pd.concat(parts, ignore_index=True)
    return [
        PageTable("reliability-summary", "Calibration: inside the bands?", counts, words),
        PageTable("reliability", "Calibration with exact bands", frame, words, long=True),
    ]


def _reliability_figures(record: Record) -> list[Figure]:
    """Return reliability diagrams of every method, with exact bands and intervals."""
    class_name = layout.drawn_words(record.positive_class_name, 20)
    x_label, y_label = f"mean probability of {class_name}", f"fraction in {class_name}"
    if record.n_classes > 2:
        x_label, y_label = "mean confidence", "fraction that is right"
    predicting = record.methods_with_predictions

    def of_variant(variant: str):
        methods = [method for method in predicting if method.variant in (variant, NONE)]
        sizes = {"width": lambda n: 2.9 * n + 0.5, "height": lambda n: 3.1 * n + 0.7}
        figure, axes = layout.grid(len(methods), 3, **sizes, sharex=True, sharey=True)
        for axis, method in zip(axes.flat, methods, strict=False):
            frame = reliability(record, method)
            frame = frame[frame.samples > 0]
            x, low, high = frame.predicted, frame["actual low"], frame["actual high"]
            look = {"color": layout.PALE, "linewidth": 7, "zorder": 0}
            axis.vlines(x, frame["band low"], frame["band high"], **look)
            axis.vlines(x, low, high, color=layout.INK, linewidth=0.7)
            axis.plot([0, 1], [0, 1], color=layout.GREY, linewidth=0.7)
            for inside, colour, size in (("yes", layout.INK, 9), ("no", layout.WARNING, 13)):
                part = frame[frame.inside == inside]
                axis.plot(part.predicted, part.actual, ".", color=colour, markersize=size)
            axis.set_aspect("equal")
            axis.set_title(fill(layout.drawn_words(record.name(method), 80), 20))
        figure.supxlabel(x_label)
        figure.supylabel(y_label)
        return figure

    caption = layout.caption("reliability", n=len(record.response))
    return _by_variant(record, "reliability", "Reliability", of_variant, caption)


# ---- figures of methods by selections ----


def _by_variant(
    record: Record, name: str, title: str, draw: Callable, caption: str
) -> list[Figure]:
    """Return a figure of the first rule for theta, or one of every sampler.

    draw : returns the figure of a variant.
    """
    figures = []
    variants = record.variants if record.mixture else record.variants[:1] or [NONE]
    for i, variant in enumerate(variants):
        suffix = f"-{variant}" if i else ""
        sampler = f", {variant} sampler" if record.mixture and len(record.variants) > 1 else ""
        figures.append(Figure(name + suffix, title + sampler, draw(variant), caption))
    return figures


def _draw_by_selection(record: Record, axis, variant: str, lines: Iterable[tuple]) -> None:
    """Draw lines, each a method, a measure of it and its look, over the selections that it has.

    The x axis is logarithmic where these are numbers of features; else they are side by side.
    """
    labels = record.labels
    if all(label.isdigit() or label == "all" for label in labels):
        places = np.array([record.kept(label) for label in labels])
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{x:,.0f}" for x in places])
        axis.minorticks_off()
        axis.set_xlabel(f"selected {record.unit}s")
    else:
        places = np.arange(len(labels))
        axis.set_xticks(places, [layout.size_words(label).replace(" ", "\n") for label in labels])
        axis.set_xlabel("selection")
    for family, measure, look in lines:
        methods = [
            record.find(label, family.estimator, variant, family.options) for label in labels
        ]
        values = [measured(record)[method][measure] for method in methods if method]
        axis.plot(places[[method is not None for method in methods]], values, **look)
    axis.margins(y=0.08)


# ---- figures ----


def correlation_scatter(record: Record) -> list[Figure]:
    """Absolute correlations in training and test samples (Figure 2.4)."""
    arrays = record.results.load("select", 0)
    if "train_correlation" not in arrays:
        return []  # too many features to draw, or one class in the test set
    train = arrays["train_correlation"]
    figure, axes = layout.canvas(height=4.6, width=6.2)
    axis = axes[0, 0]
    test, dots = arrays["test_correlation"], {"markersize": 2, "alpha": 0.35}
    axis.plot(train, test, ".", color=layout.INK, rasterized=True, **dots)
    order = np.sort(train)[::-1]
    for label in filter(str.isdigit, record.labels):
        x = order[int(label) - 1]
        axis.axvline(x, color=layout.INK, linewidth=0.9, linestyle="--")
        above = {"xycoords": ("data", "axes fraction"), "ha": "center"}
        axis.annotate(layout.size_words(label), (x, 1.005), **above)
    axis.set(
        xlabel="absolute correlation with the response, training samples",
        ylabel="absolute correlation, test samples",
        xlim=(0, None),
        ylim=(0, None),
    )
    title = "Correlations in the training and the test samples"
    caption = layout.caption("correlation-scatter", n=len(train))
    return [Figure("correlation-scatter", title, figure, caption)]


def performance(record: Record) -> list[Figure]:
    """Error rates where the correction is compared, log loss and squared error, by selection."""
    compared = {"corrected", "uncorrected"} <= {method.estimator for method in record.methods}
    return [*(_error_rates(record) if compared else []), *_losses(record)]


def _error_rates(record: Record) -> list[Figure]:
    """Return observed and predicted error rates by number of features."""
    looks = {
        "error": {"label": "observed"},
        "expected error": {"label": "predicted", "linestyle": ":", "marker": ""},
    }

    def draw(variant: str):
        rows = len(record.options)
        pairs = product(record.options, ("uncorrected", "corrected"))
        families = [replace(options, estimator=method) for options, method in pairs]
        figure, axes = layout.canvas(rows, 2, height=2.9 * rows + 0.5, sharey=True)
        for family, axis in zip(families, axes.flat, strict=True):
            lines = [(family, name, style(family) | look) for name, look in looks.items()]
            _draw_by_selection(record, axis, variant, lines)
            axis.set_title(family.words)
        axes[0, 0].set_ylim(bottom=0)
        figure.supylabel("error rate")
        layout.name_series(figure, axes[0, 1])
        return figure

    caption = layout.caption("error-rates")
    return _by_variant(record, "error-rates", "Observed and predicted error", draw, caption)


def _losses(record: Record) -> list[Figure]:
    """Return log loss and squared error by number of features."""

    def draw(variant: str):
        figure, axes = layout.canvas(1, 2)
        for measure, axis in zip(("log loss", "squared error"), axes.flat, strict=True):
            lines = [
                (family, measure, style(family) | {"label": family.words})
                for family in record.families(STYLES)
            ]
            _draw_by_selection(record, axis, variant, lines)
            axis.set_ylabel(measure)
            axis.set_ylim(bottom=0)
        layout.name_series(figure, *axes.flat)
        return figure

    title = f"Performance by number of {record.unit}s"
    return _by_variant(record, "performance", title, draw, "Lower is better.")


def null_figure(record: Record) -> list[Figure]:
    """Histograms of predictions where nothing can be predicted.

    A method has a row for each number of features that there may have been before a selection.
    """
    columns = list(dict.fromkeys(map(base_label, record.labels)))
    origins = dict.fromkeys(label.partition(" of ")[2] for label in record.labels)
    of = "" if any(origins) else f" of {record.selections['n_features'][0]:,}"
    rows: list[tuple[str, list[Method | None]]] = []
    for family, origin in product(record.families(("uncorrected", *PEERS, "corrected")), origins):
        words = f"naive Bayes, {family.words}" + (f", of {origin}" if origin else "")
        labels = [f"{column} of {origin}" if origin else column for column in columns]
        methods = [record.find(label, family.estimator, options=family.options) for label in labels]
        rows += [(PEERS.get(family.estimator, words.replace(", ", ",\n")), methods)]
    rows = [(words, methods) for words, methods in rows if any(methods)]
    sizes = {"width": 2.6 * len(columns) + 1.6, "height": 1.55 * len(rows) + 0.7}
    figure, axes = layout.canvas(len(rows), len(columns), sharex=True, sharey="row", **sizes)
    untitled = dict.fromkeys(columns)
    for line, (words, methods) in zip(axes, rows, strict=True):
        for axis, column, method in zip(line, columns, methods, strict=True):
            axis.set_visible(method is not None)
            if method is None:
                continue
            p, rates = record.probability_and_hit(method)[0], measured(record)[method]
            weights = np.full(len(p), 1 / len(p))
            axis.hist(p, BINS, weights=weights, color=layout.GREY, edgecolor=layout.INK, lw=0.6)
            axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
            title = f"predicted {rates['expected error']:.0%}, observed {rates['error']:.0%}"
            if column in untitled:
                title = f"{layout.kept_words(column)}{of}\n{title}"
                del untitled[column]
            axis.set_title(title, loc="left")
        line[[method is not None for method in methods].index(True)].set_ylabel(words)
    class_name = layout.drawn_words(record.positive_class_name)
    figure.supxlabel(f"predictive probability of {class_name}")
    figure.supylabel("fraction of test samples")
    caption = layout.caption("null")
    return [Figure("null", "Predictions by method", figure, caption)]


def correlation_lattice(record: Record) -> list[Figure]:
    """Correlation by two counts, and the sets of counts kept and dropped (Figure 2.3)."""
    arrays = record.results.load("select", 0)
    value, kind = arrays["correlation"], arrays["kind"]
    n0, n1 = value.shape[0] - 1, value.shape[1] - 1
    gamma = record.config["lattice"]["gamma"]
    figure, axes = layout.canvas(height=0.42 * (n0 + 1) + 1.3, width=0.5 * (n1 + 1) + 1.0)
    axis = axes[0, 0]
    shade = np.array(["#9a9a9a", "#cfcfcf", "#f4f4f4"])
    for (i0, i1), correlation in np.ndenumerate(value):
        axis.add_patch(square(i1, i0, shade[kind[i0, i1]]))
        text = f"{correlation:.2f}".replace("-0.00", "0.00")
        axis.text(i1, i0, text, ha="center", va="center")
    axis.set(xlim=(-0.5, n1 + 0.5), ylim=(-0.5, n0 + 0.5), xticks=range(n1 + 1))
    axis.set_yticks(range(n0 + 1))
    axis.set(xlabel="$I_1$: ones in class 1", ylabel="$I_0$: ones in class 0")
    handles = [square(0, 0, colour) for colour in shade]
    words = [r"Cor $= 0$", rf"$0 <$ |Cor| $\leq$ {gamma:g}", rf"|Cor| $>$ {gamma:g}: selected"]
    figure.legend(handles, words, loc="outside upper center", ncols=3)
    title = "Sample correlation as a function of two counts"
    caption = layout.caption("correlation-lattice", n0=n0, n1=n1, gamma=gamma)
    return [Figure("correlation-lattice", title, figure, caption)]


def square(x: float, y: float, colour: str, **look):
    """Return a square of a map, about a place."""
    from matplotlib.patches import Rectangle

    look = {"edgecolor": "white"} | look
    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, **look)


# ---- predicted and observed errors, on tables that somebody filtered before ----


class PredictedError(NamedTuple):
    """The error rate that a method predicts, and the observed one if samples are tested.

    size : how many features it selects.
    of : how many features the method assumes before the filter; None if it assumes no filter.
    """

    method: Method
    size: str
    of: int | None
    predicted: float
    observed: float | None


def _predicted_errors(record: Record) -> list[PredictedError]:
    """Return the error that each of our methods predicts, with the first rule for theta.

    Where samples are tested it is the mean of their predictions, else of samples that were drawn.
    """
    if not (record.tests or "promised" in record.fit_arrays):
        return []
    main, errors = {method.row for method in record.main_methods}, []
    before = {label: int(values.max()) for label, values in record.by_size("n_features").items()}
    for j, method in enumerate(record.own):
        if method.row not in main:
            continue
        if record.tests:
            p, y = record.probability(method), record.response
            predicted, observed = metrics.expected_error(p), metrics.error_rate(p, y)
        else:
            predicted, observed = float(record.fit_arrays["promised"][:, j].mean()), None
        of = None if method.estimator == "uncorrected" else before[method.label]
        size = base_label(method.label)
        errors.append(PredictedError(method, size, of, predicted, observed))
    return errors


def commonest(record: Record) -> tuple[str, float]:
    """Return the commonest class, and its share of the training samples."""
    counts = record.class_counts.sum(axis=0)
    return record.class_words(int(counts.argmax())), float(counts.max() / counts.sum())


# ---- no sample is tested ----


def predicted_facts(record: Record) -> dict[str, object]:
    """Return what the opening says of methods that no sample tests: rates of the recommended."""
    facts: dict[str, object] = {"rates": [], "response": record.config["data"].get("response")}
    if record.continuous:
        facts["sd"] = float(record.results.load("simulate", 0, ("response",))["response"].std())
    else:
        facts["commonest"], facts["share"] = commonest(record)
    corrected = [error for error in _predicted_errors(record) if error.of is not None]
    if not corrected:
        return facts
    # of several guesses of the filter, `predict` uses the largest, too
    _, best = max(
        ((error.of, error.method) for error in corrected),
        key=lambda x: (x[1].relevant == "some", x[1].tempered, record.kept(x[1].label), x[0]),
    )
    rates = [
        (error.of, error.predicted)
        for error in corrected
        if error.method.family == best.family and error.size == base_label(best.label)
    ]
    return facts | {"rates": rates, "recommended": record.name(best)}


def predicted_table(record: Record) -> list[PageTable]:
    """The error that each method predicts on new samples; nothing is tested."""
    errors = _predicted_errors(record)
    tempered = any(error.method.tempered for error in errors)
    rows = [
        {
            "method": record.name(error.method),
            "assumed from": f"{error.of:,}" if error.of else "no filter",
            "predicted error": error.predicted,
        }
        for error in errors
    ] or [{"method": record.name(method)} for method in record.own]
    shown = tuple(i for i, error in enumerate(errors) if error.method.tempered or not tempered)
    screened, real = record.config["selection"]["screened"], record.continuous
    caption = layout.prose("predicted", selection=screened, real=real)
    frame = pd.DataFrame(rows)
    return [PageTable("methods", "Methods", frame, caption, shown=shown if errors else None)]


# ---- how the answer moves ----


def screened_answers(record: Record) -> list[Figure]:
    """How the predicted error moves with the number of features before the filter."""
    errors = _predicted_errors(record)
    if not errors:
        return []
    if any(error.method.tempered for error in errors):
        errors = [error for error in errors if error.method.tempered]
    several = len({error.method.relevant for error in errors}) > 1
    sizes = list(dict.fromkeys(error.size for error in errors))
    figure, axes = layout.grid(
        len(sizes), 3, width=lambda columns: max(4.8, 3.0 * columns + 0.8),
        height=lambda rows: 2.6 * rows + 1.0, sharey=True, sharex=True,
    )  # fmt: skip
    ofs = sorted({error.of for error in errors if error.of is not None})
    guess = 1 - commonest(record)[1]
    for axis, size in zip(axes.flat, sizes, strict=False):
        of_size = [error for error in errors if error.size == size]
        for family in dict.fromkeys(error.method.family for error in of_size):
            by_of = {error.of: error for error in of_size if error.method.family == family}
            lines = [by_of.get(of, by_of.get(None)) for of in ofs]
            heights = [error.predicted if error else np.nan for error in lines]
            label = family.estimator + (f", {family.relevant} relevant" if several else "")
            axis.plot(ofs, heights, label=label, **style(family))
            observed = {of: error.observed for of, error in by_of.items() if of and record.tests}
            look = {"color": style(family)["color"], "markersize": 9}
            axis.plot(list(observed), list(observed.values()), "+", **look)
        axis.axhline(guess, color=layout.GREY, linewidth=1.2, zorder=0, label="commonest class")
        axis.set_title(features_words(record, of_size[0].method.label))
        axis.set_xscale("log")
        axis.minorticks_off()
        axis.set_xticks(ofs, [f"{of:,}" for of in ofs], rotation=30 if len(ofs) > 3 else 0)
        axis.set_ylim(0, max(guess, *(error.predicted for error in errors)) * 1.12)
        axis.yaxis.set_major_formatter(layout.percent)
    for axis in axes[:, 0]:
        axis.set_ylabel("predicted error")
    figure.supxlabel("features before the filter")
    layout.name_series(figure, axes[0, 0])
    title = "Predicted error by the number of features before the filter"
    return [Figure("screened-answers", title, figure, layout.prose("screened", tests=record.tests))]
