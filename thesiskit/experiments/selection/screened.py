"""Tables that were screened before: by whoever made them, or by selection.screened.keep."""

from __future__ import annotations

import math
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
MANY_MORE = 2  # times the features of the table that luck alone would give it


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
    notes += _unlikely(design)
    if not all(is_binary(table.features) for table in tables):
        notes.append(
            f"{KEY}: the features are real numbers, cut at their medians here; the correction is "
            "exact if the screening looked at the same binary features"
        )
    if any(table.missing for table in tables):
        notes.append(f"{KEY}: features that are not in the table count as never missing")
    return notes


def _unlikely(design: Design) -> list[str]:
    """Return a note where a table has far fewer features than useless ones alone would give it.

    Then it has not the best of so many, by these correlations, and the correction is for another
    table.
    """
    screened = design.config.selection.screened if design.config.selection else None
    assert screened is not None
    second = range(1, 2)  # the first one is drawn with these notes
    split = next(design.splits(second, design.draw(second)))
    gamma, columns = screened.threshold, len(split.features)
    if gamma is None:
        gamma = float(weakest_features(split.features, split.response, split.train)[0]) ** 0.5
    chance = math.erfc(gamma * math.sqrt(len(split.train) / 2))  # of a useless feature
    for of in screened.of or ():
        if of * chance > MANY_MORE * columns:
            return [
                f"{KEY}: by luck alone about {float(f'{of * chance:.2g}'):,.0f} of {of:,} useless "
                f"features would have an absolute correlation of {gamma:.2f} or more, but the "
                f"table has {columns:,}; so it was screened in another way, or from fewer, and "
                "what the corrected models say may be wrong"
            ]
    return []
