"""Small experiments with real features, and the stages that are made of them."""

import yaml
from commands import arrays
from small import opened

DRAWN = {
    "experiment": "small",
    "title": "Small",
    "about": "A test.",
    "replicates": 2,
    "data": {"source": "normal", "features": 60, "train": [9, 10, 8], "test": [5, 6, 7],
             "ratio": 2.0, "relevant": 0.2},
    "selection": {"features": [3]},
    "model": {"kind": "normal", "temperature": "none"},
    "report": {"parts": ["selection-table"]},
}  # fmt: skip
TWO = DRAWN["data"] | {"train": [11, 12], "test": [9, 9]}
OWN = DRAWN | {
    "replicates": 1,
    "data": {"source": "file", "path": "t.csv", "response": "tissue"},
    "evaluation": {"folds": 3},
}


def write(folder, config, **changes):
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
