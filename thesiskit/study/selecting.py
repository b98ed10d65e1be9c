"""The experiments of chapter 2: simulate, select, fit, predict.

Features are selected in every split; then each method is fitted, and predicts.  An *method* is one
analysis: how many features to keep, by which method, with which quadrature or sampler, whether all
features may be relevant or some, and with a temperature or without.  Which models there are is not
known here: `MODELS` has them by name, and models/base.py says what each can do.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config, too_many, two_classes
from thesiskit.datasets.source import Sizes
from thesiskit.defaults import LEAST_CHOSEN, NO_TRANSFORM, OLD_SAMPLERS, TEMPERED
from thesiskit.errors import DataError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, peers
from thesiskit.models.base import (
    OTHERS,
    OWN,
    SOFTENED,
    Arrays,
    SelectingModel,
    Training,
    check_predictions,
    pack_relevance,
)
from thesiskit.models.chains import marked
from thesiskit.models.density import SCORED, Density
from thesiskit.models.effects import effects
from thesiskit.models.folds import summarise_losses
from thesiskit.models.packed import read_columns
from thesiskit.models.peers import (
    BITS,
    FEATURES,
    NONE,
    NUMBERS,
    PEERS,
    REALS,
    Method,
    Task,
    as_columns,
)
from thesiskit.models.pipeline import Fitted
from thesiskit.models.selection import FSelection, LeftOut, Screened, Selection, count_features
from thesiskit.models.temperature import DRAWS, SEED, Temperature
from thesiskit.study.cells import Cell, CellBlock, Needs, Unfinished, Work, generator
from thesiskit.study.design import (
    LEAST_REALS,
    PAIRS,
    Design,
    Split,
    each_pair,
    group_means,
    parts_of,
    screening_limit,
)

Answer = np.ndarray | Density  # probabilities, or distributions of real responses
Pair = tuple[Split, Any]  # with its Selection, of real features FSelection
# peers that take all features as they are: one method, whatever the sizes
WHOLE_METHODS = tuple(
    name for name in peers.names(BITS, REALS, FEATURES, NUMBERS) if not PEERS[name].selects
)
STREAMS = {new: old for old, new in OLD_SAMPLERS.items()}  # names in random streams
# what result files have of selections: arrays of the features kept, and numbers
OF_CLASSES = ("selected", "correlation", "ones", "present", "f", "counts", "means", "within")
OF_FEATURES = (*OF_CLASSES, "lines")  # the latter, center and spread are of real responses
OF_NUMBERS = ("n_features", "tied", "tied_kept", "threshold", "n_constant", "unit")
OF_SELECTIONS = (*OF_NUMBERS, "center", "spread")
CHOICE_PARTS = 5  # of the pairs of inner folds: cells that processes can share
OF_SPLITS = ("tau", "tau_errors", "seconds", "inner_losses")  # of predictions
MOST_EFFECTS = 200  # features, the strongest of a selection: a millisecond each
MOST_SCATTERED = 200_000  # features of which correlations are kept for a figure


# ---- the methods ----


def selections(config: Config) -> list[Method]:
    """Return a method of each selection that is made in every split; each has another label."""
    selecting = (method for method in methods(config) if method.estimator not in WHOLE_METHODS)
    return list({method.label: method for method in selecting}.values())


def methods(config: Config) -> list[Method]:
    """Return the methods that are compared in every split."""
    model, prefiltered, compared = config.model, config.screened, []
    assert config.selection is not None
    options = list(product(model.relevances, model.temperatures))
    corrections = [name for name in model.methods if name in OWN]
    third_party = []
    for name in model.methods:
        if name not in (*OWN, *WHOLE_METHODS):
            temperatures = model.temperatures if name in OTHERS else [NONE]
            third_party.append((name, NONE, [(NONE, word) for word in temperatures]))
    sizes = config.selection.features or config.selection.thresholds or []
    transforms = getattr(config.data, "transform", [NO_TRANSFORM])
    suffixes = {kind: "" if kind == NO_TRANSFORM else f" {kind}" for kind in transforms}
    for transform, size, form in product(suffixes, sizes, config.selection.forms):
        label = str(size) if config.selection.features else f"|COR| > {size}"
        label += (f" {form}" if form else "") + suffixes[transform]
        origins = [None] if prefiltered is None else prefiltered.of
        # a selection as it is, and as the correction has it: one for each `of` of a list
        plain = (label, origins[0] if len(origins) == 1 else None)
        counted = [(f"{label} of {of:,}", of) for of in origins if len(origins) > 1] or [plain]
        analyses = [
            (name, variant, options) for variant, name in product(model.variants, corrections)
        ]
        if size == "all" and prefiltered is None:  # with nothing to correct the two are the same
            # samplers that differ in the factor alone are the same, too
            equal_variants = [variant for variant in model.variants if variant in STREAMS]
            variants = [variant for variant in model.variants if variant not in equal_variants[1:]]
            analyses = [("complete", variant, options) for variant in variants]
        else:
            analyses += third_party
        base = Method(size=size, form=form, transform=transform)
        for name, variant, pairs in analyses:
            corrected = OTHERS.get(name, ("", name))[1] == "corrected"
            analysis = replace(base, estimator=name, variant=variant)
            compared += [
                replace(analysis, label=text, of=of, relevant=relevant, temperature=temperature)
                for (text, of), (relevant, temperature) in product(
                    counted if corrected else [plain], pairs
                )
            ]
    whole = [name for name in model.methods if name in WHOLE_METHODS]
    compared += [
        Method(label=f"all{suffixes[transform]}", estimator=name, transform=transform)
        for transform, name in product(suffixes, whole)
    ]
    unique: dict[Method, None] = {}
    for method in compared:
        kind = OTHERS.get(method.estimator, (model.kind, ""))[0]
        if MODELS[kind].takes == BITS:  # features cut at medians have no transform
            label = method.label.replace(suffixes[method.transform], "")
            method = replace(method, label=label, transform=NO_TRANSFORM)
        unique[replace(method, name=method.selection_name)] = None
    return [*unique]


# ---- selecting ----


def select(config: Config, splits: Iterable[Split], *, first: bool) -> Arrays:
    """Return the arrays of the select stage; the first block has correlations to draw, too."""
    selections_made: list[Any] = []
    seconds = []
    arrays: Arrays = {}
    selectors, takes = selections(config), "reals" if config.takes_reals else "bits"
    for split in splits:
        _ = split.reals() if config.takes_reals else split.bits()  # before the clock starts
        for method in selectors:
            started = time.process_time()
            part = split.transformed(method.transform)
            selections_made.append(select_one(config, part, method, takes))
            seconds.append(time.process_time() - started)
        if first and not arrays and config.scheme == "test-set" and not config.takes_reals:
            arrays = _both_correlations(split)
    labels = np.array([method.label for method in selectors])
    return arrays | {"label": labels} | pack_selections(selections_made, np.array(seconds))


def select_one(
    config: Config,
    split: Split,
    method: Method,
    takes: str,
    *,
    at_most: bool = False,
    **options: Any,
) -> Selection | FSelection:
    """Select features for a method as a model takes them, "bits" or "reals".

    options : of the selector of the split.
    at_most : keep all features that vary where they are fewer than asked for, as they may be
        in a part of a training set.
    """
    block, real = config.selection, takes == "reals"
    assert block is not None
    prefiltered = None
    if block.screened is not None and method.of is not None:
        # a threshold for real features says nothing of bits
        limit = screening_limit(config) if config.takes_reals == real else None
        prefiltered = Screened(method.of, limit)
    size = None if block.thresholds or method.size == "all" else int(method.size)
    if method.size == "all" and (real or prefiltered is None):  # else None says that all are kept
        size, at_most = split.width, True
    selector = split.selector(
        config,
        method,
        n_features=size,
        threshold=str(method.size) if block.thresholds else None,
        prefiltered=prefiltered,
        ties=block.ties,
        at_most=at_most,
        **options,
    )
    # which of equal features are kept
    rng = generator(config.seed, "ties", *split.place, str(method.size))
    try:
        return split.select(selector, takes, rng)
    except DataError:
        raise
    except UserError as error:
        if not real or size != method.size:
            raise
        raise config.wrong("selection.features", str(error)) from None


def as_if_new(config: Config, split: Split, X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Imitate samples that a filtering of the table did not see, one for each training sample.

    They are those of the normal model of all columns, whichever models the config has, and of the
    largest number of features before the filtering.  X (n, p), y (n,), result (n, p), None of a
    table that was not filtered; columns that do not vary are left as they are.
    """
    if config.screened is None:
        return None
    method = Method(label="all", of=max(config.screened.of), estimator="corrected")
    selection = select_one(config, split, method, "reals")
    table, groups = partial(read_columns, X, selection.selected), split.groups_of(split.train)
    training = Training(selection, y, table, groups=groups)
    normal, rng = MODELS["normal"](), np.random.default_rng(SEED)
    draws, _ = normal.imitate(normal.fit(training), training, rng)
    imitated = np.array(X, dtype=float)
    imitated[:, selection.selected] = draws[: len(y)]
    return imitated


def _both_correlations(split: Split) -> Arrays:
    """|COR| of every feature in training and test samples, for the scatter plot."""
    features, y = split.bits(), split.response
    if len(features) > MOST_SCATTERED or len(np.unique(y[split.test])) < 2:
        return {}
    return {
        f"{name}_correlation": np.sqrt(count_features(features, y, samples)[2])
        for name, samples in (("train", split.train), ("test", split.test))
    }


def pack_selections(made: list[Any], seconds: np.ndarray) -> Arrays:
    """Return selections as arrays; lists of unequal length lie end to end.

    Where values are missing, `present` is there as well.
    """
    if any(getattr(selection, "present", None) is not None for selection in made):
        for i, selection in enumerate(made):
            if selection.present is None:
                present = np.tile(selection.class_counts, (len(selection.selected), 1))
                made[i] = replace(selection, present=present)

    def values(name: str) -> list[Any]:
        return [getattr(selection, name, None) for selection in made]

    sizes, rows = [len(selected) for selected in values("selected")], values("left_out")
    names = [name for name in (*OF_FEATURES, *OF_SELECTIONS) if values(name)[0] is not None]
    arrays = {
        name: np.concatenate(values(name)) if name in OF_FEATURES else np.array(values(name))
        for name in names
    }
    if "f" not in arrays:
        arrays["gamma_squared"] = np.array([str(square) for square in values("gamma_squared")])
        arrays["tied_at_screening"] = np.array([left_out.tied_kept for left_out in rows])
        kinds = [np.int64 if left_out.total >> 31 else np.int32 for left_out in rows]
        rows = [left_out.rows.astype(kind) for left_out, kind in zip(rows, kinds, strict=True)]
    else:
        arrays["limits"] = np.concatenate(values("limits"))
    for name in arrays.keys() & {"selected", "ones", "present"}:
        if arrays[name].max(initial=0) < 1 << 31:  # patterns have larger numbers
            arrays[name] = arrays[name].astype(np.int32)
    return arrays | {
        "class_counts": np.array(values("class_counts")),
        "seconds": seconds,
        "kept": np.array(sizes),
        "offset": np.cumsum([0, *sizes]),
        "left_out": np.concatenate(rows),
        "left_out_offset": np.cumsum([0, *map(len, rows)]),
    }


def unpack_selections(arrays: Arrays) -> list[Selection | FSelection]:
    """Return the selections that pack_selections packed."""
    result: list[Selection | FSelection] = []
    for i, counts in enumerate(arrays["class_counts"]):
        part = slice(arrays["offset"][i], arrays["offset"][i + 1])
        rows = arrays["left_out"][arrays["left_out_offset"][i] : arrays["left_out_offset"][i + 1]]
        values: dict[str, Any] = {n: arrays[n][part] for n in OF_FEATURES if n in arrays}
        values |= {name: arrays[name][i].item() for name in OF_SELECTIONS if name in arrays}
        if "f" in arrays:
            del values["correlation"]  # it follows
            values["limits"] = arrays["limits"][slice(*arrays["left_out_offset"][i : i + 2])]
            result.append(FSelection(**values, left_out=rows, class_counts=counts))
            continue
        square = Fraction(str(arrays["gamma_squared"][i]))
        left_out = LeftOut(rows, square, int(arrays["tied_at_screening"][i]))
        values |= {"gamma_squared": square, "left_out": left_out}
        result.append(Selection(**values, class_counts=tuple(counts.tolist())))
    return result


# ---- the experiment ----


class SelectionWork(Work):
    """Features are selected in every split, then each method is fitted and predicts.

    design : of the data.
    all_methods, own_methods, fitted_methods : by name methods; all, ours, and those of the stage
        `fit`: ours, and to predict new samples those of others, too.
    """

    design_class = Design

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.model, self.kind = config.model, MODELS[config.model.kind]
        names = [name for name in self.model.methods if name in OTHERS]
        self.others = {name: MODELS[OTHERS[name][0]] for name in names}
        assert config.data is not None
        self.design = self.design_class(config, folder)
        self.stages = ("simulate", "select", "fit", "predict")
        if config.scheme == "none":
            self.stages = self.stages[:-1]  # nobody is tested
        self.all_methods = {method.name: method for method in methods(config)}
        self.own_methods = {name: method for name, method in self.all_methods.items() if method.own}
        self.fitted_methods = self.all_methods if config.for_new_samples else self.own_methods
        self.model_of = lru_cache(maxsize=None)(self._model_of)
        self._draws = lru_cache(maxsize=1)(read_draws)
        self._selected = lru_cache(maxsize=1)(lambda block: unpack_selections(block.load("select")))

    @property
    def modules(self) -> tuple[str, ...]:
        models = {self.kind, *self.others.values()}
        return (*super().modules, *sorted(model.__module__ for model in models))

    @cached_property
    def data_digest(self) -> str:
        """What identifies the tables; simulated data are their settings."""
        return "".join(table.digest for table in self.design.tables)

    @property
    def notes(self) -> list[str]:
        """What is left out of the model, or of the evaluation, a line each."""
        notes, n = [], self.design.n_classes
        lost = [word for word, model in self.others.items() if n > (model.most_classes or n)]
        if lost:
            what = "no predictions with more than two classes"
            notes.append(f"model.methods: {', '.join(lost)}: {what}")
        if self.config.evaluation.choose and not self.chooses:
            folds, scheme = self.design.folds, self.config.scheme
            lack = f"which needs four folds; there are {folds} (evaluation.scheme: {scheme})"
            notes.append(f"evaluation.choose: no nested cross-validation, {lack}")
        return notes

    @cached_property
    def chooses(self) -> bool:
        """Whether methods are chosen inside folds, which have to be enough."""
        return self.config.evaluation.choose and self.design.folds >= LEAST_CHOSEN

    @property
    def described(self) -> dict[str, Any]:
        return super().described | {"model_words": self.kind.words, "takes": self.kind.takes}

    # ---- methods ----

    def _model_of(self, method: Method) -> SelectingModel:
        """Return the model of a method of ours; a model of another kind has the priors it knows."""
        with self._named():
            if method.estimator in self.others:
                return self.others[method.estimator].with_priors_of(self.config.first_model)
            return self.kind.of(self.model, method.variant, method.relevant)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Say where the field was given with which the message of an error begins."""
        try:
            yield
        except UserError as error:
            name = re.split(r"\W", str(error))[0]
            known = name in type(self.model).model_fields
            text = str(error).removeprefix(f"{name}: ")
            raise self.config.wrong(f"model.{name}" if known else "model", text) from None

    def methods(self, stage: str) -> dict[str, int]:
        if stage == "predict":  # with parts of the pairs of inner folds
            return dict.fromkeys(self.all_methods, CHOICE_PARTS if self.chooses else 0)
        if stage != "fit":
            return {}
        # chains that have to agree are one cell
        models = {name: self.model_of(method) for name, method in self.own_methods.items()}
        chains = {name: model.chains_apart for name, model in models.items()}
        return {name: chains.get(name, 0) for name in self.fitted_methods}

    def draws_name(self, stage: str, method: str) -> str | None:
        one = self.own_methods.get(method)
        if stage != "fit" or one is None or not self.model_of(one).sampled:
            return None
        words = [one.label, one.estimator, one.variant]
        words += [TEMPERED] if one.tempered else []
        name = "-".join(words).lower()
        return re.sub(r"[^0-9a-z.]+", "-", name).strip("-")

    # ---- settings ----

    def check(self) -> None:
        """Raise ConfigError for sizes that the table does not have, and priors beyond limits."""
        missing, design = sum(table.missing for table in self.design.tables), self.design
        if missing and not self.kind.takes_missing:
            fault = (
                f"{missing:,} values are missing, and the {self.kind.kind} model does not accept "
            )
            fix = "them. Fix: use naive-bayes, which omits their terms, or fill them in"
            raise self.config.wrong("model.kind", fault + fix)
        if not self.kind.selects:
            block = self.config.selection
            assert block is not None
            if block.features != ["all"]:
                fault = f"the {self.kind.kind} model uses all features, and selects among them "
                fault += "inside its folds"
                raise self.config.wrong("selection", f"{fault}. Fix: set features: [all]")
            if block.screened is not None:
                fault = f"the {self.kind.kind} model does not correct for filtering"
                raise self.config.wrong("selection.screened", f"{fault}. Fix: remove it")
        problems = [too_many(self.config, t.features.shape[1]) for t in design.tables[:1]]
        if self.kind.most_classes == 2:
            problems.append(two_classes(self.config, design.n_classes))
        for problem in filter(None, problems):
            raise self.config.wrong(*problem.split(": ", 1))
        design.check()
        for method in self.own_methods.values():
            with self._named():
                self.model_of(method).check(design.n_classes)

    def settings_of(self, stage: str, name: str = "") -> object:
        config = self.config
        assert config.data is not None
        assert config.selection is not None
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme", "choose"})
            if config.scheme != "k-fold":
                del evaluation["folds"]
            priors = config.first_model.priors_of_draws if config.drawn else None
            data = [config.data.model_dump(exclude={"transform"}), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":  # a method says itself which selection it is of
            selection = config.selection.model_dump(include={"ties", "screened"} if name else None)
            return selection if name else [selection, getattr(config.data, "transform", None)]
        if stage == "predict":
            return "choose" if self.chooses else False
        if not name:  # results of classes are older than the key
            return config.model.model_dump(exclude=None if config.continuous else {"response"})
        method = self.all_methods[name]
        return {} if method.estimator in PEERS else self.model_of(method).settings

    def needs(self, replicates: int) -> Needs:
        self.check()
        config = self.config
        assert config.data is not None
        sizes = config.data.sizes
        if sizes is None:
            first, *others = self.design.tables
            tests = sum(len(table.response) for table in others)
            sizes = Sizes(len(first.response), tests, first.features.shape[1])
        n, p, groups = sizes.train + sizes.test, sizes.width, config.evaluation.feature_groups
        splits = replicates * self.design.folds * groups
        sizes_selected = {
            method.label: method.size if isinstance(method.size, int) else p
            for method in selections(config)
        }
        every = config.scheme not in ("test-set", "none")
        tested = replicates * groups * (n if every else sizes.test)
        drawn = config.drawn
        bits = replicates * 8 * p * math.ceil(n / 64) * drawn
        needed = Needs(fits=splits * len(self.own_methods))
        needed.memory = bits + n * p * drawn + 8 * tested
        forms = {method.transform for method in self.all_methods.values()} - {NO_TRANSFORM}
        needed.memory += 8 * n * p * len(forms)  # each has a table of its own
        needed.disk = bits + replicates * 5 * n + 4 * splits * sum(sizes_selected.values())
        needed.disk += tested * (8 * len(self.all_methods) + 5)
        sizes_of_fits = []
        for method in self.own_methods.values():
            size, iterations = self.model_of(method).needs(
                sizes.train, sizes_selected[method.label]
            )
            sizes_of_fits.append(splits * size)
            if method.tempered:  # samples are imitated one training set at a time
                needed.memory += DRAWS * sizes.train * sizes_selected[method.label] * 8
            fits = splits + self.chooses * replicates * groups * PAIRS
            needed.iterations += fits * iterations
        needed.disk += sum(sizes_of_fits)
        together = max(sizes_of_fits, default=0) if self.kind.has_chains else sum(sizes_of_fits)
        needed.memory += together
        return needed

    # ---- making it ----

    def make(self, cell: Cell, block: CellBlock, unfinished: Unfinished) -> Arrays:
        if cell.stage == "simulate":
            return self.design.draw(block.replicates)
        if not cell.method:
            return self.select(block, unfinished)
        method = self.all_methods[cell.method]
        if cell.stage == "predict" and cell.chain is not None:
            return self._judge_pairs(method, cell.chain, block)
        if cell.stage == "predict":
            return self._predict(method, block)
        if method.estimator in PEERS:
            return self._fit_peer(method, block)
        model = self.model_of(method)
        if self.kind.has_chains:
            return self._sample(model, method, cell.chain, block, unfinished)
        return self._fit(model, method, block)

    def join(self, stage: str, made: list[Arrays], block: CellBlock) -> Arrays:
        described = as_columns((self.own_methods if stage == "fit" else self.all_methods).values())
        if stage == "fit":
            fits = dict(zip(self.fitted_methods, made, strict=True))
            rows = [row for row, name in enumerate(self.all_methods) if name in self.own_methods]
            joined = self.kind.join([fits[name] for name in self.own_methods])
            return joined | {"arm": np.array(rows)} | described
        data = block.load("simulate", ("response", "fold"))
        tested = self.design.tested(block.replicates, data) | described
        for name in ("probability", *SCORED, *OF_SPLITS):
            if name in made[0]:
                tested[name] = np.array([arrays[name] for arrays in made])
        tested |= {name: tested[name].swapaxes(0, 1) for name in OF_SPLITS if name in tested}
        return tested

    def select(self, block: CellBlock, unfinished: Unfinished) -> Arrays:
        """Return the arrays of the select stage."""
        return select(self.config, self.splits(block), first=block.number == 0)

    def splits(self, block: CellBlock) -> Iterator[Split]:
        """Yield the splits of a block, and report the fold of each."""
        for split in self.design.splits(block.replicates, block.load("simulate")):
            block.graph.progress(split.fold, self.design.folds)
            yield split

    def pairs(self, method: Method, block: CellBlock) -> Iterator[Pair]:
        """Return each split of a block with the selection that a method has there."""
        labels = [method.label for method in selections(self.config)]
        # what takes all features has no selection of its own
        place = 0 if method.estimator in WHOLE_METHODS else labels.index(method.label)
        splits = (split.transformed(method.transform) for split in self.splits(block))
        return zip(splits, self._selected(block)[place :: len(labels)], strict=True)

    def _fit(self, model: SelectingModel, method: Method, block: CellBlock) -> Arrays:
        """Return the posteriors of a method, (splits, ...) each, as `Model.pack` has them.

        Also the temperatures, and seconds (splits,).  Where some features are relevant,
        `pack_relevance` says what else, and effect (., C, 6) is as of `effects`, by feature; where
        no sample is tested, promised (splits,) is the error that the model expects.
        """
        posteriors: list[Any] = []
        seconds, softened, promised = [], [], []
        for split, selection in self.pairs(method, block):
            started = time.process_time()
            training = self._training(method, split, selection)
            fitted = Fitted.of(model, training, tempered=method.tempered)
            posteriors.append(fitted.posterior)
            softened.append(fitted.temperature or Temperature.none(split.classes))
            seconds.append(time.process_time() - started)
            if self.config.screened is not None and self.config.scheme == "none":
                # no errors are seen
                rng = generator(self.config.seed, "promise", split.replicate)
                expected = model.predicted_error(posteriors[-1], rng)
                soft = softened[-1].expected  # NaN without a temperature
                promised.append(expected if np.isnan(soft) else soft)
        arrays = model.pack(posteriors)
        if method.relevant == "some":
            most = 0 if method.estimator == "uncorrected" else MOST_EFFECTS
            found = [effects(model.kind, posterior, most) for posterior in posteriors]
            effect = np.concatenate(found).astype(np.float32)
            arrays |= pack_relevance(posteriors) | {"effect": effect}
        arrays |= {"promised": np.array(promised)} if promised else {}
        return arrays | _as_arrays(softened) | {"seconds": np.array(seconds)}

    def _sample(
        self,
        model: Any,
        method: Method,
        chain: int | None,
        block: CellBlock,
        unfinished: Unfinished,
    ) -> Arrays:
        """Return what a chain leaves in every split, or what all chains of a method come to.

        The draws of a method go to a file of their own.
        """
        apart = range(model.chains_apart) if chain is None else ()
        chains = [block.read("fit", method.name, number) for number in apart]
        for s, (split, selection) in enumerate(self.pairs(method, block)):
            if s in unfinished.fits:
                continue
            running = unfinished.begin(s)
            training = self._training(method, split, selection)
            if chain is not None:
                fit = model.run_chain(training, chain, running)
            else:
                table = split.values(selection.selected, split.test, model.takes)
                parts = [marked(arrays, f"{s}/") for arrays in chains]
                fit = model.summarise(training, parts, table, running)
            unfinished.finish(fit)
        fits = [fit for _, fit in sorted(unfinished.fits.items())]
        if chain is not None:
            return {f"{s}/{name}": fit[name] for s, fit in enumerate(fits) for name in fit}
        for fit, (split, _) in zip(fits, self.pairs(method, block), strict=True):
            untempered = _as_arrays([Temperature.none(split.classes)])
            fit |= {name: value[0] for name, value in untempered.items()}
        if model.sampled:
            about = {"method": method.estimator, "features_kept": method.label}
            draws = model.draw_groups(fits, {"key": block.key("fit", method.name)} | about)
            write_draws(block.draws("fit", method.name), *draws)
        return model.pack(fits)

    def _fit_peer(self, method: Method, block: CellBlock) -> Arrays:
        """Return what a method of others learns of all samples, as `peers.fit` returns it."""
        ((split, selection),) = self.pairs(method, block)
        name, k, train = method.estimator, len(selection.selected), split.train
        task, table, seed = self._third_party_inputs(name, split, k)
        learnt = peers.fit(name, task, table[train], split.response[train], seed)
        return learnt | {"task": np.array([task.kind, str(task.classes), str(task.keep)])}

    # ---- predictions ----

    def _predict(self, method: Method, block: CellBlock) -> Arrays:
        stored = block.read("fit", method.name) if method.own else None
        predicted, seconds, softened = [], [], []
        for s, (split, selection) in enumerate(self.pairs(method, block)):
            temperature = Temperature.none(split.classes)
            table = split.values(selection.selected, split.test, self.kind.takes)
            if method.estimator in PEERS:  # packages, before the clock starts
                peers.load(method.estimator, split.task(method.estimator, 0).kind)
            started = time.process_time()
            if stored is not None:
                fitted = self.fitted(stored, s, method, (split, selection), block)
                temperature = fitted.temperature or temperature
                answer = _predict(fitted, table, split)
            elif method.estimator in OTHERS:
                answer, temperature = self.select_fit_predict(method, split)
            else:
                answer = self._predict_third_party(method.estimator, split, len(selection.selected))
            if isinstance(answer, Density):
                predicted.append(check_predictions(answer.scores(split.response[split.test])))
            else:
                predicted.append({"probability": answer})
                if not np.isnan(answer).all():  # of a model that takes fewer classes
                    check_predictions(predicted[-1])
            seconds.append(time.process_time() - started)
            softened.append(temperature)
        arrays = _as_arrays(softened) | {"seconds": np.array(seconds)}
        del arrays["offset"]  # it is that of the fit
        if self.chooses:
            arrays["inner_losses"] = self._inner_losses(method, block)
        return arrays | {
            name: np.concatenate([answer[name] for answer in predicted]) for name in predicted[0]
        }

    def fitted(
        self, stored: Arrays, s: int, method: Method, pair: Pair, block: CellBlock
    ) -> Fitted:
        """Return the model of a method that was fitted in split s, from its stored arrays."""
        model, (split, selection) = self.model_of(method), pair
        if model.sampled:
            path, key = block.draws("fit", method.name), block.key("fit", method.name)
            stored = self._draws(path, key) | stored
        posterior, temperature = model.unpack(stored, s, self._training(method, *pair)), None
        if method.tempered:
            temperature = Temperature(*(stored[name][s] for name in SOFTENED))
        transform = split.fitted_transform and split.fitted_transform.take(selection.selected)
        return Fitted(model, posterior, selection.selected, temperature, transform)

    def _parts_of_folds(self, block: CellBlock) -> dict[int, np.ndarray]:
        """Return the part of each sample of each replicate: see `parts_of`."""
        data = block.load("simulate", ("fold", "response"))
        divisions = zip(block.replicates, data["fold"], data["response"], strict=True)
        return {replicate: parts_of(fold, y) for replicate, fold, y in divisions}

    def _judge_pairs(self, method: Method, number: int, block: CellBlock) -> Arrays:
        """Return excess log losses of a method in one of CHOICE_PARTS parts of the pairs of folds.

        They are of left-out training samples: see `each_pair`.  Samples for which a class of fewer
        than two others is left do not count.  Of real responses they are excess negative log
        densities, and three different ones are needed.

        losses (M, 4) : replicate, group, the part that is judged, and a loss.
        """
        parts, losses = self._parts_of_folds(block), [np.empty((0, 4))]
        pairs = self.design.splits(block.replicates, block.load("simulate"), each_pair)
        for pair, split in islice(enumerate(pairs), number, None, CHOICE_PARTS):
            block.graph.progress(pair, PAIRS * len(block.replicates), "inner fold")
            least = 2 if split.classes else LEAST_REALS
            if split.class_counts.min() < least or np.ptp(split.response[split.train]) == 0:
                continue
            split = split.transformed(method.transform)
            loss = split.excess(self.select_fit_predict(method, split)[0])
            part, groups = parts[split.replicate][split.test], split.groups_of(split.test)
            a, b = np.unique(part)
            for judged_part, other in ((a, b), (b, a)):
                of = part == other
                means = group_means(loss[of], None if groups is None else groups[of])
                place = np.tile((split.replicate, split.group, judged_part), (len(means), 1))
                losses.append(np.column_stack([place, means]))
        return {"losses": np.concatenate(losses)}

    def _inner_losses(self, method: Method, block: CellBlock) -> np.ndarray:
        """Summarise excess log losses of a method before each split is tested, (splits, 3)."""
        arrays = (block.read("predict", method.name, number) for number in range(CHOICE_PARTS))
        losses = np.concatenate([part["losses"] for part in arrays])
        parts, summaries = self._parts_of_folds(block), []
        for split in self.splits(block):
            place = split.replicate, split.group, parts[split.replicate][split.test[0]]
            summaries.append(summarise_losses(losses[(losses[:, :3] == place).all(axis=1), 3]))
        return np.array(summaries)

    def select_fit_predict(self, method: Method, split: Split) -> tuple[Answer, Temperature]:
        """Return what a method predicts after a selection of its own, and its temperature."""
        if method.estimator in PEERS:
            k, takes = 0, self.kind.takes
            if PEERS[method.estimator].selects:
                k = len(select_one(self.config, split, method, takes, at_most=True).selected)
            answer = self._predict_third_party(method.estimator, split, k)
            return answer, Temperature.none(split.classes)
        model = self.model_of(method)
        if split.classes > (model.most_classes or split.classes):
            unknown = Temperature(np.nan, np.zeros(split.classes))
            return np.full((len(split.test), split.classes), np.nan), unknown
        selection = select_one(self.config, split, method, model.takes, at_most=True)
        training = self._training(method, split, selection, within=True)
        table = split.values(selection.selected, split.test, model.takes)
        fitted = Fitted.of(model, training, tempered=method.tempered)
        return _predict(fitted, table, split), fitted.temperature or Temperature.none(split.classes)

    def _third_party_inputs(
        self, method: str, split: Split, k: int
    ) -> tuple[Task, np.ndarray, int]:
        """Return the task of a third-party method in a split, the table of it, and a seed."""
        seed = int(generator(self.config.seed, method, *split.place).integers(2**31))
        task = replace(split.task(method, k), groups=split.groups_of(split.train))
        return task, split.table(task), seed

    def _predict_third_party(self, method: str, split: Split, k: int) -> Answer:
        """Return what a third-party method predicts of the test samples of a split.

        k : how many features are selected, by a method that selects.
        """
        task, table, seed = self._third_party_inputs(method, split, k)
        y, train = split.response, split.train
        p = peers.fit_predict(method, task, table[train], y[train], table[split.test], seed)
        if not split.classes:
            return Density.of_students(p)
        return p[:, 1] if split.classes == 2 else p

    def _training(
        self, method: Method, split: Split, selection: Any, *, within: bool = False
    ) -> Training:
        """Return what the model of a method is fitted to in a split, or in a part of one."""
        model, seed = self.model_of(method), self.config.seed
        variant = STREAMS.get(method.variant, method.variant)
        place = (*split.place, method.label, method.estimator, variant)
        if within and model.chains:  # the first test sample says which part of a training set it is
            whole = generator(seed, "chains within", *place, int(split.test[0]))
            rngs = whole.spawn(model.chains)
        else:
            rngs = [generator(seed, "chain", *place, chain) for chain in range(model.chains)]
        table = partial(split.values, selection.selected, split.train, model.takes)
        _, estimator = OTHERS.get(method.estimator, ("", method.estimator))
        y = split.response[split.train]
        groups = split.groups_of(split.train)
        return Training(selection, y, table, estimator != "uncorrected", rngs, groups=groups)


def _as_arrays(temperatures: list[Temperature]) -> Arrays:
    """Return tau, offset and tau_errors of each temperature."""
    values = zip(*([t.tau, t.offset, t.errors] for t in temperatures), strict=True)
    return dict(zip(SOFTENED, map(np.array, values), strict=True))


def _predict(fitted: Fitted, values: np.ndarray, split: Split) -> Answer:
    """Return P(class 1) of the test samples, (T,), or P(class), (T, G), of more than two classes.

    Of real responses it is their distributions.  values : (T, k) of the selected features.
    """
    if not split.classes:
        return fitted.density(values)
    p = split.adjusted(fitted.predict(values))
    return p[:, 1] if p.shape[1] == 2 else p
