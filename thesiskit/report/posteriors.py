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
from thesiskit.report import layout, metrics
from thesiskit.report.layout import Figure, PageTable, prose
from thesiskit.report.record import Record

STYLES: dict[str, dict[str, object]] = {
    "complete": {"color": layout.QUIET, "linewidth": 3},
    "corrected": {"color": layout.ACCENT},
    "uncorrected": {"color": layout.INK, "linestyle": "--"},
}
NEGLIGIBLE = 1e-3  # of the highest point
Row = dict[str, object]
Curve = tuple[str, dict, np.ndarray, np.ndarray]  # a posterior: its name, look, x and y
Panels = dict[str, list[Curve]]  # by title
MOST_SHOWN = 10  # features of a selection, on the page
CERTAIN = 0.99  # a probability of relevance that all selected features exceed says nothing
USELESS = 1e4  # above it features predict nothing


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
    """Posterior of log alpha, one panel per selection (Figure 2.7)."""
    complete = [method for method in record.main_methods if method.estimator == "complete"]
    partial = [
        label for label in record.labels if label not in {method.label for method in complete}
    ]
    panels: Panels = {}
    for label, options in product(partial, record.untempered_options):
        pair = [record.find(label, name, options=options) for name in ("corrected", "uncorrected")]
        whole = [method for method in complete if method.options == options]
        for method in [*whole[:1], *filter(None, pair)]:
            words = "all features" if method.estimator == "complete" else method.estimator
            column = record.own.index(method)
            density = np.exp(record.fit_arrays["log_density"][column])
            curve = words, STYLES[method.estimator], log_alphas(record, column), density
            title = layout.kept_words(label) + Method(relevant=options.relevant).words
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
    figure, axes = layout.grid(len(panels), 2, height=lambda rows: 2.4 * rows + 0.4, sharex=True)
    for axis, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for words, look, x, density in curves:
            axis.plot(x, density, label=words, **look)
        x = x[(x > low) & (x < high)]
        axis.plot(x, np.zeros(len(x)), ".", color=layout.INK, markersize=4, clip_on=False, zorder=3)
        for value in truth:
            axis.axvline(value, color=layout.GREY, linewidth=1.5, zorder=0)
        axis.set_title(title)
        axis.set_ylim(bottom=0)
    axes[0, 0].set_xlim(low, high)
    figure.supxlabel("log alpha")
    figure.supylabel("posterior density")
    layout.legend(figure, *axes.flat)
    caption = layout.caption("log-alpha", truth=truth)
    return [Figure("log-alpha", "Posterior of log alpha", figure, caption)]


def log_alphas(record: Record, column: int) -> np.ndarray:
    """Return log alpha at the points of a method in the first training set."""
    alpha = record.fit_arrays["alpha"][0]
    return np.log(np.broadcast_to(alpha, (len(record.own), alpha.shape[-1]))[column])


# ---- what was kept, one training set after the other ----


class Kept(NamedTuple):
    """What one selection kept in one training set.

    block, split : the place of the training set in the result files.
    replicate : the data set, or the division of the samples.
    features : (k,) numbers of the features in the table.
    correlation : (k,) their correlations with class 1, or a real response, with signs; of more
        than two classes their correlation ratios, which have none.
    means : (k, K) of real features, the means of each class; of a real response (k, 1), the slopes
        of its least-squares lines on the features.
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
            if "lines" in select:
                slope, _, squares = select["lines"][part].T
                variation = select["within"][part] / select["unit"][entry] ** 2 + slope**2 * squares
                means = (select["spread"][entry] * slope * squares / variation)[:, None]
            replicate += first
            yield Kept(number, split, replicate, labels[size], features, signed[part], means)
        first += len(group)


def _signed(select: dict[str, np.ndarray]) -> np.ndarray:
    """Return the correlation of every kept feature with class 1, with its sign."""
    if "lines" in select:
        return np.sign(select["lines"][:, 0]) * select["correlation"]
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
    signed = record.continuous or record.n_classes == 2
    score = "correlation" if signed else "correlation ratio"
    names = [f"mean: {record.class_words(y)}" for y in range(record.n_classes)]
    names = ["slope"] if record.continuous else names
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
            "selected in": n_sets,
            score: mean,
            f"{score} range: lowest": ends["min"],
            f"{score} range: highest": ends["max"],
        }
        if record.real:
            means = np.concatenate([x.means for x in selections if x.means is not None])
            columns |= {
                name: np.bincount(place, column) / n_sets
                for name, column in zip(names, means.T, strict=True)
            }
        for relevance in relevances(record) if fitted else ():  # for each number before a screening
            size, _, of = relevance.method.label.partition(" of ")
            if size == label:
                name = "probability relevant" + (f": of {of}" if of else "")
                columns |= relevance.columns(record, features, f", of {of}" if of else "")
                columns[name] = relevance.of(features, relevance.probability)
        order = np.lexsort((features, -np.abs(mean), -n_sets))
        frames.append(pd.DataFrame(columns).iloc[order])
    frame = pd.concat(frames, ignore_index=True)
    positive = "larger responses" if record.continuous else record.class_words(1)
    words = {"sets": sets, "unit": record.unit, "positive": positive}
    words |= {"two": signed, "score": score, "stable": stability(record)}
    words |= {"raw": any(name.startswith("raw ") for name in frame), "bits": not record.real}
    caption = prose("selected", **words, line=record.continuous)
    more = [name for name in frame if name.startswith((f"{score} range: ", "mean: "))]
    hidden = ("raw 95%",) if signed else ("raw ", "95% interval, ")
    more += [name for name in frame if name.startswith(hidden)]
    more += [name for name in frame if name.startswith("prob") and frame[name].min() > CERTAIN]
    title = f"Selected {record.unit}s"
    first_rows = tuple(np.flatnonzero(frame.groupby("selection").cumcount() < MOST_SHOWN).tolist())
    return [
        PageTable("selected-features", title, frame, caption, shown=first_rows, more=tuple(more))
    ]


@lru_cache(maxsize=2)
def stability(record: Record) -> list[tuple[str, float, float, float]]:
    """Return the stability of the selected features, with its interval, by selection."""
    if record.config["drawn"] or record.config["evaluation"]["groups"] > 1 or record.patterns:
        return []
    return [
        (label, *metrics.stability([kept.features for kept in selections], record.width))
        for label, selections in _kept_by_size(record).items()
        if len(selections) > 1
    ]


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
    if record.continuous or record.n_classes == 2:
        signed = effect[:, 0] if record.continuous else effect[:, 1] - effect[:, 0]
        by_feature = pd.Series(signed).groupby(place)
        columns |= {
            f"effect: {name}": getattr(by_feature, function)().to_numpy()
            for name, function in (("mean", "mean"), ("lowest", "min"), ("highest", "max"))
        }
        moved = "the predicted response"
        if not record.continuous:
            moved = f"the log odds of {record.class_words(1)}"
    else:
        columns |= {
            f"effect: {record.class_words(y)}": mean(effect[:, y]) for y in range(record.n_classes)
        }
        moved = "the log probability of each class"
    columns |= {"standard deviation": mean(deviation), "share of lasso": mean(share)}
    size = sum(np.abs(mean(class_effect)) for class_effect in effect.T)
    frame = pd.DataFrame(columns).iloc[np.lexsort((features, -size))]
    transform = first.partition(" ")[2]
    caption = prose("pool_effects", moved=moved, sets=int(sets.max()), transform=transform)
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


# ---- how many features are relevant, and which: the methods with `some` in model.relevant ----


@dataclass(frozen=True)
class Relevance:
    """What a method estimates of the features that it selected.

    Attributes
    ----------
    features : (f,) numbers of those that some training set kept, in order.
    probability : (f,) the probability that a feature is relevant: the mean over the training sets
        that kept it.
    kept : (f,) in what fraction of the training sets it was kept.
    effect : (f, C, 6) effects as of `effects`, means as those of the probability; None in results
        of earlier versions.
    """

    method: Method
    features: np.ndarray
    probability: np.ndarray
    kept: np.ndarray
    effect: np.ndarray | None

    def of(self, features: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return some of the values (f, ...), those of features; NaN of features without them."""
        place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
        is_stored = self.features[place] == features
        return np.where(is_stored, values[place].T, np.nan).T

    def columns(self, record: Record, features: np.ndarray, of: str) -> Row:
        """Return columns of raw and corrected effects of some features; none without effects."""
        if self.effect is None:
            return {}
        kind, values = "effect", self.of(features, self.effect)
        if not record.real:
            kind, values = "odds ratio", np.exp(values)
        several = values.shape[1] > 1
        classes = [record.class_words(y) for y in range(record.n_classes)] if several else [""]
        columns: Row = {}
        for first, start, raw in ((0, "raw", "raw "), (3, "corrected", "")):
            for c, name in enumerate(classes):
                group = f"{start} {kind}{of}"
                columns[f"{group}: {name}" if name else group] = values[:, c, first]
            for c, name in enumerate(classes):
                interval = f"{raw}95% interval{', ' if name else ''}{name}{of}"
                columns[f"{interval}: low"] = values[:, c, first + 1]
                columns[f"{interval}: high"] = values[:, c, first + 2]
        return columns


@lru_cache(maxsize=2)
def relevances(record: Record) -> list[Relevance]:
    """Return the estimates of methods that estimate pi and know what was dropped; often none.

    Without the correction pi is of the features kept, which tells nothing of the others.
    """
    if record.mixture or "some" not in record.fit_arrays:
        return []
    methods = [record.own[int(column)] for column in record.fit_arrays["some"]]
    rows, plain = {method.row for method in record.main_methods}, record.untempered_options
    names = {"relevance", "relevance_offset", "effect"} & record.fit_arrays.keys()
    blocks = [record.results.load("fit", number, tuple(names)) for number in range(record.n_blocks)]
    return [
        _relevance(record, i, method, blocks)
        for i, method in enumerate(methods)
        if method.estimator != "uncorrected" and method.row in rows and method.options in plain
    ]


def _relevance(
    record: Record, i: int, method: Method, blocks: list[dict[str, np.ndarray]]
) -> Relevance:
    features_by_set, probabilities, effects, effect = [], [], [], None
    for selection in each_kept(record):
        # features of data that are drawn are others in each data set
        if selection.label != method.label or (record.config["drawn"] and selection.replicate > 0):
            continue
        block = blocks[selection.block]
        start, end = block["relevance_offset"][i, selection.split : selection.split + 2]
        features_by_set.append(selection.features)
        probabilities.append(block["relevance"][start:end])
        effects += [block["effect"][start:end]] if "effect" in block else []
    features, place, n_sets = np.unique(
        np.concatenate(features_by_set), return_inverse=True, return_counts=True
    )
    if effects:
        shape = effects[0].shape[1:]
        frame = pd.DataFrame(np.concatenate(effects).reshape(len(place), np.prod(shape)))
        effect = frame.groupby(place).mean().to_numpy().reshape(-1, *shape)
    return Relevance(
        method,
        features=features,
        probability=np.bincount(place, np.concatenate(probabilities)) / n_sets,
        effect=effect,
        kept=n_sets * record.config["evaluation"]["groups"] / len(probabilities),
    )


def widest_estimates(record: Record) -> list[Relevance]:
    """Return the estimates of the selection that keeps most features."""
    estimates = relevances(record)
    # of patterns that share features, each counts as much evidence of its own
    estimates = [e for e in estimates if "disjoint" in e.method.label] or estimates
    most = max((record.kept(estimate.method.label) for estimate in estimates), default=0)
    return [estimate for estimate in estimates if record.kept(estimate.method.label) == most]


# ---- temperatures: how often the evidence of features was counted ----


class FittedTemperatures(NamedTuple):
    """The temperatures of a method, (splits,).

    errors : of the samples that each was fitted to, how many were predicted wrongly; NaN in results
        that do not say it.
    """

    tau: np.ndarray
    errors: np.ndarray


def temperatures(record: Record) -> dict[Method, FittedTemperatures]:
    """Return the temperatures of the methods that have one."""
    columns = [(j, method) for j, method in enumerate(record.own)]
    if record.tests:  # models of another kind are there, too
        columns = [(method.row, method) for method in record.methods_with_predictions]
    stage = record.prediction_arrays if record.tests else record.fit_arrays
    errors = stage.get("tau_errors", np.full_like(stage["tau"], np.nan))
    return {
        method: FittedTemperatures(stage["tau"][:, j], errors[:, j])
        for j, method in columns
        if method.tempered
    }


def temperature_table(record: Record) -> list[PageTable]:
    """The temperatures of tempered methods: how often the evidence of features was counted."""
    by_method = temperatures(record)
    sets = len(next(iter(by_method.values())).tau)
    without_error = any((errors == 0).any() for _, errors in by_method.values())
    rows = []
    for method, (tau, errors) in by_method.items():
        row = record.keys(method) | {"temperature: median": format_temperature(np.median(tau))}
        if sets > 1:
            row["temperature: lowest"] = format_temperature(tau.min())
            row["temperature: highest"] = format_temperature(tau.max())
        if without_error:
            row["only bounded in"] = f"{np.mean(errors == 0):.0%}"
        rows.append(row)
    caption = prose(
        "temperatures",
        within="line" if record.continuous else "component" if record.mixture else "class",
        useless=max(tau.max() for tau, _ in by_method.values()) > USELESS,
        few=any((np.isnan(errors) & (tau == 1)).any() for tau, errors in by_method.values()),
        bounded=without_error,
    )
    return [PageTable("temperatures", "Temperatures", pd.DataFrame(rows), caption)]


def format_temperature(tau: float) -> str:
    """Return a temperature as sentences have it: two digits; no number where it has no bound."""
    if tau > USELESS:
        return f"above {USELESS:,.0f}"
    return f"{tau:.2f}" if tau < 2 else f"{tau:.1f}" if tau < 10 else f"{tau:,.0f}"
