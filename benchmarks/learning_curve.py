"""How well learning curves of half of the samples predict the log loss with all: ten tables.

    python benchmarks/learning_curve.py [--results results]

Writes results/learning-curve/TABLE-METHOD.npz, which later runs read, and from them
results/studies/learning-curve.csv, which benchmarks/evidence.py copies.  The curve is fitted to a
quarter, three eighths and half of each training set, and compared with the log loss of all of it:
first on the same test samples, so that they differ by the extrapolation; then the curve is tested
on a random half of the samples alone, as of somebody who has no others.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from thesiskit.config import load_config
from thesiskit.datasets.published import TABLES
from thesiskit.files import Results
from thesiskit.report.learning import errors_of_means, extrapolate
from thesiskit.study import learning
from thesiskit.study.all_samples import AllSamples

CONFIG = """
experiment: {table}
title: A learning curve
about: A learning curve of a published table.
data: {{ source: microarray, table: {table} }}
evaluation: {{ folds: 5 }}
selection: {{ features: [100] }}
model:
  kind: normal
  methods: [corrected, l2-logistic, pool]
  relevant: [some]
  temperature: [residual]
report: {{ parts: [methods] }}
"""
learning.REPEATS = 2  # of five folds
HALVES = 20  # of the test samples, at random
METHODS = {"pool": "pool", "l2-logistic": "ridge", "corrected": "normal, corrected"}


def measured(table: str, method: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of training sets, and the losses, from a file of an earlier run if any."""
    path = folder / f"{table}-{method}.npz"
    if not path.exists():
        config = folder / f"{table}.yaml"
        config.write_text(CONFIG.format(table=table))
        experiment = AllSamples(load_config(config), Results(folder, table), folder)
        curve = learning.LearningCurve(experiment, pieces=8, parts=(2, 3, 4, 8))
        (name,) = experiment.check_methods([method])
        sizes, losses = curve.measure(name, watch=lambda items, *_: items)
        np.savez(path, sizes=sizes, losses=losses)
    stored = np.load(path)
    return stored["sizes"], stored["losses"]


def compare(sizes: np.ndarray, losses: np.ndarray, half: np.ndarray) -> dict[str, float]:
    """Return what a curve of some samples predicts, and what is observed of all of them."""
    means, fitted = losses.mean(axis=(0, 2)), losses[:, :3, half]
    loss, decrease = extrapolate(sizes[:3], fitted, sizes[2:], positive=True)[:, 1]
    # the decrease that is observed has an error, too
    error = np.sqrt(2 * errors_of_means(losses[:, 2:])[1])
    width = np.hypot((decrease[2] - decrease[1]) / 2, 1.96 * error)
    observed = means[2] - means[3]
    return {
        "half of the samples": means[2],
        "predicted": loss[0],
        "low": loss[1],
        "high": loss[2],
        "observed": means[3],
        "absolute error": abs(loss[0] - means[3]),
        "error if unchanged": abs(observed),
        "covered": loss[1] <= means[3] <= loss[2],
        "decrease covered": decrease[1] <= observed <= decrease[2],
        "decrease covered, with its error": abs(observed - decrease[1:].mean()) <= width,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("results"))
    results = parser.parse_args().results
    folder, rows = results / "learning-curve", []
    for path in (folder, results / "studies"):
        path.mkdir(parents=True, exist_ok=True)
    for (method, words), table in product(METHODS.items(), TABLES):
        sizes, losses = measured(table, method, folder)
        row = {"method": words, "table": table} | compare(sizes, losses[0], slice(None))
        rng, n = np.random.default_rng(46), losses.shape[3]
        halves = [compare(sizes, losses[0], rng.permutation(n)[: n // 2]) for _ in range(HALVES)]
        for name in ("absolute error", "covered"):
            row[f"half tested: {name}"] = np.mean([half[name] for half in halves])
        rows.append(row)
        print(*row.values(), flush=True)
    frame = pd.DataFrame(rows)
    means = frame.groupby("method", sort=False).mean(numeric_only=True).reset_index()
    overall = frame.mean(numeric_only=True).to_frame().T.assign(method="all three")
    whole = pd.concat([frame, means.assign(table="mean"), overall.assign(table="mean")])
    whole.astype({"covered": float, "decrease covered": float}).to_csv(
        results / "studies/learning-curve.csv", index=False
    )


if __name__ == "__main__":
    main()
