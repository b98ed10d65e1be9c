"""Sources of data: those of the package, and those that other packages add."""

import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from commands import arrays

from thesiskit.config import load_config
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source
from thesiskit.errors import ConfigError

MODULE = '''
from typing import ClassVar, Literal

import numpy as np

from thesiskit.blocks import Positive, Probability
from thesiskit.datasets.source import (
    Drawn, FeatureTable, Sizes, Source, Table, WrongKeyError,
)


class CoinData(Source):
    """Coins that fall more often on one side in class 1: a table, which is drawn."""

    family: ClassVar = "table"
    drawn: ClassVar = True

    source: Literal["coins"]
    coins: Positive
    heads: Probability = 0.6

    @property
    def sizes(self):
        return Sizes(20, 10, self.coins)

    def draw(self, rng, priors):
        if self.heads < 0.1:
            raise WrongKeyError("heads", "such coins never fall; use 0.1 or more")
        tables = [
            Table((rng.random((n, self.coins)) < self.heads).astype(np.uint8), np.arange(n) % 2)
            for n in (20, 10)
        ]
        return Drawn(*tables, alpha=1.0, truth={})


class DiceData(Source):
    """Throws of two dice, of which the sum is even or not: features, which are read."""

    family: ClassVar = "features"

    source: Literal["dice"]
    sides: Positive = 4

    def read(self, folder, *, continuous=False):
        sides = (folder / "sides.txt").read_text().split()[: self.sides]
        X = np.array([[i, j] for i in range(len(sides)) for j in range(len(sides))] * 2)
        response = (X.sum(axis=1) % 2).astype(np.int32)
        return [FeatureTable(X.astype(np.int16), response, ["first", "second"], [sides] * 2,
                             ["even", "odd"])]
'''
COINS = """
experiment: coins
title: Coins
about: Data of another package, drawn.
replicates: 2
data: {source: coins, coins: 12}
selection: {features: [3]}
model: {methods: [corrected]}
report: {parts: [methods]}
"""
DICE = """
experiment: dice
title: Dice
about: Data of another package, read.
data: {source: dice, sides: 3}
evaluation: {folds: 2}
model: {kind: logistic, orders: [1], iterations: 30, burn_in: 10, chains: 2, peers: []}
report: {parts: [methods]}
"""

# runs that are refused, in one process: a start takes longer than any of them
REFUSED = """
import sys
from click.testing import CliRunner
from thesiskit.cli import main
for change in sys.argv[1:]:
    run = ["run", "coins.yaml", "--results", "r", "--jobs", "0", "--set", change]
    done = CliRunner().invoke(main, run)
    assert done.exit_code == 2, done.output
    print(done.output)
"""


@pytest.mark.parametrize("name", list(SOURCES))
def test_every_source_has_its_name_and_a_family(name):
    source = SOURCES[name]
    assert issubclass(source, Source)
    assert get_args(source.model_fields["source"].annotation) == (name,)
    assert source.family in ("table", "sequences", "features")
    owns = {one for kind in source.mro()[: source.mro().index(Source)] for one in vars(kind)}
    assert ("draw" in owns, "sizes" in owns, "read" in owns) == (
        source.drawn,
        source.drawn,
        not source.drawn,
    )


def test_a_config_imports_only_the_source_that_it_uses(tmp_path):
    (tmp_path / "c.yaml").write_text(COINS.replace("coins, coins: 12", "colon"))
    code = (
        "import sys; from pathlib import Path; from thesiskit.config import load_config;"
        f"load_config(Path({str(tmp_path / 'c.yaml')!r}));"
        "print(*sorted(one for one in sys.modules if one.startswith('thesiskit.datasets.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "thesiskit.datasets.published",
        "thesiskit.datasets.source",
    ]


@pytest.fixture
def thesiskit(tmp_path):
    """The command line, with a package installed that adds two sources."""
    site = tmp_path / "site"
    (site / "games-1.0.dist-info").mkdir(parents=True)
    (site / "games.py").write_text(MODULE)
    (site / "games-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: games\nVersion: 1.0\n"
    )
    (site / "games-1.0.dist-info" / "entry_points.txt").write_text(
        "[thesiskit.datasets]\ncoins = games:CoinData\ndice = games:DiceData\n"
    )
    (tmp_path / "coins.yaml").write_text(COINS)
    (tmp_path / "dice.yaml").write_text(DICE)
    (tmp_path / "sides.txt").write_text("one two three four")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*arguments, code=0, python=("-m", "thesiskit")):
        command = [sys.executable, *python, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("name", ["coins", "dice"])
def test_a_source_of_another_package_runs_from_config_to_page(thesiskit, tmp_path, name):
    thesiskit("run", f"{name}.yaml", "--results", "two", "--jobs", "2")
    thesiskit("run", f"{name}.yaml", "--results", "none", "--jobs", "0")
    for results in ("two", "none"):
        assert "Data of another package" in (tmp_path / results / name / "report.html").read_text()
    two, none = (tmp_path / results / name / "predict" / "0000.npz" for results in ("two", "none"))
    np.testing.assert_array_equal(arrays(two)["probability"], arrays(none)["probability"])


def test_what_a_source_of_another_package_finds_wrong_has_its_place(thesiskit):
    said = thesiskit(
        "data.heads=0", "data.cions=3", "data.source=coinz",
        "model={kind: logistic, orders: [1]}",
        python=("-c", REFUSED),
    )  # fmt: skip
    assert "--set data.heads=0: data.heads: such coins never fall; use 0.1 or more" in said
    assert "data.cions: unknown key; did you mean 'coins'?" in said
    assert "data.source: unknown source 'coinz'; did you mean 'coins'?" in said
    assert "table, epistasis, genotypes, plink or dice" in said


def test_another_code_of_a_source_makes_its_cells_again(thesiskit, tmp_path):
    thesiskit("simulate", "dice.yaml", "--results", "r")
    first = (tmp_path / "r" / "dice" / "simulate" / "0000.npz").read_bytes()
    module = tmp_path / "site" / "games.py"
    module.write_text(module.read_text().replace('"even", "odd"', '"odd", "even"'))
    thesiskit("simulate", "dice.yaml", "--results", "r")
    assert (tmp_path / "r" / "dice" / "simulate" / "0000.npz").read_bytes() != first


def test_a_package_that_is_not_there_adds_nothing(tmp_path):
    (tmp_path / "coins.yaml").write_text(COINS)
    with pytest.raises(ConfigError, match="unknown source 'coins'; did you mean 'colon'"):
        load_config(tmp_path / "coins.yaml")
