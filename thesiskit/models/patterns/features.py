"""Groups of interaction patterns of discrete features.

| thesis | name | shape |
|---|---|---|
| p, K_t | number of features, and of values of each | scalar, (p,) |
| [A_1 .. A_p] | pattern: a tuple of (feature, value), the others being free | - |
| superpattern | interval: patterns that fix at least `fixed`, at most `fixed` and `free` | - |

Section "Grouping Parameters of Classification Models".  A pattern that fixes a feature is not
expressed by a case where that is missing.

Two ways to the same groups.  The thesis splits expressions by the most diverse feature until the
rest are constant, and then merges superpatterns with one expression.  The other takes the features
one by one and keeps each expression once with its patterns counted by order, so that its work and
memory grow with the groups, not with the superpatterns; what a test case shares with the groups is
the same listing of the test case's own patterns.  Groups of all orders are the closed patterns
(formal concepts) of the rows; of order O, those that O values or fewer generate.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
from scipy import special

from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError, UserError
from thesiskit.models.patterns.groups import (
    MISSING,
    UNSEEN,
    Groups,
    Shared,
    check_order,
    distinct_rows,
)
from thesiskit.models.patterns.listing import ITEM_VALUES, LEAST_PART, Listing

ALGORITHMS = ("closed", "thesis")
EXACT = 2.0**53  # counts of patterns are whole up to here
MOST_PATTERNS = 1e300

Pattern = tuple[tuple[int, int], ...]


class FeatureGroups(Groups):
    """Groups of a classification model.

    With `compressed` false every pattern is a group of its own: the original parameters.
    Features are taken by falling entropy; rows are sorted in that order, so that some expressions
    are runs of them.

    arrays : what `arrays` of groups of the same cases and settings returned;
    they are then not found again.
    """

    stored = ("begin", "end", "members", "kind", "kinds", "whole", "part_begin", "part",
              "item", "parent")  # fmt: skip

    def __init__(
        self,
        codes: np.ndarray,
        order: int,
        *,
        compressed: bool = True,
        min_cases: int = 1,
        algorithm: str = "closed",
        arrays: dict[str, np.ndarray] | None = None,
    ):
        self.codes, self.order, self.compressed = codes, order, compressed
        self.min_cases, self.algorithm = min_cases, algorithm
        self._columns = np.arange(codes.shape[1])
        entropies = _entropies(codes)
        if algorithm == "closed":
            self._columns = np.argsort(-entropies, kind="stable")
        self._information = np.cumsum(entropies[self._columns])
        # with no pattern but that of order 0, no row has anything of its own
        by_column = codes[:, self._columns] if order else np.full_like(codes, MISSING)
        first, which = distinct_rows(by_column)
        place = np.lexsort(by_column[first].T[::-1]) if codes.shape[1] else np.arange(len(first))
        rank = np.empty_like(place)
        rank[place] = np.arange(len(place))
        self.row_of, self.n_rows = rank[which].astype(np.int32), len(first)
        self._rows = np.ascontiguousarray(by_column[first[place]].T)  # (p, R)
        if arrays is None:
            self._list()
        else:
            self.restore(arrays)

    def __reduce__(self):
        # kernels cannot be stored: the groups are listed again
        make = partial(
            type(self), compressed=self.compressed, min_cases=self.min_cases,
            algorithm=self.algorithm,
        )  # fmt: skip
        return make, (self.codes, self.order)

    def _new_listing(self, *, free: bool = True) -> Listing:
        weight = np.bincount(self.row_of, minlength=self.n_rows)
        return Listing(
            self._rows, weight, self.order, self._information, min_cases=self.min_cases,
            merged=self.compressed, free=free,
        )  # fmt: skip

    @cached_property
    def listing(self) -> Listing:
        """The listing in the kernel, which test cases are matched with."""
        listing = self._new_listing()
        if self.algorithm == "closed":
            listing.take_features()
        else:
            listing.diverge()
        return listing

    def _list(self) -> None:
        listing = self.listing
        counts = listing.counts[: listing.n_groups]
        self.begin, self.end = listing.begin[: listing.n_groups], listing.begin[1:]
        self.end = self.end[: listing.n_groups]
        self.members = listing.members[: self.end[-1]]
        first, self.kind = distinct_rows(counts)
        self.kinds = counts[first]
        if self.kinds.max() < EXACT:
            self.kinds = self.kinds.astype(np.int64)
        # a shortest pattern of a group has this item besides those of its parent
        self.item, self.parent = listing.item[: self.n_groups], listing.parent[: self.n_groups]
        self._divide()

    def _divide(self) -> None:
        """Set whole, part_begin and part: a group's rows are divided by a feature's values."""
        axis = np.empty(self.n_groups, dtype=np.int32)
        self.listing.kernel.find_axes(axis)
        divided = axis >= 0
        most = (self.end - self.begin)[divided].sum()
        part, bounds = np.empty(most, dtype=np.int32), np.empty(len(axis) + 1, dtype=np.intp)
        parts = self.listing.kernel.find_parts(axis, part, bounds)
        self.whole = np.flatnonzero(divided).astype(np.int32)
        self.part = part[:parts].copy()
        self.part_begin = np.append(bounds[:-1][divided], bounds[-1])

    def growth(self) -> np.ndarray:
        """Number of groups of the model of each order 0..O, (O + 1,)."""
        least = (self.kinds > 0).argmax(axis=1)[self.kind]
        return np.cumsum(np.bincount(least, minlength=self.order + 1))

    @property
    def n_features(self) -> int:
        """p."""
        return self.codes.shape[1]

    @cached_property
    def n_intervals(self) -> int:
        """Superpatterns that `intervals` represents all groups by, or the thesis's, unmerged."""
        if not self.compressed:
            return self.n_groups
        if self.algorithm == "thesis":
            return self.listing.kernel.n_superpatterns
        listing = self._new_listing(free=False)
        listing.take_features()
        return int(listing.counts[: listing.n_groups].sum())

    @cached_property
    def indptr(self) -> np.ndarray:
        """Where the expression of each group begins in `indices`, (G + 1,)."""
        return np.concatenate([[0], np.cumsum(self.expressed)])

    @cached_property
    def indices(self) -> np.ndarray:
        """Expressions end to end: numbers of the training cases, ascending in each group."""
        by_row = np.argsort(self.row_of, kind="stable").astype(np.int32)
        cases = np.bincount(self.row_of, minlength=self.n_rows)
        begin = np.cumsum(cases) - cases
        lengths = cases[self.members]
        after = np.cumsum(lengths)
        offsets = np.arange(after[-1]) - np.repeat(after - lengths, lengths)
        found = by_row[np.repeat(begin[self.members], lengths) + offsets]
        group = np.repeat(np.arange(self.n_groups), np.diff(self.indptr))
        return found[np.lexsort((found, group))]

    # ---- test cases ----

    def shared_patterns(self, x) -> tuple[np.ndarray, np.ndarray]:
        """Return what one test case (p,) shares with the groups, and what is new in it.

        Counts by order: (G, O + 1) of each group's patterns that x expresses too, and (O + 1,) of
        its patterns that no training case expresses.
        """
        x = np.asarray(x)
        if x.ndim != 1:
            raise UserError(f"shared_patterns takes one case, got an array of shape {x.shape}")
        shared = self.shared(x[None, :])
        counts = np.zeros((self.n_groups, self.order + 1), dtype=self.kinds.dtype)
        counts[shared.whole] = self.kinds[self.kind[shared.whole]]
        counts[shared.partial] = shared.shared_counts[shared.partial_kind]
        return counts, shared.new_counts[shared.new_kind[0]]

    def shared(self, X) -> Shared:
        """Return what test cases X (T, p) share with the groups.

        With min_cases above 1 the patterns left out are in no group, and new ones are left out.
        """
        tests = check_features(X, "test cases", unseen=True)
        if tests.shape[1] != self.n_features:
            raise UserError(
                f"training cases have {self.n_features} features, test cases {tests.shape[1]}; "
                "make them the same"
            )
        first, case_of = distinct_rows(tests)
        found = self.listing.match(np.ascontiguousarray(tests[first][:, self._columns]))
        whole_begin, whole, partial_begin, partial, polynomial, left = found
        if self.min_cases > 1:
            left[:] = 0
        pairs = np.column_stack([self.kind[partial], polynomial])
        one, partial_kind = distinct_rows(pairs)
        new, new_kind = distinct_rows(left)
        dtype = self.kinds.dtype
        counts = polynomial[one].astype(dtype)
        return Shared(
            case_of=case_of.astype(np.intp),
            whole_begin=whole_begin,
            whole=whole,
            partial_begin=partial_begin,
            partial=partial,
            partial_kind=partial_kind,
            shared_counts=counts,
            other_counts=self._rest(self.kinds[self.kind[partial[one]]], counts),
            new_kind=new_kind,
            new_counts=left[new].astype(dtype),
        )

    @staticmethod
    def _rest(whole: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return whole - part, where counts beyond 2^53 differ by rounding 0."""
        rest = whole - part
        return np.where(rest <= LEAST_PART * whole, 0, rest)

    # ---- for people ----

    def closure(self, g: int) -> Pattern:
        """Return all that the rows of a group have in common: its longest pattern of any order."""
        rows = self._rows[:, self.members[self.begin[g] : self.end[g]]]
        same = (rows == rows[:, :1]).all(axis=1) & (rows[:, 0] >= 0)
        found = [(int(self._columns[t]), int(rows[t, 0])) for t in np.flatnonzero(same)]
        return tuple(sorted(found))

    def intervals(self, g: int) -> Iterator[tuple[Pattern, Pattern]]:
        """Yield superpatterns (fixed, free) that have each pattern of a group once.

        They stand for the patterns that fix `fixed` and some of `free`, up to the order.  Features
        are taken as in the listing: one that no longer divides the rows is free, of another both
        ways are followed if the group's rows can still be reached.
        """
        if not self.compressed:
            yield self.shortest(g), ()
            return
        items = [(t, v) for t, v in self.closure(g)]
        rank = {int(t): i for i, t in enumerate(self._columns)}
        items.sort(key=lambda item: rank[item[0]])
        codes = [self._rows[rank[t]] == v for t, v in items]
        have = [int.from_bytes(np.packbits(one).tobytes()) for one in codes]
        everything = int.from_bytes(np.packbits(np.ones(self.n_rows, dtype=bool)).tobytes())
        after = [everything]  # rows that have all items from here on
        for one in reversed(have):
            after.insert(0, after[0] & one)
        goal = after[0]
        stack: list[tuple[int, int, Pattern, Pattern]] = [(0, everything, (), ())]
        while stack:
            i, rows, fixed, free = stack.pop()
            if rows & after[i] != goal or len(fixed) > self.order:
                continue
            if i == len(items):
                yield tuple(sorted(fixed)), tuple(sorted(free))
            elif rows & have[i] == rows:
                stack.append((i + 1, rows, fixed, (*free, items[i])))
            else:
                stack.append((i + 1, rows, fixed, free))
                stack.append((i + 1, rows & have[i], (*fixed, items[i]), free))

    def shortest(self, g: int) -> Pattern:
        """Return a pattern of a group that fixes as few features as any."""
        if self.algorithm == "thesis":
            return min((fixed for fixed, _ in self.intervals(g)), key=len)
        found = []
        while (item := int(self.item[g])) >= 0:
            t, v = divmod(item, ITEM_VALUES)
            found.append((int(self._columns[t]), v))
            g = int(self.parent[g])
        return tuple(sorted(found))

    def pattern(self, g: int, features: Sequence[str], values: Sequence[Sequence[str]]) -> str:
        """Write a shortest pattern of a group: "size=small, form=round"."""
        return write_pattern(self.shortest(g), features, values)

    def find(self, pattern: str, features: Sequence[str], values: Sequence[Sequence[str]]) -> int:
        """Return the group of a pattern written as `pattern` writes it.

        Raises UserError for what there is not, and for a pattern that is not expressed.
        """
        x = np.full(self.n_features, MISSING)
        for t, v in _read_pattern(pattern, features, values):
            if x[t] >= 0:
                raise UserError(f"{features[t]} is fixed twice in {pattern!r}")
            x[t] = v
        order = int((x >= 0).sum())
        if order > self.order:
            raise UserError(f"{pattern!r} fixes {order} features, the groups at most {self.order}")
        counts, _ = self.shared_patterns(x)
        (found,) = np.nonzero(counts[:, order])
        if not len(found):
            raise UserError(f"no training case expresses {pattern!r}, or too few do")
        return int(found[0])

    def describe(
        self, g: int, features: Sequence[str], values: Sequence[Sequence[str]], most: int = 3
    ) -> str:
        """Write the superpatterns of a group, the shortest first; what is free in brackets."""
        found = sorted(self.intervals(g), key=lambda one: (len(one[0]), -len(one[1]), one))
        texts = []
        for fixed, free in found[:most]:
            text = write_pattern(fixed, features, values)
            if free:
                text += f" [{write_pattern(free, features, values)}]"
            texts.append(text.strip() or "(any)")
        more = len(found) - most
        return " or ".join(texts) + (f" or {more} more" if more > 0 else "")


def write_pattern(
    pattern: Pattern, features: Sequence[str], values: Sequence[Sequence[str]]
) -> str:
    """Write a pattern as "size=small, form=round"."""
    return ", ".join(f"{features[t]}={values[t][v]}" for t, v in pattern)


def _read_pattern(
    text: str, features: Sequence[str], values: Sequence[Sequence[str]]
) -> Iterator[tuple[int, int]]:
    """Yield what a pattern fixes, written as `write_pattern` does; names may hold commas."""
    known = {
        f"{name}={value}": (t, v)
        for t, name in enumerate(features)
        for v, value in enumerate(values[t])
    }
    parts = text.split(",") if text.strip() else []
    while parts:
        lengths = (n for n in range(len(parts), 0, -1) if ",".join(parts[:n]).strip() in known)
        n = next(lengths, 0)
        if not n:
            name, _, value = (part.strip() for part in parts[0].partition("="))
            if name not in features:
                raise UserError(f"there is no feature {name!r}; write feature=value, ...")
            some = ", ".join(map(repr, values[list(features).index(name)][:9]))
            raise UserError(f"{name} has no value {value!r}; it has {some}")
        yield known[",".join(parts[:n]).strip()]
        parts = parts[n:]


def _entropies(codes: np.ndarray) -> np.ndarray:
    """Return the entropy of each column, missing being one more value."""
    found = np.zeros(codes.shape[1])
    for t in range(codes.shape[1]):
        share = np.bincount(codes[:, t] + 1) / len(codes)
        share = share[share > 0]
        found[t] = -(share * np.log(share)).sum()
    return found.round(12)


def compress_features(
    X,
    order: int | str,
    *,
    algorithm: str = "closed",
    compress: bool = True,
    min_cases: int = 1,
    arrays: dict[str, np.ndarray] | None = None,
) -> FeatureGroups:
    """Group the patterns of training cases by their expressions.

    Parameters
    ----------
    X : (n, p) values as whole numbers from 0 to 254; MISSING (-1), NaN or None where missing.
    order : the largest number of features that a pattern fixes, up to p, or "all".
    algorithm : "closed", or "thesis" for its splitting and merging, which is slower.
    compress : False makes every pattern a group of its own.
    min_cases : patterns that fewer training cases express are left out of the model.
    arrays : what `arrays` of the same groups returned; they are then not found again.

    Section "Grouping Parameters of Classification Models".  Raises UserError for an order above p
    and where memory would not hold the groups, DataError for values that are not such numbers.
    """
    codes = check_features(X, "training cases")
    order = check_order(order, codes.shape[1], "features")
    if special.comb(codes.shape[1], np.arange(order + 1)).sum() > MOST_PATTERNS:
        raise UserError(
            f"order {order} of {codes.shape[1]} features: a case has more patterns than numbers "
            "hold; lower the order"
        )
    if algorithm not in ALGORITHMS:
        raise UserError(f"unknown algorithm {algorithm!r}; choose closed or thesis")
    if algorithm == "thesis" and not compress:
        raise UserError("algorithm: thesis groups patterns; leave out compress: false")
    if isinstance(min_cases, bool) or not isinstance(min_cases, int | np.integer) or min_cases < 1:
        raise UserError(f"min_cases must be a whole number from 1, got {min_cases!r}")
    if min_cases > len(codes):
        raise UserError(f"min_cases is {min_cases}, but there are {len(codes)} training cases")
    return FeatureGroups(
        codes, order, compressed=bool(compress), min_cases=int(min_cases), algorithm=algorithm,
        arrays=arrays,
    )  # fmt: skip


def check_features(X, name: str, *, unseen: bool = False) -> np.ndarray:
    """Return a table as (n, p) int16 codes, or say what is wrong with it.

    With `unseen`, UNSEEN may occur.
    """
    try:
        X = np.asarray(X)
    except ValueError:
        raise DataError(f"{name} are rows of unequal length") from None
    if X.ndim != 2:
        raise DataError(f"{name} must be a table (cases, features), got shape {X.shape}")
    if len(X) == 0:
        raise DataError(f"there are no {name}")
    if X.dtype.kind == "O":
        try:
            # + 0 fails for text, which astype alone would read as numbers
            X = (np.where(X == None, np.nan, X) + 0).astype(float)  # noqa: E711
        except (TypeError, ValueError):
            raise DataError(_encode(name)) from None
    if X.dtype.kind not in "iufb":
        raise DataError(_encode(name))
    if X.dtype.kind == "f":
        X = np.where(np.isnan(X), MISSING, X)
        whole = np.floor(X) == X
        if not whole.all():
            row, column = np.argwhere(~whole)[0]
            raise DataError(
                f"{name}: column {column} holds {X[row, column]:g}; real values must be cut into "
                "classes first, for example by scikit-learn's KBinsDiscretizer"
            )
    low = UNSEEN if unseen else MISSING
    if X.size and (X.min() < low or X.max() >= MOST_VALUES):
        bad = (low > X) | (X >= MOST_VALUES)
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{name}: row {row}, column {column} holds {X[row, column]:g}; codes are from 0 to "
            f"{MOST_VALUES - 1}, so that a feature has at most {MOST_VALUES} values, -1 is missing"
        )
    return np.ascontiguousarray(X, dtype=np.int16)


def _encode(name: str) -> str:
    return (
        f"{name} must be whole numbers from 0; encode other values, for example by "
        "scikit-learn's OrdinalEncoder, or use InteractionClassifier, which does"
    )
