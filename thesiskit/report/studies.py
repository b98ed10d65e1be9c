"""Studies: scores of methods over data sets of several settings, and over published tables.

| symbol | name | shape |
|---|---|---|
| A | arms | |
| S | settings of the data | |
| R | data sets of a setting | |
| error rate, predicted error rate, AMLP | `values` | (A, S, R, 3) |
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.errors import counted
from thesiskit.models.peers import PEERS
from thesiskit.models.temperature import fit_temperature, temper
from thesiskit.report import metrics
from thesiskit.report.layout import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    RED,
    SHADE,
    Figure,
    Table,
    canvas,
    grid,
    kept_words,
    percent,
)
from thesiskit.report.metrics import Score
from thesiskit.report.posteriors import each_kept, temperatures
from thesiskit.report.predicted import NEAR, dumbbells
from thesiskit.report.record import OURS, WHOLE, Arm, Manner, Record, method_words
from thesiskit.report.scores import square
from thesiskit.report.stages import manner_words

ERROR, PREDICTED, AMLP = range(3)
SURE = 2.0  # standard errors between two methods that differ
BEST, AS_GOOD = "lowest", "as low"
MOST_SENTENCES = 8  # settings that are told one by one
LEAST = 0.005  # of AMLP: nobody minds less
GUESSING = float(np.log(2))
COLOURS = "PuOr"  # that everybody can tell apart: orange is over-confident, or worse than to guess
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


@lru_cache(maxsize=1)
def scored(record: Record) -> tuple[list[Arm], np.ndarray]:
    """Return the arms that are compared, with the first rule for theta, and `values`.

    Without the correction nothing tells how many features are null, and the model in which some are
    relevant says what the other one says: it is left out beside that.
    """
    found, arms, y = record.predictions, record.main_arms, record.response
    if {arm.relevant for arm in arms if arm.method == "uncorrected"} == {"all", "some"}:
        arms = [arm for arm in arms if (arm.method, arm.relevant) != ("uncorrected", "some")]
    place, cases = found["replicate"], np.bincount(found["replicate"])
    values = np.empty((len(arms), len(cases), 3))
    for i, arm in enumerate(arms):
        p = record.probability(arm)
        kinds = ((p >= 0.5) != (y == 1), np.minimum(p, 1 - p), metrics.losses(p, y))
        for j, of_cases in enumerate(kinds):
            values[i, :, j] = np.bincount(place, of_cases) / cases
    return arms, values.reshape(len(arms), -1, record.config["replicates"], 3)


def setting_words(setting: dict[str, Any]) -> str:
    """Return what data sets are drawn with, in a few words; nothing where there is one setting."""
    if not setting:
        return ""
    if "loci" in setting:
        return _genotypes_words(setting)
    n, of = sum(setting["train"]), setting["of"]
    if setting["alpha"] is not None:
        return f"the thesis's model, alpha {setting['alpha']:g}, {of:,} features, n = {n:,}"
    if not (setting["relevant"] and setting["effect"]):
        return f"0 of {of:,} relevant, n = {n:,}"
    return f"{setting['relevant']:,} of {of:,} relevant, effect {setting['effect']:g}, n = {n:,}"


def _genotypes_words(setting: dict[str, Any]) -> str:
    pairs = "nothing to find"
    if setting["pairs"]:
        what = setting["penetrance"].replace("-", " ")
        pairs = f"{counted(setting['pairs'], 'pair')} by {what} ({setting['effect']:g})"
    linked = f", haplotypes of {setting['haplotype']}" if setting["correlation"] else ""
    return f"{pairs}, {setting['loci']:,} loci{linked}, n = {setting['train']:,}"


def predicted(record: Record, *, screened: bool) -> pd.DataFrame:
    """Return the errors, predicted and observed, and AMLP of arms in each setting, with ±.

    Of tables that were screened before models of others predict errors by cross-validation, all
    else by its predictions.
    """
    (arms, values), rows = scored(record), []
    settings = record.config["data"].get("settings", [{}])
    if screened:  # a number for each replicate: the mean over its folds
        folded = record.predictions["cross_validated"]
        folded = folded.reshape(len(record.arms), *values.shape[1:3], -1).mean(axis=3)
    for (s, setting), (i, arm) in product(enumerate(settings), enumerate(arms)):
        actual, told, amlp = values[i, s].T
        if screened and not arm.own:
            told = folded[arm.row, s]
        row = {"data": setting_words(setting), "arm": arm}
        for name, each in (("told", told), ("actual", actual), ("amlp", amlp)):
            row |= {name: float(each.mean()), f"{name}_error": metrics.standard_error(each)}
        rows.append(row)
    return pd.DataFrame(rows)


@lru_cache(maxsize=1)
def compared(record: Record) -> pd.DataFrame:
    """Return a row for each setting of the data, selection, and arm with it.

    Arms with one selection are rivals, and those that select nothing are so everywhere.

    s, i : the numbers of the setting and the arm.
    error, predicted, amlp : means over data sets; they and `lower` have standard errors.
    place : among rivals, by AMLP, from 0; lower : by how much the first one's AMLP is lower.
    off : the predicted error rate minus the observed one.
    """
    (arms, values), settings = scored(record), record.config["data"]["settings"]
    mean = values.mean(axis=2)
    spread = np.apply_along_axis(metrics.standard_error, 2, values)
    names, rows = ("error", "predicted", "amlp"), []
    for (s, setting), label in product(enumerate(settings), record.labels):
        rivals = [
            i for i, arm in enumerate(arms)
            if arm.label == label or (arm.method in PEERS and not PEERS[arm.method].selects)
        ]  # fmt: skip
        order = np.argsort(mean[rivals, s, AMLP], kind="stable").tolist()
        for i in rivals:
            lower = values[i, s, :, AMLP] - values[rivals[order[0]], s, :, AMLP]
            row = {
                "s": s, **setting, "train": tuple(np.atleast_1d(setting["train"]).tolist()),
                "data": setting_words(setting),
                "label": label, "i": i, "kept": arms[i].label, "method": arms[i].words,
                "place": order.index(rivals.index(i)),
                "lower": float(lower.mean()), "lower_error": metrics.standard_error(lower),
            }  # fmt: skip
            row |= dict(zip(names, mean[i, s], strict=True))
            row["off"] = mean[i, s, PREDICTED] - mean[i, s, ERROR]
            row |= {f"{name}_error": x for name, x in zip(names, spread[i, s], strict=True)}
            rows.append(row)
    return pd.DataFrame(rows)


def signals_figure(record: Record) -> list[Figure]:
    """Predicted and observed errors of each method in every setting of the data, and its AMLP."""
    caption = (
        "The error rate that the predictions expect, and the observed one; the line between is "
        f"green up to {100 * NEAR:.0f} points. The lowest AMLP is bold. Means over "
        f"{record.config['replicates']:,} data sets of each kind."
    )
    figure = dumbbells(predicted(record, screened=False), amlp=True)
    return [Figure("signals", "Predicted and observed errors of each method", figure, caption)]


def signals_table(record: Record) -> list[Table]:
    """Observed and predicted errors, and AMLP, of every method in every setting of the data."""
    found = compared(record)
    # one that takes all features is the same for all selections
    once = found.drop_duplicates(["s", "i"], ignore_index=True)
    frame = once[["data", "kept", "method"]].assign(**{
        f"{words}: {part}": once[name + end]
        for words, name in (
            ("observed errors", "error"), ("predicted errors", "predicted"), ("AMLP", "amlp")
        )
        for part, end in (("mean", ""), ("±", "_error"))
    })  # fmt: skip
    if record.patterns:
        found_of = _pairs_found(record)
        frame["pairs found"] = [found_of.get((one.kept, one.s)) for one in once.itertuples()]
    worse = once["lower"] > SURE * once["lower_error"]
    frame["AMLP: best"] = np.where(once["place"] == 0, BEST, np.where(worse, "", AS_GOOD))
    kinds = [mine for _, mine in found.groupby(["s", "label"], sort=False)]
    few = len(kinds) <= MOST_SENTENCES
    lead = tuple(_sentence(mine, len(record.labels) > 1) for mine in kinds) if few else ()
    caption = (
        f"Means over {record.config['replicates']:,} data sets of each kind, ± their standard "
        "errors. The predicted error rate is what the predictions themselves expect; below the "
        "observed one they are over-confident, above it under-confident. To guess with probability "
        "one half has an AMLP of 0.693. "
        "The last column marks the method with the lowest AMLP of those that keep as many "
        f'features ("{BEST}"), and those that differ from it by at most two standard errors '
        f'("{AS_GOOD}").'
    )
    table = Table("signals", "Which method is best where", frame, caption, lead=lead, long=not few)
    return [table] if few or record.patterns else [_counts(record, len(kinds)), table]


def _pairs_found(record: Record) -> dict[tuple[str, int], float]:
    """Return the share of the pairs that matter whose loci are in one pattern that is kept.

    The keys are selections and settings of the data; there are none where no pair matters.
    """
    settings = record.config["data"]["settings"]
    shares: dict[tuple[str, int], list[float]] = {}
    for one in each_kept(record):
        s = one.replicate // record.config["replicates"]
        kept = [set(re.findall(r"(pair\d+[ab])=", record.patterns[n])) for n in one.features]
        pairs = [{f"pair{i + 1}a", f"pair{i + 1}b"} for i in range(settings[s]["pairs"])]
        if pairs:
            share = np.mean([any(pair <= names for names in kept) for pair in pairs])
            shares.setdefault((one.label, s), []).append(float(share))
    return {key: float(np.mean(values)) for key, values in shares.items()}


def _sentence(mine: pd.DataFrame, several: bool) -> str:
    first, second = (mine[mine["place"] == place].iloc[0] for place in (0, 1))
    where = f"{first['data']}, {kept_words(first['label'])}" if several else first["data"]
    text = (
        f"{where[0].upper()}{where[1:]}: {first['method']} has the lowest AMLP "
        f"({first['amlp']:.3f}); its predicted error is {first['predicted']:.1%}, the "
        f"observed one {first['error']:.1%}. Next is {second['method']} ({second['amlp']:.3f}), "
    )
    if second["lower"] > SURE * second["lower_error"]:
        return f"{text}which is worse by {second['lower']:.3f} ± {second['lower_error']:.3f}."
    return f"{text}which these data sets cannot tell from it."


def _counts(record: Record, many: int) -> Table:
    """Count in how many settings each method is best, and say where; show what it loses elsewhere.

    A setting is that of the data with a number of features kept, of which there are many.
    """
    found, rows, where = compared(record), [], []
    best = found["place"] == 0
    found = found.assign(
        best=best,
        good=best | (found["lower"] <= SURE * found["lower_error"]),
        relevant=found["relevant"].where(found["alpha"].isna()),
    )
    told = dict(list(found.groupby("method", sort=False)))
    for name in sorted(told, key=lambda name: -told[name]["best"].sum()):
        mine = told[name]
        loss, off = mine["lower"].to_numpy(), mine["off"].to_numpy()
        rows.append(
            {
                "method": name,
                "lowest AMLP": int(mine["best"].sum()),
                "as low": int(mine["good"].sum()),
                "above the lowest: mean": loss.mean(),
                "above the lowest: most": loss.max(),
                "predicted minus observed error: mean size": np.abs(off).mean(),
                "predicted minus observed error: least": off.min(),
                "predicted minus observed error: most": off.max(),
            }
        )
        # with how many relevant features
        times = mine["relevant"][mine["best"]].dropna().astype(int).value_counts().sort_index()
        share = ", ".join(f"{count} with {number:,}" for number, count in times.items())
        most = f"{mine['best'].sum():,} ({share})" if share else "none"
        where.append(f"{name} is best in {most}")
    caption = (
        f"Of {many:,} settings of the data and of the number of features kept: in how many a "
        "method has the lowest AMLP, and in how many it is not clearly worse (at most two standard "
        "errors); then by how much its AMLP is above the lowest, and how far its predicted error "
        "rate is from the observed one, over all settings."
    )
    lead = (
        f"Of {many:,} settings, {'; '.join(where)}. In brackets: with how many relevant features."
    )
    title = "In how many settings each method is best"
    return Table("signals-counts", title, pd.DataFrame(rows), caption, lead=(lead,))


# ---- maps of a grid of signals: how many features are relevant, by how large their effect is ----


def maps_of(record: Record) -> list[pd.DataFrame]:
    """Return the rows of each map: settings with as many features and cases, one selection."""
    found = compared(record)
    found = found[found["alpha"].isna()]
    return [mine for _, mine in found.groupby(["of", "train", "label"], sort=False)]


def map_title(mine: pd.DataFrame) -> str:
    """Return what the settings of a map have in common."""
    one = mine.iloc[0]
    return f"{one['of']:,} features\n{sum(one['train']):,} cases\n{kept_words(one['label'])}"


def squares(mine: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a column as a map, size of effect by number of relevant features; NaN elsewhere."""
    return mine.pivot_table(name, "effect", "relevant", aggfunc="last")


def _finish_map(axis, found: pd.DataFrame, *, left: bool, below: bool) -> None:
    """Name the squares at the left and lower edge."""
    axis.set_xticks(range(found.shape[1]), [f"{x:,.0f}" for x in found.columns] if below else [])
    axis.set_yticks(range(found.shape[0]), [f"{y:g}" for y in found.index] if left else [])
    axis.tick_params(length=0, labelsize=7)
    axis.spines[:].set_visible(False)


def signals_maps(record: Record) -> list[Figure]:
    """Maps of predicted and observed errors, and of which is best where."""
    each = record.config["replicates"]

    def signed(value: float) -> str:
        text = f"{value:+.2f}"
        return "0" if text[1:] == "0.00" else text.replace("0.", ".").replace("-", "−")

    words, amlp_words = "predicted minus observed error rate", "average minus log probability"
    best = (
        "In each square is the method with the lowest AMLP, and by how much it is lower than "
        "that of the next. Where this is less than two standard errors over "
        f"{each:,} data sets, or less than {LEAST:g}, nobody is clearly best: the name is in "
        "brackets and the square is white. Whatever is kept, logistic regression takes all "
        "features."
    )
    confidence = (
        "Below zero (orange) a method is over-confident, above (purple) under-confident. "
        f"Means over {each:,} data sets."
    )
    amlp = (
        "Lower is better. Purple is better than to guess with probability one half, which has "
        f"0.693, and orange is worse. Means over {each:,} data sets."
    )
    return [
        Figure("signals-best", "Which method is best where", _draw_best(record), best),
        Figure(
            "signals-predicted", words.capitalize(),
            _draw_maps(record, "off", (-0.4, 0.0, 0.4), COLOURS, words, signed), confidence,
        ),
        Figure(
            "signals-amlp", amlp_words.capitalize(),
            _draw_maps(record, "amlp", (0.0, GUESSING, 2 * GUESSING), f"{COLOURS}_r",
                       amlp_words, lambda value: f"{value:.2f}".lstrip("0")), amlp,
        ),
    ]  # fmt: skip


def _draw_maps(
    record: Record, name: str, limits: tuple[float, float, float], colours: str, words: str,
    text: Callable[[float], str],
):  # fmt: skip
    """Draw maps of a column, of each method, one below the other for each kind of data.

    text : writes a number into its square.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm

    maps = maps_of(record)
    columns = maps[0]["i"].nunique()
    figure, axes = canvas(
        len(maps), columns, width=1.55 * columns + 1.2, height=1.45 * len(maps) + 1.1
    )
    norm = TwoSlopeNorm(limits[1], limits[0], limits[2])
    for r, mine in enumerate(maps):
        for axis, (_, of_arm) in zip(axes[r], mine.groupby("i"), strict=True):
            found = squares(of_arm, name)
            axis.imshow(found, origin="lower", cmap=colours, norm=norm, aspect="auto")
            for place, number in np.ndenumerate(found):
                if np.isfinite(number):
                    dark = abs(norm(number) - 0.5) > 0.3
                    axis.text(*place[::-1], text(number), ha="center", va="center", fontsize=6.5,
                              color="white" if dark else INK)  # fmt: skip
            _finish_map(axis, found, left=axis is axes[r, 0], below=r == len(maps) - 1)
            if r == 0:
                method = of_arm["method"].iloc[0]
                axis.set_title(NAMES.get(method, method), fontsize=8.5)
        axes[r, 0].set_ylabel(
            map_title(mine), fontsize=8.5, rotation=0, ha="right", va="center", labelpad=22
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

    maps, columns = maps_of(record), len(record.labels)
    rows = len(maps) // columns
    figure, axes = canvas(rows, columns, width=3.3 * columns + 1.0, height=2.1 * rows + 1.1)
    used: dict[str, tuple[str, str]] = {}
    for m, (axis, mine) in enumerate(zip(axes.flat, maps, strict=True)):
        first, second = (mine[mine["place"] == place] for place in (0, 1))
        found = squares(first, "amlp")
        for one, other in zip(first.itertuples(), second.itertuples(), strict=True):
            x, y = found.columns.get_loc(one.relevant), found.index.get_loc(one.effect)
            short, colour = SHORT.get(one.method, (one.method[:6], GREY))
            used[one.method] = short, colour
            sure = other.lower > max(SURE * other.lower_error, LEAST)
            face = colour if sure else "white"
            axis.add_patch(square(x, y, face, edgecolor=GREY, linewidth=0.6))
            name = short if sure else f"({short})"
            axis.text(x, y + 0.14, name, ha="center", va="center", fontsize=8.5)
            axis.text(x, y - 0.22, f"by {other.lower:.3f}", ha="center", va="center", fontsize=6.5,
                      color=INK)  # fmt: skip
        axis.set(xlim=(-0.5, found.shape[1] - 0.5), ylim=(-0.5, found.shape[0] - 0.5))
        _finish_map(axis, found, left=m % columns == 0, below=m >= len(maps) - columns)
        axis.set_title(map_title(mine).replace("\n", ", "), fontsize=8.5)
    order = list(dict.fromkeys(arm.words for arm in scored(record)[0] if arm.words in used))
    handles = [Patch(facecolor=used[name][1], edgecolor=GREY) for name in order]
    labels = [f"{used[name][0]}: {name}" for name in order]
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
    figure.supxlabel("number of relevant features", fontsize=9)
    figure.supylabel("size of effect, standard deviations", fontsize=9)
    return figure


# ---- tables that were screened before: predicted errors and those observed in new cases ----


def screened_table(record: Record) -> list[Table]:
    """Predicted and observed errors of each method on a table that was screened before."""
    found = predicted(record, screened=True)
    frame = pd.DataFrame({
        "data": found["data"],
        "kept": [arm.label for arm in found["arm"]],
        "method": [arm.words for arm in found["arm"]],
        "predicted by": [
            "its predictions" if arm.own else "cross-validation" for arm in found["arm"]
        ],
        "predicted error: mean": found["told"],
        "predicted error: ±": found["told_error"],
        "observed error: mean": found["actual"],
        "observed error: ±": found["actual_error"],
        "AMLP: mean": found["amlp"],
        "AMLP: ±": found["amlp_error"],
    })  # fmt: skip
    frame = frame if frame["data"].any() else frame.drop(columns="data")
    shared = "." if record.config["drawn"] else (
        ", as if divisions were independent; they share cases."
    )  # fmt: skip
    caption = (
        "Models of scikit-learn are cross-validated (ten folds) on the table that they were "
        "given, as anybody would who does not know how it was screened. Ours say how often "
        "they will be wrong by their predictions. The observed error rate is that of test cases "
        f"that took no part in the screening. Means over {_repetitions(record)}, ± standard "
        f"errors{shared}"
    )
    lead = tuple(_nearest(data, mine) for data, mine in found.groupby("data", sort=False))
    title = "Predicted and observed errors of each method"
    return [Table("screened", title, frame, caption, lead=lead)]


def _repetitions(record: Record) -> str:
    each = record.config["replicates"]
    if record.config["drawn"]:
        return f"{counted(each, 'data set')} of each kind"
    return counted(each, "random division")


def _nearest(data: str, found: pd.DataFrame) -> str:
    """Say of a kind of data whose predicted error is best and worst, and who is wrong least."""
    off = (found["told"] - found["actual"]).abs()
    least = found.loc[found["amlp"].idxmin()]
    best, worst = (
        f"{one['arm'].words} (predicted {one['told']:.1%}, observed {one['actual']:.1%})"
        for one in (found.loc[off.idxmin()], found.loc[off.idxmax()])
    )
    text = (
        (f"{data}: " if data else "")
        + f"the predicted error is nearest to the observed one for {best}, farthest for {worst}. "
        f"The lowest AMLP is {least['amlp']:.3f}, of {least['arm'].words}."
    )
    return f"{text[0].upper()}{text[1:]}"


def screened_figure(record: Record) -> list[Figure]:
    """Predicted and observed error rates of each method on a table that was screened before."""
    figure = dumbbells(predicted(record, screened=True))
    title = "Predicted and observed error rates on a table that was screened before"
    caption = (
        "The predicted errors of scikit-learn's models are by cross-validation of the table that "
        "they were given, of ours by their predictions. The line between the two errors "
        f"is green up to {100 * NEAR:.0f} points. Means over {_repetitions(record)}."
    )
    return [Figure("screened", title, figure, caption)]


# ---- the board: a study of several tables, and how each method stands against tuned ridge ----

RIDGE = "tuned ridge"
CERTAIN = 1e12  # the strength of targets that are 0 and 1, so that AMLP itself is the lowest
RIVALS = ("pool", WHOLE, "lasso")  # methods of others that ours are compared with, pair by pair
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
    ("pool", False): {"marker": "*", "color": INK, "markersize": 9},
    ("lasso", False): {"marker": "s", "color": INK, "markerfacecolor": "white"},
    ("random-forest", False): {"marker": "^", "color": "#7a5195", "markersize": 7},
    ("nearest-centroids", False): {"marker": "o", "color": RED, "markerfacecolor": "white"},
    ("gaussian-nb", False): {"marker": "v", "color": RED},
}
UNSHOWN = [("uncorrected", True), ("naive-corrected", True)]  # of many methods


@lru_cache(maxsize=1)
def board_of(study: Record) -> pd.DataFrame:
    """Return the scores of a study: a row for each table, and arm that predicts it.

    i, method : of the arm.
    low, high : the ends of intervals of 95 % over cases.
    less : AMLP less that of tuned ridge; like AMLP it has a standard error over cases.
    limit : AMLP with the temperature and offsets that are fitted to the test cases themselves.
    temperature : the median over training sets.
    folded : the error rate by cross-validation of tables that were screened before, of peers.
    """
    ridge = next(i for i, arm in enumerate(study.arms) if arm.method == WHOLE)
    rows = []
    for name, table in study.tables.items():
        taus = {arm.row: np.median(one.tau) for arm, one in temperatures(table).items()}
        for i, (arm, one) in enumerate(zip(study.arms, table.scores, strict=True)):
            if np.isnan(one.amlp):
                continue
            row = {"table": name, "i": i, "method": arm.method, "error": one.error}
            row["error_low"], row["error_high"] = one.error_interval
            row |= {"predicted": one.expected, "amlp": one.amlp, "amlp_error": one.amlp_error}
            row["amlp_low"], row["amlp_high"] = one.amlp_interval
            row["auc"], row["auc_low"], row["auc_high"] = one.auc_interval
            row["less"], row["less_error"] = one.less(table.scores[ridge])
            row |= {"limit": _limit(one), "temperature": taus.get(arm.row, np.nan)}
            folded = table.predictions.get("cross_validated")
            rows.append(row | {"folded": np.nan if folded is None else folded[arm.row].mean()})
    return pd.DataFrame(rows)


def _limit(one: Score) -> float:
    log, y = np.log(np.maximum(one.probability, metrics.LEAST)), one.tested.response
    copies = int(metrics.times(one.tested.unit).max())
    found = fit_temperature(log, y, strength=CERTAIN, copies=copies)
    return metrics.amlp(np.exp(temper(log, found.tau, found.offset)), y)


def lower_and_higher(mine: pd.DataFrame) -> list[tuple[int, int]]:
    """Return on how many tables the AMLP of an arm is lower than ridge's, and higher.

    Each with the number of tables on which it is so by more than SURE standard errors over cases.
    """
    clear = mine["less"].abs() > SURE * mine["less_error"]
    sides = mine["less"] < 0, mine["less"] > 0
    return [(int(side.sum()), int((side & clear).sum())) for side in sides]


def board_table(study: Record) -> list[Table]:
    """Errors, observed and predicted, and AMLP of methods over tables, and wins against ridge."""
    board, rows = board_of(study), []
    tested = next(iter(study.tables.values())).tested  # all tables are divided alike
    names = [f"against ridge: {name}" for name in ("difference", "low", "high", "lower", "higher")]
    screened = board["folded"].notna().any()
    for i, mine in board.groupby("i"):
        off = (mine["predicted"] - mine["error"]).abs().mean()
        row = {
            "kept": study.arms[i].label,
            "method": study.arms[i].words,
            "tables": len(mine),
            "error rate: mean": mine["error"].mean(),
            "error rate: predicted": mine["predicted"].mean(),
            "error rate: off": off,
            **({"error rate: cross-validated": mine["folded"].mean()} if screened else {}),
            "AUC": mine["auc"].mean(),
            "AMLP: mean": mine["amlp"].mean(),
            "AMLP: ±": np.sqrt(np.square(mine["amlp_error"].to_numpy()).sum()) / len(mine),
            "AMLP: limit": mine["limit"].mean(),
        }
        wins = [f"{count} ({clearly})" for count, clearly in lower_and_higher(mine)]
        against = dict(zip(names, (*metrics.student(mine["less"].to_numpy()), *wins), strict=True))
        if study.arms[i].method == WHOLE:
            against = dict.fromkeys(names)
        rows.append(row | against)
    rows.sort(key=lambda row: row[names[0]] or 0.0)
    caption = (
        "Means over the tables that a method can predict (models of two classes leave out the "
        "others); ± is the standard error over cases, for these tables. Predicted is the error "
        "rate that predictions themselves expect, and off how far it is from the observed one, the "
        "mean over tables of the distance. The limit is the AMLP if the log odds of each table are "
        "divided by a further temperature, which is fitted to the test cases themselves, and which "
        f"nobody has: a better one gains at most so much. Against {RIDGE} (logistic regression, "
        "L2, of all features): AMLP less that of ridge on the same tables, so below zero is "
        "better, with Student's interval of 95 % over the tables; then on how many tables it is "
        "lower and higher, in brackets on how many by more than two standard errors. Methods are "
        f"in the order of their mean difference from ridge.{tested.about_intervals}"
        + (" Cross-validated is the error rate that somebody finds who divides only the cases of "
           "the screening, after it." if screened else "")
        + manner_words(study)
    )  # fmt: skip
    title = f"The board: means over {len(study.tables)} tables"
    table = Table("board", title, pd.DataFrame(rows), caption, lead=_statements(study))
    return [table, *_board_differences(study)]


def _board_differences(study: Record) -> list[Table]:
    """Return the table of differences of AMLP between ours and the best methods of others."""
    arms, rows = study.arms, []
    tested = next(iter(study.tables.values())).tested  # all tables are divided alike
    ours = [i for i, arm in enumerate(arms) if arm.method == "corrected"]
    named = [i for i in ours if arms[i].tempered] or ours
    named += [i for name in RIVALS for i, arm in enumerate(arms) if arm.method == name]
    for a, b in combinations(named, 2):
        pairs = [table.scores[a].less(table.scores[b]) for table in study.tables.values()]
        less, errors = np.array(pairs).T
        mean, low, high = metrics.student(less)
        by_cases = float(np.sqrt(np.square(errors).sum()) / len(less))
        row: dict[str, Any] = {"AMLP of": _name(arms[a]), "less that of": _name(arms[b])}
        row |= {"mean": mean, "over cases: ±": by_cases}
        row |= {
            "over cases: low": mean - 1.96 * by_cases,
            "over cases: high": mean + 1.96 * by_cases,
        }
        row |= {"over tables: ±": metrics.standard_error(less)}
        row |= {"over tables: low": low, "over tables: high": high}
        rows.append(row | {"lower on": int((less < 0).sum()), "of": len(less)})
    caption = (
        "Paired differences, means over the tables; below zero the first one is better. Over cases "
        "the standard error is that for new cases of these same tables (with the normal interval "
        "of 95 %), over tables that for other tables of their kind (Student's)."
        + tested.about_intervals
    )
    title = "Which methods these tables tell apart"
    return [Table("board-differences", title, pd.DataFrame(rows), caption)] if rows else []


def _name(arm: Arm) -> str:
    """Return what an arm is called in sentences."""
    return arm.words + ("" if arm.label == "all" else f" ({kept_words(arm.label)})")


def _statements(study: Record) -> tuple[str, ...]:
    board = board_of(study)
    ours = [i for i, arm in enumerate(study.arms) if arm.method == "corrected"]
    cooled = [i for i in ours if study.arms[i].tempered]
    whole = board.groupby("i").filter(lambda mine: len(mine) == len(study.tables))
    # how far the predicted error rate is from the observed one, mean over tables
    gap = (whole["predicted"] - whole["error"]).abs().groupby(whole["i"]).mean()
    amlp = whole.groupby("i")["amlp"].mean()
    about_all = (
        f"Of all {len(gap)} methods that predict every table, {_name(study.arms[amlp.idxmin()])} "
        f"has the lowest mean AMLP ({amlp.min():.3f}). The error rate that is nearest to "
        f"the predicted one, by the mean distance over the tables, is that of "
        f"{_name(study.arms[gap.idxmin()])} (off by {gap.min():.3f})."
    )
    return *(_against_ridge(board, i, study.arms[i]) for i in cooled or ours), about_all


def _against_ridge(board: pd.DataFrame, i: int, arm: Arm) -> str:
    mine, ridge = board[board["i"] == i], board[board["method"] == WHOLE]
    difference, low, high = metrics.student(mine["less"].to_numpy())
    lower, higher = (
        f"{count} tables (clearly on {clearly})" if count != 1 else f"1 table (clearly: {clearly})"
        for count, clearly in lower_and_higher(mine)
    )
    text = (
        f"The mean AMLP of {_name(arm)} is {mine['amlp'].mean():.3f}, "
        f"{'at most' if difference <= 0 else 'above'} that of {RIDGE} "
        f"({ridge['amlp'].mean():.3f}): a difference of {difference:+.3f} ({low:+.3f} to "
        f"{high:+.3f}). It is lower than ridge on {lower}, and higher on {higher}"
    )
    loss = mine.set_index("table")["amlp"] - ridge.set_index("table")["amlp"]
    if (loss > 0).any():
        text += f", most on {loss.idxmax()} ({loss.max():+.3f})"
    return (
        f"{text}. With a temperature that is fitted to the test cases themselves it would be "
        f"{mine['limit'].mean():.3f}."
    )


def board_scores(study: Record) -> list[Table]:
    """The scores of every method on every table, with intervals over cases."""
    board = board_of(study)
    tested = next(iter(study.tables.values())).tested  # all tables are divided alike
    arms = [study.arms[i] for i in board["i"]]
    frame = pd.DataFrame({
        "table": board["table"],
        "kept": [arm.label for arm in arms],
        "method": [arm.words for arm in arms],
        "error rate: observed": board["error"],
        "error rate: low": board["error_low"],
        "error rate: high": board["error_high"],
        "error rate: predicted": board["predicted"],
        "AUC: mean": board["auc"],
        "AUC: low": board["auc_low"],
        "AUC: high": board["auc_high"],
        "AMLP: mean": board["amlp"],
        "AMLP: low": board["amlp_low"],
        "AMLP: high": board["amlp_high"],
        "AMLP: limit": board["limit"],
        "temperature": board["temperature"],
    })  # fmt: skip
    if board["temperature"].isna().all():
        frame = frame.drop(columns="temperature")
    caption = (
        "Intervals of 95 % are over the cases of a table: Wilson's of error rates, the normal one "
        f"of AMLP.{tested.about_auc} AUC of more classes is the mean over classes, each "
        f"against all others.{tested.about_intervals} A case counts once, however often it "
        "was tested. The limit is the AMLP with the temperature fitted to the test cases "
        "themselves. A temperature is the median over training sets."
    )
    return [Table("board-scores", "Table by table", frame, caption, long=True)]


def board_predicted(study: Record) -> list[Figure]:
    """Predicted against observed error rate, a panel for each method and a mark for each table."""
    board = board_of(study).sort_values("i", kind="stable")
    tested = next(iter(study.tables.values())).tested  # all tables are divided alike
    kinds: dict[str, list[int]] = {}
    for i, arm in enumerate(study.arms):
        kinds.setdefault(short_words(arm), []).append(i)
    figure, axes = grid(
        len(kinds), COLUMNS, width=lambda columns: 1.95 * columns + 0.4,
        height=lambda rows: 2.1 * rows + 0.5, sharex=True, sharey=True,
    )  # fmt: skip
    labels = list(dict.fromkeys(arm.label for arm in study.arms if arm.label != "all"))
    most = 1.08 * board[["error", "predicted"]].to_numpy().max()
    for axis, (words, arms) in zip(axes.flat, kinds.items(), strict=False):
        axis.fill_between([0, most], [0, most], [most, most], color=SHADE, zorder=0)
        axis.plot([0, most], [0, most], color=GREY, linewidth=0.8, zorder=1)
        method = study.arms[arms[0]].method
        others = BLUE if method.startswith("naive") else INK
        colour = GREEN if method in OURS else others
        for one in board[board["i"].isin(arms)].itertuples():
            hollow = study.arms[one.i].label in labels[:-1]
            if not hollow:
                axis.plot([one.predicted] * 2, [one.error_low, one.error_high], color=colour,
                          linewidth=0.7, alpha=0.5, zorder=2)  # fmt: skip
            axis.plot(
                one.predicted, one.error, "o", markersize=4.5, color=colour, zorder=4 - hollow,
                markerfacecolor="white" if hollow else colour, markeredgewidth=1, clip_on=False,
            )  # fmt: skip
        _name_far(axis, board[board["i"] == arms[-1]], most)
        axis.set_title(_two_lines(words), fontsize=8, color=colour)
        axis.set(xlim=(-0.02, most), ylim=(-0.02, most), aspect="equal")
        axis.xaxis.set_major_formatter(percent)
        axis.yaxis.set_major_formatter(percent)
        axis.tick_params(labelsize=7.5)
    if len(kinds) < axes.size:
        _draw_key(axes.flat[len(kinds)], labels)
    figure.supxlabel("predicted error rate", fontsize=10)
    figure.supylabel("observed error rate", fontsize=10)
    keys = f"Hollow marks keep {labels[0]} features, filled ones {labels[-1]}. " if (
        len(labels) > 1
    ) else ""  # fmt: skip
    caption = (
        "Each mark is a table. On the line the observed error rate is the predicted one; in the "
        "shaded half it is larger, so the method is over-confident, and below it is "
        f"under-confident. {COLOURED} {keys}Lines are Wilson's intervals of 95 % over cases; "
        f"tables that are farthest off, by more than {100 * OFF:.0f} points, are named."
        f"{tested.about_intervals}"
    )
    return [
        Figure("board-predicted", "Predicted and observed errors of each method", figure, caption)
    ]


def _name_far(axis, mine: pd.DataFrame, most: float) -> None:
    """Write the names of the tables whose predicted error is farthest off, none upon another."""
    off = (mine["error"] - mine["predicted"]).abs()
    heights: list[float] = []
    for one in mine.loc[off[off > OFF].nlargest(NAMED).index].itertuples():
        if any(abs(one.error - height) < 0.07 * most for height in heights):
            continue
        heights.append(one.error)
        right = one.predicted < 0.75 * most
        axis.annotate(
            one.table, (one.predicted, one.error), xytext=(5 if right else -5, 0),
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
    keys += [Patch(color=SHADE, label=metrics.SURE), Patch(facecolor="white", label=metrics.CAREFUL,
                                                         edgecolor=GREY)]  # fmt: skip
    axis.legend(handles=keys, loc="center", frameon=False, fontsize=8.5)


def short_words(arm: Arm) -> str:
    """Return what a method is called on a small panel: which features are relevant is left out."""
    return method_words(arm.method) + Manner("", arm.temperature).words


def _two_lines(words: str) -> str:
    if len(words) <= 14:
        return words
    breaks = [i for i, letter in enumerate(words) if letter == " "]
    middle = min(breaks, key=lambda i: abs(i - len(words) / 2), default=len(words))
    return f"{words[:middle]}\n{words[middle + 1 :]}"


def board_losses(study: Record) -> list[Figure]:
    """AMLP of the methods, a row for each table."""
    board, arms = board_of(study), study.arms
    last = {(arm.method, arm.tempered): i for i, arm in enumerate(arms)}
    chosen = [last[key] for key in MARKS if key in last and key not in UNSHOWN]  # that keep most
    ridge = board[board["method"] == WHOLE].sort_values("amlp", ascending=False, kind="stable")
    names = list(ridge["table"])
    figure, axes = canvas(1, 1, width=8.2, height=0.42 * len(names) + 2.1)
    axis = axes[0, 0]
    heights = [*range(len(names), 0, -1), -0.4]
    values = board.pivot(index="i", columns="table", values="amlp").loc[chosen, names].to_numpy()
    values = np.column_stack([values, values.mean(axis=1)])  # of all tables, or none
    for column, height in zip(np.maximum(values, LOWEST).T, heights, strict=True):
        axis.plot([np.nanmin(column), np.nanmax(column)], [height] * 2, color=PALE, linewidth=5,
                  solid_capstyle="round", zorder=1)  # fmt: skip
    for row, i in enumerate(chosen):
        mark = MARKS[arms[i].method, arms[i].tempered]
        look = {"markersize": 6, "markeredgewidth": 1.4} | mark
        axis.plot(
            np.maximum(values[row], LOWEST), heights, linestyle="none", zorder=3 + row / 100,
            label=short_words(arms[i]), **look,
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
    axis.set_yticks(heights, [*names, "mean"])
    axis.get_yticklabels()[-1].set_fontweight("bold")
    axis.set_ylim(-1, len(names) + 1.2)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("average minus log probability (AMLP), lower is better")
    axis.grid(axis="x", color=PALE, linewidth=0.6, zorder=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    labels = [arms[i].label for i in chosen if arms[i].label != "all"]
    kept = f" Methods that select keep {labels[-1]} features." if labels else ""
    caption = (
        f"The tables are in the order of the AMLP of tuned ridge, the hardest above.{kept} "
        "The scale is logarithmic; the last row has the means over the tables, of methods "
        "that predict all of them."
    )
    return [Figure("board-losses", "Log loss, table by table", figure, caption)]
