"""Real features with signals: settings and grids of them, what is drawn, and its experiment."""

from copy import deepcopy

import numpy as np
import pytest
import yaml

from thesiskit.config import load_config
from thesiskit.datasets.source import SelectionPriors
from thesiskit.datasets.synthetic import SignalsData
from thesiskit.errors import ConfigError
from thesiskit.files import Results
from thesiskit.models import naive_bayes
from thesiskit.models.selection import select_features
from thesiskit.study.design import Design
from thesiskit.study.experiment import Experiment

PRIORS = SelectionPriors((1.0, 1.0), (0.5, 5.0))
ONE = {"relevant": 5, "of": 60, "effect": 1.5, "train": [30, 31], "test": [40, 50]}
TWO = {"alpha": 300, "of": 70, "train": [8, 9], "test": [6, 5]}


def source(*settings) -> SignalsData:
    return SignalsData.model_validate({"source": "signals", "settings": list(settings)})


def config(tmp_path, *settings, block=2, **more):
    tree = {
        "experiment": "small",
        "title": "Small",
        "about": "A test.",
        "replicates": 3,
        "block": block,
        "data": {"source": "signals", "settings": list(settings)},
        "selection": {"features": [5]},
        "model": {"methods": ["uncorrected", "corrected", "bernoulli-nb", "l2-logistic"]},
        "report": {"parts": ["score-table"]},
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(tree | more))
    return load_config(path)


def test_a_grid_is_all_combinations():
    found = source(ONE | {"relevant": [0, 5], "train": [[6, 7], [8, 9]]}, TWO)
    assert [(one.relevant, one.train) for one in found.settings] == [
        (0, (6, 7)), (0, (8, 9)), (5, (6, 7)), (5, (8, 9)), (None, (8, 9)),
    ]  # fmt: skip
    assert found.n_settings == 5
    sizes = found.sizes
    assert (sizes.train, sizes.test, sizes.width) == (17, 90, 70)
    assert found.setting(4).sizes.test == 11
    # what a validated source writes is read back as it is
    assert SignalsData.model_validate(found.model_dump()) == found


def test_the_first_features_differ_by_the_effect():
    drawn = source(ONE | {"train": [4000, 5000]}).draw(np.random.default_rng(1), PRIORS)
    X, y = drawn.train.features, drawn.train.response
    assert X.shape == (9000, 60)
    assert y.sum() == 5000
    assert len(drawn.test.response) == 90
    difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    # the standard error is 0.021
    np.testing.assert_allclose(difference, [1.5] * 5 + [0] * 55, atol=0.09)
    for value in (0, 1):
        np.testing.assert_allclose(X[y == value].std(axis=0), 1, atol=0.06)
    joint = np.corrcoef(X[y == 0].T)
    assert np.abs(joint - np.eye(60)).max() < 0.08


def test_alpha_draws_from_the_model_of_the_thesis():
    drawn = source(TWO).draw(np.random.default_rng(1), PRIORS)
    assert set(np.unique(drawn.train.features)) == {0, 1}
    assert drawn.alpha == 300
    assert drawn.truth["theta"].shape == (70,)


def test_blocks_hold_replicates_of_one_setting(tmp_path):
    experiment = Experiment(
        config(tmp_path, ONE, TWO, block=2), Results(tmp_path, "small"), tmp_path, 0
    )
    graph = experiment.graph
    assert [graph.block(number).replicates for number in graph.blocks] == [
        range(0, 2), range(2, 3), range(3, 5), range(5, 6),
    ]  # fmt: skip


def test_a_setting_has_the_same_data_whatever_stands_beside_it(tmp_path):
    alone = Design(config(tmp_path, ONE), tmp_path).draw(range(0, 3))
    both = config(tmp_path, TWO, ONE)
    first, after = (
        Design(both, tmp_path, both.data.setting(i)).draw(range(3 * i, 3 * i + 3)) for i in (0, 1)
    )
    np.testing.assert_array_equal(alone["words"], after["words"])
    assert first["words"].shape[1] == 70


def test_features_are_cut_at_medians_of_the_training_cases(tmp_path):
    design = Design(config(tmp_path, ONE), tmp_path)
    replicates = range(1, 2)
    (split,) = design.splits(replicates, design.draw(replicates))
    drawn = design.drawn(1)
    bits = split.bits().unpack(np.arange(60))
    medians = np.median(drawn.train.features, axis=0)
    np.testing.assert_array_equal(bits[split.train], drawn.train.features > medians)
    np.testing.assert_array_equal(bits[split.test], drawn.test.features > medians)


def test_what_selects_nothing_gets_the_values_themselves(tmp_path):
    design = Design(config(tmp_path, ONE), tmp_path)
    (split,) = design.splits(range(0, 1), design.draw(range(0, 1)))
    blocks = list(design.column_blocks(split))
    drawn = design.drawn(0)
    np.testing.assert_array_equal(
        np.hstack(blocks), np.concatenate([drawn.train.features, drawn.test.features])
    )


def finished(tmp_path, name, block):
    experiment = Experiment(
        config(tmp_path, ONE, TWO, block=block), Results(tmp_path / name, "small"), tmp_path, 0
    )
    for stage in experiment.stages:
        experiment.run(stage, watch=lambda items, *_: items)
    return experiment.record()


def test_an_experiment_of_settings_of_different_shapes(tmp_path):
    record = finished(tmp_path, "a", 2)
    assert record.predictions["probability"].shape == (4, 3 * 90 + 3 * 11)
    # the second data set of the first setting, by hand
    drawn = Design(config(tmp_path, ONE), tmp_path).drawn(1)
    train, test = (one.features > np.median(drawn.train.features, axis=0)
                   for one in (drawn.train, drawn.test))  # fmt: skip
    kept = record.results.load("select", 0)["selected"][5:10]
    # of the features that tie, the same are kept as there: no others are left to choose from
    best = select_features(train[:, kept], drawn.train.response, 5, np.random.default_rng(1))
    model = naive_bayes.fit(best, naive_bayes.NaiveBayes(), correct=False)
    expected = naive_bayes.predict(model, test[:, kept[best.selected]])
    np.testing.assert_allclose(record.probability(record.arms[0])[90:180], expected, rtol=1e-9)
    # whatever shares a file, numbers are the same
    other = finished(tmp_path, "b", 3)
    np.testing.assert_array_equal(
        other.predictions["probability"], record.predictions["probability"]
    )


BAD = [
    ([ONE | {"relevant": 61}], r"yaml:\d+: data.settings.0: relevant \(61\) must be at most of"),
    ([TWO | {"effect": 1.0}], "give either `relevant` and `effect`, or `alpha`"),
    ([ONE | {"alpha": 3.0}], "give either `relevant` and `effect`, or `alpha`"),
    ([{k: v for k, v in ONE.items() if k != "effect"}], "give either `relevant` and `effect`"),
    ([ONE | {"train": [0, 3]}], "data.settings.0.train: both classes need at least one case"),
    ([ONE | {"test": [0, 0]}], "data.settings.0.test: at least one case is needed"),
    ([ONE | {"effect": []}], "effect is an empty list"),
    ([ONE, deepcopy(ONE)], "setting 2 is the same as an earlier one"),
    ([ONE | {"effect": "big"}], "data.settings.0.effect: needs a number, got the text 'big'"),
    ([ONE | {"efect": 1.0}], "data.settings.0.efect: unknown key; did you mean 'effect'?"),
    ([ONE | {"of": [60, 4], "relevant": 3}], "selection.features: cannot keep 5 of 4 features"),
    ([], "data.settings: needs at least 1 entries"),
]


@pytest.mark.parametrize(("settings", "said"), BAD)
def test_wrong_settings(tmp_path, settings, said):
    with pytest.raises(ConfigError, match=said) as caught:
        config(tmp_path, *settings)
    assert len(str(caught.value)) <= 400
