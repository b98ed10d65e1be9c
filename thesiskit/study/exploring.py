"""The groups of patterns of an experiment of chapter 3, as the page of groups shows them."""

from functools import cached_property
from typing import Any

import numpy as np

from thesiskit.models.chains import spread
from thesiskit.models.logistic import Contributions, flat
from thesiskit.models.patterns import FeatureGroups, SequenceGroups
from thesiskit.report.explorer import Case, Content, Ragged, offsets
from thesiskit.study.cells import Block
from thesiskit.study.patterns import PatternWork

ENDS = (0.05, 0.5, 0.95)  # low end, median and high end of an interval
MOST_GROUPS = 100_000  # on a page
MOST_NUMBERS = 600_000  # groups times classes
MOST_EDGE, MOST_COMMON = 60, 64  # states of one edge of the trie; values that cases have in common
MOST_CITED = 150  # groups of one test case
WORST, SPREAD = 15, 35  # test cases: those predicted worst, and others
AT_ONCE = 16_000_000  # numbers held at once
Given = dict[str, Any]  # fields of `Content` or `Case`


def explored(work: PatternWork, block: Block, order: int | None = None, *, fit: bool) -> Content:
    """Return the groups of a block, with the coefficients of a model if it was fitted.

    fit : whether to show coefficients.
    order : unless given, the largest of `model.orders`; of a fit, that of the report.  Of the
    models of this order the first prior is shown, compressed if it was.
    """
    if order is None and fit:
        order = work.config.report.order
    if order is None:
        order = max(work.design.orders)
    return _Fitted(work, block, order).content() if fit else _Found(work, block, order).content()


class _Found:
    """Groups before a fit."""

    def __init__(self, work: PatternWork, block: Block, order: int):
        self.work, self.block, self.order = work, block, order
        self.fits = work.fits(block)
        self.cases = self.fits.cases
        self.sequences = self.fits.patterns.kind == "sequences"
        self.quantiles: np.ndarray | None = None

    @cached_property
    def groups(self) -> Any:  # SequenceGroups or FeatureGroups
        """The groups of the training cases."""
        return self.fits.find_groups(self.order)

    def described(self) -> Given:
        """Return what the page says of the model."""
        return {"model": "", "about": "No coefficients: they come with `thesiskit fit-logistic`."}

    def tests(self) -> list[Given]:
        """Return test cases, of which groups are the numbers of all groups."""
        return []

    def content(self) -> Content:
        """Return all that the page shows."""
        groups, tests = self.groups, self.tests()
        kept = self._kept(tests)
        number = np.full(groups.n_groups, -1)
        number[kept] = np.arange(len(kept))
        orders = groups.kinds > 0  # by kind: (C, O + 1)
        first, last = orders.argmax(axis=1), groups.order - orders[:, ::-1].argmax(axis=1)
        kind = groups.kind[kept]
        of_kind = (
            _sequence_fields(groups, kept, number, self.fits.patterns)
            if self.sequences
            else _feature_fields(groups, kept, self.fits.patterns)
        )
        return Content(
            title=self.work.config.title,
            order=groups.order,
            classes=self.cases.classes,
            all_groups=groups.n_groups,
            n_train=groups.n_cases,
            cases=groups.expressed[kept],
            patterns=groups.kinds.sum(axis=1)[kind],
            first=first[kind],
            last=last[kind],
            quantiles=None if self.quantiles is None else self.quantiles[:, :, kept],
            tests=[Case(**one | {"groups": number[one["groups"]]}) for one in tests],
            notes=self._notes(len(kept)),
            **of_kind,
            **self.described(),
        )

    def _kept(self, tests: list[Given]) -> np.ndarray:
        """Return the groups that the page has, ascending.

        Groups above others in a trie have more cases, so that the largest are a trie again.
        """
        groups, sets = self.groups, 1 if self.quantiles is None else self.quantiles.shape[1]
        most = min(MOST_GROUPS, MOST_NUMBERS // sets)
        if groups.n_groups <= most:
            return np.arange(groups.n_groups)
        size = groups.expressed.astype(float)
        if self.quantiles is not None and not self.sequences:
            size = np.abs(self.quantiles[1]).max(axis=0)
        chosen = np.zeros(groups.n_groups, dtype=bool)
        chosen[np.argsort(-size, kind="stable")[:most]] = True
        chosen[0] = True
        for one in tests:
            chosen[one["groups"]] = True
        for g in np.flatnonzero(chosen)[::-1] if len(groups.above) else ():
            if groups.above[g] >= 0:  # it stands before g
                chosen[groups.above[g]] = True
        return np.flatnonzero(chosen)

    def _warnings(self) -> list[str]:
        """Return what is to be known of the coefficients."""
        return []

    def _notes(self, kept: int) -> tuple[str, ...]:
        notes, every = self._warnings(), self.groups.n_groups
        if kept < every:
            which = "that most training cases have"
            if self.quantiles is not None and not self.sequences:
                which = "whose coefficients have the largest medians"
            notes.append(f"The page has {kept:,} of {every:,} groups: those {which}.")
        if len(self.work.design.orders) > 1:
            orders = ", ".join(f"{one:,}" for one in self.work.design.orders)
            how = "--set report.order=ORDER" if self.quantiles is not None else "--order ORDER"
            notes.append(f"There are models of orders {orders}; `{how}` shows another one.")
        return tuple(notes)


class _Fitted(_Found):
    """Groups with the coefficients of a model."""

    def __init__(self, work: PatternWork, block: Block, order: int):
        # models that are not compressed may be limited to some orders: then the nearest one
        fitted = [(row, arm) for row, arm in work.own_arms.values() if arm.model.grouped]
        self.row, self.arm = min(
            fitted, key=lambda one: (abs(one[1].order - order), not one[1].compress)
        )
        super().__init__(work, block, self.arm.order)
        found = self.fits.read(self.arm)
        self.coefficient, self.log_sigma = flat(found["coefficient"], found["log_sigma"])
        self.unit = float(found.get("response_unit", 1.0))
        self.base = float(found.get("response_mean", 0.0))
        self.quantiles = self.unit * quantiles(self.coefficient)

    @cached_property
    def groups(self) -> Any:
        """The groups of the model."""
        return self.fits.groups(self.arm)

    def described(self) -> Given:
        """Return what the page says of the model."""
        arm, draws = self.arm, len(self.coefficient)
        how = "compressed" if arm.compress else "original parameters"
        scale = ", sigma on its own scale" if arm.scale == "natural" else ""
        divided, divisions = "", self.work.config.divisions
        if divisions > 1:
            divided = f" They are those of the first of {divisions:,} divisions of the data."
        data = self.work.config.data
        return {
            "model": f"{arm.prior.capitalize()} prior, order {arm.order}, {how}{scale}",
            "about": f"Medians and intervals of 90 % are of {draws:,} draws.{divided}",
            "compressed": arm.compress,
            "base": self.base,
            "response": getattr(data, "response", "") or "the response",
        }

    def _warnings(self) -> list[str]:
        fit = self.block.load("fit")
        place = [str(name) for name in fit["name"]].index(self.arm.name)
        said = []
        if not fit["reliable"][place]:
            iterations = 4 * self.work.design.model.iterations
            said.append(
                "The chains of this model do not agree, so its coefficients mean little: "
                f"`--set model.iterations={iterations}` continues them."
            )
        if fit["separated"][place]:
            said.append(
                "Patterns tell the classes of all training cases apart: only the prior bounds the "
                "coefficients, and their sizes mean little."
            )
        return said

    # ---- test cases ----

    def tests(self) -> list[Given]:
        """Return some test cases: those predicted worst, and others evenly spread."""
        cases = self.cases
        if not len(cases.test):
            return []
        said, loss = self._predictions()
        worst = np.argsort(-loss, kind="stable")[:WORST]
        rest = np.setdiff1d(np.arange(len(loss)), worst)
        others = rest[spread(len(rest), SPREAD)]
        stored = self.block.load("simulate", ["ids"])["ids"][-len(loss) :]
        names = stored if len(stored) else np.arange(1, len(loss) + 1)
        shared = self.fits.shared(self.arm)
        found: list[Given] = []
        for t in [*worst.tolist(), *others.tolist()]:
            parts = Contributions(
                self.coefficient, self.log_sigma, shared, int(shared.case_of[t]),
                cauchy=self.arm.prior == "cauchy",
            )  # fmt: skip
            truth = cases.test_response[t]
            codes = np.asarray(cases.test[t])
            if self.sequences:
                codes = codes[::-1][:MOST_EDGE]
            found.append(
                self._case(parts)
                | {
                    "name": str(names[t]),
                    "truth": cases.classes[int(truth)] if cases.classes else f"{truth:.4g}",
                    "predicted": said[t],
                    "worst": len(found) < len(worst),
                    "values": codes.tolist(),
                }
            )
        return found

    def _case(self, parts: Contributions) -> Given:
        """Return the groups that add most to a case, and what the others add together."""
        size = np.abs(parts.mean).max(axis=0)
        places = np.sort(np.argsort(-size, kind="stable")[:MOST_CITED])
        drawn = parts.values(places)
        others = parts.total - drawn.sum(axis=2)
        if len(places) == len(parts.groups):
            others = np.zeros_like(others)
        return {
            "groups": parts.groups[places],
            "share": parts.share[places],
            "added": self.unit * _summary(drawn),
            "others": self.unit * _summary(others),
            "n_others": len(parts.groups) - len(places),
            "total": self.unit * _summary(parts.total),
        }

    def _predictions(self) -> tuple[list[str], np.ndarray]:
        """Return what was predicted of each test case, in words, and how bad that was, (T,)."""
        truth = self.cases.test_response
        if not self.cases.classes:
            names = ("median", "low", "high")
            found = self.block.load("predict", names)
            median, low, high = (found[name][self.row] for name in names)
            said = [f"{m:.4g} ({a:.4g} to {b:.4g})"
                    for m, a, b in zip(median, low, high, strict=True)]  # fmt: skip
            return said, np.abs(median - truth)
        p = self.block.load("predict", ["probability"])["probability"][self.row]
        best = p.argmax(axis=1)
        said = [f"{self.cases.classes[k]} with probability {p[t, k]:.3f}"
                for t, k in enumerate(best)]  # fmt: skip
        return said, -p[np.arange(len(p)), truth]


def quantiles(coefficient: np.ndarray) -> np.ndarray:
    """Return low ends, medians and high ends of coefficients (D, S, G), (3, S, G)."""
    draws, sets, groups = coefficient.shape
    found = np.empty((3, sets, groups))
    step = max(1, AT_ONCE // (draws * sets))
    for start in range(0, groups, step):
        part = slice(start, start + step)
        found[:, :, part] = np.quantile(coefficient[:, :, part], ENDS, axis=0)
    return found


def _summary(drawn: np.ndarray) -> np.ndarray:
    """Return mean, low end and high end of draws (D, ...), (3, ...)."""
    low, _, high = np.quantile(drawn, ENDS, axis=0)
    return np.stack([drawn.mean(axis=0), low, high])


# ---- patterns ----


def _sequence_fields(
    groups: SequenceGroups, kept: np.ndarray, number: np.ndarray, patterns: Any
) -> Given:
    """Return the trie: of each group the one above it, and the states by which it is longer."""
    above = groups.above[kept]
    first, last = np.maximum(groups.first[kept], 1), groups.last[kept]
    length = last - first + 1
    shown = np.minimum(length, MOST_EDGE)
    begin = np.concatenate([[0], np.cumsum(shown, dtype=np.int64)])
    owner = np.repeat(np.arange(len(kept)), shown)
    steps = np.arange(begin[-1]) - begin[owner]
    row = groups.rows[groups.begin[kept]][owner]
    column = groups.histories.shape[1] - first[owner] - steps  # order o is the o-th from the end
    return {
        "states": patterns.states,
        "above": np.where(above >= 0, number[above], -1),
        "edges": Ragged(begin, groups.histories[row, column].astype(np.int64)),
        "cut": length - shown,
    }


def _feature_fields(groups: FeatureGroups, kept: np.ndarray, patterns: Any) -> Given:
    """Return a shortest pattern of each group, and what all its cases have besides."""
    offset = offsets(patterns.values).tolist()
    shortest, longest, cut = [], [], []
    for g in kept.tolist():
        short = groups.shortest(g)
        whole = groups.closure(g) if groups.compressed else short
        more = sorted(set(whole) - set(short))
        shortest.append([offset[t] + v for t, v in short])
        longest.append([offset[t] + v for t, v in more[:MOST_COMMON]])
        cut.append(max(0, len(more) - MOST_COMMON))
    return {
        "features": patterns.features,
        "values": patterns.values,
        "shortest": Ragged.of(shortest),
        "longest": Ragged.of(longest),
        "cut": np.array(cut),
    }
