"""External validation between the halves of published tables, beside scikit-learn and statsmodels.

    pip install statsmodels
    python benchmarks/validation.py [TABLE...]      # default: khan west golub singh

A model is fitted to a random half of each class and validated on the other half, and the other way.
For each it prints the largest difference of log loss, Brier score, AUC, calibration in the large
and slope, with their 95% intervals, from those that the two packages compute of the predictions.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from statsmodels.api import GLM, families
from statsmodels.discrete.conditional_models import ConditionalLogit

from thesiskit.cli import main
from thesiskit.datasets.published import MicroarrayData
from thesiskit.fitted import load_model

TABLES = ["khan", "west", "golub", "singh"]
METHODS = ["--method", "corrected", "--method", "l2"]
CONFIG = """
experiment: half
title: Half
about: A random half of the samples.
data: { source: file, path: train.csv, response: class POSITIVE }
selection: { features: [10] }
model: { kind: normal, temperature: [residual], methods: [corrected, l2-logistic] }
evaluation: { folds: 4 }
report: { parts: [methods] }
"""


def of_packages(p: np.ndarray, y: np.ndarray, *, slope: bool) -> dict[str, list[float]]:
    """Return measures, some with the ends of their intervals, of probabilities (n, K).

    slope : whether there is one: predictions do not separate the classes.
    """
    n, K = p.shape
    found = {"log loss": [log_loss(y, p, labels=range(K))]}
    log = np.log(np.clip(p, np.finfo(float).eps, 1))
    alpha = 0.04999579029644097  # 1.96 standard errors
    if K == 2:
        odds = log[:, 1] - log[:, 0]
        binomial = families.Binomial()
        models = {
            "calibration in the large": GLM(y, np.ones(n), binomial, offset=odds),
            "calibration slope": GLM(y, np.column_stack([odds, np.ones(n)]), binomial),
        }
        found["Brier"] = [brier_score_loss(y, p[:, 1])]
        found["AUC"] = [roc_auc_score(y, p[:, 1])]
    else:
        one_hot = np.eye(K)[:, 1:]
        x = np.concatenate([np.column_stack([log[i], one_hot]) for i in range(n)])
        chosen = (np.arange(K) == y[:, None]).astype(int).ravel()
        models = {"calibration slope": ConditionalLogit(chosen, x, groups=np.repeat(range(n), K))}
        found["Brier"] = [brier_score_loss(y, p, labels=range(K)) / (1 + (K > 2))]
        if len(np.unique(y)) == K:
            found["AUC"] = [roc_auc_score(y, p, multi_class="ovr")]
    keys: dict[str, Any] = {"tol": 1e-13, "tol_criterion": "params", "maxiter": 200}
    if K > 2:
        keys = {"method": "bfgs", "disp": False, "gtol": 1e-12, "maxiter": 5000}
    for name in [name for name in models if slope or name != "calibration slope"]:
        model = models[name]
        fit = model.fit(**keys)
        found[name] = [fit.params[0], *(fit.conf_int(alpha)[0] if K == 2 else [])]
    return found


def compare(name: str, folder: Path) -> None:
    """Print the differences of both directions of a table."""
    table = MicroarrayData(source="microarray", table=name).read(folder)[0]
    whole = pd.DataFrame(table.features, columns=[f"g{j}" for j in range(table.features.shape[1])])
    whole["class"] = np.array([f"class {name}" for name in table.classes])[table.response]
    half = whole.groupby("class").cumcount().sample(frac=1, random_state=1).sort_index() % 2
    positive = "" if whole["class"].nunique() > 2 else f", positive: {whole['class'].max()}"
    (folder / "half.yaml").write_text(CONFIG.replace("POSITIVE", positive))
    for first in (0, 1):
        whole[half == first].to_csv(folder / "train.csv", index=False)
        whole[half != first].to_csv(folder / "new.csv", index=False)
        results = ["--results", str(folder / f"results-{first}"), "--jobs", "0"]
        command = ["export", folder / "half.yaml", folder / "half.model", *METHODS, *results]
        for arguments in (
            command,
            [
                "validate",
                folder / "half.model",
                "--new",
                folder / "new.csv",
                "--output",
                folder / f"out-{first}",
            ],
        ):
            done = CliRunner().invoke(main, [str(one) for one in arguments])
            assert done.exit_code == 0, done.output
        model = load_model(folder / "half.model")
        table = model.read(folder / "new.csv", tested=True)
        measures = json.loads((folder / f"out-{first}/validation.json").read_text())["measures"]
        for method in model.methods:
            p = model.predict_proba(whole[half != first], method)
            rows = {row["measure"]: row for row in measures if row["method"] == method}
            undefined = rows["calibration slope"]["external: value"] is None
            compared = of_packages(p, table.response.astype(int), slope=not undefined)
            for measure, values in compared.items():
                ends = ["value", "low", "high"][: len(values)]
                ours = np.array([rows[measure][f"external: {end}"] for end in ends], dtype=float)
                away = np.abs(ours - values).max()
                print(f"{name:8} {first} {method:32} {measure:26} {ours[0]:9.5f} {away:.1e}")


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        with tempfile.TemporaryDirectory() as folder:
            compare(table, Path(folder))
