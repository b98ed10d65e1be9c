"""Data sets: drawn from a model, published, or the user's own.

A `Table` is one table of cases; a `Drawn` is a simulated training and test set.  To add a
published data set, write a function that returns a Table in a file of its own, and name it in
`published`.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Table:
    """Cases with features and a response.

    Attributes
    ----------
    features : (n, p) array, possibly memory-mapped; 0/1 or real values, no NaN.
    response : (n,) array of 0 and 1.
    names : feature names, or empty where there are none.
    digest : identifies the content, for provenance.
    source : where it comes from, for people.
    negative : of the user's own, the responses that became class 0.
    """

    features: np.ndarray
    response: np.ndarray
    names: list[str] = field(default_factory=list)
    digest: str = ""
    source: str = ""
    negative: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Drawn:
    """A simulated data set: what was drawn, and what it was drawn with.

    truth : theta (p,); of a mixture also labels (n,) of the training cases, and alpha_0 where it
        was drawn with that.
    """

    train: Table
    test: Table
    alpha: float
    truth: dict[str, np.ndarray]
