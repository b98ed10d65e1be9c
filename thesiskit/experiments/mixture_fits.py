"""The fit stage of the mixture model, and its predictions.

Draws go to netCDF, one file for each arm of a block; fit/NNNN.npz has what tables and figures
need.  While a block is worked on, finished fits and the chains of the one that is running are
kept in unfinished/NNNN.npz, from which a killed run goes on.
"""

import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.experiments.design import Arm, Split, generator
from thesiskit.models import chains, diagnostics
from thesiskit.models.draws import as_tree
from thesiskit.models.enumeration import enumerate_posterior
from thesiskit.models.mixture import Settings, Target
from thesiskit.models.selection import Selection
from thesiskit.report.draws import read_draws, write_draws
from thesiskit.report.store import UNFINISHED

EXACT = "enumeration"


class MixtureFits:
    """Fits every arm of every split of a block."""

    def __init__(self, experiment, number: int):
        self.experiment, self.number = experiment, number
        self.model = experiment.config.model
        self._draws: dict[int, dict[str, np.ndarray]] = {}

    def files(self, arms: list[tuple[int, Arm]]) -> list[Path]:
        """Return the files that the fit stage writes beside its block: draws."""
        return [self._file(arm) for _, arm in arms if arm.variant != EXACT]

    def fit(self, selections: list[Selection], arms: list[tuple[int, Arm]], n_sizes: int):
        """Return the arrays of the fit stage, with the draws written."""
        experiment = self.experiment
        drawn = experiment.load("simulate", self.number)
        splits = experiment.design.splits(experiment.blocks[self.number], drawn)
        unfinished = Unfinished(experiment, self.number)
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
        for path in self._folder.glob(f"{self.number:04d}-*.nc"):
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

    # ---- draws ----

    @property
    def _folder(self):
        return self.experiment.results.folder / "fit"

    def _file(self, arm: Arm):
        name = re.sub(r"[^0-9a-z.]+", "-", f"{arm.label}-{arm.method}-{arm.variant}".lower())
        return self._folder / f"{self.number:04d}-{name.strip('-')}.nc"

    def _write_draws(self, arm: Arm, fits: list[dict[str, np.ndarray]]) -> None:
        def stack(name: str, fill: Any = np.nan) -> np.ndarray:
            """Fits side by side as a third dimension; shorter ones are filled up (labels: 255)."""
            values = [one[name] for one in fits]
            width = max(value.shape[-1] for value in values)
            if len({value.shape for value in values}) > 1:
                values = [
                    np.pad(
                        value,
                        [(0, 0)] * (value.ndim - 1) + [(0, width - value.shape[-1])],
                        constant_values=fill,
                    )
                    for value in values
                ]
            return np.stack(values, axis=min(2, values[0].ndim - 1))

        first = fits[0]
        point = np.stack([one["point"] for one in fits], axis=2)
        q = np.stack([one["quantities"] for one in fits], axis=2)
        posterior = {
            "log_alpha": (("split",), np.log(first["alpha"])[point[..., 0]]),
            "log_alpha_0": (("split",), np.log(first["response_alpha"])[point[..., 1]]),
            "labels": (("split", "case"), stack("labels", 255)),
        }
        if "theta" in first:
            posterior["theta"] = (("split", "feature"), stack("theta"))
        tree = as_tree(
            {
                "posterior": posterior,
                "sample_stats": {
                    "lp": (("split",), np.stack([one["log_posterior"] for one in fits], axis=2)),
                    "agreement": (("split",), q[..., 2]),
                    "predictive_probability": (("split",), q[..., 3]),
                    "alpha_point": (("split",), point[..., 0]),
                    "alpha_0_point": (("split",), point[..., 1]),
                },
            },
            {
                "rhat": (("split", "quantity"), np.array([one["rhat"] for one in fits])),
                "ess": (("split", "quantity"), np.array([one["ess"] for one in fits])),
                "quantity": (("quantity",), np.array(diagnostics.QUANTITIES)),
                "cases": (("split",), np.array([one["labels"].shape[2] for one in fits])),
                "features": (
                    ("split",),
                    np.array([one["theta"].shape[2] if "theta" in one else 0 for one in fits]),
                ),
            },
            {
                "key": self.experiment.key("fit", self.number),
                "sampler": arm.variant,
                "method": arm.method,
                "features_kept": arm.label,
                "starts": ", ".join(first["starts"]),
            },
        )
        write_draws(self._file(arm), tree)

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
            self._draws[j] = read_draws(self._file(arm), key)
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


class Unfinished:
    """What is done of a block whose fit stage is not, in one file that is replaced now and then."""

    def __init__(self, experiment, number: int):
        self.results, self.number = experiment.results, number
        self.key = "unfinished " + experiment.key("fit", number)
        self.fits: dict[int, dict[str, np.ndarray]] = {}
        self.running: tuple[int, dict[str, np.ndarray]] = (-1, {})
        if self.results.key(UNFINISHED, number) == self.key:
            for name, values in self.results.load(UNFINISHED, number).items():
                kind, _, rest = name.partition("/")
                place, _, name = rest.partition("/")
                if kind == "fit":
                    self.fits.setdefault(int(place), {})[name] = values
                elif kind == "running":
                    self.running = (int(place), self.running[1] | {name: values})
        self.written = time.monotonic()

    def finish(self, place: int, fit: dict[str, np.ndarray]) -> None:
        """Keep a finished fit; write once a while."""
        self.fits[place] = fit
        self.running = (-1, {})
        if time.monotonic() - self.written > chains.SAVE_SECONDS:
            self._write()

    def checkpoint(self, place: int) -> "Checkpoint":
        """Return where a fit that is begun is kept, with what is known of it."""
        return Checkpoint(self, place, self.running[1] if self.running[0] == place else {})

    def keep(self, place: int, state: dict[str, np.ndarray]) -> None:
        """Write what a running fit needs to go on."""
        self.running = (place, state)
        self._write()

    def _write(self) -> None:
        arrays = {
            f"fit/{place}/{name}": values
            for place, fit in self.fits.items()
            for name, values in fit.items()
        }
        place, state = self.running
        arrays |= {f"running/{place}/{name}": values for name, values in state.items()}
        self.results.save(UNFINISHED, self.number, self.key, arrays)
        self.written = time.monotonic()


class Checkpoint:
    """Where a running fit is kept, and the seconds it took before it was interrupted."""

    def __init__(self, unfinished: Unfinished, place: int, saved: dict[str, np.ndarray]):
        self.unfinished, self.place = unfinished, place
        self.seconds = float(saved.pop("seconds", 0.0))
        self.saved = saved or None
        self.started = time.perf_counter()

    def save(self, state: dict[str, np.ndarray]) -> None:
        """Keep the state of the chains."""
        seconds = self.seconds + time.perf_counter() - self.started
        self.unfinished.keep(self.place, state | {"seconds": np.array(seconds)})


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
