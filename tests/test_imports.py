"""Imports run in one direction, and the command line starts quickly."""

import ast
import graphlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import ROOT

PACKAGE = ROOT / "thesiskit"
# who may import whom; LEAVES are open to all, and import nothing of ours
LEAVES = {"registry", "errors", "files", "frame", "blocks", "defaults"}
FOR_REPORTS = ("density", "folds", "patterns", "peers", "prevalence")  # modules of models
ALLOWED = {
    "cli": {
        "start",
        "cli",
        "config",
        "yamlfile",
        "study",
        "report",
        "datasets",
        "models",
        "fitted",
        "__version__",
    },
    "blocks": {"errors", "defaults"},
    "config": {"datasets", "models", "yamlfile"},
    "yamlfile": set(),
    "defaults": set(),
    "errors": set(),
    "registry": {"errors"},
    "files": {"errors", "__version__"},
    "frame": {"defaults", "errors"},
    "estimators": {"estimators", "models", "pairs"},
    "study": {"config", "models", "datasets", "report", "fitted", "study"},
    "fitted": {"fitted", "models", "datasets", "__version__"},
    "models": {"_kernels", "models"},
    "datasets": {"datasets"},
    "report": {"report", "datasets", *(f"models.{name}" for name in FOR_REPORTS)},
    "start": {"config", "datasets"},
    # thesiskit/registry.py names pairs; only NaiveBayesClassifier imports it, where it has an order
    "pairs": {
        "config",
        "datasets",
        "fitted",
        "models",
        "_kernels",
        "pairs",
        "report",
        "start",
        "study",
    },
    "_kernels": set(),
    "__init__": set(),
    "__main__": {"cli"},
}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "thesiskit":
            parts = node.module.split(".")
            if parts[1:-1] == ["models"] and parts[2] in FOR_REPORTS:
                yield ".".join(parts[1:])
            else:
                yield from [parts[1]] if len(parts) > 1 else [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("thesiskit."):
                    yield name.name.split(".")[1]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_imports_run_in_one_direction(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    allowed = ALLOWED[part] | (set() if part in LEAVES else LEAVES)
    found = set(imported(ast.parse(path.read_text())))
    assert not {name for name in found if not {name, name.partition(".")[0]} & allowed}


def test_imports_have_no_circle():
    """Also none inside a folder, or of imports in functions."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path
             for path in PACKAGE.rglob("*.py")}  # fmt: skip
    graph = {}
    for module, path in names.items():
        imports = [node for node in ast.walk(ast.parse(path.read_text()))
                   if isinstance(node, ast.ImportFrom)]  # fmt: skip
        targets = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
        targets |= {f"{node.module}" for node in imports}
        graph[module] = targets & set(names) - {module}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def printed(code: str, **options) -> str:
    """Return what a new process prints that runs the code."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    return done.stdout.strip()


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from thesiskit.cli import main;"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0;"
        "heavy = {'numpy', 'scipy', 'pandas', 'matplotlib', 'sklearn', 'pydantic', 'yaml'};"
        "print(*heavy & set(sys.modules))"
    )
    assert printed(code) == ""


def test_configs_load_no_library_that_few_commands_use():
    code = (
        "import sys, thesiskit.config, thesiskit.study.workers;"
        "print(*{'scipy.stats', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    assert printed(code) == ""


def test_a_table_is_read_and_checked_without_libraries_that_take_seconds_to_load(tmp_path):
    """Neither where its config is drafted, nor in the process that waits for the others."""
    x = np.random.default_rng(7).normal(size=(40, 30)).round(4)
    table = pd.DataFrame(x, columns=[f"g{j}" for j in range(30)]).assign(y=["a", "b"] * 20)
    table.to_csv(tmp_path / "table.csv", index=False)
    code = (
        "import sys; from thesiskit.cli import main;"
        "main(['init', 'table.csv', '--output', 'own.yaml'], standalone_mode=False);"
        "fewer = ['--set', 'evaluation.folds=2', '--set', 'model.methods=[corrected]'];"
        "main(['run', '--quick', '--jobs', '1', 'own.yaml', *fewer], standalone_mode=False);"
        "print('heavy:', *{'scipy.stats', 'scipy.optimize', 'sklearn'} & set(sys.modules))"
    )
    assert printed(code, cwd=tmp_path).splitlines()[-1] == "heavy:"


def test_ridge_lasso_and_pool_need_no_scikit_learn():
    code = (
        "import sys, numpy as np; from thesiskit.models import peers;"
        "x, y = np.random.default_rng(7).normal(size=(30, 12)), np.arange(30) % 3\n"
        "for name in ('l2-logistic', 'lasso', 'pool'):\n"
        "    peers.load(name, peers.REALS)\n"
        "    peers.fit_predict(name, peers.Task(peers.REALS, 3), x, y, x, 1)\n"
        "print('heavy:', *{'scipy.stats', 'sklearn'} & set(sys.modules))"
    )
    assert printed(code) == "heavy:"
