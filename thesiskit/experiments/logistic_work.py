"""Experiments with logistic models: simulate, compress, fit, predict."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.errors import UserError
from thesiskit.experiments.logistic_design import Arm, LogisticDesign
from thesiskit.experiments.unfinished import Unfinished
from thesiskit.experiments.work import Work
from thesiskit.report import metrics
from thesiskit.report.logistic_record import LogisticRecord
from thesiskit.report.store import UNFINISHED


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
        return self.design.source.digest

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
        cases, source = self.design.cases(0), self.design.source
        order = self.config.report.order or max(self.design.orders)
        groups = source.groups(cases.train, order)
        for name in wanted:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.design.continuous:
                    pattern = name
                elif not colon:
                    raise UserError("write a pattern, a colon and a response, such as CC:V")
                elif response not in cases.classes:
                    raise UserError(f"there is no class {response!r}")
                group = source.name(groups, source.find(groups, pattern))
                # a report knows groups of features by name
                if source.patterns == "features" and _items(group) != _items(pattern):
                    raise UserError(f"its group goes by the name {group}")
            except UserError as error:
                raise self.config.wrong("report.traced", f"{name}: {error}") from None

    def settings_of(self, stage: str) -> Any:
        """Return the part of the config that matters to a stage."""
        model = self.design.model
        if stage == "simulate":
            source = self.design.source
            data = [self.config.data.model_dump(), source.digest, source.drawn_with]
            return [self.config.seed, *data]
        if stage == "compress":
            return model.model_dump(include={"orders", "compress", "min_cases"})
        if stage == "fit":
            return model.model_dump(exclude={"peers", "split_draws"})
        return [model.split_draws, self.design.peers]

    def make(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block."""
        if stage == "simulate":
            (replicate,) = self.experiment.blocks[number]
            return self.design.draw(replicate)
        before = self.stages[self.stages.index(stage) - 1]
        self.experiment.require(before, number)
        return getattr(self, f"_{stage}")(number)

    def _watched(self, items: Iterable, total: int, label: str) -> Iterable:
        return self.experiment.inner_watch(items, total, label)

    # ---- compress ----

    def _compress(self, number: int) -> dict[str, np.ndarray]:
        train = self.design.cases(self.experiment.blocks[number][0]).train
        rows, growth = [], np.zeros(1, dtype=np.int64)
        for order in self._watched(self.design.orders, len(self.design.orders), "compress"):
            started = time.perf_counter()
            groups = self.design.source.groups(train, order)
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
        source = self.design.source
        order = max(self.design.orders) if order is None else order
        groups = source.groups(self.design.cases(0).train, order)
        sizes = groups.expressed
        chosen = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            chosen.append(source.find(groups, pattern))
        plural = {True: "case", False: "cases"}
        return [
            f"{source.describe(groups, int(g))}, {sizes[g]:,} training {plural[sizes[g] == 1]}"
            for g in chosen
        ]

    # ---- fit ----

    @property
    def _own(self) -> list[tuple[int, Arm]]:
        return [(i, arm) for i, arm in enumerate(self.design.arms) if not arm.peer]

    def _fits(self, number: int):
        if self.design.continuous:
            from thesiskit.experiments.response_fits import ResponseFits

            return ResponseFits(self, number)
        from thesiskit.experiments.logistic_fits import LogisticFits

        return LogisticFits(self, number)

    def _fit(self, number: int) -> dict[str, np.ndarray]:
        experiment, fits = self.experiment, self._fits(number)
        unfinished = Unfinished(experiment.results, number, experiment.key("fit", number))
        for place, arm in self._watched(self._own, len(self._own), "fits"):
            if place not in unfinished.fits:
                unfinished.finish(place, fits.fit(place, arm, unfinished))
        found = [unfinished.fits[place] for place, _ in self._own]
        width = max(len(one["rhat"]) for one in found)
        arrays = {name: np.array([one[name] for one in found])
                  for name in ("seconds", "reliable", "evaluations", "log_likelihood")}  # fmt: skip
        for name in ("rhat", "ess"):
            arrays[name] = np.array(
                [np.pad(one[name], (0, width - len(one[name])), constant_values=np.nan)
                 for one in found]
            )  # fmt: skip
        return arrays | {"arm": np.array([place for place, _ in self._own])}

    def check_extension(self) -> None:
        """Raise UserError where stored chains cannot go on."""
        for number in range(len(self.experiment.blocks)):
            fits = self._fits(number)
            for _, arm in self._own:
                fits.check_extension(arm)

    def whole(self, stage: str, number: int) -> bool:
        """Whether the draws that the fit stage writes beside its block are there."""
        return stage != "fit" or all(path.exists() for path in self._draws(number))

    def forget(self, stage: str, number: int, *, forced: bool = False) -> None:
        """Remove the fits of a block that is not done; if forced, stored chains too."""
        if stage == "fit":
            self.experiment.results.remove(UNFINISHED, number)
            for path in self._draws(number) if forced else ():
                path.unlink(missing_ok=True)

    def _draws(self, number: int) -> list[Path]:
        folder = self.experiment.results.folder / "fit"
        return [folder / f"{number:04d}-{arm.name}.nc" for _, arm in self._own]

    # ---- predict ----

    def _predict(self, number: int) -> dict[str, np.ndarray]:
        fits = self._fits(number)
        self.design.source.load(self.design.peers)
        found, seconds = [], []
        arms = self.design.arms
        for arm in self._watched(arms, len(arms), "predictions"):
            started = time.perf_counter()
            found.append(fits.predict(arm))
            seconds.append(time.perf_counter() - started)
        truth = {}
        if fits.cases.truth:
            model = self.design.model
            ranked = [
                i
                for i, arm in enumerate(arms)
                if (arm.order, arm.prior, arm.engine)
                == (self.design.orders[0], model.priors[0], "slice")
            ]
            settings = fits.settings(arms[ranked[0]])
            truth = {
                "ranked": np.array(ranked),
                "ranks": np.array([[fits.ranks(arms[i]) for i in ranked]]),
                "rank_draws": np.array(settings.kept * settings.chains),
            }
        return truth | {
            **{name: np.array([one[name] for one in found]) for name in found[0]},
            "response": fits.cases.test_response,
            "train_response": fits.cases.train_response,
            "seconds": np.array(seconds),
            "order": np.array([arm.order for arm in arms]),
            "prior": np.array([arm.prior for arm in arms]),
            "compress": np.array([arm.compress for arm in arms]),
            "engine": np.array([arm.engine for arm in arms]),
            "scale": np.array([arm.scale for arm in arms]),
            "name": np.array([arm.name for arm in arms]),
            "classes": np.array(fits.cases.classes),
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
        return (
            f"{train:,} training and {cases - train:,} test cases, {self.design.source.told()}, "
            f"{responses}"
        )

    def _sampled(self, arrays) -> str:
        names = [arm.name for _, arm in self._own]
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
