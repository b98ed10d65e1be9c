"""Speed and memory of the normal model; run by bench.py."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from thesiskit.estimators import NormalClassifier


def drawn(n=100, p=10_000, tests=1_000, strong=50, effect=1.5, classes=2):
    rng = np.random.default_rng(1)
    means = effect * rng.standard_normal((strong, classes))
    y, other = np.arange(n) % classes, rng.integers(0, classes, tests)
    X, new = rng.standard_normal((n, p)), rng.standard_normal((tests, p))
    X[:, :strong] += means[:, y].T
    new[:, :strong] += means[:, other].T
    return X, y, new


def seconds(k, repeats=5, model=None, **sizes):
    X, y, new = drawn(**sizes)
    model, times = model or NormalClassifier(k, temperature=None, random_state=0), []
    for _ in range(repeats):
        started = time.process_time()  # one thread; other work does not count
        model.fit(X, y).predict_proba(new)
        times.append(time.process_time() - started)
    return min(times)


def rows():
    kept = {k: seconds(k) for k in (100, 1_000)}
    yield "normal, n = 100, p = 10,000, 1,000 test samples, k = 100", kept[100], 0.1
    yield "the same, k = 1,000", kept[1_000], 0.5
    for k, ours in kept.items():
        theirs = seconds(k, model=make_pipeline(SelectKBest(k=k), GaussianNB()))
        yield f"over SelectKBest and GaussianNB of scikit-learn, k = {k:,}", ours / theirs, None
    weak = seconds(100, effect=0.5)
    yield "k = 100, effects a third as large (many more points have weight)", weak, None
    yield "k = 1,000, four classes", seconds(1_000, classes=4), None


MAPPED = r"""
import re, sys, time
import numpy as np
from thesiskit.estimators import NormalClassifier
X = np.load(sys.argv[1], mmap_mode="r")
started = time.perf_counter()
model = NormalClassifier(1000, temperature=None, random_state=0).fit(X[:1000], np.arange(1000) % 2)
p = model.predict_proba(X[1000:])
seconds = time.perf_counter() - started
print(seconds, int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e6)
"""


def mapped_rows():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        rng = np.random.default_rng(3)
        table = np.lib.format.open_memmap(path, "w+", np.float32, (1_100, 1_000_000))
        for row in table:
            row[:] = rng.standard_normal(len(row), dtype=np.float32)
        del table
        done = subprocess.run(
            [sys.executable, "-c", MAPPED, str(path)], capture_output=True, text=True, check=True
        )
    needed, gigabytes = map(float, done.stdout.split())
    yield "normal, memory-mapped, p = 1,000,000, n = 1,000, k = 1,000, predict 100", needed, 30.0
    yield "the same, resident memory (GB)", gigabytes, 1.0
