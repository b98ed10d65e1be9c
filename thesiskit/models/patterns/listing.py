"""The listing of groups of features in memory that grows; refuses groups that would not fit."""

import os
import threading

import numpy as np
from scipy import special

from thesiskit._kernels import feature_patterns as kernel  # type: ignore[attr-defined]
from thesiskit.errors import UserError

PROBED = 50_000  # groups from which on their number is projected
ITEM_VALUES, LEAST_PART = kernel.ITEM_VALUES, kernel.LEAST_PART
BLOCK = 1 << 20  # entries of test cases held at once
LARGE, STEPS = 8, 1 << 25  # rows from which on it is kept what a group's rows become; how many


class Listing:
    """The groups of R distinct rows, listed by the kernel in arrays that grow with them.

    rows (p, R), in the order in which features are taken; weight (R,) training cases; information
    (p,) entropies of the features summed up; merged, free as in `compress_features`.
    """

    def __init__(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        order: int,
        information: np.ndarray,
        *,
        min_cases: int,
        merged: bool,
        free: bool = True,
    ):
        self.order, self.information = order, information
        self.n_features, n_rows = rows.shape
        self.taken = 0  # features
        self.n_values = int(rows.max(initial=0)) + 1
        self.limit = available_memory()
        random = np.random.default_rng(1).integers(0, 2**63, n_rows, dtype=np.uint64)
        self.begin = np.zeros(1, dtype=np.intp)
        self.members = np.empty(0, dtype=np.int32)
        self.key = np.empty(0, dtype=np.uint64)
        self.counts = np.empty((0, self.order + 1))
        self.least, self.parent, self.item = (np.empty(0, dtype=np.int32) for _ in range(3))
        self.constant = np.empty(0, dtype=np.uint8)
        self.kernel = kernel.Listing(
            rows, weight.astype(np.int32), random, self.n_values, min_cases, merged, free
        )
        self.grow(1000, max(10_000, 2 * n_rows))
        self.all_rows = np.arange(n_rows, dtype=np.int32)
        self.lock = threading.Lock()  # one match at a time, for the kernel has one set of scratch
        self.start_key = int(random.sum(dtype=np.uint64))

    @property
    def n_groups(self) -> int:
        """Groups listed so far."""
        return self.kernel.n_groups

    def grow(self, groups: int, members: int) -> None:
        """Make the arrays as long as so many groups and members need."""
        if self.bytes_for(groups, members) > self.limit:
            self._refuse(groups, members, f" (that is after {self.taken} of them)")
        self.begin = _longer(self.begin, groups + 1)
        self.members = _longer(self.members, members)
        self.key, self.counts = _longer(self.key, groups), _longer(self.counts, groups)
        self.least, self.parent, self.item = (
            _longer(one, groups) for one in (self.least, self.parent, self.item)
        )
        self.constant = _longer(self.constant, groups)
        self.kernel.make_room(
            self.begin, self.members, self.key, self.counts, self.least,
            self.constant, self.parent, self.item,
            np.empty(1 << (2 * groups - 1).bit_length(), dtype=np.int32),
        )  # fmt: skip

    def make_room(self, need: int) -> None:
        """Make room for more groups, or members, whichever are short: twice, or what fits."""
        groups, members = len(self.key), len(self.members)
        more_groups = groups if self.n_groups + 300 > groups else 0
        more_members = members + need if self.begin[self.n_groups] + need > members else 0
        for part in (1.0, 0.5, 0.25, 0.1):
            wanted = groups + int(part * more_groups), members + need + int(part * more_members)
            if self.bytes_for(*wanted) <= self.limit:
                break
        self.grow(*wanted)

    def bytes_for(self, groups: float, members: float) -> float:
        """Memory that so much takes, with the arrays that it is copied from when it grows."""
        return 1.5 * (groups * (8 * (self.order + 1) + 45) + 4 * members)

    def _refuse(self, groups: float, members: float, how: str = "") -> None:
        needed = self.bytes_for(groups, members) / 1e9
        raise UserError(
            f"order {self.order} of {self.n_features} features gives {groups:.2g} groups or "
            f"more{how}, which need {needed:.3g} GB of {self.limit / 1e9:,.1f} free; lower the "
            "order, use fewer features, or raise min_cases"
        )

    def take_features(self) -> None:
        """List the groups, feature by feature."""
        self.kernel.begin_with(self.all_rows, self.start_key, 1)
        before = 1
        for t in range(self.n_features):
            self.taken = t
            while need := self.kernel.add_feature(t):
                self.make_room(need)
            if t and self.n_groups > PROBED:
                self._project(t, before)
            before = self.n_groups

    def _project(self, t: int, before: int) -> None:
        """Refuse what would not fit, if groups go on to grow as they now do.

        That is, by a power of the sum of the entropies of the features taken, which is their
        number where all are alike; features of one value add nothing.  The power falls as
        expressions become small, so that the projection is rather too high.
        """
        had, have, whole = self.information[[t - 1, t, -1]]
        power = np.log(self.n_groups / before) / np.log(have / had) if have > had else 0
        growth = (whole / have) ** power
        groups, members = growth * self.n_groups, growth * self.begin[self.n_groups]
        if self.bytes_for(groups, members) > self.limit:
            self._refuse(groups, members, f" (as those of the first {t + 1} grow)")

    def diverge(self) -> None:
        """List the groups as the thesis does."""
        self.kernel.begin_with(self.all_rows, self.start_key, 0)
        p, rows = self.n_features, len(self.all_rows)
        tasks = 2 + (self.n_values + 1) * p
        task_end, task_order = np.empty(tasks, dtype=np.intp), np.zeros(tasks, dtype=np.int32)
        unconsidered = np.ones((tasks, p), dtype=np.uint8)
        task_rows = np.empty(rows * (p + 1), dtype=np.int32)
        task_rows[:rows], task_end[0] = self.all_rows, rows
        orders = np.arange(self.order + 1)
        binomial = special.comb(np.arange(p + 1)[:, None], orders)
        left = 1
        while left := self.kernel.diverge(
            task_end, task_order, unconsidered, task_rows, left, binomial
        ):
            self.make_room(rows)

    def match(self, tests: np.ndarray):
        """Return what each of test rows (T, p), in the listing's order of features, shares."""
        T, width = len(tests), self.order + 1
        G = self.n_groups
        slot = np.full(G, -1, dtype=np.int32)
        found, following = np.empty((2, G), dtype=np.int32)
        polynomial = np.empty((G, width))
        sizes = np.diff(self.begin[: G + 1])
        large = np.flatnonzero((self.least[:G] < self.order) & (sizes >= LARGE))
        large = large[np.argsort(-sizes[large])][: STEPS // max(1, self.n_features * self.n_values)]
        kept = np.full(G, -1, dtype=np.int32)
        kept[large] = np.arange(len(large))
        step = np.full((len(large), self.n_features, self.n_values), kernel.UNKNOWN, dtype=np.int32)
        left, total = np.empty((T, width)), np.empty(width)
        ends = np.empty((2, T), dtype=np.intp)
        room = max(BLOCK, G)
        whole, partial = np.empty((2, room), dtype=np.int32)
        shared = np.empty((room, width))
        wholes, partials, polynomials = [], [], []
        lengths = np.zeros((2, T + 1), dtype=np.intp)
        done = 0
        while done < T:
            with self.lock:
                stop = self.kernel.match(
                    tests, done, kept, step, slot, found, following, polynomial, whole, partial,
                    shared, left, total, *ends,
                )  # fmt: skip
            here = ends[:, done:stop]
            lengths[:, done + 1 : stop + 1] = np.diff(here, prepend=0, axis=1)
            wholes.append(whole[: here[0, -1]].copy())
            partials.append(partial[: here[1, -1]].copy())
            polynomials.append(shared[: here[1, -1]].copy())
            done = stop
        whole_begin, partial_begin = np.cumsum(lengths, axis=1)
        return (
            whole_begin, np.concatenate(wholes), partial_begin, np.concatenate(partials),
            np.concatenate(polynomials), left,
        )  # fmt: skip


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    result = np.empty((length, *array.shape[1:]), dtype=array.dtype)
    result[: len(array)] = array
    return result


def available_memory() -> float:
    """Bytes that are free, or could be."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split(":") for line in lines)
        return float(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
