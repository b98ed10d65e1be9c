"""Test the claims of the thesis on our results, each by a criterion that can fail.

thesis/claims.yaml has the claims, by the parts of numbers.yaml.  A test takes the record of a
finished experiment and yields estimates with 99% intervals, or none where the experiment lacks
what the claim is about.  All verdicts follow from `verdict`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from thesiskit.defaults import RELIABLE_RHAT
from thesiskit.models.peers import Method
from thesiskit.report.chains import LAGS, autocorrelation, traced_places
from thesiskit.report.divisions import divisions
from thesiskit.report.layout import PageTable, caption, read_yaml
from thesiskit.report.metrics import losses
from thesiskit.report.posteriors import log_alphas
from thesiskit.report.record import THESIS, Record
from thesiskit.report.reduction import sweeps

FOUND, DIRECTION, NOT_FOUND, UNTESTED = "found", "found in direction", "not found", "not tested"
VERDICTS = (FOUND, DIRECTION, NOT_FOUND, UNTESTED)
TAIL = 0.005  # on each side of an interval of 99%
LEAST = 0.0001  # that is written as a number
ESTIMATES = "estimates with 99% intervals"
SHOWN = ("exhibit", "claim", "criterion", ESTIMATES, "verdict")
CRITERIA: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "above": ("above {}", lambda x, limit: x > limit),
    "below": ("below {}", lambda x, limit: x < limit),
    "at_least": ("at least {}", lambda x, limit: x >= limit),
    "within": ("within ± {}", lambda x, limit: abs(x) <= limit),
}


Arguments = dict[str, Any]  # of a test, as claims.yaml has them


class Estimate(NamedTuple):
    """A number and its 99% interval, whose ends are NaN where there is none.

    words : what is estimated, such as "10 features"; empty where a claim has one number.
    sure : whether the Markov chains behind the number have converged.
    """

    words: str
    value: float
    low: float
    high: float
    sure: bool = True

    def __str__(self) -> str:
        words = f"{self.words}: " if self.words else ""
        if np.isnan(self.low) or self.low == self.high:
            return f"{words}{number(self.value)}"
        return f"{words}{number(self.value)} ({number(self.low)} to {number(self.high)})"


@dataclass(frozen=True)
class Claim:
    """A claim of the thesis.

    of : the part of numbers.yaml; section, exhibit : where the thesis makes the claim.
    claim : the claim in our words; measures : what the estimates are.
    experiments : the configs that test the claim, the best first.
    test, arguments : a function of TESTS, and its arguments.
    criterion : what the estimates must satisfy, by the names of CRITERIA.
    numbers : the keys of numbers.yaml that the claim covers.
    untested : why there is no test.
    """

    id: str
    of: str
    section: str
    exhibit: str
    claim: str
    measures: str = ""
    experiments: tuple[str, ...] = ()
    test: str = "compare"
    arguments: Arguments = field(default_factory=dict)
    criterion: dict[str, float] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    untested: str = ""


def claims() -> list[Claim]:
    """Return all claims, in the order of the thesis."""
    return [
        Claim(**{"of": of, "section": part["section"], "experiments": part["experiments"]} | entry)
        for of, part in read_yaml(THESIS / "claims.yaml").items()
        for entry in part["claims"]
    ]


def number(x: float) -> str:
    """Write a number with three significant digits, and whole from 100 on."""
    if 0 < abs(x) < LEAST:
        return f"< {LEAST}" if x > 0 else f"> -{LEAST}"
    if abs(x) >= 100 or x == int(x):
        return f"{x:,.0f}"
    return np.format_float_positional(x, 3, unique=False, fractional=False, trim="-")


def verdict(estimates: list[Estimate], criterion: dict[str, float]) -> str:
    """Return the verdict on a claim: all its estimates must satisfy the criterion.

    It is found if both ends of all intervals satisfy the criterion and all chains have converged,
    and found in direction if all estimates do.
    """

    def holds(x: float) -> bool:
        return all(CRITERIA[name][1](x, limit) for name, limit in criterion.items())

    if not all(holds(estimate.value) for estimate in estimates):
        return NOT_FOUND
    inside = all(e.sure and holds(e.low) and holds(e.high) for e in estimates)
    return FOUND if inside else DIRECTION


def interval(
    words: str, values: np.ndarray, unit: np.ndarray | None = None, *, sure: bool = True
) -> Estimate:
    """Return the mean of values (N,) with Student's interval over independent units (N,).

    Without units, each value is independent.  NaN is left out.  A single unit has no interval.
    """
    valid = ~np.isnan(values)
    units = np.arange(len(values)) if unit is None else unit
    _, place = np.unique(units[valid], return_inverse=True)
    means = np.bincount(place, values[valid]) / np.bincount(place)
    n, mean = len(means), float(np.mean(means)) if len(means) else np.nan
    if n < 2:
        return Estimate(words, mean, np.nan, np.nan, sure)
    half = special.stdtrit(n - 1, 1 - TAIL) * means.std(ddof=1) / np.sqrt(n)
    return Estimate(words, mean, float(mean - half), float(mean + half), sure)


# ---- quantities of models ----


def _slope(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return values (N,) whose mean is the slope of y on p, and whose spread is its error."""
    p, y = p - p.mean(), y - y.mean()
    b = (p @ y) / (p @ p)
    return b + p * (y - b * p) / np.mean(p**2)


# of probabilities and responses of test samples, a value for each
MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log loss": losses,
    "squared error": lambda p, y: (y - p) ** 2,
    "log loss less squared error": lambda p, y: losses(p, y) - (y - p) ** 2,
    "error": lambda p, y: (p.argmax(axis=1) if p.ndim > 1 else p >= 0.5) != y,
    "observed less predicted error": lambda p, y: ((p >= 0.5) != y) - np.minimum(p, 1 - p),
    "slope": _slope,
    "class": lambda p, _: p >= 0.5,
    "distance from 1/2": lambda p, _: np.abs(p - 0.5),
    "probability near 1/2": lambda p, _: np.where(np.abs(p - 0.5) < 0.1, p, np.nan),
}
SCALES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "difference": lambda a, b: a * 1.0 - b,
    "absolute difference": lambda a, b: np.abs(a * 1.0 - b),
    "difference of distances": lambda a, b: np.abs(a) - np.abs(b),
    "ratio": lambda a, b: a / b,
    "log ratio": lambda a, b: np.log(a / b),
}
# of draws of coefficients (C, S, ...), a value for each chain
DRAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "largest": lambda x: np.abs(np.median(x, axis=1)).reshape(len(x), -1).max(axis=1),
    "typical": lambda x: np.median(np.abs(np.median(x, axis=1)).reshape(len(x), -1), axis=1),
    "spread": lambda x: x.std(axis=1),
    "reach": lambda x: np.quantile(x, 0.99, axis=1),
    "positive": lambda x: (x > 0).mean(axis=1),
}


def _quantity(record: Record, name: str, method: Method) -> np.ndarray:
    """Return a quantity of a model: a value for each sample, data set, sigma or chain, or one.

    name : of MEASURES; "seconds: STAGE"; "log alpha" (less the truth) or "agreement" of the labels
        with the responses; "autocorrelation" summed over lags, of each sigma shown; or a name of
        DRAWS, which may go on with " of COEFFICIENT".
    """
    if name in MEASURES:
        return MEASURES[name](record.probability(method), record.response)
    kind, _, detail = name.partition(": ")
    if kind == "seconds":
        row = record.timings.loc[record.methods.index(method)]
        return np.array([row["predict"] / row["train"] if "/" in detail else row[detail]])
    if kind == "autocorrelation":
        trace = record.log_sigma_trace(method)
        lags = min(LAGS, trace.shape[1] - 1)
        curves = [autocorrelation(trace[:, :, o], lags) for o in record.shown_sigmas]
        sums = [1 + 2 * curve[1:].sum() for curve in curves]
        seconds = _quantity(record, "seconds: train", method) if detail else 1
        return np.maximum(sums, 1) * seconds  # noise can make the sum less than 1
    if record.logistic:
        draws, (kind, _, coefficient) = record.draws(method), name.partition(" of ")
        place = traced_places(record, draws).get(coefficient) if coefficient else ()
        return np.zeros(0) if place is None else DRAWS[kind](draws["coefficient"][:, :, *place])
    j, data = record.own.index(method), record.config["data"]
    if name == "agreement":
        return record.fit_arrays["means"][:, j, 1] / sum(data["train"])
    if record.mixture:
        return record.fit_arrays["means"][:, j, 0] - np.log(data["alpha"])
    return _posterior(record, method) @ log_alphas(record, j) - np.log(data["alpha"])


def _posterior(record: Record, method: Method) -> np.ndarray:
    """Return the posterior of alpha in each training set, (R, points)."""
    name, j = "log_posterior", record.own.index(method)
    blocks = [record.results.load("fit", i, (name,))[name] for i in range(record.n_blocks)]
    return np.exp(np.concatenate(blocks)[:, j])


def _sure(record: Record, quantity: str, methods: list[Method]) -> bool:
    """Return whether the chains of models of chapter 3 have converged, for this quantity."""
    if not record.logistic or quantity.startswith("seconds"):
        return True
    rows = [record.own.index(method) for method in methods]
    if not quantity.startswith("autocorrelation"):
        return all(record.reliable[rows])
    sigmas = [1 + o for o in record.shown_sigmas]
    return bool((record.worst["rhat"][np.ix_(rows, sigmas)] <= RELIABLE_RHAT).all())


def _method(record: Record, place: Arguments) -> Method | None:
    """Return the model of a place in a comparison, None where it was not fitted."""
    if not record.logistic:
        size, method = str(place.get("size", "")), place.get("method", "corrected")
        return record.find(size, method, place.get("variant"))
    order: Any = place.get("order", "widest")
    order = {"widest": record.widest_order, "shown": record.drawn_order}.get(order, order)
    return record.of_order(order, place.get("prior", ""), compress=place.get("compress", True))


def compare(
    record: Record, quantity: str, over: Arguments, first: Arguments,
    second: Arguments | None = None, scale: str = "difference", combine: str = "each",
) -> Iterator[Estimate]:  # fmt: skip
    """Yield a quantity of the first model, or its difference from that of the second.

    over : keys of a place of `_method` and the values that they take, in turn.
    first, second : further keys of the place; scale : of SCALES.
    combine : `each`; `mean` over all; `farthest` from 0; or the `number` of values below 0.
    """
    rows: list[tuple[str, np.ndarray, bool]] = []
    values = [record.orders if value == "all" else value for value in over.values()]
    for combination in product(*values):
        place = dict(zip(over, combination, strict=True))
        models = [first] if second is None else [first, second]
        methods = [method for model in models if (method := _method(record, place | model))]
        if len(methods) < len(models):
            continue
        quantities = [_quantity(record, quantity, method) for method in methods]
        change = SCALES[scale](*quantities) if len(models) > 1 else quantities[0]
        rows.append((_words(place), change, _sure(record, quantity, methods)))
    if not rows or not all(len(change) for _, change, _ in rows):
        return
    _, changes, sure = zip(*rows, strict=True)
    unit = _units(record) if quantity in MEASURES else None
    if combine == "mean":
        yield interval("", np.mean(changes, axis=0), unit, sure=all(sure))
    elif combine == "number":
        below = int(np.sum(np.array(changes) < 0))
        yield Estimate("", below, below, below, all(sure))
    else:
        estimates = [interval(*row[:2], unit, sure=row[2]) for row in rows]
        if quantity.startswith("seconds"):  # a number without an error of sampling
            estimates = [e._replace(low=e.value, high=e.value) for e in estimates]
        if combine == "farthest":  # if these are within a margin, all others are
            value = max(estimates, key=lambda e: abs(e.value))
            end = max(estimates, key=lambda e: np.nan_to_num(max(-e.low, e.high)))
            estimates = [value, end] if end is not value else [value]
        yield from estimates


def _words(place: Arguments) -> str:
    """Return what tells an estimate from others, such as "Cauchy prior, order 5"."""
    size, prior, order = (place.get(name) for name in ("size", "prior", "order"))
    size_text = f"{size:,}" if type(size) is int else size
    parts = [f"{size_text} feature{'s' * (size != 1)}"] if size else []
    parts += [f"{prior.capitalize()} prior"] if prior else []
    return ", ".join(parts + ([f"order {order}"] if order not in (None, "shown") else []))


def _units(record: Record) -> np.ndarray:
    """Return the independent unit of each prediction, (N,): the data set or, of one, the sample."""
    over_data_sets = record.config["drawn"] and record.config["replicates"] > 1
    return record.predictions["replicate" if over_data_sets else "sample"].to_numpy()


def best(record: Record, order: int, prior: str) -> Iterator[Estimate]:
    """Yield the log loss of a model less that of the best other model, with compression."""
    claimed = record.of_order(order, prior)
    rivals = [method for method in record.own if method.compress and method != claimed]
    if claimed and rivals:
        rival = min(rivals, key=lambda method: float(record.losses(method).mean()))
        words = f"less {rival.prior.capitalize()}, order {rival.order}"
        values = record.losses(claimed) - record.losses(rival)
        sure = _sure(record, "log loss", [claimed, rival])
        yield interval(words, values, _units(record), sure=sure)


# ---- numbers of parameters ----

# of counts (R, S) at x (S,), a value for each data set
STATISTICS: dict[str, Callable[..., np.ndarray]] = {
    "largest change": lambda v, *_: (v[:, 1:] / v[:, :-1] - 1).max(axis=1),
    "least change": lambda v, *_: (v[:, 1:] / v[:, :-1] - 1).min(axis=1),
    "last change": lambda v, *_: v[:, -1] / v[:, -2] - 1,
    "growth after": lambda v, x, at: v[:, -1] / v[:, x == at][:, 0] - 1,
    "value": lambda v, x, at: v[:, x == at][:, 0],
    "mean": lambda v, *_: v.mean(axis=1),
    "power": lambda v, x, _: np.log(v[:, -1] / v[:, 0]) / np.log(x[-1] / x[0]),
    "last slope": lambda v, x, _: np.divide(*(np.diff(v) / np.diff(x))[:, :-3:-1].T),
}


def _counts(record: Record, counts: str, varied: str) -> tuple[np.ndarray, np.ndarray]:
    """Return settings x (S,), and counts of parameters (R, S) in each data set."""
    if record.config["reduction"]:
        numbers = record.reduction
        if counts == "superpatterns":
            return numbers["order"], numbers["superpatterns"] / numbers["groups"]
        sweep = next(sweep for sweep in sweeps(record) if sweep.varied == varied)
        return sweep.x, getattr(sweep, counts)
    names = ("order", "groups", "patterns", "growth")
    blocks = [record.results.load("compress", i, names) for i in range(record.n_blocks)]
    if counts == "growth":  # of groups, order by order
        values = np.array([block[counts] for block in blocks])
        return np.arange(values.shape[1]), values
    rank = np.argsort(blocks[0]["order"])
    groups, patterns = (np.array([b[name][rank] for b in blocks]) for name in names[1:3])
    return blocks[0]["order"][rank], groups / patterns if counts == "ratio" else patterns


def parameters(
    record: Record, counts: str, statistic: str, varied: str = "order", at: int = 0,
    against: str = "",
) -> Iterator[Estimate]:  # fmt: skip
    """Yield a statistic of counts where a setting is varied, less that of another setting."""
    x, values = _counts(record, counts, varied)
    grows = statistic == "growth after"
    if len(x) < 2 + (statistic == "last slope") or (at and at not in x[: len(x) - grows]):
        return
    numbers = STATISTICS[statistic](values, x, at)
    if against:
        numbers = numbers - STATISTICS[statistic](*_counts(record, counts, against)[::-1], at)
    words = f"orders {at or x[-2]} to {x[-1]}" if counts == "growth" else ""
    estimate = interval(words, numbers)
    if len(numbers) == 1:  # exact in its data set
        estimate = estimate._replace(low=estimate.value, high=estimate.value)
    yield estimate


# ---- selections, and posteriors of alpha ----


def central(record: Record, column: str) -> Iterator[Estimate]:
    """Yield the mean and the central 99% of the correlations kept, or of a number of divisions."""
    values = record.selections["gamma"] if column == "gamma" else divisions(record)[column]
    low = np.quantile(values, TAIL, method="lower")
    high = np.quantile(values, 1 - TAIL, method="higher")
    yield Estimate("", float(np.mean(values)), float(low), float(high))


def _correlations(record: Record) -> list[np.ndarray]:
    """Return the absolute correlations of all features in training and in test samples."""
    arrays = record.results.load("select", 0)
    return [np.abs(arrays[f"{of}_correlation"]) for of in ("train", "test")]


def shrinkage(record: Record, sizes: list[int]) -> Iterator[Estimate]:
    """Yield how much smaller correlations of selected features are in test samples."""
    train, test = _correlations(record)
    order = np.argsort(-train, kind="stable")
    for size in (size for size in sizes if size < len(order)):
        yield interval(_words({"size": size}), (test - train)[order[:size]])


def unselected(record: Record, size: int) -> Iterator[Estimate]:
    """Yield 1 if the best feature in test samples is not in a selection of this size, else 0."""
    train, test = _correlations(record)
    yield interval("", np.array([np.sum(train > train[np.argmax(test)]) >= size]))


def overlap(record: Record, sizes: list[int | str]) -> Iterator[Estimate]:
    """Yield the overlap of the corrected posterior of alpha with that of all features."""
    for size in sizes:
        pair = [record.find(label, "corrected") for label in (str(size), "all")]
        if all(pair):
            posteriors = [_posterior(record, method) for method in pair if method]
            yield interval(_words({"size": size}), np.minimum(*posteriors).sum(axis=1))


TESTS: dict[str, Callable[..., Iterator[Estimate]]] = {
    test.__name__: test
    for test in (compare, best, parameters, central, shrinkage, unselected, overlap)
}


# ---- verdicts and tables ----


def evaluate(claim: Claim, records: Iterable[Record]) -> dict[str, object]:
    """Return the row of a claim, tested on the first record that can test it."""
    limits = [CRITERIA[name][0].format(limit) for name, limit in claim.criterion.items()]
    row: dict[str, object] = {
        **{name: getattr(claim, name) for name in ("id", "section", "exhibit", "claim")},
        "criterion": f"{claim.measures}: {' and '.join(limits)}" if limits else "",
        ESTIMATES: claim.untested or f"needs {' or '.join(claim.experiments)}",
        **{"verdict": UNTESTED, "experiment": "", "data sets": 0},
        **{"part": claim.of, "numbers": " ".join(claim.numbers)},
    }
    for record in records if not claim.untested else ():
        estimates = list(TESTS[claim.test](record, **claim.arguments))
        if estimates:
            text = "; ".join(map(str, estimates))
            text += "" if all(e.sure for e in estimates) else "; chains not converged"
            variants = record.variants if record.config["selection"] else []
            if len(variants) > 1:
                variant = claim.arguments.get("first", {}).get("variant", variants[0])
                text += f"; {record.variant_name}: {variant}"
            return row | {
                ESTIMATES: text,
                "verdict": verdict(estimates, claim.criterion),
                "experiment": record.config["experiment"],
                "data sets": record.config["replicates"],
            }
    return row


def evaluate_all(records: list[Record]) -> pd.DataFrame:
    """Return a row for every claim, each tested on the best experiment of those given."""
    rows = []
    for claim in claims():
        by_name = {
            record.config["experiment"].removesuffix("-smoke"): record
            for record in records
            if record.config["report"].get("thesis") == claim.of
        }
        order = list(dict.fromkeys([*claim.experiments, *by_name]))
        rows.append(evaluate(claim, [by_name[name] for name in order if name in by_name]))
    return pd.DataFrame(rows)


def verdict_counts(verdicts: Iterable[str]) -> str:
    """Return a line that says how many claims have which verdict."""
    count = Counter(verdicts)
    parts = [f"{count[verdict]} {verdict}" for verdict in VERDICTS if count[verdict]]
    return f"{count.total()} claims of the thesis: {', '.join(parts)}"


def claim_table(rows: pd.DataFrame, name: str, *more: str) -> PageTable:
    """Return the table of claims that pages show, with more columns if given."""
    return PageTable(name, "Claims of the thesis", rows[[*SHOWN, *more]], caption("claims"))


def opening(record: Record) -> dict[str, Any]:
    """Return the main claims about an experiment, their verdicts, and whether they are found.

    Nothing is tested on the small form of an experiment.
    """
    part = read_yaml(THESIS / "claims.yaml").get(record.config["report"].get("thesis"))
    if part is None:
        return {}
    tested = [] if record.small else [record]
    main = [evaluate(claim, tested) for claim in claims() if claim.id in part["opening"]]
    verdicts = {row["verdict"] for row in main}
    found = "yes" if verdicts == {FOUND} else "in part" if verdicts & {FOUND, DIRECTION} else "no"
    found = UNTESTED if verdicts == {UNTESTED} else found
    return {"found": found, "claims": main, "exhibit": main[0]["exhibit"], "small": record.small}


def statement_table(record: Record) -> list[PageTable]:
    """Each claim of the thesis that this experiment tests: estimates and verdict."""
    rows = evaluate_all([record])
    rows = rows[rows["experiment"] != ""]
    rows = rows.assign(verdict=UNTESTED) if record.small else rows
    return [claim_table(rows, "statements")] if len(rows) else []
