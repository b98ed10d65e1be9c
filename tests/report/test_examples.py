"""Drawings of the thesis that are computed: against expressions found by hand, and the matrix."""

from itertools import pairwise, product
from types import SimpleNamespace

import pytest
import yaml
from commands import ROOT

from thesiskit.report import reduction

SAMPLES = [(1, 2, 1), (2, 1, 2), (1, 1, 2)]


def in_row(pattern, row):
    return all(value in (0, x) for value, x in zip(pattern, row, strict=True))


@pytest.mark.parametrize(
    ("draw", "count", "patterns"),
    [(reduction.sequence_groups, 5, 15), (reduction.feature_groups, 6, 27)],
)
def test_each_pattern_is_drawn_with_the_samples_that_express_it(draw, count, patterns):
    """Figure 3.4, whose caption in the thesis has five groups, and Figure 3.15."""
    figure, table = draw(None)
    (axis,) = figure.canvas.axes
    letters, seen = {}, set()
    for text in axis.texts:
        pattern = tuple(map(int, text.get_text()[1:4]))
        seen.add(pattern)
        assert text.get_position()[0] == sum(value > 0 for value in pattern)
        expressed = {i for i, row in enumerate(SAMPLES, 1) if in_row(pattern, row)}
        if not expressed:
            assert text.get_text().endswith("]  –")
            continue
        assert text.get_text()[8:-4] == ", ".join(map(str, sorted(expressed)))
        letters.setdefault(frozenset(expressed), set()).add(text.get_text()[-1])
    every = set(product(range(3), repeat=3))
    if patterns == 15:  # a state is only fixed with all that come after it
        every = {p for p in every if all(b or not a for a, b in pairwise(p))}
    assert seen == every
    assert len(seen) == patterns
    assert len(letters) == count == len(table.frame)
    assert all(len(names) == 1 for names in letters.values())
    assert len(set.union(*letters.values())) == count
    assert len(axis.lines) == patterns - 1  # a tree
    assert table.frame["number of patterns"].sum() == sum(
        any(in_row(p, row) for row in SAMPLES) for p in every
    )


def test_the_hidden_markov_model_is_that_of_the_config():
    """Figure 3.6: the text names the transitions 2 to 3 and 3 to 8; even states emit 1."""
    config = yaml.safe_load((ROOT / "configs/chapter3/hmm.yaml").read_text())
    (figure,) = reduction.hidden_markov(SimpleNamespace(config=config))
    (axis,) = figure.canvas.axes
    arrows = [text for text in axis.texts if getattr(text, "arrow_patch", None)]
    found = {(1 - text.xyann[1], 1 - text.xy[1]) for text in arrows}
    assert {(2, 3), (3, 8)} < found
    assert found == {
        (i, row.index(0.95) + 1) for i, row in enumerate(config["data"]["transition"], 1)
    }
    assert len(arrows) == 16
    shapes = {line.get_label(): set(1 - line.get_ydata()) for line in axis.lines}
    assert shapes == {"emits 1 most often": {2, 4, 6, 8}, "emits 2 most often": {1, 3, 5, 7}}
    assert figure.caption.count("0.95") == 2
    config["data"]["transition"][0], config["data"]["emission"][0] = (
        [0.6] + [0.4 / 7] * 7,
        [0.9, 0.1],
    )
    (figure,) = reduction.hidden_markov(SimpleNamespace(config=config))
    assert "0.6 to 0.95" in figure.caption
    assert "0.9 to 0.95" in figure.caption
