"""Fuzzed configs and options: what is wrong is refused in a sentence, what is right is taken.

Each input is made from a seed: a small config of some kind, and one thing done to it.  The oracle
is the table KEYS below, written by hand from `thesiskit docs`, not the types of config.py: for
each key what it may be, so that a value must be refused, must be taken, or may be either.
"""

import copy
import itertools
import json
import math
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from commands import ROOT
from harness import Job, Outcome, Tally, batched, commands

HEAD = {"experiment": "fuzzed", "title": "T", "about": "A"}
HIDDEN = {"source": "hidden-markov", "transition": [[0.9, 0.1], [0.2, 0.8]],
          "emission": [[0.8, 0.2], [0.3, 0.7]]}  # fmt: skip
CHAINS = {"kind": "logistic", "orders": [1, 2], "iterations": 12, "burn_in": 2, "chains": 2}
TINY = {
    "naive": {
        "replicates": 2, "block": 2,
        "data": {"source": "naive-bayes", "features": 20, "alpha": 5, "train": [6, 6], "test": 4},
        "selection": {"features": [2, "all"]},
        "model": {"class_prior": [1, 1], "alpha_prior": [0.5, 5], "alpha_points": 9},
        "report": {"parts": ["methods"]},
    },
    "mixture": {
        "data": {"source": "mixture", "features": 15, "alpha": 5, "response": [0.1, 0.9],
                 "train": [6, 6], "test": [3, 3]},
        "selection": {"features": [2]},
        "model": {"kind": "mixture", "collapsed": {"chains": 2, "iterations": 12, "burn_in": 2}},
        "report": {"parts": ["methods"]},
    },
    "normal": {
        "data": {"source": "breast-cancer"}, "evaluation": {"scheme": "holdout"},
        "selection": {"features": [2]},
        "model": {"kind": "normal"},
        "report": {"parts": ["methods"]},
    },
    "sequences": {
        "data": HIDDEN | {"history": 3, "train": 30, "test": 9},
        "model": CHAINS, "report": {"parts": ["orders"]},
    },
    "interactions": {
        "data": {"source": "interactions", "features": 4, "values": 2, "sigma": [1, 0.5],
                 "train": 30, "test": 9},
        "model": CHAINS, "report": {"parts": ["orders"]},
    },
    "until": {
        "data": HIDDEN | {"history": 2, "train": 30, "test": 9},
        "model": {"kind": "logistic", "orders": [1], "iterations": 200, "chains": 2,
                  "until": {"rhat": 1.1, "ess": 40}},
        "report": {"parts": ["reached-table"]},
    },
    "folded": {
        "data": {"source": "tic-tac-toe"}, "evaluation": {"folds": 2},
        "model": CHAINS | {"orders": [1]}, "report": {"parts": ["methods"]},
    },
    "table": {
        "data": {"source": "breast-cancer"},
        "evaluation": {"scheme": "k-fold", "folds": 3, "feature_groups": 1},
        "selection": {"features": [1, 3]}, "report": {"parts": ["methods"]},
    },
    "lattice": {
        "lattice": {"class_counts": [6, 7], "gamma": 0.2},
        "report": {"parts": ["correlation-lattice"]},
    },
    "sweeps": {
        "reduction": {"samples": 20, "sweeps": [{"features": [3, 4], "values": 2, "order": 2}]},
        "report": {"parts": ["reduction"]},
    },
}  # fmt: skip
NAMES = ("naive-simulation", "null", "correlation-lattice", "mixture-exact", "hmm", "epistasis",
         "cauchy-classification", "parameter-reduction", "breast-cancer", "regression",
         "calibration-study", "mixture-calibration", "naive-replicates")  # fmt: skip
SHIPPED = [path for path in sorted((ROOT / "configs").rglob("*.yaml")) if path.stem in NAMES]

REFUSED, TAKEN, EITHER = "refused", "taken", "either"
HUGE = 10**12  # of anything that is counted: a machine has not that


@dataclass(frozen=True)
class Whole:
    """A whole number from `least`; of sizes, no number beyond HUGE is taken without --yes."""

    least: int
    good: tuple = (1, 2)
    most: int = 2**63 - 1
    counts: bool = True

    def __call__(self, value) -> str:
        if isinstance(value, bool) or not isinstance(value, int):
            return REFUSED
        if not self.least <= value <= self.most or (self.counts and value >= HUGE):
            return REFUSED
        return TAKEN if value in self.good else EITHER


@dataclass(frozen=True)
class Number:
    """A real number above `least`, or equal to it, below `most`; or a word."""

    least: float = 0.0
    most: float = math.inf
    with_least: bool = False
    infinite: bool = False
    words: tuple = ()
    good: tuple = ()

    def __call__(self, value) -> str:
        if isinstance(value, str):
            return EITHER if value in self.words else REFUSED
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            return REFUSED
        if value == math.inf:
            return EITHER if self.infinite else REFUSED
        if value < self.least or (value == self.least and not self.with_least):
            return REFUSED
        return TAKEN if value in self.good else EITHER if value <= self.most else REFUSED


@dataclass(frozen=True)
class Word:
    """One of some words, or any text that is not empty; perhaps nothing."""

    words: tuple = ()
    good: tuple = ()

    def __call__(self, value) -> str:
        if not isinstance(value, str) or not value or (self.words and value not in self.words):
            return REFUSED
        return TAKEN if value in self.good else EITHER


@dataclass(frozen=True)
class Listed:
    """A list of so many, each of its kind, none twice."""

    each: object
    least: int = 1
    most: int = 10**6
    twice: bool = False
    good: tuple = ()

    def __call__(self, value) -> str:
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            return REFUSED
        if any(self.each(one) == REFUSED for one in value):
            return REFUSED
        if not self.twice and any(one == other for one, other in itertools.combinations(value, 2)):
            return REFUSED
        return TAKEN if value in self.good else EITHER


class Flag:
    """True or false."""

    def __call__(self, value) -> str:
        return EITHER if isinstance(value, bool) else REFUSED


def name_of_experiment(value) -> str:
    text = isinstance(value, str) and 0 < len(value) <= 100
    kept = text and all(c in "abcdefghijklmnopqrstuvwxyz0123456789._-" for c in value)
    if not kept or not value[0].isalnum() or value.endswith((".", ".html")):
        return REFUSED
    return REFUSED if value in ("verify", "con", "nul") else EITHER


def either(*kinds):
    def inner(value) -> str:
        found = {kind(value) for kind in kinds}
        return TAKEN if TAKEN in found else EITHER if EITHER in found else REFUSED

    return inner


PAIR = Listed(Number(), 2, 2, twice=True, good=([1, 1], [2, 3.5], [0.5, 5]))
SAMPLES = Listed(Whole(0), 2, 2, twice=True, good=([6, 6], [7, 5]))
WIDTH = Number(1e-20, 1e20, with_least=True)
RELEVANT = either(Word(("all", "some")), Listed(Word(("all", "some")), good=(["some"],)))
TEMPERATURES = Word(("none", "residual"))
TEMPERATURE = either(TEMPERATURES, Listed(TEMPERATURES, good=(["none", "residual"],)))
PLACES = {  # kinds of config by the keys that they have
    "everywhere": tuple(TINY),
    "drawn": ("naive", "mixture"),
    "logistic": ("sequences", "interactions", "folded"),
    "divided": ("folded", "table"),
}
KEYS = {
    "everywhere": {
        "experiment": name_of_experiment,
        "title": Word(good=("A title", "é 名", "2020-01-01")),
        "about": Word(good=("x",)),
        "seed": Whole(0, (0, 7, 2**40), counts=False),
        "replicates": Whole(1, (1, 2)),
        "report.parts": Listed(Word(), twice=True),
        "report.thesis": Word(words=("naive_simulation", "hmm", "colon", "text")),
        "cluster.partition": Word(good=("long", "a,b")),
        "cluster.array": Whole(1, (1, 50), counts=False),
        "cluster.cpus": Whole(1, (1, 4), most=1024),
        "cluster.options": Listed(Word(), least=0, good=(["--exclusive"],)),
        "cluster.setup": Listed(Word(), least=0, twice=True, good=(["module load x"],)),
        "smoke": lambda value: EITHER if isinstance(value, dict) else REFUSED,
    },
    "drawn": {
        "data.features": Whole(1, (20, 30)),
        "data.alpha": Number(infinite=True, words=("prior",), good=(1, 0.5, 300)),
        "data.train": either(SAMPLES, Whole(1)),
        "data.test": either(SAMPLES, Whole(1)),
        "selection.features": Listed(either(Whole(1), Word(words=("all",)))),
        "model.class_prior": PAIR,
        "model.alpha_prior": PAIR,
        "evaluation.feature_groups": Whole(1, (1,)),
    },
    "naive": {
        "model.alpha_points": Whole(1, (5, 30)),
        "model.quadrature": either(
            Word(("exact", "simpson-21", "simpson-21-transformed")),
            Listed(Word(("exact", "simpson-21", "simpson-21-transformed")), good=(["exact"],)),
        ),
        "model.methods": Listed(
            Word(("corrected", "uncorrected", "bernoulli-nb", "bernoulli-nb-calibrated")),
            good=(["corrected"],),
        ),
        "model.relevant": RELEVANT,
        "model.temperature": TEMPERATURE,
        "selection.thresholds": lambda value: REFUSED,  # beside selection.features
        "block": Whole(1, (1, 2), counts=False),
    },
    "mixture": {
        "data.response": either(Listed(Number(0, 1, with_least=True), 2, 2, twice=True,
                                       good=([0, 1], [0.5, 0.5])), Word(words=("prior",))),
        "model.response_alpha_prior": PAIR,
        "model.collapsed.chains": Whole(1, (1, 2)),
        "model.collapsed.iterations": Whole(3, (12, 15)),
        "model.collapsed.burn_in": Whole(0, (0, 5), most=11),
        "model.collapsed.alpha_points": Whole(1, (20, 50), most=10_000),
        "model.samplers": Listed(Word(("collapsed", "gibbs", "approximate", "enumeration"))),
    },
    "normal": {
        "model.class_prior": either(Number(good=(1, 2.5)), Listed(Number(), 2, twice=True)),
        "model.relevant": RELEVANT,
        "model.temperature": TEMPERATURE,
        "model.pi": Listed(Number(0, 1), good=([0.1, 1], [0.5])),
        "model.alpha_prior": lambda value: REFUSED,
        "selection.ties": lambda value: REFUSED,
    },
    "logistic": {
        "model.orders": either(Whole(0), Word(words=("all",)),
                               Listed(either(Whole(0), Word(words=("all",))), good=([1], [0, 1]))),
        "model.chains": Whole(1, (1, 2)),
        "model.iterations": Whole(7, (12, 20)),
        "model.burn_in": Whole(0, (0, 5), most=7),
        "model.thin": Whole(1, (1, 5), most=10),
        "model.joint_updates": either(Whole(0, (0, 1)), Listed(Whole(0), good=([0], [0, 1]))),
        "model.sigma_mode": WIDTH,
        "model.sigma_shape": Number(0.2, 1e6, with_least=True),
        "model.compress": either(Flag(), Listed(Flag(), good=([True], [True, False]))),
        "model.priors": either(Word(("cauchy", "gaussian")),
                               Listed(Word(("cauchy", "gaussian")), good=(["gaussian"],))),
        "selection.features": lambda value: REFUSED,
        "evaluation.feature_groups": Whole(1, (1,), most=1),
    },
    "sequences": {
        "data.history": Whole(2, (3, 4)),
        "data.train": Whole(1, (30, 50)),
        "data.test": Whole(1, (5, 9)),
        "model.min_samples": Whole(1, (1,), most=1),
    },
    "interactions": {
        "data.features": Whole(2, (4, 5)),
        "data.values": Whole(1, (2, 3), most=255),
        "data.sigma": Listed(Number(0, 1e20, with_least=True), twice=True, most=5,
                             good=([1, 0.5], [0, 1, 1])),
        "data.train": Whole(1, (30, 50)),
        "data.test": Whole(1, (5, 9)),
        "model.min_samples": Whole(1, (1, 2), most=30),
    },
    "until": {
        "model.until.rhat": Number(1, 1.1, good=(1.01, 1.1)),
        "model.until.ess": Number(40, 1e300, with_least=True, good=(40, 400)),
        "model.chains": Whole(2, (2, 3)),
        "model.burn_in": Whole(0, (0,), most=0),
        "model.thin": Whole(1, (1,), most=1),
    },
    "divided": {
        "evaluation.folds": Whole(2, (2, 3), most=958),
    },
    "table": {
        "evaluation.scheme": Word(("leave-one-out", "k-fold", "holdout"), good=("k-fold",)),
        "evaluation.feature_groups": Whole(1, (1, 2), most=10),
        "selection.features": Listed(either(Whole(1, most=30), Word(words=("all",)))),
        "data.binarise": Word(("all-medians", "training-medians"), good=("all-medians",)),
    },
    "lattice": {
        "lattice.class_counts": SAMPLES,
        "lattice.gamma": Number(0, 1 - 1e-16, with_least=True, good=(0, 0.3)),
    },
    "sweeps": {
        "reduction.samples": Whole(1, (10, 20)),
        "reduction.sweeps": lambda value: EITHER if isinstance(value, list) and value and all(
            isinstance(one, dict) for one in value) else REFUSED,
    },
}  # fmt: skip
NULLABLE = ("report.thesis", "cluster.partition", "selection.features", "selection.thresholds",
            "evaluation.scheme", "data")  # fmt: skip
ODD = [True, False, None, "", "text", "1", "all", "prior", [], {}, [1], [1, 2], [2, 2], {"a": 1},
       [[1]], [None], [True], 0, 1, 2, 3, -1, -(10**20), 10**6, 10**9, 10**12, 2**63 - 1, 2**63,
       10**20, 10**400, 0.5, 1.5, -0.5, 1e-300, 1e300, 1e-20, 1e20, math.inf, -math.inf, math.nan,
       "\u0661\u0662", "é 名", "2020-01-01", "x" * 5000, ["x"] * 500, "a\nb", "a\x1bb", "a\u2028b",
       "../x", "index.html", "verify", "$(touch x)", "'", "0x1F", "010", "~", "-1"]  # fmt: skip


def keys_of(kind: str) -> dict:
    places = [place for place, kinds in PLACES.items() if kind in kinds]
    return {key: one for place in [*places, kind] for key, one in KEYS.get(place, {}).items()}


def tree_of(kind: str) -> dict:
    return copy.deepcopy(HEAD | TINY[kind])


def put(tree: dict, key: str, value) -> dict:
    *parents, last = key.split(".")
    inner = tree
    for name in parents:
        inner = inner.setdefault(name, {})
    inner[last] = value
    return tree


def written(tree: dict) -> str:
    return yaml.safe_dump(tree, sort_keys=False, width=10**6)


@dataclass(frozen=True)
class Input:
    """A config, further arguments, and what must become of it."""

    text: str | bytes
    wanted: str = EITHER
    arguments: tuple = ()
    note: str = ""
    path: str | None = None  # instead of the text


# ---- what is done to a config ----


def a_value(rng: random.Random, kind: str) -> Input:
    """Another value of a key that there is or could be, in the file or by --set."""
    keys = keys_of(kind)
    key = rng.choice(list(keys))
    good = list(getattr(keys[key], "good", ()))
    value = rng.choice(good) if good and rng.random() < 0.3 else rng.choice(ODD)
    wanted = keys[key](value)
    if value is None and key in NULLABLE:
        wanted = EITHER
    text = isinstance(value, str) and any(not c.isprintable() for c in value)
    if text and key.startswith("cluster."):
        wanted = REFUSED
    note = f"{kind} {key}={value!r}"[:80]
    if rng.random() < 0.3 and not text:
        said = written({"v": value})[3:].strip()
        if isinstance(value, str):
            said = json.dumps(value)
        if "\n" not in said:
            return Input(written(tree_of(kind)), wanted, ("--set", f"{key}={said}"), note)
    return Input(written(put(tree_of(kind), key, value)), wanted, (), note)


def a_key(rng: random.Random, kind: str) -> Input:
    """A key misspelt, left out or given twice."""
    tree = tree_of(kind)
    inner, name = tree, rng.choice(list(tree))
    if isinstance(tree[name], dict) and rng.random() < 0.6:
        inner = tree[name]
        name = rng.choice(list(inner))
    how = rng.choice(("misspelt", "left out", "twice", "number", "empty", "set"))
    note = f"{kind} {name} {how}"
    if how == "misspelt":
        i = rng.randrange(len(name))
        inner[name[:i] + rng.choice("xqz") + name[i:]] = inner.pop(name)
    elif how == "left out":
        inner.pop(name)
        needed = {"experiment", "title", "about", "report", "parts", "source", "train", "test",
                  "history", "orders", "reduction", "lattice", "samples", "sweeps"}  # fmt: skip
        return Input(written(tree), REFUSED if name in needed else EITHER, (), note)
    elif how == "twice":
        return Input(written(tree) + f"title: {rng.random()}\n", REFUSED, (), note)
    elif how in ("number", "empty"):
        inner[{"number": rng.choice((1, 2.5, True, None)), "empty": ""}[how]] = 3
    else:
        key = rng.choice(("", ".", "a..b", "0", "0.x", "²", "smoke.seed", "smoke", "x" * 3000, "é"))
        return Input(written(tree), REFUSED, ("--set", f"{key}=3"), note)
    return Input(written(tree), REFUSED, (), note)


def of_yaml(rng: random.Random, kind: str) -> Input:
    """What YAML can do."""
    text = written(tree_of(kind))
    laughs = "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}' if i else 'x'] * 9)}]\n" for i in range(9)
    )
    bad = {
        "laughs": text + laughs,
        "merges": text + "a0: &a0 {x: 1}\n" + "".join(
            f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 9)),
        "itself": text + "smoke: &a {x: *a}\n",
        "brackets": text + "smoke: " + "[" * rng.choice((40, 1000, 100_000)),
        "mappings": text + "smoke: " + "{a: " * rng.choice((40, 1000, 100_000)),
        "indented": text + "".join(" " * i + "a:\n" for i in range(500)),
        "python": text + "smoke: !!python/object/apply:os.system ['touch x']\n",
        "binary": text.replace("title: T", "title: !!binary aGk="),
        "set": text + "smoke: !!set {a, b}\n",
        "tag": text.replace("title: T", "title: !x T"),
        "documents": text + "---\n" + text,
        "zeros": text + f"seed: {rng.choice(('010', '-07', '00', '08.5', '0_1'))}\n",
        "overflow": text + "seed: " + rng.choice(("1e999", "9" * 5000, "-1e999")) + "\n",
        "character": text.replace("title: T", "title: a" + rng.choice("\0\x01\x1b\x7f") + "b"),
        "not text": text.encode() + b"# \xff\n",
        "utf-16": text.encode("utf-16"),
        "empty": "",
        "comment": "# nothing\n",
        "list": "- " + text.replace("\n", "\n  "),
        "large": text + "# " + "x" * 2**20,
        "many": text + "smoke: {x: [" + "1, " * 50_000 + "1]}\n",
        "key": text + "? [a, b]\n: 1\n",
        "key mapping": text + "? {a: b}\n: 1\n",
        "undefined": text + "smoke: *nobody\n",
        "alias": text.replace("title: T", "title: &t T").replace("about: A", "about: *t"),
        "two anchors": text + "<<: 5\n",
        "tab": text + "smoke:\n\t a: 1\n",
    }  # fmt: skip
    fine = {
        "marker": "---\n" + text,
        "bom": "\ufeff" + text,
        "windows": text.replace("\n", "\r\n"),
        "comments": "# " + "x" * 10_000 + "\n" + text,
        "flow": json.dumps(tree_of(kind)),
    }
    if rng.random() < 0.25:
        how = rng.choice(list(fine))
        return Input(fine[how], TAKEN, (), f"{kind} {how}")
    how = rng.choice(list(bad))
    return Input(bad[how], REFUSED, (), f"{kind} {how}")


def damage(rng: random.Random, kind: str) -> Input:
    """Characters lost, doubled or exchanged, anywhere."""
    text = list(written(tree_of(kind)))
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(text))
        text[i] = rng.choice(("", text[i] * 2, *":-{}[]&*!|>'\"%@`#,? \n\t\0", "é", "0", "\u2028"))
    return Input("".join(text), EITHER, (), f"{kind} damaged")


def swap(rng: random.Random, kind: str) -> Input:
    """A block of another kind of config."""
    other = rng.choice([one for one in TINY if one != kind])
    tree = tree_of(kind)
    block = rng.choice(list(TINY[other]))
    tree[block] = copy.deepcopy(TINY[other][block])
    return Input(written(tree), EITHER, (), f"{kind} with {block} of {other}")


def option(rng: random.Random, kind: str) -> Input:
    """Options of the command."""
    text = written(tree_of(kind))
    bad = [("--jobs", "1000000"), ("--jobs", "-1"), ("--jobs", "x"), ("--seed", "-1"),
           ("--seed", "9" * 400), ("--seed", "9" * 5000), ("--seed", "1.5"), ("--set", "x"),
           ("--set", "=3"), ("--set", "seed"), ("--set", "title=["), ("--set", "seed=010"),
           ("--set", "title=!!python/name:os.system"), ("--set", "title=&a [*a]"),
           ("--set", "x" * 10**5), ("--set", "title=" + "[" * 10**4), ("--force", "3"),
           ("--sett", "seed=3"), ("--" + "x" * 10**4,), ("--jobs", "nobody"),
           ("--set", "replicates=true"), ("--set", "title=1\n---\n2"), ("--results",),
           ("--set", "cluster.partition=\"a\\nb\""), ("--set", "experiment=X")]  # fmt: skip
    fine = [(), ("--seed", "0"), ("--seed", str(2**60)), ("--force",), ("--yes",), ("--jobs", "0"),
            ("--set", "seed=3", "--set", "seed=4"), ("--set", "title='010'"),
            ("--set", "title= a  b "), ("--smoke",), ("-v",)]  # fmt: skip
    if rng.random() < 0.35:
        given = rng.choice(fine)
        return Input(text, TAKEN, given, f"{kind} {given}")
    given = rng.choice(bad)
    return Input(text, REFUSED, given, f"{kind} {given}"[:80])


def place(rng: random.Random, kind: str) -> Input:
    """No file, where one belongs."""
    path = rng.choice(("missing.yaml", "folder", "pipe", "/dev/zero", "/dev/null", "/dev/stdin",
                       "loop", "x" * 300, "a/b", "", "/"))  # fmt: skip
    return Input("", REFUSED, (), f"place {path}"[:40], path)


def shipped(rng: random.Random, kind: str) -> Input:
    """A shipped config in its small form, as it is or with a value exchanged."""
    path = rng.choice(SHIPPED)
    text = path.read_text()
    if rng.random() < 0.3:
        return Input(text, TAKEN, ("--smoke",), path.stem)
    key = rng.choice(("seed", "replicates", "experiment", "title"))
    value = rng.choice(ODD)
    wanted = KEYS["everywhere"][key](value)
    if key == "replicates" and path.stem in ("correlation-lattice",) and wanted != REFUSED:
        wanted = EITHER
    said = json.dumps(value) if isinstance(value, str) else written({"v": value})[3:].strip()
    if "\n" in said:
        said, wanted = "[]", REFUSED
    return Input(
        text, wanted, ("--smoke", "--set", f"{key}={said}"), f"{path.stem} {key}={said}"[:80]
    )


MAKERS = (a_value, a_value, a_value, a_key, of_yaml, damage, swap, option, place, shipped)


def make(seed: int) -> Input:
    rng = random.Random(seed)
    return rng.choice(MAKERS)(rng, rng.choice(list(TINY)))


# ---- running it ----


def only_checked(given: list[str]) -> None:
    """Run the command line, but for the work itself."""
    from thesiskit import cli
    from thesiskit.study.experiment import Experiment

    def checked(self, stage, **_):
        self.check()
        return 0

    with (
        patch.object(Experiment, "run", checked),
        patch.object(Experiment, "summary", lambda *_: ""),
        patch.object(cli, "write_report", lambda *_: None),
    ):
        cli.main(given, prog_name="thesiskit")


@pytest.fixture(scope="module")
def _loaded():
    """What every command loads, before it is forked."""


@dataclass(frozen=True)
class Begun:
    """An input in a folder of its own; `whole`: the experiment is run to its end."""

    one: Input
    folder: Path
    whole: bool

    @property
    def job(self) -> Job:
        """The command that reads it."""
        one = self.one
        given = ["run", "c.yaml" if one.path is None else one.path, *one.arguments]
        jobs = () if "--jobs" in given else ("--jobs", "0")
        if given[-1] != "--results":
            given += ["--results", "results", *jobs]
        return Job(tuple(given), self.folder, None if self.whole else only_checked)

    def wrong(self, done: Outcome) -> tuple[str, ...]:
        """Say what is wrong with what became of it."""
        said = done.errors.strip()[-200:]
        late = self.whole and done.code == 1 and "weight 0" not in done.errors
        return (
            f"is refused: {said}" * (self.one.wanted == TAKEN and done.code != 0),
            "is taken" * (self.one.wanted == REFUSED and done.code == 0),
            "runs what it was given" * (self.folder / "x").exists(),
            f"fails late: {said}" * late,
        )


def begin(seed: int, folder: Path, whole_every: int) -> Begun:
    """Write an input, with a folder, a pipe and a link beside it."""
    one = make(seed)
    folder.mkdir()
    (folder / "c.yaml").write_bytes(one.text if isinstance(one.text, bytes) else one.text.encode())
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    os.symlink("loop", folder / "loop")
    whole = seed % whole_every == 0 and one.path is None and "fuzzed" in str(one.text)
    whole = whole and not re.search(r"=\d{6}", one.note)  # so many updates take minutes
    return Begun(one, folder, whole)


def fuzz(seeds: range, folder: Path, whole_every: int) -> Tally:
    tally = Tally("configs")
    for batch in batched(seeds):
        begun = [begin(seed, folder / str(seed), whole_every) for seed in batch]
        outcomes = commands([one.job for one in begun], folder)
        for seed, one, done in zip(batch, begun, outcomes, strict=True):
            label = f"seed {seed} ({one.one.note}{', to the end' if one.whole else ''})"
            tally.add(label, done, *one.wrong(done))
    return tally


@pytest.mark.usefixtures("_loaded")
def test_some_configs(tmp_path, record_property):
    fuzz(range(80), tmp_path, 40).check(record_property)


@pytest.mark.slow
@pytest.mark.usefixtures("_loaded")
def test_a_thousand_configs(tmp_path, record_property):
    fuzz(range(1000, 2000), tmp_path, 10).check(record_property)
