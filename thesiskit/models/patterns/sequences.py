"""Groups of patterns of sequences that the same training cases express.

| thesis | name | shape |
|---|---|---|
| N, O | number of training cases, `order` | scalars |
| G | `n_groups` | scalar |
| n_g | patterns in group g; `patterns_per_order` counts them by order | (G, O + 1) |
| E_P | expression: `indptr`, `indices` | (G + 1,), (.) |
| [0..0 A_b..A_O]_f | superpattern: the patterns of order `first` to `last` | (G,), (G,) |
| t_g | patterns of group g that a test case expresses too | `Shared` |

Sections "Compressing Parameters" and "Grouping Parameters of Sequence Prediction Models".  The
groups of a sequence model are the nodes of the compact suffix trie of the histories, so there are
at most 2 R - 1 for R distinct histories, whatever the order; their expressions are runs of the
sorted histories.  Only combinatorics lives here: no responses, no priors.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import as_strided

from thesiskit._kernels import sequence_patterns as kernel  # type: ignore[attr-defined]
from thesiskit.errors import DataError, UserError
from thesiskit.models.patterns.groups import UNSEEN, Groups, Shared, check_order

NOT_WHOLE = (
    "{} must be whole numbers from 0; encode other states, for example by scikit-learn's "
    "OrdinalEncoder"
)


class SequenceGroups(Groups):
    """Groups of a sequence model: nodes of the compact suffix trie of the histories.

    If `compressed` is false, every pattern is a group of its own: the original parameters.
    Group g holds the patterns of order first[g]..last[g] of the history rows[begin[g]].

    arrays : what `arrays` of groups of the same histories and settings returned;
    they are then not found again.
    """

    stored = (
        "rows", "row_of", "members", "begin", "end", "first", "last", "kind", "kinds", "above",
        "_leaf", "_first", "_last", "_parent", "_offset", "_node",
    )  # fmt: skip

    def __init__(
        self,
        histories: np.ndarray,
        order: int,
        *,
        compressed: bool = True,
        arrays: dict[str, np.ndarray] | None = None,
    ):
        self.histories, self.order, self.compressed = histories, order, compressed
        if arrays is None:
            self._find()
        else:
            self.restore(arrays)
            self.n_rows = len(self.rows)

    def _find(self) -> None:
        histories, order, compressed = self.histories, self.order, self.compressed
        place = np.arange(len(histories), dtype=np.int32)
        kernel.sort_histories(histories, order, place)
        shared = np.empty(len(place) + 1, dtype=np.int32)
        kernel.count_common(histories, order, place, shared[:-1])
        shared[-1] = -1
        new = shared[:-1] < order if order else np.arange(len(place)) == 0
        self.rows = place[new]
        self.n_rows = len(self.rows)
        self.row_of = np.empty(len(place), dtype=np.int32)
        self.row_of[place] = np.cumsum(new, dtype=np.int32) - 1
        self.members = np.arange(self.n_rows, dtype=np.int32)
        room = 2 * self.n_rows - 1
        begin, end, first, last, parent = np.empty((5, room), dtype=np.int32)
        self._leaf = np.empty(self.n_rows, dtype=np.int32)
        scratch = np.empty(4 * self.n_rows, dtype=np.int32)
        boundaries = np.append(shared[:-1][new], np.int32(-1))
        nodes = kernel.fill_nodes(
            boundaries, order, begin, end, first, last, parent, self._leaf, scratch
        )
        self._first, self._last = first[:nodes].copy(), last[:nodes].copy()
        self._parent = parent[:nodes].copy()
        # the original parameters of a node stand together, by order
        self._offset = np.arange(nodes)
        self._node = np.arange(nodes, dtype=np.int32)
        if not compressed:
            lengths = self._last - self._first + 1
            self._offset = np.cumsum(lengths) - lengths
            self._node = np.repeat(self._node, lengths)
        self.begin, self.end = begin[:nodes][self._node], end[:nodes][self._node]
        self.first, self.last = self._first[self._node], self._last[self._node]
        if not compressed:
            self.first = self.first + (np.arange(len(self._node)) - self._offset[self._node])
            self.first = self.last = self.first.astype(np.int32)
        self.kind, self.kinds = _distinct_ranges(self.first, self.last, order)
        self._divide()

    def _divide(self) -> None:
        """Set above: the rows of a pattern are divided among the next states."""
        self.above = np.full(self.n_groups, -1, dtype=np.int32)
        first = self._offset  # the group of a node's first pattern, and of its last one
        last = first if self.compressed else first + self._last - self._first
        inner = self._parent >= 0
        self.above[first[inner]] = last[self._parent[inner]]
        if not self.compressed:
            longer = self.first > self._first[self._node]
            self.above[longer] = np.flatnonzero(longer) - 1

    @cached_property
    def indptr(self) -> np.ndarray:
        """Where the expression of each group begins in `indices`, (G + 1,)."""
        return np.concatenate([[0], np.cumsum(self.expressed)])

    @cached_property
    def indices(self) -> np.ndarray:
        """Expressions end to end: numbers of the training cases, ascending in each group."""
        if not self.compressed:
            whole = SequenceGroups(self.histories, self.order)
            parts = np.split(whole.indices, whole.indptr[1:-1])
            return np.concatenate([parts[node] for node in self._node])
        indices = np.empty(self.indptr[-1], dtype=np.int32)
        filled = self.indptr[:-1].astype(np.intp)
        kernel.fill_members(self._leaf, self._parent, self.row_of, filled, indices)
        return indices

    def shared_patterns(self, x) -> tuple[np.ndarray, np.ndarray]:
        """Return what one test history (L,) shares with the groups, and what is new in it.

        Counts by order: (G, O + 1) of each group's patterns that x expresses too, and (O + 1,) of
        its patterns that no training case expresses.
        """
        x = np.asarray(x)
        if x.ndim != 1:
            raise UserError(f"shared_patterns takes one history, got an array of shape {x.shape}")
        shared = self.shared(x[None, :])
        counts = np.zeros((self.n_groups, self.order + 1), dtype=np.int64)
        counts[shared.whole] = self.kinds[self.kind[shared.whole]]
        counts[shared.partial] = shared.shared_counts[shared.partial_kind]
        return counts, shared.new_counts[shared.new_kind[0]].astype(np.int64)

    def shared(self, X) -> Shared:
        """Return what test histories X (T, L) share with the groups."""
        tests = check_histories(X, "test histories", unseen=True)
        if tests.shape[1] != self.histories.shape[1]:
            raise UserError(
                f"training histories have {self.histories.shape[1]} states, "
                f"test histories {tests.shape[1]}; make them the same"
            )
        node, depth = np.empty((2, len(tests)), dtype=np.int32)
        kernel.match_histories(
            self.histories, self.order, self.rows, self._leaf, self._parent, self._first,
            tests, node, depth,
        )  # fmt: skip
        places, case_of = np.unique(
            node.astype(np.int64) * (self.order + 1) + depth, return_inverse=True
        )
        node, depth = places // (self.order + 1), places % (self.order + 1)
        cut = depth < self._last[node]
        if not self.compressed:
            cut[:] = False
        whole, lengths = self._above(node, depth, cut)
        pairs = np.stack([self._first[node[cut]], depth[cut], self._last[node[cut]]])
        pairs, partial_kind = np.unique(pairs, axis=1, return_inverse=True)
        ends, new_kind = np.unique(depth, return_inverse=True)
        return Shared(
            case_of=case_of.astype(np.intp),
            whole_begin=np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp),
            whole=whole,
            partial_begin=np.concatenate([[0], np.cumsum(cut)]).astype(np.intp),
            partial=node[cut].astype(np.int32),
            partial_kind=partial_kind.astype(np.int32).reshape(-1),
            shared_counts=_ranges(pairs[0], pairs[1], self.order),
            other_counts=_ranges(pairs[1] + 1, pairs[2], self.order),
            new_kind=new_kind.astype(np.int32),
            new_counts=_ranges(ends + 1, np.full(len(ends), self.order), self.order),
        )

    def _above(self, node, depth, cut) -> tuple[np.ndarray, np.ndarray]:
        """Return groups expressed entirely, end to end, and how many for each (node, depth)."""
        case, groups = [], []
        here = np.where(cut, self._parent[node], node)
        top = depth  # the largest order that counts in the node
        which = np.arange(len(node))
        while True:
            alive = here >= 0
            here, which, top = here[alive], which[alive], top[alive]
            if not len(here):
                break
            if self.compressed:
                case.append(which)
                groups.append(here)
            else:
                for step in range(int((top - self._first[here]).max()) + 1):
                    has = self._first[here] + step <= top
                    case.append(which[has])
                    groups.append(self._offset[here[has]] + step)
            top = self._first[here] - 1
            here = self._parent[here]
        if not groups:
            return np.empty(0, dtype=np.int32), np.zeros(len(node), dtype=np.intp)
        cases = np.concatenate(case)
        by_case = np.argsort(cases, kind="stable")
        lengths = np.bincount(cases, minlength=len(node))
        return np.concatenate(groups)[by_case].astype(np.int32), lengths

    def growth(self) -> np.ndarray:
        """Number of groups of the compressed model of each order 0..O, (O + 1,).

        At order o the trie is cut off: nodes whose first pattern is of order at most o remain.
        """
        return np.cumsum(np.bincount(self._first, minlength=self.order + 1))

    def pattern(self, g: int, states: Sequence[str], order: int | None = None) -> str:
        """Write the pattern of a group, its longest unless another order is asked for."""
        order = int(self.last[g]) if order is None else order
        history = self.histories[self.rows[self.begin[g]]]
        symbols = [str(states[code]) for code in history[len(history) - order :]]
        return ("" if all(len(state) == 1 for state in states) else " ").join(symbols)

    def find(self, pattern: str, states: Sequence[str]) -> int:
        """Return the group of a pattern written as `pattern` writes it.

        Raises UserError for an unknown state, and for a pattern that no case expresses.
        """
        single = all(len(state) == 1 for state in states)
        symbols = list(pattern) if single else pattern.split()
        unknown = [symbol for symbol in symbols if symbol not in states]
        if unknown:
            raise UserError(f"there is no state {unknown[0]!r}; states are {', '.join(states)}")
        order, length = len(symbols), self.histories.shape[1]
        if order > self.order:
            raise UserError(f"{pattern!r} fixes {order} states, the groups at most {self.order}")
        x = np.full(length, UNSEEN)
        x[length - order :] = [list(states).index(symbol) for symbol in symbols]
        shared, _ = self.shared_patterns(x)
        (found,) = np.nonzero(shared[:, order])
        if not len(found):
            raise UserError(f"no training case expresses {pattern!r}")
        return int(found[0])

    def describe(self, g: int, states: Sequence[str]) -> str:
        """Write a group: its longest pattern, the shortest after a bar where they differ.

        For example "_|_CC": the patterns _CC and __CC.
        """
        longest, first = self.pattern(g, states), int(self.first[g])
        if first == self.last[g]:
            return longest
        shortest = self.pattern(g, states, first)
        return longest[: len(longest) - len(shortest)].rstrip() + "|" + shortest


def compress_sequences(
    X, order: int | str, *, compress: bool = True, arrays: dict[str, np.ndarray] | None = None
) -> SequenceGroups:
    """Group the patterns of training histories by their expressions: the sums of eqn-sg.

    The patterns of a history are those of eqn-seq-linear.

    Parameters
    ----------
    X : (n, L) states as whole numbers from 0, in time order, the last column most recent.
    order : the largest number of states that a pattern fixes, up to L, or "all".
    compress : False makes every pattern a group of its own.
    arrays : what `arrays` of the same groups returned; they are then not found again.

    Section "Grouping Parameters of Sequence Prediction Models".  Raises UserError for an order
    above L, DataError for states that are missing, negative or not whole numbers.
    """
    histories = check_histories(X, "histories")
    order = check_order(order, histories.shape[1], "sequences")
    return SequenceGroups(histories, order, compressed=compress, arrays=arrays)


def check_histories(X, name: str, *, unseen: bool = False) -> np.ndarray:
    """Return histories as an (n, L) int32 array; raise DataError if they are not histories.

    A sliding window over one long sequence stays one.  With `unseen`, UNSEEN may occur.
    """
    try:
        X = np.asarray(X)
    except ValueError:
        raise DataError(
            f"{name} are of unequal length; cut them to the most recent states, or fill short "
            "ones on the left with a state of their own"
        ) from None
    if X.ndim != 2:
        raise DataError(f"{name} must be a table (cases, states), got an array of shape {X.shape}")
    if len(X) == 0:
        raise DataError(f"there are no {name}")
    window = X.shape[1] > 0 and X.strides[0] == X.strides[1] and min(X.shape) > 1
    if window:  # look at the sequence below, not at each of its windows
        base = as_strided(X, (X.shape[0] + X.shape[1] - 1,), X.strides[1:], writeable=False)
        codes = _as_codes(base[None, :], f"{name}, as one sequence", unseen)[0]
        return np.lib.stride_tricks.sliding_window_view(codes, X.shape[1])
    return _as_codes(X, name, unseen)


def _as_codes(X: np.ndarray, name: str, unseen: bool) -> np.ndarray:
    if X.dtype.kind == "O":
        try:
            X = X.astype(float)
        except (TypeError, ValueError):
            raise DataError(NOT_WHOLE.format(name)) from None
    if X.dtype.kind not in "iufb":
        raise DataError(NOT_WHOLE.format(name))
    if X.dtype.kind == "f":
        _refuse(~np.isfinite(X), X, name, "a state is missing")
        _refuse(np.floor(X) != X, X, name, "a state is not a whole number")
    if X.size and X.dtype.kind != "b":
        least = UNSEEN if unseen else 0
        if X.min() < least:
            _refuse(least > X, X, name, "a state is negative")
        if X.max() >= 2**31:
            _refuse(X >= 2**31, X, name, "a state is too large a number")
    return np.ascontiguousarray(X, dtype=np.int32)


def _refuse(bad: np.ndarray, X: np.ndarray, name: str, problem: str) -> None:
    if bad.any():
        row, column = (int(place[0]) for place in np.nonzero(bad))
        raise DataError(f"{name}: {problem} in row {row}, column {column}: {X[row, column]}")


def _distinct_ranges(first, last, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the kind (G,) of each range of orders, and the counts (C, O + 1) of each kind."""
    pairs, kind = np.unique(first.astype(np.int64) * (order + 1) + last, return_inverse=True)
    counts = _ranges(pairs // (order + 1), pairs % (order + 1), order)
    return kind.astype(np.int32), counts


def _ranges(first, last, order: int) -> np.ndarray:
    """Return counts by order, (., O + 1): one pattern of each order first..last."""
    orders = np.arange(order + 1)
    first, last = np.asarray(first)[:, None], np.asarray(last)[:, None]
    return ((orders >= first) & (orders <= last)).astype(np.int64)
