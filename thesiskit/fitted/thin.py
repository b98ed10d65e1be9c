# ruff: noqa
"""To be replaced by Source.read_new."""

import numpy as np
import pandas as pd

from thesiskit.datasets.source import *


def read_new(source, path, like):
    if source.family == "sequences":
        rows = [line.split() for line in open(path).read().splitlines()]
        code = {s: i for i, s in enumerate(like.states)}
        H = np.array([[code.get(s, -2) for s in r] for r in rows], dtype=np.int32)
        return Sequences(H, np.empty(0, np.int32), like.states, like.classes)
    f = pd.read_csv(
        path,
        dtype=str if source.family == "features" else None,
        keep_default_na=source.family != "features",
    )
    if source.family == "table":
        return Table(
            f[like.names].to_numpy(float), np.empty(0, np.uint8), like.names, classes=like.classes
        )
    cols = []
    for name, values in zip(like.features, like.values):
        code = {s: i for i, s in enumerate(values)}
        cols.append([-1 if c in source.missing else code.get(c, -2) for c in f[name]])
    return FeatureTable(
        np.array(cols, dtype=np.int16).T, like.response, like.features, like.values, like.classes
    )
