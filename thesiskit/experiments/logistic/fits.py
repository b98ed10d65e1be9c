"""Fits of a logistic experiment: chains to netCDF and back, and predictions.

One file for each arm holds draws, traces and the state of the chains.  Chains of a file that was
made with the same settings but fewer iterations go on from there.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.errors import ResultsError, UserError
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.logistic.cases import Cases
from thesiskit.experiments.logistic.design import Arm, Patterns
from thesiskit.experiments.logistic.stored import Stored
from thesiskit.experiments.ranks import Ranks, compare, spaced
from thesiskit.experiments.work import Block, Unfinished
from thesiskit.models import logistic, process
from thesiskit.models.patterns import Groups
from thesiskit.models.running import Arrays
from thesiskit.store.draws import read_draws, write_draws

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
        return logistic.Settings(prior=arm.prior, sigma_scale=arm.scale, **own)

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
        running = unfinished.begin(0, *self._stored(arm, chain))
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
            saved |= {
                re.sub(r"^(state|draws)-0-", rf"\1-{chain}-", name): values
                for name, values in left.items()
            }
        generators = [self.generator("chain", arm, chain) for chain in range(settings.chains)]
        draws = self._draws(arm, settings, generators, saved)  # nothing is left to sample
        rhat, ess = draws.compared()
        found = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(logistic.reliable(rhat, ess)),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
        }
        self._write(arm, draws, found)
        return found | {"seconds": np.array(seconds)}

    def _draws(self, arm: Arm, settings, generators, saved: Arrays | None, save=None) -> Any:
        """Return the draws of chains, sampled as far as they are not in `saved`."""
        if arm.engine == "gp":
            return process.sample(
                self.cases.train, self.cases.train_response, self.n_classes, arm.order, settings,
                generators, patterns=self.patterns.kind, saved=saved, save=save,
            )  # fmt: skip
        model = self.model(self.groups(arm), settings)
        return logistic.sample(model, generators, saved=saved, save=save)

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
            size = np.abs(np.median(draws.coefficient, axis=(0, 1))).max(axis=0)
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
                "min_cases": self.model_config.min_cases,
                "code": self.block.code,
                "seed": self.config.seed,
                "replicate": self.replicate,
                "simulated cases": self.block.key("simulate"),
            }
        )

    def _stored(self, arm: Arm, chain: int) -> tuple[Arrays | None, float]:
        """Return the stored chain of an arm, if it can go on, and its seconds."""
        try:
            found = read_draws(self.path(arm))
            known = json.loads(str(found["identity"])) == self.identity(arm)
            if known and int(found["done"]) <= self.model_config.iterations:
                engine = process if arm.engine == "gp" else logistic
                saved = engine.saved_from(found)
                mine = rf"^(state|draws)-{chain}-"
                return {"done": saved["done"]} | {
                    re.sub(mine, r"\1-0-", name): values
                    for name, values in saved.items()
                    if re.match(mine, name)
                }, self._spent(arm)
            if known:
                raise UserError(
                    f"{self.path(arm)}: its chains have done {int(found['done']):,} iterations; "
                    f"ask for as many with model.iterations, or make shorter ones with --force"
                )
        except (ResultsError, KeyError):
            pass
        return None, 0.0

    def _spent(self, arm: Arm) -> float:
        """Return the seconds that a stored chain took, 0 if they are not known."""
        with suppress(ResultsError, KeyError, ValueError):
            fit = self.block.load_any("fit")
            place = list(fit["name"]).index(arm.name)
            return float(fit["seconds"][place]) / self.model_config.chains
        return 0.0

    def check_extension(self, arm: Arm) -> None:
        """Raise UserError where the stored chains of an arm cannot go on."""
        path = self.path(arm)
        if not path.exists():
            raise UserError(f"{path} is not there; leave out --extend to make it")
        stored = read_draws(path, command="fit-logistic")
        found, wanted = json.loads(str(stored["identity"])), self.identity(arm)
        for name in sorted(found | wanted):
            if found.get(name) != wanted.get(name):
                raise UserError(
                    f"{path}: its chains were made with {name} {found.get(name)!r}, the config "
                    f"says {wanted.get(name)!r}; only model.iterations may grow (without --extend "
                    "these chains are made again)"
                )
        if int(stored["done"]) > self.model_config.iterations:
            raise UserError(
                f"{path}: its chains have done {int(stored['done']):,} iterations; "
                f"model.iterations asks for {self.model_config.iterations:,}"
            )

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
