"""What fits say of arms of which some features are relevant: pi, and each feature's probability."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thesiskit.models.chains import Arrays

SOME = "some"


def pack_relevance(found: Sequence[Any]) -> Arrays:
    """Return what the posteriors of an arm's splits say of pi and of relevance.

    pi (J,), log_pi (splits, J), the log probability of each, and relevance: the probability of
    every kept feature, in the order of `selected`; those of split s are from relevance_offset[s]
    on.
    """
    relevance = [one.relevance for one in found]
    return {
        "pi": found[0].pi,
        "log_pi": np.array([one.log_pi for one in found]),
        "relevance": np.concatenate(relevance),
        "relevance_offset": np.cumsum([0] + [len(one) for one in relevance]),
    }


def join_relevance(found: list[Arrays], more: Sequence[str] = ()) -> Arrays:
    """Return what `pack_relevance` returned for the arms that have it, in one.

    These are the S columns `some`; log_pi (splits, S, J), pi (J,), and `more` arrays (splits, S,
    ...).  Their relevance lies end to end: that of split s in the i-th of them begins at
    relevance_offset[i, s], and ends at relevance_offset[i, s + 1].
    """
    places = [i for i, one in enumerate(found) if "relevance" in one]
    if not places:
        return {}
    mine = [found[i] for i in places]
    starts = np.cumsum([0] + [len(one["relevance"]) for one in mine[:-1]])
    offset = np.array([one["relevance_offset"] for one in mine])
    return {
        "some": np.array(places),
        "pi": mine[0]["pi"],
        **{name: np.stack([one[name] for one in mine], axis=1) for name in (*more, "log_pi")},
        "relevance": np.concatenate([one["relevance"] for one in mine]),
        "relevance_offset": offset + starts[:, None],
    }
