import json
import os
import re
from pathlib import Path

import pytest
from commands import ROOT

from thesiskit import defaults
from thesiskit.config import load_config
from thesiskit.errors import ConfigError
from thesiskit.registry import shipped
from thesiskit.report.record import thesis_numbers

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
  parts: [methods]
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


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ("hmm", "the length of the histories, 20. Fix: use at most 20, or longer histories"),
        ("text", "the length of the histories, 20. Fix: use at most 20, or longer histories"),
        ("cauchy-replicates", "the number of features, 7. Fix: use at most 7, or more features"),
    ],
)
def test_orders_beyond_the_states_are_refused_before_data_are_read(config, most):
    with pytest.raises(ConfigError) as caught:
        load_config(shipped()[config], settings=("model.orders=[1, 25, all]",))
    origin = "--set model.orders=[1, 25, all]"
    assert str(caught.value) == f"{origin}: model.orders: order 25 is above {most}"


@pytest.mark.parametrize("name", ["hmm", "text", "cauchy-classification"])
def test_chapter_3_has_the_settings_of_the_thesis(name):
    """The sampler, orders and models are those of "Specifications of the Priors"."""
    model = load_config(ROOT / f"configs/chapter3/{name}.yaml").model
    printed, numbers = (
        thesis_numbers()[of] for of in ("logistic_sampling", name.replace("-", "_"))
    )
    assert model.orders == numbers["orders"]
    assert max(numbers["shown_sigmas"]) == max(model.orders)  # with both kinds of parameters:
    assert model.compress == [True, False]
    assert model.priors == ["cauchy", "gaussian"]
    assert model.until is None
    for key, of in (("iterations", "iterations"), ("burn_in", "burn_in"), ("thin", "thinning")):
        assert getattr(model, key) == printed[of], key
    assert printed["sigma_updates_per_iteration"] == defaults.SIGMA_UPDATES
    assert printed["slice_max_steps"] == defaults.MOST_STEPS
    assert printed["slice_width"]["sigma"] == defaults.SIGMA_STEP
    assert (model.joint_updates, model.sigma_scale) == ([0], ["natural"])


@pytest.mark.parametrize("name", ["hmm-replicates", "cauchy-replicates"])
def test_replicates_of_chapter_3_have_its_sampler(name):
    model = load_config(ROOT / f"configs/studies/{name}.yaml").model
    assert (model.joint_updates, model.sigma_scale) == ([0], ["natural"])
    assert (model.iterations, model.burn_in, model.thin) == (2000, 750, 5)


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
    ("title: A trial\n", "", 1, "title: is required. Fix: add it"),
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
    (
        "[0.5, 5]",
        "[1, 5]\n  methods: [bernoulli-nb]",
        14,
        "model.methods: none of them is ours. Fix: add",
    ),
    ("[0.5, 5]", "5", 13, "model.alpha_prior: needs a list, got the number 5"),
    ("naive-bayes", "naive-bays", 4, "unknown source 'naive-bays'; did you mean 'naive-bayes'?"),
    ("[2, all]", "[2, 30]", 11, "selection.features: cannot select 30 of 20 features"),
    ("[2, all]", "[0]", 11, "selection.features.0: must be at least 1, got 0"),
    ("  features: [2, all]", "  threshold: 0.2", 11, "did you mean 'thresholds'?"),
    ("train: [5, 5]", "train: [0, 5]", 8, "data.train: both classes need at least one sample"),
    ("[2, all]", "[2, 2]", 11, "selection.features: 2 is given twice"),
    ("test: 3", "test: 0", 9, "data.test: must be at least 1, got 0"),
    ("test: 3", "test: [0, 0]", 9, "data.test: at least one sample is needed"),
    ("[5, 5]", "[5, 5, 5]", 8, "data.train: needs 2 entries, got 3"),
    ("experiment: trial", "experiment: ../x", 1, "use lower-case letters, digits"),
    ("[0.5, 5]", "[0.5, 5]\n  quadrature: []", 14, "model.quadrature: needs at least 1 entries"),
    ("about: Something", "? [a, b]\n: x\nabout: Something", 3, "a key is text, not a sequence"),
    ("[methods]", "methods", 15, "report.parts: needs a list, got the text"),
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
        ("data.features=010", "010 has leading zeros"),
        ("data.features=1\n---\n2", "a second YAML document begins"),
        ("title=a\x1b[31m", r"the character '\x1b' is not allowed"),
        ("title=&a [*a]", "the alias *a is not supported"),
        ("title=!!python/name:os.system", "YAML tags ('!!python/name:os.system') are not"),
        ("title=" + "[" * 5000, "more than 30 nested levels"),
        ("=3", "--set =3: write it as key=value"),
        ("data..alpha=3", "'data..alpha' is not a key"),
        (".=3", "'.' is not a key"),
        ("0.x=3", "--set 0.x=3: 0: unknown key"),
        ("data.²=3", "data.²: unknown key"),
        ("smoke.data.alpha=3", "smoke: cannot be overridden"),
        ("selection.features.0=3", "features is not a mapping"),
        ("seed=12345678901234567890", "seed: must be at most 9,223,372,036,854,775,807, got 123"),
        ("replicates=true", "replicates: needs a whole number, got true/false"),
        ("data.alpha=true", "data.alpha: needs a number, got true/false"),
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


def test_only_the_first_problems_of_many_are_shown(write):
    text = GOOD.replace("  features: 20", "".join(f"  x{i}: 1\n" for i in range(50)))
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[2] == "and 49 more problems"
    assert len(str(caught.value)) < 400
    folder = path.parent / ("d" * 120)
    folder.mkdir()
    with pytest.raises(ConfigError) as caught:  # lines that would be cut are counted only
        load_config(path.rename(folder / "c.yaml"))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[1] == "and 50 more problems"


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (LAUGHS, 2, "the alias *a0 is not supported"),
        (MERGES, 2, "the alias *a0 is not supported"),
        ("title: x\nsmoke: &a [*a]", 2, "the alias *a is not supported"),
        ("title: x\nsmoke: &a {b: [1, {c: *a}]}", 2, "the alias *a is not supported"),
        ("title: x\nsmoke: &a {<<: *a}", 2, "the alias *a is not supported"),
        ("title: x\nsmoke: *b", 2, "the alias *b is not supported"),
        ("x: 1\ny: " + "[" * 100_000, 2, "more than 30 nested levels"),
        ("x: 1\ny: " + "{a: " * 100_000, 2, "more than 30 nested levels"),
        ("x: 1\ny: [" + "1, " * 100_000 + "1]", 2, "more than 10,000 values"),
        ("# " + "x" * 2**20, None, "larger than 1 MB"),
        ("x: 1\ntitle: a\0b", 2, "the character '\\x00' is not allowed"),
        ("x: 1\ntitle: a\x1bb", 2, r"the character '\x1b' is not allowed"),
        (
            "x: 1\nseed: 010",
            2,
            "010 has leading zeros, which some programs read as octal. Fix: write 10, or '010' as",
        ),
        ("x: 1\nseed: -00_8", 2, "write -8, or '-00_8' as text"),
        ("x: 1\nseed: 08.50", 2, "write 8.50, or"),
        ("x: 1\nseed: 1e999", 2, "the number 1e999 is too large"),
        ("x: 1\nseed: " + "9" * 5000, 2, "999... is too large"),
        (
            "x: 1\ny: !!python/object/apply:os.system [ls]",
            2,
            "YAML tags ('!!python/object/apply:os.sys",
        ),
        ("x: 1\ny: !!binary aGk=", 2, "YAML tags ('!!binary') are not"),
        ("x: 1\ny: !!set {a, b}", 2, "YAML tags ('!!set') are not"),
        ("x: 1\ny: !mine 3", 2, "YAML tags ('!mine') are not"),
        ("x: 1\n1: 2", 2, "a key is text, not '1'. Fix: put it in quotes"),
        ("x: 1\nnull: 2", 2, "a key is text, not 'null'"),
        ("x: 1\n{a: b}: 2", 2, "a key is text, not a mapping"),
        ("x: 1\n---\ny: 2", 2, "a second YAML document begins"),
        ("x: 1\n'x': 2", 2, "the key 'x' is given twice"),
        ("x: 1\n<<: 5", 2, "a key is text, not '<<'"),
        ("x: \u20281", 2, "not valid YAML"),
    ],
)
def test_what_yaml_can_do_and_a_config_may_not(write, text, line, words):
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert len(str(caught.value).replace(str(path), "")) < 400
    assert len(str(caught.value).splitlines()) == 1
    if line is not None:
        assert f"{path}:{line}: " in str(caught.value)


def test_texts_that_yaml_makes_more_of(write):
    for text in ("2020-01-01", "0o17", "yes", "'010'", "1:30", "=", "2001-12-14 21:59:43"):
        assert load_config(write(GOOD.replace("A trial", text))).title == text.strip("'")


def test_a_config_that_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "a\0b"):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(path)
    with pytest.raises(ConfigError, match="is a folder"):
        load_config(tmp_path)
    (tmp_path / "c.yaml").write_bytes(b"title: x\nabout: \xff\n")
    with pytest.raises(ConfigError, match=r"c.yaml:2: is not UTF-8 text. Fix: save it as UTF-8"):
        load_config(tmp_path / "c.yaml")


@pytest.mark.parametrize(
    "name",
    ["index.html", "verify", "a.html", "con", "nul.txt", "x.", "-x", ".x", "..", "x" * 101, "a\nb"],
)
def test_names_of_experiments_that_mean_something_else(write, name):
    text = GOOD.replace("experiment: trial", f"experiment: {json.dumps(name)}")
    with pytest.raises(ConfigError, match=r"c\.yaml:1: experiment: ") as caught:
        load_config(write(text))
    assert "smoke" not in str(caught.value)  # the user never wrote that
    assert len(str(caught.value).splitlines()) == 1


def test_the_small_form_has_a_name_of_its_own(write):
    for name in ("trial-smoke", "x" * 100):
        path = write(GOOD.replace("trial", name))
        assert load_config(path).experiment == name
        assert load_config(path, smoke=True).experiment == f"{name}-smoke"
    assert load_config(path, smoke=True, settings=("experiment=other",)).experiment == "other-smoke"


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"not found\. Fix: choose"):
        load_config(tmp_path / "none.yaml")


def test_old_names_of_samplers_are_read():
    config = load_config(ROOT / "configs/chapter2/mixture-simulation.yaml")
    assert config.model.samplers == ["approximate", "gibbs", "collapsed"]
    for given, names in (
        ("[as-printed, thesis, collapsed]", ["approximate", "gibbs", "collapsed"]),
        ("[thesis]", ["gibbs"]),
    ):
        found = load_config(
            ROOT / "configs/chapter2/mixture-simulation.yaml", settings=(f"model.samplers={given}",)
        )
        assert found.model.samplers == names
    with pytest.raises(ConfigError, match="samplers"):
        load_config(
            ROOT / "configs/chapter2/mixture-simulation.yaml",
            settings=("model.samplers=[thesis, gibbs]",),
        )


def test_the_old_name_of_groups_of_features_is_read(write):
    old, new = (
        load_config(write(f"{GOOD}evaluation: {{ {key}: 3 }}\n"))
        for key in ("groups", "feature_groups")
    )
    assert old.evaluation.feature_groups == 3
    assert old.evaluation == new.evaluation
    # results are found by the name that they always had
    assert new.evaluation.model_dump()["groups"] == 3
    assert "feature_groups" not in new.evaluation.model_dump()
    with pytest.raises(ConfigError, match=r"evaluation\.groups: unknown key"):
        load_config(write(f"{GOOD}evaluation: {{ groups: 3, feature_groups: 2 }}\n"))
    path = write(f"{GOOD}evaluation: {{ groups: 0 }}\n")
    with pytest.raises(ConfigError, match=r"evaluation.feature_groups"):
        load_config(path)


@pytest.mark.parametrize(
    ("config", "setting", "words"),
    [
        ("null", "model.alpha_quadrature=adaptive", "model.alpha_quadrature was removed. Fix: "),
        ("mixture-exact", "model.thesis.alpha_points=10", "Fix: remove it"),
        ("hmm", "model.peers=[vlmc]", "model.peers: vlmc was removed. Fix: use n-gram"),
        ("null", "data.source=signals", "data.source: signals was removed. Fix: use inter"),
        ("null", "data.source=normal", "data.source: normal was removed. Fix: write the samples"),
        ("null", "selection.screened={of: 9, keep: 9}", "keep was removed. Fix: use `of`, or"),
        ("null", "selection.screened={keep: 9}", "keep was removed. Fix: use `of`, or"),
        ("hmm", "model.step=20", "model.step was removed. Fix: remove it"),
        ("hmm", "report.parts=[pattern-explorer]", "pattern-explorer was removed. Fix: remove it"),
    ],
)
def test_what_was_removed_has_a_fix(config, setting, words):
    with pytest.raises(ConfigError) as caught:
        load_config(shipped()[config], settings=(setting,))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
