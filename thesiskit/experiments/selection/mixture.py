"""The mixture model in the experiments of chapter 2: its fit stage, and its predictions.

Draws go to netCDF, one file for each arm of a block; fit/NNNN.npz has what tables and figures
need.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config, MixtureModel
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.ranks import Ranks
from thesiskit.experiments.selection.arms import Arm
from thesiskit.experiments.selection.mixture_ranks import mixture_ranks
from thesiskit.experiments.selection.split import Split
from thesiskit.experiments.selection.temperature import of_probability, tempered
from thesiskit.experiments.selection.whole_mixture import EXACT, WholeMixture
from thesiskit.experiments.selection.work import Pair, SelectionWork
from thesiskit.experiments.work import Block, Unfinished
from thesiskit.files import read_draws, write_draws
from thesiskit.models import mixture
from thesiskit.models.chains import REACHED, Arrays
from thesiskit.models.mixture import Settings, Target
from thesiskit.models.selection import Selection
from thesiskit.models.temperature import as_log_probability

QUANTITIES = len(mixture.QUANTITIES)
SUMMARY = {  # what tables and figures need of a fit, and its shape where there is none
    "rhat": (QUANTITIES,), "ess": (QUANTITIES,), "at_end": (2,), "table": (2,), "means": (2,),
    "errors": (2,), "reliable": (), "cases": (), "seconds": (), "predictive": (2,),
    "exchanged": (0,), "tau": (),
}  # fmt: skip
NUMBERS = tuple(name for name in REACHED if name != "worst")  # besides, with model.until


class MixtureWork(SelectionWork):
    """Samples an arm in every split of a block, and predicts."""

    model: MixtureModel

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self._draws: tuple[Path | None, Arrays] = (None, {})  # read last

    def command(self, stage: str) -> str:
        """Return the command of a stage."""
        return "fit-mixture" if stage == "fit" else stage

    def check(self) -> None:
        """Raise UserError for what only the data show to be wrong."""
        missing = sum(table.missing for one in self.design.each for table in one.tables)
        if missing:
            raise self.config.wrong(
                "model.kind",
                f"{missing:,} values are missing, and the mixture model takes none; use "
                "naive-bayes, which leaves their terms out, or fill them in",
            )
        super().check()

    def chains_of(self, arm: Arm) -> int:
        """Return how many chains an arm has, each a cell; 0 where they have to agree, in one."""
        return 0 if arm.variant == EXACT or self.model.until else self.runs(arm).chains

    def has_draws(self, arm: Arm) -> bool:
        """Whether an arm is sampled."""
        return arm.variant != EXACT

    def runs(self, arm: Arm) -> Any:
        """Return the part of the config that says how an arm is sampled."""
        model = self.model
        return model.collapsed if arm.variant in ("collapsed", EXACT) else model.thesis

    def prior_points(self) -> dict[str, int]:
        """Return how many points the grids of the alphas have."""
        points = max(self.runs(arm).alpha_points for _, arm in self.own_arms.values())
        return {"alpha_prior": points, "response_alpha_prior": points}

    def settings_of_arm(self, arm: Arm) -> Any:
        """Return the part of the model's config that matters to a fitted arm."""
        thesis = arm.variant in ("thesis", "as-printed")
        others = {"methods", "samplers", "temperature", "collapsed" if thesis else "thesis"}
        return self.model.model_dump(exclude=others)

    def fit(self, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished) -> Arrays:
        """Return what a chain leaves in every split, or what all chains of an arm come to."""
        pairs = self.pairs(arm, block)
        until = self.model.until is not None and arm.variant != EXACT
        if arm.variant == EXACT:
            found = [self._enumerate(*pair, arm) for pair in pairs]
        elif until:
            found = self._sample_until(pairs, arm, block, unfinished)
        elif chain is None:
            found = self._compare(pairs, arm, block)
        else:
            return self._sample(pairs, arm, chain, unfinished)
        for one, (split, _) in zip(found, self.pairs(arm, block), strict=True):
            one["tau"] = np.array(self.temperature(arm, split))
        nothing = {name: np.full(shape, np.nan) for name, shape in SUMMARY.items()}
        names = (*SUMMARY, *(NUMBERS if until else ()))
        summary = _filled([{name: (nothing | one)[name] for name in names} for one in found])
        if until:
            summary["worst"] = np.array([one["worst"] for one in found])
        # draws of the first split, for traces
        return summary | {"traces": found[0].get("quantities", np.empty((0, 0, QUANTITIES)))}

    def _settings(self, arm: Arm) -> Settings:
        model = self.model
        return Settings(
            class_prior=model.class_prior,
            alpha_prior=model.alpha_prior,
            response_alpha_prior=model.response_alpha_prior,
            sampler="collapsed" if arm.variant == EXACT else arm.variant,
            until=self.model.until.targets if self.model.until else None,
            **self.runs(arm).model_dump(),
        )

    def target(self, split: Split, selection: Selection, arm: Arm) -> Target:
        """Return the posterior of an arm."""
        return Target(
            split.features.unpack(selection.selected, split.train),
            split.response[split.train],
            self._settings(arm),
            selection.left_out if arm.correct else None,
        )

    def whole(self, arm: Arm) -> WholeMixture:
        """Return the model of an arm, to be sampled again."""
        return WholeMixture(self.config, self.target)

    def _sample(
        self, pairs: Iterable[Pair], arm: Arm, chain: int, unfinished: Unfinished
    ) -> Arrays:
        """Run a chain in every split."""
        for s, (split, selection) in enumerate(pairs):
            if s in unfinished.fits:
                continue
            running = unfinished.begin(s)
            (fit,) = mixture.run_chains(
                self.target(split, selection, arm), [self._generator(split, arm, chain)], [chain],
                saved=running.saved, save=running.save,
            )  # fmt: skip
            fit["point"] = fit["point"].astype(np.int16)
            fit["seconds"] = running.seconds
            unfinished.finish(s, fit)
        return {
            f"{s}/{name}": values
            for s, fit in unfinished.fits.items()
            for name, values in fit.items()
        }

    def _generator(self, split: Split, arm: Arm, chain: int) -> np.random.Generator:
        place = (split.replicate, split.group, split.fold, arm.label, arm.method, arm.variant)
        return generator(self.config.seed, "chain", *place, chain)

    def _sample_until(
        self, pairs: Iterable[Pair], arm: Arm, block: Block, unfinished: Unfinished
    ) -> list[Arrays]:
        """Run the chains of every split until they agree, and write their draws."""
        found = []
        for s, (split, selection) in enumerate(pairs):
            target = self.target(split, selection, arm)
            if s not in unfinished.fits:
                running = unfinished.begin(s)
                draws = mixture.sample(
                    target,
                    [self._generator(split, arm, c) for c in range(target.settings.chains)],
                    probe=mixture.Probe.of(target, self.table((split, selection))),
                    saved=running.saved, save=running.save,
                )  # fmt: skip
                fit = self._compared(target, draws, float(running.seconds))
                assert draws.judgement is not None
                unfinished.finish(s, fit | draws.judgement.arrays(draws.iterations))
            found.append(unfinished.fits[s])
        self._write_draws(arm, found, block)
        return found

    def _enumerate(self, split: Split, selection: Selection, arm: Arm) -> Arrays:
        """Return the exact posterior's predictions and means."""
        started = time.perf_counter()
        target = self.target(split, selection, arm)
        exact = mixture.enumerate_posterior(target)
        means = [
            exact.alpha @ np.log(target.settings.alpha), exact.agreement @ np.arange(target.n + 1)
        ]  # fmt: skip
        return {
            "predictive": exact.predictive,
            "means": np.array(means),
            "errors": np.zeros(2),
            "seconds": np.array(time.perf_counter() - started),
        }

    def _compare(self, pairs: Iterable[Pair], arm: Arm, block: Block) -> list[Arrays]:
        """Compare the chains of every split, and write their draws."""
        numbers = range(self._settings(arm).chains)
        left = [block.read("fit", arm.name, chain) for chain in numbers]
        found = []
        for s, (split, selection) in enumerate(pairs):
            target = self.target(split, selection, arm)
            mine = [_part(arrays, s) for arrays in left]
            seconds = float(np.sum([one["seconds"] for one in mine]))
            found.append(self._compared(target, mixture.gather(target, mine), seconds))
        self._write_draws(arm, found, block)
        return found

    def _compared(self, target: Target, draws: mixture.Draws, seconds: float) -> Arrays:
        """Return what is written of the draws of a split, and what tables need of them."""
        compared = mixture.diagnose(target, draws)
        q = compared.quantities
        arrays = {
            "labels": draws.labels,
            "point": draws.point,
            "log_posterior": draws.log_posterior,
            "quantities": q,
            "rhat": compared.rhat,
            "ess": compared.ess,
            "at_end": np.array(compared.at_end),
            "exchanged": draws.exchanged.mean(axis=0),
            "table": np.array(draws.table),
            "starts": np.array(draws.starts),
            "means": q[:, :, [0, 2]].mean(axis=(0, 1)),
            "errors": q[:, :, [0, 2]].std(axis=(0, 1))
            / np.sqrt(np.maximum(compared.ess[[0, 2]], 1)),
            "reliable": np.array(compared.reliable),
            "cases": np.array(target.n),
            "seconds": np.array(seconds),
            "alpha": target.settings.alpha,
            "response_alpha": target.settings.response_alpha,
        }
        return arrays | ({} if draws.theta is None else {"theta": draws.theta})

    def join_fits(self, found: list[Arrays]) -> Arrays:
        """Return what tables and figures need, (splits, arms, ...) filled up with NaN."""
        traces = _filled([{"traces": one.pop("traces")} for one in found])
        worst = [one.pop("worst", None) for one in found]
        judged = any(one is not None for one in worst)
        splits = len(found[0]["rhat"])
        unknown = {name: np.full(splits, np.nan) for name in NUMBERS if judged}
        filled = _filled([unknown | one for one in found])
        joined = {name: np.moveaxis(values, 0, 1) for name, values in filled.items()}
        if judged:
            names = [np.full(splits, "") if one is None else one for one in worst]
            joined["worst"] = np.stack(names, axis=1)
        return joined | traces

    def _write_draws(self, arm: Arm, fits: list[Arrays], block: Block) -> None:
        most = max(one["labels"].shape[1] for one in fits)
        fills = {"labels": 255, "point": -1}

        def stack(name: str) -> np.ndarray:
            """Fits side by side; those of fewer draws, cases or features are filled up."""
            values = [one[name] for one in fits]
            if name in ("rhat", "ess"):
                return np.stack(values)
            width = max(value.shape[-1] for value in values)
            padded = []
            for value in values:
                missing = np.zeros((value.ndim, 2), dtype=int)
                missing[1, 1] = most - value.shape[1]
                if value.ndim > 2:
                    missing[-1, 1] = width - value.shape[-1]
                padded.append(np.pad(value, missing, constant_values=fills.get(name, np.nan)))
            return np.stack(padded, axis=2)

        first = fits[0]
        names = ("labels", "point", "log_posterior", "quantities", "rhat", "ess", "theta")
        arrays = {name: stack(name) for name in names if name in first}
        features = [one["theta"].shape[2] if "theta" in one else 0 for one in fits]
        tree = mixture.draws_tree(
            arrays,
            (first["alpha"], first["response_alpha"]),
            {
                "key": block.key("fit", arm.name),
                "sampler": arm.variant,
                "method": arm.method,
                "features_kept": arm.label,
                "starts": ", ".join(first["starts"]),
            },
            split=("split",),
            more={
                "sample_stats": {
                    "alpha_point": (("split",), arrays["point"][..., 0]),
                    "alpha_0_point": (("split",), arrays["point"][..., 1]),
                },
                "diagnostics": {
                    "draws": (("split",), np.array([one["labels"].shape[1] for one in fits])),
                    "cases": (("split",), np.array([one["labels"].shape[2] for one in fits])),
                    "features": (("split",), np.array(features)),
                },
            },
        )
        write_draws(block.draws("fit", arm.name), tree)

    def predict(
        self, fitted: Arrays, s: int, arm: Arm, pair: Pair, table: np.ndarray, block: Block
    ) -> np.ndarray:
        """Return P(class 1) of the test cases of split s, (T,)."""
        if arm.variant == EXACT:
            p = fitted["predictive"][s][table[:, 0]]
            return tempered(of_probability(p), fitted["tau"][s]) if arm.tempered else p
        target, draws = self.target(*pair, arm), self.read_draws(s, arm, block)
        if not arm.tempered:
            return target.predict(draws, table)
        log = as_log_probability(target.predict_log_odds(draws, table))
        return tempered(log, fitted["tau"][s])

    def rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks | None:
        """Rank the truth in split s; None where an arm has no draws."""
        if arm.variant == EXACT:
            return None
        split, selection = pair
        labels, point, *_ = self.read_draws(s, arm, block)
        place = (split.replicate, arm.label, arm.method, arm.variant)
        return mixture_ranks(
            self.target(split, selection, arm),
            labels,
            point,
            self.design.drawn(split.replicate),
            split.features.unpack(selection.selected, split.train[:1]),
            generator(self.config.seed, "ranks", *place),
        )

    def read_draws(self, s: int, arm: Arm, block: Block) -> tuple[np.ndarray, ...]:
        """Return all draws of an arm in split s in a row."""
        path = block.draws("fit", arm.name)
        if self._draws[0] != path:
            key = block.key("fit", arm.name)
            self._draws = path, read_draws(path, key, command="fit-mixture")
        found = self._draws[1]
        kept, cases = int(found["draws"][s]), int(found["cases"][s])
        labels = found["labels"][:, :kept, s, :cases].reshape(-1, cases)
        names = ("alpha_point", "alpha_0_point")
        point = np.stack([found[name][:, :kept, s].reshape(-1) for name in names], axis=1)
        draws: list[np.ndarray] = [
            np.ascontiguousarray(labels, dtype=np.uint8),
            point.astype(np.intp),
        ]
        if "theta" in found:
            width = int(found["features"][s])
            draws.append(found["theta"][:, :kept, s, :width].reshape(-1, width))
        return tuple(draws)


def _part(arrays: Arrays, s: int) -> Arrays:
    """Return what a chain left in split s."""
    mark = f"{s}/"
    return {n.removeprefix(mark): v for n, v in arrays.items() if n.startswith(mark)}


def _filled(rows: list[Arrays]) -> Arrays:
    """Return arrays of several fits side by side, filled up with NaN where one has less."""
    found: Arrays = {}
    for name in rows[0]:
        values = [np.asarray(row[name], dtype=float) for row in rows]
        shape = tuple(max(sizes) for sizes in zip(*(one.shape for one in values), strict=True))
        found[name] = np.full((len(rows), *shape), np.nan)
        for i, one in enumerate(values):
            place: tuple = (i, *(slice(size) for size in one.shape))
            found[name][place] = one
    return found
