"""Read a finished experiment of any kind back from its results folder, as tidy frames.

| symbol | name | shape |
|---|---|---|
| A | methods: models with their settings | |
| F | methods that were fitted: our own | |
| N | predictions of a method: test samples, each as often as it was tested | |
| K | classes | |
| D | training sets | |

| frame of a record | rows |
|---|---|
| `predictions` | N: data set or replicate, fold, group, sample, response and training set |
| `fits` | D x F: method, training set, and numbers such as seconds, tau, iterations |
| `selections` | D x selections: training set, label, n_features, n_selected, gamma, ties, seconds |
| `timings` | A: what a method is, and its processor seconds |

Blocks of what methods predict stay beside the rows of `predictions`: to repeat six columns for each
method takes five times the memory.  Chapter 2 predicts `probability` (A, N) of class 1, or (A, N,
K) of more than two classes, chapter 3 (A, N, K); of real responses both predict the arrays that
`density.SCORED` names, (A, N) each.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.datasets.checking import CHECKS
from thesiskit.defaults import RESIDUAL
from thesiskit.errors import ConfigError
from thesiskit.files import Results, read_draws
from thesiskit.models.density import SCORED, Density, guess
from thesiskit.models.folds import LossSummary, summarise_losses
from thesiskit.models.peers import NONE, OURS, SHORT, Method, from_columns, method_words
from thesiskit.registry import Candidates, candidates_of
from thesiskit.report import metrics
from thesiskit.report.layout import read_yaml, size_words
from thesiskit.report.metrics import AnyScore, RealScore, Score, Tested

THESIS = Path(__file__).parent / "thesis"
EXACT = "enumeration"  # the variant without draws
PRIORS = ("cauchy", "gaussian")
REACHED = ("iterations", "judged_rhat", "judged_ess", "worst", "lack", "reached")
WORST = {"rhat": "max", "ess": "min", "reliable": "mean", "evaluations": "mean", "separated": "any"}
# Arrays that have a part in every block, and the axis of it; all others are alike in all blocks.
COUNTS = ("n_features", "kept", "tied", "tied_kept", "seconds")  # of selections
SELECTED = (*COUNTS, "threshold", "gamma_squared", "class_counts")
NUMBERS = ("seconds", "tau", "tau_errors", "reliable", "separated", "promised", *REACHED)
FITTED = (*NUMBERS, *WORST, "at_end", "table", "means", "errors", "exchanged")
BY_METHOD = ("probability", *SCORED)
BY_SAMPLE = ("response", "replicate", "group", "fold", "case", "tau", "tau_errors", "inner_losses")
DOUBT = 0.25  # of a low log loss, in its standard errors
CLEAR = 1.0  # as many of a sum of signed ranks say that a method has learnt something
CHOSEN = "Selected by nested cross-validation"
PREDICTED = dict.fromkeys(BY_METHOD, 1) | dict.fromkeys(BY_SAMPLE, 0)
_SECONDS = ("thesis_seconds", "closed_seconds")
REDUCED = ("patterns", "groups", "superpatterns", "intervals", *_SECONDS, "same")


class Record:
    """The results of an experiment and its config; arrays are read when they are asked for.

    logistic : whether it is one of chapter 3, with logistic models or others of patterns.
    mixture, normal : whether the model is the mixture model, or that of normal features.
    real : whether features of chapter 2 are real numbers.
    continuous : whether responses are.
    tests : whether samples are tested; of a table that was screened with all of them none may be.
    folded : whether samples were divided into folds; folds : in chapter 3 into how many, else 1.
    variant_name : the word for what varies, the sampler or the rule of quadrature.
    small : whether this is the small form of an experiment.
    thesis : the numbers the thesis prints for this experiment, empty where there are none.
    comparable : those that pages show beside ours, none for a small form.
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
        self.small = config.get("experiment", "").endswith("-smoke")
        printed = config.get("report", {}).get("thesis")
        self.thesis: dict[str, Any] = thesis_numbers()[printed] if printed else {}
        self.comparable: dict[str, Any] = {} if self.small else self.thesis

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

    @property
    def checks(self) -> pd.DataFrame:
        """The checks of the table: code, subject, result, finding; no rows in earlier results."""
        rows = [[row[0], CHECKS[row[0]][0], *row[1:]] for row in self.simulated.get("checks", ())]
        return pd.DataFrame(rows, columns=["check", "about", "result", "finding"])

    @cached_property
    def width(self) -> int:
        """The number of features of a table of chapter 2, in all groups together."""
        return self.results.load("simulate", 0, ("group",))["group"].shape[1]

    @cached_property
    def _selected(self) -> dict[str, np.ndarray]:
        return self.join("select", dict.fromkeys(SELECTED, 0))

    @cached_property
    def selections(self) -> pd.DataFrame:
        """A row for each training set and selection."""
        arrays = self._selected
        gamma = metrics.gammas(arrays)
        number = np.arange(len(gamma)) // len(self.labels)
        columns = {"training_set": number, "label": np.tile(self.labels, number[-1] + 1)}
        columns |= {name: arrays[name] for name in COUNTS} | {"gamma": gamma}
        names = {"kept": "n_selected", "tied_kept": "tied_selected"}
        return pd.DataFrame(columns).rename(columns=names)

    @property
    def class_counts(self) -> np.ndarray:
        """The training samples of each class in each training set of chapter 2, (D, K)."""
        return self._selected["class_counts"][:: len(self.labels)]

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
        has_patterns = not self.logistic and "pattern" in self._selected
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
    def fit_arrays(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `fit`, (D, F, ...); posteriors and traces are of the first block."""
        return self.join("fit", dict.fromkeys(FITTED, None if self.logistic else 0))

    @cached_property
    def fits(self) -> pd.DataFrame:
        """A row for each training set and each of our methods, by its number in `methods`."""
        if not self.own:
            return pd.DataFrame(columns=["training_set", "method", "seconds"])
        arrays = {name: self.fit_arrays[name] for name in NUMBERS if name in self.fit_arrays}
        n_sets, n_methods = arrays["seconds"].shape
        number, row = np.divmod(np.arange(n_sets * n_methods), n_methods)
        columns = {"training_set": number, "method": self.fit_arrays["arm"][row]}
        return pd.DataFrame(columns | {name: values.reshape(-1) for name, values in arrays.items()})

    @cached_property
    def worst(self) -> dict[str, np.ndarray]:
        """Diagnostics of the chains (F, ...), the worst over all training sets."""
        return {name: getattr(self.fit_arrays[name], take)(axis=0) for name, take in WORST.items()}

    @cached_property
    def prediction_arrays(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `predict`: predictions (A, N, ...), and arrays of training sets."""
        return self.join("predict", PREDICTED | {"seconds": None if self.logistic else 0})

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """A row for each test sample, as often as it was tested, (N,)."""
        arrays = self.prediction_arrays
        columns = {name: arrays.get(name, 0) for name in ("replicate", "fold", "group", "response")}
        columns["sample"] = arrays.get("case", np.arange(len(arrays["response"]))).astype(np.int64)
        frame = pd.DataFrame(columns)
        if self.logistic:  # a block is a division of the samples
            n_tests = [len(response) for response in self._by_block("response")]
            number = np.repeat(np.arange(self.n_blocks), n_tests)
            frame["replicate"], frame["fold"] = number // self.folds, number % self.folds
        frame["training_set"] = frame.groupby(["replicate", "fold", "group"]).ngroup()
        return frame

    @cached_property
    def response(self) -> np.ndarray:
        """Classes, or real responses, of the test samples, (N,)."""
        y = self.predictions["response"].to_numpy()
        return y if self.continuous else y.astype(np.int64)

    @property
    def n_sets(self) -> int:
        """The number of training sets of chapter 2."""
        return len(self.class_counts)

    def draws(self, method: Method, division: int = 0) -> dict[str, np.ndarray]:
        """Return the draws of a method, of the first division unless another is asked for.

        Coefficients are in the response's units where it is real.
        """
        path = self.results.draws("fit", division, method.name)
        fit = self.results.load("fit", division)
        key = str(fit["draws"][list(fit["arm"]).index(method.row)])
        draws = read_draws(path, key)
        if "response_unit" in draws:
            draws["coefficient"] = draws["response_unit"] * draws["coefficient"]
        return draws

    def log_sigma_trace(self, method: Method) -> np.ndarray:
        """Return log sigma of the iterations that count, (C, I, O + 1), in the first division."""
        draws, model = self.draws(method), self.config["model"]
        first = model["burn_in"] if model["until"] is None else int(draws["done"]) // 2
        return draws["log_sigma_trace"][:, first:]

    # ---- methods ----

    @cached_property
    def methods(self) -> list[Method]:
        """All methods, in the order of the arrays."""
        arrays = self.prediction_arrays if self.tests else self.fit_arrays
        name = "median" if self.continuous else "probability"
        rows = range(len(arrays[name])) if self.tests else arrays["arm"].tolist()
        methods = from_columns(arrays, rows)
        samplers = {(method.scale, method.joint) for method in methods if method.engine == "slice"}
        if len(samplers) < 2:
            return methods
        updates = {True: "joint updates", False: "single updates"}
        scales = {"natural": "sigma", "log": "log sigma"}
        words = [f"{updates[bool(m.joint)]}, {scales.get(m.scale, NONE)}" for m in methods]
        return [replace(m, sampler=sampler) for m, sampler in zip(methods, words, strict=True)]

    @cached_property
    def own(self) -> list[Method]:
        """Our methods, in the order of the columns of the fit stage."""
        return [method for method in self.methods if method.own]

    @property
    def sampled(self) -> list[tuple[int, Method]]:
        """The methods of chapter 2 that have draws, with their columns in the fit stage."""
        if not self.mixture:
            return []
        return [(j, method) for j, method in enumerate(self.own) if method.variant != EXACT]

    @cached_property
    def methods_with_predictions(self) -> list[Method]:
        """The methods that predict: some take two classes, and there are more."""
        predicted = self.prediction_arrays.get("probability", ()) if self.tests else ()
        without = {row for row, p in enumerate(predicted) if np.isnan(p).all()}
        return [method for method in self.methods if method.row not in without]

    def keys(self, method: Method) -> dict[str, object]:
        """Return what a method is, for the columns of tables."""
        if self.logistic:
            order = str(method.order) if method.order >= 0 else "all"
            return {"model": method.words, "order": order}
        keys: dict[str, object] = {"features": method.label, "method": method.words}
        return keys | ({self.variant_name: method.variant} if len(self.variants) > 1 else {})

    def name(self, method: Method) -> str:
        """Return what a method is called, in a few words."""
        if self.logistic:
            words = SHORT.get(method.engine, method.words)
            words = words[:1].upper() + words[1:]
            return words + (f", order {method.order}" if method.order >= 0 else "")
        size, parts = method.label, [SHORT.get(method.estimator, method_words(method.estimator))]
        if method.own or size != "all":
            noun = "feature" if size == "all" else self.unit
            is_size = not size.startswith("|")  # else the label names the features
            more = f" {noun}{'s' * (size.partition(' ')[0] != '1')}" if is_size else ""
            parts.append(size_words(size) + more)
        options = self.options if method.own else []
        if len({method.relevant for method in options}) > 1:
            parts.append(f"{method.relevant} relevant")
        if not method.tempered and any(method.tempered for method in options):
            parts.append("untempered")
        parts += [method.variant] if method.variant not in (NONE, *self.variants[:1]) else []
        text = ", ".join(filter(None, parts))
        return text[:1].upper() + text[1:]

    # ---- test samples and what was predicted of them ----

    @cached_property
    def classes(self) -> list[str]:
        """What the classes are called: their numbers, where the data do not say.

        There are none where responses are real.
        """
        if self.continuous:
            return []
        if self.logistic:
            return self.prediction_arrays["classes"].tolist()
        names = self.simulated.get("class_names", range(self.n_classes))
        return [str(name) for name in names]

    @cached_property
    def n_classes(self) -> int:
        """How many classes there are."""
        if self.logistic or self.continuous:
            return len(self.classes)
        return self._selected["class_counts"].shape[1]

    def class_words(self, y: int) -> str:
        """Return a class as captions and axes name it."""
        has_name = self.logistic or self.classes != [str(g) for g in range(self.n_classes)]
        return self.classes[y] if has_name else f"class {y}"

    @cached_property
    def tested(self) -> Tested:
        """The test samples."""
        frame = self.predictions
        division = {"data set" if self.config["drawn"] else "replicate": frame["replicate"]}
        division |= {name: frame[name] for name in ("fold", "group")}
        groups = self.simulated.get("case_groups")  # None where each sample is alone
        if groups is not None:
            groups = self._of_tests("case_groups") if self.logistic else groups[frame["sample"]]
        ids, unit = self._samples_of_blocks() if self.logistic else self._samples_of_table()
        return Tested(
            response=self.response,
            ids=ids,
            unit=unit,
            division={name: x.to_numpy() + 1 for name, x in division.items() if x.any()},
            classes=self.classes,
            base=self._base_rate(),
            group=groups,
        )

    def _of_tests(self, name: str) -> np.ndarray:
        """Return an array of all samples of chapter 3, of the test samples of each block."""
        n_tests = self.predictions.groupby("training_set").size()
        blocks = zip(self._by_block(name, "simulate"), n_tests, strict=True)
        return np.concatenate([values[-n:] for values, n in blocks])

    def _samples_of_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what the test samples of chapter 2 are called, and their numbers."""
        replicate, sample = (self.predictions[name].to_numpy() for name in ("replicate", "sample"))
        ids = self.simulated.get("ids", ())
        ids = ids[sample] if len(ids) else (sample + 1).astype(str)
        return ids, sample + (replicate * (1 + sample.max()) if self.config["drawn"] else 0)

    def _samples_of_blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what the test samples of chapter 3 are called, and their numbers."""
        if len(self.results.load("simulate", 0, ("ids",))["ids"]):
            ids = self._of_tests("ids")
        else:
            ids = (1 + self.predictions.groupby("training_set").cumcount()).to_numpy().astype(str)
        numbers = np.char.isdigit(ids).all() and np.char.str_len(ids).max() < 18
        unit = np.unique(ids.astype(int) if numbers else ids, return_inverse=True)[1].reshape(-1)
        again = len(ids) // self.n_samples
        if self.config["drawn"] or len(np.unique(unit)) * again != len(ids):
            unit = np.arange(len(ids))  # names that are not unique
        return ids, unit

    def _base_rate(self) -> np.ndarray:
        """What is known of the training samples of each test sample, as `Tested` has it."""
        number = self.predictions["training_set"]
        if self.continuous:
            return np.concatenate([guess(y) for y in self._train_responses()])[number]
        if self.logistic:
            train, K = self._train_responses(), self.n_classes
            more = 0.5 + np.array([np.bincount(y, minlength=K) for y in train])
        else:
            more = 0.5 + self.class_counts
        return (more / more.sum(axis=1, keepdims=True))[number]

    def _train_responses(self) -> list[np.ndarray]:
        """Return the responses of each training set, (n,) each."""
        if self.logistic:
            return self._by_block("train_response")
        keys, frame = ["training_set", "replicate", "fold"], self.predictions
        blocks = (self._by_block(name, "simulate") for name in ("response", "fold"))
        response, fold = map(np.concatenate, blocks)
        sets = frame[keys].drop_duplicates().sort_values(keys)
        return [response[r][fold[r] != f] for _, r, f in sets.itertuples(index=False)]

    def probability(self, method: Method) -> np.ndarray:
        """Predictive probabilities: (N,) of class 1, or (N, K) of all classes."""
        return self.prediction_arrays["probability"][method.row]

    @cached_property
    def scores(self) -> list[AnyScore]:
        """What every method predicted, and how good that is; none where no sample is tested."""
        if self.config["data"] is None or not self.tests:
            return []
        scores: list[AnyScore] = []
        for method in self.methods:
            about = self.tested, self.name(method)
            if self.continuous:
                arrays, unknown = self.prediction_arrays, np.full(len(self.response), np.nan)
                values = [arrays[x][method.row] if x in arrays else unknown for x in SCORED]
                scores.append(RealScore(*about, np.column_stack(values), self.keys(method)))
                continue
            p = self.probability(method)
            p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
            scores.append(Score(*about, p, self.keys(method)))
        return scores

    @cached_property
    def base(self) -> AnyScore:
        """The score of the predictions without features: class frequencies, or `density.guess`."""
        if not self.continuous:
            return Score(self.tested, "Class frequencies", self.tested.base)
        columns = Density.of_students(self.tested.base).scores(self.response)
        return RealScore(self.tested, "No features", np.column_stack([*columns.values()]))

    @cached_property
    def choice(self) -> tuple[AnyScore, np.ndarray] | None:
        """Predictions of nested cross-validation, and the rows of its methods, (splits,).

        It is the `preferred` method of each split.  None where nothing was chosen.
        """
        summaries = self.prediction_arrays.get("inner_losses") if self.scores else None
        if summaries is None:
            return None
        losses = LossSummary(*np.moveaxis(summaries, -1, 0))
        if np.isnan(losses.mean).all(axis=1).any():
            return None  # a class has too few samples
        rows = preferred(losses)
        by_method = np.stack([score.values for score in (*self.scores, self.base)])
        chosen_rows = rows[self.predictions["training_set"]]
        values = by_method[chosen_rows, np.arange(len(chosen_rows))]
        return type(self.base)(self.tested, CHOSEN, values), rows

    def recommended(self, rows: Iterable[int]) -> int:
        """Return the method to predict new samples with, of some rows; -1 for no features.

        It is the method with the lowest log loss on the test samples, unless most folds chose to
        predict without features, or it is not clearly better than that on all test samples: the
        best of m methods that learnt nothing has a standardised sum of signed ranks of
        sqrt(2 log m) or so.
        """
        scores = {row: self.scores[row] for row in rows if not np.isnan(self.scores[row].log_loss)}
        folds = np.zeros(1) if self.choice is None else self.choice[1]
        if not scores or np.mean(folds == -1) > 0.5:
            return -1
        best = min(scores, key=lambda row: scores[row].log_loss)
        excess = scores[best].loss - self.base.loss
        summary = summarise_losses(self.tested.independent(excess))
        clear = max(CLEAR, np.sqrt(2 * np.log(len(scores))))
        return best if summary.mean < 0 and summary.signed_rank < -clear else -1

    @property
    def predicting(self) -> list[AnyScore]:
        """The scores of methods that predict: some take two classes, and there are more."""
        return [score for score in self.scores if not np.isnan(score.log_loss)]

    def probability_and_hit(self, method: Method) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities (N,) and whether that is so: of class 1, or of being right.

        Of more than two classes they are those of the class that is predicted.
        """
        p, y = self.probability(method), self.response
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
        return self._selected["label"].tolist()

    def by_size(self, name: str) -> pd.DataFrame:
        """Return a column of `selections`: training sets by rows, labels by columns."""
        frame = self.selections.pivot(index="training_set", columns="label", values=name)
        return frame[self.labels]

    def kept(self, label: str) -> float:
        """How many features a label stands for, the mean where it varies."""
        return float(self.by_size("n_selected")[label].mean())

    @property
    def variants(self) -> list[str]:
        """The rules for theta, or the samplers, used."""
        return [q for q in dict.fromkeys(method.variant for method in self.methods) if q != NONE]

    @property
    def main_methods(self) -> list[Method]:
        """The methods that predict with the first rule or sampler, or with none."""
        variants = (self.variants[0], NONE)
        return [method for method in self.methods_with_predictions if method.variant in variants]

    @property
    def options(self) -> list[Method]:
        """The options of our own methods, one after the other."""
        return list(dict.fromkeys(method.options for method in self.methods if method.own))

    @property
    def untempered_options(self) -> list[Method]:
        """The first options for each that may be relevant; a temperature changes no posterior."""
        first = {options.relevant: options for options in reversed(self.options)}
        return [options for options in self.options if first[options.relevant] == options]

    def families(self, order: Iterable[str]) -> list[Method]:
        """The methods without selections, in the order given, ours by their options.

        They are corrected if all features are kept.
        """
        available = {method.family for method in self.methods_with_predictions}
        options = [*self.options, Method(), Method(temperature=RESIDUAL)]
        families = [replace(pair, estimator=name) for name in order for pair in options]
        return [family for family in families if family in available] or [
            replace(pair, estimator="corrected") for pair in self.options
        ]

    def find(
        self, label: str, estimator: str, variant: str | None = None, options: Method | None = None
    ) -> Method | None:
        """Return a method of a selection, or None; the first unless its options are given.

        With all features there is one method, which counts as corrected and as uncorrected.
        """
        variants = (variant or self.variants[0], NONE)
        estimators = (estimator, "complete") if estimator in OURS else (estimator,)
        for method in self.methods_with_predictions:
            fits = options is None or method.options in (options, replace(options, relevant=NONE))
            fits = fits and method.estimator in estimators
            if fits and method.label == label and method.variant in variants:
                return method
        return None

    # ---- orders and priors of chapter 3 ----

    @cached_property
    def orders(self) -> list[int]:
        """Orders, ascending."""
        return sorted({method.order for method in self.own})

    def lines(self, methods: list[Method]) -> dict[str, list[Method]]:
        """Return methods by their words, each sorted by order."""
        by_words: dict[str, list[Method]] = {}
        for method in sorted(methods, key=lambda method: method.order):
            by_words.setdefault(method.words, []).append(method)
        return by_words

    def of_order(self, order: int, prior: str, *, compress: bool = True):
        """Return one of our models of patterns, of its first sampler; None if it was not fitted."""
        for method in self.own:
            alike = (method.order, method.prior, method.compress, method.engine)
            if alike == (order, prior, compress, "slice"):
                return method
        return None

    @property
    def widest_order(self) -> int:
        """The largest order of both original and compressed models, of all where one is absent."""
        keys = [(method.order, method.compress) for method in self.own if method.engine == "slice"]
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

    def parameters(self, method: Method) -> int:
        """Coefficients for each class; a method of others has none that count here."""
        if method.engine != "slice":
            return 0
        place = list(self.compression["order"]).index(method.order)
        return int(self.compression["groups" if method.compress else "patterns"][place])

    def losses(self, method: Method) -> np.ndarray:
        """Minus log probability of each test sample, (N,)."""
        return metrics.losses(self.probability(method), self.response)

    @property
    def n_samples(self) -> int:
        """Number of distinct test samples; with repeated folds each is tested several times."""
        again = 1 if self.config["drawn"] or not self.folded else self.config["replicates"]
        return len(self.response) // again

    @property
    def reliable(self) -> np.ndarray:
        """Whether the chains of each of our models support predictions, in 19 of 20 divisions."""
        return self.worst["reliable"] >= (0.95 if self.n_blocks > 1 else 1)

    # ---- how long it took ----

    def reached(self) -> Iterator[tuple[Method, pd.DataFrame]]:
        """Yield each method that has draws, and its rows of `fits`."""
        methods = self.own if self.logistic else [method for _, method in self.sampled]
        for method in methods:
            yield method, self.fits[self.fits["method"] == method.row].reset_index(drop=True)

    @cached_property
    def timings(self) -> pd.DataFrame:
        """The processor seconds of each method, as timings.csv has them; empty without methods."""
        if self.config["reduction"]:
            counts = self.reduction
            n_sets, n_settings = counts["groups"].shape
            settings = ("features", "values", "order")
            columns = {name: np.tile(counts[name], n_sets) for name in settings}
            columns["replicate"] = np.repeat(np.arange(n_sets), n_settings)
            return pd.DataFrame(columns | {name: counts[name].reshape(-1) for name in _SECONDS})
        if self.config["data"] is None:
            return pd.DataFrame()
        methods, own = self.methods, np.array([method.own for method in self.methods])
        rows = [method.row for method in methods]
        fit = self.fits.groupby("method")["seconds"].agg(["mean", "sum"]).reindex(rows)
        predict = self.prediction_arrays["seconds"] if self.tests else np.zeros((1, len(rows)))
        if self.logistic:  # the order of a method with all features is below 0
            numbers = [(m.order, m.words, self.parameters(m)) for m in methods]
            frame = pd.DataFrame(numbers, columns=["order", "model", "parameters"])
            frame["order"] = frame["order"].where(frame["order"] >= 0)
            frame["parameters"] = frame["parameters"].where(frame["parameters"] > 0)
            frame["train"], frame["predict"] = fit["mean"].to_numpy(), predict.mean(axis=0)
            return frame
        words = [(method.label, method.words, method.variant) for method in methods]
        frame = pd.DataFrame(words, columns=["features", "method", self.variant_name])
        frame["select"] = frame["features"].map(self.by_size("seconds").sum()).where(own)
        frame["fit"] = fit["sum"].to_numpy()
        frame["predict"] = np.where(own, predict.sum(axis=0), np.nan)
        frame["fit and predict"] = frame["fit"].fillna(0) + predict.sum(axis=0)
        if printed := self.comparable.get("seconds"):
            frame["thesis"] = [_printed_seconds(printed, method) for method in methods]
        return frame


def _printed_seconds(printed: Mapping[str, dict], method: Method) -> float | None:
    """Return the seconds that the thesis prints for a method; None where it prints none."""
    if method.variant == "collapsed":
        return None
    column = printed.get("corrected" if method.estimator == "complete" else method.estimator, {})
    return {str(size): seconds for size, seconds in column.items()}.get(method.label)


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
