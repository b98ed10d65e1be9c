"""Samples that belong together: several samples of one patient are in one fold, everywhere."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail
from small import CHOSEN

from thesiskit.config import load_config
from thesiskit.errors import ConfigError, DataError
from thesiskit.estimators import NormalClassifier, PoolClassifier
from thesiskit.files import Results
from thesiskit.models import peers
from thesiskit.models.folds import numbered, stratified
from thesiskit.models.peers import REALS, Task
from thesiskit.models.temperature import imitated_bits, imitated_reals
from thesiskit.report import metrics
from thesiskit.study.experiment import Experiment

PATIENTS, TIMES, FEATURES = 24, 4, 40


@pytest.fixture
def table(tmp_path):
    """Patients with several rows each, which are alike, and labels of patients at random."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(PATIENTS), TIMES)
    X = rng.normal(size=(PATIENTS, FEATURES))[who] + 0.2 * rng.normal(size=(len(who), FEATURES))
    y = (rng.permutation(PATIENTS) % 2)[who]
    mixed = rng.permutation(len(who))
    frame = pd.DataFrame(X[mixed].round(4), columns=[f"g{j}" for j in range(FEATURES)])
    frame["patient"] = [f"P{i}" for i in who[mixed]]
    frame["y"] = y[mixed]
    frame.to_csv(tmp_path / "t.csv", index=False)
    return X[mixed], y[mixed], who[mixed]


def experiment(folder, *, until=None, **changes):
    """Run the stages of an experiment, or the first ones."""
    text = CHOSEN.replace("FOLDS", "6").replace(
        "path: t.csv", "path: t.csv, sample_groups: patient"
    )
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (folder / "c.yaml").write_text(text)
    config = load_config(folder / "c.yaml")
    made = Experiment(config, Results(folder / "results", "chosen"), folder)
    for stage in made.stages[:until]:
        made.run(stage, watch=lambda cells, *_: cells)
    return made


def divided(folder, **changes):
    """Read the table of an experiment, and return its samples, folds, notes and findings."""
    experiment(folder, until=1, **changes)
    return arrays(folder / "results/chosen/simulate/0000.npz")


def together(fold, who):
    """Whether the samples of each group are in one fold."""
    return all(len(set(fold[who == one])) == 1 for one in set(who))


@pytest.mark.parametrize("scheme", ["k-fold", "leave-one-out", "holdout"])
def test_groups_are_in_one_fold(tmp_path, table, scheme):
    _, y, who = table
    evaluation = f"{{scheme: {scheme}, choose: {str(scheme == 'k-fold').lower()}}}"
    fold = divided(tmp_path, a=("{folds: 6, choose: true}", evaluation))["fold"][0]
    assert together(fold, who)
    if scheme == "leave-one-out":
        assert len(set(fold)) == PATIENTS
    if scheme == "k-fold":  # as even as can be
        sizes = np.array([[(y[fold == f] == g).sum() for g in (0, 1)] for f in np.unique(fold)])
        assert np.ptp(sizes, axis=0).max() <= TIMES


@pytest.mark.slow
def test_rows_of_patients_at_random_are_no_evidence(tmp_path, table):
    """Apart the rows of a patient predict each other; together nothing is learnt."""
    others = ("lasso", "l2-logistic")
    made = experiment(tmp_path, a=others).record()
    apart = tmp_path / "apart"
    apart.mkdir()
    (apart / "t.csv").write_text((tmp_path / "t.csv").read_text())
    key = ("sample_groups: patient", "ignore: [patient]")
    alone = experiment(apart, a=key, b=others).record()
    assert min(score.log_loss for score in alone.scores) < 0.6
    assert alone.choice[0].log_loss < 0.6
    assert made.choice[0].log_loss > np.log(2) - 0.02


def test_intervals_are_over_groups(tmp_path, table):
    record = experiment(tmp_path).record()
    one = record.scores[0]
    who = table[2][record.predictions["sample"]]
    means = [one.loss[who == g].mean() for g in range(PATIENTS)]
    error = np.std(means, ddof=1) / np.sqrt(PATIENTS)
    assert one.tested.wider == metrics.WIDER  # folds share training samples
    assert one.error_of(one.loss) == pytest.approx(one.tested.wider_of_skew * error)
    low, high = one.error_interval
    assert (low, high) == metrics.wilson(one.error, PATIENTS / metrics.WIDER**2)


def test_inner_folds_keep_groups():
    rng = np.random.default_rng(1)
    who = rng.integers(0, 20, 90)
    y = (rng.permutation(20) % 3)[who]
    rows = peers._folds(y, 1, who)
    assert len(rows) == 5
    assert not any(set(who[train]) & set(who[test]) for train, test in rows)
    assert together(stratified(y, rng, 5, who), who)
    one = np.where(y == 2, 50, who)  # all samples of a class are one group
    assert peers._folds(y, 1, np.unique(one, return_inverse=True)[1]) is None
    assert numbered(["a", "", "b", "a", ""]).tolist() == [0, 1, 2, 0, 3]


def test_methods_of_others_keep_groups(table):
    """In folds that keep patients no penalty is too weak, because labels are at random."""
    X, y, who = table
    for name in ("l2-logistic", "lasso", "pool"):
        task, apart = Task(REALS, 2, groups=who), Task(REALS, 2)
        loss = []
        for one in (task, apart):
            p = peers.predict(name, one, peers.fit(name, one, X, y, 1), X)
            loss.append(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-9)).mean())
        assert loss[0] > loss[1] + 0.03, name  # of training samples: less is learnt of them


def test_errors_of_means_are_those_of_groups(monkeypatch):
    """With r equal samples in each group they are the root of r larger."""
    # signs that change would move the means of residuals, too
    monkeypatch.setattr("thesiskit.models.temperature.correlation_factor", lambda *_: 1.0)
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(30), 4)
    values = rng.normal(size=(30, 3))[who]
    y = (np.arange(30) % 2)[who]
    means, spread = np.zeros((3, 2)), np.full((3, 2), 0.01)
    variance = np.ones(3)
    found = []
    for groups in (None, who):
        errors = []
        for seed in range(150):
            made = imitated_reals(
                values, y, means, spread, variance, np.random.default_rng(seed), groups
            )
            samples = made[0].reshape(-1, len(y), 3)
            errors.append(samples[:, y == 0].mean(axis=1))
        found.append(np.concatenate(errors).std())
    assert found[1] / found[0] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("model", [NormalClassifier(4), PoolClassifier()])
@pytest.mark.filterwarnings("ignore::thesiskit.errors.UnreliableWarning")
def test_estimators_take_groups(table, model):
    X, y, who = table
    names = np.array([f"P{i}" for i in who])
    model.set_params(random_state=1)
    apart = model.fit(X, y).predict_proba(X)
    with_groups = model.fit(X, y, groups=names).predict_proba(X)
    assert np.abs(np.log(with_groups / apart)).max() > 1e-3
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=names[1:])


def test_what_is_said(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.loc[3, "patient"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = divided(tmp_path)["notes"].tolist()
    assert "data.sample_groups: 1 sample without 'patient': each is a group by itself" in notes
    frame["patient"] = range(len(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = divided(tmp_path)["notes"].tolist()
    assert any("no two samples have the same 'patient': there are no groups" in n for n in notes)
    with pytest.raises(DataError, match="there is no column 'g99'"):
        experiment(tmp_path, a=("sample_groups: patient", "sample_groups: g99, ignore: [patient]"))
    with pytest.raises(ConfigError, match="sample_groups and response are both 'y'"):
        experiment(tmp_path, a=("sample_groups: patient", "sample_groups: y, ignore: [patient]"))


@pytest.mark.parametrize("form", ["parquet", "labels", "genes"])
def test_groups_of_other_files(tmp_path, table, form):
    """Parquet with an index and numbers, a table of labels, and genes in rows."""
    frame = pd.read_csv(tmp_path / "t.csv")
    if form == "parquet":
        number = frame.patient.str[1:].astype(float)
        frame.assign(patient=number).to_parquet(tmp_path / "t.parquet")
        change = ("path: t.csv", "path: t.parquet")
    elif form == "labels":
        frame.insert(0, "id", [f"c{i}" for i in range(len(frame))])
        frame[["id", "patient", "y"]].to_csv(tmp_path / "l.csv", index=False)
        frame.drop(columns=["patient", "y"]).to_csv(tmp_path / "t.csv", index=False)
        change = ("path: t.csv", "path: t.csv, labels: l.csv, id: id")
    else:
        frame.index = [f"c{i}" for i in range(len(frame))]
        frame.T.to_csv(tmp_path / "t.csv", index_label="gene")
        change = ("path: t.csv", "path: t.csv, orientation: genes-in-rows")
    found = divided(tmp_path, a=change)
    assert together(found["fold"][0], table[2])
    assert len(np.unique(found["case_groups"])) == PATIENTS


def test_one_table_alone_has_groups(tmp_path, table):
    """Groups of training samples stay theirs where test samples have none."""
    frame = pd.read_csv(tmp_path / "t.csv")
    frame[:24].assign(patient=[f"N{i}" for i in range(24)]).to_csv(tmp_path / "u.csv", index=False)
    frame[24:].to_csv(tmp_path / "t.csv", index=False)
    changes = ("path: t.csv", "path: t.csv, test_path: u.csv"), ("{folds: 6, choose: true}", "{}")
    made = experiment(tmp_path, a=changes[0], b=changes[1])
    design = made._work.design
    assert len(design.sample_groups) == len(frame)
    assert together(design.sample_groups[:72], table[2][24:])
    assert len(set(design.sample_groups[72:])) == 24
    score = made.record().scores[0]
    assert score.error_of(score.loss) > 0
    assert not any("training and test samples" in note for note in made.notes)
    frame[:24].to_csv(tmp_path / "u.csv", index=False)
    notes = divided(tmp_path, a=changes[0], b=changes[1])["notes"]
    assert any("groups have training and test samples" in note for note in notes)


def test_inner_folds_have_all_classes_to_learn_from():
    """Groups of several classes: fewer folds, and none where two leave a class out."""
    groups = np.array([0] * 6 + [1] * 6 + [2, 3, 4, 5])
    y = np.array([0, 0, 0, 1, 1, 2, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1])
    for seed in range(20):
        for train, _ in peers._folds(y, seed, groups):
            assert set(y[train]) == {0, 1, 2}


def test_bits_of_groups_are_drawn_together():
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(20), 6)
    bits = rng.integers(0, 2, (20, 30))[who].astype(float)
    y = (np.arange(20) % 2)[who]
    rates = np.array([bits[y == g].mean(axis=0) for g in (0, 1)])
    spread = []
    for groups in (None, who):
        samples, _ = imitated_bits(bits, y, rates, np.random.default_rng(2), groups)
        means = samples.reshape(8, -1, 30)[:, y == 0].mean(axis=1)
        spread.append((means - rates[0]).std())
    assert spread[1] > 1.7 * spread[0]  # the root of six, less what zeros and ones allow


def test_fewer_groups_than_folds(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame["patient"] = frame.y * 3 + np.arange(len(frame)) % 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = divided(tmp_path, a=("folds: 6", "folds: 20"))
    assert len(set(found["fold"][0])) == 6
    assert any("6 folds, not 20" in note for note in found["notes"])


def test_the_response_as_groups_is_refused(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.assign(patient=[f"P{y}" for y in frame.y]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="are one group of"):
        experiment(tmp_path)


def test_groups_without_a_name_are_not_counted_as_one(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.loc[[3, 8], "patient"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = invoke("init", tmp_path / "t.csv")
    assert f"'patient', {PATIENTS} groups of samples" in done.output
    assert "2 samples without 'patient': each is a group by itself" in done.output


def test_patterns_keep_groups(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("abcd"))
    frame["who"], frame["y"] = np.arange(60) // 3, np.arange(60) // 3 % 2
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = """
experiment: chosen
title: Chosen
about: "A test."
data: {source: table, path: t.csv, response: y, sample_groups: who}
evaluation: {folds: 5}
model: {kind: logistic, orders: [1], iterations: 20, burn_in: 5, thin: 1, chains: 1}
report: {parts: [summary]}
"""
    (tmp_path / "c.yaml").write_text(text)
    design = Experiment(
        load_config(tmp_path / "c.yaml"), Results(tmp_path, "x"), tmp_path
    )._work.design
    fold = design._folds(design.stored[0], 0)
    assert len(set(fold)) == 5
    assert together(fold, frame.who.to_numpy())
    done = invoke("run", str(tmp_path / "c.yaml"), "--set", "evaluation.folds=40")
    must_fail(done, "cannot form 40 folds of 20 groups of samples")


def test_samples_that_are_alike_in_a_group_are_no_finding(tmp_path, table):
    alike = ["D01", "warning"]
    apart = divided(tmp_path, a=("sample_groups: patient", "ignore: [patient]"))
    assert alike in apart["checks"][:, :2].tolist()
    made = divided(tmp_path, b=("{folds: 6, choose: true}", "{folds: 5}"))
    assert alike not in made["checks"][:, :2].tolist()
