"""A finished experiment of any kind, read back from its results folder.

| symbol | name | shape |
|---|---|---|
| A | arms: models with their settings | |
| F | arms that were fitted: our own | |
| N | predictions of an arm: test cases, each as often as it was tested | |
| K | classes | |
| D | fits of an arm: training sets | |

Chapter 2 predicts `probability` (A, N) of class 1, or (A, N, K) of more than two classes, chapter 3
(A, N, K), or of real responses `median`, `low`, `high` and `log_density`, (A, N) each.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.defaults import RESIDUAL
from thesiskit.errors import ConfigError
from thesiskit.files import Results, read_draws
from thesiskit.models.folds import LossSummary, summarise_losses
from thesiskit.models.peers import NONE, OURS, Method, from_columns
from thesiskit.registry import Candidates, candidates_of
from thesiskit.report import metrics
from thesiskit.report.layout import read_yaml, size_words
from thesiskit.report.metrics import Score, Tested

THESIS = Path(__file__).parent / "thesis"
EXACT = "enumeration"  # the variant without draws
WHOLE = "l2-logistic"  # the method that takes all features, whatever the selections
PRIORS = ("cauchy", "gaussian")
REACHED = ("iterations", "judged_rhat", "judged_ess", "worst", "lack", "reached")
WORST = {"rhat": "max", "ess": "min", "reliable": "mean", "evaluations": "mean", "separated": "any"}
# Arrays that have a part in every block, and the axis of it; all others are alike in all blocks.
_TIES = ("tied", "tied_kept")
SELECTED = ("threshold", "gamma_squared", "n_features", "kept", *_TIES, "class_counts", "seconds")
_OF_FITS = ("seconds", "tau", "tau_errors", "at_end", "table", "means", "errors", "exchanged")
FITTED = (*_OF_FITS, *WORST, *REACHED)
BY_ARM = ("probability", "median", "low", "high", "log_density")
BY_CASE = ("response", "replicate", "group", "fold", "case", "tau", "tau_errors", "inner_losses")
DOUBT = 0.25  # of a low log loss, in its standard errors
CLEAR = 1.0  # as many of a sum of signed ranks say that an arm has learnt something
CHOSEN = "the arm chosen inside each fold"
PREDICTED = dict.fromkeys(BY_ARM, 1) | dict.fromkeys(BY_CASE, 0)
_SECONDS = ("thesis_seconds", "closed_seconds")
REDUCED = ("patterns", "groups", "superpatterns", "intervals", *_SECONDS, "same")


class Record:
    """The results of an experiment and its config; arrays are read when they are asked for.

    logistic : whether it is one of chapter 3, with logistic models or others of patterns.
    mixture, normal : whether the model is the mixture model, or that of normal features.
    real : whether features of chapter 2 are real numbers.
    continuous : whether responses are.
    tests : whether cases are tested; of a table that was screened with all of them none may be.
    folded : whether cases were divided into folds; folds : in chapter 3 into how many, else 1.
    variant_name : the word for what varies, the sampler or the rule of quadrature.
    predicted : the names of the arrays of predictions.
    thesis : the numbers the thesis prints for this experiment, empty where there are none.
    """

    def __init__(self, results: Results, n_blocks: int, config: dict[str, Any]):
        kind, scheme = config["model"]["kind"], config["scheme"]
        self.results, self.n_blocks, self.config = results, n_blocks, config
        self.logistic = kind == "logistic"
        self.mixture = kind == "mixture"
        self.normal = kind == "normal"
        # results of before do not say
        self.real = config.get("takes", "reals" if self.normal else "") == "reals"
        self.continuous = config["model"].get("response") == "gaussian"
        self.tests = scheme != "none"
        self.folded = scheme == "k-fold"
        self.folds = n_blocks // config["replicates"] if self.folded else 1
        self.variant_name = "sampler" if self.mixture else "quadrature"
        real = ("median", "low", "high", "log_density")
        self.predicted = real if self.continuous else ("probability",)
        printed = config.get("report", {}).get("thesis")
        self.thesis: dict[str, Any] = thesis_numbers()[printed] if printed else {}

    @cached_property
    def thesis_calibration(self) -> pd.DataFrame | None:
        """The thesis's calibration table, None where there is none."""
        name = self.thesis.get("calibration_table")
        return pd.read_csv(THESIS / name, dtype={"features_selected": str}) if name else None

    # ---- arrays of the stages ----

    def join(self, stage: str, axes: Mapping[str, int | None]) -> dict[str, np.ndarray]:
        """Return a stage's arrays: those of `axes` of all blocks together, others of the first.

        Where the axis is None, blocks are put side by side on a new first axis.
        """
        blocks = [self.results.load(stage, number) for number in range(self.n_blocks)]
        arrays = dict(blocks[0])
        for name in axes.keys() & arrays.keys():
            parts, axis = [block[name] for block in blocks], axes[name]
            arrays[name] = np.stack(parts) if axis is None else np.concatenate(parts, axis)
        return arrays

    def _by_block(self, name: str, stage: str = "predict") -> list[np.ndarray]:
        """Return an array of a stage in each block."""
        return [self.results.load(stage, number, (name,))[name] for number in range(self.n_blocks)]

    @cached_property
    def simulated(self) -> dict[str, np.ndarray]:
        """What the first stage kept about data that are read; nothing about others."""
        return {} if self.config["drawn"] else self.results.load("simulate", 0)

    @cached_property
    def width(self) -> int:
        """The number of features of a table of chapter 2, in all groups together."""
        return self.results.load("simulate", 0, ("group",))["group"].shape[1]

    @property
    def used(self) -> int:
        """The features of the table that a model takes: real ones must vary."""
        columns = self.simulated.get("columns") if self.real else None
        return self.width - (0 if columns is None else int(columns[3]))

    @cached_property
    def selection(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `select`, with one entry for each split and each size."""
        arrays = self.join("select", dict.fromkeys(SELECTED, 0))
        return arrays | {"gamma": metrics.gammas(arrays)}

    @property
    def unit(self) -> str:
        """What is selected: features, or patterns of them."""
        return "feature" if self.candidates is None else self.candidates.unit

    @property
    def candidates(self) -> Candidates | None:
        """What is selected, None where it is columns of a table, or nothing."""
        return candidates_of(self.config.get("candidates"))

    @cached_property
    def patterns(self) -> dict[int, str]:
        """What patterns that were selected are, by their numbers; empty where columns were."""
        by_number: dict[int, str] = {}
        has_patterns = not self.logistic and "pattern" in self.selection
        for number in range(self.n_blocks if has_patterns else 0):
            block = self.results.load("select", number, ("selected", "pattern"))
            by_number |= dict(zip(*(block[name].tolist() for name in block), strict=True))
        return by_number

    @cached_property
    def compression(self) -> dict[str, np.ndarray]:
        """Groups and patterns by order, of the first division."""
        return self.results.load("compress", 0)

    @cached_property
    def reduction(self) -> dict[str, np.ndarray]:
        """Numbers of patterns and groups (R, S), replicates by settings, and the settings (S,)."""
        return self.join("compress", dict.fromkeys(REDUCED, 0))

    @cached_property
    def fits(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `fit`, (D, F, ...); posteriors and traces are of the first block."""
        return self.join("fit", dict.fromkeys(FITTED, None if self.logistic else 0))

    @cached_property
    def worst(self) -> dict[str, np.ndarray]:
        """Diagnostics of the chains (F, ...), the worst over all training sets."""
        return {name: getattr(self.fits[name], take)(axis=0) for name, take in WORST.items()}

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Predictions, and the replicate, group, fold, case and response of each, (N,)."""
        arrays = self.join("predict", PREDICTED | {"seconds": None if self.logistic else 0})
        if self.logistic:  # a block is a division of the cases
            cases = [len(y) for y in self._by_block("response")]
            number = np.repeat(np.arange(self.n_blocks), cases)
            arrays |= {"replicate": number // self.folds, "fold": number % self.folds}
            arrays["group"] = np.zeros_like(number)
        return arrays

    @cached_property
    def _trained(self) -> np.ndarray:
        """The number of the training set of each prediction, (N,)."""
        places = np.stack([self.predictions[name] for name in ("replicate", "fold", "group")])
        return np.unique(places, axis=1, return_inverse=True)[1].reshape(-1)

    @property
    def response(self) -> np.ndarray:
        """Classes, or real responses, of the test cases, (N,)."""
        return self.predictions["response"]

    @property
    def n_sets(self) -> int:
        """The number of training sets of chapter 2."""
        return len(self.selection["tied"]) // len(self.labels)

    def draws(self, arm: Method, division: int = 0) -> dict[str, np.ndarray]:
        """Return the draws of an arm, of the first division unless another is asked for.

        Coefficients are in the response's units where it is real.
        """
        path = self.results.draws("fit", division, arm.name)
        fit = self.results.load("fit", division)
        key = str(fit["draws"][list(fit["arm"]).index(arm.row)])
        draws = read_draws(path, key, command="fit-logistic")
        if "response_unit" in draws:
            draws["coefficient"] = draws["response_unit"] * draws["coefficient"]
        return draws

    def log_sigma_trace(self, arm: Method) -> np.ndarray:
        """Return log sigma of the iterations that count, (C, I, O + 1), in the first division."""
        draws, model = self.draws(arm), self.config["model"]
        first = model["burn_in"] if model["until"] is None else int(draws["done"]) // 2
        return draws["log_sigma_trace"][:, first:]

    # ---- arms ----

    @cached_property
    def arms(self) -> list[Method]:
        """All methods, in the order of the arrays."""
        arrays = self.predictions if self.tests else self.fits
        n_predicted = len(arrays[self.predicted[0]]) if self.tests else 0
        rows = range(n_predicted) if self.tests else arrays["arm"].tolist()
        arms = from_columns(arrays, rows)
        if len({(arm.scale, arm.joint) for arm in arms if arm.engine == "slice"}) < 2:
            return arms
        words = {arm: f"{'joint' if arm.joint else 'single'} updates" for arm in arms}
        scales = {"natural": "sigma", "log": "log sigma"}
        return [
            replace(arm, sampler=f"{words[arm]}, {scales.get(arm.scale, NONE)}") for arm in arms
        ]

    @cached_property
    def own(self) -> list[Method]:
        """Our arms, in the order of the columns of the fit stage."""
        return [arm for arm in self.arms if arm.own]

    @property
    def sampled(self) -> list[tuple[int, Method]]:
        """The arms of chapter 2 that have draws, with their columns in the fit stage."""
        if not self.mixture:
            return []
        return [(j, arm) for j, arm in enumerate(self.own) if arm.variant != EXACT]

    @cached_property
    def arms_with_predictions(self) -> list[Method]:
        """The arms that predict: some take two classes, and there are more."""
        predicted = self.predictions.get("probability", ()) if self.tests else ()
        without = {row for row, p in enumerate(predicted) if np.isnan(p).all()}
        return [arm for arm in self.arms if arm.row not in without]

    def keys(self, arm: Method) -> dict[str, object]:
        """Return what an arm is, for the columns of tables."""
        if self.logistic:
            return {"model": arm.words, "order": str(arm.order) if arm.order >= 0 else "all"}
        keys: dict[str, object] = {"features": arm.label, "method": arm.words}
        return keys | ({self.variant_name: arm.variant} if len(self.variants) > 1 else {})

    def name(self, arm: Method) -> str:
        """Return what an arm is called, in a few words."""
        if self.logistic:
            return arm.words + (f", order {arm.order}" if arm.order >= 0 else "")
        size = arm.label
        if not size.startswith("|"):  # else the label says that features are kept
            noun = "feature" if size == "all" else self.unit
            size = f"{size_words(size)} {noun}{'s' * (size.partition(' ')[0] != '1')}"
        names_variant = arm.variant not in (NONE, *self.variants[:1])
        return f"{size}, {arm.words}" + (f", {arm.variant}" if names_variant else "")

    # ---- test cases and what was predicted of them ----

    @cached_property
    def classes(self) -> list[str]:
        """What the classes are called: their numbers, where the data do not say.

        There are none where responses are real.
        """
        if self.logistic:
            return self.predictions["classes"].tolist()
        names = self.simulated.get("class_names", range(self.n_classes))
        return [str(name) for name in names]

    @cached_property
    def n_classes(self) -> int:
        """How many classes there are."""
        if self.logistic:
            return len(self.classes)
        return int(self.results.load("select", 0, ("class_counts",))["class_counts"].shape[1])

    def class_words(self, y: int) -> str:
        """Return a class as captions and axes name it."""
        has_name = self.logistic or self.classes != [str(g) for g in range(self.n_classes)]
        return self.classes[y] if has_name else f"class {y}"

    @cached_property
    def tested(self) -> Tested:
        """The test cases."""
        arrays, simulated = self.predictions, self.config["drawn"]
        division = {"data set" if simulated else "replicate": arrays["replicate"]}
        division |= {name: arrays[name] for name in ("fold", "group")}
        groups = self.simulated.get("case_groups")  # None where each case is alone
        if groups is not None and self.logistic:
            tests = np.bincount(self._trained)
            blocks = zip(self._by_block("case_groups", "simulate"), tests, strict=True)
            groups = np.concatenate([members[-number:] for members, number in blocks])
        elif groups is not None:
            groups = groups[arrays["case"].astype(np.int64)]
        ids, unit = self._cases_of_blocks() if self.logistic else self._cases_of_table()
        return Tested(
            response=arrays["response"] if self.logistic else arrays["response"].astype(np.int64),
            ids=ids,
            unit=unit,
            division={name: place + 1 for name, place in division.items() if place.any()},
            classes=self.classes,
            base=self._base_rate(),
            group=groups,
        )

    def _cases_of_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what the test cases of chapter 2 are called, and their numbers."""
        replicate, case = self.predictions["replicate"], self.predictions["case"].astype(np.int64)
        ids = self.simulated.get("ids", ())
        ids = ids[case] if len(ids) else (case + 1).astype(str)
        return ids, case + (replicate * (1 + case.max()) if self.config["drawn"] else 0)

    def _cases_of_blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what the test cases of chapter 3 are called, and their numbers."""
        parts = []
        blocks = zip(self._by_block("ids", "simulate"), np.bincount(self._trained), strict=True)
        for names, tests in blocks:
            parts.append(names[-tests:] if len(names) else np.arange(1, tests + 1).astype(str))
        ids = np.concatenate(parts)
        numbers = np.char.isdigit(ids).all() and np.char.str_len(ids).max() < 18
        unit = np.unique(ids.astype(int) if numbers else ids, return_inverse=True)[1].reshape(-1)
        again = len(ids) // self.n_cases
        if self.config["drawn"] or len(np.unique(unit)) * again != len(ids):
            unit = np.arange(len(ids))  # names that are not unique
        return ids, unit

    def _base_rate(self) -> np.ndarray:
        """What is known of the training cases of each test case, as `Tested` has it."""
        if not self.logistic:
            counts = self.selection["class_counts"][:: len(self.labels)]
        else:
            train = self._by_block("train_response")
            if self.continuous:
                return np.array([(y.mean(), y.std()) for y in train])[self._trained]
            counts = np.array([np.bincount(y, minlength=self.n_classes) for y in train])
        more = counts + 0.5
        return (more / more.sum(axis=1, keepdims=True))[self._trained]

    def probability(self, arm: Method) -> np.ndarray:
        """Predictive probabilities: (N,) of class 1, or (N, K) of all classes."""
        return self.predictions["probability"][arm.row]

    @cached_property
    def scores(self) -> list[Score]:
        """What every arm predicted, and how good that is.

        There are none where responses are real, or no case is tested.
        """
        if self.config["data"] is None or self.continuous or not self.tests:
            return []
        scores = []
        for arm in self.arms:
            p = self.probability(arm)
            p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
            linear = arm.method == WHOLE or arm.engine == "logistic-regression"
            scores.append(Score(self.tested, self.name(arm), p, self.keys(arm), linear=linear))
        return scores

    @cached_property
    def choice(self) -> tuple[Score, np.ndarray] | None:
        """What arms predicted that were chosen inside training cases, and their rows, (splits,).

        It is the `preferred` arm of each split.  None where nothing was chosen.
        """
        summaries = self.predictions.get("inner_losses") if self.scores else None
        if summaries is None:
            return None
        losses = LossSummary(*np.moveaxis(summaries, -1, 0))
        if np.isnan(losses.mean).all(axis=1).any():
            return None  # a class has too few cases
        rows = preferred(losses)
        by_arm = np.stack([*(score.probability for score in self.scores), self.tested.base])
        probability = by_arm[rows[self._trained], np.arange(len(self._trained))]
        return Score(self.tested, CHOSEN, probability), rows

    def recommended(self, rows: Iterable[int]) -> int:
        """Return the method to predict new samples with, of some rows; -1 for class frequencies.

        It is the method with the lowest log loss on the test samples, unless most folds chose the
        class frequencies, or it is not clearly better than these on all test samples: the best of m
        methods that learnt nothing has a standardised sum of signed ranks of sqrt(2 log m) or so.
        """
        scores = {row: self.scores[row] for row in rows if not np.isnan(self.scores[row].amlp)}
        folds = np.zeros(1) if self.choice is None else self.choice[1]
        if not scores or np.mean(folds == -1) > 0.5:
            return -1
        best = min(scores, key=lambda row: scores[row].amlp)
        excess = scores[best].loss - metrics.losses(self.tested.base, self.response)
        summary = summarise_losses([self.tested.independent(excess)])
        clear = max(CLEAR, np.sqrt(2 * np.log(len(scores))))
        return best if summary.mean < 0 and summary.signed_rank < -clear else -1

    @property
    def mean_losses(self) -> list[float]:
        """By what arms are compared: AMLP, or the root mean squared error of real responses."""
        if not self.continuous:
            return [score.amlp for score in self.scores]
        medians = self.predictions["median"]
        return [metrics.root_mean_square(medians[arm.row], self.response) for arm in self.arms]

    @property
    def predicting(self) -> list[Score]:
        """The scores of arms that predict: some take two classes, and there are more."""
        return [score for score in self.scores if not np.isnan(score.amlp)]

    def predicted_columns(self) -> Iterator[tuple[dict[str, object], dict[str, np.ndarray]]]:
        """Yield what an arm is, and the columns of its predictions, (N,) each."""
        if self.continuous:
            titles = {"median": "median", "low": "5 %", "high": "95 %"}
            for arm in self.arms:
                ends = {title: self.predictions[name][arm.row] for name, title in titles.items()}
                yield self.keys(arm), ends
        for score in self.scores:
            columns = zip(self.tested.classes, score.probability.T, strict=True)
            yield score.keys, {f"probability: {name}": p for name, p in columns}

    def probability_and_hit(self, arm: Method) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities (N,) and whether that is so: of class 1, or of being right.

        Of more than two classes they are those of the class that is predicted.
        """
        p, y = self.probability(arm), self.response
        p = p[:, 1] if p.shape[1:] == (2,) else p
        return (p, y) if p.ndim == 1 else metrics.confidence(p, y)

    @property
    def positive_class_name(self) -> str:
        """What the probabilities that `probability_and_hit` returns are of."""
        return self.class_words(1) if self.n_classes == 2 else "the predicted class"

    # ---- selections and methods of chapter 2 ----

    @property
    def labels(self) -> list[str]:
        """The selections, in the order of the config."""
        return self.selection["label"].tolist()

    def by_size(self, name: str) -> Iterator[tuple[str, np.ndarray]]:
        """Yield each label with the entries of the selection array `name` for it."""
        for i, label in enumerate(self.labels):
            yield label, self.selection[name][i :: len(self.labels)]

    def kept(self, label: str) -> float:
        """How many features a label stands for, the mean where it varies."""
        return float(np.mean(dict(self.by_size("kept"))[label]))

    @property
    def variants(self) -> list[str]:
        """The rules for theta, or the samplers, used."""
        return [q for q in dict.fromkeys(arm.variant for arm in self.arms) if q != NONE]

    @property
    def main_arms(self) -> list[Method]:
        """The arms that predict with the first rule or sampler, or with none."""
        variants = (self.variants[0], NONE)
        return [arm for arm in self.arms_with_predictions if arm.variant in variants]

    @property
    def options(self) -> list[Method]:
        """The options of our own methods, one after the other."""
        return list(dict.fromkeys(arm.options for arm in self.arms if arm.own))

    @property
    def untempered_options(self) -> list[Method]:
        """The first options for each that may be relevant; a temperature changes no posterior."""
        first = {options.relevant: options for options in reversed(self.options)}
        return [options for options in self.options if first[options.relevant] == options]

    def families(self, order: Iterable[str]) -> list[Method]:
        """The methods without selections, in the order given, ours by their options.

        They are corrected if all features are kept.
        """
        available = {arm.family for arm in self.arms_with_predictions}
        options = [*self.options, Method(), Method(temperature=RESIDUAL)]
        families = [replace(pair, method=name) for name in order for pair in options]
        return [family for family in families if family in available] or [
            replace(pair, method="corrected") for pair in self.options
        ]

    def find(
        self, label: str, method: str, variant: str | None = None, options: Method | None = None
    ) -> Method | None:
        """Return a method of a selection, or None; the first unless its options are given.

        With all features there is one method, which counts as corrected and as uncorrected.
        """
        variants = (variant or self.variants[0], NONE)
        for arm in self.arms_with_predictions:
            has_method = arm.method == method or (arm.method == "complete" and method in OURS)
            fits = options is None or arm.options in (options, replace(options, relevant=NONE))
            if has_method and fits and arm.label == label and arm.variant in variants:
                return arm
        return None

    # ---- orders and priors of chapter 3 ----

    @cached_property
    def orders(self) -> list[int]:
        """Orders, ascending."""
        return sorted({arm.order for arm in self.own})

    def lines(self, arms: list[Method]) -> dict[str, list[Method]]:
        """Return arms by their words, each sorted by order."""
        by_words: dict[str, list[Method]] = {}
        for arm in sorted(arms, key=lambda arm: arm.order):
            by_words.setdefault(arm.words, []).append(arm)
        return by_words

    def of_order(
        self, order: int, prior: str, *, compress: bool = True, sampler: str | None = None
    ):
        """Return one of our models of patterns, None where it was not fitted.

        sampler : in the words of `Method.sampler`, the first of the config unless given.
        """
        for arm in self.own:
            alike = (arm.order, arm.prior, arm.compress, arm.engine)
            if alike == (order, prior, compress, "slice") and sampler in (None, arm.sampler):
                return arm
        return None

    @property
    def widest_order(self) -> int:
        """The largest order of both original and compressed models, of all where one is absent."""
        keys = [(arm.order, arm.compress) for arm in self.own if arm.engine == "slice"]
        return max([o for o, _ in keys if {(o, True), (o, False)} <= {*keys}] or self.orders)

    @property
    def drawn_order(self) -> int:
        """The order whose coefficients are shown."""
        return self.config["report"].get("order") or max(self.orders)

    @property
    def shown_sigmas(self) -> list[int]:
        """Orders whose sigmas are shown: the thesis's, or the largest."""
        orders = range(1, self.widest_order + 1)
        return [o for o in self.thesis.get("shown_sigmas", []) if o in orders] or list(orders)[-5:]

    def parameters(self, arm: Method) -> int:
        """Coefficients for each class; a method of others has none that count here."""
        if arm.engine != "slice":
            return 0
        place = list(self.compression["order"]).index(arm.order)
        return int(self.compression["groups" if arm.compress else "patterns"][place])

    def error(self, arm: Method) -> float:
        """Error rate."""
        return metrics.error_rate(self.probability(arm), self.response)

    def losses(self, arm: Method) -> np.ndarray:
        """Minus log probability of each test case, (N,)."""
        return metrics.losses(self.probability(arm), self.response)

    @property
    def n_cases(self) -> int:
        """Number of distinct test cases: if folds are repeated, a case is tested several times."""
        again = 1 if self.config["drawn"] or not self.folded else self.config["replicates"]
        return len(self.response) // again

    def standard_error(self, values: np.ndarray) -> float:
        """Return the standard error of the mean of test cases' values, as if independent."""
        return metrics.standard_error(values, self.n_cases)

    @property
    def reliable(self) -> np.ndarray:
        """Whether the chains of each of our models support predictions, in 19 of 20 divisions."""
        return self.worst["reliable"] >= (0.95 if self.n_blocks > 1 else 1)

    # ---- how long it took ----

    def reached(self) -> Iterator[tuple[Method, dict[str, np.ndarray]]]:
        """Yield each arm that has draws, and what its chains had reached in each fit, (D,)."""
        for j, arm in enumerate(self.own) if self.logistic else self.sampled:
            yield arm, {name: self.fits[name][:, j] for name in REACHED}

    @cached_property
    def seconds(self) -> dict[str, np.ndarray]:
        """Processor seconds of each arm of chapter 3 by stage, and in all, means over divisions."""
        predict = self.predictions["seconds"].mean(axis=0)
        train = np.full(len(predict), np.nan)
        train[self.fits["arm"]] = self.fits["seconds"].mean(axis=0)
        return {"train": train, "predict": predict, "all": np.nan_to_num(train) + predict}

    def timings(self) -> list[dict]:
        """Rows of timings.csv, processor seconds; none where there is nothing to time."""
        if self.config["reduction"]:
            counts = self.reduction
            return [
                {name: counts[name][s] for name in ("features", "values", "order")}
                | {"replicate": r}
                | {name: counts[name][r, s] for name in ("thesis_seconds", "closed_seconds")}
                for r, s in np.ndindex(counts["groups"].shape)
            ]
        if self.config["data"] is None:
            return []
        return [self._timing(arm) for arm in self.arms]

    def _timing(self, arm: Method) -> dict[str, object]:
        if self.logistic:
            return {
                "order": arm.order if arm.order >= 0 else np.nan,  # a peer that uses all features
                "model": arm.words,
                "parameters": self.parameters(arm) or np.nan,
                "train": self.seconds["train"][arm.row],
                "predict": self.seconds["predict"][arm.row],
            }
        fit = self.fits["seconds"][:, self.own.index(arm)].sum() if arm.own else np.nan
        predict = self.predictions["seconds"][:, arm.row].sum() if self.tests else 0.0
        printed = self.thesis.get("seconds", {})
        column = printed.get("corrected" if arm.method == "complete" else arm.method, {})
        of_thesis = {str(size): seconds for size, seconds in column.items()}.get(arm.label)
        return {
            "features": arm.label,
            "method": arm.words,
            self.variant_name: arm.variant,
            "select": dict(self.by_size("seconds"))[arm.label].sum() if arm.own else np.nan,
            "fit": fit,
            "predict": predict if arm.own else np.nan,
            "fit and predict": fit + predict if arm.own else predict,
            **({"thesis": None if arm.variant == "collapsed" else of_thesis} if printed else {}),
        }


def preferred(losses: LossSummary) -> np.ndarray:
    """Return the best method of each split, (splits,), -1 for the class frequencies.

    It is the method with the lowest log loss on left-out samples plus DOUBT standard errors, among
    those whose mean and signed ranks show that they are better than the class frequencies.  A few
    samples with a very confident wrong prediction make the error of the mean large, but not that of
    ranks.

    losses : its fields are arrays (splits, A).
    """
    better = (losses.mean < 0) & (losses.signed_rank < -CLEAR)
    loss = np.where(better, losses.mean + DOUBT * losses.error, np.inf)
    return np.where(better.any(axis=1), loss.argmin(axis=1), -1)


def thesis_numbers() -> dict[str, Any]:
    """Return the numbers that the thesis prints, by experiment."""
    return read_yaml(THESIS / "numbers.yaml")


def check_thesis(config: dict[str, Any]) -> None:
    """Raise ConfigError if the config compares with an experiment the thesis does not have."""
    key = config["report"].get("thesis")
    if key and key not in thesis_numbers():
        raise ConfigError(f"the thesis has no {key!r}; use one of {', '.join(thesis_numbers())}")
