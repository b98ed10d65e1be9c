import re

import pytest
from conftest import ROOT

from thesiskit.config import load_config
from thesiskit.errors import ConfigError

GOOD = """\
experiment: trial
title: A trial
about: Something small.
data:
  source: naive-bayes
  features: 20
  alpha: 1e2
  train: [5, 5]
  test: 3
selection:
  features: [2, all]
model:
  alpha_prior: [0.5, 5]
report:
  parts: [score-table]
"""


@pytest.fixture
def write(tmp_path):
    def inner(text):
        path = tmp_path / "c.yaml"
        path.write_text(text)
        return path

    return inner


def test_numbers_and_defaults(write):
    config = load_config(write(GOOD))
    assert config.data.alpha == 100.0  # YAML 1.1 would read the text '1e2'
    assert config.model.alpha_points == 30
    assert config.model.quadrature == ["exact"]
    assert config.scheme == "test-set"
    assert load_config(write(GOOD), settings=("data.alpha=1e-3",)).data.alpha == 1e-3
    assert load_config(write(GOOD), settings=("model.quadrature=simpson-21",)).model.quadrature == [
        "simpson-21"
    ]
    assert load_config(write(GOOD), seed=9).seed == 9


def test_every_shipped_config_is_valid():
    paths = sorted((ROOT / "configs").rglob("*.yaml"))
    assert len(paths) >= 6
    for path in paths:
        load_config(path)
        load_config(path, smoke=True)


# line, key and words of the message, by the change that provokes it
WRONG = [
    ("features: 20", "featurs: 20", 6, "data.featurs: unknown key; did you mean 'features'?"),
    ("  alpha_prior: [0.5, 5]", "  alpha_pior: [0.5, 5]", 13, "did you mean 'alpha_prior'?"),
    ("title: A trial", "titel: A trial", 2, "titel: unknown key; did you mean 'title'?"),
    ("title: A trial\n", "", 1, "title: is required; add it"),
    ("features: 20", "features: twenty", 6, "needs a whole number, got the text 'twenty'"),
    ("features: 20", "features: 2.5", 6, "data.features: needs a whole number, got the number 2.5"),
    ("features: 20", "features: true", 6, "data.features: needs a whole number, got true/false"),
    ("features: 20", 'features: "20"', 6, "needs a whole number, got the text '20'"),
    ("features: 20", "features: 0", 6, "data.features: must be at least 1, got 0"),
    ("alpha: 1e2", "alpha: -1", 7, "data.alpha: must be greater than 0, got -1"),
    ("alpha: 1e2", "alpha: prir", 7, "data.alpha: cannot be 'prir'; did you mean 'prior'?"),
    ("[2, all]", "[2, al]", 11, "selection.features.1: cannot be 'al'; did you mean 'all'?"),
    ("[0.5, 5]", "[0.5, 0]", 13, "model.alpha_prior.1: must be greater than 0, got 0"),
    ("[0.5, 5]", "[0.5]", 13, "model.alpha_prior.1: is required"),
    ("[0.5, 5]", "[1, 5]\n  methods: [bernoulli-nb]", 14, "model.methods: add corrected or unc"),
    ("[0.5, 5]", "5", 13, "model.alpha_prior: needs a list, got the number 5"),
    ("naive-bayes", "naive-bays", 4, "unknown source 'naive-bays'; did you mean 'naive-bayes'?"),
    ("[2, all]", "[2, 30]", 11, "selection.features: cannot keep 30 of 20 features"),
    ("[2, all]", "[0]", 11, "selection.features.0: must be at least 1, got 0"),
    ("  features: [2, all]", "  threshold: 0.2", 11, "did you mean 'thresholds'?"),
    ("train: [5, 5]", "train: [0, 5]", 8, "data.train: both classes need at least one case"),
    ("[score-table]", "[score-table]\nsmoke: {data.pth: 3}", 16, "data.pth: unknown key"),
    ("[2, all]", "[2, 2]", 11, "selection.features: 2 is given twice"),
    ("test: 3", "test: 0", 9, "data.test: must be at least 1, got 0"),
    ("test: 3", "test: [0, 0]", 9, "data.test: at least one case is needed"),
    ("[5, 5]", "[5, 5, 5]", 8, "data.train: needs 2 entries, got 3"),
    ("experiment: trial", "experiment: ../x", 1, "use lower-case letters, digits"),
    ("[0.5, 5]", "[0.5, 5]\n  quadrature: []", 14, "model.quadrature: needs at least 1 entries"),
    ("about: Something", "? [a, b]\n: x\nabout: Something", None, "not valid YAML"),
    ("[score-table]", "score-table", 15, "report.parts: needs a list, got the text"),
    ("source: naive-bayes", "source: naive-bayes\n  source: colon", 6, "given twice"),
    ("  train: [5, 5]", "  train: [5, 5", None, "not valid YAML"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG)
def test_errors_name_the_line_and_the_key(write, old, new, line, words):
    assert old in GOOD
    path = write(GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"{path}:")
    assert re.match(r":\d+: ", message[len(str(path)) :])
    if line is not None:
        assert f"{path}:{line}: " in message


def test_all_problems_at_once_one_line_each(write):
    text = GOOD.replace("features: 20", "features: x").replace("title", "titel")
    with pytest.raises(ConfigError) as caught:
        load_config(write(text))
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("data.featurs=3", "--set data.featurs=3: data.featurs: unknown key"),
        ("data.features=x", "--set data.features=x: data.features: needs a whole number"),
        ("data.features", "write it as key=value"),
        ("title.x=3", "title is not a mapping"),
        ("data.train=[0, 5]", "--set data.train=[0, 5]: data.train: both classes"),
        ("a.b.c=3", "--set a.b.c=3: a: unknown key"),
        ("data.features=[", "the value is not valid YAML"),
    ],
)
def test_errors_in_overrides_name_the_override(write, setting, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_config(write(GOOD), settings=(setting,))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "this is nothing"), ("[1, 2]", "this is a list"), ("a: [", "not valid YAML")],
)
def test_files_that_are_no_config(write, text, words):
    with pytest.raises(ConfigError, match=words):
        load_config(write(text))


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="no such config"):
        load_config(tmp_path / "none.yaml")
