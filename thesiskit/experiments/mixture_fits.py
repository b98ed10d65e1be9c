"""The fit stage of the mixture model, and its predictions.

Draws go to netCDF, one file for each arm of a block; fit/NNNN.npz has what tables and figures
need.
"""

import time

import numpy as np

from thesiskit.experiments.design import Arm, Split
from thesiskit.experiments.seeds import generator
from thesiskit.experiments.unfinished import Unfinished
from thesiskit.models import chains, diagnostics
from thesiskit.models.enumeration import enumerate_posterior
from thesiskit.models.mixture import Settings, Target
from thesiskit.models.selection import Selection
from thesiskit.report.draws import read_draws, write_draws
from thesiskit.report.record import EXACT


class MixtureFits:
    """Fits every arm of every split of a block."""

    def __init__(self, work, number: int):
        self.work, self.number = work, number
        self.experiment = work.experiment
        self.model = work.config.model
        self._draws: dict[int, dict[str, np.ndarray]] = {}

    def fit(self, selections: list[Selection], arms: list[tuple[int, Arm]], n_sizes: int):
        """Return the arrays of the fit stage, with the draws written."""
        experiment = self.experiment
        drawn = experiment.load("simulate", self.number)
        splits = self.work.design.splits(experiment.blocks[self.number], drawn)
        key = experiment.key("fit", self.number)
        unfinished = Unfinished(experiment.results, self.number, key)
        work = ((s, split, arm) for s, split in enumerate(splits) for _, arm in arms)
        total = len(selections) // n_sizes * len(arms)
        for place, (s, split, arm) in enumerate(experiment.inner_watch(work, total, "fits")):
            if place not in unfinished.fits:
                selection = selections[s * n_sizes + arm.size]
                checkpoint = unfinished.checkpoint(place)
                unfinished.finish(place, self._fit_one(split, selection, arm, checkpoint))
        fits = [
            [unfinished.fits[place] for place in range(start, start + len(arms))]
            for start in range(0, total, len(arms))
        ]
        for path in (experiment.results.folder / "fit").glob(f"{self.number:04d}-*.nc"):
            path.unlink()
        for j, (_, arm) in enumerate(arms):
            if arm.variant != EXACT:
                self._write_draws(arm, [row[j] for row in fits])
        return _summary([i for i, _ in arms], fits)

    def _settings(self, arm: Arm) -> Settings:
        own = self.model.collapsed if arm.variant in ("collapsed", EXACT) else self.model.thesis
        return Settings(
            class_prior=self.model.class_prior,
            alpha_prior=self.model.alpha_prior,
            response_alpha_prior=self.model.response_alpha_prior,
            sampler="collapsed" if arm.variant == EXACT else arm.variant,
            **own.model_dump(),
        )

    def target(self, split: Split, selection: Selection, arm: Arm) -> Target:
        """Return the posterior of an arm."""
        correct = arm.method != "uncorrected" and selection.n_dropped > 0
        return Target(
            split.features.unpack(selection.selected, split.train),
            split.response[split.train],
            self._settings(arm),
            selection.n_dropped if correct else 0,
            selection.gamma_squared if correct else None,
        )

    def _fit_one(self, split, selection, arm, checkpoint) -> dict[str, np.ndarray]:
        started = time.perf_counter()
        target = self.target(split, selection, arm)
        if arm.variant == EXACT:
            exact = enumerate_posterior(target)
            return {
                "predictive": exact.predictive,
                "means": np.array(
                    [
                        exact.alpha @ np.log(target.settings.alpha),
                        exact.agreement @ np.arange(target.n + 1),
                    ]
                ),
                "errors": np.zeros(2),
                "seconds": np.array(time.perf_counter() - started),
            }
        seed = self.experiment.config.seed
        place = (split.replicate, split.group, split.fold, arm.label, arm.method, arm.variant)
        generators = [
            generator(seed, "chain", *place, chain) for chain in range(target.settings.chains)
        ]
        draws = chains.sample(target, generators, saved=checkpoint.saved, save=checkpoint.save)
        seconds = checkpoint.seconds + time.perf_counter() - started
        found = diagnostics.diagnose(target, draws)
        q = found.quantities
        arrays = {
            "labels": draws.labels,
            "point": draws.point.astype(np.int16),
            "log_posterior": draws.log_posterior,
            "quantities": q,
            "rhat": found.rhat,
            "ess": found.ess,
            "at_end": np.array(found.at_end),
            "exchanged": draws.exchanged.mean(axis=0),
            "table": np.array(draws.table),
            "starts": np.array(draws.starts),
            "response": target.response,
            "means": q[:, :, [0, 2]].mean(axis=(0, 1)),
            "errors": q[:, :, [0, 2]].std(axis=(0, 1)) / np.sqrt(np.maximum(found.ess[[0, 2]], 1)),
            "reliable": np.array(found.reliable),
            "cases": np.array(target.n),
            "seconds": np.array(seconds),
            "alpha": target.settings.alpha,
            "response_alpha": target.settings.response_alpha,
        }
        return arrays | ({} if draws.theta is None else {"theta": draws.theta})

    def _write_draws(self, arm: Arm, fits: list[dict[str, np.ndarray]]) -> None:
        def stack(name: str) -> np.ndarray:
            """Fits side by side; those of fewer cases or features are filled up."""
            values = [one[name] for one in fits]
            width = max(value.shape[-1] for value in values)
            fill = 255 if name == "labels" else np.nan
            padded = [
                np.pad(
                    value,
                    [(0, 0)] * (value.ndim - 1) + [(0, width - value.shape[-1])],
                    constant_values=fill,
                )
                if value.shape[-1] < width
                else value
                for value in values
            ]
            return np.stack(padded, axis=0 if name in ("rhat", "ess") else 2)

        first = fits[0]
        names = ("labels", "point", "log_posterior", "quantities", "rhat", "ess", "theta")
        arrays = {name: stack(name) for name in names if name in first}
        features = [one["theta"].shape[2] if "theta" in one else 0 for one in fits]
        tree = diagnostics.draws_tree(
            arrays,
            (first["alpha"], first["response_alpha"]),
            {
                "key": self.experiment.key("fit", self.number),
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
                    "cases": (("split",), np.array([one["labels"].shape[2] for one in fits])),
                    "features": (("split",), np.array(features)),
                },
            },
        )
        write_draws(self.work.draws_path(self.number, arm), tree)

    def predict(
        self,
        fitted: dict[str, np.ndarray],
        s: int,
        j: int,
        arm: Arm,
        split: Split,
        selection: Selection,
        table: np.ndarray,
    ) -> np.ndarray:
        """Predict the test cases of split s by arm j of the fitted ones."""
        if arm.variant == EXACT:
            return fitted["predictive"][s, j][table[:, 0]]
        if j not in self._draws:
            key = self.experiment.key("fit", self.number)
            path = self.work.draws_path(self.number, arm)
            self._draws[j] = read_draws(path, key, command="fit-mixture")
        found = self._draws[j]
        cases = int(found["cases"][s])
        labels = found["labels"][:, :, s, :cases].reshape(-1, cases)
        point = np.stack(
            [found[name][:, :, s].reshape(-1) for name in ("alpha_point", "alpha_0_point")], axis=1
        )
        draws = [np.ascontiguousarray(labels, dtype=np.uint8), point.astype(np.intp)]
        if "theta" in found:
            width = int(found["features"][s])
            draws.append(found["theta"][:, :, s, :width].reshape(-1, width))
        return self.target(split, selection, arm).predict(tuple(draws), table)


def _summary(arms: list[int], fits: list[list[dict[str, np.ndarray]]]) -> dict[str, np.ndarray]:
    """Return what tables and figures need, (splits, arms, ...) filled up with NaN."""
    shape = (len(fits), len(arms))
    quantities = len(diagnostics.QUANTITIES)
    sizes = {
        "rhat": (quantities,),
        "ess": (quantities,),
        "at_end": (2,),
        "table": (2,),
        "means": (2,),
        "errors": (2,),
        "reliable": (),
        "cases": (),
        "seconds": (),
        "predictive": (2,),
    }
    widest = max((one["exchanged"].size for row in fits for one in row if "exchanged" in one),
                 default=0)  # fmt: skip
    sizes["exchanged"] = (widest,)
    arrays = {name: np.full((*shape, *size), np.nan) for name, size in sizes.items()}
    for s, row in enumerate(fits):
        for j, one in enumerate(row):
            for name, values in arrays.items():
                if name in one:
                    width = one[name].shape[0] if one[name].ndim else None
                    values[(s, j, slice(width)) if width is not None else (s, j)] = one[name]
    # draws of the first split, for traces
    first = [one.get("quantities", np.empty((0, 0, quantities))) for one in fits[0]]
    traces = np.full((len(arms), *np.max([one.shape for one in first], axis=0)), np.nan)
    for trace, own in zip(traces, first, strict=True):
        trace[: own.shape[0], : own.shape[1]] = own
    return arrays | {"arm": np.array(arms), "traces": traces}
