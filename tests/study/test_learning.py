"""Learning curves of tables: parts of training sets, their losses, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run

from thesiskit.config import load_config
from thesiskit.errors import DataError
from thesiskit.files import Results
from thesiskit.study import learning
from thesiskit.study.all_samples import AllSamples
from thesiskit.study.learning import LearningCurve

CONFIG = """
experiment: mine
title: Mine
about: A test.
data: {{ source: file, path: table.csv, response: status, positive: tumour{data} }}
evaluation: {{ {evaluation} }}
selection: {{ features: [3] }}
model: {{ kind: normal, methods: [corrected, uncorrected], temperature: [none]{model} }}
report: {{ parts: [methods] }}
"""


@pytest.fixture(autouse=True)
def two_divisions(monkeypatch):
    monkeypatch.setattr(learning, "REPEATS", 2)


def write(folder, counts=(20, 16), evaluation="folds: 4", data="", model="", **columns):
    """Write a table with so many samples of each class, and its config; return their paths."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 12)) + 0.8 * y[:, None] * (np.arange(12) < 3)
    frame = pd.DataFrame(X.round(3), columns=[f"g{j}" for j in range(12)])
    order = rng.permutation(len(y))
    frame = frame.assign(status=np.array(["normal", "tumour"])[y], **columns).iloc[order]
    frame.to_csv(folder / "table.csv", index=False)
    path = folder / "mine.yaml"
    path.write_text(CONFIG.format(evaluation=evaluation, data=data, model=model))
    return path


def curve_of(path):
    config = load_config(path)
    return LearningCurve(AllSamples(config, Results(path.parent / "r", "mine"), path.parent))


def quiet(items, *_):
    return items


def parts_of(curve, repeat):
    """Return each fold with the training samples of each part, (parts, n)."""
    data = curve.data[repeat]
    fold, response = data["fold"][0], data["response"][0]
    divided = [dict(curve._divide(repeat, part, fold, response)) for part in curve.parts]
    samples = np.arange(len(fold))
    return (
        fold,
        response,
        {f: [np.setdiff1d(samples, one[f]) for one in divided] for f in divided[0]},
    )


def test_parts_hold_smaller_ones_and_their_share_of_each_class(tmp_path):
    curve = curve_of(write(tmp_path))
    for repeat in range(learning.REPEATS):
        fold, y, by_fold = parts_of(curve, repeat)
        assert sorted(by_fold) == [0, 1, 2, 3]
        for f, (half, most, every) in by_fold.items():
            assert set(half) < set(most) < set(every)
            assert set(every) == set(np.flatnonzero(fold != f))
            for k in (0, 1):
                n = (y[every] == k).sum()
                assert abs((y[half] == k).sum() - n / 2) <= 1
                assert abs((y[most] == k).sum() - 3 * n / 4) <= 1
    first, second = parts_of(curve, 0)[2], parts_of(curve, 1)[2]
    assert any(set(first[f][0]) != set(second[f][0]) for f in first)


def test_groups_of_samples_are_whole(tmp_path):
    patient = [f"P{i // 2}" for i in range(60)]
    path = write(tmp_path, (30, 30), data=", sample_groups: patient", patient=patient)
    curve = curve_of(path)
    group = curve.groups
    for f, parts in parts_of(curve, 0)[2].items():
        tested = np.flatnonzero(curve.data[0]["fold"][0] == f)
        for part in parts:
            assert not set(group[part]) & set(group[np.setdiff1d(parts[-1], part)])
            assert not set(group[part]) & set(group[tested])
    assert 0.4 < len(parts[0]) / len(parts[-1]) < 0.6
    _, losses = curve.measure("3 corrected exact some", watch=quiet)
    assert losses.shape == (2, 2, 3, 30)  # the groups
    assert np.isfinite(losses).all()


def test_all_training_samples_give_the_losses_of_the_experiment(tmp_path):
    path = write(tmp_path)
    run("predict", path, "--results", tmp_path / "r", "--jobs", "0")
    predictions = pd.read_csv(tmp_path / "r/mine/predictions.csv")
    p = predictions[["probability: normal", "probability: tumour"]].to_numpy()
    of_response = (predictions["response"] == "tumour").to_numpy(int)
    loss = -np.log(p[np.arange(len(p)), of_response])
    found = np.sort(
        [
            rows.mean()
            for rows in np.array_split(loss[np.argsort(predictions["method"], kind="stable")], 2)
        ]
    )
    curve = curve_of(path)
    means = []
    for name in curve.work.all_methods:
        sizes, losses = curve.measure(name, watch=quiet)
        assert sizes.tolist() == pytest.approx([13.5, 20.25, 27], abs=1)
        means.append(losses[0, 0, -1].mean())
        base = -(5 / 9) * np.log(5 / 9) - (4 / 9) * np.log(4 / 9)  # about
        assert losses[1].mean() == pytest.approx(base, abs=0.02)
    assert np.sort(means) == pytest.approx(found, abs=1e-6)


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    path = write(tmp_path)
    texts = []
    for jobs in ("0", "2"):
        folder = tmp_path / f"jobs{jobs}"
        options = ("--method", "3 corrected", "--results", folder, "--jobs", jobs)
        run("learning-curve", path, *options)
        texts.append((folder / "mine/learning-curve/learning-curve.csv").read_bytes())
    assert texts[0] == texts[1]
    run(
        "learning-curve",
        path,
        "--method",
        "corrected",
        "--results",
        tmp_path / "seed",
        "--seed",
        "9",
    )
    assert (tmp_path / "seed/mine/learning-curve/learning-curve.csv").read_bytes() != texts[0]


def test_the_recommended_method_and_the_lines_of_the_console(tmp_path):
    text = run(
        "learning-curve", write(tmp_path, (40, 36)), "--results", tmp_path / "r", "--jobs", "0"
    )
    lines = text.strip().splitlines()
    assert sum("training samples: " in line and "predicted" in line for line in lines) == 4
    assert sum("training samples: " in line and "measured" in line for line in lines) == 3
    assert any(line.startswith(("Falling", "Flat within", "Too noisy")) for line in lines)


def test_a_test_set_is_predicted_from_parts_of_the_training_samples(tmp_path):
    path = write(tmp_path, evaluation="scheme: test-set", data=", test_path: test.csv")
    pd.read_csv(tmp_path / "table.csv").iloc[:12].to_csv(tmp_path / "test.csv", index=False)
    curve = curve_of(path)
    _, _, by_fold = parts_of(curve, 0)
    assert curve.n == 36
    assert by_fold.keys() == {0}
    assert max(map(max, by_fold[0])) < 36
    sizes, losses = curve.measure("3 corrected exact some", watch=quiet)
    assert losses.shape == (2, 2, 3, 12)
    assert sizes.tolist() == [18, 27, 36]
    assert np.ptp(losses[0, :, 2], axis=0).max() == 0  # all samples train, whatever the repeat
    assert np.ptp(losses[0, :, 0], axis=0).max() > 0


def test_real_responses(tmp_path):
    path = write(tmp_path, dose=np.random.default_rng(1).normal(size=36))
    text = path.read_text().replace(
        "response: status, positive: tumour", "response: dose, ignore: [status]"
    )
    text = text.replace("[corrected, uncorrected]", "[corrected, ridge]")
    path.write_text(text.replace("kind: normal", "kind: normal, response: gaussian"))
    curve = curve_of(path)
    for name in curve.work.all_methods:
        _, losses = curve.measure(name, watch=quiet)
        assert np.isfinite(losses).all()
        excess = (losses[0] - losses[1]).mean()
        assert abs(excess) < 0.5  # nothing is to be found
        assert losses[1].mean() == pytest.approx(1.4, abs=0.4)  # of a normal response


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"counts": (6, 6)}, "12 training samples"),
        ({"counts": (30, 3)}, "3 of the rarest class"),
    ],
)
def test_too_few_samples_are_refused(tmp_path, options, words):
    done = invoke("learning-curve", write(tmp_path, **options), "--results", tmp_path / "r")
    must_fail(done, "too few samples for a learning curve", words, "Fix: use 20 or more, 4 of each")


def test_a_small_test_set_is_refused(tmp_path):
    path = write(tmp_path, evaluation="scheme: test-set", data=", test_path: test.csv")
    pd.read_csv(tmp_path / "table.csv").iloc[:5].to_csv(tmp_path / "test.csv", index=False)
    must_fail(invoke("learning-curve", path, "--results", tmp_path / "r"), "and 10 to test")


def test_groups_that_cannot_be_halved_are_refused(tmp_path):
    group = ["big"] * 15 + [f"P{i}" for i in range(11)] + [f"Q{i}" for i in range(16)]
    path = write(tmp_path, (26, 16), data=", sample_groups: patient", patient=group)
    with pytest.raises(DataError, match=r"groups of samples.* cannot be divided\. Fix: "):
        curve_of(path)


def test_what_has_no_learning_curve_is_refused(tmp_path):
    must_fail(invoke("learning-curve", "naive-simulation", "--results", tmp_path / "r"),
              "simulates its samples", "Fix: ")  # fmt: skip
    must_fail(invoke("learning-curve", "large-text", "--results", tmp_path / "r"), "Fix: ")
    path = write(tmp_path)
    text = path.read_text().replace("features: [3]", "features: [3], screened: { of: 5000 }")
    path.write_text(text.replace("evaluation: { folds: 4 }\n", ""))
    must_fail(
        invoke("learning-curve", path, "--results", tmp_path / "r"), "filtered table", "Fix: "
    )
    path = write(tmp_path)
    must_fail(invoke("learning-curve", path, "--method", "forest", "--results", tmp_path / "r"),
              "there is no method 'forest'", "Fix: ")  # fmt: skip


def test_no_method_is_better_than_class_frequencies(tmp_path):
    path = write(tmp_path, (18, 18))
    frame = pd.read_csv(tmp_path / "table.csv")
    frame["status"] = np.random.default_rng(3).permutation(frame["status"])
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = invoke("learning-curve", path, "--results", tmp_path / "r", "--jobs", "0")
    must_fail(done, "no learning curve of", "Fix: name a method with --method")
