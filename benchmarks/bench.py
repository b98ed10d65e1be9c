"""Speed and memory of all models: a table, and figures of how the cost grows.

    python benchmarks/bench.py --results results/bench [--only logistic]

Each time is the best of several runs on one core.  Ratios are taken within one run.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import batch
import features
import interactions
import normal
import numpy as np
import pandas as pd
import sequences

from thesiskit.config import load_config
from thesiskit.datasets import published
from thesiskit.datasets.synthetic import draw_mixture, draw_naive_bayes
from thesiskit.errors import DataError
from thesiskit.estimators import NaiveBayesClassifier
from thesiskit.files import Results, write_text
from thesiskit.models import chains, integrals, mixture, selection
from thesiskit.models.integrals import InverseGamma
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import select_features
from thesiskit.report.layout import INK, canvas
from thesiskit.study.experiment import Experiment

ROOT = Path(__file__).parent.parent


def forget():
    """Empty the caches, so that a run pays for its own tables."""
    integrals._tables.cache_clear()
    selection.reach.cache_clear()


def best(work, repeats=7):
    times = []
    for _ in range(repeats):
        forget()
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def simulated(n=200, p=10_000, tests=2_000):
    rng = np.random.default_rng(1)
    half, rest = n // 2, n - n // 2
    drawn = draw_naive_bayes(
        rng, features=p, alpha=300.0, train=(half, rest), test=(tests // 2, tests - tests // 2)
    )
    return drawn.train.features, drawn.train.response, drawn.test.features


def fit_and_predict(data, k, points=30, relevant="all"):
    X, y, new = data
    model = NaiveBayesClassifier(k, relevant=relevant, alpha_points=points, random_state=0)
    return lambda: model.fit(X, y).predict_proba(new)


def naive_rows():
    data = simulated()
    yield (
        "fit and predict, n = 200, p = k = 10,000, K = 30, 2,000 test samples",
        best(fit_and_predict(data, 10_000)),
        0.12,
    )
    yield "the same, k = 1,000", best(fit_and_predict(data, 1_000)), 0.03
    for k in (10_000, 1_000):
        seconds = [best(fit_and_predict(data, k, relevant=one)) for one in ("some", "all")]
        yield f"some features relevant over all, k = {k:,}", seconds[0] / seconds[1], 3.0
    alpha = InverseGamma(0.5, 5.0).midpoints(30)
    yield (
        "adjustment factor, n = 200, K = 30, exact",
        best(lambda: integrals.log_discard_probability(100, 100, Fraction(9, 100), alpha), 50),
        0.002,
    )


def screening_rows():
    rng = np.random.default_rng(2)
    p, n = 1_000_000, 1_000
    words = rng.integers(0, 2**63, size=(p, -(-n // 64)), dtype=np.uint64)
    words[:, -1] &= np.uint64(2 ** (n % 64) - 1)
    y = np.repeat([0, 1], n // 2)
    packed = PackedFeatures(words, n)
    read = best(lambda: words.sum(), 15)
    screen = best(lambda: select_features(packed, y, 1_000, rng), 15)
    yield "plain read of the packed features, p = 1,000,000, n = 1,000 (128 MB)", read, None
    yield "screen them and keep 1,000", screen, None
    yield "ratio of the two", screen / read, 3.0


MAPPED = r"""
import re, sys, time
import numpy as np
from thesiskit.estimators import NaiveBayesClassifier
X = np.load(sys.argv[1], mmap_mode="r")
started = time.perf_counter()
model = NaiveBayesClassifier(1000, random_state=0).fit(X[:1000], np.arange(1000) % 2)
p = model.predict_proba(X[1000:])
seconds = time.perf_counter() - started
# VmHWM: the peak of this process alone; getrusage would count the parent's before exec
print(seconds, int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e6)
"""


def mapped_rows():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        rng = np.random.default_rng(3)
        table = np.lib.format.open_memmap(path, "w+", np.uint8, (1_100, 1_000_000))
        for row in table:
            row[:] = rng.integers(0, 2, size=len(row), dtype=np.uint8)
        del table
        done = subprocess.run(
            [sys.executable, "-c", MAPPED, str(path)], capture_output=True, text=True, check=True
        )
    seconds, gigabytes = map(float, done.stdout.split())
    yield "memory-mapped, p = 1,000,000, n = 1,000, k = 1,000, fit, predict 100", seconds, 20.0
    yield "the same, resident memory (GB)", gigabytes, 1.0


def colon_rows():
    try:
        published.colon()
    except DataError:
        print("colon: skipped, the data are not here", file=sys.stderr)
        return
    path = ROOT / "configs" / "chapter2" / "colon.yaml"
    config = load_config(path, settings=("replicates=1", "report.parts=[methods]"))
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(config, Results(Path(folder), "colon"), path.parent)
        experiment.run("simulate", watch=lambda items, *_: items)

        def work():
            for stage in ("select", "fit", "predict"):
                experiment.run(stage, watch=lambda items, *_: items, force=True)

        yield "colon, 10 groups x 62 folds, both methods, select to predict", best(work, 5), 1.5


def mixture_data(k, seed=1, n=100, ties="as-printed"):
    """Simulate the thesis's mixture, n training samples per component: target, truth, test data."""
    rng = np.random.default_rng([5, seed])
    drawn = draw_mixture(
        rng, features=10_000, alpha=300.0, response=(0.1, 0.9), train=(n, n), test=(1_000, 1_000)
    )
    X, y = drawn.train.features, drawn.train.response
    found = select_features(X, y, k, rng, ties=ties)
    return found, X[:, found.selected], y, drawn.test.features[:, found.selected]


def mixture_target(k, correct, settings, data=None):
    found, X, y, _ = data or mixture_data(k)
    return mixture.MixtureTarget(X, y, settings, found.left_out if correct else None)


def sampled(target, seed=1):
    """Run the chains with tables of their own; return seconds and draws."""
    chains.threads.cache_clear()  # new threads, new tables
    generators = np.random.default_rng(seed).spawn(target.settings.chains)
    started = time.perf_counter()
    draws = mixture.sample(target, generators)
    return time.perf_counter() - started, draws


def sweep_seconds(target, sweeps=200):
    """Seconds for one sweep of labels once tables are there."""
    chain = mixture.MixtureChain(target, np.random.default_rng(1), "responses")
    chain.advance(50)
    tables = mixture.SHARED.get(target.n, target.settings.alpha)
    sampler = mixture.collapsed(target, tables, None, chain.labels, chain.point, chain.holder)
    capsule = chain.rng.bit_generator.capsule
    seconds = []
    for _ in range(sweeps):
        started = time.perf_counter()
        sampler.sweep_labels(0, capsule)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))  # a sweep that meets a new size fills its tables


TABLE = r"""
import re, sys, time
from fractions import Fraction
from thesiskit.models.selection import LOT, WITHIN, LeftOut
from thesiskit.models.mixture import Mixture, Tables
peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e3
before = peak()
started = time.perf_counter()
tables = Tables(200, Mixture().alpha, block_bytes=1 << 22)
counts = {LOT: 1_000_000} if "lot" in sys.argv else {WITHIN: 1}
tables.discards((100, 100), LeftOut.of(counts, (100, 100), Fraction(1, 25), 5)).fill_all()
print(time.perf_counter() - started, peak() - before)
"""


def mixture_rows():
    thesis = mixture.Mixture(sampler="gibbs")
    plain = min(sampled(mixture_target(1_000, False, thesis))[0] for _ in range(3))
    yield "mixture: thesis sampler, 50 iterations, uncorrected, k = 1,000", plain, 2.0
    for k in (100, 1_000):
        data = mixture_data(k)
        for name in ("gibbs", "approximate", "collapsed"):
            settings = mixture.Mixture(sampler=name)
            one, other = (
                min(sampled(mixture_target(k, correct, settings, data))[0] for _ in range(2))
                for correct in (True, False)
            )
            yield f"mixture: {name}, k = {k:,}, uncorrected (s)", other, None
            yield f"mixture: {name}, k = {k:,}, corrected over uncorrected", one / other, 1.3
    settings = mixture.Mixture()
    one, other = (
        min(sampled(mixture_target(100, True, settings, data))[0] for _ in range(2))
        for data in (mixture_data(100, ties="exact"), mixture_data(100))
    )
    yield "mixture: collapsed, k = 100, ties counted over not counted", one / other, 1.3
    for name, lot in (("", ()), (", lots drawn among 1,000,000", ("lot",))):
        command = [sys.executable, "-c", TABLE, *lot]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, megabytes = map(float, done.stdout.split())
        yield f"mixture: the whole adjustment table, n = 200, 200 alphas{name}", seconds, 5.0
        yield "the same, memory (MB)", megabytes, 100.0
    collapsed = mixture.Mixture()
    yield (
        "mixture: collapsed, one label sweep, k = 1,000 (ms)",
        1e3 * sweep_seconds(mixture_target(1_000, False, collapsed)),
        2.0,
    )
    data = mixture_data(10_000)
    complete = mixture_target(10_000, False, collapsed, data)
    yield "the same, complete data (ms)", 1e3 * sweep_seconds(complete), 25.0
    seconds, draws = sampled(complete)
    started = time.perf_counter()
    complete.predict(draws.flat, data[3])
    seconds += time.perf_counter() - started
    found = mixture.diagnose(complete, draws)
    yield "mixture: complete data, four chains, and 2,000 predictions (s)", seconds, 60.0
    yield "the same, largest R-hat", float(found.rhat.max()), 1.01


def mode_rows():
    """Chains that start in a mode that single-site updates do not leave: all genes of colon."""
    try:
        table = published.colon()
    except DataError:
        print("modes: skipped, the data are not here", file=sys.stderr)
        return
    X = PackedFeatures.pack(table.features).unpack(np.arange(table.features.shape[1]))
    for replicas in (1, 4, 8, 16):
        settings = mixture.Mixture(replicas=replicas, iterations=200, burn_in=100)
        target = mixture.MixtureTarget(X, table.response, settings)
        ends = []
        started = time.perf_counter()
        for seed in range(8):
            chain = mixture.MixtureChain(target, np.random.default_rng(seed), "responses")
            ends.append(chain.advance(200)["log_posterior"][-50:].mean())
        seconds = (time.perf_counter() - started) / 8
        away = np.sum(np.array(ends) > -87_000)
        yield f"modes: {replicas} replicas, of 8 chains started at the responses, left", away, None
        yield "the same, seconds for a chain of 200 iterations", seconds, None


def mixture_growth():
    """Milliseconds of a label sweep, and seconds of a default fit, by k and by n."""
    rows = []
    for k in (1, 10, 100, 1_000, 10_000):
        data = mixture_data(k)
        row = {"varied": "k, features kept (n = 200)", "value": k}
        rows.append(row | _costs(k, data))
    for half in (12, 25, 50, 100, 150):
        data = mixture_data(100, n=half)
        row = {"varied": "n, training samples (k = 100)", "value": 2 * half}
        rows.append(row | _costs(100, data))
    return pd.DataFrame(rows)


def _costs(k, data):
    settings = mixture.Mixture()
    costs = {"sweep": 1e3 * sweep_seconds(mixture_target(k, False, settings, data))}
    for name, correct in (("corrected", True), ("uncorrected", False)):
        costs[name] = sampled(mixture_target(k, correct, settings, data))[0]
    return costs


def draw_mixture_growth(frame):
    figure, axes = canvas(1, 4, width=11, height=2.9)
    for i, (name, part) in enumerate(frame.groupby("varied", sort=False)):
        sweep, fit = axes[0, 2 * i], axes[0, 2 * i + 1]
        sweep.loglog(part.value, part.sweep, "-o", color=INK, markersize=4)
        sweep.set_ylabel("milliseconds, label sweep")
        for method, style in (("corrected", "--o"), ("uncorrected", ":s")):
            fit.loglog(part.value, part[method], style, color=INK, markersize=4, label=method)
        fit.set_ylabel("seconds, four chains")
        fit.legend(frameon=False, fontsize=8)
        for axis in (sweep, fit):
            axis.set_xlabel(name)
            axis.set_xticks(part.value, [f"{x:,}" for x in part.value], fontsize=8)
            axis.minorticks_off()
    return figure


def help_rows():
    command = [sys.executable, "-m", "thesiskit", "--help"]
    run = lambda: subprocess.run(command, capture_output=True, check=True)  # noqa: E731
    yield "thesiskit --help", best(run, 7), 0.3


def growth():
    """Seconds by each size, the others at n = 200, p = 10,000, k = 1,000, K = 30, T = 2,000."""
    rows = []

    def add(name, value, data, k=1_000, points=30):
        rows.append({"varied": name, "value": value,
                     "seconds": best(fit_and_predict(data, k, points), 3)})  # fmt: skip

    for n in (50, 100, 200, 400, 600, 800, 1_600, 3_200):
        add("n, training samples", n, simulated(n=n))
    for p in (1_000, 3_000, 10_000, 30_000, 100_000):
        add("p, features", p, simulated(p=p))
    data = simulated()
    for k in (1, 10, 100, 1_000, 10_000):
        add("k, features kept", k, data, k=k)
    for points in (10, 30, 100, 300):
        add("K, points for alpha", points, data, points=points)
    for tests in (20, 200, 2_000, 20_000):
        add("test samples", tests, simulated(tests=tests))
    return pd.DataFrame(rows)


def draw(frame):
    figure, axes = canvas(1, 5, width=12, height=2.9, sharey=True)
    for (name, part), axis in zip(frame.groupby("varied", sort=False), axes.flat, strict=True):
        axis.loglog(part.value, part.seconds, "-o", color=INK, markersize=4)
        axis.set_xlabel(name)
    axes[0, 0].set_ylabel("seconds, fit and predict")
    return figure


PARTS = {
    "naive": (naive_rows, screening_rows, mapped_rows, colon_rows, help_rows),
    "normal": (normal.rows, normal.mapped_rows),
    "mixture": (mixture_rows, mode_rows),
    "logistic": (sequences.rows,),
    "features": (features.rows,),
    "interactions": (interactions.rows,),
    "batch": (batch.rows,),
}
GROWTH = {
    "naive": [("growth", growth, draw)],
    "mixture": [("mixture-growth", mixture_growth, draw_mixture_growth)],
    "logistic": [
        ("logistic-growth", sequences.growth, sequences.draw_growth),
        ("logistic-effective", sequences.effective_growth, sequences.draw_effective_growth),
    ],
    "features": [("features-growth", features.growth, features.draw_growth)],
    "batch": [("batch-growth", batch.growth, batch.draw_growth)],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results/bench"))
    parser.add_argument("--only", choices=PARTS, action="append", help="of these models; all")
    arguments = parser.parse_args()
    folder, wanted = arguments.results, arguments.only or list(PARTS)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core
    rows = []
    for part in (part for name in wanted for part in PARTS[name]):
        for work, measured, target in part():
            rows.append({"work": work, "measured": measured, "target": target})
            verdict = "" if target is None else "met" if measured <= target else "MISSED"
            print(f"{work:75s} {measured:9.4f}  {'' if target is None else target:>6}  {verdict}")
    write_text(folder / "bench.csv", pd.DataFrame(rows).to_csv(index=False))
    for name, measure, figure in (one for part in wanted for one in GROWTH.get(part, [])):
        frame = measure()
        write_text(folder / f"{name}.csv", frame.to_csv(index=False))
        for kind in ("png", "pdf"):
            figure(frame).savefig(folder / f"{name}.{kind}", dpi=150)
    print(f"written to {folder}: bench.csv, and how costs grow as .csv, .png and .pdf")


if __name__ == "__main__":
    main()
