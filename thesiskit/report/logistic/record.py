"""A finished experiment with logistic models, read back for tables and figures."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from thesiskit.files import read_draws
from thesiskit.report import metrics
from thesiskit.report.finished import Finished
from thesiskit.report.forecasts import MOST_LINES, Forecast, Tested, aligned
from thesiskit.report.logistic import about, stages
from thesiskit.report.logistic.arm import Arm
from thesiskit.report.reached import NAMES as REACHED

WORST = {
    "rhat": "max", "ess": "min", "reliable": "mean", "evaluations": "mean", "separated": "any",
}  # fmt: skip


class LogisticRecord(Finished):
    """Arrays of all blocks; draws are read when asked for."""

    about = about

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        return stages.summary(self, stage)

    @property
    def continuous(self) -> bool:
        """Whether responses are real numbers."""
        return self.config["model"]["response"] == "gaussian"

    @property
    def predicted(self) -> tuple[str, ...]:
        """The names of the arrays of predictions."""
        return ("median", "low", "high", "log_density") if self.continuous else ("probability",)

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Predictions, probability (arms, N, K) or others (arms, N), and the responses (N,)."""
        axes = {"response": 0, "train_response": 0} | dict.fromkeys(self.predicted, 1)
        return self._join("predict", axes)

    @cached_property
    def forecasts(self) -> list[Forecast]:
        """What every arm predicted; nothing where responses are real."""
        if self.continuous:
            return []
        return [
            Forecast(self.keys(arm), arm.name_in_full, self.probability(arm), not arm.peer,
                     arm.engine == "logistic-regression")
            for arm in self.arms
        ]  # fmt: skip

    def keys(self, arm: Arm) -> dict[str, Any]:
        """Return what an arm is, for the columns of tables."""
        return {"model": arm.words, "order": str(arm.order) if arm.order >= 0 else "all"}

    def predicted_columns(self) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """Yield what an arm is, and the columns of its predictions, (N,) each."""
        if not self.continuous:
            yield from super().predicted_columns()
            return
        named = {"median": "median", "low": "5 %", "high": "95 %"}
        for arm in self.arms:
            yield (
                self.keys(arm),
                {words: self.predictions[name][arm.row] for name, words in named.items()},
            )

    def headline(self) -> list[str]:
        """Return lines with the scores of the arms, the best ones where there are many."""
        if not self.continuous:
            return super().headline()
        rows = [
            (arm.name_in_full, f"{metrics.root_mean_square(found['median'], self.response):.4g}")
            for arm, (_, found) in zip(self.arms, self.predicted_columns(), strict=True)
        ]
        best = sorted(rows, key=lambda row: float(row[1]))[:MOST_LINES]
        return aligned(["", "root mean squared error"], best)

    @property
    def notes(self) -> list[str]:
        """What the user should know about the data."""
        said = [str(one) for one in self.results.load("simulate", 0, ("notes",))["notes"]]
        parted = [arm.name_in_full for j, arm in enumerate(self.own) if self.fits["separated"][j]]
        return said + [stages.parted(parted)] * bool(parted)

    @cached_property
    def tested(self) -> Tested:
        """The test cases."""
        config = self.config
        blocks = [self.results.load("predict", number) for number in range(self.n_blocks)]
        cases = [len(one["response"]) for one in blocks]
        number = np.repeat(np.arange(self.n_blocks), cases)
        folds = self.folds
        ids = np.concatenate([self._ids(number, n) for number, n in enumerate(cases)])
        label = "data set" if config["drawn"] else "replicate"
        division = {
            label: (number // folds, config["replicates"]),
            "fold": (number % folds, folds),
        }
        numbers = np.char.isdigit(ids).all() and np.char.str_len(ids).max() < 18
        unit = np.unique(ids.astype(int) if numbers else ids, return_inverse=True)[1].reshape(-1)
        again = len(ids) // self.n_cases
        if config["drawn"] or len(np.unique(unit)) * again != len(ids):  # ids that are not unique
            unit = np.arange(len(ids))
        return Tested(
            response=self.response,
            ids=ids,
            unit=unit,
            division={name: one + 1 for name, (one, many) in division.items() if many > 1},
            classes=self.classes,
            base=np.repeat([self._base(one) for one in blocks], cases, axis=0),
        )

    def _ids(self, number: int, tests: int) -> np.ndarray:
        """Return what the test cases of a block are called, numbers where they are drawn."""
        found = self.results.load("simulate", number, ("ids",))["ids"][-tests:]
        return found if len(found) else np.arange(1, tests + 1).astype(str)

    def _base(self, block: dict[str, np.ndarray]) -> np.ndarray:
        """Frequencies of the classes among the training cases of a block, (K,)."""
        if self.continuous:
            return np.empty(0)
        counts = np.bincount(block["train_response"], minlength=len(self.classes)) + 0.5
        return counts / counts.sum()

    @property
    def base_rate(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the training responses, for each test case."""
        blocks = [self.results.load("predict", number) for number in range(self.n_blocks)]
        cases = [len(one["response"]) for one in blocks]
        train = [one["train_response"] for one in blocks]
        return (
            np.repeat([one.mean() for one in train], cases),
            np.repeat([one.std() for one in train], cases),
        )

    @property
    def n_cases(self) -> int:
        """Number of distinct test cases: if folds are repeated, a case is tested several times."""
        again = 1 if self.config["drawn"] or not self.folded else self.config["replicates"]
        return len(self.predictions["response"]) // again

    def standard_error(self, values: np.ndarray) -> float:
        """Return the standard error of the mean of test cases' values, as if independent."""
        return metrics.standard_error(values, self.n_cases)

    @cached_property
    def seconds(self) -> dict[str, np.ndarray]:
        """Seconds by arm and stage, means over divisions."""
        blocks = range(self.n_blocks)
        fit = [self.results.load("fit", number) for number in blocks]
        predict = [self.results.load("predict", number)["seconds"] for number in blocks]
        train = np.full(len(predict[0]), np.nan)
        train[fit[0]["arm"]] = np.mean([one["seconds"] for one in fit], axis=0)
        return {"train": train, "predict": np.mean(predict, axis=0)}

    def total_seconds(self, arm: Arm) -> float:
        """Seconds to fit and to predict, mean over divisions."""
        train = self.seconds["train"][arm.row]
        return float(np.nan_to_num(train) + self.seconds["predict"][arm.row])

    @cached_property
    def compression(self) -> dict[str, np.ndarray]:
        """Groups and patterns by order, of the first division."""
        return self.results.load("compress", 0)

    @cached_property
    def fits(self) -> dict[str, np.ndarray]:
        """Diagnostics of the chains from the fit stage, the worst over all divisions."""
        blocks = [self.results.load("fit", number) for number in range(self.n_blocks)]
        found = {name: np.array([block[name] for block in blocks]) for name in WORST}
        return {name: getattr(found[name], take)(axis=0) for name, take in WORST.items()}

    def reached(self) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """Yield what an arm of ours is, and what its chains had reached in each division."""
        blocks = [self.results.load("fit", number) for number in range(self.n_blocks)]
        for j, arm in enumerate(self.own):
            yield self.keys(arm), {n: np.array([one[n][j] for one in blocks]) for n in REACHED}

    @cached_property
    def iterations(self) -> np.ndarray:
        """How many iterations a chain of each of our models had, means over divisions."""
        if self.config["model"]["until"] is None:
            return np.full(len(self.own), self.config["model"]["iterations"])
        return np.array([found["iterations"].mean() for _, found in self.reached()])

    @cached_property
    def arms(self) -> list[Arm]:
        """All models, in the order of the arrays."""
        found = self.predictions
        names = ("order", "prior", "compress", "engine", "scale", "name")
        return [
            Arm(row, *(values[row].item() for values in (found[name] for name in names)))
            for row in range(len(found["order"]))
        ]

    @property
    def own(self) -> list[Arm]:
        """Our models."""
        return [arm for arm in self.arms if not arm.peer]

    @cached_property
    def orders(self) -> list[int]:
        """Orders, ascending."""
        return sorted({arm.order for arm in self.own})

    def lines(self, arms: list[Arm]) -> dict[str, list[Arm]]:
        """Return arms by their words, each sorted by order."""
        found: dict[str, list[Arm]] = {}
        for arm in sorted(arms, key=lambda arm: arm.order):
            found.setdefault(arm.words, []).append(arm)
        return found

    def find(self, order: int, prior: str, *, compress: bool = True, scale: str | None = None):
        """Return one of our models, None where it was not fitted."""
        scale = scale or self.config["model"]["sigma_scale"][0]
        for arm in self.own:
            if (arm.order, arm.prior, arm.compress, arm.scale, arm.engine) == (
                order, prior, compress, scale, "slice",
            ):  # fmt: skip
                return arm
        return None

    def parameters(self, arm: Arm) -> int:
        """Coefficients for each class; a process has none."""
        if arm.engine != "slice":
            return 0
        place = list(self.compression["order"]).index(arm.order)
        return int(self.compression["groups" if arm.compress else "patterns"][place])

    @property
    def folded(self) -> bool:
        """Whether cases were divided into folds."""
        return self.config["scheme"] == "k-fold"

    @property
    def folds(self) -> int:
        """The number of folds, 1 where cases are not divided into folds."""
        return self.n_blocks // self.config["replicates"] if self.folded else 1

    @property
    def divided(self) -> str:
        """The phrase of captions that says how cases were divided and what the seconds are."""
        if not self.folded:
            return ", seconds to fit and to predict"
        return (
            f"; {self.folds}-fold cross-validation, equal rows in one "
            "fold; seconds to fit and to predict in a fold"
        )

    @property
    def shown_sigmas(self) -> list[int]:
        """Orders whose sigmas are shown: the thesis's, or the largest."""
        orders = range(1, self.widest_order + 1)
        return [o for o in self.thesis.get("shown_sigmas", []) if o in orders] or list(orders)[-5:]

    @property
    def response(self) -> np.ndarray:
        """Classes, or real responses, of the test cases, (N,)."""
        return self.predictions["response"]

    @property
    def classes(self) -> list[str]:
        """Symbols of the classes; none where responses are real."""
        return [str(one) for one in self.predictions["classes"]]

    def probability(self, arm: Arm) -> np.ndarray:
        """Predictive probabilities, (N, K)."""
        return self.predictions["probability"][arm.row]

    def error(self, arm: Arm) -> float:
        """Error rate."""
        return metrics.class_error(self.probability(arm), self.response)

    def losses(self, arm: Arm) -> np.ndarray:
        """Minus log probability of each test case, (N,)."""
        return metrics.log_losses(self.probability(arm), self.response)

    def amlp(self, arm: Arm) -> float:
        """Average minus log probability."""
        return float(self.losses(arm).mean())

    def draws(self, arm: Arm, division: int = 0) -> dict[str, np.ndarray]:
        """Return the draws of an arm, of the first division unless another is asked for.

        Coefficients are in the response's units where it is real.
        """
        path = self.results.draws("fit", division, arm.name)
        fit = self.results.load("fit", division)
        key = str(fit["draws"][list(fit["arm"]).index(arm.row)])
        found = read_draws(path, key, command="fit-logistic")
        if "response_unit" in found:
            found["coefficient"] = found["response_unit"] * found["coefficient"]
        return found

    def log_sigma_trace(self, arm: Arm) -> np.ndarray:
        """Return log sigma of the iterations that count, (C, I, O + 1), in the first division."""
        found, model = self.draws(arm), self.config["model"]
        first = model["burn_in"] if model["until"] is None else int(found["done"]) // 2
        return found["log_sigma_trace"][:, first:]

    @property
    def widest_order(self) -> int:
        """The largest order of both original and compressed models, of all where one is absent."""
        ours = [arm for arm in self.own if arm.engine == "slice"]
        compressed, original = (
            {a.order for a in ours if a.compress == is_so} for is_so in (True, False)
        )
        return max(compressed & original or self.orders)

    @property
    def drawn_order(self) -> int:
        """The order whose coefficients are shown."""
        return self.config["report"].get("order") or max(self.orders)

    @property
    def reliable(self) -> np.ndarray:
        """Whether the chains of each of our models support predictions, in 19 of 20 divisions."""
        return self.fits["reliable"] >= (0.95 if self.n_blocks > 1 else 1)

    def supported(self, *arms: Arm) -> bool:
        """Whether the chains of all these models of ours support predictions."""
        place = {arm: j for j, arm in enumerate(self.own)}
        return all(self.reliable[place[arm]] for arm in arms)

    @property
    def warnings(self) -> list[str]:
        """Sentences about chains that do not support their predictions, and absent peers."""
        fits, agreed = self.fits, self.config["model"]["until"] is not None
        rhat, ess = fits["rhat"][:, 0], fits["ess"][:, 0]
        if agreed:
            reached = [found for _, found in self.reached()]
            rhat = np.array([found["judged_rhat"].max() for found in reached])
            ess = np.array([found["judged_ess"].min() for found in reached])
        many = f" of {self.n_blocks:,} divisions" if self.n_blocks > 1 else ""
        bad = [
            f"{arm.name} ("
            + (f"{round((1 - fits['reliable'][j]) * self.n_blocks):,}{many}, " if many else "")
            + f"R-hat {rhat[j]:.2f}, effective draws {ess[j]:.0f})"
            for j, arm in enumerate(self.own)
            if not self.reliable[j]
        ]
        wanted = self.config["model"]["peers"]
        absent = [peer for peer in wanted if peer not in {arm.engine for arm in self.arms}]
        sentences = []
        if bad:
            sentences.append(
                "The chains do not support the predictions of " + "; ".join(bad)
                + ("" if agreed else ", judged by the log likelihood")
                + ". More iterations are needed: "
                f"--set model.iterations={4 * self.config['model']['iterations']} continues the "
                "stored chains."
            )  # fmt: skip
        if absent:
            sentences.append(
                f"Left out, because packages are missing: {', '.join(absent)}; "
                'pip install "thesiskit[peers]" installs them.'
            )
        return sentences

    def timings(self) -> list[dict[str, Any]]:
        """Rows of timings.csv."""
        return [
            {
                "order": arm.order if arm.order >= 0 else np.nan,  # a peer that uses all features
                "model": arm.words,
                "parameters": self.parameters(arm) or np.nan,
                "train": self.seconds["train"][arm.row],
                "predict": self.seconds["predict"][arm.row],
            }
            for arm in self.arms
        ]
