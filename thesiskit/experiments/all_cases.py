"""An experiment fitted to all its cases, to predict new ones.

The fits are cells like any others, in the folder `all-cases` of the results: stages up to `fit`,
one division in which all cases train.  What predictions need of them becomes a `FittedModel`.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import UserError, few, quoted
from thesiskit.experiments.experiment import Experiment, Watch
from thesiskit.experiments.logistic.design import Arm as PatternsArm
from thesiskit.experiments.logistic.responses import ResponseFits
from thesiskit.experiments.logistic.sequences import SequencePatterns
from thesiskit.experiments.logistic.work import LogisticWork
from thesiskit.experiments.selection.design import Arm
from thesiskit.experiments.selection.mixture import EXACT, MixtureWork
from thesiskit.experiments.selection.naive import NaiveWork
from thesiskit.experiments.selection.work import Pair, SelectionWork
from thesiskit.fitted import FittedModel
from thesiskit.fitted.arms import EnumeratedArm, FittedArm, MixtureArm, NaiveArm, SelectingArm
from thesiskit.fitted.inputs import FeatureInputs, Inputs, SequenceInputs, TableInputs
from thesiskit.fitted.patterns import PatternArm, ProcessArm
from thesiskit.store.results import Results

FOLDER = "all-cases"  # below the results of the experiment


class AllCases(Experiment):
    """A config whose cases all train.

    results : of the experiment; the fits are in a folder below it.
    """

    def __init__(self, config: Config, results: Results, folder: Path, jobs: int = 0):
        check_readable(config)
        results.prepare()
        below = Results(results.folder, FOLDER)
        super().__init__(config.training_with_all(), below, folder, jobs)

    def check_report(self) -> None:
        """There is no report."""

    def fit(self, *, watch: Watch, force: bool = False) -> int:
        """Make what is not made yet; return how many stages had to be made."""
        return sum(self.run(stage, watch=watch, force=force) > 0 for stage in self.stages)

    def model(self) -> FittedModel:
        """Return the fitted model.

        Raises
        ------
        UserError: a stage is not made.
        """
        work = self.graph.work
        if isinstance(work, LogisticWork):
            return _logistic(work, self)
        assert isinstance(work, SelectionWork)
        return _selecting(work, self)


def check_readable(config: Config) -> None:
    """Raise ConfigError for an experiment that has no new cases."""
    if config.data is None:
        raise UserError(f"{config.experiment} has no data; there is nothing to predict")
    if config.drawn:
        raise config.wrong(
            "data.source",
            f"{config.data.source} draws its cases, so there are no new ones to predict; use a "
            "table of your own (data.source: file, table or sequences)",
        )


def check_arm(model: FittedModel, config: Config, names: list[str]) -> None:
    """Raise UserError where an arm is not fitted: a peer, or none at all."""
    peers = [*getattr(config.model, "peers", []), *getattr(config.model, "methods", [])]
    for name in names:
        if name not in model.arms and any(peer in name for peer in peers):
            raise UserError(
                f"{quoted(name)} is a peer, which thesiskit compares with and does not export; "
                f"choose from {few([quoted(one) for one in model.arms], 8)}"
            )


# ---- chapter 2 ----


def _selecting(work: SelectionWork, experiment: AllCases) -> FittedModel:
    block = experiment.graph.block(0)
    table = work.design.tables[0]
    arms: dict[str, SelectingArm] = {}
    for _, arm in work.own_arms.values():
        (pair,) = work.pairs(arm, block)
        stored = block.read("fit", arm.name)
        arms[arm.name] = _selecting_arm(work, arm, pair, stored, block)
    kept = [arm.selected for arm in arms.values()]
    columns = np.unique(np.concatenate(kept)).astype(np.intp)
    inputs = TableInputs(
        list(table.classes), table.names, table.features.shape[1], columns,
        work.design.thresholds(columns),
    )  # fmt: skip
    assert work.config.data is not None
    cases = sum(len(one.response) for one in work.design.tables)
    return FittedModel(work.config.experiment, work.config.data, inputs, dict(arms), cases)


def _selecting_arm(
    work: SelectionWork, arm: Arm, pair: Pair, stored: dict[str, np.ndarray], block: Any
) -> SelectingArm:
    selected = pair[1].selected.astype(np.intp)
    if isinstance(work, NaiveWork):
        return NaiveArm(arm.name, selected, work.posterior(stored, 0, arm, pair[1]))
    assert isinstance(work, MixtureWork)
    if arm.variant == EXACT:
        return EnumeratedArm(arm.name, selected, stored["predictive"][0])
    warning = _mixed(stored["reliable"][0], stored["rhat"][0].max(), stored["ess"][0].min())
    draws = work.read_draws(0, arm, block)
    return MixtureArm(arm.name, selected, work.target(*pair, arm), draws, warning)


def _mixed(reliable: Any, rhat: float, ess: float) -> str:
    """Say why the chains of an arm do not support its predictions; nothing if they do."""
    if reliable:
        return ""
    return (
        f"its chains have not mixed (R-hat {rhat:.2f}, effective draws {ess:.0f}); use more "
        "iterations"
    )


# ---- chapter 3 ----


def _logistic(work: LogisticWork, experiment: AllCases) -> FittedModel:
    block = experiment.graph.block(0)
    fits = work.fits(block)
    cases, patterns = fits.cases, fits.patterns
    inputs: Inputs
    if isinstance(patterns, SequencePatterns):
        inputs = SequenceInputs(cases.classes, patterns.states, cases.train.shape[1])
    else:
        inputs = FeatureInputs(cases.classes, patterns.features, patterns.values)
    arms: dict[str, FittedArm] = {}
    for name, (_, arm) in work.own_arms.items():
        stored = block.read("fit", name)
        warning = _mixed(stored["reliable"], stored["rhat"][0], stored["ess"][0])
        arms[name] = _logistic_arm(fits, arm, inputs, warning)
    assert work.config.data is not None
    return FittedModel(
        work.config.experiment, work.config.data, inputs, arms, len(cases.train), cases.train
    )


def _logistic_arm(fits: Any, arm: PatternsArm, inputs: Inputs, warning: str) -> FittedArm:
    model, found = fits.config.model, fits.read(arm)
    about: dict[str, Any] = {
        "order": arm.order, "split_draws": model.split_draws, "seed": fits.config.seed
    }  # fmt: skip
    codes = fits.cases.train
    log_sigma = found["log_sigma"].reshape(-1, arm.order + 1)
    if arm.engine == "gp":
        about["settings"] = asdict(fits.settings(arm))
        latent = found["latent"].reshape(-1, *found["latent"].shape[2:])
        draws = {"latent": latent, "log_sigma": log_sigma}
        return ProcessArm(arm.name, codes, about, draws, inputs, warning)
    about |= {"prior": arm.prior, "compress": arm.compress, "min_cases": model.min_cases}
    coefficient = found["coefficient"].reshape(-1, *found["coefficient"].shape[2:])
    draws = {"coefficient": coefficient, "log_sigma": log_sigma}
    if isinstance(fits, ResponseFits):
        draws["log_noise"] = found["log_noise"].reshape(-1)
        about |= {"mean": fits.mean, "unit": fits.unit}
    return PatternArm(arm.name, codes, about, draws, inputs, warning)
