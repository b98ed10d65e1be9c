"""Predictive densities of normal features: the kernel against its twin."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from thesiskit._kernels import normal as kernel
from thesiskit.models import normal
from thesiskit.models.normal import EIGHT, Predictive
from thesiskit.models.selection import select_by_f


def predictive(seed=1, n=30, p=60, k=9, G=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % G
    X = rng.standard_normal((n, p))
    X[:, :4] += 1.5 * rng.standard_normal((G, 4))[y]
    selection = select_by_f(X, y, k, rng)
    settings = normal.Normal(ratio=(0.01, 0.1, 1.0, 8.0), pi=(0.01, 0.1, 0.5, 1.0))
    return Predictive.of(normal.fit(selection, settings)), rng


def twin(densities, cases):
    """Log densities, (T, G), by loops over nodes and points."""
    T, G = len(cases), len(densities.mean)
    points = np.zeros((T, G, len(densities.log_weight)))
    for j in range(cases.shape[1]):
        mine = slice(densities.offset[j], densities.offset[j + 1])
        for i, g in np.ndindex(T, G):
            if np.isnan(cases[i, j]):
                continue
            square = (cases[i, j] - densities.mean[g, mine]) ** 2 * densities.inverse[g, mine]
            log = densities.log_factor[g, mine] - densities.power[j] * np.log(
                densities.spread[mine] + square
            )
            average = special.logsumexp(
                log[:, None], b=np.maximum(densities.weight(j), 1e-290), axis=0
            )
            h = densities.irrelevant[j]
            with np.errstate(divide="ignore"):
                points[i, g] += np.logaddexp(
                    np.log(h), np.log1p(-h) + average[densities.row] - log[0]
                )
    return special.logsumexp(points + densities.log_weight, axis=2)


@pytest.mark.parametrize("G", [2, 3])
def test_densities_against_the_twin(G):
    densities, rng = predictive(G=G)
    cases = rng.standard_normal((40, 9)) * 2
    cases[3, 2] = cases[5, 0] = np.nan
    np.testing.assert_allclose(densities.log_densities(cases), twin(densities, cases), atol=2e-8)
    # beyond the table logs are computed, not interpolated
    far = replace(densities, step=densities.step * 1e-9)
    np.testing.assert_allclose(far.log_densities(cases), twin(densities, cases), atol=1e-11)


def test_values_far_from_all_others_stay_finite():
    densities, rng = predictive(k=20)
    cases = rng.standard_normal((5, 20)) * np.array([1.0, 1e2, 1e4, 1e6, 1e8])[:, None]
    found = densities.log_densities(cases)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:2], twin(densities, cases)[:2], rtol=1e-9, atol=1e-7)


def test_a_case_is_predicted_the_same_in_any_company():
    densities, rng = predictive(k=12)
    cases = rng.standard_normal((300, 12))
    together = densities.log_densities(cases)
    alone = np.concatenate([densities.log_densities(one[None]) for one in cases[:20]])
    np.testing.assert_array_equal(together[:20], alone)


def test_layout_is_what_the_kernel_takes():
    densities, _ = predictive()
    assert (densities.offset % EIGHT == 0).all()
    runs = densities.runs
    assert ((runs[:, 1] - runs[:, 0]) % EIGHT == 0).all()
    assert (runs[1:, 0] == runs[:-1, 1]).all()
    assert runs[-1, 1] == len(densities.log_weight)
    assert kernel.TABLE % 2 == 1
