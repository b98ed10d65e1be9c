"""The select stage: selections in every split, and as arrays for result files."""

import time
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from thesiskit.config import Config
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Chosen, selections
from thesiskit.experiments.selection.design import Split
from thesiskit.experiments.selection.screened import screened_before
from thesiskit.models.left_out import LeftOut
from thesiskit.models.selection import (
    Selection,
    correlations,
    count_present,
    score_present,
    select_features,
)


def select(config: Config, splits: Iterable[Split], *, first: bool) -> dict[str, np.ndarray]:
    """Return the arrays of the select stage; the first block has correlations to draw, too.

    Where selection.screened.keep leaves columns out before, columns (splits, keep) are the others,
    and features that are selected are numbered among them.
    """
    record: list[Selection] = []
    seconds: list[float] = []
    arrays: dict[str, np.ndarray] = {}
    labels = [chosen.label for chosen in selections(config)]
    columns: list[np.ndarray] = []
    for split in splits:
        columns += [] if split.columns is None else [split.columns]
        for chosen in selections(config):
            place = (split.replicate, split.group, split.fold)
            rng = generator(config.seed, "ties", *place, str(chosen.size))
            started = time.perf_counter()
            record.append(_select_one(config, split, chosen, rng))
            seconds.append(time.perf_counter() - started)
        if first and not arrays and config.scheme == "test-set":
            arrays = _both_correlations(split)
    if columns:
        arrays["columns"] = np.array(columns, dtype=np.int32)
    return arrays | {"label": np.array(labels)} | pack_selections(record, np.array(seconds))


def _select_one(config: Config, split: Split, chosen: Chosen, rng) -> Selection:
    wanted = config.selection
    assert wanted is not None
    before = screened_before(wanted, split, chosen)
    k = threshold = None
    if wanted.thresholds:
        threshold = str(chosen.size)
    elif chosen.size != "all":
        k = int(chosen.size)
    elif before is None:  # else None says that all are kept
        k = len(split.features)
    return select_features(
        split.features,
        split.response,
        k,
        rng,
        threshold=threshold,
        cases=split.train,
        ties=wanted.ties,
        screened=before,
    )


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
