"""How long the chains of estimators run."""

import numpy as np
import pytest
from sklearn.base import clone

from thesiskit.defaults import UNTIL_FEWER_ITERATIONS as LIMIT
from thesiskit.errors import UserError
from thesiskit.estimators import (
    InteractionClassifier,
    InteractionRegressor,
    MixtureClassifier,
    SequenceClassifier,
)
from thesiskit.estimators.inputs import run_length
from thesiskit.models.chains import Until

USUAL = {"chains": 1, "iterations": 2000, "burn_in": 750, "thin": 5}
NOTHING = dict.fromkeys(USUAL)


@pytest.mark.parametrize(
    ("until", "given", "found"),
    [
        ("auto", {}, {"until": Until(), "chains": 4, "iterations": LIMIT, "thin": 1}),
        ("auto", {"chains": 3}, {"until": Until(), "chains": 3, "iterations": LIMIT}),
        ("auto", {"chains": 1}, {"until": None, **USUAL}),
        ("auto", {"burn_in": 9}, {"until": None, **USUAL, "burn_in": 9}),
        ("auto", {"iterations": 99}, {"until": None, **USUAL, "iterations": 99}),
        ((1.05, 100), {"iterations": 99}, {"until": (1.05, 100), "iterations": 99, "burn_in": 0}),
        ((1.05, 100), {"burn_in": 5}, {"until": (1.05, 100), "burn_in": 5}),
        (None, {}, {"until": None, **USUAL}),
    ],
)  # fmt: skip
def test_lengths(until, given, found):
    answer = run_length(until, NOTHING | given, USUAL)
    assert set(answer) == {"until", *USUAL}
    assert {name: answer[name] for name in found} == found


def test_other_words_are_refused():
    with pytest.raises(UserError, match="'auto', None or a pair"):
        run_length("yes", NOTHING, USUAL)
    assert run_length("auto", NOTHING, USUAL, judged=False)["until"] is None


def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3))
    return X, (X[:, 2] + (rng.random(60) < 0.25)) % 2


MODELS = {
    "sequences": SequenceClassifier(2, random_state=0),
    "interactions": InteractionClassifier(1, random_state=0),
    "numbers": InteractionRegressor(1, random_state=0),
    "mixture": MixtureClassifier(2, alpha_points=20, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_chains_run_until_they_agree_unless_a_length_is_given(name):
    X, y = data()
    easy = clone(MODELS[name]).set_params(until=(1.05, 100), iterations=700)
    found = easy.fit(X, y).diagnostics_
    assert found["reached"]
    assert 200 <= found["iterations"] <= 700
    assert easy.predict(X).shape == (60,)
    again = clone(easy).fit(X, y)
    np.testing.assert_array_equal(easy.predict(X), again.predict(X))
    fixed = clone(MODELS[name]).set_params(iterations=40, burn_in=10)
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        assert "reached" not in fixed.fit(X, y).diagnostics_
    with pytest.raises(ValueError, match="Fix: remove burn_in, or remove until"):
        clone(easy).set_params(burn_in=5).fit(X, y)
    with pytest.raises(ValueError, match="R-hat compares chains"):
        clone(easy).set_params(chains=1).fit(X, y)


def test_by_default_chains_agree():
    X, y = data()
    model = SequenceClassifier(2, random_state=0).fit(X, y)
    assert model.diagnostics_["reached"]
    assert model.draws_["posterior"].sizes["chain"] == 4
    assert model.draws_["posterior"].sizes["draw"] <= 250
    assert model.get_params()["until"] == "auto"
