"""Fits of a logistic experiment: chains to netCDF and back, and predictions.

One file for each arm holds draws, traces and the state of the chains.  Chains of a file that was
made with the same settings but fewer iterations go on from there.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.errors import ResultsError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.logistic.cases import Cases
from thesiskit.experiments.logistic.design import Arm, Patterns
from thesiskit.experiments.logistic.extending import (
    as_one_of,
    check_extension,
    one_of,
    stored_chains,
)
from thesiskit.experiments.logistic.stored import Stored
from thesiskit.experiments.work import Block, Unfinished
from thesiskit.files import read_draws, write_draws
from thesiskit.models import logistic, process
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import Groups
from thesiskit.models.ranks import Ranks, compare, spaced

NAMED = 20_000  # groups that get their names in a file: those with the largest coefficients
SETTINGS = (
    "chains", "iterations", "burn_in", "thin", "sigma_updates", "joint_updates", "sigma_0",
    "sigma_shape", "sigma_mode", "step", "sigma_step", "most_steps",
)  # fmt: skip


class LogisticFits:
    """Fits and predicts the arms of one replicate, whose responses are classes.

    sampled_by : the keys of a config's model that chains depend on.
    """

    sampled_by: ClassVar[tuple[str, ...]] = SETTINGS

    def __init__(self, config: Config, orders: list[int], block: Block):
        assert isinstance(config.model, LogisticModel)
        self.config, self.model_config, self.orders, self.block = (
            config,
            config.model,
            orders,
            block,
        )
        (self.replicate,) = block.replicates
        self.stored = Stored(block, config.model.min_cases)
        self._found: dict[Arm, Arrays] = {}  # the draws read last
        self._groups: dict[Arm, Any] = {}

    @property
    def cases(self) -> Cases:
        """The training and the test cases."""
        return self.stored.cases

    @property
    def patterns(self) -> Patterns:
        """What the patterns of the cases are."""
        return self.stored.patterns

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.cases.classes)

    def path(self, arm: Arm) -> Path:
        """Return the file of an arm's draws."""
        return self.block.draws("fit", arm.name)

    def groups(self, arm: Arm) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of an arm; the last ones are kept."""
        if arm not in self._groups:
            self._groups = {arm: self.stored.groups(arm.order, compress=arm.compress)}
        return self._groups[arm]

    def settings(self, arm: Arm) -> logistic.Settings:
        """Return the settings of an arm."""
        own = {name: getattr(self.model_config, name) for name in self.sampled_by}
        until = self.model_config.targets
        return logistic.Settings(prior=arm.prior, sigma_scale=arm.scale, until=until, **own)

    def model(self, groups: Groups, settings: logistic.Settings) -> logistic.Linear:
        """Return the model of the training cases."""
        return logistic.Model(groups, self.cases.train_response, self.n_classes, settings)

    def described(self) -> Arrays:
        """Return what files of draws say of the responses."""
        return {}

    def generator(self, purpose: str, arm: Arm, chain: int = 0) -> np.random.Generator:
        """Return the generator of a chain, or of an arm's predictions."""
        return generator(self.config.seed, purpose, self.replicate, arm.name, chain)

    # ---- fit ----

    def sample(self, arm: Arm, chain: int, unfinished: Unfinished) -> Arrays:
        """Run a chain of an arm, or go on with the one that is stored."""
        settings, rng = self.settings(arm), self.generator("chain", arm, chain)
        stored, spent = self._stored(arm)
        share = spent / self.model_config.chains
        running = unfinished.begin(0, None if stored is None else one_of(stored, chain), share)
        draws = self._draws(arm, settings, [rng], running.saved, running.save)
        return {
            name: values.astype(np.float32) if name == "draws-0-coefficient" else values
            for name, values in draws.saved.items()
        } | {"seconds": running.seconds}

    def compare(self, arm: Arm) -> Arrays:
        """Compare the chains of an arm, write their draws, and return what tables need of them."""
        settings = self.settings(arm)
        saved: Arrays = {}
        seconds = 0.0
        for chain in range(settings.chains):
            left = self.block.read("fit", arm.name, chain)
            seconds += float(left.pop("seconds"))
            saved |= as_one_of(left, chain)
        # nothing is left to sample
        return self._finish(arm, self._draws(arm, settings, self._generators(arm), saved), seconds)

    def sample_until(self, arm: Arm, unfinished: Unfinished) -> Arrays:
        """Run all chains of an arm until they agree, and do what `compare` does.

        Stored chains go on where they stand.
        """
        running = unfinished.begin(0, *self._stored(arm))
        draws = self._draws(
            arm, self.settings(arm), self._generators(arm), running.saved, running.save
        )
        return self._finish(arm, draws, float(running.seconds))

    def _generators(self, arm: Arm) -> list[np.random.Generator]:
        return [self.generator("chain", arm, chain) for chain in range(self.model_config.chains)]

    def _finish(self, arm: Arm, draws, seconds: float) -> Arrays:
        """Write the draws of an arm, and return what tables need of them."""
        rhat, ess = draws.compared()
        judged = draws.judgement
        well = logistic.reliable(rhat, ess) if judged is None else judged.reliable
        found = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(well),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
            "separated": np.array(self.separated(arm, draws)),
        }
        if judged is not None:
            found |= judged.arrays(int(draws.state["done"]))
        self._write(arm, draws, found)
        return found | {"seconds": np.array(seconds)}

    def separated(self, arm: Arm, draws) -> bool:
        """Whether draws prove that patterns tell the classes of all training cases apart."""
        if arm.engine == "gp":
            return logistic.separates(draws.flat[0], draws.process.cases)
        groups = self.groups(arm)
        cases = self.model(groups, draws.settings).responses()["response"].T
        return logistic.separated(draws.flat[0], draws.log_likelihood.reshape(-1), groups, cases)

    def _draws(self, arm: Arm, settings, generators, saved: Arrays | None, save=None) -> Any:
        """Return the draws of chains, sampled as far as they are not in `saved`."""
        cases, tests = self.cases, len(self.cases.test)
        if arm.engine == "gp":
            judged = process.judged_at(cases.test if tests else cases.train, test=tests > 0)
            return process.sample(
                cases.train, cases.train_response, self.n_classes, arm.order, settings,
                generators, patterns=self.patterns.kind, judged=judged, saved=saved, save=save,
            )  # fmt: skip
        groups, probe = self.groups(arm), None
        if settings.until is not None:
            probe = (
                logistic.Probe.of_tests(self.stored.shared(arm.order, compress=arm.compress))
                if tests
                else logistic.Probe.of_training(groups, cases.train)
            )
        model = self.model(groups, settings)
        return logistic.sample(model, generators, probe=probe, saved=saved, save=save)

    def _write(self, arm: Arm, draws, found: Arrays) -> None:
        groups = None if arm.engine == "gp" else self.groups(arm)
        more: dict[str, Any] = {
            name: ((f"{name}_part",) if values.ndim else (), values)
            for name, values in (found | self.described()).items()
            if name != "log_likelihood"  # of every draw, it is there
        }
        more["identity"] = ((), np.array(json.dumps(self.identity(arm), sort_keys=True)))
        if groups is not None:
            more |= {"cases": (("group",), groups.expressed), **self.patterns.named(groups)}
            kept = draws.coefficient.astype(np.float32)  # as files have it
            size = np.abs(np.median(kept, axis=(0, 1))).max(axis=0)
            names = np.full(groups.n_groups, "", dtype=object)
            for g in np.argsort(-size, kind="stable")[:NAMED]:
                names[g] = self.patterns.name(groups, int(g))
            more["pattern"] = (("group",), names.astype(str))
            if self.model_config.original and arm.compress:
                beta = logistic.original_coefficients(
                    draws.flat[0], draws.flat[1], groups, cauchy=arm.prior == "cauchy",
                    rng=self.generator("original", arm),
                )  # fmt: skip
                dims = ("chain", "draw", "set", "pattern")
                shape = (*draws.coefficient.shape[:2], *beta.shape[1:])
                more["original"] = (dims, beta.reshape(shape).astype(np.float32))
        attributes = {
            "arm": arm.name,
            "classes": ", ".join(self.cases.classes),
            "key": self.block.key("fit", arm.name),
        }
        write_draws(self.path(arm), draws.as_arviz(more, attributes))

    def identity(self, arm: Arm) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        model = {
            name: getattr(self.model_config, name)
            for name in self.sampled_by
            if name != "iterations"
        }
        assert self.config.data is not None
        data = self.config.data.model_dump(mode="json")
        return (
            model
            | {f"data.{name}": value for name, value in data.items()}
            | {
                "arm": arm.name,
                "until": list(self.model_config.targets or ()),
                "min_cases": self.model_config.min_cases,
                "code": self.block.code,
                "seed": self.config.seed,
                "replicate": self.replicate,
                "simulated cases": self.block.key("simulate"),
            }
        )

    def _stored(self, arm: Arm) -> tuple[Arrays | None, float]:
        """Return the stored chains of an arm, if they can go on, and their seconds."""
        engine = process if arm.engine == "gp" else logistic
        iterations = self.model_config.iterations
        found = stored_chains(self.path(arm), self.identity(arm), iterations, engine.saved_from)
        return found, 0.0 if found is None else self._spent(arm)

    def _spent(self, arm: Arm) -> float:
        """Return the seconds that the stored chains took, 0 if they are not known."""
        with suppress(ResultsError, KeyError, ValueError):
            fit = self.block.load_any("fit")
            return float(fit["seconds"][list(fit["name"]).index(arm.name)])
        return 0.0

    def check_extension(self, arm: Arm) -> None:
        """Raise UserError where the stored chains of an arm cannot go on."""
        check_extension(self.path(arm), self.identity(arm), self.model_config.iterations)

    # ---- predict ----

    def predict(self, arm: Arm) -> Arrays:
        """Return what is predicted of the test cases."""
        if arm.peer:
            return self.by_peer(arm, int(self.generator("peer", arm).integers(2**31)))
        return self.by_draws(arm, self.read(arm), self.generator("predict", arm))

    def by_peer(self, arm: Arm, seed: int) -> Arrays:
        """Return the predictive probabilities of the classes, (T, K)."""
        return {"probability": self.patterns.predict(arm.engine, arm.order, self.cases, seed)}

    def by_draws(self, arm: Arm, found: Arrays, rng: np.random.Generator) -> Arrays:
        """Return the predictive probabilities of the classes, (T, K)."""
        split_draws = self.model_config.split_draws
        if arm.engine == "gp":
            p = process.predict(
                self._process(arm, found), self.cases.test, rng,
                1 if split_draws == "exact" else split_draws,
            )  # fmt: skip
        else:
            p = logistic.predict(
                *logistic.flat(found["coefficient"], found["log_sigma"]),
                self.stored.shared(arm.order, compress=arm.compress), self.n_classes,
                cauchy=arm.prior == "cauchy", rng=rng, split_draws=split_draws,
            )  # fmt: skip
        return {"probability": p}

    def _process(self, arm: Arm, found: Arrays) -> process.Draws:
        fitted = process.Process(
            self.cases.train, self.cases.train_response, self.n_classes, arm.order,
            self.settings(arm), self.patterns.kind,
        )  # fmt: skip
        return process.Draws(
            found["latent"], found["log_sigma"], found["log_likelihood"], fitted, {}
        )

    def read(self, arm: Arm) -> Arrays:
        """Return the draws of an arm; the last ones are kept."""
        if arm not in self._found:
            key = self.block.key("fit", arm.name)
            self._found = {arm: read_draws(self.path(arm), key, command="fit-logistic")}
        return self._found[arm]

    def ranks(self, arm: Arm) -> Ranks | None:
        """Compare the truth with draws, of the model that the data were drawn from."""
        model = self.model_config
        if (arm.order, arm.prior) != (self.orders[0], model.priors[0]):
            return None
        rng = self.generator("ranks", arm)
        draws, truth = self.quantities(arm, rng)
        chosen = spaced(len(draws["log sigma_1"]))
        return compare({name: one[chosen] for name, one in draws.items()}, truth, rng)

    def quantities(self, arm: Arm, rng: np.random.Generator) -> tuple[Arrays, dict[str, float]]:
        """Return draws (L,) of log sigma_1 and of P(last class) of a test case; the truth."""
        found, truth = self.read(arm), self.cases.truth
        case = self.cases.test[:1]
        if arm.engine == "gp":
            fitted = self._process(arm, found)
            log_sigma = fitted.flat[1]
            p = process.probabilities(fitted, case, rng)[:, 0]
        else:
            coefficient, log_sigma = logistic.flat(found["coefficient"], found["log_sigma"])
            shared = self.groups(arm).shared(case)
            p = np.concatenate([
                logistic.predict(
                    coefficient[d : d + 1], log_sigma[d : d + 1], shared, self.n_classes,
                    cauchy=arm.prior == "cauchy", rng=rng,
                )
                for d in range(len(log_sigma))
            ])  # fmt: skip
        return (
            {"log sigma_1": log_sigma[:, 1], "predictive probability": p[:, -1]},
            {
                "log sigma_1": truth["log_sigma"][1],
                "predictive probability": truth["probability"][len(self.cases.train), -1],
            },
        )
