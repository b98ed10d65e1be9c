"""Predictions for samples whose classes have other shares than those of the training samples.

| symbol | name | shape |
|---|---|---|
| p_g | `log_probability`, their logs | (T, K) |
| n_g | `counts`, the training samples of each class | (K,) |
| q_g | `shares`, the prevalence of each class among new samples | (K,) |

If the shares of the classes differ, but not the features within each class, the probability of
class g becomes proportional to p_g q_g n / n_g (Saerens, Latinne and Decaestecker 2002).
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from thesiskit.errors import UserError, list_some, quoted

ROUNDING = 1e-6  # of shares that are typed with seven digits, whose sum is to be 1
EXAMPLE = "give a class and its share, such as --prevalence tumour=0.02 or {'tumour': 0.02}"

Prevalence = Mapping[Any, float] | Iterable[str] | None  # by class, or texts CLASS=SHARE


def named_shares(prevalence: Prevalence, classes: Sequence) -> dict[int, float]:
    """Return the shares of the classes that `prevalence` names, by their places in `classes` (K,).

    Raises
    ------
    UserError: it names no class, an unknown one or one twice; a share is not between 0 and 1; the
        shares cannot add up to 1, or there are no classes.
    """
    names, shares = np.asarray(classes).tolist(), dict[int, float]()
    if not names:
        raise UserError("the responses are real numbers, not classes. Fix: remove the prevalence")
    try:
        by_name = getattr(prevalence, "items", None)
        pairs = list(
            by_name() if by_name else (text.rpartition("=")[::2] for text in prevalence or ())
        )
    except (TypeError, AttributeError):
        pairs = []
    if not pairs:
        raise UserError(f"prevalence {quoted(prevalence)} names no class. Fix: {EXAMPLE}")
    for name, value in pairs:
        try:
            share = float(value)
        except (TypeError, ValueError):
            share = np.nan
        if not 0 < share < 1:
            fault = f"the prevalence of {quoted(name)} is {quoted(value)}, which is not a number"
            raise UserError(f"{fault} between 0 and 1. Fix: {EXAMPLE}")
        if name not in names:
            near = difflib.get_close_matches(str(name), map(str, names), 1)
            fix = f"did you mean {near[0]}?" if near else f"use one of {list_some(names)}"
            raise UserError(f"prevalence: there is no class {quoted(name)}. Fix: {fix}")
        if (place := names.index(name)) in shares:
            raise UserError(f"prevalence: class {quoted(name)} is there twice. Fix: remove one")
        shares[place] = share
    total, complete = sum(shares.values()), len(shares) == len(names)
    if complete and abs(total - 1) > ROUNDING:
        fix = "name all but one class, which has the remaining share"
        raise UserError(f"prevalence: the shares of all classes add up to {total:.8g}. Fix: {fix}")
    if not complete and total > 1 - ROUNDING:
        fault = f"prevalence: the shares add up to {total:.8g}, and leave nothing for other classes"
        raise UserError(f"{fault}. Fix: reduce them")
    return shares


def full_shares(prevalence: Prevalence, classes: Sequence, counts: np.ndarray) -> np.ndarray:
    """Return the prevalence of every class, (K,).

    Classes that are not named share what remains in proportion to their counts (K,).  Raises as
    `named_shares` does, and UserError for a class without training samples.
    """
    fixed = named_shares(prevalence, classes)
    if not counts.all():
        (name,) = np.asarray(classes)[counts == 0][:1].tolist()
        fault = f"class {quoted(name)} has no training sample, and so no odds to adjust"
        raise UserError(f"prevalence: {fault}. Fix: remove the prevalence")
    shares, places = counts / counts.sum(), list(fixed)
    shares[places] = 0
    shares *= (1 - sum(fixed.values())) / max(shares.sum(), np.finfo(float).tiny)
    shares[places] = list(fixed.values())
    return shares / shares.sum()


def at_prevalence(
    probability: np.ndarray,
    prevalence: Prevalence,
    classes: Sequence,
    counts: np.ndarray,
    *,
    log: bool = False,
) -> np.ndarray:
    """Return probabilities (T, K) at another prevalence, the same where that is None.

    Probabilities of 0 and 1 stay what they are.  log : logs are given and returned.  Raises as
    `full_shares` does.
    """
    if prevalence is None:
        return probability
    shares = full_shares(prevalence, classes, counts)
    with np.errstate(divide="ignore"):
        logs = probability if log else np.log(probability)
    moved = special.log_softmax(logs + np.log(shares) - np.log(counts / counts.sum()), axis=1)
    return moved if log else np.exp(moved)
