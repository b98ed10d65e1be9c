"""The groups of patterns of an experiment of chapter 3, as the page of groups shows them."""

from typing import Any

import numpy as np

from thesiskit.models.chains import spread
from thesiskit.models.logistic import Contributions, flat
from thesiskit.models.patterns import FeatureGroups, SequenceGroups
from thesiskit.report.explorer import Content, Ragged, offsets
from thesiskit.study.cells import Block
from thesiskit.study.patterns import PatternWork

ENDS = (0.05, 0.5, 0.95)  # low end, median and high end of an interval
MOST_GROUPS = 100_000  # on a page
MOST_NUMBERS = 600_000  # groups times classes
MOST_EDGE, MOST_COMMON = 60, 64  # states of one edge of the trie; values that cases have in common
MOST_CITED = 150  # groups of one test case
WORST, SPREAD = 15, 35  # test cases: those predicted worst, and others
AT_ONCE = 16_000_000  # numbers held at once
Given = dict[str, Any]  # fields of `Content`, or a test case of it


class Explored:
    """The groups of a block, with the coefficients of a model if it was fitted.

    fit : whether to show coefficients: those of `arm`, at `row` of predictions.
    order : unless given, the largest of `model.orders`; of a fit, that of the report.  Of the
    models of this order the first prior is shown, compressed if it was.
    """

    def __init__(self, work: PatternWork, block: Block, order: int | None = None, *, fit: bool):
        if order is None and fit:
            order = work.config.report.order
        if order is None:
            order = max(work.orders)
        self.work, self.block, self.cases = work, block, work.cases(block)
        self.patterns = self.cases.patterns
        self.sequences = self.patterns.kind == "sequences"
        self.arm: Any = None
        self.quantiles: np.ndarray | None = None
        if not fit:
            self.groups = work.find_groups(block, order)
            return
        # models that are not compressed may be limited to some orders: then the nearest one
        fitted = [(row, arm) for row, arm in enumerate(work.own_arms.values()) if arm.grouped]
        self.row, self.arm = min(
            fitted, key=lambda one: (abs(one[1].order - order), not one[1].compress)
        )
        self.groups = work.groups(block, self.arm.order, self.arm.compress)
        found = work.read(self.arm, block)
        self.coefficient, self.log_sigma = flat(found["coefficient"], found["log_sigma"])
        self.unit = float(found.get("response_unit", 1.0))
        self.base = float(found.get("response_mean", 0.0))
        self.quantiles = self.unit * quantiles(self.coefficient)

    def content(self) -> Content:
        """Return all that the page shows."""
        groups, tests = self.groups, [] if self.arm is None else self._tests()
        kept = self._kept(tests)
        number = np.full(groups.n_groups, -1)
        number[kept] = np.arange(len(kept))
        for case in tests:
            case["groups"] = number[case["groups"]]
        orders = groups.kinds > 0  # by kind: (C, O + 1)
        first, last = orders.argmax(axis=1), groups.order - orders[:, ::-1].argmax(axis=1)
        kind = groups.kind[kept]
        of_kind = (
            _sequence_fields(groups, kept, number, self.patterns)
            if self.sequences
            else _feature_fields(groups, kept, self.patterns)
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
            tests=tests,
            notes=self._notes(len(kept)),
            **of_kind,
            **({} if self.arm is None else self._described()),
        )

    def _described(self) -> Given:
        """Return what the page says of the model."""
        arm, divisions = self.arm, self.work.config.divisions
        how = "compressed" if arm.compress else "original parameters"
        scale = ", sigma on its own scale" if arm.sigma_scale == "natural" else ""
        about = f"Medians and intervals of 90 % are of {len(self.coefficient):,} draws."
        if divisions > 1:
            about += f" They are those of the first of {divisions:,} divisions of the data."
        return {
            "model": f"{arm.prior.capitalize()} prior, order {arm.order}, {how}{scale}",
            "about": about,
            "compressed": arm.compress,
            "base": self.base,
            "response": getattr(self.work.config.data, "response", "") or "the response",
        }

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
        for case in tests:
            chosen[case["groups"]] = True
        for g in np.flatnonzero(chosen)[::-1] if len(groups.above) else ():
            if groups.above[g] >= 0:  # it stands before g
                chosen[groups.above[g]] = True
        return np.flatnonzero(chosen)

    def _notes(self, kept: int) -> list[str]:
        """Return what is to be known of the page, and of coefficients."""
        notes, every, orders = [], self.groups.n_groups, self.work.orders
        which, how = "that most training cases have", "--order ORDER"
        if self.arm is not None:
            how, fit = "--set report.order=ORDER", self.block.load("fit")
            place = [str(name) for name in fit["name"]].index(self.arm.name)
            if not self.sequences:
                which = "whose coefficients have the largest medians"
            if not fit["reliable"][place]:
                iterations = 4 * self.work.model.iterations
                notes.append(
                    "The chains of this model do not agree, so its coefficients mean little: "
                    f"`--set model.iterations={iterations}` continues them."
                )
            if fit["separated"][place]:
                notes.append(
                    "Patterns separate the classes of all training cases: only the prior bounds "
                    "the coefficients, and their sizes mean little."
                )
        if kept < every:
            notes.append(f"The page has {kept:,} of {every:,} groups: those {which}.")
        if len(orders) > 1:
            listed = ", ".join(f"{one:,}" for one in orders)
            notes.append(f"There are models of orders {listed}; `{how}` shows another one.")
        return notes

    # ---- test cases ----

    def _tests(self) -> list[Given]:
        """Return test cases, as `Content` has them, with the numbers of all groups.

        They are those predicted worst, and others evenly spread.
        """
        cases = self.cases
        if not len(cases.test):
            return []
        said, loss = self._predictions()
        worst = np.argsort(-loss, kind="stable")[:WORST]
        rest = np.setdiff1d(np.arange(len(loss)), worst)
        others = rest[spread(len(rest), SPREAD)]
        stored = self.block.load("simulate", ["ids"])["ids"][-len(loss) :]
        names = stored if len(stored) else np.arange(1, len(loss) + 1)
        shared = self.work.shared(self.arm, self.block)
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
            about = {
                "name": str(names[t]),
                "truth": cases.classes[int(truth)] if cases.classes else f"{truth:.4g}",
                "predicted": said[t],
                "worst": len(found) < len(worst),
                "values": codes.tolist(),
            }
            found.append(about | self._added(parts))
        return found

    def _added(self, parts: Contributions) -> Given:
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
        truth, classes = self.cases.test_response, self.cases.classes
        names = ("probability",) if classes else ("median", "low", "high")
        loaded = self.block.load("predict", names)
        found = [loaded[name][self.row] for name in names]
        if not classes:
            said = [f"{m:.4g} ({a:.4g} to {b:.4g})" for m, a, b in zip(*found, strict=True)]
            return said, np.abs(found[0] - truth)
        (p,) = found
        best = p.argmax(axis=1)
        said = [f"{classes[k]} with probability {p[t, k]:.3f}" for t, k in enumerate(best)]
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
