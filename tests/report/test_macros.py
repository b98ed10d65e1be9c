"""Numbers as LaTeX macros: names of letters alone, each once, and values that TeX can set."""

import re
import shutil
import subprocess

import pandas as pd
import pytest
from commands import ROOT

from thesiskit.report.layout import Table, display
from thesiskit.report.page import latex, letters, macros

MACRO = re.compile(r"\\newcommand\{\\(?P<name>[A-Za-z]+)\}\{(?P<value>.*)\}")


def parsed(text: str) -> dict[str, tuple[str, str]]:
    """Return comment and value by name; fail where TeX would not read the text or refuse a name."""
    found = {}
    lines = text.splitlines()
    assert all(line.startswith("% ") for line in lines[:2])
    for comment, line in zip(lines[2::2], lines[3::2], strict=True):
        assert comment.startswith("% ")
        match = MACRO.fullmatch(line)
        assert match, line
        name, value = match["name"], match["value"]
        assert name not in found, f"{name} is defined twice"
        bare = re.sub(r"\\([#%&_${}]|[A-Za-z]+)", "", value)  # without what is escaped
        assert not re.search(r"[#%&_$~\\]", bare), value
        assert "^" not in re.sub(r"\\ensuremath\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "", value), value
        depth = 0
        for mark in bare:
            depth += (mark == "{") - (mark == "}")
            assert depth >= 0, value
        assert depth == 0, value
        found[name] = comment[2:], value
    return found


def table(rows, name="scores", **options):
    return Table(name, "Scores", pd.DataFrame(rows), "", **options)


NULL = table(
    [
        {"features": 10, "method": "corrected", "error": 0.51, "AMLP": 0.6978},
        {"features": 10, "method": "uncorrected", "error": 0.5, "AMLP": float("nan")},
        {"features": 1000, "method": "corrected", "error": 0.5, "AMLP": 0.6931},
    ]
)


def test_a_name_is_the_experiment_the_table_the_row_and_the_column():
    found = parsed(macros("null", [NULL]))
    assert found == {
        "tkNullScoresTenCorrectedError": ("scores: 10, corrected: error", "0.510"),
        "tkNullScoresTenCorrectedAMLP": ("scores: 10, corrected: AMLP", "0.698"),
        "tkNullScoresTenUncorrectedError": ("scores: 10, uncorrected: error", "0.500"),
        "tkNullScoresTenUncorrectedAMLP": ("scores: 10, uncorrected: AMLP", "--"),
        "tkNullScoresOneThousandCorrectedError": ("scores: 1,000, corrected: error", "0.500"),
        "tkNullScoresOneThousandCorrectedAMLP": ("scores: 1,000, corrected: AMLP", "0.693"),
    }


def test_a_name_stays_when_rows_are_added_or_other_numbers_come_out():
    before = parsed(macros("null", [NULL]))
    more = pd.concat(
        [NULL.frame, pd.DataFrame([{"features": 100, "method": "corrected", "error": 0.4}])]
    )
    after = parsed(macros("null", [Table("scores", "Scores", more.assign(AMLP=0.1), "")]))
    assert before.keys() < after.keys()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("expected error", "ExpectedError"),
        ("10", "Ten"),
        ("20 of 10,000", "TwentyOfTenThousand"),
        ("345,678", "ThreeHundredFortyFiveThousandSixHundredSeventyEight"),
        ("1000000000000", "OneZeroZeroZeroZeroZeroZeroZeroZeroZeroZeroZeroZero"),
        ("007", "ZeroZeroSeven"),
        ("-0.25", "MinusZeroPointTwoFive"),
        ("simpson-21", "SimpsonTwentyOne"),
        ("l2-logistic", "LTwoLogistic"),
        ("95 %", "NinetyFivePercent"),
        ("R-hat: worst sigma", "RHatWorstSigma"),
        ("β of café", "BetaOfCafe"),
        ("٣ cases", "ThreeCases"),
        ("二", ""),
    ],
)
def test_words_have_letters_only(text, name):
    assert letters(text) == name


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("10,000", "10,000"),
        ("-1,234.5", r"\ensuremath{-1{,}234.5}"),
        ("1.2e-05", r"\ensuremath{1.2\times10^{-5}}"),
        ("0.57 ± 0.02", r"0.57 \ensuremath{\pm} 0.02"),
        ("x-1 and gene_3", r"x-1 and gene\_3"),
        ("like p^4.3", r"like p\textasciicircum{}4.3"),
        ("{\\input{x}} 3 %", r"\{\textbackslash{}input\{x\}\} 3 \%"),
        ("< 0.001\n5", r"\ensuremath{<} 0.001 5"),
    ],
)
def test_values_are_what_tex_sets(cell, value):
    assert latex(cell) == value
    parsed(f"% a\n% b\n% c\n\\newcommand{{\\tk}}{{{latex(cell)}}}\n")


def test_rows_and_names_that_are_alike_have_macros_of_their_own():
    odd = [
        {"gene": "α-1", "sign": "+", "p": 0.1},
        {"gene": "alpha_1", "sign": "-", "p": 0.2},
        {"gene": "alpha 1", "sign": "-", "p": 0.3},
        {"gene": "基", "sign": "%\n\\end", "p": 0.4},
        {"gene": "因", "sign": "{", "p": 0.5},
    ]
    same = [{"class": "a", "n": 0.1}, {"class": "a", "n": 0.2}]
    found = parsed(macros("a_1%", [table(odd), table(same, "same"), table(odd, "Scores")]))
    values = [value for _, value in found.values()]
    assert values == [f"0.{n}00" for n in (1, 2, 3, 4, 5, 1, 2, 1, 2, 3, 4, 5)]
    assert "tkAOnePercentSameARowTwoN" in found


def test_only_rows_that_are_shown_have_macros():
    assert len(parsed(macros("null", [table(NULL.frame, shown=(0,))]))) == 2


def every_number(frame: pd.DataFrame) -> set[str]:
    return {cell for row in display(frame) for cell in row if re.fullmatch(r"0\.\d{3}", cell)}


def test_every_number_of_a_page_has_a_macro(finished_null):
    found = parsed((finished_null / "numbers.tex").read_text(encoding="utf-8"))
    values = {value for _, value in found.values()}
    tables = sorted((finished_null / "tables").glob("*.csv"))
    assert len(tables) == 2
    for path in tables:
        assert every_number(pd.read_csv(path)) <= values
    assert all(name.startswith("tkPaperSmoke") for name in found)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_a_paper_with_all_macros_is_typeset(finished_null, tmp_path):
    text = (finished_null / "numbers.tex").read_text(encoding="utf-8")
    (tmp_path / "numbers.tex").write_text(text, encoding="utf-8")
    used = "\n".join(f"\\{name}{{}} $\\{name}$\n" for name in parsed(text))
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\input{numbers}\\begin{document}" + used + "\\end{document}"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_guide_names_a_macro_that_there_is(finished_null):
    text = (ROOT / "docs/results.md").read_text()
    named = re.findall(r"\\(tk\w+)\{\}", text)
    assert named
    found = parsed((finished_null / "numbers.tex").read_text(encoding="utf-8"))
    for name in named:  # the guide has the whole experiment, the test its small form
        assert name.replace("tkNull", "tkPaperSmoke") in found
