"""Data drawn from the model of normal features."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import SelectionPriors
from thesiskit.datasets.synthetic import draw_normal

PRIORS = SelectionPriors(
    (1.0, 1.0), (0.5, 5.0), pi=(0.2, 0.8), ratio=(0.5, 2.0), effect_shapes=(3.0, None)
)
KEYS = {"source": "normal", "features": 30, "train": [4, 5, 6], "test": [2, 0, 1]}


def source(**keys):
    return SOURCES["normal"].model_validate(KEYS | keys)


def draw(seed=1, **keys):
    usual = {"features": 4000, "ratio": 0.7, "pi": 1.0, "shape": None, "variance": (8.0, 3.0),
             "train": [6, 6, 6], "test": [1, 1, 1]}  # fmt: skip
    return draw_normal(np.random.default_rng(seed), **(usual | keys))


def f_statistics(X, y):
    return stats.f_oneway(*(X[y == g] for g in np.unique(y))).statistic


def test_f_statistics_have_the_distribution_of_the_model():
    """In balanced classes F / (1 + rho n) has the F distribution, whatever the variance is."""
    drawn = draw(features=1500)
    found = f_statistics(drawn.train.features.astype(float), drawn.train.response)
    p = stats.kstest(found / (1 + 0.7 * 6), stats.f(2, 15).cdf).pvalue
    assert p > 0.001
    assert stats.kstest(found, stats.f(2, 15).cdf).pvalue < 1e-9
    noise = draw(features=1500, pi=0.0)
    found = f_statistics(noise.train.features.astype(float), noise.train.response)
    assert stats.kstest(found, stats.f(2, 15).cdf).pvalue > 0.001
    assert not noise.truth["effect"].any()


def test_variances_and_effects_have_their_priors():
    drawn = draw(train=[200, 200], test=[1, 1], features=2000, pi=0.3, shape=3.0)
    X, effect = drawn.train.features.astype(float), drawn.truth["effect"]
    relevant = effect > 0
    assert relevant.mean() == pytest.approx(0.3, abs=0.04)
    assert stats.kstest(effect[relevant] / 0.7, stats.invgamma(1.5, scale=1.5).cdf).pvalue > 0.001
    within = (X[:200].var(axis=0, ddof=1) + X[200:].var(axis=0, ddof=1)) / 2
    assert stats.kstest(within, stats.invgamma(4, scale=12).cdf).pvalue > 0.001
    means = np.stack([X[:200].mean(axis=0), X[200:].mean(axis=0)])
    # standardised by what each feature was drawn with, the difference of means is standard normal
    difference = (means[1] - means[0]) / np.sqrt(within * (2 * effect + 2 / 200))
    assert stats.kstest(difference, stats.norm.cdf).pvalue > 0.001


def test_test_cases_are_of_the_same_distribution():
    drawn = draw(train=[300, 300], test=[300, 300], features=3, ratio=5.0)
    for y in (0, 1):
        train, test = (one.features[one.response == y] for one in (drawn.train, drawn.test))
        assert stats.ttest_ind(train, test).pvalue.min() > 0.001


def test_what_is_drawn_and_what_is_fixed():
    rng = np.random.default_rng(3)
    found = [source().draw(rng, PRIORS) for _ in range(60)]
    assert {float(one.truth["ratio"]) for one in found} == {0.5, 2.0}
    assert {float(one.truth["pi"]) for one in found} == {0.2, 0.8}
    spread = [len(set(one.truth["effect"].tolist()) - {0.0}) for one in found]
    assert min(spread) == 1  # T is 1
    assert max(spread) > 1
    fixed = source(relevant=0.5, ratio=3.0, shape="none").draw(rng, PRIORS)
    assert set(fixed.truth["effect"].tolist()) == {0.0, 3.0}
    assert source(relevant="all").draw(rng, PRIORS).truth["effect"].min() > 0
    one = found[0]
    assert one.train.response.tolist() == [0] * 4 + [1] * 5 + [2] * 6
    assert one.test.response.tolist() == [0, 0, 2]
    assert one.train.classes == one.test.classes == ("0", "1", "2")
    assert one.train.features.shape == (15, 30)


def test_classes_of_test_cases_can_be_drawn():
    rng = np.random.default_rng(4)
    counts = np.array([
        np.bincount(source(features=1, train=[8, 1, 3], test=10).draw(rng, PRIORS).test.response,
                    minlength=3)
        for _ in range(1500)
    ])  # fmt: skip
    assert (counts.sum(axis=1) == 10).all()
    law = stats.dirichlet_multinomial([9, 2, 4], 10)
    error = np.sqrt(np.diag(law.cov()) / len(counts))
    assert (abs(counts.mean(axis=0) - law.mean()) < 4 * error).all()
    assert counts.var(axis=0) == pytest.approx(np.diag(law.cov()), rel=0.15)


def test_what_the_source_says_of_itself():
    sizes = source(test=7).sizes
    assert (sizes.train, sizes.test, sizes.width, sizes.classes) == (15, 7, 30, 3)
    fixed = {"train": [3, 3], "test": 4, "relevant": "all", "ratio": 1.0}
    for data, kind, words in (
        (source(), "normal", None),
        (source(), "naive-bayes", "data.train: 3 classes need model.kind: normal"),
        (source(**fixed), "mixture", "data.shape: prior needs model.kind: normal"),
        (source(**fixed, shape=3.0), "naive-bayes", None),
    ):
        model = SimpleNamespace(kind=kind)
        config = SimpleNamespace(
            model=model, selects=True, of_patterns=False, takes_reals=kind == "normal"
        )
        problem = next(data.incompatibilities(config), None)
        assert problem == words or problem.startswith(words)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"train": [4, 0]}, "each class needs at least one case"),
        ({"train": [4]}, "at least 2 items"),
        ({"test": [1, 1]}, "test has 2 numbers and train 3"),
        ({"test": [0, 0, 0]}, "at least one case"),
        ({"relevant": 1.5}, "less than or equal to 1"),
        ({"ratio": -1.0}, "greater than 0"),
        ({"shape": "many"}, "'prior' or 'none'"),
    ],
)
def test_bad_keys(keys, words):
    with pytest.raises(ValidationError, match=words):
        source(**keys)
