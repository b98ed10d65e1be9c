"""The method that is chosen inside the training samples of each fold."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail
from scipy import stats
from small import CHOSEN

from thesiskit.config import load_config
from thesiskit.files import Results, remove_result
from thesiskit.models import normal
from thesiskit.models.folds import LossSummary
from thesiskit.models.selection import select_by_f
from thesiskit.study.design import each_pair, parts_of
from thesiskit.study.experiment import Experiment


def made(folder, X, y, folds=6, methods="[corrected, lasso]"):
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    frame["y"] = y
    frame.to_csv(folder / "t.csv", index=False)
    text = CHOSEN.replace("FOLDS", str(folds)).replace("[corrected, lasso]", methods)
    (folder / "c.yaml").write_text(text)
    config = load_config(folder / "c.yaml")
    experiment = Experiment(config, Results(folder / "results", "chosen"), folder)
    for stage in experiment.stages:
        experiment.run(stage, watch=lambda cells, *_: cells)
    return experiment


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    y = np.arange(48) % 2
    X = rng.normal(size=(48, 20)).round(3)
    X[:, :2] += 0.8 * y[:, None]
    return X, y


def test_no_sample_judges_a_model_that_has_learnt_of_it_or_of_its_fold():
    rng = np.random.default_rng(1)
    for folds in (4, 5, 10, 47):
        fold = rng.permutation(np.arange(47) % folds)
        y = fold % 2
        part = parts_of(fold, y)
        assert np.ptp([(part == a).sum() for a in range(min(folds, 5))]) <= 9
        served = [set() for _ in range(folds)]
        numbers = []
        for number, test in each_pair(fold, y):
            numbers.append(number)
            a, b = np.unique(part[test])
            assert set(test) == set(np.flatnonzero((part == a) | (part == b)))
            for mine, other in ((a, b), (b, a)):
                for f in np.unique(fold[part == mine]):
                    served[f] |= set(np.flatnonzero(part == other))
        assert len(set(numbers)) == len(numbers) <= 10
        assert max(numbers) < -2  # no fold has the number
        for f, samples in enumerate(served):  # all but those of its own part judge for a fold
            assert samples == set(np.flatnonzero(part != part[fold == f][0]))


def test_parts_of_single_samples_have_all_classes():
    y = np.arange(60) % 5 == 4  # every fifth, as the parts would be
    part = parts_of(np.arange(60), y.astype(int))
    assert all(2 <= y[part == a].sum() <= 3 for a in range(5))


def test_a_damaged_part_is_computed_again_beside_the_fits(tmp_path, table):
    experiment = made(tmp_path, *table, methods="[corrected]")
    expected = experiment.record().prediction_arrays["inner_losses"]
    graph, block = experiment.graph, experiment.graph.block(0)
    name = next(iter(graph.work.methods("predict")))
    for cell in (block.cell("fit"), block.cell("predict"), block.cell("predict", name)):
        remove_result(graph.files.path(cell))
    part = block.cell("predict", name, 2)
    graph.make(part)
    path = graph.files.path(part)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    path.write_bytes(damaged)
    again = Experiment(experiment.config, experiment.results, tmp_path)
    counts = [again.run(stage, watch=lambda cells, *_: cells, ahead=True) for stage in again.stages]
    assert counts == [0, 0, 1, 7]  # the stage fit; five parts, their method and the stage predict
    assert f"{path} was damaged and is computed again" in again.notes
    np.testing.assert_array_equal(again.record().prediction_arrays["inner_losses"], expected)
    assert [again.run(stage, watch=lambda cells, *_: cells) for stage in again.stages] == [0] * 4
    recorded = experiment.results.provenance()["stages"]
    assert [recorded[stage]["cells_made"] for stage in ("fit", "predict")] == [1, 7]


def test_methods_are_judged_by_fits_without_both_parts(tmp_path, table):
    X, y = table
    experiment = made(tmp_path, X, y, methods="[corrected]")
    arrays = experiment.record().prediction_arrays
    names = list(experiment.graph.work.methods("predict"))
    method = names.index("2 corrected exact some")
    fold = experiment.record().simulated["fold"][0]
    gains = {f: [] for f in range(5)}
    for a, b in combinations(range(5), 2):
        test = np.isin(fold % 5, (a, b))
        chosen = select_by_f(X[~test], y[~test], 2, np.random.default_rng(0))
        fitted = normal.fit(chosen, normal.Normal())
        log = normal.Normal().log_probability(fitted, X[test][:, chosen.selected])
        own = np.log(np.mean(y[~test][:, None] == y[test], axis=0))
        own -= log[np.arange(test.sum()), y[test]]
        gains[a].append(own[fold[test] % 5 == b])
        gains[b].append(own[fold[test] % 5 == a])
    for f, (mean, error, rank) in enumerate(arrays["inner_losses"][:, method]):
        one = np.concatenate(gains[f % 5])
        assert (mean, error) == pytest.approx((one.mean(), stats.sem(one)), rel=1e-9)
        z = stats.wilcoxon(one, method="asymptotic").zstatistic
        assert abs(rank) == pytest.approx(abs(z), rel=1e-9)
        assert (rank > 0) == (stats.wilcoxon(one, alternative="less").pvalue > 0.5)


def test_what_is_chosen_is_predicted(tmp_path, table):
    X, y = np.random.default_rng(3).normal(size=(48, 20)), table[1]
    X[:, :2] += 0.6 * y[:, None]
    record = made(tmp_path, X, y).record()
    score, chosen = record.choice
    losses = LossSummary(*np.moveaxis(record.prediction_arrays["inner_losses"], -1, 0))
    better = (losses.mean < 0) & (losses.signed_rank < -1)
    loss = np.where(better, losses.mean + 0.25 * losses.error, np.inf)
    least, clear = loss.argmin(axis=1), better.any(axis=1)
    assert (chosen == np.where(clear, least, -1)).all()
    assert set(clear) == {True, False}
    for row, f in enumerate(record.predictions["fold"]):
        own = record.scores[chosen[f]].probability if clear[f] else record.tested.base
        own = own[row]
        np.testing.assert_array_equal(score.probability[row], own)


@pytest.mark.slow
def test_a_choice_on_the_test_samples_is_too_good_and_inside_it_is_not(tmp_path):
    """Labels at random: the best method seems to know something, what was chosen does not."""
    gains = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        record = made(folder, rng.normal(size=(40, 30)), rng.permutation(40) % 2).record()
        guessing = np.log(2)
        best = min(score.log_loss for score in record.scores)
        gains.append([guessing - best, guessing - record.choice[0].log_loss])
    after, inside = np.mean(gains, axis=0)
    assert after > inside
    assert inside < 0.005


def test_folds_are_needed(tmp_path, table):
    few = made(tmp_path, *table, folds=3, methods="[corrected]")
    assert any("needs four folds; there are 3" in note for note in few.notes)
    assert few.record().choice is None
    must_fail(
        invoke("run", "null", "--set", "evaluation.choose=true"),
        "is for your own tables. Fix: set it to false",
    )


def test_a_part_without_a_class_does_not_judge(tmp_path, table):
    X, y = table
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]
    record = made(tmp_path, X[few], y[few], folds=4, methods="[corrected]").record()
    assert np.isfinite(
        record.prediction_arrays["inner_losses"]
    ).all()  # two samples are left in each
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:2]]
    folder = tmp_path / "fewer"
    folder.mkdir()
    record = made(folder, X[few], y[few], folds=4, methods="[corrected]").record()
    assert record.choice is None
