"""Tables that were screened before: by whoever made them, or by selection.screened.keep."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from thesiskit.config import OWN_METHODS, Config, NormalModel
from thesiskit.config.selection import ScreenedBlock
from thesiskit.errors import quoted
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Chosen, selecting_model
from thesiskit.experiments.selection.by_f import by_f, class_counts
from thesiskit.experiments.selection.split import Split
from thesiskit.models.selection import (
    Screened,
    correlation_of_f,
    f_of_correlation,
    is_binary,
    select_features,
    weakest_features,
)

if TYPE_CHECKING:
    from thesiskit.experiments.selection.design import Design

KEY = "selection.screened"
MANY_MORE = 2  # times the features of the table that luck alone would give it


def keep_best(config: Config, split: Split, *, at_most: bool = False) -> Split:
    """Return a split without the columns that selection.screened.keep leaves out.

    at_most : keep all that vary where they are fewer, as they may be in a part of a training set.
    """
    screened = config.selection.screened if config.selection else None
    if screened is None or screened.keep is None:
        return split
    rng = generator(config.seed, "screened", *split.place, screened.keep)
    if isinstance(config.model, NormalModel):
        real = by_f(split, screened.keep, rng, at_most=at_most)
        return split.keeping(np.sort(real.selected), of=real.n_features)  # which vary
    bits = select_features(split.features, split.response, screened.keep, rng, cases=split.train)
    return split.keeping(np.sort(bits.selected), of=bits.n_features)


def screened_before(config: Config, split: Split, chosen: Chosen) -> Screened | None:
    """Return what a selection of bits is told of the screening of the table, None if nothing."""
    wanted = config.selection.screened if config.selection else None
    if wanted is None or chosen.of is None:
        return None
    # a threshold for real features says nothing of bits
    threshold = None if isinstance(config.model, NormalModel) else wanted.threshold
    squared = None if threshold is None else Fraction(str(threshold)) ** 2
    return Screened(chosen.of or split.width, squared)


def f_screened_before(config: Config, split: Split, chosen: Chosen) -> Screened | None:
    """Return what a selection of real features is told of the screening of the table."""
    wanted = config.selection.screened if config.selection else None
    if wanted is None or chosen.of is None:
        return None
    known = isinstance(config.model, NormalModel)  # else the screening looked at bits
    return Screened(chosen.of or split.width, f_threshold(wanted, split) if known else None)


def f_threshold(wanted: ScreenedBlock, split: Split) -> float | None:
    """Return the F above which the features of a table were kept, None if it is not known."""
    if wanted.threshold is None:
        return wanted.f
    return f_of_correlation(wanted.threshold, class_counts(split))


def _weakest(design: Design, split: Split) -> tuple[Fraction | float, np.ndarray]:
    """Return the smallest COR^2 in a table, of real features F, and the features that have it."""
    if not design.takes_reals:
        return weakest_features(split.features, split.response, split.train)
    found = by_f(split, split.width, np.random.default_rng(0), at_most=True)
    return float(found.f[-1]), found.selected[-1:]


def check_screening(design: Design) -> None:
    """Raise ConfigError where a threshold is above the smallest correlation in a table."""
    screened = design.config.selection.screened if design.config.selection else None
    if screened is None or not design.tables:
        return
    key = "f" if screened.f is not None else "threshold"
    given = getattr(screened, key)
    if given is None:
        return
    split = design.first_split
    weakest, columns = _weakest(design, split)
    cut = f_threshold(screened, split) if design.takes_reals else Fraction(str(given)) ** 2
    assert cut is not None
    if cut <= weakest:
        return
    what, smallest = "an absolute correlation", float(weakest) ** 0.5
    if design.takes_reals:
        what, smallest = "an F", float(weakest)
        if key == "threshold":
            what, smallest = "a correlation ratio", correlation_of(smallest, split)
    names = design.tables[0].names
    name = quoted(names[columns[0]]) if names else f"number {columns[0] + 1}"
    raise design.config.wrong(
        f"{KEY}.{key}",
        f"is {given:g}, but the feature {name} has {what} of {smallest:.4f} in the training "
        f"cases, {given - smallest:.4f} less; both cannot be true. Give a smaller threshold, or "
        "none if the best features were kept",
    )


def correlation_of(f: float, split: Split) -> float:
    """Return the correlation ratio of an F."""
    return float(correlation_of_f(np.array([f]), class_counts(split)[None])[0])


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
    if not design.takes_reals and not all(is_binary(table.features) for table in tables):
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
    split = design.first_split
    columns = split.width
    if design.takes_reals:
        f = f_threshold(screened, split)
        f = float(_weakest(design, split)[0]) if f is None else f
        gamma, counts = correlation_of(f, split), class_counts(split)
        # of a useless feature
        chance = float(special.fdtrc(len(counts) - 1, counts.sum() - len(counts), f))
    else:
        found = screened.threshold
        gamma = float(_weakest(design, split)[0]) ** 0.5 if found is None else found
        chance = math.erfc(gamma * math.sqrt(len(split.train) / 2))
    for of in screened.of or ():
        if of * chance > MANY_MORE * columns:
            return [
                f"{KEY}: by luck alone about {float(f'{of * chance:.2g}'):,.0f} of {of:,} useless "
                f"features would have an absolute correlation of {gamma:.2f} or more, but the "
                f"table has {columns:,}; so it was screened in another way, or from fewer, and "
                "what the corrected models say may be wrong"
            ]
    return []
