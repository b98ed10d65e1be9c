"""The code blocks of the documentation, and how each is run."""

import atexit
import contextlib
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from click.testing import CliRunner
from commands import ROOT, run
from plink_files import write_plink

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.errors import UnreliableWarning

_DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = ["README.md", "CONTRIBUTING.md", *_DOCS]
RECIPE = "# recipe: "  # a block that begins so is carried out by tests/test_recipes.py
# commands that a test cannot run, and why
CANNOT = {
    "pip install": "`make check-sdist` installs the package",
    "python3 -m venv": "tests run in an environment that exists",
    "cells.h5ad": "needs anndata, which requires an older pandas in the pinned environment",
    "batch submit": "needs a cluster; tests/slurm_node has one",
    "fetch microarray": "needs a network; tests/datasets/test_microarray.py has a server",
    "--watch": "waits until another process has made all cells",
    "--share 3/100": "makes a part of the full study; tests/study makes parts",
}
# blocks that are no code, by their first line
DRAWINGS = {
    "thesiskit/": "the tree of the package",
    "cli -> study": "the directions of imports",
    "#PBS -J": "lines for other schedulers, which the tests do not have",
}
# what examples call a config of the user's
OWN = "null --smoke"
FOLDS = 2  # they show as much of a command as ten do
GENES = 200  # of the colon data, of 2,000
# methods of others that take long, and all whose score only whole runs print
LONG = ("lasso", "ridge", "pls", "bayesian-ridge", "l2-logistic", "logistic-regression",
        "random-forest", "gradient-boosting")  # fmt: skip
WHOLE = re.compile(r"^(?:Selected by nested cross-validation|Ridge|Lasso) .*\n", re.MULTILINE)
SCORES = re.compile(r"^[A-Z].* \d\.\d{3} +\d\.\d{3}", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, and where it stands."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """Return the code blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(page, text[: m.start()].count("\n") + 1, m[1], m[2]) for m in found]


def prints_scores(page: str) -> bool:
    """Whether a page prints scores of methods, which only whole runs have."""
    return any(SCORES.search(block.text) for block in blocks(page))


def quickened(config: str) -> str:
    """Return a config with few folds, short chains and few methods of others.

    It has no nested cross-validation, which fits tenfold.
    """

    def few(methods: re.Match) -> str:
        kept = [name for name in re.split(r", *", methods[2]) if name not in LONG]
        return f"{methods[1]}[{', '.join(kept)}]"

    config = re.sub(r"\bfolds: \d+", f"folds: {FOLDS}", config)
    config = re.sub(r"\bchains: \d+", "chains: 2", config)
    config = re.sub(r"\buntil: \{[^}]*\}", "until: { rhat: 1.1, ess: 40 }", config)
    config = re.sub(r"\b((?:methods|peers):\s(?:#.*\n)?\s*)\[([^]]*)\]", few, config)
    return re.sub(r"\bchoose: true\b", "choose: false", config)


def prepare(folder: Path) -> None:
    """Put into a folder what the examples read: the configs, and small data of the user's."""
    (folder / "configs").symlink_to(ROOT / "configs")
    rng = np.random.default_rng(1)
    tissues = rng.normal(size=(60, 120))
    status = np.where(tissues[:, 0] + rng.normal(size=60) > 0, "tumour", "normal")
    names = ",".join(f"gene-{j}" for j in range(120))
    stage = np.array(["I", "II", "III", "IV"])[np.digitize(tissues[:, 0], [-0.7, 0, 0.7])]
    lines = [f"{s}," + ",".join(map(str, row)) for s, row in zip(stage, tissues, strict=True)]
    (folder / "stages.csv").write_text("\n".join([f"stage,{names}", *lines]) + "\n")
    rows = [f"{s}," + ",".join(map(str, row)) for s, row in zip(status, tissues, strict=True)]
    (folder / "expression.csv").write_text("\n".join([f"class,{names}", *rows]) + "\n")
    reads = rng.choice(list("ACGT"), (200, 12))
    (folder / "reads.txt").write_text("".join(" ".join(row) + "\n" for row in reads))
    loci = rng.integers(0, 3, (80, 6))
    header = ",".join(f"locus-{j}" for j in range(6)) + ",status\n"
    samples = np.where(loci[:, 0] == loci[:, 1], "case", "control")
    table = [",".join(map(str, row)) + f",{s}\n" for row, s in zip(loci, samples, strict=True)]
    (folder / "genotypes.csv").write_text(header + "".join(table))
    new = np.random.default_rng(2).normal(size=(5, 120))
    lines = [names, *(",".join(map(str, row)) for row in new)]
    (folder / "new-tissues.csv").write_text("\n".join(lines) + "\n")
    _prepare_snps(folder / "snps.bed")


def _prepare_snps(path: Path) -> None:
    """Write genotypes of which two matter together, as PLINK files."""
    snps = np.random.default_rng(1).binomial(2, 0.4, (80, 12)).astype("int8")
    samples = 1 + ((snps[:, 0] >= 1) ^ (snps[:, 1] >= 1))
    write_plink(path, snps, samples, ids=[f"p{i}" for i in range(80)])


def run_block(block: Block, folder: Path, *, short: bool = True) -> None:
    """Run a code block in a folder, the current one; if `short`, the configs are quickened."""
    if block.language in ("text", "latex"):
        assert block.text.startswith(tuple(DRAWINGS)), f"{block}: code needs its own language"
    elif block.text.startswith(RECIPE):
        pass
    elif block.language == "r":
        run_r(block, folder)
    elif block.language == "sh":
        for line in block.text.splitlines():
            if short and re.search(r"\.yaml .*--name", line):
                line += f" --set evaluation.folds={FOLDS} --set evaluation.choose=false"
            elif short and "--name" in line:
                line += " --set selection.features=[10] --set report.parts=[methods]"
            run_line(line, short=short)
    elif block.language == "console":
        check_transcript(block, short=short)
    elif block.language == "yaml":
        run_config(block, folder, short=short)
    elif block.language == "python":
        with warnings.catch_warnings(), contextlib.chdir(folder):
            warnings.simplefilter("ignore", UnreliableWarning)  # the chains are short
            exec(compile(block.text, str(block), "exec"), {})
    else:
        raise AssertionError(f"{block}: no test runs blocks of the language {block.language!r}")


def run_r(block: Block, folder: Path) -> None:
    """Run a block of R, where R has reticulate; elsewhere it is not run."""
    if shutil.which("Rscript") is None:
        return
    here = dict(os.environ, RETICULATE_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(sys.path))
    asked = ["Rscript", "-e", "quit(status = !requireNamespace('reticulate', quietly = TRUE))"]
    if subprocess.run(asked, env=here, capture_output=True).returncode == 0:
        command = ["Rscript", "-e", block.text]
        done = subprocess.run(command, env=here, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def run_line(line: str, *, short: bool = False) -> str:
    """Run a line of shell, commands of thesiskit joined by &&, and return what they print.

    If `short`, the configs that `init` writes are quickened before they run, and the colon
    data have fewer genes.
    """
    if any(words in line for words in CANNOT):
        return ""
    line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", line.partition(";")[0])
    if "CONFIG" in line:
        # what is made of it can be shown, joined and reported
        assert _run_once(["run", *OWN.split()], "").exit_code == 0
    printed = []
    for command in line.replace("CONFIG", OWN).split(" && "):
        printed.append(_run_command(command, short=short))
        written = re.search(r"thesiskit init .*--output (\S+\.yaml)", command)
        if short and written:
            path = Path(written[1])
            path.write_text(quickened(path.read_text(encoding="utf-8")), encoding="utf-8")
    return "".join(printed)


_FINISHED: dict[bytes, tuple[Path, Any]] = {}  # of this process: results folders, and outputs


def _run_once(words: list[str], printed: str) -> Any:
    """Run a command; copy what it made if a run of the same config and data is finished."""
    results = Path("results")
    if words[0] != "run" or results.exists():
        return CliRunner().invoke(main, words, input=printed)
    key = hashlib.sha256(repr(words).encode())
    config = Path(words[1]).read_text(encoding="utf-8") if words[1].endswith(".yaml") else ""
    for path in [Path(words[1]), *sorted(Path().iterdir())] if config else ():
        if path.name in " ".join([config, *words]) and path.is_file():
            key.update(path.name.encode() + path.read_bytes())
    folder, done = _FINISHED.get(key.digest(), (None, None))
    if folder is not None:
        shutil.copytree(folder / results, results)
        return done
    done = CliRunner().invoke(main, words, input=printed)
    if done.exit_code == 0:
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(results, folder / results)
        _FINISHED[key.digest()] = folder, done
    return done


def _run_command(command: str, *, short: bool) -> str:
    """Run a command, or several joined by |, and write what it prints to the file after >."""
    given, _, target = command.partition(" > ")
    printed = output = ""
    for part in given.split(" | "):
        words = shlex.split(part, comments=True)
        assert words[0] == "thesiskit", f"no test runs {command!r}"
        done = _run_once(words[1:], printed)
        assert done.exit_code == 0, done.output
        printed, output = done.stdout, done.output
        if short and words[1:] == ["data", "show", "colon"]:
            printed = pd.read_csv(io.StringIO(printed)).iloc[:, : 1 + GENES].to_csv(index=False)
    if target:
        Path(target.strip()).write_text(printed, encoding="utf-8")
        return done.stderr
    return output


def check_transcript(block: Block, *, short: bool) -> None:
    """Run the commands of a transcript and compare their output.

    A line `...` stands for any lines, `...` within a line for any text; seconds may differ, and
    where configs of `init` are quickened, scores and the method that is the best of them, too.
    """
    text = "\n".join(other.text for other in blocks(block.page))
    made = re.findall(r"thesiskit init .*--output (\S+\.yaml)", text) if short else []
    slow = r"(?m)^\w+: [\d,]+ of [\d,]+ after \d+ min\n"  # on a busy machine
    for transcript in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *lines = transcript.splitlines(keepends=True)
        pattern = "".join(map(line_pattern, lines))
        if any(name in command.split() for name in made):
            lines = WHOLE.sub("", "".join(lines)).splitlines(keepends=True)
            pattern = "".join(scoreless(line_pattern(line)) for line in lines)
        printed = re.sub(slow, "", run_line(command.rstrip(), short=short))
        assert re.fullmatch(pattern, printed), f"{block} prints otherwise now:\n{printed}"


def line_pattern(line: str) -> str:
    """Return the pattern of a line of a transcript."""
    if line == "...\n":
        return r"(?:.*\n)*?"
    timeless = r"\((?:[0-9.]+ s|already done)\)"
    pattern = re.escape(re.sub(timeless, "TIME", line)).replace("TIME", timeless)
    return pattern.replace(re.escape("..."), ".*")


def scoreless(pattern: str) -> str:
    """Return the pattern of a line with any scores, in columns of any width, and any method."""
    pattern = re.sub(r"\d\\\.\d{3}", lambda _: r"\d\.\d{3}", pattern)
    pattern = re.sub(r"(?:\\ )+", lambda _: r"\ +", pattern)
    return re.sub(r'"[^"]*"', lambda _: r'"[^"]*"', pattern)


def run_config(block: Block, folder: Path, *, short: bool) -> None:
    """Run a whole config, quickened if `short`; validate one that shows some keys alone.

    One that a later block of the page runs is not run here.
    """
    given = yaml.safe_load(block.text)
    if "experiment" in given:
        path = folder / f"{given['experiment']}.yaml"
        path.write_text(block.text)
        load_config(path)
        path.write_text(quickened(block.text) if short else block.text)
        later = [other.text for other in blocks(block.page) if other.line > block.line]
        if not any(f" run {path.name}" in text for text in later):
            run("run", path)
    else:
        logistic = given.get("model", {}).get("kind") == "logistic"
        base = "studies/votes.yaml" if logistic else "chapter2/null.yaml"
        whole = yaml.safe_load((ROOT / "configs" / base).read_text()) | given
        (folder / "part.yaml").write_text(yaml.safe_dump(whole))
        load_config(folder / "part.yaml")
