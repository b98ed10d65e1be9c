"""Experiments with logistic models: simulate, compress, fit, predict."""

import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.errors import UserError
from thesiskit.experiments import ranks
from thesiskit.experiments.cells.unfinished import Unfinished
from thesiskit.experiments.logistic.design import Arm, LogisticDesign
from thesiskit.experiments.work import Work
from thesiskit.models.running import Arrays
from thesiskit.report import metrics
from thesiskit.report.logistic.record import LogisticRecord


class LogisticWork(Work):
    """Patterns are grouped, coefficients of groups sampled, and test cases predicted."""

    stages = ("simulate", "compress", "fit", "predict")

    def __init__(self, experiment):
        super().__init__(experiment)
        self.design = LogisticDesign(self.config, experiment.folder)

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return "fit-logistic" if stage == "fit" else stage

    @property
    def data_digest(self) -> str:
        """What identifies cases that are not drawn."""
        return self.design.divisions.digest

    @property
    def described(self) -> dict[str, Any]:
        """The config, with how cases are divided, and whether they are drawn."""
        return super().described | {
            "scheme": self.config.scheme,
            "drawn": self.config.drawn,
        }

    def check(self) -> None:
        """Raise UserError for what only the data, or missing packages, show to be wrong."""
        self.design.check()
        self._check_traced()

    def _check_traced(self) -> None:
        """Raise ConfigError for coefficients that there cannot be."""
        wanted = self.config.report.traced
        if not wanted:
            return
        cases, patterns = self.design.cases(0), self.design.patterns
        order = self.config.report.order or max(self.design.orders)
        groups = self.design.groups(cases.train, order)
        for name in wanted:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.design.continuous:
                    pattern = name
                elif not colon:
                    raise UserError("write a pattern, a colon and a response, such as CC:V")
                elif response not in cases.classes:
                    raise UserError(f"there is no class {response!r}")
                group = patterns.name(groups, patterns.find(groups, pattern))
                # a report knows groups of features by name
                if patterns.kind == "features" and _items(group) != _items(pattern):
                    raise UserError(f"its group goes by the name {group}")
            except UserError as error:
                raise self.config.wrong("report.traced", f"{name}: {error}") from None

    @cached_property
    def all_arms(self) -> dict[str, tuple[int, Arm]]:
        """All arms by name, with their places."""
        return {arm.name: (i, arm) for i, arm in enumerate(self.design.arms)}

    @cached_property
    def own_arms(self) -> dict[str, tuple[int, Arm]]:
        """The arms that are fitted."""
        return {name: one for name, one in self.all_arms.items() if not one[1].peer}

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage, and how many chains each has."""
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        return dict.fromkeys(self.own_arms, self.design.model.chains) if stage == "fit" else {}

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        model = self.design.model
        if stage == "simulate":
            cases = self.design.divisions
            data = [self.config.data.model_dump(), cases.digest, cases.drawn_with]
            return [self.config.seed, *data]
        if stage == "compress":
            return model.model_dump(
                include={"min_cases"} if arm else {"orders", "compress", "min_cases"}
            )
        if arm and arm not in self.own_arms:
            return None
        # an arm says itself what it is
        arms = {"orders", "priors", "compress", "engine", "sigma_scale"} if arm else set()
        if stage == "fit":
            return model.model_dump(exclude={"peers", "split_draws", *arms})
        return [model.split_draws, None if arm else self.design.peers, self.config.evaluation.ranks]

    def make(self, stage: str, number: int) -> Arrays:
        """Return the arrays of a block."""
        (division,) = self.experiment.blocks[number]
        return self.design.draw(division) if stage == "simulate" else self._compress(division)

    def make_arm(
        self, stage: str, number: int, arm: str, chain: int | None, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        fits, one = self.fits(number), self.all_arms[arm][1]
        if stage == "predict":
            return self._predict(fits, one)
        return fits.compare(one) if chain is None else fits.sample(one, chain, unfinished)

    def join(self, stage: str, number: int, found: list[Arrays]) -> Arrays:
        """Return the arrays of a block from those of its arms."""
        return self._join_fits(number, found) if stage == "fit" else self._join(number, found)

    # ---- compress ----

    def _compress(self, division: int) -> Arrays:
        train = self.design.cases(division).train
        rows, growth = [], np.zeros(1, dtype=np.int64)
        for order in self.design.orders:
            started = time.perf_counter()
            groups = self.design.groups(train, order)
            rows.append([groups.n_groups, groups.n_patterns, groups.n_rows,
                         time.perf_counter() - started])  # fmt: skip
            if order == max(self.design.orders):
                growth = groups.growth()
        grown = np.flatnonzero(np.diff(growth, prepend=0))
        counts = np.array(rows)
        return {
            "order": np.array(self.design.orders),
            "groups": counts[:, 0].astype(np.int64),
            "patterns": counts[:, 1].astype(np.int64),
            "rows": counts[:, 2].astype(np.int64),
            "seconds": counts[:, 3],
            "growth": growth,
            "stopped": np.array(grown[-1] if len(grown) else 0),
        }

    def listing(self, order: int | None, most: int, pattern: str | None) -> list[str]:
        """Return lines about the groups that most cases express, and about that of a pattern."""
        if not most and pattern is None:
            return []
        patterns = self.design.patterns
        order = max(self.design.orders) if order is None else order
        groups = self.design.groups(self.design.cases(0).train, order)
        sizes = groups.expressed
        chosen = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            chosen.append(patterns.find(groups, pattern))
        plural = {True: "case", False: "cases"}
        return [
            f"{patterns.describe(groups, int(g))}, {sizes[g]:,} training {plural[sizes[g] == 1]}"
            for g in chosen
        ]

    # ---- fit ----

    def load(self) -> type:
        """Import what fits."""
        if self.design.continuous:
            from thesiskit.experiments.logistic.responses import ResponseFits

            return ResponseFits
        from thesiskit.experiments.logistic.fits import LogisticFits

        return LogisticFits

    def _join_fits(self, number: int, found: list[Arrays]) -> Arrays:
        width = max(len(one["rhat"]) for one in found)
        arrays = {name: np.array([one[name] for one in found])
                  for name in ("seconds", "reliable", "evaluations", "log_likelihood")}  # fmt: skip
        for name in ("rhat", "ess"):
            arrays[name] = np.array(
                [np.pad(one[name], (0, width - len(one[name])), constant_values=np.nan)
                 for one in found]
            )  # fmt: skip
        keys = [self.experiment.key("fit", number, arm) for arm in self.own_arms]
        places = [place for place, _ in self.own_arms.values()]
        named = {"arm": places, "name": list(self.own_arms), "draws": keys}
        return arrays | {name: np.array(values) for name, values in named.items()}

    def check_extension(self) -> None:
        """Raise UserError where stored chains cannot go on."""
        for number in range(len(self.experiment.blocks)):
            fits = self.fits(number)
            for _, arm in self.own_arms.values():
                fits.check_extension(arm)

    def draws(self, stage: str, number: int, arm: str) -> Path | None:
        """Return the file of draws that an arm writes beside its arrays."""
        if stage != "fit" or not arm:
            return None
        return self.experiment.results.folder / "fit" / f"{number:04d}-{arm}.nc"

    # ---- predict ----

    def _predict(self, fits, arm: Arm) -> Arrays:
        if arm.peer:
            self.design.patterns.load([arm.engine])
        started = time.perf_counter()
        found = fits.predict(arm)
        found["seconds"] = np.array(time.perf_counter() - started)
        if self.config.evaluation.ranks and not arm.peer:
            found |= ranks.of_arm([fits.ranks(arm)])
        return found

    def _join(self, number: int, found: list[Arrays]) -> Arrays:
        (division,) = self.experiment.blocks[number]
        cases, arms = self.design.cases(division), self.design.arms
        names = [name for name in found[0] if not name.startswith("rank")]
        return ranks.of_arms(found) | {
            **{name: np.array([one[name] for one in found]) for name in names},
            "response": cases.test_response,
            "train_response": cases.train_response,
            **{
                name: np.array([getattr(arm, name) for arm in arms])
                for name in ("order", "prior", "compress", "engine", "scale", "name")
            },
            "classes": np.array(cases.classes),
        }

    # ---- telling ----

    def record(self) -> LogisticRecord:
        """Return the finished experiment, for the report."""
        return LogisticRecord(self.experiment.results, len(self.experiment.blocks), self.described)

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        arrays = self.experiment.results.load(stage, 0)
        first = "of the first division: " if len(self.experiment.blocks) > 1 else ""
        tell = {"simulate": self._told, "compress": _compressed, "fit": self._sampled,
                "predict": self._predicted}[stage]  # fmt: skip
        return first + tell(arrays)

    def _told(self, arrays) -> str:
        train, cases = int(arrays["train_cases"]), len(arrays["response"])
        y = arrays["response"]
        responses = (
            f"response from {y.min():.4g} to {y.max():.4g}"
            if self.design.continuous
            else f"{len(arrays['classes'])} classes"
        )
        told = self.design.patterns.told(self.design.divisions.sizes.width)
        return f"{train:,} training and {cases - train:,} test cases, {told}, {responses}"

    def _sampled(self, arrays) -> str:
        names = list(self.own_arms)
        rhat, ess = arrays["rhat"][:, 0], arrays["ess"][:, 0]
        bad = [name for name, well in zip(names, arrays["reliable"], strict=True) if not well]
        text = (
            f"{len(names)} fits, R-hat of the log likelihood up to {np.nanmax(rhat):.2f}, "
            f"effective draws from {np.nanmin(ess):.0f}"
        )
        if bad:
            text += (
                f"; WARNING: the chains do not support the predictions of {_few(bad)}; "
                f"try --set model.iterations={4 * self.design.model.iterations}"
            )
        return text

    def _predicted(self, arrays) -> str:
        words, found, score = (
            ("root mean squared error", arrays["median"], metrics.root_mean_square)
            if self.design.continuous
            else ("AMLP", arrays["probability"], metrics.class_amlp)
        )
        scores = [
            (score(one, arrays["response"]), str(name))
            for one, name in zip(found, arrays["name"], strict=True)
        ]
        best = sorted(scores)[:3]
        return f"lowest {words} " + ", ".join(f"{name} {value:.4g}" for value, name in best)


def _compressed(arrays) -> str:
    last = int(np.argmax(arrays["order"]))
    stopped = int(arrays["stopped"])
    groups, patterns = int(arrays["groups"][last]), int(arrays["patterns"][last])
    order = int(arrays["order"][last])
    growth = f"; no new groups beyond order {stopped}" if stopped < order else ""
    return (
        f"order {order}: {groups:,} groups of {patterns:,} patterns "
        f"(ratio {groups / patterns:.3f}){growth}"
    )


def _few(parts: list[str], most: int = 4) -> str:
    return ", ".join(parts[:most]) + (", ..." if len(parts) > most else "")


def _items(pattern: str) -> list[str]:
    return sorted(item.strip() for item in pattern.split(","))
