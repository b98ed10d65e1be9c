"""The select stage: selections in every split, and as arrays for result files."""

import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from thesiskit.config import Config, NormalModel
from thesiskit.errors import DataError, UserError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Chosen, selections
from thesiskit.experiments.selection.by_f import by_f, class_counts
from thesiskit.experiments.selection.screened import f_screened_before, screened_before
from thesiskit.experiments.selection.split import Split
from thesiskit.models.selection import (
    FSelection,
    LeftOut,
    Selection,
    correlations,
    count_present,
    f_of_correlation,
    score_present,
    select_features,
)

# of selections of real features
PER_FEATURE = ("selected", "f", "counts", "means", "within")
NUMBERS = ("threshold", "n_features", "n_constant", "tied", "tied_kept")


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
    real = isinstance(config.model, NormalModel)
    select_one = select_reals if real else select_bits
    for split in splits:
        columns += [] if split.columns is None else [split.columns]
        _ = split.real if real else split.features  # read before the clock starts
        for chosen in selections(config):
            started = time.perf_counter()
            record.append(select_one(config, split, chosen))
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
