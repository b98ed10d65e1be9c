import hashlib
import os
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from commands import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from statistical import assert_proportions

from thesiskit.config import load_config
from thesiskit.datasets import sequences
from thesiskit.datasets.sequences import (
    PermutedMarkovData,
    draw_hidden_markov,
    draw_transition,
    encode_text,
    read_sequences,
    read_text,
    shipped_text,
    stationary,
    windows,
)
from thesiskit.errors import DataError
from thesiskit.study.patterns import PatternDesign

# the reconstruction of the thesis's figure: arrows 2-3-8-6-4-2 and 1-5-7-1
NEXT = {2: 3, 3: 8, 8: 6, 6: 4, 4: 2, 1: 5, 5: 7, 7: 1}
TRANSITION = np.full((8, 8), 0.05 / 7)
for one, other in NEXT.items():
    TRANSITION[one - 1, other - 1] = 0.95
EMISSION = np.array([[0.05, 0.95], [0.95, 0.05]] * 4)  # hidden 1, 2, 3, ...
HMM = {"transition": TRANSITION, "emission": EMISSION}


# ---- the hidden Markov model ----


def test_stationary():
    np.testing.assert_allclose(stationary([[0.9, 0.1], [0.3, 0.7]]), [0.75, 0.25], rtol=1e-12)
    np.testing.assert_allclose(stationary([[0, 1], [1, 0]]), [0.5, 0.5])  # periodic
    np.testing.assert_allclose(stationary([[0.5, 0.5], [0, 1]]), [0, 1], atol=1e-15)
    np.testing.assert_allclose(stationary(TRANSITION), np.full(8, 1 / 8))


def test_the_chain_starts_and_stays_stationary_and_moves_as_told(rng):
    transition = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.5, 0.0, 0.5]])
    drawn = draw_hidden_markov(
        rng, transition=transition, emission=np.eye(3), length=4, samples=40_000
    )
    pi = stationary(transition)
    states = np.column_stack([drawn.histories, drawn.response])
    for t in range(5):
        assert_proportions(np.bincount(states[:, t], minlength=3), pi)
    for before, row in enumerate(transition):
        after = drawn.response[drawn.histories[:, -1] == before]
        counts = np.bincount(after, minlength=3)
        assert (counts[row == 0] == 0).all()
        assert_proportions(counts[row > 0], row[row > 0])


def test_what_is_observed_has_the_probabilities_of_the_forward_sums(rng):
    drawn = draw_hidden_markov(rng, **HMM, length=3, samples=50_000)
    number = drawn.histories @ [8, 4, 2] + drawn.response
    probability = []
    for code in range(16):
        hidden = stationary(TRANSITION)
        for t, shift in enumerate((3, 2, 1, 0)):
            hidden = (hidden @ TRANSITION if t else hidden) * EMISSION[:, code >> shift & 1]
        probability.append(hidden.sum())
    assert_proportions(np.bincount(number, minlength=16), np.array(probability))


def test_a_table_of_order_m_predicts_as_the_thesis_reports(rng):
    train, test = (draw_hidden_markov(rng, **HMM, length=20, samples=5000) for _ in range(2))
    for m, expected in zip(range(1, 6), (0.31, 0.24, 0.23, 0.17, 0.15), strict=True):
        recent = 2 ** np.arange(m)
        counts = np.zeros((2**m, 2))
        np.add.at(counts, (train.histories[:, -m:] @ recent, train.response), 1)
        guess = counts.argmax(axis=1)[test.histories[:, -m:] @ recent]
        assert (guess != test.response).mean() == pytest.approx(expected, abs=0.03)


def test_what_is_drawn_is_described():
    one, two = (draw_hidden_markov(np.random.default_rng(1), **HMM, length=3, samples=7),) * 2
    other = draw_hidden_markov(np.random.default_rng(2), **HMM, length=3, samples=7)
    assert one.histories.shape == (7, 3)
    assert one.histories.dtype == one.response.dtype == np.int32
    assert one.states == one.classes == ["1", "2"]
    assert one.digest == two.digest != other.digest
    assert len(one.digest) == 64


# ---- all hidden Markov models that agree with the thesis's text ----


@pytest.fixture(scope="module")
def reconstructions():
    return load_config(ROOT / "configs/studies/hmm-reconstructions.yaml").data


def test_the_models_are_all_permutations_that_agree_with_the_text(reconstructions):
    agree = [
        arrows
        for arrows in permutations(range(1, 9))
        # 2 -> 3 is the only arrow from an even state to an odd state, 3 -> 8 is an arrow
        if [(h, to) for h, to in enumerate(arrows, 1) if h % 2 == 0 and to % 2] == [(2, 3)]
        and arrows[3 - 1] == 8
    ]
    assert sorted(map(tuple, reconstructions.arrows)) == agree
    assert len(agree) == 36
    shipped = load_config(ROOT / "configs/chapter3/hmm.yaml").data
    assert [int(np.argmax(row)) + 1 for row in shipped.transition] in reconstructions.arrows
    assert reconstructions.emission == shipped.emission
    # up to the names of states that emit the same symbol they are 12
    names = [
        (*odd, *even) for odd in permutations((1, 3, 5, 7)) for even in permutations((2, 4, 6, 8))
    ]
    old = (1, 3, 5, 7, 2, 4, 6, 8)
    renamed = [dict(zip(old, new, strict=True)) for new in names]
    kinds = {
        min(
            tuple(sorted((to[h], to[after]) for h, after in enumerate(arrows, 1))) for to in renamed
        )
        for arrows in agree
    }
    assert len(kinds) == 12


def test_transitions_are_drawn_by_the_definition(rng):
    arrows = (2, 3, 1, 4)
    drawn = np.array([draw_transition(rng, arrows, 0.8) for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1, rtol=1e-12)
    likely = np.zeros((4, 4), dtype=bool)
    likely[np.arange(4), np.array(arrows) - 1] = True
    assert (drawn[:, likely] == 0.8).all()
    weak = drawn[:, ~likely].reshape(-1, 4, 3)
    assert (weak > 0).all()
    # uniform numbers over their sum: the largest share of three, by direct simulation
    direct = rng.random((100_000, 3))
    direct = 0.2 * direct / direct.sum(axis=1, keepdims=True)
    for take in (np.min, np.max):
        mean = take(direct, axis=1).mean()
        assert take(weak, axis=2).mean() == pytest.approx(mean, abs=0.001)
    assert len(np.unique(weak)) == weak.size  # different in each row and each data set
    assert abs(np.corrcoef(weak[:, 0, 0], weak[:, 1, 0])[0, 1]) < 0.08


def test_a_permuted_model_starts_uniform_and_moves_along_its_arrows(rng):
    model = PermutedMarkovData(
        source="permuted-hidden-markov", arrows=[[2, 3, 1]], emission=np.eye(3).tolist(),
        history=2, train=20_000, test=10_000,
    )  # fmt: skip
    drawn = model.draw(rng)
    assert_proportions(np.bincount(drawn.histories[:, 0], minlength=3), np.full(3, 1 / 3))
    along = (drawn.histories[:, 0] + 1) % 3 == drawn.histories[:, 1]
    assert_proportions(np.bincount(along), np.array([0.05, 0.95]))


def test_each_model_has_its_data_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(sequences, "ARROW_PROBABILITY", 1.0)
    settings = ("replicates=2", "data.history=3")
    config = load_config(
        ROOT / "configs/studies/hmm-reconstructions.yaml", smoke=True, settings=(
            *settings, "model.orders=[1]", "data.arrows=[[3, 4, 2, 1], [1, 4, 3, 2]]",
            "data.emission=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]",
        ),
    )  # fmt: skip
    design, moves = PatternDesign(config, tmp_path), []
    assert config.divisions == 4
    for division in range(4):
        samples = design.samples(division)
        moves.append(
            {tuple(row) for row in np.vstack([samples.train, samples.test])[:, :2].tolist()}
        )
    first, second = {(0, 2), (1, 3), (2, 1), (3, 0)}, {(0, 0), (1, 3), (2, 2), (3, 1)}
    assert moves == [first, first, second, second]
    one, other = (design.samples(division).train for division in (0, 1))
    assert (one != other).any()


@pytest.mark.parametrize("arrows", [[[1]], [[1, 1]], [[2, 3]], [[1, 2, 3], [2, 1]]])
def test_arrows_that_are_no_permutation(arrows):
    keys = {"history": 1, "train": 1, "test": 1, "emission": [[1.0]]}
    with pytest.raises(ValueError, match=r"entry \d is not a permutation\. Fix: list each state"):
        PermutedMarkovData(source="permuted-hidden-markov", arrows=arrows, **keys)


def change(matrix, **cells):
    matrix = matrix.copy()
    for name, value in cells.items():
        matrix[int(name[1]) - 1, int(name[2]) - 1] = value
    return matrix


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"transition": change(TRANSITION, c23=0.9)}, "transition: row 2 sums to 0.95; it must"),
        ({"emission": change(EMISSION, c81=0.5)}, "emission: row 8 sums to 0.55"),
        ({"emission": change(EMISSION, c31=-0.5)}, "row 3 contains -0.5, which is not a prob"),
        ({"emission": change(EMISSION, c31=np.nan)}, "row 3 contains nan"),
        ({"emission": EMISSION[:7]}, "emission has 7 rows; it needs one for each of the 8"),
        ({"transition": TRANSITION[:, :1] * 0 + 1}, r"must be square, got shape \(8, 1\)"),
        ({"transition": [1, 2]}, r"must be a matrix, got shape \(2,\)"),
        ({"transition": [[1], [0.5, 0.5]]}, "transition must be rows of numbers, all of one len"),
        ({"transition": np.eye(8)}, "more than one stationary distribution"),
        ({"length": 0}, "length is 0; it must be at least 1"),
        ({"samples": -1}, "samples is -1; it must be at least 1"),
    ],
)
def test_bad_models(rng, settings, words):
    with pytest.raises(DataError, match=words):
        draw_hidden_markov(rng, **HMM | {"length": 3, "samples": 2} | settings)


# ---- text ----


def digits(codes):
    return "".join(str(code + 1) for code in codes)


def assert_facts(codes):
    """What text.README.md says."""
    assert codes.dtype == np.int32
    assert np.bincount(codes).tolist() == [2656, 4190, 1401]
    cut = digits(codes[:3930])
    assert np.bincount(codes[:3930]).tolist() == [1267, 1999, 664]
    assert cut.startswith("2122123212121223123221321212131223211213")
    assert hashlib.sha256(cut.encode()).hexdigest() == (
        "bcf35a5c22c15c7353d3a363aed6e2190e41370f9a7828a64d476c37e8bc1239"
    )


def test_the_shipped_text():
    codes, symbols, digest = shipped_text()
    assert_facts(codes)
    assert symbols == ["V", "C", "_"]
    assert len(digest) == 64
    found = hashlib.sha256(sequences.SHIPPED.read_bytes()).hexdigest()
    assert f"| `sotu-1790.txt` | {found} |" in (ROOT / "data/README.md").read_text()
    assert max(map(len, sequences.SHIPPED.read_text().splitlines())) == 80


def test_a_shipped_text_that_was_altered(monkeypatch, tmp_path):
    (tmp_path / "t.txt").write_text(sequences.SHIPPED.read_text().replace("1", "2", 1))
    monkeypatch.setattr(sequences, "SHIPPED", tmp_path / "t.txt")
    with pytest.raises(DataError, match=r"t\.txt: altered or damaged. Fix: reinstall"):
        shipped_text()


def test_the_prose_gives_the_shipped_code():
    path = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "text.txt"
    if not path.exists():
        pytest.skip("the prose is not here")
    codes, symbols, digest = read_text(path)
    assert_facts(codes)
    shipped, shipped_symbols, shipped_digest = shipped_text()
    assert (codes == shipped).all()
    assert (symbols, digest) == (shipped_symbols, shipped_digest)


def slow_code(text):
    found = ["1" if c in "aeiouAEIOU" else "2" if "a" <= c.lower() <= "z" else "3" for c in text]
    return "".join(c for c, before in zip(found, ["", *found], strict=False) if c + before != "33")


@given(st.text(st.sampled_from("abyZEi 1.-éΩ\n\U0001f600"), min_size=1))
def test_coding_is_what_the_thesis_says(text):
    if not any("a" <= c.lower() <= "z" for c in text):
        with pytest.raises(DataError, match="none of the characters"):
            encode_text(text)
    else:
        assert digits(encode_text(text)[0]) == slow_code(text)


def test_other_states():
    codes, symbols = encode_text("a1é B22b, Éc", {"x": "AÉ", "n": "0123456789", "b": "b"})
    assert symbols == ["x", "n", "b"]
    assert codes.tolist() == [0, 1, 0, 2, 1, 1, 2, 0]
    codes, _ = encode_text("..ab..", {"_": None, "a": "a"})
    assert codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "states", "words"),
    [
        ("", None, "the text is empty"),
        ("12 -- 3", None, "none of the characters aeioubcd.*; there is nothing to predict"),
        ("a", {}, "0 given, at least two"),
        ("a", {"V": "a"}, "1 given, at least two"),
        (
            "a",
            {"V": "ab", "C": "cA"},
            r"'A' is in V and in C \(upper and lower case are not distinguished\)",
        ),
        ("a", {"V": "a", "other": None}, "symbol 'other' must be one character"),
        ("a", {1: "a", "C": None}, "symbol 1 must be one character, in quotes"),
        ("a", {"V": "a", "-": None, "_": None}, "- and _ are both all other characters"),
        ("a", {"V": "", "C": None}, "give the characters of V as text"),
        ("a", {"V": 12, "C": None}, "give the characters of V as text"),
    ],
)
def test_texts_and_maps_that_say_nothing(tmp_path, text, states, words):
    arguments = () if states is None else (states,)
    with pytest.raises(DataError, match=words):
        encode_text(text, *arguments)
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        read_text(tmp_path / "t.txt", *arguments)
    assert ("t.txt: " in str(caught.value)) == (states is None)


def test_texts_that_cannot_be_read(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"caf\xe9")
    with pytest.raises(
        DataError, match=r"t.txt: not UTF-8 text \(byte 4 is 0xe9\). Fix: save it as"
    ):
        read_text(tmp_path / "t.txt")
    with pytest.raises(DataError, match="none: no such file"):
        read_text(tmp_path / "none")
    with pytest.raises(DataError, match=r"it is a folder. Fix: name a file"):
        read_text(tmp_path)


def test_a_byte_order_mark_is_no_state(tmp_path):
    (tmp_path / "t.txt").write_text("ab", encoding="utf-8-sig")
    assert read_text(tmp_path / "t.txt")[0].tolist() == [0, 1]


# ---- windows ----


def test_windows_of_the_thesis():
    codes, symbols, _ = shipped_text()
    cut = windows(codes, 20, states=symbols, limit=3930)
    assert cut.histories.shape == (3910, 20)
    assert cut.histories.dtype == cut.response.dtype == np.int32
    assert np.shares_memory(cut.histories, codes)
    assert not cut.histories.flags.writeable
    for sample in (0, 1, 3909):
        assert (cut.histories[sample] == codes[sample : sample + 20]).all()
        assert cut.response[sample] == codes[sample + 20]
    assert cut.states == cut.classes == ["V", "C", "_"]
    assert cut.digest == windows(codes[:3930], 20, states=symbols).digest
    assert cut.digest != windows(codes, 20, states=symbols).digest
    assert cut.digest != windows(codes, 19, states=symbols, limit=3930).digest


def test_windows_of_plain_codes():
    cut = windows(np.array([0, 2, 1]), 2)
    assert cut.histories.tolist() == [[0, 2]]
    assert cut.response.tolist() == [1]
    assert cut.states == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("codes", "settings", "words"),
    [
        (
            [0, 1, 0],
            {"length": 3},
            "3 states, too few for a history of 3 .*. Fix: lower length to 2",
        ),
        ([0], {"length": 3}, "1 states, too few .*. Fix: use more text"),
        ([0, 1] * 9, {"length": 5, "limit": 4}, r"4 states.*lower.*to 3.*limit \(.* has 18\)"),
        ([0, 1], {"length": 0}, "length is 0"),
        ([0, 1], {"length": 1, "limit": 0}, "limit is 0"),
        ([0.0, 1.0], {"length": 1}, r"whole numbers, got float64 \(2,\)"),
        ([[0, 1]], {"length": 1}, r"must be a vector .* \(1, 2\)"),
        ([0, 5], {"length": 1, "states": ["a", "b"]}, "run from 0 to 5, but .* for 0 to 1"),
        ([0, -1], {"length": 1}, "run from -1 to 0"),
    ],
)
def test_windows_that_cannot_be_cut(codes, settings, words):
    with pytest.raises(DataError, match=words):
        windows(np.array(codes), **settings)


# ---- the user's own sequences ----


def read(folder, content, name="t.txt", **settings):
    if isinstance(content, str):
        (folder / name).write_text(content, encoding="utf-8")
    else:
        np.save(folder / name, np.array(content))
    return read_sequences(folder / name, **settings)


def decoded(read):
    return [
        [*(read.states[code] for code in history), read.classes[code]]
        for history, code in zip(read.histories, read.response, strict=True)
    ]


label = st.text(st.sampled_from("abZ01.é-"), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda n: st.lists(st.lists(label, min_size=n, max_size=n), min_size=1, max_size=6)
    ),
    st.sampled_from([",", ", ", " ", "  ", "\t", " \t "]),
    st.sampled_from([".txt", ".csv"]),
)
def test_what_is_written_is_read(tmp_path_factory, samples, separator, suffix):
    folder = tmp_path_factory.mktemp("round")
    separator = "," if suffix == ".csv" else separator
    text = "# a comment\n\n" + "".join(separator.join(sample) + "\n" for sample in samples)
    found = read(folder, text, "t" + suffix)
    assert decoded(found) == samples
    assert found.histories.dtype == found.response.dtype == np.int32
    assert set(found.states) == {state for sample in samples for state in sample[:-1]}
    assert set(found.classes) == {sample[-1] for sample in samples}
    again = read_sequences(folder / f"t{suffix}", like=found)
    assert decoded(again) == samples
    assert again.digest == found.digest


def test_words_of_one_character_states(tmp_path):
    found = read(tmp_path, "ACGTT\r\nCCGTA\r\n")
    assert decoded(found) == [list("ACGTT"), list("CCGTA")]
    assert found.states == ["A", "C", "G", "T"]
    assert found.classes == ["A", "T"]
    # where any line has a separator, a line without one is one label
    with pytest.raises(DataError, match="line 2 has 1 states where others have more"):
        read(tmp_path, "cat dog\nmouse\n")


def test_labels_are_sorted_naturally(tmp_path):
    found = read(tmp_path, "10 9 b x\n-2 1.5 a 2\n")
    assert found.states == ["-2", "1.5", "9", "10", "a", "b"]
    assert found.classes == ["2", "x"]


def test_csv_with_a_header_and_quotes(tmp_path):
    found = read(tmp_path, '# c\nt1,t2,y\n"New York", "a,b",1\nRome,c,0\n', "t.csv", header=True)
    assert decoded(found) == [["New York", "a,b", "1"], ["Rome", "c", "0"]]


def test_what_is_cut_away_is_not_a_state(tmp_path):
    assert read(tmp_path, "a b c 1\nb c 0\n", length=1).states == ["c"]


def test_the_coding_of_another_file(tmp_path):
    train = read(tmp_path, "b c yes\nc b no\n")
    test = read(tmp_path, "a c yes\nb z yes\n", like=train)
    assert test.states == ["b", "c", "a", "z"]
    assert test.classes == ["no", "yes"]
    assert decoded(test) == [["a", "c", "yes"], ["b", "z", "yes"]]
    for content, name, words in [
        ("b c yes\n\nb c maybe\n", "t.txt", "line 3 ends with 'maybe'.*no, yes"),
        (
            "b b c yes\n",
            "t.txt",
            "line 1 has 3 states .*, the training samples 2. Fix: give length: 2",
        ),
    ]:
        with pytest.raises(DataError, match=rf"{name}: {words}"):
            read(tmp_path, content, name, like=train)
    with pytest.raises(DataError, match="length is 1, but the training samples have 2 states"):
        read(tmp_path, "b c yes\n", like=train, length=1)


@pytest.mark.parametrize(
    ("content", "name", "settings", "words"),
    [
        ("", "t.txt", {}, "contains no samples"),
        ("# only\n\n", "t.txt", {}, "contains no samples"),
        ("a,b\n", "t.csv", {"header": True}, "contains no samples"),
        ("a b c\n\n# x\na b\n", "t.txt", {}, "line 4 has 2 .* has 3.. Fix: give history: N"),
        ("a b\na b c\n", "t.txt", {}, "line 1 has 2 states where others have more"),
        (
            "a b c\nb c\n",
            "t.txt",
            {"length": 2},
            "line 2 has 1 .* config requires 2.*lower .* to 1",
        ),
        ("a b c\nb\n", "t.txt", {"length": 2}, "line 2 has 0 .* drop the sample"),
        ("a,,b\n", "t.txt", {}, r"missing in line 1 \(''\)"),
        ("a,b,\n", "t.csv", {}, r"missing in line 1 \(''\)"),
        ("a\tb\nb\t\n", "t.txt", {}, r"missing in line 2 \(''\)"),
        ("a\t\tb\n", "t.txt", {}, r"missing in line 1 \(''\)"),
        (
            "a NA b\n",
            "t.txt",
            {},
            "missing in line 1 .'NA'.*. Fix: fill it in, drop the sample",
        ),
        ("a b NaN\n", "t.txt", {}, "missing in line 1 .'NaN'"),
        ("AC\nA?\n", "t.txt", {}, r"missing in line 2 .'\?'"),
        ("a;b;c\n", "t.csv", {}, "line 1 contains ';'. Fix: put commas"),
        ('"a,b\nc",d\n', "t.csv", {}, "quoted label continues over the end of a line"),
        ("a" * 200_000, "t.csv", {}, "not CSV: field larger"),
        ("a\nb\n", "t.txt", {}, "one state per line; a sample is a history"),
        ("a b\n", "t.txt", {"length": 0}, "length is 0"),
    ],
)
def test_sequences_that_cannot_be_read(tmp_path, content, name, settings, words):
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, content, name, **settings)
    assert words.startswith("length") or str(tmp_path / name) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"a \xe9\n")
    for name, words in [
        ("none.txt", "no such file"),
        ("latin.txt", r"not UTF-8 text \(byte 3 is 0xe9\)"),
    ]:
        with pytest.raises(DataError, match=rf"{name}: {words}"):
            read_sequences(tmp_path / name)


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.txt.gz"])
def test_pipes_are_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    for reader in (read_sequences, read_text):
        with pytest.raises(DataError, match=f"{name}: cannot be read: it is a pipe or a device"):
            reader(tmp_path / name)


def test_a_text_holds_no_nul(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"a b c\nd\0 e f\n")
    for reader in (read_sequences, read_text):
        with pytest.raises(DataError, match=r"t\.txt: line 2 contains a NUL character"):
            reader(tmp_path / "t.txt")


def test_files_without_permission(monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr("thesiskit.datasets.reading.open_regular", refuse)
    with pytest.raises(DataError, match=r"t\.txt: no permission to read the file"):
        read(tmp_path, "a b\n")


def test_states_that_are_called_nan_have_one_order(tmp_path):
    """By NaN nothing can be sorted: the codes were those of a set, another in each process."""
    states = ["-nan", "10", "+NaN", "x", "2", "nAn1"]
    (tmp_path / "s.txt").write_text("".join(f"{a} {b} A\n" for a in states for b in states))
    expected = ["2", "10", "+NaN", "-nan", "nAn1", "x"]
    assert read_sequences(tmp_path / "s.txt").states == expected
    assert sequences._natural("-nan") == (True, 0.0, "-nan")


@pytest.mark.parametrize(
    "line", ["A ,C\t, G,A", "A  C \t G\t\tA", " A,\t\tC \t ,G ,A", "A\t ,C,, ,A"]
)
def test_runs_of_blanks_are_split_as_before(line):
    slow = re.compile(r"[ \t]*,[ \t]*| *\t *| +")
    assert sequences.BETWEEN.split(line) == slow.split(line)
