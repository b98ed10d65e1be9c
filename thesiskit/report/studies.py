"""Studies: scores of methods over data sets of several settings, and over published tables.

| symbol | name | shape |
|---|---|---|
| A | arms | |
| S | settings of the data, or tables | |
| error rate, promised error rate, AMLP | `values`, `mean` | (A, S, 3) |
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.report import metrics
from thesiskit.report.layout import (
    GREY,
    INK,
    PALE,
    Figure,
    Table,
    canvas,
    hide_from,
    kept_words,
)
from thesiskit.report.metrics import Score
from thesiskit.report.posteriors import temperatures
from thesiskit.report.promises import GREEN, NEAR, RED, Promise, dumbbells
from thesiskit.report.record import OURS, TEMPERED, WHOLE, Arm, Record, method_words
from thesiskit.report.scores import square
from thesiskit.report.stages import counted, manner_words

ERROR, PROMISED, AMLP = range(3)
SURE = 2.0  # standard errors between two methods that differ
BEST, AS_GOOD = "lowest", "as low"
MOST_SENTENCES = 8  # settings that are told one by one
LEAST = 0.005  # of AMLP: nobody minds less
GUESSING = float(np.log(2))
COLOURS = "PuOr"  # that everybody can tell apart: orange is too sure, or worse than to guess
NAMES = {  # on narrow maps
    "corrected, some relevant": "corrected,\nsome relevant",
    "SelectKBest + BernoulliNB": "SelectKBest +\nBernoulliNB",
    "SelectKBest + BernoulliNB, calibrated": "SelectKBest +\nBernoulliNB,\ncalibrated",
    "logistic regression, L2": "logistic\nregression, L2\n(all features)",
}
SHORT = {  # in a square of a map, with a colour of its own
    "uncorrected": ("unc.", "#f7ea8f"),
    "corrected": ("corr.", "#9fd3f2"),
    "corrected, some relevant": ("some", "#84cfb4"),
    "SelectKBest + BernoulliNB": ("NB", "#f3c173"),
    "SelectKBest + BernoulliNB, calibrated": ("cal.", "#e2b4d0"),
    "logistic regression, L2": ("L2", "#d5d5d5"),
}


# ---- settings of the data: everything is a mean over data sets, with its standard error ----


class Scores:
    """The scores of every arm in every data set.

    settings : what the data are drawn with, as the config has it.
    values : (A, S, data sets, 3) error rate, promised error rate and AMLP.
    mean, standard_error : (A, S, 3) their means over data sets, and the standard errors of these.
    """

    def __init__(self, arms: list[Arm], settings: list[dict[str, Any]], values: np.ndarray):
        self.arms, self.settings, self.values = arms, settings, values
        self.mean = values.mean(axis=2)
        self.standard_error = np.apply_along_axis(metrics.standard_error, 2, values)

    def rivals(self, label: str) -> list[int]:
        """Return the rows of the arms with this selection, and of one that selects nothing."""
        return [i for i, arm in enumerate(self.arms) if arm.label == label or arm.method == WHOLE]

    def best(self, rows: list[int], setting: int) -> tuple[int, int, float, float]:
        """Return the arm with the lowest AMLP, the next, and by how much it is lower, +- what."""
        amlp = self.mean[rows, setting, AMLP]
        first, second = (rows[i] for i in np.argsort(amlp, kind="stable")[:2])
        return first, second, *self.differ(first, second, setting)

    def differ(self, one: int, other: int, setting: int) -> tuple[float, float]:
        """Return by how much the AMLP of an arm is lower than another's, and the standard error."""
        lower = self.values[other, setting, :, AMLP] - self.values[one, setting, :, AMLP]
        return float(lower.mean()), metrics.standard_error(lower)


@lru_cache(maxsize=1)
def scored(record: Record) -> Scores:
    """Return the scores of the arms that are compared, with the first rule for theta.

    Without the correction nothing tells how many features are null, and the model in which some are
    relevant says what the other one says: it is left out beside that.
    """
    found, arms, y = record.predictions, record.main_arms, record.response
    if {arm.relevant for arm in arms if arm.method == "uncorrected"} == {"all", "some"}:
        arms = [arm for arm in arms if (arm.method, arm.relevant) != ("uncorrected", "some")]
    settings = record.config["data"].get("settings", [{}])
    place, cases = found["replicate"], np.bincount(found["replicate"])
    values = np.empty((len(arms), len(cases), 3))
    for i, arm in enumerate(arms):
        p = record.probability(arm)
        kinds = ((p >= 0.5) != (y == 1), np.minimum(p, 1 - p), metrics.losses(p, y))
        for j, of_cases in enumerate(kinds):
            values[i, :, j] = np.bincount(place, of_cases) / cases
    shape = (len(arms), len(settings), record.config["replicates"], 3)
    return Scores(arms, settings, values.reshape(shape))


def setting_words(setting: dict[str, Any]) -> str:
    """Return what data sets are drawn with, in a few words; nothing where there is one setting."""
    if not setting:
        return ""
    n, of = sum(setting["train"]), setting["of"]
    if setting["alpha"] is not None:
        return f"the thesis's model, alpha {setting['alpha']:g}, {of:,} features, n = {n:,}"
    if not (setting["relevant"] and setting["effect"]):
        return f"0 of {of:,} relevant, n = {n:,}"
    return f"{setting['relevant']:,} of {of:,} relevant, effect {setting['effect']:g}, n = {n:,}"


def _promises(found: Scores, told: Callable[[int, int], np.ndarray]) -> list[Promise]:
    """Return what every method promises and makes in each setting.

    told : returns the promises of an arm in the data sets of a setting.
    """
    result = []
    for (s, setting), (i, arm) in product(enumerate(found.settings), enumerate(found.arms)):
        columns = (found.values[i, s, :, ERROR], told(i, s), found.values[i, s, :, AMLP])
        numbers = [(float(one.mean()), metrics.standard_error(one)) for one in columns]
        result.append(Promise(setting_words(setting), arm, *numbers))
    return result


def signals_figure(record: Record) -> list[Figure]:
    """Errors that each method promises and makes in every setting of the data, and its AMLP."""
    found = scored(record)
    figure = dumbbells(_promises(found, lambda i, s: found.values[i, s, :, PROMISED]), amlp=True)
    caption = (
        "The error rate that the predictions promise, and the actual one; the line between is "
        f"green up to {100 * NEAR:.0f} points. The lowest AMLP is bold. Means over "
        f"{record.config['replicates']:,} data sets of each kind."
    )
    return [Figure("signals", "What each method promises and makes", figure, caption)]


def signals_table(record: Record) -> list[Table]:
    """Errors made and promised, and AMLP, of every method in every setting of the data."""
    found, rows = scored(record), []
    settings = list(product(range(len(found.settings)), record.labels))
    for s, label in settings:
        rivals = found.rivals(label)
        first = found.best(rivals, s)[0]
        for i in rivals:
            # one that takes all features is the same for all selections
            if found.arms[i].method != WHOLE or label == record.labels[0]:
                rows.append(_row(found, i, s, first))
    few = len(settings) <= MOST_SENTENCES
    lead = tuple(_sentence(found, s, label, record.labels) for s, label in settings) if few else ()
    caption = (
        f"Means over {record.config['replicates']:,} data sets of each kind, ± their standard "
        "errors. Promised is the "
        "error rate that the predictions themselves promise; below the actual one they are too "
        "sure, above it too careful. To guess with probability one half has an AMLP of 0.693. "
        "The last column marks the method with the lowest AMLP of those that keep as many "
        f'features ("{BEST}"), and those that differ from it by at most two standard errors '
        f'("{AS_GOOD}").'
    )
    title, frame = "Which method is best where", pd.DataFrame(rows)
    table = Table("signals", title, frame, caption, lead=lead, long=not few)
    return [table] if few else [_counts(found, settings), table]


def _row(found: Scores, i: int, s: int, first: int) -> dict[str, Any]:
    mean, spread, mark = found.mean[i, s], found.standard_error[i, s], BEST
    if i != first:
        difference, error = found.differ(first, i, s)
        mark = "" if difference > SURE * error else AS_GOOD
    return {
        "data": setting_words(found.settings[s]),
        "kept": found.arms[i].label,
        "method": found.arms[i].words,
        "errors: mean": mean[ERROR],
        "errors: ±": spread[ERROR],
        "promised errors: mean": mean[PROMISED],
        "promised errors: ±": spread[PROMISED],
        "AMLP: mean": mean[AMLP],
        "AMLP: ±": spread[AMLP],
        "AMLP: best": mark,
    }


def _sentence(found: Scores, s: int, label: str, labels: list[str]) -> str:
    first, second, difference, error = found.best(found.rivals(label), s)
    words = setting_words(found.settings[s])
    where = f"{words}, {kept_words(label)}" if len(labels) > 1 else words
    made, promised, amlp = found.mean[first, s]
    text = (
        f"{where[0].upper()}{where[1:]}: {found.arms[first].words} has the lowest AMLP "
        f"({amlp:.3f}); it promises {promised:.1%} errors and makes {made:.1%}. Next is "
        f"{found.arms[second].words} ({found.mean[second, s, AMLP]:.3f}), "
    )
    if difference > SURE * error:
        return f"{text}which is worse by {difference:.3f} ± {error:.3f}."
    return f"{text}which these data sets cannot tell from it."


def _counts(found: Scores, settings: list[tuple[int, str]]) -> Table:
    """Count in how many settings each method is best, and say where; show what it loses elsewhere.

    A setting is that of the data with a number of features kept.
    """
    places = []
    for s, label in settings:
        rivals = found.rivals(label)
        first = found.best(rivals, s)[0]
        for i in rivals:
            lower, error = found.differ(first, i, s) if i != first else (0.0, 0.0)
            off = float(found.mean[i, s, PROMISED] - found.mean[i, s, ERROR])
            one = found.settings[s]
            relevant = one["relevant"] if one["alpha"] is None else None
            places.append((found.arms[i].words, i == first, lower <= SURE * error, lower, off,
                           relevant))  # fmt: skip
    names = ["method", "best", "good", "loss", "off", "relevant"]
    frame = pd.DataFrame(places, columns=names)
    told = dict(list(frame.groupby("method", sort=False)))
    order = sorted(told, key=lambda name: -told[name]["best"].sum())
    rows = []
    for name in order:
        loss, off = told[name]["loss"].to_numpy(), told[name]["off"].to_numpy()
        rows.append(
            {
                "method": name,
                "lowest AMLP": int(told[name]["best"].sum()),
                "as low": int(told[name]["good"].sum()),
                "above the lowest: mean": loss.mean(),
                "above the lowest: most": loss.max(),
                "promised minus actual error: mean size": np.abs(off).mean(),
                "promised minus actual error: least": off.min(),
                "promised minus actual error: most": off.max(),
            }
        )
    many, where = len(settings), []
    for name in order:  # with how many relevant features
        relevant = told[name]["relevant"][told[name]["best"]].dropna().astype(int).value_counts()
        share = [f"{times} with {number:,}" for number, times in relevant.sort_index().items()]
        most = f"{told[name]['best'].sum():,} ({', '.join(share)})" if share else "none"
        where.append(f"{name} is best in {most}")
    caption = (
        f"Of {many:,} settings of the data and of the number of features kept: in how many a "
        "method has the lowest AMLP, and in how many it is not clearly worse (at most two standard "
        "errors); then by how much its AMLP is above the lowest, and how far its promised error "
        "rate is from the actual one, over all settings."
    )
    lead = (
        f"Of {many:,} settings, {'; '.join(where)}. In brackets: with how many relevant features."
    )
    title = "In how many settings each method is best"
    return Table("signals-counts", title, pd.DataFrame(rows), caption, lead=(lead,))


# ---- maps of a grid of signals: how many features are relevant, by how large their effect is ----


class Map(NamedTuple):
    """One map: the settings with as many features and cases, for one selection.

    places : setting -> row and column, by size of effect and by number of relevant features.
    """

    title: str
    label: str
    effects: list[float]
    relevant: list[int]
    places: dict[int, tuple[int, int]]

    def squares(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the settings as a map, NaN where the grid has none."""
        found = np.full((len(self.effects), len(self.relevant)), np.nan)
        for setting, place in self.places.items():
            found[place] = values[setting]
        return found

    def finish(self, axis, *, left: bool, below: bool) -> None:
        """Name the squares at the left and lower edge."""
        axis.set_xticks(
            range(len(self.relevant)), [f"{x:,}" for x in self.relevant] if below else []
        )
        axis.set_yticks(range(len(self.effects)), [f"{y:g}" for y in self.effects] if left else [])
        axis.tick_params(length=0, labelsize=7)
        axis.spines[:].set_visible(False)


def maps_of(record: Record) -> list[Map]:
    """Return the maps of a grid."""
    kinds: dict[tuple, dict[int, dict[str, Any]]] = {}
    for s, one in enumerate(record.config["data"]["settings"]):
        if one["alpha"] is None:
            kinds.setdefault((one["of"], tuple(one["train"])), {})[s] = one
    found = []
    for ((of, train), mine), label in product(kinds.items(), record.labels):
        effects = sorted({one["effect"] for one in mine.values()})
        relevant = sorted({one["relevant"] for one in mine.values()})
        places = {s: (effects.index(one["effect"]), relevant.index(one["relevant"]))
                  for s, one in mine.items()}  # fmt: skip
        title = f"{of:,} features\n{sum(train):,} cases\n{kept_words(label)}"
        found.append(Map(title, label, effects, relevant, places))
    return found


def signals_maps(record: Record) -> list[Figure]:
    """Maps of what each method promises and makes, and of which is best where."""
    mean, each = scored(record).mean, record.config["replicates"]
    off = mean[:, :, PROMISED] - mean[:, :, ERROR]

    def signed(value: float) -> str:
        text = f"{value:+.2f}"
        return "0" if text[1:] == "0.00" else text.replace("0.", ".").replace("-", "−")

    words, amlp_words = "promised minus actual error rate", "average minus log probability"
    best = (
        "In each square is the method with the lowest AMLP, and by how much it is lower than "
        "that of the next. Where this is less than two standard errors over "
        f"{each:,} data sets, or less than {LEAST:g}, nobody is clearly best: the name is in "
        "brackets and the square is white. Whatever is kept, logistic regression takes all "
        "features."
    )
    promise = (
        "Below zero (orange) a method is too sure of itself, above (purple) too careful. "
        f"Means over {each:,} data sets."
    )
    amlp = (
        "Lower is better. Purple is better than to guess with probability one half, which has "
        f"0.693, and orange is worse. Means over {each:,} data sets."
    )
    return [
        Figure("signals-best", "Which method is best where", _draw_best(record), best),
        Figure(
            "signals-promise", words.capitalize(),
            _draw_maps(record, off, (-0.4, 0.0, 0.4), COLOURS, words, signed), promise,
        ),
        Figure(
            "signals-amlp", amlp_words.capitalize(),
            _draw_maps(record, mean[:, :, AMLP], (0.0, GUESSING, 2 * GUESSING), f"{COLOURS}_r",
                       amlp_words, lambda value: f"{value:.2f}".lstrip("0")), amlp,
        ),
    ]  # fmt: skip


def _draw_maps(
    record: Record, values: np.ndarray, limits: tuple[float, float, float], colours: str,
    words: str, text: Callable[[float], str],
):  # fmt: skip
    """Draw a map of each method, one below the other for each number of features and cases.

    values (A, S) : `text` writes them into the squares.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm

    found, maps = scored(record), maps_of(record)
    columns = len(found.rivals(record.labels[0]))
    figure, axes = canvas(
        len(maps), columns, width=1.55 * columns + 1.2, height=1.45 * len(maps) + 1.1
    )
    norm = TwoSlopeNorm(limits[1], limits[0], limits[2])
    for r, one in enumerate(maps):
        for c, i in enumerate(found.rivals(one.label)):
            axis = axes[r, c]
            squares = one.squares(values[i])
            axis.imshow(squares, origin="lower", cmap=colours, norm=norm, aspect="auto")
            for place, number in np.ndenumerate(squares):
                if np.isfinite(number):
                    dark = abs(norm(number) - 0.5) > 0.3
                    axis.text(*place[::-1], text(number), ha="center", va="center", fontsize=6.5,
                              color="white" if dark else INK)  # fmt: skip
            one.finish(axis, left=c == 0, below=r == len(maps) - 1)
            if r == 0:
                name = found.arms[i].words
                axis.set_title(NAMES.get(name, name), fontsize=8.5)
        axes[r, 0].set_ylabel(
            one.title, fontsize=8.5, rotation=0, ha="right", va="center", labelpad=22
        )
    figure.supxlabel("number of relevant features (size of effect at the left edge)", fontsize=9)
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=axes, shrink=0.4, aspect=30, extend="both", pad=0.01
    )
    bar.set_label(words, fontsize=8.5)
    bar.ax.tick_params(labelsize=7.5)
    return figure


def _draw_best(record: Record):
    from matplotlib.patches import Patch

    found, maps = scored(record), maps_of(record)
    columns = len(record.labels)
    rows = len(maps) // columns
    figure, axes = canvas(rows, columns, width=3.3 * columns + 1.0, height=2.1 * rows + 1.1)
    used: dict[str, tuple[str, str]] = {}
    for m, one in enumerate(maps):
        axis = axes.flat[m]
        for s, (y, x) in one.places.items():
            first, _, lower, error = found.best(found.rivals(one.label), s)
            words = found.arms[first].words
            short, colour = used.setdefault(words, SHORT.get(words, (words[:6], GREY)))
            sure = lower > max(SURE * error, LEAST)
            face = colour if sure else "white"
            axis.add_patch(square(x, y, face, edgecolor=GREY, linewidth=0.6))
            name = short if sure else f"({short})"
            axis.text(x, y + 0.14, name, ha="center", va="center", fontsize=8.5)
            axis.text(x, y - 0.22, f"by {lower:.3f}", ha="center", va="center", fontsize=6.5,
                      color=INK)  # fmt: skip
        axis.set(xlim=(-0.5, len(one.relevant) - 0.5), ylim=(-0.5, len(one.effects) - 0.5))
        one.finish(axis, left=m % columns == 0, below=m >= len(maps) - columns)
        axis.set_title(one.title.replace("\n", ", "), fontsize=8.5)
    order = list(dict.fromkeys(arm.words for arm in found.arms if arm.words in used))
    handles = [Patch(facecolor=used[name][1], edgecolor=GREY) for name in order]
    labels = [f"{used[name][0]}: {name}" for name in order]
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("number of relevant features", fontsize=9)
    figure.supylabel("size of effect, standard deviations", fontsize=9)
    return figure


# ---- tables that were screened before: promises and what is made of new cases ----


def screened_promises(record: Record) -> list[Promise]:
    """Return what every method promises and makes, on each kind of data.

    Ours promise by their predictions, models of others by cross-validation.
    """
    found = scored(record)
    folded = record.predictions["cross_validated"]
    # a number for each replicate: the mean over its folds
    replicates = found.values.shape[1] * found.values.shape[2]
    folded = folded.reshape(len(record.arms), replicates, -1).mean(axis=2)

    def told(i: int, s: int) -> np.ndarray:
        arm = found.arms[i]
        of_folds = folded[arm.row].reshape(len(found.settings), -1)[s]
        return found.values[i, s, :, PROMISED] if arm.own else of_folds

    return _promises(found, told)


def screened_table(record: Record) -> list[Table]:
    """What each method promises on a table that was screened before, and what it makes."""
    found = screened_promises(record)
    rows: list[dict[str, Any]] = [
        {
            "data": one.data,
            "kept": one.arm.label,
            "method": one.arm.words,
            "promised by": "its predictions" if one.arm.own else "cross-validation",
            "promised error: mean": one.told[0],
            "promised error: ±": one.told[1],
            "actual error: mean": one.actual[0],
            "actual error: ±": one.actual[1],
            "AMLP: mean": one.amlp[0],
            "AMLP: ±": one.amlp[1],
        }
        for one in found
    ]
    frame = pd.DataFrame(rows)
    frame = frame if frame["data"].any() else frame.drop(columns="data")
    shared = "." if record.config["drawn"] else (
        ", as if divisions were independent; they share cases."
    )  # fmt: skip
    caption = (
        "Models of scikit-learn are cross-validated (ten folds) on the table that they were "
        "given, as anybody would who does not know how it was screened. Ours say how often "
        "they will be wrong by their predictions. The actual error rate is that of test cases "
        f"that took no part in the screening. Means over {_repetitions(record)}, ± standard "
        f"errors{shared}"
    )
    kinds = dict.fromkeys(one.data for one in found)
    lead = tuple(_kept_promises([one for one in found if one.data == data]) for data in kinds)
    title = "What each method promises, and what it makes"
    return [Table("screened", title, frame, caption, lead=lead)]


def _repetitions(record: Record) -> str:
    each = record.config["replicates"]
    if record.config["drawn"]:
        return f"{counted(each, 'data set')} of each kind"
    return counted(each, "random division")


def _kept_promises(found: list[Promise]) -> str:
    """Say of a kind of data who keeps the promise best and worst, and who is wrong least."""

    def off(one: Promise) -> float:
        return abs(one.told[0] - one.actual[0])

    least, data = min(found, key=lambda one: one.amlp[0]), found[0].data
    best, worst = (
        f"{one.arm.words} (promised {one.told[0]:.1%}, makes {one.actual[0]:.1%})"
        for one in (min(found, key=off), max(found, key=off))
    )
    text = (
        (f"{data}: " if data else "")
        + f"nearest to its promise is {best}; farthest from it is {worst}. "
        f"The lowest AMLP is {least.amlp[0]:.3f}, of {least.arm.words}."
    )
    return f"{text[0].upper()}{text[1:]}"


def screened_figure(record: Record) -> list[Figure]:
    """Promised and actual error rates of each method on a table that was screened before."""
    figure = dumbbells(screened_promises(record))
    title = "Promised and actual error rates on a table that was screened before"
    caption = (
        "Models of scikit-learn promise by cross-validation of the table that they were "
        "given, ours by their predictions. The line between is what a promise is off by; it "
        f"is green up to {100 * NEAR:.0f} points. Means over {_repetitions(record)}."
    )
    return [Figure("screened", title, figure, caption)]


# ---- the board: a study of several tables, and how each method stands against tuned ridge ----

RIDGE = "tuned ridge"
BLUE, SHADE = "#2f6fb0", "#f6ede4"
COLOURED = (
    "Green is the model of this page, blue naive Bayes of features that are cut at their medians."
)
COLUMNS, OFF, NAMED = 4, 0.1, 3  # panels in a row; tables that are off by more are named, so many
LOWEST = 1e-3  # an AMLP below it is drawn there
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
MARKS: dict[tuple[str, bool], dict[str, Any]] = {  # by method, and whether it has a temperature
    ("corrected", True): {"marker": "D", "color": GREEN, "markersize": 8},
    ("corrected", False): {"marker": "D", "color": GREEN, "markerfacecolor": "white"},
    ("uncorrected", False): {"marker": "x", "color": GREEN},
    ("uncorrected", True): {"marker": "+", "color": GREEN, "markersize": 8},
    ("naive-corrected", True): {"marker": "p", "color": BLUE},
    (WHOLE, False): {"marker": "s", "color": INK, "markersize": 7},
    ("lasso", False): {"marker": "s", "color": INK, "markerfacecolor": "white"},
    ("random-forest", False): {"marker": "^", "color": "#7a5195", "markersize": 7},
    ("nearest-centroids", False): {"marker": "o", "color": RED, "markerfacecolor": "white"},
    ("gaussian-nb", False): {"marker": "v", "color": RED},
}
UNSHOWN = [("uncorrected", True), ("naive-corrected", True)]  # of many methods


class Mean(NamedTuple):
    """A mean over tables, with Student's interval of 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> "Mean":
        """Return the mean of the values of some tables."""
        mean, error = float(values.mean()), metrics.standard_error(values)
        half = error * scipy.stats.t.ppf(0.975, max(1, len(values) - 1))
        return cls(mean, mean - half, mean + half)


class Against(NamedTuple):
    """AMLP less that of a rival, on the tables that both predict.

    difference : its mean over tables.
    lower, higher : the numbers of tables on which it is lower, and higher.
    clearly_lower, clearly_higher : those where it is so by more than SURE standard errors over
        cases.
    """

    difference: Mean
    lower: int
    higher: int
    clearly_lower: int
    clearly_higher: int


class Board:
    """The scores of the arms on each table; those of an arm that does not predict it are NaN.

    scores : by arm, then by table.
    values : (A, S, 3) error rate, promised error rate and AMLP; predicts : (A, S) whether there
        are any.
    rival : the row of tuned ridge.
    lowest : the row of the arm with the lowest mean AMLP, of those that predict all tables.
    """

    def __init__(self, names: list[str], arms: list[Arm], scores: list[list[Score]]):
        self.names, self.arms, self.scores = names, arms, scores
        found = np.array([[(one.error, one.expected, one.amlp) for one in row] for row in scores])
        self.predicts = np.isfinite(found[:, :, AMLP])
        self.values = np.where(self.predicts[:, :, None], found, np.nan)
        self.rival = next(i for i, arm in enumerate(arms) if arm.method == WHOLE)
        total = self.values[:, :, AMLP].sum(axis=1)
        self.lowest = int(np.where(self.predicts.all(axis=1), total, np.inf).argmin())

    def mean(self, arm: int, measure: int) -> Mean:
        """Return the mean of a measure over the tables that an arm predicts."""
        values = self.values[arm, :, measure]
        return Mean.of(values[np.isfinite(values)])

    def within(self, arm: int) -> float:
        """Return the standard error of the mean AMLP over cases, the tables being these."""
        errors = [self.scores[arm][s].amlp_error for s in np.flatnonzero(self.predicts[arm])]
        return float(np.sqrt(np.square(errors).sum()) / len(errors))

    def against(self, arm: int) -> Against:
        """Return how an arm stands against tuned ridge."""
        both = np.flatnonzero(self.predicts[arm] & self.predicts[self.rival])
        pairs = [self.scores[arm][s].less(self.scores[self.rival][s]) for s in both]
        difference, error = np.array(pairs).T
        clear = np.abs(difference) > SURE * error
        below, above = difference < 0, difference > 0
        counts = (below, above, clear & below, clear & above)
        return Against(Mean.of(difference), *(int(one.sum()) for one in counts))

    def name(self, arm: int) -> str:
        """Return what an arm is called in sentences."""
        one = self.arms[arm]
        return one.words + ("" if one.label == "all" else f" ({kept_words(one.label)})")


def tempered(arm: Arm) -> bool:
    """Whether the log odds of an arm are divided by a temperature."""
    return arm.temperature == TEMPERED


@lru_cache(maxsize=1)
def board_of(study: Record) -> Board:
    """Return the scores of a study."""
    by_table = [table.scores for table in study.tables.values()]
    return Board(list(study.tables), study.arms, [list(row) for row in zip(*by_table, strict=True)])


def board_table(study: Record) -> list[Table]:
    """Errors, promises and AMLP of every method, means over tables, and wins against ridge."""
    board = board_of(study)
    against = {i: board.against(i) for i in range(len(board.arms)) if i != board.rival}
    order = sorted(
        range(len(board.arms)), key=lambda i: against[i].difference.value if i in against else 0.0
    )
    caption = (
        "Means over the tables that a method can predict (models of two classes leave out the "
        "others), with Student's intervals of 95 % over the tables; ± is the standard error "
        "over cases, for these tables. Promised is the error rate that the predictions "
        f"themselves promise. Against {RIDGE} (logistic regression, L2, of all features): AMLP "
        "less that of ridge on the same tables, so below zero is better; then on how many "
        "tables it is lower and higher, in brackets on how many by more than two standard "
        "errors. Methods are in the order of their mean difference from ridge."
        + manner_words(study)
    )
    title = f"The board: means over {len(board.names)} tables"
    frame = pd.DataFrame([_board_row(board, i, against.get(i)) for i in order])
    return [Table("board", title, frame, caption, lead=_statements(board))]


def _board_row(board: Board, i: int, found: Against | None) -> dict[str, Any]:
    arm, error, amlp = board.arms[i], board.mean(i, ERROR), board.mean(i, AMLP)
    row = {
        "kept": arm.label,
        "method": arm.words,
        "tables": int(board.predicts[i].sum()),
        "error rate: mean": error.value,
        "error rate: low": max(0.0, error.low),
        "error rate: high": min(1.0, error.high),
        "error rate: promised": board.mean(i, PROMISED).value,
        "AMLP: mean": amlp.value,
        "AMLP: low": max(0.0, amlp.low),
        "AMLP: high": amlp.high,
        "AMLP: ±": board.within(i),
    }
    names = [f"against ridge: {one}" for one in ("difference", "low", "high", "lower", "higher")]
    if found is None:
        return row | dict.fromkeys(names, None)
    counts = (
        f"{found.lower} ({found.clearly_lower})",
        f"{found.higher} ({found.clearly_higher})",
    )
    return row | dict(zip(names, (*found.difference, *counts), strict=True))


def _statements(board: Board) -> tuple[str, ...]:
    ours = [i for i, arm in enumerate(board.arms) if arm.method == "corrected"]
    cooled = [i for i in ours if tempered(board.arms[i])]
    # how far the promised error rate is from the actual one, mean over tables
    gap = np.abs(board.values[:, :, PROMISED] - board.values[:, :, ERROR]).mean(axis=1)
    others = np.flatnonzero(board.predicts.all(axis=1))
    best, honest = board.lowest, int(others[np.argmin(gap[others])])
    about_all = (
        f"Of all {len(others)} methods that predict every table, {board.name(best)} has the "
        f"lowest mean AMLP ({board.mean(best, AMLP).value:.3f}). The error rate that is nearest to "
        f"the promised one, by the mean distance over the tables, is that of "
        f"{board.name(honest)} (off by {gap[honest]:.3f})."
    )
    return *(_against_ridge(board, i) for i in cooled or ours), about_all


def _against_ridge(board: Board, i: int) -> str:
    found, mine = board.against(i), board.mean(i, AMLP)
    ridge, difference = board.mean(board.rival, AMLP), found.difference
    lower, higher = (
        f"{count} tables (clearly on {clearly})" if count != 1 else f"1 table (clearly: {clearly})"
        for count, clearly in (
            (found.lower, found.clearly_lower), (found.higher, found.clearly_higher)
        )
    )  # fmt: skip
    text = (
        f"The mean AMLP of {board.name(i)} is {mine.value:.3f}, "
        f"{'at most' if difference.value <= 0 else 'above'} that of {RIDGE} ({ridge.value:.3f}): "
        f"a difference of {difference.value:+.3f} ({difference.low:+.3f} to "
        f"{difference.high:+.3f}). It is lower than ridge on {lower}, and higher on {higher}"
    )
    loss = board.values[i, :, AMLP] - board.values[board.rival, :, AMLP]
    if (loss > 0).any():
        s = int(np.nanargmax(loss))
        text += f", most on {board.names[s]} ({loss[s]:+.3f})"
    return f"{text}."


def board_scores(study: Record) -> list[Table]:
    """The scores of every method on every table, with intervals over cases."""
    board, rows = board_of(study), []
    for s, name in enumerate(board.names):
        taus = {one.arm.row: one.middle for one in temperatures(study.tables[name])}
        for i in np.flatnonzero(board.predicts[:, s]):
            arm, one = board.arms[i], board.scores[i][s]
            error, amlp = one.error_interval, one.amlp_interval
            rows.append(
                {
                    "table": name,
                    "kept": arm.label,
                    "method": arm.words,
                    "error rate: made": one.error,
                    "error rate: low": error[0],
                    "error rate: high": error[1],
                    "error rate: promised": one.expected,
                    "AMLP: mean": one.amlp,
                    "AMLP: low": amlp[0],
                    "AMLP: high": amlp[1],
                }
                | ({"temperature": taus.get(arm.row, np.nan)} if taus else {})
            )
    caption = (
        "Intervals of 95 % are over the cases of a table: Wilson's of error rates, the normal "
        "one of AMLP. A case counts once, however often it was tested. A temperature is the "
        "median over training sets."
    )
    return [Table("board-scores", "Table by table", pd.DataFrame(rows), caption, long=True)]


def board_promises(study: Record) -> list[Figure]:
    """Promised against actual error rate, a panel for each method and a mark for each table."""
    board = board_of(study)
    kinds = list(dict.fromkeys(map(short_words, board.arms)))
    columns = min(COLUMNS, len(kinds))
    rows = -(-len(kinds) // columns)
    figure, axes = canvas(
        rows, columns, width=1.95 * columns + 0.4, height=2.1 * rows + 0.5, sharex=True, sharey=True
    )
    hide_from(axes, len(kinds))
    labels = list(dict.fromkeys(arm.label for arm in board.arms if arm.label != "all"))
    most = 1.08 * float(np.nanmax(board.values[:, :, [ERROR, PROMISED]]))
    for axis, words in zip(axes.flat, kinds, strict=False):
        axis.fill_between([0, most], [0, most], [most, most], color=SHADE, zorder=0)
        axis.plot([0, most], [0, most], color=GREY, linewidth=0.8, zorder=1)
        mine = [i for i, arm in enumerate(board.arms) if short_words(arm) == words]
        for i in mine:
            colour, hollow = _colour(board.arms[i]), board.arms[i].label in labels[:-1]
            for s in np.flatnonzero(board.predicts[i]):
                told, error = board.values[i, s, PROMISED], board.values[i, s, ERROR]
                if not hollow:
                    ends = board.scores[i][s].error_interval
                    axis.plot([told] * 2, ends, color=colour, linewidth=0.7, alpha=0.5, zorder=2)
                axis.plot(
                    told, error, "o", markersize=4.5, color=colour, zorder=4 - hollow,
                    markerfacecolor="white" if hollow else colour, markeredgewidth=1, clip_on=False,
                )  # fmt: skip
        _name_far(axis, board, mine[-1], most)
        axis.set_title(_two_lines(words), fontsize=8, color=_colour(board.arms[mine[0]]))
        axis.set(xlim=(-0.02, most), ylim=(-0.02, most), aspect="equal")
        for one in (axis.xaxis, axis.yaxis):
            one.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axis.tick_params(labelsize=7.5)
    if len(kinds) < axes.size:
        _draw_key(axes.flat[len(kinds)], labels)
    figure.supxlabel("promised error rate", fontsize=10)
    figure.supylabel("actual error rate", fontsize=10)
    keys = f"Hollow marks keep {labels[0]} features, filled ones {labels[-1]}. " if (
        len(labels) > 1
    ) else ""  # fmt: skip
    caption = (
        "Each mark is a table. On the line a method makes as many errors as its predictions "
        "promise; in the shaded half it makes more, so it is too sure, and below it is too "
        f"careful. {COLOURED} {keys}Lines are Wilson's intervals of 95 % over cases; tables "
        f"that are farthest off, by more than {100 * OFF:.0f} points, are named."
    )
    return [Figure("board-promises", "What each method promises and makes", figure, caption)]


def _name_far(axis, board: Board, i: int, most: float) -> None:
    """Write the names of the tables whose promise is farthest off, none upon another."""
    promised, error = board.values[i, :, PROMISED], board.values[i, :, ERROR]
    off = np.nan_to_num(np.abs(error - promised))
    heights: list[float] = []
    for s in np.argsort(-off, kind="stable")[:NAMED]:
        height = float(error[s])
        if off[s] <= OFF or any(abs(height - one) < 0.07 * most for one in heights):
            continue
        heights.append(height)
        right = promised[s] < 0.75 * most
        axis.annotate(
            board.names[s], (promised[s], height), xytext=(5 if right else -5, 0),
            textcoords="offset points", ha="left" if right else "right", va="center",
            fontsize=7, color=INK, zorder=5,
        )  # fmt: skip


def _draw_key(axis, labels: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axis.set_visible(True)
    axis.set_axis_off()
    marks = [(labels[0], "white"), (labels[-1], INK)] if len(labels) > 1 else []
    keys: list[Any] = [
        Line2D([], [], linestyle="none", marker="o", color=INK, markerfacecolor=face,
               markersize=5, label=kept_words(label))
        for label, face in marks
    ]  # fmt: skip
    keys += [Patch(color=SHADE, label="too sure"), Patch(facecolor="white", label="too careful",
                                                         edgecolor=GREY)]  # fmt: skip
    axis.legend(handles=keys, loc="center", frameon=False, fontsize=8.5)


def _colour(arm: Arm) -> str:
    """Return the colour of a method: ours green, binary naive Bayes blue, others in ink."""
    if arm.method in OURS:
        return GREEN
    return BLUE if arm.method.startswith("naive") else INK


def short_words(arm: Arm) -> str:
    """Return what a method is called on a small panel: which features are relevant is left out."""
    return f"{method_words(arm.method)}{', tempered' if tempered(arm) else ''}"


def _two_lines(words: str) -> str:
    if len(words) <= 14:
        return words
    breaks = [i for i, letter in enumerate(words) if letter == " "]
    middle = min(breaks, key=lambda i: abs(i - len(words) / 2), default=len(words))
    return f"{words[:middle]}\n{words[middle + 1 :]}"


def board_losses(study: Record) -> list[Figure]:
    """AMLP of the methods, a row for each table."""
    board = board_of(study)
    last = {(arm.method, tempered(arm)): i for i, arm in enumerate(board.arms)}  # it keeps most
    chosen = [last[key] for key in MARKS if key in last and key not in UNSHOWN]
    order = np.argsort(-np.nan_to_num(board.values[board.rival, :, AMLP]), kind="stable")
    figure, axes = canvas(1, 1, width=8.2, height=0.42 * len(order) + 2.1)
    axis = axes[0, 0]
    heights = [*range(len(order), 0, -1), -0.4]
    means = [board.mean(i, AMLP).value if board.predicts[i].all() else np.nan for i in chosen]
    values = np.column_stack([board.values[chosen][:, order, AMLP], means])
    for column, height in zip(np.maximum(values, LOWEST).T, heights, strict=True):
        axis.plot([np.nanmin(column), np.nanmax(column)], [height] * 2, color=PALE, linewidth=5,
                  solid_capstyle="round", zorder=1)  # fmt: skip
    for row, i in enumerate(chosen):
        arm = board.arms[i]
        look = {"markersize": 6, "markeredgewidth": 1.4} | MARKS[arm.method, tempered(arm)]
        axis.plot(
            np.maximum(values[row], LOWEST), heights, linestyle="none", zorder=3 + row / 100,
            label=short_words(arm), **look,
        )  # fmt: skip
    axis.axvline(np.log(2), color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axis.annotate("to guess between\ntwo classes", (np.log(2), heights[0] + 0.75), fontsize=7,
                  ha="left", va="center", xytext=(3, 0), textcoords="offset points", color=INK,
                  annotation_clip=False)  # fmt: skip
    axis.axhline(0.3, color=INK, linewidth=0.6)
    axis.set_xscale("log")
    low, high = axis.get_xlim()
    axis.set_xticks([x for x in TICKS if low <= x <= high])
    axis.minorticks_off()
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axis.set_yticks(heights, [*(board.names[s] for s in order), "mean"])
    axis.get_yticklabels()[-1].set_fontweight("bold")
    axis.set_ylim(-1, len(order) + 1.2)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("average minus log probability (AMLP), lower is better")
    axis.grid(axis="x", color=PALE, linewidth=0.6, zorder=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    labels = [board.arms[i].label for i in chosen if board.arms[i].label != "all"]
    kept = f" Methods that select keep {labels[-1]} features." if labels else ""
    caption = (
        f"The tables are in the order of the AMLP of tuned ridge, the hardest above.{kept} "
        "The scale is logarithmic; the last row has the means over the tables, of methods "
        "that predict all of them."
    )
    return [Figure("board-losses", "Log loss, table by table", figure, caption)]
