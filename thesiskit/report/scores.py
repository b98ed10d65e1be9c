"""What was selected and predicted, arm by arm: tables of scores, calibration, and their figures."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.errors import pluralise
from thesiskit.models.peers import NONE, Method
from thesiskit.report import metrics
from thesiskit.report.layout import (
    GREY,
    INK,
    PALE,
    Figure,
    PageTable,
    canvas,
    drawn_words,
    grid,
    kept_words,
    size_words,
)
from thesiskit.report.posteriors import base_label
from thesiskit.report.record import Record
from thesiskit.report.stages import manner_words

Look = dict[str, Any]  # keywords of matplotlib's plot
STYLES: dict[str, Look] = {  # of lines, which can be distinguished in grey
    "corrected": {"linestyle": "--", "marker": "o"},
    "uncorrected": {"linestyle": ":", "marker": "s"},
    "bernoulli-nb": {"linestyle": "-.", "marker": "^"},
    "bernoulli-nb-calibrated": {"linestyle": (0, (5, 1)), "marker": "v"},
    "naive-corrected": {"linestyle": (0, (5, 1)), "marker": "D"},
    "naive-uncorrected": {"linestyle": "-.", "marker": "P"},
    "normal-corrected": {"linestyle": (0, (5, 1)), "marker": "d"},
    "normal-uncorrected": {"linestyle": "-.", "marker": "X"},
}
HALF = {"fillstyle": "left", "markerfacecolor": INK, "markersize": 7}  # with a temperature
FULL = {"markerfacecolor": INK, "markersize": 3.5}  # small, on top of what they may cover
SOME: dict[str, Look] = {  # where some features are relevant
    "corrected": {"linestyle": "-", "marker": "o", **FULL},
    "uncorrected": {"linestyle": (0, (3, 1, 1, 1)), "marker": "s", **FULL},
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
ALL_KEPT = " If all features are kept, there is nothing to correct, and the methods are the same."
LEVEL = 0.99  # of the bands, all categories of a method together


def style(family: Method) -> Look:
    """Return how the line of a method is drawn; with a temperature, its markers are half full."""
    look = (SOME if family.relevant == "some" else STYLES)[family.method]
    return {"markerfacecolor": "white"} | look | (HALF if family.tempered else {})


# ---- tables ----


def selection_table(record: Record) -> list[PageTable]:
    """The numbers of features kept, gamma, and the ties at gamma."""
    thesis = {str(k): v for k, v in record.thesis.get("gamma", {}).items()}
    names = ("gamma", "n_features", "kept", "tied", "tied_kept")
    columns = {name: dict(record.by_size(name)) for name in names}
    sets, rows = record.n_sets, []
    for label in record.labels:
        gamma, p, n_selected, n_tied, n_tied_selected = (columns[name][label] for name in names)
        row = {"selection": label, "kept": n_selected.mean(), "of": int(p.max())}
        row["gamma"] = gamma.mean()
        if sets > 1:
            row |= {"gamma, lowest": gamma.min(), "gamma, highest": gamma.max()}
        row |= {"tied at gamma": n_tied.mean(), "of these kept": n_tied_selected.mean()}
        if (n_selected == p).all():  # nothing was left out: there is no gamma
            row |= dict.fromkeys(list(row)[3:], np.nan)
        if thesis:
            row["gamma, thesis"] = thesis.get(label, np.nan)
        rows.append(row)
    score = "an absolute correlation" if record.n_classes == 2 else "a correlation ratio"
    caption = (
        f"Gamma bounds the {record.unit}s that were left out: each has {score} with the response "
        "of the training cases of at most gamma. Those for which it equals gamma are tied; those "
        "of them that were kept were chosen at random"
        + ("." if sets == 1 else f". Means over {sets:,} training sets.")
    )
    title = f"{record.unit.capitalize()}s kept"
    return [PageTable("selection", title, pd.DataFrame(rows), caption)]


def calibration_table(record: Record) -> list[PageTable]:
    """Calibration by first decimal of the prediction, one table for each rule or sampler."""
    tables, class_name = [], record.positive_class_name
    actual = class_name if record.n_classes == 2 else "right"
    caption = (
        f"C is the first decimal of the predictive probability of {class_name}; # the number of "
        "test cases in that category, Pred their mean prediction, Actual the fraction of "
        f"them that are {actual}. With all features there is nothing to correct."
    )
    if record.thesis_calibration is not None:
        caption += (
            f" The thesis's numbers (table {record.thesis['calibration_label']}) stand beside "
            "ours; its data set is another draw from the same model."
        )
    methods = (record.arms[0].method, "corrected", "uncorrected")
    for variant in record.variants:
        blocks = [
            _calibration_block(record, label, variant)
            for label in record.labels
            if any(record.find(label, method, variant) for method in methods)
        ]
        suffix = "" if variant == record.variants[0] else f"-{variant}"
        title = f"Calibration, {variant_words(variant)}"
        frame = pd.concat(blocks, ignore_index=True)
        tables.append(PageTable(f"calibration{suffix}", title, frame, caption, long=bool(suffix)))
    return tables


def _calibration_block(record: Record, label: str, variant: str) -> pd.DataFrame:
    frame = pd.DataFrame({"features": [label] * 10, "C": range(10)})
    for family in record.families(("corrected", "uncorrected", "complete")):
        arm = record.find(label, family.method, variant, family.options)
        if arm is None or arm.family != family:
            continue
        calibration = metrics.calibration(*record.probability_and_hit(arm))
        title = family.words.replace("complete", "corrected")
        frame[f"{title}: #"] = calibration["cases"]
        frame[f"{title}: Pred"] = calibration["predicted"]
        frame[f"{title}: Actual"] = calibration["actual"]
        thesis = record.thesis_calibration
        if thesis is not None and family.options == Method(relevant="all"):
            theirs = thesis[(thesis.features_selected == label) & (thesis.method == family.method)]
            theirs = theirs.set_index("category").reindex(range(10))
            names = {"#": "cases", "Pred": "mean_predicted", "Actual": "fraction_actual"}
            for name, column in names.items():
                frame[f"{title}, thesis: {name}"] = theirs[column].to_numpy()
    return frame


def variant_words(variant: str) -> str:
    """Return how titles call a rule for theta, or a sampler."""
    return VARIANTS.get(variant, variant)


@lru_cache(maxsize=2)
def measured(record: Record) -> dict[Method, dict[str, float]]:
    """Return error, expected error, AMLP and squared error of every arm."""
    y = record.response
    return {arm: metrics.scores(record.probability(arm), y) for arm in record.arms}


def score_table(record: Record) -> list[PageTable]:
    """Error, expected error, AMLP and squared error of every arm."""
    rows = [record.keys(arm) | measures for arm, measures in measured(record).items()]
    caption = (
        f"Over {len(record.response):,} test cases. The expected error is what the predictions "
        "themselves expect; AMLP is the average minus log probability of the actual class."
    )
    if record.n_classes > 2:
        caption += (
            " The squared error is half of the sum over classes of the squared differences between "
            "the probability of a class and 1 or 0, whether it is the actual one."
        )
    if not record.config["own"]:  # else the summary has said it
        caption += manner_words(record)
    return [PageTable("scores", "Performance", pd.DataFrame(rows), caption)]


def classifier_table(record: Record) -> list[PageTable]:
    """AUC, Brier score, sensitivity, specificity and calibration of every arm; or confusions."""
    classes, rows, confusion_rows = record.tested.classes, [], []
    two = len(classes) == 2
    for score in record.predicting:
        row: dict[str, object] = {"arm": score.name}
        row |= _interval("AUC", score.auc_interval)
        row["Brier"] = metrics.squared_error(score.probability, score.tested.response)
        for name, g in (("sensitivity", 1), ("specificity", 0)) if two else ():
            row |= _interval(name, score.right_of(g))
        names = ("calibration slope", "calibration intercept")[: 1 + two]
        for name, interval in zip(names, score.recalibration, strict=False):
            row |= _interval(name, interval)
        rows.append(row)
        for name, counts in zip(classes, score.confusion, strict=True):
            predicted = {f"said to be: {of}": n for of, n in zip(classes, counts, strict=True)}
            confusion_rows.append({"arm": score.name, "class": name} | predicted)
    caption = (
        "A slope below 1 says that an arm is over-confident, one above 1 under-confident. A dash: "
        "no slope is best, because the log odds divide these cases without an error. Intervals are "
        f"of 95 %, over {record.tested.unit_name}.{record.tested.about_auc}"
        + (f" Class 1 is {record.class_words(1)}." if two else "")
        + record.tested.about_intervals
    )
    tables = [PageTable("classifiers", "As classifiers", pd.DataFrame(rows), caption)]
    if not two:
        words = "How many test cases of each class every arm says to be of each class."
        frame = pd.DataFrame(confusion_rows)
        tables.append(PageTable("confusion", "Confusions", frame, words, long=len(frame) > 20))
    return tables


def _interval(name: str, ends: Iterable[float]) -> dict[str, float]:
    """Return the columns of a number and the ends of its interval."""
    parts = ("value", "low", "high")
    return {f"{name}: {part}": value for part, value in zip(parts, ends, strict=True)}


def differences_table(record: Record) -> list[PageTable]:
    """Every arm against the one with the lowest AMLP: paired differences of AMLP and errors."""
    scored = record.predicting
    best = min(scored, key=lambda score: score.amlp)
    rows = []
    for score in scored:
        if score is best:
            continue
        tested = score.tested
        less = tested.independent(score.loss - best.loss)
        difference = metrics.student(less, score.less(best)[1])
        wrong = score.wrong_cases, best.wrong_cases
        only = [(a & ~b).sum() for a, b in permutations(wrong)]
        rows.append(
            {"arm": score.name}
            | _interval("AMLP more than the best", difference)
            | {"wrong: only this arm": only[0], "wrong: only the best": only[1]}
            | {"wrong: p": metrics.mcnemar(*wrong, tested.group_id, tested.wider)}
        )
    caption = (
        f"The best is {best.name}, with the lowest AMLP. Intervals are Student's, of 95 %, over "
        f"{best.tested.unit_name}; as the same cases have chosen the best, differences are "
        "somewhat too large. p is that of McNemar's exact test that both err as often"
        + (", by the signs of the differences of groups." if best.tested.group is not None else ".")
        + best.tested.about_intervals
    )
    title = "Differences from the best"
    return [PageTable("differences", title, pd.DataFrame(rows), caption)] if rows else []


def timing_table(record: Record) -> list[PageTable]:
    """Processor seconds spent on each arm, the thesis's beside ours."""
    frame = pd.DataFrame(record.timings())
    if record.logistic:
        caption = (
            "Processor seconds to train, of all chains together, and to predict the test cases"
            + (f", means over {record.n_blocks:,} divisions" if record.n_blocks > 1 else "")
            + ". A method of others trains as it predicts."
        )
        return [PageTable("timings", "Computation time", frame, caption, long=len(frame) > 25)]
    caption = (
        f"Processor seconds for {pluralise(record.n_sets, 'training set')} and "
        f"{len(record.response):,} test cases. "
        "Selection serves all methods; fit and predict each compute the tables of integrals they "
        "need, and the first arm of each "
        f"{record.variant_name} pays for the tables that later ones share. Of a peer, only the "
        "total is known, selection included." + record.thesis.get("seconds_note", "")
    )
    return [PageTable("timings", "Computation time", frame, caption)]


# ---- calibration with exact bands ----


def reliability(record: Record, arm: Method) -> pd.DataFrame:
    """Calibration with the exact band of each category, all holding together at LEVEL."""
    p, y = record.probability_and_hit(arm)
    frame, category = metrics.calibration(p, y), metrics.categories(p)
    filled = np.flatnonzero(frame["cases"])
    bands = np.full((len(frame), 2), np.nan)
    for c in filled:
        bands[c] = metrics.exact_band(p[category == c], 1 - (1 - LEVEL) / len(filled))
    frame["band low"], frame["band high"] = bands.T
    weight = 1 / metrics.times(record.tested.unit)
    hits, cases = (np.bincount(category, of, 10) for of in (weight * y, weight))
    frame["actual low"], frame["actual high"] = metrics.clopper_pearson(hits, cases)
    inside = np.where((bands[:, 0] <= frame.actual) & (frame.actual <= bands[:, 1]), "yes", "no")
    frame["inside"] = np.where(frame["cases"] > 0, inside, "")
    return frame


def reliability_part(record: Record) -> list[PageTable | Figure]:
    """Calibration of every method with exact bands: diagrams, and tables of selected features."""
    tables = [] if record.logistic else _reliability_tables(record)
    return [*_reliability_figures(record), *tables]


def _reliability_tables(record: Record) -> list[PageTable]:
    """Return how many categories are inside their bands, and all categories."""
    names_variant = record.mixture and len(record.variants) > 1
    parts, rows = [], []
    for arm in record.arms if names_variant else record.main_arms:
        keys = {"features": arm.label, "method": arm.words}
        keys |= {"sampler": arm.variant} if names_variant else {}
        frame = reliability(record, arm).rename(columns={"category": "C"})
        inside, filled = int((frame.inside == "yes").sum()), int((frame.cases > 0).sum())
        rows.append(keys | {"categories inside their band": inside, "of": filled})
        parts.append(pd.DataFrame(keys | dict(frame.items())))
    frame, words = pd.concat(parts, ignore_index=True), _about_bands(record)
    return [
        PageTable(
            "reliability-summary", "Calibration: inside the bands?", pd.DataFrame(rows), words
        ),
        PageTable("reliability", "Calibration with exact bands", frame, words, long=True),
    ]


def _about_bands(record: Record) -> str:
    """Say what the bands mean; test cases are independent if each data set has only one."""
    words = ""
    if record.n_classes > 2:
        words = (
            "The confidence of a prediction is the probability of the predicted class, which is "
            "right in the fraction of cases shown. "
        )
    words += (
        f"If predictions are calibrated, all categories of a method are inside their bands with a "
        f"probability of at least {LEVEL:.0%}. The bands are exact (Poisson-binomial), and the "
        "level is divided between the categories."
    )
    if record.tested.repetition.any():
        words += " In the intervals of fractions a case counts once, however often it was tested."
    if len(record.response) > len(np.unique(record.predictions["replicate"])):
        words += " This holds for independent cases; here test cases share training sets."
    return words


def _reliability_figures(record: Record) -> list[Figure]:
    """Return reliability diagrams of every method, with exact bands and intervals."""
    class_name = drawn_words(record.positive_class_name, 20)
    x_label, y_label = f"mean probability of {class_name}", f"fraction in {class_name}"
    if record.n_classes > 2:
        x_label, y_label = "mean confidence", "fraction that is right"

    def of_variant(variant: str):
        arms = [arm for arm in record.arms_with_predictions if arm.variant in (variant, NONE)]
        sizes = {"width": lambda n: 2.2 * n + 0.5, "height": lambda n: 2.5 * n + 0.3}
        figure, axes = grid(len(arms), 4, **sizes, sharex=True, sharey=True)
        for axis, arm in zip(axes.flat, arms, strict=False):
            frame = reliability(record, arm)
            frame = frame[frame.cases > 0]
            x, low, high = frame.predicted, frame["band low"], frame["band high"]
            axis.vlines(x, low, high, color=PALE, linewidth=7, zorder=0)
            axis.vlines(x, frame["actual low"], frame["actual high"], color=INK, linewidth=0.7)
            axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.7)
            for inside, face in (("yes", INK), ("no", "white")):
                part = frame[frame.inside == inside]
                look = {"color": INK, "markerfacecolor": face, "markersize": 5}
                axis.plot(part.predicted, part.actual, "o", **look)
            axis.set_aspect("equal")
            axis.set_title(fill(drawn_words(record.name(arm), 80), 30), fontsize=8)
        figure.supxlabel(x_label, fontsize=10)
        figure.supylabel(y_label, fontsize=10)
        return figure

    caption = (
        "Each point is a category of predictions with the same first decimal, over "
        f"{len(record.response):,} test cases. The pale bar is the band in which it is expected, "
        "the line the exact (Clopper-Pearson) interval of 95 % of the fraction. Points outside "
        f"their band are hollow. {_about_bands(record)}"
    )
    return _by_variant(record, "reliability", "Reliability", of_variant, caption, "")


# ---- figures of methods by selections ----


def _panels(
    record: Record, methods: tuple[str, ...], draw: Callable, by_label: Callable, by_row: Callable
):
    """Return a figure of methods by features kept, with a panel for each arm.

    A method has a row for each number of features that there may have been before a screening.
    draw : draws an arm on axes; by_label, by_row : titles.
    """
    columns = list(dict.fromkeys(map(base_label, record.labels)))
    origins = dict.fromkeys(label.partition(" of ")[2] for label in record.labels)
    rows: dict[tuple[str, str], list[Method | None]] = {}
    for family, of in product(record.families(methods), origins):
        labels = [f"{column} of {of}" if of else column for column in columns]
        arms = [record.find(label, family.method, options=family.options) for label in labels]
        if any(arms):
            rows[family.method, family.words + (f", of {of}" if of else "")] = arms
    height = 1.55 * len(rows) + 0.7
    figure, axes = canvas(len(rows), len(columns), height=height, sharex=True, sharey="row")
    fitted = np.array([[arm is not None for arm in arms] for arms in rows.values()])
    for (i, row), (j, column) in product(enumerate(rows), enumerate(columns)):
        axis, arm = axes[i, j], rows[row][j]
        axis.set_visible(arm is not None)
        if arm is None:
            continue
        draw(axis, arm)
        if i == fitted[:, j].argmax():
            axis.set_title(by_label(column), fontsize=10)
        if j == fitted[i].argmax():
            axis.set_ylabel(by_row(*row))
    return figure


def _by_variant(
    record: Record, name: str, title: str, draw: Callable, caption: str, complete: str = ALL_KEPT
) -> list[Figure]:
    """Return a figure of the first rule for theta, or one of every sampler.

    draw : returns the figure of a variant.
    complete : what the caption adds where an arm keeps all features.
    """
    figures = []
    variants = record.variants if record.mixture else record.variants[:1] or [NONE]
    for i, variant in enumerate(variants):
        suffix = f"-{variant}" if i else ""
        sampler = f", {variant} sampler" if record.mixture and len(record.variants) > 1 else ""
        all_kept = any(arm.method == "complete" and arm.variant == variant for arm in record.arms)
        words = caption + (complete if all_kept else "")
        figures.append(Figure(name + suffix, title + sampler, draw(variant), words))
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
        axis.set_xlabel(f"{record.unit}s kept")
    else:
        places = np.arange(len(labels))
        words = [size_words(label).replace(" of ", "\nof ") for label in labels]
        axis.set_xticks(places, words)
        if any("\n" in text for text in words):  # long ones, of tables that were screened before
            axis.tick_params(axis="x", labelsize=7)
        axis.set_xlabel("selection")
    for family, measure, look in lines:
        arms = [record.find(label, family.method, variant, family.options) for label in labels]
        values = [measured(record)[arm][measure] for arm in arms if arm]
        axis.plot(places[[arm is not None for arm in arms]], values, color=INK, **look)
    axis.margins(y=0.08)


# ---- figures ----


def correlation_scatter(record: Record) -> list[Figure]:
    """Absolute correlations in training and test cases (fig-trn-tst-cor)."""
    if "train_correlation" not in record.selection:
        return []  # too many features to draw, or one class in the test set
    train = record.selection["train_correlation"]
    figure, axes = canvas(height=4.6, width=6.2)
    axis = axes[0, 0]
    test, dots = record.selection["test_correlation"], {"markersize": 2, "alpha": 0.35}
    axis.plot(train, test, ".", color=INK, rasterized=True, **dots)
    order = np.sort(train)[::-1]
    for label in filter(str.isdigit, record.labels):
        x = order[int(label) - 1]
        axis.axvline(x, color=INK, linewidth=0.9, linestyle="--")
        above = {"xycoords": ("data", "axes fraction"), "ha": "center"}
        axis.annotate(size_words(label), (x, 1.005), fontsize=8, **above)
    axis.set(
        xlabel="absolute correlation with the response, training cases",
        ylabel="absolute correlation, test cases",
        xlim=(0, None),
        ylim=(0, None),
    )
    title = "Correlations in the training and the test cases"
    caption = (
        f"There is one dot for each of {len(train):,} features. Dashed lines mark the weakest "
        "feature of each selection. The correlation in the test cases is closer to the true "
        "one, so a feature far below the diagonal has its training correlation by chance."
    )
    return [Figure("correlation-scatter", title, figure, caption)]


def performance(record: Record) -> list[Figure]:
    """Error rates where the correction is compared, AMLP and squared error, by selection."""
    compared = {arm.method for arm in record.arms}.issuperset(("corrected", "uncorrected"))
    figures = _error_rates(record) if compared else []
    return [*figures, *_losses(record)]


def _error_rates(record: Record) -> list[Figure]:
    """Return actual and expected error rates by number of features."""
    looks = {
        "error": {"label": "actual", "linestyle": "-", "marker": "o"},
        "expected error": {"label": "expected", "linestyle": ":", "marker": "s"},
    }
    looks["expected error"]["markerfacecolor"] = "white"

    def draw(variant: str):
        rows = len(record.options)
        methods = ("uncorrected", "corrected")
        families = [
            replace(options, method=method) for options in record.options for method in methods
        ]
        figure, axes = canvas(rows, 2, height=2.9 * rows + 0.5, sharey=True)
        for family, axis in zip(families, axes.flat, strict=True):
            lines = [(family, measure, look) for measure, look in looks.items()]
            _draw_by_selection(record, axis, variant, lines)
            axis.set_title(family.words)
        axes[0, 0].set_ylim(bottom=0)
        for axis in axes[:, 0]:
            axis.set_ylabel("error rate")
        axes[0, 1].legend(loc="best", frameon=False)
        return figure

    caption = (
        "The expected error rate is the mean probability that a prediction is wrong, by itself. "
        "If it is below the actual one, the predictions are over-confident."
    )
    return _by_variant(record, "error-rates", "Actual and expected error rates", draw, caption)


def _losses(record: Record) -> list[Figure]:
    """Return AMLP and squared error by number of features."""
    measures = {"AMLP": "average minus log probability", "squared error": "average squared error"}

    def draw(variant: str):
        figure, axes = canvas(1, 2, height=3.4 + 0.5 * (len(record.options) > 1))
        for (measure, words), axis in zip(measures.items(), axes.flat, strict=True):
            lines = [
                (family, measure, style(family) | {"label": family.words})
                for family in record.families(STYLES)
            ]
            _draw_by_selection(record, axis, variant, lines)
            axis.set_ylabel(words)
            axis.set_ylim(bottom=0)
        if len(record.options) > 1:
            names = axes[0, 0].get_legend_handles_labels()
            figure.legend(*names, loc="outside upper center", ncols=2, frameon=False)
        else:
            axes[0, 0].legend(loc="best", frameon=False)
        return figure

    title = f"Performance by number of {record.unit}s"
    return _by_variant(record, "performance", title, draw, "Lower is better.")


def null_figure(record: Record) -> list[Figure]:
    """Histograms of predictions where nothing can be predicted."""
    bins = np.linspace(0, 1, 26)

    def draw(axis, arm: Method) -> None:
        p, rates = record.probability_and_hit(arm)[0], measured(record)[arm]
        weights = np.full(len(p), 1 / len(p))
        axis.hist(p, bins, weights=weights, color=GREY, edgecolor=INK, linewidth=0.6)
        title = f"predicted {rates['expected error']:.0%} errors, observed {rates['error']:.0%}"
        axis.set_title(title, fontsize=8, loc="left")
        axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])

    of = f" of {record.selection['n_features'][0]:,}"
    if any(" of " in label for label in record.labels):  # which say it
        of = ""
    names = {
        "bernoulli-nb": "SelectKBest +\nBernoulliNB",
        "bernoulli-nb-calibrated": "the same in\nCalibratedClassifierCV",
    }

    def row_title(method: str, words: str) -> str:
        return names.get(method, f"naive Bayes,\n{words}".replace(", ", ",\n"))

    methods = ("uncorrected", *names, "corrected")
    figure = _panels(record, methods, draw, lambda label: f"{kept_words(label)}{of}\n", row_title)
    for axis in figure.axes:
        axis.yaxis.label.set_fontsize(9)
    class_name = drawn_words(record.positive_class_name)
    figure.supxlabel(f"predictive probability of {class_name}", fontsize=10)
    figure.supylabel("fraction of test cases", fontsize=10)
    caption = (
        "Histograms of the predictions for the test cases. Above each is the error rate that "
        "the predictions expect, and the actual one. Each row has its own scale."
    )
    return [Figure("null", "Predictions by method", figure, caption)]


def correlation_lattice(record: Record) -> list[Figure]:
    """Correlation by two counts, and the sets of counts kept and dropped (fig-sets)."""
    arrays = record.results.load("select", 0)
    value, kind = arrays["correlation"], arrays["kind"]
    n0, n1 = value.shape[0] - 1, value.shape[1] - 1
    gamma = record.config["lattice"]["gamma"]
    figure, axes = canvas(height=0.42 * (n0 + 1) + 1.3, width=0.5 * (n1 + 1) + 1.0)
    axis = axes[0, 0]
    shade = np.array(["#9a9a9a", "#cfcfcf", "#f4f4f4"])
    for (i0, i1), correlation in np.ndenumerate(value):
        axis.add_patch(square(i1, i0, shade[kind[i0, i1]]))
        text = f"{correlation:.2f}".replace("-0.00", "0.00")
        axis.text(i1, i0, text, ha="center", va="center", fontsize=7.5)
    axis.set(xlim=(-0.5, n1 + 0.5), ylim=(-0.5, n0 + 0.5), xticks=range(n1 + 1))
    axis.set_yticks(range(n0 + 1))
    axis.set(xlabel="$I_1$: ones in class 1", ylabel="$I_0$: ones in class 0")
    handles = [square(0, 0, colour) for colour in shade]
    words = [r"Cor $= 0$", rf"$0 <$ |Cor| $\leq$ {gamma:g}", rf"|Cor| $>$ {gamma:g}: kept"]
    figure.legend(handles, words, loc="outside upper center", ncols=3, frameon=False)
    title = "Sample correlation as a function of two counts"
    caption = (
        f"There are {n0 + n1} cases, {n1} of them in class 1. A feature is dropped if its "
        f"counts are on a dark or middle square (gamma = {gamma:g}). The correlation falls "
        "with I0 and grows with I1, so the features that are kept have counts in two corners."
    )
    return [Figure("correlation-lattice", title, figure, caption)]


def square(x: float, y: float, colour: str, **look):
    """Return a square of a map, about a place."""
    from matplotlib.patches import Rectangle

    look = {"edgecolor": "white"} | look
    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, **look)
