"""What chains that run until they agree had reached when they ended, of all kinds of models."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd

from thesiskit.defaults import UNTIL_FIRST
from thesiskit.report.layout import Table

NAMES = ("iterations", "judged_rhat", "judged_ess", "worst", "lack", "reached")
Arrays = dict[str, np.ndarray]
COMPARED = {
    "logistic": "the log likelihood, of real responses the log noise, and ",
    "mixture": "log alpha, the log posterior, the agreement of labels with responses, and ",
}


class Ran(Protocol):
    """A finished experiment whose chains ran until they agreed."""

    config: dict[str, Any]

    def reached(self) -> Iterator[tuple[dict[str, Any], Arrays]]:
        """Yield what an arm is, and of each of its fits the arrays of NAMES, (fits,) each."""


def reached_table(record: Ran) -> list[Table]:
    """How long the chains of each arm ran, and how well they agreed when they ended."""
    model = record.config["model"]
    until, rows = model["until"], []
    begin = f" from {until['least']:,} on" if until["least"] > UNTIL_FIRST else ""
    also = COMPARED[model["kind"]] if until.get("of", "all") == "all" else ""
    for keys, found in record.reached():
        rows.append(
            keys
            | {
                "iterations": _range(found["iterations"]),
                "largest R-hat": found["judged_rhat"].max(),
                "fewest effective draws": np.rint(found["judged_ess"].min()),
                "furthest from the targets": str(found["worst"][found["lack"].argmax()]),
                "enough": _enough(found["reached"] == 1),
            }
        )
    return [
        Table(
            "reached",
            "What the chains had reached when they ended",
            pd.DataFrame(rows),
            "Chains end when all that is compared has an R-hat of at most "
            f"{until['rhat']:g} and at least {until['ess']:g} effective draws, all chains "
            f"together, or after {_limit(model):,} iterations. They are compared after 200, 300, "
            f"450, ... iterations, each half as many again{begin}; the first half of them does "
            f"not count. Compared are {also}the predictions for up to 20 cases. The fifth "
            "column names the quantity that lacks most, in the fit that lacks most.",
            long=len(rows) > 25,
        )
    ]


def _limit(model: dict[str, Any]) -> int:
    return (model if model["kind"] == "logistic" else model["collapsed"])["iterations"]


def _range(iterations: np.ndarray) -> str:
    low, high = int(iterations.min()), int(iterations.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _enough(reached: np.ndarray) -> str:
    if len(reached) == 1:
        return "yes" if reached[0] else "NO"
    return f"{int(reached.sum()):,} of {len(reached):,}"


def in_words(found: Arrays, of: str = "all") -> str:
    """Say in a few words how long chains ran, and how many fits reached the limit.

    of : what had to agree, as in `model.until`.
    """
    done = found["reached"][~np.isnan(found["reached"].astype(float))] == 1
    ran = found["iterations"][~np.isnan(found["iterations"].astype(float))]
    short = int((~done).sum())
    text = f"the chains ran for {_range(ran)} iterations"
    if short:
        which = "they" if short == len(done) else f"those of {short:,} of {len(done):,} fits"
        return f"{text}, and {which} ended at the limit, not at the targets of model.until"
    return f"{text} until {'they' if of == 'all' else 'their predictions'} agreed"
