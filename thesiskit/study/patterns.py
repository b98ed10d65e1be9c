"""The experiments of chapter 3: simulate, compress, fit, predict."""

import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import UserError
from thesiskit.models import peers, ranks
from thesiskit.models.chains import REACHED, Arrays, most_kept
from thesiskit.study.cells import Block, Needs, Unfinished, Work
from thesiskit.study.pattern_design import Arm, LogisticDesign
from thesiskit.study.pattern_fits import LogisticFits, ResponseFits, case_arrays

OF_FITS = (  # of each arm a number or a name
    "seconds", "reliable", "evaluations", "log_likelihood", "separated", *REACHED,
)  # fmt: skip


class LogisticWork(Work):
    """Patterns are grouped, coefficients of groups sampled, and test cases predicted."""

    stages: tuple[str, ...] = ("simulate", "compress", "fit", "predict")

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.design = LogisticDesign(config, folder)
        if config.all_train:
            self.stages = self.stages[:-1]  # nobody is tested

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return "fit-logistic" if stage == "fit" else stage

    @property
    def data_digest(self) -> str:
        """A digest of cases that are read."""
        return self.design.digest

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about cases that are read, a line each."""
        return self.design.notes

    def check(self) -> None:
        """Raise UserError for what only the data, or missing packages, show to be wrong."""
        self.design.check()
        if not self.config.all_train:
            self._check_traced()

    def _check_traced(self) -> None:
        """Raise ConfigError for coefficients that there cannot be."""
        wanted = self.config.report.traced
        if not wanted:
            return
        cases, patterns = self.design.cases(0), self.design.patterns
        groups = patterns.groups(
            cases.train, self.config.report.order or max(self.design.orders),
            min_cases=self.design.model.min_cases,
        )  # fmt: skip
        for name in wanted:
            pattern, colon, response = name.rpartition(":")
            try:
                if self.design.model.continuous:
                    pattern = name
                elif not colon:
                    raise UserError("write a pattern, a colon and a response, such as CC:V")
                elif response not in cases.classes:
                    raise UserError(f"there is no class {response!r}")
                group = groups.pattern(groups.find(pattern, *patterns.names), *patterns.names)
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
        # chains that have to agree run together, in one cell
        chains = self.design.model.chains if self.design.model.until is None else 0
        return dict.fromkeys(self.own_arms, chains) if stage == "fit" else {}

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        model = self.design.model
        if stage == "simulate":
            design = self.design
            return [self.config.seed, design.data.model_dump(), design.digest, design.drawn_with]
        if stage == "compress":
            return model.model_dump(
                include={"min_cases"} if arm else {"orders", "compress", "min_cases", "engine"}
            )
        if arm and arm not in self.own_arms:
            return None
        # an arm says itself what it is
        arms = {"orders", "priors", "compress", "engine", "sigma_scale"} if arm else set()
        if stage == "fit":
            return model.model_dump(exclude={"peers", "split_draws", *arms})
        return [model.split_draws, None if arm else self.design.peers, self.config.evaluation.ranks]

    def needs(self, replicates: int) -> Needs:
        """Return what a division needs."""
        self.design.check_sizes()
        model, sizes = self.design.model, self.design.sizes
        n, own = sizes.train + sizes.test, len(self.own_arms)
        draws = max(1, (model.iterations - model.burn_in) // model.thin)
        if model.until is not None:
            draws = draws // 2 + 1
        sets = 1 if model.continuous else sizes.classes - (sizes.classes == 2)
        held = 8 * (3 if model.continuous else sizes.classes)  # of a case that is predicted
        codes, predicted = n * sizes.width, sizes.test * held
        needed = Needs(fits=own, disk=codes + len(self.all_arms) * predicted)
        most = 0
        for _, arm in self.own_arms.values():
            if arm.engine == "gp":
                kept = draws
                if model.until is not None:
                    kept = min(draws, most_kept(model.chains, sets * sizes.train))
                latent = model.chains * kept * sets * 4 * sizes.train
                needed.disk, most = needed.disk + latent, max(most, latent + 8 * sizes.train**2)
        needed.memory = codes + predicted + 8 * sizes.values * sizes.classes + most
        splits = 1 if model.split_draws == "exact" else model.split_draws
        updates = max(1, model.sigma_updates // 10, model.joint_updates)
        iterations = model.iterations * updates + draws * (splits - 1)
        needed.iterations = own * model.chains * iterations
        return needed

    # ---- making it ----

    def make(self, stage: str, block: Block) -> Arrays:
        """Return the arrays of `simulate` or `compress`."""
        if stage == "compress":
            return self._compress(self.fits(block))
        (division,) = block.replicates
        return case_arrays(self.design.cases(division), self.design.patterns)

    def make_arm(
        self, stage: str, arm: str, chain: int | None, block: Block, unfinished: Unfinished
    ) -> Arrays:
        """Return the arrays of an arm, or of one of its chains."""
        fits, one = self.fits(block), self.all_arms[arm][1]
        if stage == "predict":
            return self._predict(fits, one)
        if chain is not None:
            return fits.sample(one, chain, unfinished)
        if self.design.model.until is not None:
            return fits.sample_until(one, unfinished)
        return fits.compare(one)

    def join(self, stage: str, found: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of `fit` or `predict` from those of their arms."""
        join = self._join_fits if stage == "fit" else self._join_predictions
        return join(found, block)

    def fits(self, block: Block) -> LogisticFits:
        """Return what fits and predicts the arms of a block."""
        kind = ResponseFits if self.design.model.continuous else LogisticFits
        return kind(self.config, self.design.orders, block)

    # ---- compress ----

    def _compress(self, fits: LogisticFits) -> Arrays:
        """Return the numbers of groups by order, and the groups of every arm that has some."""
        model = self.design.model
        wanted = model.compress if "slice" in model.engine else []
        kept: Arrays = {}
        rows, growth = [], np.zeros(1, dtype=np.int64)
        for order in self.design.orders:
            started = time.perf_counter()
            groups = fits.find_groups(order)
            rows.append([groups.n_groups, groups.n_patterns, groups.n_rows,
                         time.perf_counter() - started])  # fmt: skip
            if order == max(self.design.orders):
                growth = groups.growth()
            if True in wanted:
                kept |= fits.group_arrays(groups, order, compress=True)
            if False in wanted and order in self.design.original_orders:
                groups = fits.find_groups(order, compress=False)
                kept |= fits.group_arrays(groups, order, compress=False)
        grown = np.flatnonzero(np.diff(growth, prepend=0))
        counts = np.array(rows)
        return kept | {
            "order": np.array(self.design.orders),
            "groups": counts[:, 0].astype(np.int64),
            "patterns": counts[:, 1].astype(np.int64),
            "rows": counts[:, 2].astype(np.int64),
            "seconds": counts[:, 3],
            "growth": growth,
            "stopped": np.array(grown[-1] if len(grown) else 0),
        }

    def explored(self, block: Block, order: int | None = None, *, fit: bool) -> Any:
        """Return the content of the page of the groups of patterns, or of a fit."""
        from thesiskit.study.exploring import explored  # a page: few commands need it

        return explored(self, block, order, fit=fit)

    def list_groups(
        self, block: Block, order: int | None, most: int, pattern: str | None
    ) -> list[str]:
        """Return lines about the groups that most cases express, and about that of a pattern."""
        fits = self.fits(block)
        patterns = fits.patterns
        groups = fits.find_groups(max(self.design.orders) if order is None else order)
        sizes = groups.expressed
        chosen = list(np.argsort(-sizes, kind="stable")[:most])
        if pattern is not None:
            chosen.append(groups.find(pattern, *patterns.names))
        plural = {True: "case", False: "cases"}
        return [
            f"{patterns.describe(groups, int(g))}, {sizes[g]:,} training {plural[sizes[g] == 1]}"
            for g in chosen
        ]

    # ---- fit ----

    def _join_fits(self, found: list[Arrays], block: Block) -> Arrays:
        width = max(len(one["rhat"]) for one in found)
        arrays = {name: np.array([one[name] for one in found]) for name in OF_FITS
                  if name in found[0]}  # fmt: skip
        for name in ("rhat", "ess"):
            arrays[name] = np.array(
                [np.pad(one[name], (0, width - len(one[name])), constant_values=np.nan)
                 for one in found]
            )  # fmt: skip
        keys = [block.key("fit", arm) for arm in self.own_arms]
        places = [place for place, _ in self.own_arms.values()]
        named = {"arm": places, "name": list(self.own_arms), "draws": keys}
        return arrays | {name: np.array(values) for name, values in named.items()}

    def check_extension(self, block: Block) -> None:
        """Raise UserError where stored chains cannot go on."""
        fits = self.fits(block)
        for _, arm in self.own_arms.values():
            fits.check_extension(arm)

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws of an arm."""
        return arm if stage == "fit" and arm else None

    # ---- predict ----

    def _predict(self, fits, arm: Arm) -> Arrays:
        if arm.peer:
            peers.load([arm.engine])
        started = time.perf_counter()
        found = fits.predict(arm)
        found["seconds"] = np.array(time.perf_counter() - started)
        if self.config.evaluation.ranks and not arm.peer:
            found |= ranks.of_arm([fits.ranks(arm)])
        return found

    def _join_predictions(self, found: list[Arrays], block: Block) -> Arrays:
        cases, arms = self.fits(block).cases, self.design.arms
        names = [name for name in found[0] if not name.startswith("rank")]
        ranked = ranks.of_arms(found) if self.config.evaluation.ranks else {}
        return ranked | {
            **{name: np.array([one[name] for one in found]) for name in names},
            "response": cases.test_response,
            "train_response": cases.train_response,
            **{
                name: np.array([getattr(arm, name) for arm in arms])
                for name in ("order", "prior", "compress", "engine", "scale", "name")
            },
            "classes": np.array(cases.classes),
        }


def _items(pattern: str) -> list[str]:
    return sorted(item.strip() for item in pattern.split(","))
