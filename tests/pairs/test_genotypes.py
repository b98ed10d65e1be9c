"""Genotypes that are drawn."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from statistical import assert_calibrated, assert_proportions

from thesiskit.datasets.features import read_features
from thesiskit.errors import DataError
from thesiskit.pairs.genotypes import TWO_LOCI, draw_epistasis, penetrance


def weights(frequency):
    return np.array([(1 - frequency) ** 2, 2 * frequency * (1 - frequency), frequency**2])


MODELS = [
    ((0.4, 0.4), 0.1, 0.5),
    ((0.2, 0.2), 0.31, 0.5),  # near the largest
    ((0.05, 0.3), 0.06, 0.3),
    ((0.5, 0.5), 0.02, 0.01),
    ((0.5, 0.5), 1.0, 0.5),  # the largest: exclusive or
]


@pytest.mark.parametrize("model", MODELS)
def test_no_locus_adds_on_its_own(rng, model):
    (f, g), heritability, prevalence = model
    tables = [penetrance(rng, *model) for _ in range(20)]
    for table in tables:
        np.testing.assert_allclose(table @ weights(g), prevalence, atol=1e-12)
        np.testing.assert_allclose(weights(f) @ table, prevalence, atol=1e-12)
        variance = weights(f) @ (table - prevalence) ** 2 @ weights(g)
        assert variance == pytest.approx(heritability * prevalence * (1 - prevalence), rel=1e-9)
        assert table.min() >= 0
        assert table.max() <= 1
    if heritability < 1:
        assert np.std(tables, axis=0).min() > 0  # they are drawn


@pytest.mark.parametrize(
    ("frequency", "prevalence"), [((0.2, 0.2), 0.3), ((0.05, 0.3), 0.5), ((0.4, 0.3), 0.1)]
)
def test_the_largest_heritability_is_the_one_of_linear_programmes(rng, frequency, prevalence):
    g, h = map(weights, frequency)
    with pytest.raises(DataError, match="must be above 0 and at most") as caught:
        penetrance(rng, frequency, 2.0, prevalence)
    largest = float(str(caught.value).split()[-1])
    # margins are the prevalence; the best corner is met by some direction
    margins = np.vstack([np.kron(np.eye(3), h), np.kron(g, np.eye(3))])
    found = 0.0
    for _ in range(200):
        direction = rng.standard_normal(9) * np.outer(g, h).reshape(-1)
        best = linprog(direction, A_eq=margins, b_eq=np.full(6, prevalence), bounds=(0, 1)).x
        variance = (best - prevalence) ** 2 @ np.outer(g, h).reshape(-1)
        found = max(found, variance / prevalence / (1 - prevalence))
    assert largest == pytest.approx(found, abs=2e-6)
    penetrance(rng, frequency, largest, prevalence)


def test_genotypes_have_the_frequencies_of_the_model(rng):
    frequency, prevalence = (0.3, 0.4), 0.2
    table, truth = draw_epistasis(
        rng,
        samples=40_000,
        noise_features=3,
        frequency=frequency,
        heritability=0.2,
        prevalence=prevalence,
    )
    assert np.bincount(table.response).tolist() == [20_000, 20_000]
    assert 9_500 < table.response[:20_000].sum() < 10_500  # in random order
    assert table.features == ["N0", "N1", "N2", "P1", "P2"]
    population = np.outer(*map(weights, frequency))
    pair = table.X[:, 3] * 3 + table.X[:, 4]
    sample, control = population * truth["penetrance"], population * (1 - truth["penetrance"])
    for y, expected in ((1, sample / prevalence), (0, control / (1 - prevalence))):
        counts = np.bincount(pair[table.response == y], minlength=9)
        assert_proportions(counts, expected.reshape(-1))
    assert_calibrated(truth["probability"][:, 1], table.response)
    for j in range(3):  # noise: Hardy-Weinberg, whatever the response
        minor = table.X[:, j].mean() / 2
        assert 0.04 < minor < 0.51
        for y in (0, 1):
            counts = np.bincount(table.X[table.response == y, j], minlength=3)
            assert_proportions(counts, weights(minor))


def strongest_pair(X, y):
    """The two columns that together say most about the response (mutual information)."""

    def information(i, j):
        counts = np.zeros((9, 2))
        np.add.at(counts, (X[:, i] * 3 + X[:, j], y), 1)
        joint = counts / len(y)
        alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        seen = joint > 0
        return (joint[seen] * np.log(joint[seen] / alone[seen])).sum()

    return max(combinations(range(X.shape[1]), 2), key=lambda pair: information(*pair))


def test_the_pair_stands_out(rng):
    table, _ = draw_epistasis(rng, samples=1600, noise_features=18, **TWO_LOCI)
    assert strongest_pair(table.X, table.response) == (18, 19)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"samples": 1}, "samples is 1, noise_features 0; they must be at least 2 and 0"),
        ({"heritability": 0}, "heritability is 0; with freq.* above 0 and at most 0.88"),
        ({"heritability": 0.9}, "frequencies 0.4 and 0.4 and prevalence 0.5 .* at most 0.88$"),
    ],
)
def test_epistasis_that_cannot_be(rng, settings, words):
    with pytest.raises(DataError, match=words):
        draw_epistasis(rng, **TWO_LOCI | {"samples": 10, "noise_features": 0} | settings)


def test_the_pair_of_gametes_stands_out():
    path = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "gametes2way.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    table = read_features(path, "y")
    assert table.features[-2:] == ["P1", "P2"]
    assert table.values[-2:] == [["0", "1", "2"]] * 2
    assert strongest_pair(table.X, table.response) == (18, 19)
