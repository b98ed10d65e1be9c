"""Fits of a logistic experiment: what its stages keep, chains to netCDF and back, predictions.

One file for each arm holds draws, traces and the state of the chains.  Chains of a file that was
made with the same settings but fewer iterations go on from there.
"""

import json
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.errors import ResultsError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import logistic, peers, process
from thesiskit.models.chains import Arrays, marked
from thesiskit.models.patterns import Groups, Shared
from thesiskit.models.ranks import Ranks, compare, spaced
from thesiskit.study.cells import Block, Unfinished, generator
from thesiskit.study.pattern_design import PATTERNS, Arm, Cases, Patterns

TRUE = "true_"  # before the names of what drawn cases were drawn with
NAMED = 20_000  # groups that get their names in a file: those with the largest coefficients
LEVELS = (0.05, 0.5, 0.95)  # of low, median and high, of real responses


def case_arrays(cases: Cases, patterns: Patterns) -> Arrays:
    """Return what the simulate stage keeps: codes (n, .) of all cases, the training cases first.

    States and values have at most 255 codes; features may have negative ones, of missing values.
    """
    codes = np.concatenate([cases.train, cases.test])
    return {
        "response": np.concatenate([cases.train_response, cases.test_response]),
        "train_cases": np.array(len(cases.train_response)),
        "classes": np.array(cases.classes),
        "ids": np.array(cases.ids, dtype=str),  # none of cases that are drawn
        "notes": np.array(cases.notes, dtype=str),
        **patterns.arrays(),
        patterns.coded: codes.astype(np.uint8) if patterns.kind == "sequences" else codes,
        **{f"{TRUE}{name}": values for name, values in cases.truth.items()},
    }


class LogisticFits:
    """What was kept of one replicate; fits and predicts its arms, whose responses are classes."""

    def __init__(self, config: Config, orders: list[int], block: Block):
        assert isinstance(config.model, LogisticModel)
        self.config, self.model_config, self.orders, self.block = (
            config,
            config.model,
            orders,
            block,
        )
        (self.replicate,) = block.replicates
        self._read: tuple[Arm, Arrays] | None = None  # the draws read last
        self._groups: tuple[Arm, Any] | None = None

    # ---- cases and groups ----

    @cached_property
    def _simulated(self) -> Arrays:
        return self.block.load("simulate")

    @cached_property
    def patterns(self) -> Patterns:
        """What the patterns of the cases are."""
        kind = "sequences" if PATTERNS["sequences"].coded in self._simulated else "features"
        return PATTERNS[kind].restore(self._simulated)

    @cached_property
    def cases(self) -> Cases:
        """The training and the test cases."""
        arrays, n = self._simulated, int(self._simulated["train_cases"])
        codes, response = arrays[self.patterns.coded], arrays["response"]
        if self.patterns.kind == "sequences":
            codes = codes.astype(np.int32)
        classes = [str(label) for label in arrays["classes"]]
        truth = marked(arrays, TRUE)
        return Cases(codes[:n], response[:n], codes[n:], response[n:], classes, truth)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.cases.classes)

    def find_groups(
        self, order: int, *, compress: bool = True, arrays: Arrays | None = None
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of the training cases; arrays : those that are stored."""
        return self.patterns.groups(
            self.cases.train, order, compress=compress, min_cases=self.model_config.min_cases,
            arrays=arrays,
        )  # fmt: skip

    def group_arrays(self, groups: Groups, order: int, *, compress: bool) -> Arrays:
        """Return what the compress stage keeps: groups, and what test cases share with them."""
        test = self.cases.test
        shared = asdict(groups.shared(test)) if len(test) else {}
        arrays = groups.arrays() | {f"shared/{name}": values for name, values in shared.items()}
        return {f"{_folder(order, compress)}/{name}": values for name, values in arrays.items()}

    def groups(self, arm: Arm) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of an arm; the last ones are kept."""
        if self._groups is None or self._groups[0] != arm:
            arrays = self._compressed(_folder(arm.order, arm.compress), self.patterns.stored)
            groups = self.find_groups(arm.order, compress=arm.compress, arrays=arrays)
            self._groups = (arm, groups)
        return self._groups[1]

    def shared(self, arm: Arm) -> Shared:
        """Return what the test cases share with the groups of an arm."""
        folder = f"{_folder(arm.order, arm.compress)}/shared"
        return Shared(**self._compressed(folder, Shared.names()))

    def _compressed(self, folder: str, names: tuple[str, ...]) -> Arrays:
        return marked(self.block.load("compress", [f"{folder}/{n}" for n in names]), f"{folder}/")

    # ---- what is fitted ----

    def path(self, arm: Arm) -> Path:
        """Return the file of an arm's draws."""
        return self.block.draws("fit", arm.name)

    def generator(self, purpose: str, arm: Arm, chain: int = 0) -> np.random.Generator:
        """Return the generator of a chain, or of an arm's predictions."""
        return generator(self.config.seed, purpose, self.replicate, arm.name, chain)

    def settings(self, arm: Arm) -> logistic.Settings:
        """Return the settings of an arm."""
        return logistic.Settings.of(self.model_config, arm.prior, arm.scale)

    def model(self, groups: Groups, settings: logistic.Settings) -> logistic.Linear:
        """Return the model of the training cases."""
        return logistic.Model(groups, self.cases.train_response, self.n_classes, settings)

    def described(self) -> Arrays:
        """Return what files of draws say of the responses."""
        return {}

    def identity(self, arm: Arm) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        config, model = self.config, self.model_config
        assert config.data is not None
        data = config.data.model_dump(mode="json")
        keys = logistic.Settings.keys_of(model)
        return {
            **{name: value for name, value in keys.items() if name != "iterations"},
            **{f"data.{name}": value for name, value in data.items()},
            "arm": arm.name,
            "until": list(model.targets or ()),
            "min_cases": model.min_cases,
            "code": self.block.code,
            "seed": config.seed,
            "replicate": self.replicate,
            "simulated cases": self.block.key("simulate"),
        }

    # ---- fit ----

    def sample(self, arm: Arm, chain: int, unfinished: Unfinished) -> Arrays:
        """Run a chain of an arm, or go on with the one that is stored."""
        rng = self.generator("chain", arm, chain)
        stored, spent = self._stored(arm)
        alone = None if stored is None else _only(stored, chain, 0)
        running = unfinished.begin(0, alone, spent / self.model_config.chains)
        draws = self._draws(arm, [rng], running.saved, running.save)
        return {
            name: values.astype(np.float32) if name == "draws-0-coefficient" else values
            for name, values in draws.saved.items()
        } | {"seconds": running.seconds}

    def compare(self, arm: Arm) -> Arrays:
        """Compare the chains of an arm, write their draws, and return what tables need of them."""
        saved: Arrays = {}
        seconds = 0.0
        for chain in range(self.model_config.chains):
            sampled = self.block.read("fit", arm.name, chain)
            seconds += float(sampled.pop("seconds"))
            saved |= _only(sampled, 0, chain)
        # nothing is left to sample
        return self._finish(arm, self._draws(arm, self._generators(arm), saved), seconds)

    def sample_until(self, arm: Arm, unfinished: Unfinished) -> Arrays:
        """Run all chains of an arm until they agree, and do what `compare` does.

        Stored chains go on where they stand.
        """
        running = unfinished.begin(0, *self._stored(arm))
        draws = self._draws(arm, self._generators(arm), running.saved, running.save)
        return self._finish(arm, draws, float(running.seconds))

    def _generators(self, arm: Arm) -> list[np.random.Generator]:
        return [self.generator("chain", arm, chain) for chain in range(self.model_config.chains)]

    def _draws(self, arm: Arm, generators, saved: Arrays | None, save=None) -> Any:
        """Return the draws of chains, sampled as far as they are not in `saved`."""
        cases, settings, tests = self.cases, self.settings(arm), len(self.cases.test) > 0
        if arm.engine == "gp":
            judged = process.judged_at(cases.test if tests else cases.train, test=tests)
            return process.sample(
                cases.train, cases.train_response, self.n_classes, arm.order, settings,
                generators, patterns=self.patterns.kind, judged=judged, saved=saved, save=save,
            )  # fmt: skip
        groups, probe = self.groups(arm), None
        if settings.until is not None:
            probe = (
                logistic.Probe.of_tests(self.shared(arm))
                if tests
                else logistic.Probe.of_training(groups, cases.train)
            )
        model = self.model(groups, settings)
        return logistic.sample(model, generators, probe=probe, saved=saved, save=save)

    def _finish(self, arm: Arm, draws, seconds: float) -> Arrays:
        """Write the draws of an arm, and return what tables need of them."""
        rhat, ess = draws.compared()
        judged = draws.judgement
        well = logistic.reliable(rhat, ess) if judged is None else judged.reliable
        summary = {
            "rhat": rhat,
            "ess": ess,
            "reliable": np.array(well),
            "evaluations": draws.evaluations,
            "log_likelihood": np.array(draws.log_likelihood.mean()),
            "separated": np.array(self.separated(arm, draws)),
        }
        if judged is not None:
            summary |= judged.arrays(int(draws.state["done"]))
        self._write(arm, draws, summary)
        return summary | {"seconds": np.array(seconds)}

    def separated(self, arm: Arm, draws) -> bool:
        """Whether draws prove that patterns tell the classes of all training cases apart."""
        if arm.engine == "gp":
            return logistic.separates(draws.flat[0], draws.process.cases)
        groups = self.groups(arm)
        cases = self.model(groups, draws.settings).responses()["response"].T
        return logistic.separated(draws.flat[0], draws.log_likelihood.reshape(-1), groups, cases)

    def _write(self, arm: Arm, draws, summary: Arrays) -> None:
        more: dict[str, Any] = {
            name: ((f"{name}_part",) if values.ndim else (), values)
            for name, values in (summary | self.described()).items()
            if name != "log_likelihood"  # of every draw, it is there
        }
        more["identity"] = ((), np.array(json.dumps(self.identity(arm), sort_keys=True)))
        if arm.engine != "gp":
            more |= self._of_groups(arm, draws)
        attributes = {
            "arm": arm.name,
            "classes": ", ".join(self.cases.classes),
            "key": self.block.key("fit", arm.name),
        }
        write_draws(self.path(arm), draws.as_arviz(more, attributes))

    def _of_groups(self, arm: Arm, draws) -> dict[str, Any]:
        """Return what a file of draws says of groups, and perhaps their original coefficients."""
        groups, patterns = self.groups(arm), self.patterns
        kept = draws.coefficient.astype(np.float32)  # as files have it
        size = np.abs(np.median(kept, axis=(0, 1))).max(axis=0)
        names = np.full(groups.n_groups, "", dtype=object)
        for g in np.argsort(-size, kind="stable")[:NAMED]:
            names[g] = groups.pattern(int(g), *patterns.names)
        more = {
            "cases": (("group",), groups.expressed),
            **patterns.named(groups),
            "pattern": (("group",), names.astype(str)),
        }
        if self.model_config.original and arm.compress:
            coefficient, log_sigma = draws.flat
            beta = logistic.original_coefficients(
                coefficient, log_sigma, groups, cauchy=arm.prior == "cauchy",
                rng=self.generator("original", arm),
            )  # fmt: skip
            shape = (*draws.coefficient.shape[:2], *beta.shape[1:])
            dims = ("chain", "draw", "set", "pattern")
            more["original"] = (dims, beta.reshape(shape).astype(np.float32))
        return more

    # ---- chains that go on ----

    def _stored(self, arm: Arm) -> tuple[Arrays | None, float]:
        """Return the stored chains of an arm, if they can go on, and the seconds that they took.

        Raises UserError where they have done more iterations.
        """
        engine = process if arm.engine == "gp" else logistic
        iterations, path = self.model_config.iterations, self.path(arm)
        try:
            stored = read_draws(path)
            if json.loads(str(stored["identity"])) != self.identity(arm):
                return None, 0.0
            if int(stored["done"]) <= iterations:
                return engine.saved_from(stored), self._spent(arm)
        except (ResultsError, KeyError):
            return None, 0.0
        raise UserError(
            f"{path}: its chains have done {int(stored['done']):,} iterations; "
            f"ask for as many with model.iterations, or make shorter ones with --force"
        )

    def _spent(self, arm: Arm) -> float:
        """Return the seconds that the stored chains took, 0 if they are not known."""
        with suppress(ResultsError, KeyError, ValueError):
            fit = self.block.load_any("fit")
            return float(fit["seconds"][list(fit["name"]).index(arm.name)])
        return 0.0

    def check_extension(self, arm: Arm) -> None:
        """Raise UserError where the stored chains of an arm cannot go on."""
        path, wanted, iterations = self.path(arm), self.identity(arm), self.model_config.iterations
        if not path.exists():
            raise UserError(f"{path} is not there; leave out --extend to make it")
        stored = read_draws(path, command="fit-logistic")
        made = json.loads(str(stored["identity"]))
        differ = [name for name in sorted(made | wanted) if made.get(name) != wanted.get(name)]
        settings = [name for name in differ if name != "code"]
        if settings:
            name = settings[0]
            raise UserError(
                f"{path}: its chains were made with {name} {made.get(name)!r}, the config "
                f"says {wanted.get(name)!r}; only model.iterations may grow (without --extend "
                "these chains are made again)"
            )
        if differ:
            raise UserError(
                f"{path}: its chains were made by another version of the sampler, and cannot go "
                "on; --force in place of --extend makes them again"
            )
        if int(stored["done"]) > iterations:
            raise UserError(
                f"{path}: its chains have done {int(stored['done']):,} iterations; "
                f"model.iterations asks for {iterations:,}"
            )

    # ---- predict ----

    def read(self, arm: Arm) -> Arrays:
        """Return the draws of an arm; the last ones are kept."""
        if self._read is None or self._read[0] != arm:
            key = self.block.key("fit", arm.name)
            self._read = (arm, read_draws(self.path(arm), key, command="fit-logistic"))
        return self._read[1]

    def predict(self, arm: Arm) -> Arrays:
        """Return what is predicted of the test cases."""
        if not arm.peer:
            return self.by_draws(arm, self.generator("predict", arm))
        cases, seed = self.cases, int(self.generator("peer", arm).integers(2**31))
        task = self.patterns.task(cases, arm.order)
        return self.by_peer(
            peers.fit_predict(arm.engine, task, cases.train, cases.train_response, cases.test, seed)
        )

    def by_peer(self, probability: np.ndarray) -> Arrays:
        """Return the predictive probabilities of the classes, (T, K)."""
        return {"probability": probability}

    def by_draws(self, arm: Arm, rng: np.random.Generator) -> Arrays:
        """Return the predictive probabilities of the classes, (T, K)."""
        split_draws = self.model_config.split_draws
        if arm.engine == "gp":
            splits = 1 if split_draws == "exact" else split_draws
            p = process.predict(self._process(arm), self.cases.test, rng, splits)
        else:
            p = logistic.predict(
                *self._flat(arm), self.shared(arm), self.n_classes,
                cauchy=arm.prior == "cauchy", rng=rng, split_draws=split_draws,
            )  # fmt: skip
        return {"probability": p}

    def _flat(self, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients and log sigmas of all draws of an arm in a row."""
        drawn = self.read(arm)
        return logistic.flat(drawn["coefficient"], drawn["log_sigma"])

    def _process(self, arm: Arm) -> process.Draws:
        """Return the draws of a Gaussian process."""
        cases, drawn = self.cases, self.read(arm)
        fitted = process.Process(
            cases.train, cases.train_response, self.n_classes, arm.order, self.settings(arm),
            self.patterns.kind,
        )  # fmt: skip
        return process.Draws(
            drawn["latent"], drawn["log_sigma"], drawn["log_likelihood"], fitted, {}
        )

    # ---- ranks ----

    def ranks(self, arm: Arm) -> Ranks | None:
        """Compare the truth with draws, of the model that the data were drawn from."""
        if (arm.order, arm.prior) != (self.orders[0], self.model_config.priors[0]):
            return None
        rng = self.generator("ranks", arm)
        draws, truth = self.quantities(arm, rng)
        chosen = spaced(len(draws["log sigma_1"]))
        return compare({name: values[chosen] for name, values in draws.items()}, truth, rng)

    def quantities(self, arm: Arm, rng: np.random.Generator) -> tuple[Arrays, dict[str, float]]:
        """Return draws (L,) of log sigma_1 and of P(last class) of a test case; the truth."""
        truth, case = self.cases.truth, self.cases.test[:1]
        if arm.engine == "gp":
            fitted = self._process(arm)
            log_sigma = fitted.flat[1]
            p = process.probabilities(fitted, case, rng)[:, 0]
        else:
            coefficient, log_sigma = self._flat(arm)
            shared = self.groups(arm).shared(case)
            p = np.concatenate([
                logistic.predict(
                    coefficient[d : d + 1], log_sigma[d : d + 1], shared, self.n_classes,
                    cauchy=arm.prior == "cauchy", rng=rng,
                )
                for d in range(len(log_sigma))
            ])  # fmt: skip
        true = truth["probability"][len(self.cases.train), -1]
        return (
            {"log sigma_1": log_sigma[:, 1], "predictive probability": p[:, -1]},
            {"log sigma_1": truth["log_sigma"][1], "predictive probability": true},
        )


class ResponseFits(LogisticFits):
    """What was kept of one replicate, whose responses are real numbers.

    Responses are standardised by the mean and the standard deviation of the training cases, so that
    the widths of priors suit them; the draws that are stored are too, predictions are in the
    responses' own units.  That makes the prior depend on the data: where the truth is known to come
    from the prior, the config has `standardise: false`.
    """

    @cached_property
    def mean(self) -> float:
        """What is subtracted from responses: their mean, or 0."""
        return float(self.cases.train_response.mean()) if self.model_config.standardise else 0.0

    @cached_property
    def unit(self) -> float:
        """What responses are divided by: their standard deviation, or 1."""
        return float(self.cases.train_response.std()) if self.model_config.standardise else 1.0

    def _standard(self, response: np.ndarray) -> np.ndarray:
        return (response - self.mean) / self.unit

    def settings(self, arm: Arm) -> logistic.Settings:
        """Return the settings of an arm, for standardised responses."""
        settings = super().settings(arm)
        noise = settings.noise
        return settings if noise is None else replace(settings, noise=noise / self.unit)

    def model(self, groups: Groups, settings: logistic.Settings) -> logistic.Linear:
        """Return the model of the training cases."""
        return logistic.Normal(groups, self._standard(self.cases.train_response), settings)

    def identity(self, arm: Arm) -> dict[str, Any]:
        """Return what chains must share to go on from one another."""
        return super().identity(arm) | {"standardise": self.model_config.standardise}

    def described(self) -> Arrays:
        """Return what files of draws say of the responses."""
        return {"response_mean": np.array(self.mean), "response_unit": np.array(self.unit)}

    def separated(self, arm: Arm, draws) -> bool:
        """Return False: there are no classes to separate."""
        return False

    def by_peer(self, median: np.ndarray) -> Arrays:
        """Return medians (T,); a peer says no more."""
        unknown = np.full(len(median), np.nan)
        return {"median": median, "low": unknown, "high": unknown, "log_density": unknown}

    def by_draws(self, arm: Arm, rng: np.random.Generator) -> Arrays:
        """Return medians, 90 % intervals and log densities of the test responses, (T,) each."""
        split_draws = self.model_config.split_draws
        assert split_draws != "exact"
        predicted = self._predicted(arm, self.shared(arm), rng, split_draws)
        low, median, high = self.mean + self.unit * predicted.quantile(LEVELS)
        density = predicted.log_density(self._standard(self.cases.test_response))
        density = density - np.log(self.unit)
        return {"median": median, "low": low, "high": high, "log_density": density}

    def _predicted(
        self, arm: Arm, shared: Shared, rng: np.random.Generator, split_draws: int = 1
    ) -> logistic.Response:
        """Return predictive distributions of standardised responses."""
        return logistic.predict_response(
            *self._flat(arm), self.read(arm)["log_noise"].reshape(-1), shared,
            cauchy=arm.prior == "cauchy", rng=rng, split_draws=split_draws,
        )  # fmt: skip

    def quantities(self, arm: Arm, rng: np.random.Generator) -> tuple[Arrays, dict[str, float]]:
        """Return draws of log sigma_1, log noise and the linear function of a case; the truth."""
        truth, case = self.cases.truth, self.cases.test[:1]
        linear = self._predicted(arm, self.groups(arm).shared(case), rng).linear[:, 0]
        return (
            {
                "log sigma_1": self._flat(arm)[1][:, 1],
                "log noise": self.read(arm)["log_noise"].reshape(-1),
                "linear function": linear,
            },
            {
                "log sigma_1": truth["log_sigma"][1],
                "log noise": truth["log_noise"],
                "linear function": truth["linear"][len(self.cases.train)],
            },
        )


def _folder(order: int, compress: bool) -> str:
    """Return where the compress stage keeps the groups of an order."""
    return f"order {order}, {'compressed' if compress else 'original'}"


def _only(saved: Arrays, chain: int, number: int) -> Arrays:
    """Return one of the chains in `saved`, with another number, as if there were no others."""
    kinds = ("state", "draws")
    common = {name: values for name, values in saved.items() if not name.startswith(kinds)}
    return common | {
        f"{kind}-{number}-{name}": values
        for kind in kinds
        for name, values in marked(saved, f"{kind}-{chain}-").items()
    }
