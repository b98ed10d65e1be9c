"""Tables that were screened before: by whoever made them, or by selection.screened.keep."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from thesiskit.config import OWN_METHODS, Config
from thesiskit.config.selection import SelectionBlock
from thesiskit.errors import quoted
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Chosen, selecting_model
from thesiskit.models.left_out import Screened
from thesiskit.models.selection import is_binary, select_features, weakest_features

if TYPE_CHECKING:
    from thesiskit.experiments.selection.design import Design, Split

KEY = "selection.screened"


def keep_best(config: Config, split: Split) -> Split:
    """Return a split without the columns that selection.screened.keep leaves out."""
    screened = config.selection.screened if config.selection else None
    if screened is None or screened.keep is None:
        return split
    place = (split.replicate, split.group, split.fold)
    rng = generator(config.seed, "screened", *place, screened.keep)
    kept = select_features(split.features, split.response, screened.keep, rng, cases=split.train)
    columns = np.sort(kept.selected)
    return replace(split, features=split.features.take(columns), columns=columns)


def screened_before(wanted: SelectionBlock, split: Split, chosen: Chosen) -> Screened | None:
    """Return what a selection is told of the screening of the table, None if nothing."""
    if wanted.screened is None or chosen.of is None:
        return None
    threshold = wanted.screened.threshold
    squared = None if threshold is None else Fraction(str(threshold)) ** 2
    return Screened(chosen.of or split.width, squared)


def check_screening(design: Design) -> None:
    """Raise ConfigError where a threshold is above the smallest correlation in a table."""
    screened = design.config.selection.screened if design.config.selection else None
    if screened is None or screened.threshold is None or not design.tables:
        return
    split = next(design.splits(range(1), design.draw(range(1))))
    weakest, columns = weakest_features(split.features, split.response, split.train)
    gamma = Fraction(str(screened.threshold))
    if gamma**2 <= weakest:
        return
    names, smallest = design.tables[0].names, float(weakest) ** 0.5
    name = quoted(names[columns[0]]) if names else f"number {columns[0] + 1}"
    raise design.config.wrong(
        f"{KEY}.threshold",
        f"is {screened.threshold:g}, but the feature {name} has an absolute correlation of "
        f"{smallest:.4f} in the training cases, {float(gamma) - smallest:.4f} less; both cannot "
        "be true. Give a smaller threshold, or none if the best features were kept",
    )


def screening_notes(design: Design) -> list[str]:
    """Return what the user should know about a table that was screened before, a line each."""
    config, tables = design.config, design.tables
    screened = config.selection.screened if config.selection else None
    if screened is None or screened.keep is not None or not tables:
        return []
    notes = []
    if config.scheme == "none":
        notes.append(
            f"{KEY}: all {len(tables[0].response):,} cases took part in the screening, so none "
            "can be tested; data.test_path may name cases that it did not see"
        )
        peers = [one for one in selecting_model(config).methods if one not in OWN_METHODS]
        if peers:
            notes.append(f"model.methods: {', '.join(peers)}: left out, because no case is tested")
    if not all(is_binary(table.features) for table in tables):
        notes.append(
            f"{KEY}: the features are real numbers, cut at their medians here; the correction is "
            "exact if the screening looked at the same binary features"
        )
    if any(table.missing for table in tables):
        notes.append(f"{KEY}: features that are not in the table count as never missing")
    return notes
