"""Long studies of the mixture model's predictions: `make test-slow`."""

import numpy as np
import pytest
from statistical import assert_calibrated

from thesiskit.datasets.synthetic import draw_mixture
from thesiskit.models import mixture
from thesiskit.models.integrals import InverseGamma
from thesiskit.models.selection import select_features
from thesiskit.report import metrics

pytestmark = pytest.mark.slow


def predictions(drawn, k, settings, seed, *, correct=True):
    rng = np.random.default_rng([1, seed])
    found = select_features(drawn.train.features, drawn.train.response, k, rng)
    target = mixture.MixtureTarget(
        drawn.train.features[:, found.selected],
        drawn.train.response,
        settings,
        found.left_out if correct else None,
    )
    draws = mixture.sample(target, rng.spawn(settings.chains))
    reliable = mixture.diagnose(target, draws).reliable
    return target.predict(draws.flat, drawn.test.features[:, found.selected]), reliable


@pytest.fixture(scope="module")
def ten_data_sets():
    """Scores by number of features and method, on ten data sets of the thesis's simulation."""
    scores = {}
    for seed in range(10):
        drawn = draw_mixture(
            np.random.default_rng([300, seed]),
            features=10_000,
            alpha=300.0,
            response=(0.1, 0.9),
            train=(100, 100),
            test=(1_000, 1_000),
        )
        for k, sampler, correct in (
            *((k, "collapsed", c) for k in (1, 10, 100, 1_000) for c in (True, False)),
            *((k, "approximate", c) for k in (1, 10, 100, 1_000) for c in (True, False)),
            (10_000, "collapsed", True),
            (10_000, "gibbs", True),
        ):
            quadrature = "exact" if sampler == "collapsed" else "simpson-11"
            settings = mixture.Mixture(sampler=sampler, quadrature=quadrature)
            p, reliable = predictions(drawn, k, settings, seed, correct=correct)
            score = metrics.scores(p, drawn.test.response) | {"reliable": reliable}
            scores.setdefault((k, sampler, correct), []).append(score)
    for key, rows in scores.items():
        mean = {name: round(np.mean([row[name] for row in rows]), 4) for name in rows[0]}
        print(*key, mean)
    return scores


def column(scores, key, name):
    return np.array([row[name] for row in scores[key]])


@pytest.mark.parametrize("k", [10, 100, 1_000, 10_000])
def test_no_overconfidence_is_left(ten_data_sets, k):
    key = (k, "collapsed", True)
    assert column(ten_data_sets, key, "reliable").all()
    margin = column(ten_data_sets, key, "expected error") - column(ten_data_sets, key, "error")
    assert margin.mean() > -2 * margin.std(ddof=1) / np.sqrt(len(margin))


def test_the_complete_data_are_best(ten_data_sets):
    complete = column(ten_data_sets, (10_000, "collapsed", True), "log loss")
    for k in (1, 10, 100, 1_000):
        assert (complete < column(ten_data_sets, (k, "collapsed", True), "log loss")).all()


@pytest.mark.parametrize(
    ("k", "corrected", "uncorrected"),
    # error and expected error from the thesis's Table 2.3
    [(10, (0.469, 0.409), (0.468, 0.245)), (100, (0.359, 0.292), (0.361, 0.119)),
     (1_000, (0.210, 0.118), (0.212, 0.046))],
)  # fmt: skip
def test_the_thesis_is_near_the_replicates_as_printed(ten_data_sets, k, corrected, uncorrected):
    for correct, printed in ((True, corrected), (False, uncorrected)):
        for name, value in zip(("error", "expected error"), printed, strict=True):
            ours = column(ten_data_sets, (k, "approximate", correct), name)
            room = 4 * ours.std(ddof=1) + 0.01
            assert abs(value - ours.mean()) < room, (correct, name, value, ours.mean(), room)


def test_the_thesis_sampler_fails_on_the_complete_data(ten_data_sets):
    complete = column(ten_data_sets, (10_000, "gibbs", True), "log loss")
    selected = column(ten_data_sets, (1_000, "approximate", True), "log loss")
    assert complete.mean() > selected.mean()


@pytest.mark.parametrize("k", [1, 5, 20, 100])
def test_calibration_over_data_sets_drawn_from_the_prior(k):
    settings = mixture.Mixture(
        class_prior=(2.0, 1.0), chains=2, iterations=150, burn_in=50, replicas=4
    )
    p, y = [], []
    for seed in range(3_000):
        rng = np.random.default_rng([12, seed])
        drawn = draw_mixture(
            rng,
            features=100,
            alpha=InverseGamma(0.5, 5.0).sample(rng),
            response=lambda: InverseGamma(0.5, 5.0).sample(rng),  # noqa: B023
            train=24,
            test=1,
            label_prior=(2.0, 1.0),
        )
        p.append(predictions(drawn, k, settings, seed)[0][0])
        y.append(drawn.test.response[0])
    assert_calibrated(np.array(p), np.array(y))
