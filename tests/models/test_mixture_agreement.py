"""Mixture chains that run until they agree: their draws, and what is judged."""

import numpy as np
import pytest
from scipy import special

from thesiskit.errors import UserError
from thesiskit.models import chains, mixture
from thesiskit.models.mixture import QUANTITIES

TARGETS = (1.05, 100)


def target(until=TARGETS, **options):
    rng = np.random.default_rng(0)
    features = (rng.random((40, 4)) < 0.5).astype(np.uint8)
    response = (rng.random(40) < 0.2 + 0.6 * features[:, 0]).astype(np.uint8)
    length = {"chains": 3, "iterations": 2500, "alpha_points": 20, "replicas": 2, "burn_in": 0}
    return mixture.MixtureTarget(
        features, response, mixture.Mixture(until=until, **length | options)
    )


def sample(until=TARGETS, probe=None, **options):
    posterior = target(until, **options)
    generators = [np.random.default_rng(seed) for seed in range(3)]
    return posterior, mixture.sample(posterior, generators, probe=probe)


def test_draws_are_those_of_chains_of_a_fixed_length():
    posterior, found = sample()
    assert 200 <= found.iterations < 2500
    assert found.judgement.enough
    fixed, every = sample(None, iterations=found.iterations)
    most = 1000 // 3
    at = np.arange(found.iterations) + 1
    at = at[chains.counts(at, found.iterations, most)] - 1
    assert len(at) > most // 2 or len(at) == found.iterations - found.iterations // 2
    for name in ("labels", "point", "log_posterior"):
        np.testing.assert_array_equal(getattr(found, name), getattr(every, name)[:, at])
    np.testing.assert_array_equal(found.exchanged, every.exchanged)
    assert found.judgement.names[:3] == [name.replace("_", " ") for name in QUANTITIES[:3]]
    names = found.judgement.names[3:]
    assert len(names) == len(np.unique(posterior.features, axis=0)) <= 20
    compared = mixture.diagnose(fixed, every)
    half = found.iterations // 2
    rhat, ess = chains.compare_chains(compared.quantities[:, half:, :3])
    np.testing.assert_allclose(found.judgement.rhat[:3], rhat)
    np.testing.assert_allclose(found.judgement.ess[:3], ess)


def test_predictions_of_test_samples_are_judged():
    posterior = target()
    table = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]])
    probe = mixture.MixtureProbe.of(posterior, table)
    assert probe.names[:3] == ["log alpha", "log posterior", "agreement"]
    assert probe.names[3:] == [f"prediction of test sample {i}" for i in (1, 2, 4)]
    rng = np.random.default_rng(2)
    drawn = {
        "labels": rng.integers(0, 2, (3, 40)).astype(np.uint8),
        "point": rng.integers(0, 20, (3, 2)),
        "log_posterior": rng.normal(size=3),
    }
    found = probe.quantities(posterior, drawn)
    assert found.shape == (3, 6)
    for d in range(3):
        one = drawn["labels"][d : d + 1], drawn["point"][d : d + 1]
        odds = posterior.predict_log_odds(one, table)
        np.testing.assert_allclose(found[d, 3:], special.expit(odds[[0, 1, 3]]))
        same = (drawn["labels"][d] == posterior.response).sum()
        assert found[d, 2] == max(same, 40 - same)


def test_interruptions_change_nothing(monkeypatch):
    from thesiskit.models import chains

    _, whole = sample(iterations=450)
    states = []
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 0.01)
    generators = [np.random.default_rng(seed) for seed in range(3)]
    mixture.sample(target(iterations=450), generators, save=states.append)
    for state in states[1 :: max(1, len(states) // 3)]:
        generators = [np.random.default_rng(seed) for seed in range(3)]
        again = mixture.sample(target(iterations=450), generators, saved=state)
        for name in ("labels", "point", "log_posterior", "iterations"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        np.testing.assert_array_equal(again.judgement.ess, whole.judgement.ess)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": (1.08, 400)}, "at most 1.05"),
        ({"until": (1.01, 50)}, "at least 100"),
        ({"until": TARGETS, "chains": 1}, "R-hat compares chains"),
        ({"until": TARGETS, "burn_in": 3}, "Fix: remove burn_in, or remove until"),
        ({"until": TARGETS, "sampler": "gibbs"}, "for the collapsed sampler"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(UserError, match=words):
        mixture.Mixture(**options)


def test_burn_in_is_nothing_unless_given():
    assert mixture.Mixture(until=TARGETS, iterations=5000).burn_in == 0
    assert mixture.Mixture(iterations=5000).burn_in == 1250
