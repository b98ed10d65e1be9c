"""What a file with a table holds, before its response is made classes."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Content:
    """Numbers, the response as it stands in the file, and names.

    Attributes
    ----------
    features : (n, p) numbers; NaN where a value is missing.
    response : (n,) values of any kind; None of new cases.
    names : of the features, or empty where there are none.
    ids : of the cases, or empty.
    classes : what classes 0 and 1 are called, where the file's kind says it.
    notes : what the user should know, a line each.
    """

    features: np.ndarray
    response: np.ndarray | None
    names: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    classes: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)
