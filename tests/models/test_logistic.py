"""What chains of logistic models have to agree in, and draws of chains that ran until they did."""

import numpy as np
import pytest
from logistic_samples import design_of
from scipy import integrate, special, stats

from thesiskit.defaults import LEARNING
from thesiskit.errors import UserError
from thesiskit.models import logistic
from thesiskit.models.chains import compare_chains
from thesiskit.models.logistic import expected, judged_probabilities
from thesiskit.models.patterns import compress_features, compress_sequences

TARGETS = (1.05, 100)


def samples(kind, rng, n=80, classes=2):
    X = rng.integers(0, 3, (n, 4))
    make = compress_sequences if kind == "sequences" else compress_features
    y = (X[:, -1] + (rng.random(n) < 0.3)) % classes
    return X, y, make(X, 3)


def reference(coefficient, log_sigma, shared, d, cauchy):
    """E l(x) of distinct sample d given a draw, one group after another."""
    width = np.exp(log_sigma) if cauchy else np.exp(2 * log_sigma)
    total = np.zeros(len(coefficient))
    for g in shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]:
        total += coefficient[:, g]
    for i in range(shared.partial_begin[d], shared.partial_begin[d + 1]):
        mine = width @ shared.shared_counts[shared.partial_kind[i]]
        other = width @ shared.other_counts[shared.partial_kind[i]]
        total += coefficient[:, shared.partial[i]] * mine / (mine + other)
    return total


@pytest.mark.parametrize("cauchy", [True, False])
@pytest.mark.parametrize("kind", ["sequences", "features"])
@pytest.mark.parametrize("sets", [1, 3])
def test_expected_linear_functions_are_sums_of_groups_and_shares(kind, cauchy, sets):
    rng = np.random.default_rng(3)
    _, _, groups = samples(kind, rng, n=12)
    new = np.random.default_rng(4).integers(0, 3, (60, 4))
    shared = groups.shared(new)
    assert len(shared.partial)  # else the shares are not tried
    probe = logistic.Probe.of_tests(shared)
    assert len(probe.sample) == min(20, len(shared.new_kind))
    coefficient = rng.standard_cauchy((5, sets, groups.n_groups))
    log_sigma = rng.normal(size=(5, 4))
    found = expected(coefficient, log_sigma, probe, cauchy=cauchy)
    assert found.shape == (5, sets, len(probe.sample))
    for t, d in enumerate(probe.sample):
        for i in range(5):
            np.testing.assert_allclose(
                found[i, :, t], reference(coefficient[i], log_sigma[i], shared, d, cauchy)
            )


@pytest.mark.parametrize("cauchy", [True, False])
def test_the_share_is_the_mean_of_a_split(cauchy):
    a, b, s = 0.7, 2.5, 3.1
    density = (stats.cauchy if cauchy else stats.norm).pdf

    def joint(x, power):
        return x**power * density(x, scale=a) * density(s - x, scale=b)

    mean = integrate.quad(joint, -np.inf, np.inf, args=(1,), epsabs=1e-12)[0]
    mean /= integrate.quad(joint, -np.inf, np.inf, args=(0,), epsabs=1e-12)[0]
    share = a / (a + b) if cauchy else a**2 / (a**2 + b**2)
    np.testing.assert_allclose(s * share, mean, rtol=1e-6)


def test_expected_linear_functions_of_training_samples_are_those_of_the_model():
    rng = np.random.default_rng(5)
    X, _, groups = samples("features", rng)
    probe = logistic.Probe.of_training(groups, X)
    place = [int(name.split()[-1]) - 1 for name in probe.names]
    assert len(place) == 20
    assert len({tuple(X[i]) for i in place}) == 20  # distinct
    assert all(name.startswith("prediction of training sample") for name in probe.names)
    coefficient = rng.normal(size=(4, 1, groups.n_groups))
    found = expected(coefficient, np.zeros((4, 4)), probe, cauchy=True)
    np.testing.assert_allclose(found[:, 0], (design_of(groups) @ coefficient[:, 0].T).T[:, place])


def test_compared_are_probabilities_of_a_class_to_hundredths():
    rng = np.random.default_rng(6)
    linear = rng.normal(size=(4, 1, 7))
    found = judged_probabilities(linear)
    np.testing.assert_allclose(found, special.expit(linear[:, 0]), atol=0.005 + 1e-12)
    linear = rng.normal(size=(4, 3, 7))
    found = judged_probabilities(linear)
    for t in range(7):
        expected = special.softmax(linear[:, :, t], axis=1)[:, t % 3]
        np.testing.assert_allclose(found[:, t], expected, atol=0.005 + 1e-12)


def test_how_certain_a_prediction_is_does_not_matter_where_it_is_certain():
    chains = np.linspace(6, 40, 1200).reshape(3, 400, 1, 1)  # they agree in nothing
    certain = np.stack([judged_probabilities(linear) for linear in chains])
    assert (certain == 1).all()
    rhat, _ = compare_chains(certain)
    assert rhat == 1
    assert compare_chains(chains[:, :, 0])[0] > 1.5


def settings(until=TARGETS, **options):
    # a chain of a fixed length learns how to move for as long
    burn_in = 0 if until else LEARNING
    length = {"burn_in": burn_in, "thin": 1, "iterations": 2500, "chains": 3}
    return logistic.Logistic(until=until, **length | options)


def model_of(kind, responses, prior, until, limit):
    rng = np.random.default_rng(8)
    X, y, groups = samples(kind, rng, classes=3 if responses == "three" else 2)
    chosen = settings(until, prior=prior, iterations=limit)
    probe = logistic.Probe.of_training(groups, X)
    if responses == "real":
        return logistic.GaussianTarget(groups, y + rng.normal(size=len(y)), chosen), probe
    return logistic.LogisticTarget(groups, y, int(y.max()) + 1, chosen), probe


def sample(kind, responses, prior, until=TARGETS, limit=2500, saved=None):
    model, probe = model_of(kind, responses, prior, until, limit)
    generators = [np.random.default_rng(seed) for seed in range(3)]
    return logistic.sample(model, generators, probe=probe, saved=saved)


KINDS = [("sequences", "two", "cauchy"), ("features", "three", "gaussian"),
         ("features", "real", "cauchy")]  # fmt: skip


@pytest.mark.parametrize(("kind", "responses", "prior"), KINDS)
def test_draws_are_those_of_chains_of_a_fixed_length(kind, responses, prior):
    found = sample(kind, responses, prior)
    done = int(found.state["done"])
    assert 200 <= done < 2500
    assert found.judgement.enough
    fixed = sample(kind, responses, prior, until=None, limit=done)
    kept_at = found.state["draws-0-kept_at"]
    assert kept_at.min() > done // 2
    at = kept_at - 1 - LEARNING
    np.testing.assert_array_equal(found.coefficient, fixed.coefficient[:, at].astype(np.float32))
    for name in ("log_sigma", "log_likelihood"):
        np.testing.assert_array_equal(getattr(found, name), getattr(fixed, name)[:, at])
    np.testing.assert_array_equal(found.trace, fixed.trace)
    rhat, _ = found.compared()  # of the second half
    names = found.judgement.names
    np.testing.assert_allclose(rhat[0], found.judgement.rhat[names.index("log likelihood")])
    if responses == "real":
        np.testing.assert_allclose(rhat[-1], found.judgement.rhat[names.index("log noise")])
        np.testing.assert_array_equal(found.log_noise, fixed.log_noise[:, at])


@pytest.mark.parametrize(("kind", "responses", "prior"), KINDS)
def test_stored_draws_go_on_as_if_there_had_been_no_limit(kind, responses, prior, tmp_path):
    from thesiskit.files import read_draws, write_draws

    whole = sample(kind, responses, prior)
    first = sample(kind, responses, prior, limit=200)
    assert int(first.state["done"]) == 200
    write_draws(tmp_path / "a.nc", *first.as_arviz({}, {"key": ""}))
    saved = logistic.saved_from(read_draws(tmp_path / "a.nc"))
    again = sample(kind, responses, prior, saved=saved)
    assert set(again.state) == set(whole.state)
    for name, values in whole.state.items():
        np.testing.assert_array_equal(again.state[name], values, err_msg=name)
    for name in ("coefficient", "trace", "info"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    np.testing.assert_array_equal(again.judgement.ess, whole.judgement.ess)


def test_until_needs_samples_to_predict():
    model, _ = model_of("sequences", "two", "cauchy", TARGETS, 300)
    with pytest.raises(UserError, match="needs a probe"):
        logistic.sample(model, [np.random.default_rng(0)] * 3)


def test_chains_of_other_targets_cannot_go_on():
    stored = sample("sequences", "two", "cauchy", limit=200).saved
    with pytest.raises(UserError, match="have until"):
        sample("sequences", "two", "cauchy", until=(1.02, 100), saved=stored)


def test_a_draw_that_separates_the_classes_is_found():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    groups = compress_features(X, 1)
    design = design_of(groups)[np.unique(groups.row_of, return_index=True)[1]]
    rng = np.random.default_rng(1)
    coefficient = rng.normal(size=(300, 1, groups.n_groups))
    linear = (design @ coefficient[:, 0].T).T
    for y in ([0, 0, 0, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]):  # and; xor; equal rows differ
        table = np.zeros((groups.n_rows, 2))
        np.add.at(table, (groups.row_of, np.array(y)), 1)
        likelihood = (table[:, 1] * special.log_expit(linear)).sum(axis=1)
        likelihood += (table[:, 0] * special.log_expit(-linear)).sum(axis=1)
        found = logistic.separated(coefficient, likelihood, groups, table)
        assert found == (y == [0, 0, 0, 1, 1])
    # of three classes, and a tie is no separation
    table = np.array([[3, 0, 0], [0, 1, 0], [0, 0, 2.0]])
    assert logistic.separates(np.eye(3)[None], table)
    assert not logistic.separates(np.zeros((1, 3, 3)), table)
    assert not logistic.separates(np.eye(3)[None], table + np.eye(3)[:, [1, 0, 2]])
