"""Files of models with other content, whose sha256 is right: each predicts, or is refused."""

import copy
import io
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from finished import SEED
from harness import Job, Outcome, Tally, batched, commands
from new_samples import CONFIGS, NEW, write_config, write_tables

from thesiskit.fitted.file import read_model, write_model

KINDS = tuple(CONFIGS)
QUICK = ("enumeration", "tempered", "pool-real", "frequent", "two-states", "text", "mixing")
VALUES = (
    None, 0, -1, 1, 2, 3.5, 1e308, float("nan"), 10**12, 2**70, "", "x", "cauchy", "all", "1/3",
    True, [], {}, [1, 2], ["a"], {"a": 1},
)  # fmt: skip
NAMES = ("names", "classes", "features", "states")
NUMBERS = (-1, 0, 1, 2, 100, 127)
FAR = (0.0, 1.0, 1e3, -1e3, 1e30, 1e160, -1.7e308)  # values of new samples
REALS = (np.nan, np.inf, -np.inf, -1e300, 1e300, 1e308, 90.0)


def places(tree, path=()):
    """Yield the way to every value of a header."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*path, key))
    yield path


def change_header(header, rng: random.Random) -> None:
    """Put another value somewhere."""
    found = [path for path in places(header) if path and path[0] not in ("what", "format")]
    *path, last = rng.choice(found)
    for key in path:
        header = header[key]
    header[last] = copy.deepcopy(rng.choice(VALUES))


def repeat_name(header, rng: random.Random) -> str:
    """Let two names of a list be one, or take all away; return what the message must name."""
    lists = [path for path in places(header) if path and path[-1] in NAMES and path[0] == "inputs"]
    path = rng.choice(lists)
    held = header
    for key in path:
        held = held[key]
    if len(held) < 2:
        return ""
    if path[-1] == "names" and rng.random() < 0.3:
        held.clear()
        return "names is empty"
    first, second = rng.sample(range(len(held)), 2)
    held[first] = held[second]
    return f"{path[-1]} has "


def change_array(arrays, rng: random.Random) -> None:
    """Give an array another shape, another type, or another value."""
    name = rng.choice(sorted(arrays))
    values = arrays[name].copy()
    how = rng.randrange(6)
    if how == 0:
        values = values[..., None] if rng.random() < 0.5 else values.reshape(-1)
    elif how == 1 and values.ndim:
        values = values[:0] if rng.random() < 0.5 else np.concatenate([values, values])
    elif how == 2 and values.dtype.kind != "U":
        values = values.astype(rng.choice(["f8", "i1", "i8", "u1", "?"]))
    elif values.size and values.dtype.kind == "f":
        values.reshape(-1)[rng.randrange(values.size)] = rng.choice(REALS)
    elif values.size and values.dtype.kind in "iu":
        number = rng.choice(NUMBERS)
        values.reshape(-1)[rng.randrange(values.size)] = max(number, -(values.dtype.kind == "i"))
    arrays[name] = values


def some_methods(header, arrays, rng: random.Random) -> tuple[dict, dict[str, np.ndarray]]:
    """Return a copy of a model with at most two of its methods: more take time and say the same."""
    header = copy.deepcopy(header)
    chosen = rng.sample(range(len(header["arms"])), min(len(header["arms"]), rng.randint(1, 2)))
    header["arms"] = [header["arms"][number] for number in chosen]
    kept = {name: values for name, values in arrays.items() if not name.startswith("arm-")}
    for new, old in enumerate(chosen):
        start = f"arm-{old}/"
        kept |= {
            f"arm-{new}/{name.removeprefix(start)}": values
            for name, values in arrays.items()
            if name.startswith(start)
        }
    return header, kept


def far_samples(new: pd.DataFrame, rng: random.Random) -> str:
    """Return a table of new samples with one of the numbers FAR in place of each number."""
    new = new.copy()
    numbers = [name for name in new if new[name].dtype.kind == "f"]
    new[numbers] = new[numbers].astype(float).where(np.isnan, rng.choice(FAR))
    return new.to_csv(index=False)


def false_numbers(output: str) -> str:
    """Return what is wrong with the numbers that `predict` printed; empty if nothing is."""
    frame = pd.read_csv(io.StringIO(output), keep_default_na=False)
    p = frame[[name for name in frame if name.startswith("probability: ")]]
    rest = frame[[name for name in frame if name in ("median", "5%", "95%")]]
    noted = frame["note"] != "" if "note" in frame else pd.Series(False, frame.index)
    if not (pd.concat([p, rest], axis=1)[noted] == "").all(axis=None):
        return "a note, and numbers"
    p, rest = p[~noted].astype(float), rest[~noted].astype(float)
    if p.shape[1] and not ((p >= 0) & (p <= 1)).all(axis=None):
        return "a probability is beyond 0 and 1"
    if p.shape[1] and (abs(p.sum(axis=1) - 1) > 1e-8).any():
        return "probabilities do not sum to 1"
    return "" if np.isfinite(rest).all(axis=None) else "a quantile is no number"


def export_all(folder: Path, kinds=KINDS) -> dict[str, tuple[Path, dict, dict]]:
    """Export a model of each kind; return tables of new samples, headers and arrays."""
    write_tables(folder)
    found = {}
    for kind in kinds:
        path = folder / f"{kind}.model"
        run(
            "export",
            write_config(folder, kind),
            path,
            "--all-methods",
            "--results",
            folder / "results",
        )
        found[kind] = (folder / NEW[kind], *read_model(path))
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return export_all(tmp_path_factory.mktemp("models"))


@cache
def _table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


@dataclass(frozen=True)
class Forged:
    """A model file, the table of new samples that it is given, and what must come of them."""

    label: str
    path: Path
    new: Path
    must: str
    odd: bool

    def wrong(self, done: Outcome) -> tuple[str, ...]:
        """Say what is wrong with what became of it."""
        return (
            "believes a number or a name that no fit has" * bool(self.odd and done.code == 0),
            f"does not say that {self.must}" * bool(self.must not in done.errors),
            false_numbers(done.output) if done.output else "",
        )


def forge(folder: Path, models, number: int) -> Forged:
    """Write a model file with other content, and perhaps a table of samples far away."""
    rng = random.Random(SEED + number)
    kind = rng.choice(list(models))
    new, header, arrays = models[kind]
    header, arrays = some_methods(header, arrays, rng)
    must = repeat_name(header, rng) if rng.random() < 0.2 else ""
    for _ in range(0 if must else rng.randrange(1, 3)):
        rng.choice((change_header, lambda _, rng, a=arrays: change_array(a, rng)))(header, rng)
    real = [values for values in arrays.values() if values.dtype.kind == "f"]
    odd = must or any(np.isnan(one).any() or (np.abs(one) == 1e308).any() for one in real)
    path = folder / f"{number}.model"
    with np.errstate(invalid="ignore"):
        write_model(path, header, arrays)
    if new.suffix == ".csv" and rng.random() < 0.5:
        new = folder / f"new-{number}.csv"
        new.write_text(far_samples(_table(models[kind][0]), rng))
    return Forged(f"{kind} {number}", path, new, must, bool(odd))


def fuzz(folder, models, numbers) -> Tally:
    tally = Tally("models")
    for batch in batched(numbers):
        forged = [forge(folder, models, number) for number in batch]
        jobs = [Job(("predict", "--model", one.path, "--new", one.new), folder) for one in forged]
        for one, done in zip(forged, commands(jobs, folder), strict=True):
            tally.add(one.label, done, *one.wrong(done))
            one.path.unlink()
    return tally


@pytest.mark.filterwarnings("ignore:.* encountered in cast")
def test_models(tmp_path, record_property):
    models = export_all(tmp_path, QUICK)
    fuzz(tmp_path, models, range(40)).check(record_property)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* encountered in cast")
def test_a_thousand_models(tmp_path, models, record_property):
    fuzz(tmp_path, models, range(1040)).check(record_property)
