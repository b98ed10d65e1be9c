"""What is done with every split: its selections, and the arms that start from each.

An *arm* is one analysis: how many features to keep, by which method, with which quadrature or
sampler, whether all features may be relevant or some, and with a temperature or without.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from thesiskit.config import WHOLE_METHODS, Config, ScreenedBlock
from thesiskit.errors import DataError, UserError
from thesiskit.models.base import OTHERS, OWN
from thesiskit.models.selection import (
    FSelection,
    LeftOut,
    Screened,
    Selection,
    correlations,
    count_present,
    f_of_correlation,
    score_present,
    select_by_f,
    select_features,
)
from thesiskit.study.cells import generator
from thesiskit.study.splits import Split

NONE, CV = "none", "cv"  # temperatures
# of selections of real features
PER_FEATURE = ("selected", "f", "counts", "means", "within")
NUMBERS = ("threshold", "n_features", "n_constant", "tied", "tied_kept")


@dataclass(frozen=True)
class Arm:
    """One analysis of a split; `size` counts through `selections`."""

    size: int
    label: str  # that of the selection
    method: str
    variant: str  # the rule for theta, or the sampler; "none" for a peer
    relevant: str = "all"  # which features may be relevant, "all" or "some"; "none" for a peer
    temperature: str = NONE  # or "cv"

    @property
    def name(self) -> str:
        """What it is called, the same whatever else is done."""
        others = (self.method, self.variant, self.relevant, "tempered" if self.tempered else NONE)
        return " ".join([self.label, *(one for one in others if one not in (NONE, "all"))])

    @property
    def tempered(self) -> bool:
        """Whether its log odds are divided by a temperature."""
        return self.temperature == CV

    @property
    def correct(self) -> bool:
        """Whether the selection is corrected for, if it is a method of ours."""
        return OTHERS.get(self.method, ("", self.method))[1] != "uncorrected"


@dataclass(frozen=True)
class Chosen:
    """A selection that is asked for.

    size : a number of features, "all", or a threshold.
    of : how many features there were before the table was screened, 0 for as many as the table has;
        None where it was not, or where the arms of this selection do not ask.
    """

    label: str  # how many features: "10", "all", or "|COR| > 0.2"; of several, "10 of 5,000"
    size: int | str | float
    of: int | None = None


def selections(config: Config) -> list[Chosen]:
    """Return the selections that are made in every split; each has another label."""
    return list(dict.fromkeys(chosen for chosen, *_ in _analyses(config)))


def arms(config: Config) -> list[Arm]:
    """Return what is done with every split."""
    place = {chosen: i for i, chosen in enumerate(selections(config))}
    found = [Arm(place[chosen], chosen.label, *how) for chosen, *how in _analyses(config)]
    methods = config.model.methods
    return found + [Arm(0, "all", one, NONE, NONE) for one in methods if one in WHOLE_METHODS]


def _analyses(config: Config) -> Iterator[tuple[Chosen, str, str, str, str]]:
    """Yield for each arm a selection, a method, a variant, what may be relevant, a temperature."""
    assert config.selection is not None
    screened, model = config.selection.screened, config.model
    peers = [one for one in model.methods if one not in (*OWN, *WHOLE_METHODS)]
    ways = list(product(model.relevances, model.temperature))
    for size in config.selection.features or config.selection.thresholds or []:
        label = str(size) if config.selection.features else f"|COR| > {size}"
        plain, counted = _chosen(label, size, screened)
        for variant in model.variants:
            if size == "all" and screened is None:
                # with nothing to correct the two are one
                if variant != "as-printed" or "thesis" not in model.variants:
                    for way in ways:
                        yield plain, "complete", variant, *way
                continue
            for method in (one for one in model.methods if one in OWN):
                mine = counted if method == "corrected" else [plain]
                for chosen, way in product(mine, ways):
                    yield chosen, method, variant, *way
        for peer in peers if size != "all" or screened else ():
            mine = counted if OTHERS.get(peer, ("", ""))[1] == "corrected" else [plain]
            temperatures = model.temperature if peer in OTHERS else [NONE]
            for chosen, temperature in product(mine, temperatures):
                yield chosen, peer, NONE, NONE, temperature


def _chosen(
    label: str, size: int | str | float, screened: ScreenedBlock | None
) -> tuple[Chosen, list[Chosen]]:
    """Return a selection as it is, and as the correction has it: one for each `of` of a list."""
    if screened is None or len(screened.of or [0]) == 1:
        one = Chosen(label, size, None if screened is None else (screened.of or [0])[0])
        return one, [one]
    return Chosen(label, size), [Chosen(f"{label} of {of:,}", size, of) for of in screened.of or ()]


def by_f(
    split: Split,
    k: int | None,
    rng: np.random.Generator,
    *,
    threshold: float | None = None,
    screened: Screened | None = None,
    at_most: bool = False,
) -> FSelection:
    """Keep k features, or those above a threshold; memory-mapped tables are not copied.

    at_most : keep all that vary where they are fewer than k.
    """
    X = split.real.with_cases(split.train)
    y = split.response[: len(X)]
    return select_by_f(
        X,
        y,
        k,
        rng,
        threshold=threshold,
        cases=split.train,
        screened=screened,
        at_most=at_most,
    )


def class_counts(split: Split) -> np.ndarray:
    """Return how many training cases of each class there are, (G,)."""
    return np.bincount(split.response[split.train], minlength=split.classes)


def keep_best(config: Config, split: Split, *, at_most: bool = False) -> Split:
    """Return a split without the columns that selection.screened.keep leaves out.

    at_most : keep all that vary where they are fewer, as they may be in a part of a training set.
    """
    screened = config.screened
    if screened is None or screened.keep is None:
        return split
    rng = generator(config.seed, "screened", *split.place, screened.keep)
    if config.takes_reals:
        real = by_f(split, screened.keep, rng, at_most=at_most)
        return split.keeping(np.sort(real.selected), of=real.n_features)  # which vary
    bits = select_features(split.features, split.response, screened.keep, rng, cases=split.train)
    return split.keeping(np.sort(bits.selected), of=bits.n_features)


def screened_before(config: Config, split: Split, chosen: Chosen) -> Screened | None:
    """Return what a selection of bits is told of the screening of the table, None if nothing."""
    wanted = config.screened
    if wanted is None or chosen.of is None:
        return None
    # a threshold for real features says nothing of bits
    threshold = None if config.takes_reals else wanted.threshold
    squared = None if threshold is None else Fraction(str(threshold)) ** 2
    return Screened(chosen.of or split.width, squared)


def f_screened_before(config: Config, split: Split, chosen: Chosen) -> Screened | None:
    """Return what a selection of real features is told of the screening of the table."""
    wanted = config.screened
    if wanted is None or chosen.of is None:
        return None
    known = config.takes_reals  # else the screening looked at bits
    return Screened(chosen.of or split.width, f_threshold(wanted, split) if known else None)


def f_threshold(wanted: ScreenedBlock, split: Split) -> float | None:
    """Return the F above which the features of a table were kept, None if it is not known."""
    if wanted.threshold is None:
        return wanted.f
    return f_of_correlation(wanted.threshold, class_counts(split))


def select(config: Config, splits: Iterable[Split], *, first: bool) -> dict[str, np.ndarray]:
    """Return the arrays of the select stage; the first block has correlations to draw, too.

    Where selection.screened.keep leaves columns out before, columns (splits, keep) are the others,
    and features that are selected are numbered among them.
    """
    record: list[Any] = []
    seconds: list[float] = []
    arrays: dict[str, np.ndarray] = {}
    labels = [chosen.label for chosen in selections(config)]
    columns: list[np.ndarray] = []
    real = config.takes_reals
    for split in splits:
        columns += [] if split.columns is None else [split.columns]
        _ = split.real if real else split.features  # read before the clock starts
        for chosen in selections(config):
            started = time.perf_counter()
            record.append(select_one(config, split, chosen, "reals" if real else "bits"))
            seconds.append(time.perf_counter() - started)
        if first and not arrays and config.scheme == "test-set" and not real:
            arrays = _both_correlations(split)
    if columns:
        arrays["columns"] = np.array(columns, dtype=np.int32)
    pack = pack_f_selections if real else pack_selections
    return arrays | {"label": np.array(labels)} | pack(record, np.array(seconds))


def _lots(config: Config, split: Split, chosen: Chosen) -> np.random.Generator:
    """Return what decides which of equal features are kept."""
    return generator(config.seed, "ties", *split.place, str(chosen.size))


def select_one(
    config: Config, split: Split, chosen: Chosen, takes: str, *, at_most: bool = False
) -> Selection | FSelection:
    """Select features as a model takes them, "bits" or "reals".

    at_most : keep all real features that vary where they are fewer than asked for, as they may be
        in a part of a training set.
    """
    if takes == "bits":
        return select_bits(config, split, chosen)
    return select_reals(config, split, chosen, at_most=at_most)


def select_bits(config: Config, split: Split, chosen: Chosen) -> Selection:
    """Select binary features."""
    wanted = config.selection
    assert wanted is not None
    before = screened_before(config, split, chosen)
    k = threshold = None
    if wanted.thresholds:
        threshold = str(chosen.size)
    elif chosen.size != "all":
        k = int(chosen.size)
    elif before is None:  # else None says that all are kept
        k = split.width
    return select_features(
        split.features,
        split.response,
        k,
        _lots(config, split, chosen),
        threshold=threshold,
        cases=split.train,
        ties=wanted.ties,
        screened=before,
    )


def select_reals(
    config: Config, split: Split, chosen: Chosen, *, at_most: bool = False
) -> FSelection:
    """Select real features.

    at_most : keep all that vary where they are fewer, as they may be in a part of a training set.
    """
    wanted = config.selection
    assert wanted is not None
    before = f_screened_before(config, split, chosen)
    rng = _lots(config, split, chosen)
    if wanted.thresholds:
        f = f_of_correlation(float(chosen.size), class_counts(split))
        return by_f(split, None, rng, threshold=f, screened=before)
    if chosen.size == "all":
        return by_f(split, split.width, rng, screened=before, at_most=True)
    try:
        return by_f(split, int(chosen.size), rng, screened=before, at_most=at_most)
    except DataError:
        raise
    except UserError as error:
        raise config.wrong("selection.features", str(error)) from None


def _both_correlations(split: Split) -> dict[str, np.ndarray]:
    """|COR| of every feature in training and test cases, for the scatter plot."""
    if len(split.features) > 200_000 or len(np.unique(split.response[split.test])) < 2:
        return {}
    features = split.features
    rows = {"train": split.train, "test": split.test}
    if features.known is not None:
        return {
            f"{name}_correlation": np.sqrt(
                score_present(*count_present(features, split.response, cases))
            )
            for name, cases in rows.items()
        }
    table = features.unpack(np.arange(len(features)))
    return {
        f"{name}_correlation": np.abs(correlations(table, split.response[cases], cases))
        for name, cases in rows.items()
    }


def pack_selections(record: list[Selection], seconds: np.ndarray) -> dict[str, np.ndarray]:
    """Return selections as arrays; lists of unequal length lie end to end.

    Where values are missing, `present` is there as well.
    """
    arrays = {
        "offset": np.cumsum([0] + [len(one.selected) for one in record]),
        "selected": np.concatenate([one.selected for one in record]).astype(np.int32),
        "ones": np.concatenate([one.ones for one in record]).astype(np.int32),
        "correlation": np.concatenate([one.correlation for one in record]),
        "gamma_squared": np.array([str(one.gamma_squared) for one in record]),
        "class_counts": np.array([one.class_counts for one in record]),
        "n_features": np.array([one.n_features for one in record]),
        "kept": np.array([len(one.selected) for one in record]),
        "tied": np.array([one.tied for one in record]),
        "tied_kept": np.array([one.tied_kept for one in record]),
        "seconds": seconds,
    }
    left_out = [one.left_out for one in record if one.left_out is not None]
    arrays["left_out"] = np.concatenate([one.rows for one in left_out]).astype(np.int32)
    arrays["left_out_offset"] = np.cumsum([0] + [len(one.rows) for one in left_out])
    arrays["tied_at_screening"] = np.array([one.tied_kept for one in left_out])
    present = [one.present for one in record if one.present is not None]
    if present:  # in all, or in none
        arrays["present"] = np.concatenate(present).astype(np.int32)
    return arrays


def pack_f_selections(record: list[FSelection], seconds: np.ndarray) -> dict[str, np.ndarray]:
    """Return selections of real features as arrays; lists of unequal length lie end to end."""
    names = (*PER_FEATURE, "correlation", "left_out")
    long = {name: np.concatenate([getattr(one, name) for one in record]) for name in names}
    single = {
        name: np.array([getattr(one, name) for one in record])
        for name in (*NUMBERS, "class_counts")
    }
    long["selected"] = long["selected"].astype(np.int32)
    return long | single | {
        "offset": np.cumsum([0] + [len(one.selected) for one in record]),
        "kept": np.array([len(one.selected) for one in record]),
        "left_out_offset": np.cumsum([0] + [len(one.left_out) for one in record]),
        "seconds": seconds,
    }  # fmt: skip


def unpack_f_selections(arrays: dict[str, np.ndarray]) -> list[FSelection]:
    """Return the selections that pack_f_selections packed."""
    result = []
    for i in range(len(arrays["threshold"])):
        part = slice(arrays["offset"][i], arrays["offset"][i + 1])
        rows = slice(arrays["left_out_offset"][i], arrays["left_out_offset"][i + 1])
        fields: dict[str, Any] = {name: arrays[name][part] for name in PER_FEATURE}
        fields |= {name: arrays[name][i].item() for name in NUMBERS}
        fields |= {"left_out": arrays["left_out"][rows], "class_counts": arrays["class_counts"][i]}
        result.append(FSelection(**fields))
    return result


def unpack_selections(arrays: dict[str, np.ndarray]) -> list[Selection]:
    """Return the selections that pack_selections packed."""
    result = []
    for i, text in enumerate(arrays["gamma_squared"]):
        part = slice(arrays["offset"][i], arrays["offset"][i + 1])
        rows = slice(arrays["left_out_offset"][i], arrays["left_out_offset"][i + 1])
        gamma_squared = Fraction(str(text))
        result.append(
            Selection(
                selected=arrays["selected"][part],
                gamma_squared=gamma_squared,
                ones=arrays["ones"][part],
                class_counts=(int(arrays["class_counts"][i, 0]), int(arrays["class_counts"][i, 1])),
                n_features=int(arrays["n_features"][i]),
                tied=int(arrays["tied"][i]),
                tied_kept=int(arrays["tied_kept"][i]),
                correlation=arrays["correlation"][part],
                left_out=LeftOut(
                    arrays["left_out"][rows], gamma_squared, int(arrays["tied_at_screening"][i])
                ),
                present=arrays["present"][part] if "present" in arrays else None,
            )
        )
    return result
