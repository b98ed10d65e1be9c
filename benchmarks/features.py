"""Speed and memory of compressing, sampling and predicting with features; run by bench.py."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
from sequences import iteration_seconds

from thesiskit.datasets.features import draw_interactions
from thesiskit.models import logistic
from thesiskit.models.patterns import compress_features
from thesiskit.report.layout import INK, canvas


def uniform(samples, features, values):
    return np.random.default_rng(0).integers(0, values, (samples, features))


def best(work, repeats=5):
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


# Peak memory of a process that does nothing else, above what its imports took.
COMPRESSION = r"""
import re, sys, time
import numpy as np
from thesiskit.models.patterns import compress_features
status = lambda name: int(re.search(rf"{name}:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e3
samples, features, values, order, algorithm, repeats = sys.argv[1:]
X = np.random.default_rng(0).integers(0, int(values), (int(samples), int(features)))
before, times = status("VmRSS"), []
for i in range(int(repeats)):
    started = time.perf_counter()
    groups = compress_features(X, int(order), algorithm=algorithm)
    times.append(time.perf_counter() - started)
    if i == 0:
        memory = status("VmHWM") - before
print(min(times), memory, groups.n_groups, groups.n_patterns, groups.n_intervals)
"""
TABLES = (  # samples, features, values, order, seconds, MB
    (200, 20, 4, 4, 0.08, 100),
    (200, 15, 4, 4, 0.03, None),
    (200, 10, 4, 10, 0.01, None),
    (200, 20, 4, 20, 2.0, None),
    (2_000, 30, 3, 3, 2.0, 1_000),
)


def compressed(*table, algorithm="closed", repeats=5):
    """Seconds, MB, groups, patterns and superpatterns."""
    done = subprocess.run(
        [sys.executable, "-c", COMPRESSION, *map(str, table), algorithm, str(repeats)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return tuple(map(float, done.stdout.split()))


def compression_rows():
    for *table, target, room in TABLES:
        seconds, megabytes, groups, patterns, _ = compressed(*table)
        name = "features: N = {:,}, p = {}, K = {}, order {}".format(*table)
        yield f"{name} ({groups:,.0f} groups of {patterns:,.0f})", seconds, target
        yield "the same, memory (MB)", megabytes, room
    for samples, features, values, order in ((200, 20, 4, 4), (200, 10, 4, 10)):
        X = uniform(samples, features, values)
        assert len(bitmasks(X, order)) == compress_features(X, order).n_groups
        name = f"features: p = {features}, order {order}"
        seconds = best(lambda X=X, order=order: bitmasks(X, order), 2)
        yield f"{name}, brute force in Python with integer bitmasks", seconds, None
    for table in ((200, 10, 4, 4), (200, 10, 4, 10), (200, 15, 4, 4)):
        name = "features: p = {1}, order {3}".format(*table)
        for algorithm in ("closed", "thesis"):
            seconds, _, _, _, intervals = compressed(*table, algorithm=algorithm, repeats=2)
            yield f"{name}, {algorithm}, {intervals:,.0f} superpatterns", seconds, None


def bitmasks(X, order):
    """Every expression with its patterns counted by order, from each pattern's bits."""
    values = [
        [sum(1 << int(i) for i in np.flatnonzero(column == v)) for v in np.unique(column)]
        for column in X.T
    ]
    level = [((1 << len(X)) - 1, 0)]
    found = {level[0][0]: [1] + [0] * order}
    for o in range(1, order + 1):
        level = [
            (both, t + 1)
            for bits, start in level
            for t in range(start, len(values))
            for one in values[t]
            if (both := bits & one)
        ]
        for bits, _ in level:
            counts = found.get(bits)
            if counts is None:
                counts = found[bits] = [0] * (order + 1)
            counts[o] += 1
    return found


def drawn_model(**options):
    """500 of 5,500 samples as in configs/chapter3/cauchy-classification.yaml, at order 7."""
    rng = np.random.default_rng(1)
    sigma = np.append(0, 1 / np.arange(1, 5))
    table, _ = draw_interactions(
        rng, features=7, values=3, order=4, sigma=sigma, samples=5_500, train=500
    )
    groups = compress_features(table.X[:500], 7)
    settings = logistic.Logistic(**options)
    return logistic.LogisticTarget(groups, table.response[:500], 2, settings), table.X[500:]


def sampling_rows():
    for prior in ("cauchy", "gaussian"):
        for joint in (0, 1):
            one, _ = drawn_model(prior=prior, joint_updates=joint)
            words = "the same with joint updates"
            if not joint:
                words = f"features: N = 500, p = 7, K = 3, order 7 ({one.groups.n_groups:,} groups)"
                words += f", {prior}, one iteration (ms)"
            yield words, 1e3 * iteration_seconds(one, 50, 50, 3), None if joint else 8.0


def prediction_rows():
    one, tests = drawn_model()
    coefficient, log_sigma = logistic.sample(one, [np.random.default_rng(1)]).flat

    def work():
        shared = one.groups.shared(tests)
        rng = np.random.default_rng(3)
        logistic.predict(coefficient, log_sigma, shared, 2, cauchy=True, rng=rng)

    name = f"features: prediction, 5,000 samples, {len(coefficient)} draws, that model"
    yield name, best(work, 3), 2.0
    yield "of it, matching the samples", best(lambda: one.groups.shared(tests), 3), None


def rows():
    yield from compression_rows()
    yield from sampling_rows()
    yield from prediction_rows()


VARIED = (  # from N = 200, p = 15, K = 4, order 4
    ("N, training samples", 0, (25, 50, 100, 200, 400, 800, 1_600, 3_200)),
    ("p, features", 1, (5, 10, 15, 20, 30, 40)),
    ("K, values of a feature", 2, (2, 3, 4, 6, 8, 16, 32)),
    ("O, order", 3, (1, 2, 3, 4, 6, 8, 11, 15)),
)


def growth():
    """Seconds, groups, patterns, and MB, by each size."""
    found = []
    for name, place, values in VARIED:
        for value in values:
            table = [200, 15, 4, 4]
            table[place] = value
            seconds, megabytes, groups, patterns, _ = compressed(*table, repeats=3)
            found.append({"varied": name, "value": value, "seconds": seconds,
                          "groups": groups, "patterns": patterns, "MB": megabytes})  # fmt: skip
    return pd.DataFrame(found)


def draw_growth(frame):
    figure, axes = canvas(2, 4, width=11, height=5, sharex="col", sharey="row")
    for (name, part), (above, below) in zip(
        frame.groupby("varied", sort=False), axes.T, strict=True
    ):
        above.loglog(part.value, part.seconds, "-o", color=INK, markersize=4)
        below.loglog(part.value, part.groups, "-o", color=INK, markersize=4, label="groups")
        below.loglog(part.value, part.patterns, ":s", color=INK, markersize=4, label="patterns")
        below.set_xlabel(name)
        below.set_xticks(part.value, [f"{x:,}" for x in part.value], fontsize=7)
        below.minorticks_off()
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("number")
    axes[1, 0].legend(frameon=False, fontsize=8)
    return figure
