"""Small configs of every kind, their experiments, and the files of their cells."""

from pathlib import Path

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.study.experiment import Experiment

MIXTURE = """
experiment: small
title: Small
about: A test.
replicates: 2
block: 1
data: { source: mixture, features: 60, alpha: 300, response: [0.1, 0.9], train: [12, 12],
        test: [9, 9] }
selection: { features: [2, all] }
model:
  kind: mixture
  samplers: [collapsed, gibbs]
  methods: [corrected, uncorrected, bernoulli-nb]
  collapsed: { chains: 2, iterations: 60, burn_in: 20 }
  thesis: { chains: 2, iterations: 12, burn_in: 2 }
report: { parts: [methods, diagnostics] }
"""
NAIVE = """
experiment: small
title: Small
about: A test.
replicates: 4
block: 2
data: { source: naive-bayes, features: 80, alpha: 300, train: [10, 10], test: 9 }
selection: { features: [1, 5] }
report: { parts: [methods] }
"""
NORMAL = """
experiment: small
title: Small
about: A test.
replicates: 4
block: 2
data: { source: breast-cancer }
evaluation: { scheme: holdout }
selection: { features: [2] }
model: { kind: normal, temperature: [none, residual] }
report: { parts: [methods] }
"""
LOGISTIC = """
experiment: small
title: Small
about: A test.
data: { source: hidden-markov, transition: [[0.9, 0.1], [0.2, 0.8]],
        emission: [[0.8, 0.2], [0.3, 0.7]], history: 3, train: 40, test: 12 }
model: { kind: logistic, orders: [1, 3], priors: [gaussian], compress: [true, false], chains: 2,
         iterations: 60, burn_in: 20, peers: [n-gram] }
report: { parts: [orders, chain-table] }
"""
# a table t.csv, of which a method is chosen inside the folds
CHOSEN = """
experiment: chosen
title: Chosen
about: "A test."
data: {source: file, path: t.csv, response: y}
evaluation: {folds: FOLDS, choose: true}
selection: {features: [2, 10]}
model: {kind: normal, methods: [corrected, lasso], temperature: [none, residual]}
report: {parts: [summary, methods]}
"""
KINDS = {"mixture": MIXTURE, "naive": NAIVE, "normal": NORMAL, "logistic": LOGISTIC}
# as MIXTURE, but a chain takes seconds
LONG = (
    MIXTURE.replace("iterations: 60", "iterations: 4000")
    .replace("[collapsed, gibbs]", "[collapsed]")
    .replace("[2, all]", "[2]")
    .replace(", diagnostics", "")  # no figures, which a process would draw
)


def opened(path, results, jobs=0, settings=()):
    loaded = load_config(path, settings=settings)
    return Experiment(loaded, Results(results, "small"), Path(path).parent, jobs)


def content(results):
    """Return all result files, but those of chains that were compared and may be gone."""
    folder = Path(results) / "small"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("*.npz", "*.nc")
        for path in folder.rglob(kind)
        if "unfinished" not in path.parts
    }


def make_with_needs(graph, cell):
    """Make a cell, and before it all that it needs."""
    if not graph.done(cell):
        for needed in graph.needs(cell):
            make_with_needs(graph, needed)
        graph.make(cell)
