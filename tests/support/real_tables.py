"""Small experiments with real features, and the stages that are made of them."""

import numpy as np
import pandas as pd
import yaml
from commands import arrays
from small import opened

TESTED = {
    "experiment": "small",
    "title": "Small",
    "about": "A test.",
    "replicates": 2,
    "data": {"source": "file", "path": "three.csv", "test_path": "three-test.csv",
             "response": "tissue"},
    "selection": {"features": [3]},
    "model": {"kind": "normal", "temperature": "none"},
    "report": {"parts": ["selection-table"]},
}  # fmt: skip
TWO = TESTED["data"] | {"path": "two.csv", "test_path": "two-test.csv"}
SIZES = {"two": ([11, 12], [9, 9]), "three": ([9, 10, 8], [5, 6, 7])}
OWN = TESTED | {
    "replicates": 1,
    "data": {"source": "file", "path": "t.csv", "response": "tissue"},
    "evaluation": {"folds": 3},
}


def write(folder, config, **changes):
    """Write a config, and tables of 60 features for TESTED and TWO, some of them relevant."""
    for name, sizes in SIZES.items():
        rng = np.random.default_rng(len(name))
        mean = rng.normal(0, 1.4, (3, 60)) * (rng.random(60) < 0.2)
        for path, counts in zip((f"{name}.csv", f"{name}-test.csv"), sizes, strict=True):
            y = np.repeat(np.arange(len(counts)), counts)
            frame = pd.DataFrame(mean[y] + rng.normal(size=(len(y), 60)))
            frame.assign(tissue=y).to_csv(folder / path, index=False)
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(config | changes))
    return path


def made(folder, config, *, jobs=0, results="results", upto="predict", **changes):
    """Make stages; return the arrays of each, those of the first block, and the notes."""
    experiment = opened(write(folder, config, **changes), folder / results, jobs)
    for stage in experiment.stages[: experiment.stages.index(upto) + 1]:
        experiment.run(stage, watch=lambda items, *_: items)
    experiment.close()
    found = {stage: arrays(folder / f"{results}/small/{stage}/0000.npz")
             for stage in experiment.stages[: experiment.stages.index(upto) + 1]}  # fmt: skip
    return found, experiment.notes
