"""What was kept, and what is known of it: alpha, rho, relevance and temperatures of chapter 2."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from thesiskit.errors import pluralise
from thesiskit.models.peers import Method
from thesiskit.report.layout import (
    GREY,
    INK,
    Figure,
    PageTable,
    grid,
    kept_words,
)
from thesiskit.report.record import Record
from thesiskit.report.stages import FITTED_TO

STYLES: dict[str, str | tuple] = {"complete": "-", "corrected": "--", "uncorrected": ":"}
NEGLIGIBLE = 1e-3  # of the highest point
Row = dict[str, object]
Curve = tuple[str, str | tuple, np.ndarray, np.ndarray]  # a posterior: its name, line, x and y
Panels = dict[str, list[Curve]]  # by title
ENDS = (0.05, 0.95)  # of intervals
MOST_SHOWN = 20  # features of a selection, on the page
USELESS = 1e4  # above it features predict nothing
CORRELATED = 2.0  # from here on features that share a signal are counted as several relevant ones


def base_label(label: str) -> str:
    """Return how many features a selection kept, without of how many there were before."""
    return label.partition(" of ")[0]


def features_words(record: Record, label: str) -> str:
    """Return what a selection kept, as sentences have it, such as "all 50 features"."""
    size = base_label(label)
    if size == "all":
        return f"all {record.kept(label):,.0f} features"
    number, _, form = size.partition(" ")
    if size[0] == "|":
        return f"{record.unit}s of {size}"
    return pluralise(int(number), f"{form} {record.unit}".strip())


# ---- the posteriors of alpha and rho ----


def log_alpha(record: Record) -> list[Figure]:
    """Posterior of log alpha, one panel per selection (fig-post-alpha)."""
    complete = [arm for arm in record.main_arms if arm.method == "complete"]
    partial = [label for label in record.labels if label not in {arm.label for arm in complete}]
    panels: Panels = {}
    for label, options in product(partial, record.untempered_options):
        corrected = record.find(label, "corrected", options=options)
        uncorrected = record.find(label, "uncorrected", options=options)
        whole = [arm for arm in complete if arm.options == options]
        for arm in [*whole[:1], *filter(None, (corrected, uncorrected))]:
            words = "all features" if arm.method == "complete" else arm.method
            column = record.own.index(arm)
            density = np.exp(record.fits["log_density"][column])
            curve = words, STYLES[arm.method], log_alphas(record, column), density
            title = kept_words(label) + Method(relevant=options.relevant).words
            panels.setdefault(title, []).append(curve)
    alpha = record.config["data"].get("alpha")
    known = pd.api.types.is_number(alpha) and np.isfinite(alpha)
    truth = [float(np.log(alpha))] if known else []
    densest = [
        x[density > NEGLIGIBLE * density.max()]
        for curves in panels.values()
        for _, _, x, density in curves
    ]
    shown = np.concatenate([truth, *densest])
    low, high = shown.min() - 1, shown.max() + 1
    figure, axes = grid(len(panels), 2, height=lambda rows: 2.4 * rows + 0.4, sharex=True)
    for axis, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for words, line, x, density in curves:
            axis.plot(x, density, color=INK, linestyle=line, label=words)
        x = x[(x > low) & (x < high)]
        axis.plot(x, np.zeros(len(x)), ".", color=INK, markersize=4, clip_on=False, zorder=3)
        for value in truth:
            axis.axvline(value, color=GREY, linewidth=1.5, zorder=0)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(bottom=0)
    axes[0, 0].set_xlim(low, high)
    figure.supxlabel("log alpha", fontsize=10)
    figure.supylabel("posterior density", fontsize=10)
    lines = {
        line.get_label(): line for axis in axes.flat for line in axis.get_legend_handles_labels()[0]
    }
    figure.legend(lines.values(), lines, loc="outside upper center", ncols=3, frameon=False)
    truth_note = "The grey line is the value with which the data were drawn. " if truth else ""
    caption = truth_note + (
        "Dots mark the points at which the posterior is computed. A small alpha means that "
        "features predict well; without the correction for selection, alpha is estimated too "
        "small."
    )
    return [Figure("log-alpha", "Posterior of log alpha", figure, caption)]


def log_alphas(record: Record, column: int) -> np.ndarray:
    """Return log alpha at the points of an arm in the first training set."""
    alpha = record.fits["alpha"][0]
    return np.log(np.broadcast_to(alpha, (len(record.own), alpha.shape[-1]))[column])


# ---- what was kept, one training set after the other ----


class Kept(NamedTuple):
    """What one selection kept in one training set.

    block, split : the place of the training set in the result files.
    replicate : the data set, or the division of the cases.
    features : (k,) numbers of the features in the table.
    correlation : (k,) their correlations with class 1, with signs; of more than two classes their
        correlation ratios, which have none.
    means : (k, K) of real features, the means of each class.
    """

    block: int
    split: int
    replicate: int
    label: str
    features: np.ndarray
    correlation: np.ndarray
    means: np.ndarray | None = None


def each_kept(record: Record) -> Iterator[Kept]:
    """Yield what every selection kept, in every training set."""
    groups, labels = record.config["evaluation"]["groups"], record.labels
    first = 0  # replicate of the block
    for number in range(record.n_blocks):
        select = record.results.load("select", number)
        group = record.results.load("simulate", number, ("group",))["group"]
        members = [[np.flatnonzero(row == g) for g in range(groups)] for row in group]
        splits = len(select["kept"]) // len(labels)  # splits: by data set, fold and group
        signed = _signed(select)
        for entry, ends in enumerate(zip(select["offset"], select["offset"][1:], strict=False)):
            split, size = divmod(entry, len(labels))
            replicate, part = split * len(group) // splits, slice(*ends)
            columns = members[replicate][split % groups]
            selected = select["selected"][part]
            features = selected if record.patterns else columns[selected]
            means = select["means"][part] if "means" in select else None
            replicate += first
            yield Kept(number, split, replicate, labels[size], features, signed[part], means)
        first += len(group)


def _signed(select: dict[str, np.ndarray]) -> np.ndarray:
    """Return the correlation of every kept feature with class 1, with its sign."""
    if "means" in select:
        means = select["means"]
        sign = np.sign(means[:, 1] - means[:, 0]) if means.shape[1] == 2 else 1.0
        return sign * select["correlation"]
    n_selected = np.diff(select["offset"])
    counts = np.repeat(select["class_counts"], n_selected, axis=0).astype(float)
    counts = select.get("present", counts)  # where values are missing, they differ by feature
    n_present = select["ones"]
    direction = n_present[:, 1] * counts[:, 0] - n_present[:, 0] * counts[:, 1]
    return np.sign(direction) * select["correlation"]


def feature_names(record: Record, features: np.ndarray) -> list[str]:
    """Return what features, or patterns by their numbers, are called."""
    if record.patterns:
        return [record.patterns[number] for number in features.tolist()]
    names = record.simulated.get("names", ())
    return [str(names[j]) if len(names) else f"number {j + 1}" for j in features]


def selected_table(record: Record, *, fitted: bool = True) -> list[PageTable]:
    """A row for each selection and feature that it kept in some training set.

    fitted : whether models are fitted; before that, the features of the first of several data sets
        that are drawn have no probability of being relevant.
    """
    sets = record.n_sets // record.config["evaluation"]["groups"]
    frames: list[pd.DataFrame] = []
    score = "correlation" if record.n_classes == 2 else "correlation ratio"
    for label, selections in _kept_by_size(record).items():
        if record.config["drawn"] and not fitted:
            selections = [selection for selection in selections if selection.replicate == 0]
            sets = len(selections) // record.config["evaluation"]["groups"]
        all_features = np.concatenate([selection.features for selection in selections])
        correlation = np.concatenate([selection.correlation for selection in selections])
        features, place, n_sets = np.unique(all_features, return_inverse=True, return_counts=True)
        mean = np.bincount(place, correlation) / n_sets
        ends = pd.Series(correlation).groupby(place).agg(["min", "max"])
        columns = {
            "selection": label,
            record.unit: feature_names(record, features),
            "kept in": n_sets / sets,
            f"{score}: mean": mean,
            f"{score}: lowest": ends["min"],
            f"{score}: highest": ends["max"],
        }
        if record.real:
            means = np.concatenate([x.means for x in selections if x.means is not None])
            columns |= {
                f"mean: {record.class_words(y)}": np.bincount(place, means[:, y]) / n_sets
                for y in range(record.n_classes)
            }
        for relevance in relevances(record) if fitted else ():  # for each number before a screening
            size, _, of = relevance.arm.label.partition(" of ")
            if size == label:
                name = "probability relevant" + (f": of {of}" if of else "")
                columns[name] = relevance.of(features)
        order = np.lexsort((features, -np.abs(mean), -n_sets))
        frames.append(pd.DataFrame(columns).iloc[order])
    frame = pd.concat(frames, ignore_index=True)
    caption = (
        f"'Kept in' is the fraction of the {pluralise(sets, 'training set')} in which a selection "
        f"kept the {record.unit}. A {score} is too large: these {record.unit}s were chosen because "
        "it is large in these cases."
        + (
            f" Positive ones are associated with {record.class_words(1)}."
            if record.n_classes == 2
            else ""
        )
        + (" Means are those of the cases of a class." if record.real else "")
    )
    probability_columns = [name for name in frame if name.startswith("probability relevant")]
    if probability_columns:
        caption += (
            f" The probability that a {record.unit} is relevant allows for this, given how many "
            f"{record.unit}s there were to choose from; it is a mean over the training sets that "
            "kept it."
        )
    title = f"Selected {record.unit}s"
    first_rows = tuple(np.flatnonzero(frame.groupby("selection").cumcount() < MOST_SHOWN).tolist())
    return [PageTable("selected-features", title, frame, caption, shown=first_rows)]


def pool_table(record: Record) -> list[PageTable]:
    """A row for each feature: how far it moves the predictions of the pool."""
    first = record.labels[0]  # of several transforms
    selections = [selection for selection in each_kept(record) if selection.label == first]
    all_features = np.concatenate([selection.features for selection in selections])
    names = ("effect", "deviation", "lasso_share")
    blocks = [record.results.load("fit", number, names) for number in range(record.n_blocks)]
    effect, deviation, share = (np.concatenate([block[name] for block in blocks]) for name in names)
    features, place, sets = np.unique(all_features, return_inverse=True, return_counts=True)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, values) / sets

    columns: Row = {"feature": feature_names(record, features)}
    if record.n_classes == 2:
        on_odds = pd.Series(effect[:, 1] - effect[:, 0]).groupby(place)
        columns |= {
            f"effect: {name}": getattr(on_odds, function)().to_numpy()
            for name, function in (("mean", "mean"), ("lowest", "min"), ("highest", "max"))
        }
        moved = f"the log odds of {record.class_words(1)}"
    else:
        columns |= {
            f"effect: {record.class_words(y)}": mean(effect[:, y]) for y in range(record.n_classes)
        }
        moved = "the log probability of each class"
    columns |= {"standard deviation": mean(deviation), "share of lasso": mean(share)}
    size = sum(np.abs(mean(class_effect)) for class_effect in effect.T)
    frame = pd.DataFrame(columns).iloc[np.lexsort((features, -size))]
    caption = (
        f"The effect is by how much {moved} is moved, about, if the feature grows by one standard "
        "deviation and the others stay. 'Share of lasso' is the weight of those fits of the lasso "
        f"that use the feature. Numbers are means over {pluralise(int(sets.max()), 'training set')}"
        ". Correlated features share their effect."
    )
    if transform := first.partition(" ")[2]:
        caption += f" Features are transformed ({transform}): effects are of transformed values."
    first_rows = tuple(range(min(MOST_SHOWN, len(features))))
    return [PageTable("pool-features", "Effects of features", frame, caption, shown=first_rows)]


def _kept_by_size(record: Record) -> dict[str, list[Kept]]:
    """Return what was kept by selection, for its first label: others differ in the correction."""
    first = {base_label(label): label for label in reversed(record.labels)}
    if not record.config["selection"]["screened"]:  # with all features nothing is selected
        first.pop("all", None)
    by_size: dict[str, list[Kept]] = {}
    for selection in each_kept(record):
        base = base_label(selection.label)
        if first.get(base) == selection.label:
            by_size.setdefault(base, []).append(selection)
    return by_size


# ---- how many features are relevant, and which: the arms with `some` in model.relevant ----


@dataclass(frozen=True)
class Relevance:
    """What an arm says of pi, and of the features that it kept.

    Attributes
    ----------
    p : how many features there were to choose from, the mean over training sets.
    pi : (J,) its values, in order; weight : (J,) their posterior, the mean over training sets.
    features : (f,) numbers of those that some training set kept, in order.
    probability : (f,) the probability that a feature is relevant: the mean over the training sets
        that kept it.
    kept : (f,) in what fraction of the training sets it was kept.
    expected : how many of the features kept are relevant, the mean over training sets.
    """

    arm: Method
    p: float
    pi: np.ndarray
    weight: np.ndarray
    features: np.ndarray
    probability: np.ndarray
    kept: np.ndarray
    expected: float

    def of(self, features: np.ndarray) -> np.ndarray:
        """Return the probabilities that some features are relevant; NaN of others."""
        place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
        is_stored = self.features[place] == features
        return np.where(is_stored, self.probability[place], np.nan)

    def relevant_count_quantile(self, level: float) -> float:
        """Return a quantile of pi times p, the number of relevant features to be expected."""
        place = np.searchsorted(np.cumsum(self.weight), level * self.weight.sum())
        return float(self.p * self.pi[min(place, len(self.pi) - 1)])


@lru_cache(maxsize=2)
def relevances(record: Record) -> list[Relevance]:
    """Return what the arms say that estimate pi and know what was left out; often there are none.

    Without the correction pi is of the features kept, which tells nothing of the others.
    """
    if record.mixture or "some" not in record.fits:
        return []
    arms = [record.own[int(column)] for column in record.fits["some"]]
    rows, plain = {arm.row for arm in record.main_arms}, record.untempered_options
    blocks = [
        record.results.load("fit", number, ("pi", "log_pi", "relevance", "relevance_offset"))
        for number in range(record.n_blocks)
    ]
    return [
        _relevance(record, i, arm, blocks)
        for i, arm in enumerate(arms)
        if arm.method != "uncorrected" and arm.row in rows and arm.options in plain
    ]


def _relevance(
    record: Record, i: int, arm: Method, blocks: list[dict[str, np.ndarray]]
) -> Relevance:
    features_by_set, probabilities = [], []
    sets, expected = 0, 0.0
    for selection in each_kept(record):
        # features of data that are drawn are others in each data set
        if selection.label != arm.label or (record.config["drawn"] and selection.replicate > 0):
            continue
        block = blocks[selection.block]
        start, end = block["relevance_offset"][i, selection.split : selection.split + 2]
        probability = block["relevance"][start:end]
        features_by_set.append(selection.features)
        probabilities.append(probability)
        expected += probability.sum()
        sets += 1
    log_pi = np.concatenate([block["log_pi"][:, i] for block in blocks])
    # of the normal model each arm has its own
    pi = np.broadcast_to(blocks[0]["pi"], blocks[0]["log_pi"].shape[1:])[i]
    order = np.argsort(pi)
    features, place, n_sets = np.unique(
        np.concatenate(features_by_set), return_inverse=True, return_counts=True
    )
    return Relevance(
        arm,
        features=features,
        p=float(np.mean(dict(record.by_size("n_features"))[arm.label])),
        pi=pi[order],
        weight=np.exp(log_pi).mean(axis=0)[order],
        probability=np.bincount(place, np.concatenate(probabilities)) / n_sets,
        kept=n_sets * record.config["evaluation"]["groups"] / sets,
        expected=expected / sets,
    )


def widest_estimates(record: Record) -> list[Relevance]:
    """Return the estimates of the selection that keeps most features."""
    estimates = relevances(record)
    # of patterns that share features, each counts as much evidence of its own
    estimates = [e for e in estimates if "disjoint" in e.arm.label] or estimates
    most = max((record.kept(estimate.arm.label) for estimate in estimates), default=0)
    return [estimate for estimate in estimates if record.kept(estimate.arm.label) == most]


def _correlated(record: Record, estimates: list[Relevance]) -> float:
    """Return the largest temperature of the same methods if it shows correlation, else 0."""
    methods = {(e.arm.label, e.arm.method, e.arm.relevant) for e in estimates}
    tau = [
        float(np.median(fitted.tau))
        for arm, fitted in temperatures(record).items()
        if (arm.label, arm.method, arm.relevant) in methods
    ]
    return max((value for value in tau if CORRELATED <= value <= USELESS), default=0.0)


def relevance_table(record: Record) -> list[PageTable]:
    """How many features are relevant, of all and of those that were kept."""
    estimates = relevances(record)
    rows = []
    for estimate in estimates:
        arm = estimate.arm
        row: Row = {"features": base_label(arm.label), "method": arm.words, "of": round(estimate.p)}
        for name, level in (("median", 0.5), ("low", ENDS[0]), ("high", ENDS[1])):
            row[f"relevant of all: {name}"] = float(
                f"{estimate.relevant_count_quantile(level):.2g}"
            )
        row["relevant of those kept"] = f"{estimate.expected:.1f}"
        rows.append(row)
    unit, sets = record.unit, record.n_sets
    caption = (
        f"A {unit} is relevant if its distribution differs between the classes. The number is that "
        f"of all {unit}s times the fraction pi of relevant ones, with its interval of 90 %. The "
        f"last column adds up the probabilities of the {unit}s that were kept."
        + (f" Pi is a mean over {sets:,} training sets." if sets > 1 else "")
    )
    if tau := _correlated(record, estimates):
        caption += (
            f" Temperatures up to {format_temperature(tau)} show that {unit}s are correlated: the "
            "numbers then count each signal several times, and are too large."
        )
    title = f"How many {unit}s are relevant"
    return [PageTable("relevance", title, pd.DataFrame(rows), caption)]


# ---- temperatures: how often the evidence of features was counted ----


class FittedTemperatures(NamedTuple):
    """The temperatures of an arm, (splits,).

    errors : of the cases that each was fitted to, how many were predicted wrongly; NaN in results
        that do not say it.
    """

    tau: np.ndarray
    errors: np.ndarray


def temperatures(record: Record) -> dict[Method, FittedTemperatures]:
    """Return the temperatures of the arms that have one."""
    columns = [(j, arm) for j, arm in enumerate(record.own)]
    if record.tests:  # models of another kind are there, too
        columns = [(arm.row, arm) for arm in record.arms_with_predictions]
    stage = record.predictions if record.tests else record.fits
    errors = stage.get("tau_errors", np.full_like(stage["tau"], np.nan))
    return {
        arm: FittedTemperatures(stage["tau"][:, j], errors[:, j])
        for j, arm in columns
        if arm.tempered
    }


def temperature_table(record: Record) -> list[PageTable]:
    """The temperatures of tempered arms: how often the evidence of features was counted."""
    by_arm = temperatures(record)
    sets = len(next(iter(by_arm.values())).tau)
    within = "component" if record.mixture else "class"
    without_error = any((errors == 0).any() for _, errors in by_arm.values())
    rows = []
    for arm, (tau, errors) in by_arm.items():
        row = record.keys(arm) | {"temperature: median": format_temperature(np.median(tau))}
        if sets > 1:
            row["temperature: lowest"] = format_temperature(tau.min())
            row["temperature: highest"] = format_temperature(tau.max())
        if without_error:
            row["only bounded in"] = f"{np.mean(errors == 0):.0%}"
        rows.append(row)
    caption = (
        "The log odds of an arm are divided by its temperature, which is about how often the same "
        f"evidence was counted, where features are correlated within a {within}. It is fitted "
        f"{FITTED_TO}; at 1 nothing is changed."
    )
    if max(tau.max() for tau, _ in by_arm.values()) > USELESS:
        caption += (
            f" Where it is {format_temperature(np.inf)}, the features predict nothing, and the "
            "classes become about as probable as they are frequent."
        )
    if any((np.isnan(errors) & (tau == 1)).any() for tau, errors in by_arm.values()):
        caption += " It is 1 where no temperature could be fitted: training cases are too few."
    if without_error:
        caption += (
            " Where no case that it was fitted to was predicted wrongly, it is only bounded by how "
            "many cases there are."
        )
    return [PageTable("temperatures", "Temperatures", pd.DataFrame(rows), caption)]


def format_temperature(tau: float) -> str:
    """Return a temperature as sentences have it: two digits; no number where it has no bound."""
    if tau > USELESS:
        return f"above {USELESS:,.0f}"
    return f"{tau:.2f}" if tau < 2 else f"{tau:.1f}" if tau < 10 else f"{tau:,.0f}"
