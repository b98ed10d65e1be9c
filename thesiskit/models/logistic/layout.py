"""Groups as the kernel reads them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thesiskit._kernels import hamiltonian  # type: ignore[attr-defined]
from thesiskit.models.patterns import Groups


@dataclass(frozen=True)
class Layout:
    """Groups and cases of rows, in arrays of the kernel's types.

    begin, end (G,) and members (.) give the rows of each group; kind (G,) and kinds (C, O + 1)
    its patterns by order; weight (R,) the cases of a row.  runs (G,) says whether a group's members
    are consecutive rows, each in its own place of `members`; unit (G,) whether all its rows have
    one case.
    Groups sorted by kind are by_kind (G,), those of kind c from kind_begin[c]; the
    kinds that have patterns of order o are order_kind[order_begin[o] : order_begin[o + 1]].
    Where groups are a tree, parent (G,) is the group above each, -1 for none, and owner (R,) the
    smallest group of each row; else both are empty.
    """

    begin: np.ndarray
    end: np.ndarray
    members: np.ndarray
    kind: np.ndarray
    kinds: np.ndarray
    weight: np.ndarray
    runs: np.ndarray
    unit: np.ndarray
    by_kind: np.ndarray
    kind_begin: np.ndarray
    order_begin: np.ndarray
    order_kind: np.ndarray
    parent: np.ndarray
    owner: np.ndarray

    @cached_property
    def lists(self) -> tuple[hamiltonian.Lists, hamiltonian.Lists]:
        """The rows of each group, and the groups of each row, as trajectories add them up."""
        return hamiltonian.lists(self.begin, self.end, self.members, len(self.weight))


def lay_out(groups: Groups, weight: np.ndarray) -> Layout:
    """Return the layout of groups whose rows have weight (R,) cases."""
    members, begin, end = groups.members, groups.begin, groups.end
    kinds = groups.kinds.astype(float)
    order_of, kind_of = np.nonzero(kinds.T)
    repeated = np.concatenate([[0], np.cumsum(weight[members] != 1)])
    jumps = np.concatenate([[0], np.cumsum(np.diff(members, prepend=members[:1]) != 1)])
    owner = np.empty(groups.n_rows if len(groups.above) else 0, dtype=np.int32)
    if len(owner):  # groups that none is above are single rows
        leaves = np.setdiff1d(np.arange(groups.n_groups), groups.above)
        assert (end[leaves] == begin[leaves] + 1).all()
        assert len(leaves) == groups.n_rows
        owner[members[begin[leaves]]] = leaves
    runs = jumps[end] == jumps[np.minimum(begin + 1, end)]
    return Layout(
        begin=begin.astype(np.intp),
        end=end.astype(np.intp),
        members=np.ascontiguousarray(members, dtype=np.int32),
        kind=np.ascontiguousarray(groups.kind, dtype=np.int32),
        kinds=kinds,
        weight=weight,
        runs=(runs & (members[begin] == begin)).astype(np.uint8),
        unit=(repeated[end] == repeated[begin]).astype(np.uint8),
        by_kind=np.argsort(groups.kind, kind="stable").astype(np.int32),
        kind_begin=np.concatenate([[0], np.cumsum(np.bincount(groups.kind, minlength=len(kinds)))])
        .astype(np.intp),
        order_begin=np.searchsorted(order_of, np.arange(groups.order + 2)).astype(np.intp),
        order_kind=kind_of.astype(np.int32),
        parent=np.ascontiguousarray(groups.above, dtype=np.int32),
        owner=owner,
    )  # fmt: skip
