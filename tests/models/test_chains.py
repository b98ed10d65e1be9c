"""Chains that run until they agree: when they are judged, and what is kept."""

import json

import numpy as np
import pytest

from thesiskit.errors import UserError
from thesiskit.models import chains
from thesiskit.models.chains import Judgement, Rule, Until, as_until, check_run, compare_chains, run

LIMIT = 3000
CHECKPOINTS = [200, 300, 450, 675, 1012, 1518, 2277]


class Walk:
    """An autoregressive chain about a centre, with the state of a chain."""

    def __init__(self, seed, centre=0.0, memory=0.85):
        self.rng, self.centre, self.memory = np.random.default_rng(seed), centre, memory
        self.x, self.done = np.zeros(1), 0

    def advance(self, iterations):
        values = np.empty(iterations)
        for i in range(iterations):
            self.x[0] = self.memory * self.x[0] + self.rng.normal()
            values[i] = self.x[0] + self.centre
        self.done += iterations
        draws = np.stack([values, values**2], axis=1)
        return {"draw": draws, "trace": values, "count": np.array([iterations])}

    def state(self):
        state = np.array(json.dumps(self.rng.bit_generator.state))
        return {"x": self.x.copy(), "done": np.array(self.done), "generator": state}

    def restore(self, state):
        self.x[:], self.done = state["x"], int(state["done"])
        self.rng.bit_generator.state = json.loads(str(state["generator"]))


def rule(targets=(1.05, 100), chains=3, numbers=2):
    return Rule(
        Until(*targets), lambda drawn: drawn["draw"], ["x", "its square"], {"draw": np.float32},
        chains, numbers, sums=("count",),
    )  # fmt: skip


def walk(limit=LIMIT, *, centres=(0, 0, 0), saved=None, save=None, memory=0.85, **options):
    made = rule(**options)
    chains = [Walk(seed, centre, memory) for seed, centre in enumerate(centres)]
    found = run(chains, limit, saved=saved, save=save, sums=("count",), rule=made)
    return made, chains, found


def all_iterations(limit=LIMIT, centres=(0, 0, 0)):
    """The draws of the same chains, with nothing left out, (C, I, 2)."""
    chains = [Walk(seed, centre) for seed, centre in enumerate(centres)]
    return np.stack([chain.advance(limit)["draw"] for chain in chains])


def second_half(done, most):
    """The iterations that are kept, the slow way."""
    half = [i for i in range(1, done + 1) if 2 * i > done]
    space = 1
    while len([i for i in half if i % space == 0]) > most:
        space *= 2
    return [i for i in half if i % space == 0]


def test_checkpoints_are_each_half_as_many_again():
    found = [0]
    while found[-1] < 8000:
        found.append(chains.next_checkpoint(found[-1]))
    assert found[1:8] == CHECKPOINTS
    assert [i for i in range(2300) if chains.next_checkpoint(i - 1) == i] == found[1:8]


@pytest.mark.parametrize("most", [1, 7, 40, 250])
def test_what_is_kept_is_evenly_spaced_and_contains_what_is_kept_later(most):
    kept = {}
    for done in [1, 2, 3, 199, 200, 201, 450, 675, 1012, 1013, 2277, 2278, 5001]:
        at = np.arange(done) + 1
        kept[done] = at[chains.counts(at, done, most)].tolist()
        assert kept[done] == second_half(done, most)
        assert len(kept[done]) <= most
        assert len(kept[done]) > most // 2 or len(kept[done]) == len(second_half(done, done))
        for before in kept:
            assert {i for i in kept[done] if i <= before} <= set(kept[before])


def test_a_rule_keeps_few_draws_of_large_models():
    assert rule(chains=4, numbers=10).most == 250
    assert rule(chains=4, numbers=50_000).most == 250
    assert rule(chains=4, numbers=100_000).most == 125
    assert rule(chains=4, numbers=10**8).most == 40  # never fewer than 20 of a chain
    assert rule(chains=100, numbers=1).most == 40


def test_chains_stop_at_the_first_checkpoint_at_which_all_agree():
    made, chains, found = walk()
    every, stops = all_iterations(), None
    for checkpoint in (200, 300, 450, 675, 1012, 1518, 2277):
        at = np.array(second_half(checkpoint, 2000)) - 1
        rhat, ess = compare_chains(every[:, at])
        if (rhat <= 1.05).all() and (ess >= 100).all():
            stops = checkpoint
            break
    assert stops is not None
    assert 200 < stops < 2277  # else nothing is shown
    assert [chain.done for chain in chains] == [stops] * 3
    at = np.array(second_half(stops, made.most)) - 1
    for c, one in enumerate(found):
        np.testing.assert_array_equal(one["draw"], every[c, at].astype(np.float32))
        np.testing.assert_array_equal(one["kept_at"], at + 1)
        np.testing.assert_array_equal(one["trace"], every[c, :stops, 0])
        assert one["count"].tolist() == [stops]
    reached = made.judge(found)
    np.testing.assert_array_equal(reached.rhat, rhat)
    assert reached.enough
    assert reached.arrays(stops)["iterations"] == stops


def test_chains_that_stay_apart_run_to_the_limit():
    made, chains, found = walk(1000, centres=(0, 0, 9))
    assert chains[0].done == 1000
    reached = made.judge(found)
    assert not reached.enough
    assert reached.rhat.max() > 1.5
    assert len(found[0]["draw"]) == len(second_half(1000, made.most))


@pytest.mark.parametrize("at_once", [1, 17, 10**9])
def test_blocks_and_interruptions_change_nothing(monkeypatch, at_once):
    _, _, whole = walk(memory=0.5)
    monkeypatch.setattr(chains, "AT_ONCE", at_once)
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 1e-9)  # blocks of one iteration
    states = []
    made, _, found = walk(save=states.append, memory=0.5)
    most = max(len(state["draws-0-draw"]) for state in states)
    assert most <= made.most  # nothing piles up meanwhile
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 1.0)
    assert len(states) > 150
    for state in states[5::37]:
        _, _, again = walk(saved=state, memory=0.5)
        for one, two, three in zip(whole, found, again, strict=True):
            for name in one:
                np.testing.assert_array_equal(one[name], two[name], err_msg=name)
                np.testing.assert_array_equal(one[name], three[name], err_msg=name)


@pytest.mark.parametrize("first", [100, 200, 331, 450])
def test_more_iterations_go_on_as_if_there_had_been_no_limit(first):
    _, chains, whole = walk()
    assert chains[0].done > 450
    _, stopped, found = walk(first)
    assert stopped[0].done == first
    saved = {"done": np.array(first)}
    for c, (chain, drawn) in enumerate(zip(stopped, found, strict=True)):
        saved |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
        saved |= {f"draws-{c}-{name}": value for name, value in drawn.items()}
    _, again, found = walk(saved=saved)
    assert again[0].done == chains[0].done
    for one, two in zip(whole, found, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def test_chains_that_were_enough_do_not_go_on():
    _, chains, found = walk()
    saved = {"done": np.array(chains[0].done)}
    for c, (chain, drawn) in enumerate(zip(chains, found, strict=True)):
        saved |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
        saved |= {f"draws-{c}-{name}": value for name, value in drawn.items()}
    _, again, _ = walk(10 * LIMIT, saved=saved)
    assert again[0].done == chains[0].done


def test_the_worst_quantity_is_the_one_that_lacks_most():
    targets = Until(1.01, 400)
    names = ["a", "b", "c"]
    found = Judgement(targets, np.array([1.0, 1.02, 1.005]), np.array([500.0, 450, 900]), names)
    assert (found.worst, found.enough) == ("b", False)
    found = Judgement(targets, np.array([1.0, 1.02, 1.0]), np.array([100.0, 450, 900]), names)
    assert (found.worst, found.enough) == ("a", False)
    found = Judgement(targets, np.array([1.0, 1.01, 1.0]), np.array([401.0, 400, 900]), names)
    assert found.enough
    found = Judgement(targets, np.array([1.0, np.inf, 1.0]), np.array([401.0, 0, 900]), names)
    assert (found.worst, found.enough) == ("b", False)


def test_spread_takes_both_ends_and_no_sample_twice():
    assert chains.spread(3).tolist() == [0, 1, 2]
    assert chains.spread(20).tolist() == list(range(20))
    found = chains.spread(1000)
    assert (len(found), found[0], found[-1]) == (20, 0, 999)
    assert np.ptp(np.diff(found)) <= 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((1.0, 400), "above 1"),
        ((0.5, 400), "above 1"),
        ((2, 400), "at most 1.1"),
        ((float("nan"), 400), "above 1"),
        ((1.01, 0), "at least 40"),
        ((1.01, -3), "at least 40"),
        ((1.01, float("nan")), "at least 40"),
        ((1.01, float("inf")), "at most 1,000"),
        ((1.01, 1001), "at most 1,000"),
        ((1.01,), "a pair"),
        (1.01, "a pair"),
        ("ab", "a pair"),
        ({"rhat": 1.01}, "a pair"),
        ((1.01, 400, 200), "a pair"),
    ],
)
def test_targets_that_cannot_be_are_refused(value, words):
    with pytest.raises(UserError, match=words):
        as_until(value)


def test_a_single_chain_a_short_limit_and_burn_in_are_refused():
    targets = as_until([1.01, 400])
    assert targets == (1.01, 400.0)
    check_run(targets, 2, 200, 0, 1)
    check_run(None, 1, 100, 50, 5)
    with pytest.raises(UserError, match=r"R-hat compares chains.*set chains to 2 or more"):
        check_run(targets, 1, 200, 0, 1)
    with pytest.raises(UserError, match=r"the limit is 199. Fix: set iterations to 200 or more"):
        check_run(targets, 2, 199, 0, 1)
    for key, burn_in, thin in (("burn_in", 5, 1), ("thin", 0, 2)):
        with pytest.raises(UserError, match=f"Fix: remove {key}, or remove until"):
            check_run(targets, 2, 200, burn_in, thin)
        with pytest.raises(UserError, match=f"Fix: remove model.{key}, or remove until"):
            check_run(targets, 2, 200, burn_in, thin, "model.")
    with pytest.raises(UserError, match="of 20 iterations none remains after burn_in 19 with thin"):
        check_run(None, 2, 20, 19, 2)
