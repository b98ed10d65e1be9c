"""Are posteriors correct?  Ranks of true values among posterior draws, for every model."""

import csv
import os
from functools import partial
from itertools import product
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest
import rank_models
import rank_tests
from commands import ROOT
from scipy import stats

BY_CORRECTION = {"corrected": {"correct": True}, "uncorrected": {"correct": False}}
TESTS = "chi-squared p", "ECDF p"


class Study(NamedTuple):
    """Data sets, each with parameters from the prior; draw : returns ranks, by quantity.

    models : the options of `draw` by the words for the model.
    """

    draw: object
    models: dict
    data_sets: int


def selecting(draw, each=({},), data_sets=2000):
    """Return a study of models with the correction and without, for each of several selections."""
    models = {
        ", ".join([name, *(f"{key} {value}" for key, value in selection.items())]): {
            **options, **selection,
        }
        for selection in each
        for name, options in BY_CORRECTION.items()
    }  # fmt: skip
    return Study(draw, models, data_sets)


def by_compression(draw, data_sets):
    """Return a study of models with compressed and with original coefficients."""
    models = {"compressed": {"compress": True}, "original": {"compress": False}}
    return Study(draw, models, data_sets)


binary, mixed = rank_models.naive_bayes, rank_models.mixture
some = partial(binary, relevant="some", points=100)
thresholds = [{"threshold": "0.3"}, {"threshold": "0.5"}]
histories = partial(rank_models.logistic, history=True, train=40, shape=(4, 2), order=3)
features = partial(rank_models.logistic, train=30, shape=(2, 3), order=2)
responses = partial(
    rank_models.logistic, real=True, train=20, shape=(2, 2), order=2, prior="cauchy",
    sigma_0=1.0, sigma_shape=3.0, sigma_mode=0.3, noise_shape=4.0, noise_mode=1.0,
    iterations=4160, thin=40,
)  # fmt: skip
by_20, by_40, by_80 = ({"iterations": 200 + 99 * n, "thin": n} for n in (20, 40, 80))
cauchy, gaussian = {"prior": "cauchy"}, {"prior": "gaussian"}
STUDIES = {
    "naive": selecting(partial(binary, train=(20, 20)), thresholds),
    "some": selecting(partial(some, train=(20, 20)), [{"keep": 5}, {"keep": 20}]),
    "screened": selecting(partial(binary, train=(8, 8), screened=20), [{"keep": 5}, {}]),
    "ties-6": selecting(partial(binary, train=(3, 3)), [{"keep": 5}, {"keep": 20}]),
    "ties-40": selecting(partial(binary, train=(20, 20)), [{"keep": 5}, {"keep": 20}]),
    "normal": selecting(partial(rank_models.normal, train=[20, 20]), data_sets=1000),
    "normal-3": selecting(partial(rank_models.normal, train=[16, 14, 10]), data_sets=1000),
    "mixture": selecting(partial(mixed, train=24, features=100, threshold="0.4")),
    "mixture-screened": selecting(partial(mixed, train=12, features=200, screened=10)),
    "mixture-ties": selecting(partial(mixed, train=8, features=1000), [{"keep": 3}, {"keep": 10}]),
    "sequences": by_compression(partial(histories, classes=3, **cauchy, **by_80), 250),
    "sequences-gaussian": by_compression(partial(histories, **gaussian, **by_20), 1000),
    "features": by_compression(partial(features, **cauchy, **by_20), 1000),
    "features-gaussian": by_compression(partial(features, **gaussian, **by_40), 1000),
    "responses": by_compression(responses, 1000),
}


def run_study(name, data_sets=None):
    """Return rows with the model, the quantity and the p-values of uniform ranks."""
    draw, models, every = STUDIES[name]
    rows = []
    for model, options in models.items():
        ranks = {}
        for number in range(data_sets or every):
            rng = np.random.default_rng([2007, crc32(name.encode()), number])
            for quantity, rank in draw(rng, **options).items():
                ranks.setdefault(quantity, []).append(rank)
        for quantity, each in ranks.items():
            tests = rank_tests.chi_squared_p_value, rank_tests.ecdf_p_value
            p = [test(np.array(each)) for test in tests]
            rows.append({"model": model, "quantity": quantity} | dict(zip(TESTS, p, strict=True)))
    return rows


def smallest(rows, *, correct):
    """Return the smallest p-value times the number of tests, of models that are right or not."""
    right = [row for row in rows if row["model"].startswith("uncorrected") != correct]
    p = [row[test] for row in right for test in TESTS]
    return min(p) * len(p)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_ranks_are_uniform(name):
    """Write the rows that benchmarks/evidence.py summarises in docs/evidence/ranks.csv."""
    rows = run_study(name)
    folder = ROOT / os.environ.get("RESULTS", "results") / "ranks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    assert smallest(rows, correct=True) > 1e-3


# ---- in small, with every test run ----

SMALL = {"naive": 100, "some": 60, "screened": 100, "ties-6": 60, "normal": 60, "normal-3": 40}
SMALL |= {"mixture": 20, "mixture-screened": 20, "sequences-gaussian": 5, "responses": 5}
QUICK = {"naive", "normal-3", "mixture", "sequences-gaussian", "responses"}  # one of each kernel


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SMALL],
)
def test_ranks_of_few_data_sets_are_uniform(name):
    assert smallest(run_study(name, SMALL[name]), correct=True) > 1e-4


def test_a_selection_that_is_not_corrected_for_shows():
    assert smallest(run_study("naive", 60), correct=False) < 1e-4


@pytest.mark.parametrize(("ties", "least", "most"), [("exact", 1e-4, 1), ("as-printed", 0, 1e-6)])
def test_ties_that_are_not_counted_show(rng, ties, least, most):
    study = partial(binary, correct=True, train=(3, 3), keep=5, ties=ties)
    ranks = [study(rng)["log alpha"] for _ in range(300)]
    assert least <= rank_tests.ecdf_p_value(np.array(ranks)) <= most


@pytest.mark.parametrize(("n", "draws"), [(3, 2), (4, 3), (6, 1)])
def test_coverage_is_that_of_all_sets_of_ranks(n, draws):
    sets = np.array(list(product(range(draws + 1), repeat=n)))
    within = np.array([np.bincount(each, minlength=draws + 1).cumsum()[:draws] for each in sets])
    share = np.arange(1, draws + 1) / (draws + 1)
    below, above = stats.binom.cdf(within, n, share), stats.binom.sf(within - 1, n, share)
    least = 2 * np.minimum(below, above).min(axis=1)
    for gamma in (0.0, 0.05, 0.2, 0.5, 0.9, 2.5):
        expected = (least > gamma).mean()
        assert rank_tests.coverage(n, draws, gamma) == pytest.approx(expected, abs=1e-12)
