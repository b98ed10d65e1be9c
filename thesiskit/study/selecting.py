"""The experiments of chapter 2: simulate, select, fit, predict.

Features are selected in every split; then each arm is fitted, and predicts.  An *arm* is one
analysis: how many features to keep, by which method, with which quadrature or sampler, whether all
features may be relevant or some, and with a temperature or without.  Which models there are is not
known here: `MODELS` has them by name, and models/base.py says what each can do.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import WHOLE, WHOLE_METHODS, Config, too_many, two_classes
from thesiskit.datasets.source import Sizes
from thesiskit.errors import ConfigError, DataError, UserError
from thesiskit.files import read_draws, write_draws
from thesiskit.models import MODELS, peers, ranks
from thesiskit.models.base import (
    OTHERS,
    OWN,
    Arrays,
    Model,
    Training,
    as_probability,
    pack_relevance,
)
from thesiskit.models.peers import BITS, PEERS, REALS, Task
from thesiskit.models.ranks import Ranks
from thesiskit.models.selection import (
    FSelection,
    LeftOut,
    Screened,
    Selection,
    correlations,
    count_present,
    f_of_correlation,
    score_present,
    select_features,
)
from thesiskit.models.temperature import cross_validated, temper
from thesiskit.registry import fit_command
from thesiskit.study.cells import Block, Cell, Needs, Unfinished, Work, generator
from thesiskit.study.design import FOLDS, Design, Split, f_threshold, keep_best

Pair = tuple[Split, Any]  # with its Selection, of real features FSelection
NONE, CV = "none", "cv"  # temperatures
DESCRIBED = ("label", "method", "variant", "relevant", "temperature")  # of an arm
# of selections of real features
PER_FEATURE = ("selected", "f", "counts", "means", "within")
NUMBERS = ("threshold", "n_features", "n_constant", "tied", "tied_kept")
MOST_SCATTERED = 200_000  # features of which correlations are kept for a figure


# ---- the arms ----


@dataclass(frozen=True)
class Arm:
    """One analysis of a split; `size` counts through `selections`."""

    size: int
    label: str  # that of the selection
    method: str
    variant: str  # the rule for theta, or the sampler; "none" for a peer
    relevant: str = "all"  # which features may be relevant, "all" or "some"; "none" for a peer
    temperature: str = NONE  # or "cv"

    @property
    def name(self) -> str:
        """What it is called, the same whatever else is done."""
        others = (self.method, self.variant, self.relevant, "tempered" if self.tempered else NONE)
        return " ".join([self.label, *(word for word in others if word not in (NONE, "all"))])

    @property
    def tempered(self) -> bool:
        """Whether its log odds are divided by a temperature."""
        return self.temperature == CV


@dataclass(frozen=True)
class Chosen:
    """A selection that is asked for.

    size : a number of features, "all", or a threshold.
    of : how many features there were before the table was screened, 0 for as many as the table has;
        None where it was not, or where the arms of this selection do not ask.
    """

    label: str  # how many features: "10", "all", or "|COR| > 0.2"; of several, "10 of 5,000"
    size: int | str | float
    of: int | None = None


def selections(config: Config) -> list[Chosen]:
    """Return the selections that are made in every split; each has another label."""
    return list(dict.fromkeys(chosen for chosen, *_ in _analyses(config)))


def arms(config: Config) -> list[Arm]:
    """Return what is done with every split."""
    place = {chosen: i for i, chosen in enumerate(selections(config))}
    every = [Arm(place[chosen], chosen.label, *how) for chosen, *how in _analyses(config)]
    whole = [method for method in config.model.methods if method in WHOLE_METHODS]
    return every + [Arm(0, "all", method, NONE, NONE) for method in whole]


def _analyses(config: Config) -> Iterator[tuple[Chosen, str, str, str, str]]:
    """Yield for each arm a selection, a method, a variant, what may be relevant, a temperature."""
    assert config.selection is not None
    screened, model = config.selection.screened, config.model
    rivals = [method for method in model.methods if method not in (*OWN, *WHOLE_METHODS)]
    ways = list(product(model.relevances, model.temperature))
    for size in config.selection.features or config.selection.thresholds or []:
        label = str(size) if config.selection.features else f"|COR| > {size}"
        before = [None] if screened is None else screened.of or [0]
        # a selection as it is, and as the correction has it: one for each `of` of a list
        plain = Chosen(label, size, before[0] if len(before) == 1 else None)
        counted = [plain]
        if len(before) > 1:
            counted = [Chosen(f"{label} of {of:,}", size, of) for of in before]
        for variant in model.variants:
            if size == "all" and screened is None:
                # with nothing to correct the two are one
                if variant != "as-printed" or "thesis" not in model.variants:
                    for way in ways:
                        yield plain, "complete", variant, *way
                continue
            for method in (method for method in model.methods if method in OWN):
                mine = counted if method == "corrected" else [plain]
                for chosen, way in product(mine, ways):
                    yield chosen, method, variant, *way
        for rival in rivals if size != "all" or screened else ():
            mine = counted if OTHERS.get(rival, ("", ""))[1] == "corrected" else [plain]
            temperatures = model.temperature if rival in OTHERS else [NONE]
            for chosen, temperature in product(mine, temperatures):
                yield chosen, rival, NONE, NONE, temperature


# ---- selecting ----


def select(config: Config, splits: Iterable[Split], *, first: bool) -> Arrays:
    """Return the arrays of the select stage; the first block has correlations to draw, too.

    Where selection.screened.keep leaves columns out before, columns (splits, keep) are the others,
    and features that are selected are numbered among them.
    """
    made: list[Any] = []
    seconds: list[float] = []
    arrays: Arrays = {}
    columns: list[np.ndarray] = []
    every, takes = selections(config), "reals" if config.takes_reals else "bits"
    for split in splits:
        columns += [] if split.columns is None else [split.columns]
        _ = split.reals() if config.takes_reals else split.bits()  # before the clock starts
        for chosen in every:
            started = time.perf_counter()
            made.append(select_one(config, split, chosen, takes))
            seconds.append(time.perf_counter() - started)
        if first and not arrays and config.scheme == "test-set" and not config.takes_reals:
            arrays = _both_correlations(split)
    if columns:
        arrays["columns"] = np.array(columns, dtype=np.int32)
    labels = np.array([chosen.label for chosen in every])
    return arrays | {"label": labels} | pack_selections(made, np.array(seconds))


def select_one(
    config: Config, split: Split, chosen: Chosen, takes: str, *, at_most: bool = False
) -> Selection | FSelection:
    """Select features as a model takes them, "bits" or "reals".

    at_most : keep all real features that vary where they are fewer than asked for, as they may be
        in a part of a training set.
    """
    wanted = config.selection
    assert wanted is not None
    # which of equal features are kept
    rng = generator(config.seed, "ties", *split.place, str(chosen.size))
    real, before = takes == "reals", None
    if wanted.screened is not None and chosen.of is not None:
        limit: Any = None
        if config.takes_reals == real:  # a threshold for real features says nothing of bits
            limit = f_threshold(config, split) if real else wanted.screened.threshold
        if limit is not None and not real:
            limit = Fraction(str(limit)) ** 2
        before = Screened(chosen.of or split.width, limit)
    if not real:
        k = threshold = None
        if wanted.thresholds:
            threshold = str(chosen.size)
        elif chosen.size != "all":
            k = int(chosen.size)
        elif before is None:  # else None says that all are kept
            k = split.width
        return select_features(
            split.bits(),
            split.response,
            k,
            rng,
            threshold=threshold,
            cases=split.train,
            ties=wanted.ties,
            screened=before,
        )
    if wanted.thresholds:
        f = f_of_correlation(float(chosen.size), split.class_counts)
        return split.select_by_f(None, rng, threshold=f, screened=before)
    if chosen.size == "all":
        return split.select_by_f(split.width, rng, screened=before, at_most=True)
    try:
        return split.select_by_f(int(chosen.size), rng, screened=before, at_most=at_most)
    except DataError:
        raise
    except UserError as error:
        raise config.wrong("selection.features", str(error)) from None


def _both_correlations(split: Split) -> Arrays:
    """|COR| of every feature in training and test cases, for the scatter plot."""
    features, y = split.bits(), split.response
    if len(features) > MOST_SCATTERED or len(np.unique(y[split.test])) < 2:
        return {}
    found = {}
    for name, cases in (("train", split.train), ("test", split.test)):
        if features.known is not None:
            values = np.sqrt(score_present(*count_present(features, y, cases)))
        else:
            table = features.unpack(np.arange(len(features)))
            values = np.abs(correlations(table, y[cases], cases))
        found[f"{name}_correlation"] = values
    return found


def pack_selections(made: Sequence[Any], seconds: np.ndarray) -> Arrays:
    """Return selections as arrays; lists of unequal length lie end to end.

    Where values are missing, `present` is there as well.
    """

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(selection, name) for selection in made])

    def each(name: str) -> np.ndarray:
        return np.array([getattr(selection, name) for selection in made])

    kept = np.array([len(selection.selected) for selection in made])
    arrays = {
        "offset": np.cumsum([0, *kept]),
        "kept": kept,
        "selected": joined("selected").astype(np.int32),
        "correlation": joined("correlation"),
        "class_counts": each("class_counts"),
        "seconds": seconds,
    }
    if type(made[0]) is FSelection:
        rows = [selection.left_out for selection in made]
        arrays |= {name: joined(name) for name in PER_FEATURE if name not in arrays}
        arrays |= {name: each(name) for name in NUMBERS} | {"left_out": np.concatenate(rows)}
    else:
        rows = [selection.left_out.rows for selection in made]
        arrays |= {name: each(name) for name in ("n_features", "tied", "tied_kept")} | {
            "ones": joined("ones").astype(np.int32),
            "gamma_squared": np.array([str(selection.gamma_squared) for selection in made]),
            "left_out": np.concatenate(rows).astype(np.int32),
            "tied_at_screening": np.array([selection.left_out.tied_kept for selection in made]),
        }
        if made[0].present is not None:  # in all, or in none
            arrays["present"] = joined("present").astype(np.int32)
    return arrays | {"left_out_offset": np.cumsum([0, *map(len, rows)])}


def unpack_selections(arrays: Arrays) -> list[Selection | FSelection]:
    """Return the selections that pack_selections packed."""
    result: list[Selection | FSelection] = []
    for i, counts in enumerate(arrays["class_counts"]):
        part = slice(arrays["offset"][i], arrays["offset"][i + 1])
        rows = arrays["left_out"][arrays["left_out_offset"][i] : arrays["left_out_offset"][i + 1]]
        if "threshold" in arrays:
            given: dict[str, Any] = {name: arrays[name][part] for name in PER_FEATURE}
            given |= {name: arrays[name][i].item() for name in NUMBERS}
            result.append(FSelection(**given, left_out=rows, class_counts=counts))
            continue
        gamma_squared = Fraction(str(arrays["gamma_squared"][i]))
        left_out = LeftOut(rows, gamma_squared, int(arrays["tied_at_screening"][i]))
        result.append(
            Selection(
                selected=arrays["selected"][part],
                gamma_squared=gamma_squared,
                ones=arrays["ones"][part],
                class_counts=(int(counts[0]), int(counts[1])),
                n_features=int(arrays["n_features"][i]),
                tied=int(arrays["tied"][i]),
                tied_kept=int(arrays["tied_kept"][i]),
                correlation=arrays["correlation"][part],
                left_out=left_out,
                present=arrays["present"][part] if "present" in arrays else None,
            )
        )
    return result


# ---- the experiment ----


class SelectionWork(Work):
    """Features are selected in every split, then each arm is fitted and predicts.

    all_arms, own_arms, fitted_arms : by name arms with their places; all, ours, and those of the
        stage `fit`: ours, and to predict new cases those of others, too.
    """

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.model, self.kind = config.model, MODELS[config.model.kind]
        self.others = {word: MODELS[OTHERS[word][0]] for word in self.model.methods
                       if word in OTHERS}  # fmt: skip
        self.design = Design(config, folder)
        self.fit_command = fit_command(self.kind.kind)
        self.stages = ("simulate", "select", "fit", "predict")
        if config.scheme == "none":
            self.stages = self.stages[:-1]  # nobody is tested
        every = {arm.name: (place, arm) for place, arm in enumerate(arms(config))}
        own = (*OWN, "complete")
        self.all_arms = every
        self.own_arms = {name: one for name, one in every.items() if one[1].method in own}
        self.fitted_arms = every if config.for_new_cases else self.own_arms
        self.read_draws = lru_cache(maxsize=1)(self._read_draws)
        self._selected = lru_cache(maxsize=1)(lambda block: unpack_selections(block.load("select")))

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules from whose imports all code is found that a result depends on."""
        models = {self.kind, *self.others.values()}
        return (*super().modules, *sorted(model.__module__ for model in models))

    @cached_property
    def data_digest(self) -> str:
        """What identifies the tables; simulated data are their settings."""
        return "".join(table.digest for design in self.design.each for table in design.tables)

    @property
    def data_notes(self) -> list[str]:
        """What the user should know about the tables, a line each."""
        count = max(design.n_classes for design in self.design.each)
        lost = [
            word for word, model in self.others.items() if count > (model.most_classes or count)
        ]
        notes = [
            f"model.methods: {', '.join(lost)}: no predictions where there are more than two "
            "classes"
        ]
        return self.design.notes + (notes if lost else [])

    @property
    def described(self) -> dict[str, Any]:
        """The config as reports and records keep it, with what it leaves to the data."""
        return super().described | {"model_words": self.kind.words, "takes": self.kind.takes}

    # ---- arms ----

    def model_of(self, arm: Arm) -> Model:
        """Return the model of an arm of ours; a model of another kind has the priors it knows."""
        try:
            if arm.method in self.others:
                return self.others[arm.method].beside(self.config.first_model)
            return self.kind.of(self.model, arm.variant, arm.relevant)
        except UserError as error:
            raise self._wrong_field(error) from None

    def _wrong_field(self, error: UserError) -> ConfigError:
        """Return the error that says where the field was given with which a message begins."""
        name = re.split(r"\W", str(error))[0]
        known = name in type(self.model).model_fields
        text = str(error).removeprefix(f"{name}: ")
        return self.config.wrong(f"model.{name}" if known else "model", text)

    def arms(self, stage: str) -> dict[str, int]:
        """Return the arms of a stage, and how many chains each has."""
        if stage == "predict":
            return dict.fromkeys(self.all_arms, 0)
        if stage != "fit":
            return {}
        # chains that have to agree are one cell
        chains = {name: self.model_of(arm).chains_apart for name, (_, arm) in self.own_arms.items()}
        return {name: chains.get(name, 0) for name in self.fitted_arms}

    def draws_name(self, stage: str, arm: str) -> str | None:
        """Return the name of the file of draws of an arm that is sampled."""
        if stage != "fit" or arm not in self.own_arms:
            return None
        one = self.own_arms[arm][1]
        if not self.model_of(one).sampled:
            return None
        name = f"{one.label}-{one.method}-{one.variant}".lower() + "-tempered" * one.tempered
        return re.sub(r"[^0-9a-z.]+", "-", name).strip("-")

    # ---- settings ----

    def check(self) -> None:
        """Raise ConfigError for sizes that the table does not have, and priors beyond limits."""
        missing = sum(table.missing for design in self.design.each for table in design.tables)
        if missing and not self.kind.takes_missing:
            raise self.config.wrong(
                "model.kind",
                f"{missing:,} values are missing, and the {self.kind.kind} model takes none; use "
                "naive-bayes, which leaves their terms out, or fill them in",
            )
        if not self.kind.selects:
            wanted = self.config.selection
            assert wanted is not None
            if wanted.features != ["all"]:
                raise self.config.wrong(
                    "selection",
                    f"the {self.kind.kind} model takes all features, and chooses among them inside "
                    "its folds; give features: [all]",
                )
            if wanted.screened is not None:
                raise self.config.wrong(
                    "selection.screened",
                    f"the {self.kind.kind} model corrects for no screening; leave it out",
                )
        for design in self.design.each:
            for table in design.tables[:1]:
                problem = too_many(self.config, table.features.shape[1])
                if problem:
                    raise self.config.wrong(*problem.split(": ", 1))
            problem = two_classes(self.kind.kind, design.n_classes)
            if self.kind.most_classes == 2 and problem:
                raise self.config.wrong(*problem.split(": ", 1))
            design.check()
        for _, arm in self.own_arms.values():
            model = self.model_of(arm)
            for design in self.design.each:
                try:
                    model.check(design.n_classes)
                except UserError as error:
                    raise self._wrong_field(error) from None

    def settings_of(self, stage: str, arm: str = "") -> Any:
        """Return the part of the config that matters to a stage, or to an arm of it."""
        config = self.config
        assert config.data is not None
        assert config.selection is not None
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme", "ranks"})
            for name, scheme in (("folds", "k-fold"), ("test_fraction", "holdout")):
                if config.scheme != scheme:
                    del evaluation[name]
            priors = config.first_model.priors_of_draws if config.drawn else None
            data = [config.data.model_dump(), self.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":  # an arm says itself which selection it is of
            return config.selection.model_dump(include={"ties", "screened"} if arm else None)
        if stage == "predict":
            return config.evaluation.ranks
        if not arm:
            return config.model.model_dump()
        one = self.all_arms[arm][1]
        return {} if one.method in PEERS else self.model_of(one).settings

    def needs(self, replicates: int) -> Needs:
        """Return what a block of so many replicates needs."""
        self.check()
        config, design = self.config, self.design
        sizes = None if design.data is None else design.data.sizes
        if sizes is None:  # of several tables, the largest
            shapes = []
            for first, *others in (each.tables for each in design.each):
                tests = sum(len(table.response) for table in others)
                shapes.append((len(first.response), tests, first.features.shape[1]))
            sizes = Sizes(*map(max, zip(*shapes, strict=True)))
        n, p, groups = sizes.train + sizes.test, sizes.width, config.evaluation.groups
        splits = replicates * design.folds * groups
        kept = [k.size if isinstance(k.size, int) else p for k in selections(config)]
        every = config.scheme not in ("test-set", "none")
        tested = replicates * groups * (n if every else sizes.test)
        drawn = config.drawn
        bits = 0 if config.takes_reals else replicates * 8 * p * math.ceil(n / 64) * drawn
        needed = Needs(fits=splits * len(self.own_arms))
        needed.memory = bits + n * p * drawn * (8 if config.takes_reals else 1) + 8 * tested
        needed.disk = bits + replicates * 5 * n + 4 * splits * sum(kept)
        needed.disk += tested * (8 * len(self.all_arms) + 5)
        held = []
        for _, arm in self.own_arms.values():
            size, iterations = self.model_of(arm).needs(sizes.train, kept[arm.size])
            held.append(splits * size)
            needed.iterations += splits * iterations * (1 + FOLDS * arm.tempered)
        needed.disk += sum(held)
        needed.memory += max(held, default=0) if self.kind.has_chains else sum(held)
        return needed

    # ---- making it ----

    def make(self, cell: Cell, block: Block, unfinished: Unfinished) -> Arrays:
        """Return the arrays of a stage without arms, of an arm, or of one of its chains."""
        if cell.stage == "simulate":
            return self.design.draw(block.replicates)
        if cell.arm:
            arm = self.all_arms[cell.arm][1]
            if cell.stage == "predict":
                return self._predict(arm, block)
            if arm.method in PEERS:
                return self._fit_peer(arm, block)
            model = self.model_of(arm)
            if self.kind.has_chains:
                return self._sample(model, arm, cell.chain, block, unfinished)
            return self._fit(model, arm, block)
        splits = self.design.splits(block.replicates, block.load("simulate"))
        return select(self.config, splits, first=block.number == 0)

    def join(self, stage: str, made: list[Arrays], block: Block) -> Arrays:
        """Return the arrays of `fit` or `predict` from those of their arms."""
        joined_arms = self.own_arms if stage == "fit" else self.all_arms
        described = {name: np.array([getattr(arm, name) for _, arm in joined_arms.values()])
                     for name in DESCRIBED}  # fmt: skip
        if stage == "fit":
            mine = [arrays for name, arrays in zip(self.fitted_arms, made, strict=True)
                    if name in self.own_arms]  # fmt: skip
            places = np.array([i for i, _ in self.own_arms.values()])
            return self.kind.join(mine) | {"arm": places} | described
        drawn = block.load("simulate", ("response", "fold"))
        return self.design.tested(block.replicates, drawn) | {
            **described,
            "probability": np.array([arrays["probability"] for arrays in made]),
            "tau": np.array([arrays["tau"] for arrays in made]).T,
            "seconds": np.array([arrays["seconds"] for arrays in made]).T,
            **self._promises([arrays.get("cross_validated") for arrays in made]),
            **(ranks.of_arms(made) if self.config.evaluation.ranks else {}),
        }

    def pairs(self, arm: Arm, block: Block) -> Iterator[Pair]:
        """Return each split of a block with the selection that an arm has there."""
        mine = self._selected(block)[arm.size :: len(selections(self.config))]
        splits = self.design.splits(block.replicates, block.load("simulate"))
        return zip(splits, mine, strict=True)

    def _place(self, split: Split, arm: Arm) -> tuple:
        return (*split.place, arm.label, arm.method, arm.variant)

    def _rngs(self, model: Model, arm: Arm, split: Split) -> list[np.random.Generator]:
        return [generator(self.config.seed, "chain", *self._place(split, arm), c)
                for c in range(model.chains)]  # fmt: skip

    def _fit(self, model: Model, arm: Arm, block: Block) -> Arrays:
        """Return the posteriors of an arm, (splits, ...) each, as `Model.pack` has them.

        Also tau and seconds (splits,).  Where some features are relevant, `pack_relevance` says
        what else; where no case is tested, promised (splits,) is the error that the model expects.
        """
        posteriors: list[Any] = []
        seconds, tau, promised = [], [], []
        for split, selection in self.pairs(arm, block):
            started = time.perf_counter()
            mine = training(arm, split, selection, self._rngs(model, arm, split))
            posteriors.append(model.fit(mine))
            tau.append(self.temperature(arm, split))
            seconds.append(time.perf_counter() - started)
            if self.config.screened is not None and self.config.scheme == "none":
                # no errors are seen
                rng = generator(self.config.seed, "promise", split.replicate)
                promised.append(model.expected_error(posteriors[-1], rng))
        arrays = model.pack(posteriors)
        arrays |= pack_relevance(posteriors) if arm.relevant == "some" else {}
        arrays |= {"promised": np.array(promised)} if promised else {}
        return arrays | {"tau": np.array(tau), "seconds": np.array(seconds)}

    def _sample(
        self, model: Model, arm: Arm, chain: int | None, block: Block, unfinished: Unfinished
    ) -> Arrays:
        """Return what a chain leaves in every split, or what all chains of an arm come to.

        The draws of an arm go to a file of their own.
        """
        apart = range(model.chains_apart) if chain is None else ()
        left = [block.read("fit", arm.name, number) for number in apart]
        for s, (split, selection) in enumerate(self.pairs(arm, block)):
            if s in unfinished.fits:
                continue
            running = unfinished.begin(s)
            mine = training(arm, split, selection, self._rngs(model, arm, split))
            if chain is not None:
                fit = model.run_chain(mine, chain, running)
            else:
                table = split.values(selection.selected, split.test, model.takes)
                parts = [
                    {name.partition("/")[2]: values for name, values in arrays.items()
                     if name.partition("/")[0] == str(s)}
                    for arrays in left
                ]  # fmt: skip
                fit = model.summarise(mine, parts, table, running)
            unfinished.finish(s, fit)
        fits = [fit for _, fit in sorted(unfinished.fits.items())]
        if chain is not None:
            return {f"{s}/{name}": one for s, fit in enumerate(fits) for name, one in fit.items()}
        for fit, (split, _) in zip(fits, self.pairs(arm, block), strict=True):
            fit["tau"] = np.array(self.temperature(arm, split))
        if model.sampled:
            about = {"key": block.key("fit", arm.name), "method": arm.method,
                     "features_kept": arm.label}  # fmt: skip
            write_draws(block.draws("fit", arm.name), model.tree(fits, about))
        return model.pack(fits)

    def _read_draws(self, arm: Arm, block: Block) -> Arrays:
        path, key = block.draws("fit", arm.name), block.key("fit", arm.name)
        return read_draws(path, key, command=self.command("fit"))

    def _fit_peer(self, arm: Arm, block: Block) -> Arrays:
        """Return what a method of others learns of all cases, as `peers.fit` returns it."""
        ((split, selection),) = self.pairs(arm, block)
        task, table = _task_of(arm.method, split, len(selection.selected))
        rng = generator(self.config.seed, arm.method, *split.place)
        peers.load([arm.method])
        train = split.train
        seed = int(rng.integers(2**31))
        learnt = peers.fit(arm.method, task, table[train], split.response[train], seed)
        return learnt | {"task": np.array([task.kind, str(task.classes), str(task.keep)])}

    def temperature(self, arm: Arm, split: Split) -> float:
        """Return by what an arm's log odds are divided in a split: 1 without a temperature.

        The division of its training cases into folds is the same for all arms.
        """
        if not arm.tempered:
            return 1.0
        model = self.model_of(arm)

        def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            part = keep_best(self.config, split.within(train, test), at_most=True)
            return model.log_probability(*self._again(model, arm, part))

        rng = generator(self.config.seed, "temperature", *split.place)
        return float(cross_validated(predict, split.response[split.train], rng, folds=FOLDS))

    def _again(self, model: Model, arm: Arm, split: Split) -> tuple[Any, np.ndarray]:
        """Return the posterior after a selection of its own, and the features of the test cases."""
        chosen = selections(self.config)[arm.size]
        selection = select_one(self.config, split, chosen, model.takes, at_most=True)
        rngs: Sequence[np.random.Generator] = ()
        if model.chains:
            # the first test case says which part of a training set it is
            place = (*self._place(split, arm), int(split.test[0]))
            rngs = generator(self.config.seed, "chains within", *place).spawn(model.chains)
        posterior = model.fit(training(arm, split, selection, rngs))
        return posterior, split.values(selection.selected, split.test, model.takes)

    # ---- predictions ----

    def _predict(self, arm: Arm, block: Block) -> Arrays:
        own = arm.name in self.own_arms
        fitted = block.read("fit", arm.name) if own else None
        probability, seconds, ranked, promised, tau = [], [], [], [], []
        groups = block.load("simulate", ("group",))["group"]
        for s, (split, selection) in enumerate(self.pairs(arm, block)):
            temperature = 1.0 if fitted is None else fitted["tau"][s]
            table = split.values(selection.selected, split.test, self.kind.takes)
            started = time.perf_counter()
            if fitted is not None:
                model = self.model_of(arm)
                posterior = self.posterior(fitted, s, arm, (split, selection), block)
                answer = _predicted(model, posterior, table, arm, temperature)
            elif arm.method in OTHERS:
                answer, temperature = self._predict_other(arm, split)
            else:
                mine = groups[split.replicate - block.replicates.start]
                k = len(selection.selected)
                answer, promise = self._predict_peer(arm.method, split, k, mine)
                promised.append(promise)
            seconds.append(time.perf_counter() - started)
            probability.append(answer)
            tau.append(temperature)
            if self.config.evaluation.ranks and fitted is not None:
                ranked.append(self._rank(fitted, s, arm, (split, selection), block))
        return {
            "probability": np.concatenate(probability),
            "tau": np.array(tau),
            "seconds": np.array(seconds),
            **self._promises(promised or [np.nan] * len(seconds)),
            **(ranks.of_arm(ranked) if ranked else {}),
        }

    def posterior(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Any:
        """Return the posterior of an arm in split s from its stored arrays."""
        model = self.model_of(arm)
        draws = self.read_draws(arm, block) if model.sampled else {}
        return model.unpack(draws | fitted, s, training(arm, *pair))

    def _predict_other(self, arm: Arm, split: Split) -> tuple[np.ndarray, float]:
        """Return what a model of ours of another kind predicts, and its temperature."""
        model = self.model_of(arm)
        if split.classes > (model.most_classes or split.classes):
            return np.full((len(split.test), split.classes), np.nan), np.nan
        tau = self.temperature(arm, split)
        return _predicted(model, *self._again(model, arm, split), arm, tau), tau

    def _predict_peer(
        self, method: str, split: Split, k: int, group: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return what a method of others predicts of the test cases of a split, and a promise.

        The promise is the error rate by cross-validation, NaN where nobody screened the table.

        k : how many features are selected, by a method that selects.
        group : (p,) the group of each feature.
        """
        rng = generator(self.config.seed, method, *split.place)
        seed, other = (int(rng.integers(2**31)) for _ in range(2))
        y, classes, screened = split.response, split.classes, self.config.screened is not None
        if method == WHOLE:
            blocks: Iterable[np.ndarray] = self.design.column_blocks(split, group)
            # few columns, if several models are made
            blocks = list(blocks) if screened else blocks
        else:
            task, table = _task_of(method, split, k)

        def predict(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            if method == WHOLE:
                return peers.l2_logistic(blocks, train, y[train], test, seed, classes)
            p = peers.fit_predict(method, task, table[train], y[train], table[test], seed)
            return p[:, 1] if classes == 2 else p

        peers.load([method])
        answer = predict(split.train, split.test)
        if not screened:
            return answer, float("nan")
        inner = lambda train, test: predict(split.train[train], split.train[test])  # noqa: E731
        return answer, peers.cross_validated(inner, y[split.train], other)

    def _rank(self, fitted: Arrays, s: int, arm: Arm, pair: Pair, block: Block) -> Ranks | None:
        """Rank the truth in split s; None where an arm has no draws."""
        split, selection = pair
        model, drawn = self.model_of(arm), self.design.drawn(split.replicate)
        place = [arm.label, arm.method, arm.variant] + ["some"] * (arm.relevant == "some")
        place = place if model.variant else [arm.name]
        return model.ranks(
            self.posterior(fitted, s, arm, pair, block),
            {"alpha": drawn.alpha, **drawn.truth},
            split.of_table(selection.selected),
            split.values(selection.selected, split.train[:1], model.takes)[0],
            generator(self.config.seed, "ranks", split.replicate, *place),
        )

    def _promises(self, promised: list) -> Arrays:
        """Return what peers promise by cross-validation of a table that was screened before."""
        screened = self.config.screened is not None
        return {"cross_validated": np.array(promised)} if screened else {}


def training(arm: Arm, split: Split, selection: Any, rngs: Sequence = ()) -> Training:
    """Return what the model of an arm is fitted to in a split."""

    def table() -> np.ndarray:
        takes = "reals" if type(selection) is FSelection else "bits"
        return split.values(selection.selected, split.train, takes)

    _, method = OTHERS.get(arm.method, ("", arm.method))
    y = split.response[split.train]
    return Training(selection, y, table, method != "uncorrected", rngs)


def _predicted(model: Model, posterior: Any, table: np.ndarray, arm: Arm, tau: float) -> np.ndarray:
    """Return P(class 1) of test cases, (T,), or P(class), (T, G), of more than two classes."""
    if arm.tempered:
        p = as_probability(temper(model.log_probability(posterior, table), tau))
    else:
        p = model.predict(posterior, table)
    return p[:, 1] if p.shape[1] == 2 else p


def _task_of(method: str, split: Split, k: int) -> tuple[Task, np.ndarray]:
    """Return what a method of others is asked for, and the table of all cases that it takes."""
    task = Task(REALS if REALS in PEERS[method].takes else BITS, split.classes, k)
    if task.kind == BITS:
        return task, split.bits().unpack(np.arange(len(split.bits())))
    tables = split.reals()
    return task, tables[0] if len(tables) == 1 else np.concatenate(tables)
