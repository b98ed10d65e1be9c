"""Mixing of all orders beside other models of sequences: log loss, calibration, time and memory.

    python benchmarks/mixing.py TEXT [RIVALS]

TEXT is a long text, such as the output of `bible gen1:1-rev22:21` (package bible-kjv of Debian), of
which the first states train and the next 100,000 are tested.  RIVALS is a Python that has vlmc
and pyppmd, which nothing else needs.  Writes docs/evidence/mixing.csv, mixing-bins.csv.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sequences import hidden_markov

from thesiskit.datasets.sequences import draw_hidden_markov, encode_text, shipped_text
from thesiskit.models import mixing, peers
from thesiskit.models.peers import Task

EVIDENCE = Path(__file__).parents[1] / "docs/evidence"
LETTERS = {letter: letter for letter in "abcdefghijklmnopqrstuvwxyz"} | {"_": None}
TESTS = 100_000
# vlmc is fitted to the sequence once; PPMd goes on learning from the tests, of which it has the
# code length after the training states
RIVALS = """
import json, math, sys, time
import numpy as np
codes, n, order, symbols = np.load(sys.argv[1]), *map(int, sys.argv[2:5])
train, tests = codes[:n].tolist(), codes[n:].tolist()
found = {}
from vlmc import VLMC
started = time.process_time()
model = VLMC(alphabet_size=symbols, max_depth=order)
model.fit([train])
seconds = time.process_time() - started
p = [model.predict_proba(codes[max(0, n + t - order) : n + t].tolist()) for t in range(len(tests))]
found["vlmc"] = [-float(np.mean([math.log(q[y]) for q, y in zip(p, tests)])), seconds]
import pyppmd
def length(states):
    encoder = pyppmd.Ppmd7Encoder(min(order, 64), 1 << 28)
    return len(encoder.encode(bytes(states)) + encoder.flush())
started = time.process_time()
bits = 8 * (length(train + tests) - length(train))
seconds = time.process_time() - started
found["PPMd, which learns from the tests"] = [bits * math.log(2) / len(tests), seconds]
print(json.dumps(found))
"""


def windows(codes, order, n, tests=TESTS):
    """Return histories and responses of the training samples and of the tests after them."""
    X = np.lib.stride_tricks.sliding_window_view(codes, order)[:-1]
    y = codes[order:]
    return X[:n], y[:n], X[n : n + tests], y[n : n + tests]


def data_sets(text):
    """Yield what each is called, its order, numbers of states and classes, and its samples."""
    shipped = np.ascontiguousarray(shipped_text()[0], dtype=np.int32)
    yield "shipped text, three symbols", 10, 3, 3, windows(shipped, 10, 1_000)
    three, letters = (encode_text(text, *states)[0] for states in ((), (LETTERS,)))
    for n, order in ((8_000, 16), (100_000, 16), (1_000_000, 24)):
        yield "King James Bible, three symbols", order, 3, 3, windows(three, order, n)
    for n, order in ((100_000, 12), (1_000_000, 16)):
        yield "King James Bible, 27 symbols", order, 27, 27, windows(letters, order, n)
    stay = np.full((5, 5), 0.02) + 0.9 * np.eye(5)
    bases = np.random.default_rng(6).dirichlet(np.ones(3), 5)
    drawn = draw_hidden_markov(
        np.random.default_rng(7), transition=stay, emission=bases, length=1_000, samples=10_101
    )
    many = drawn.histories.ravel()[: 10_000_000 + 24 + TESTS]  # sequences of a thousand, joined
    yield "hidden Markov model, three symbols", 24, 3, 3, windows(many, 24, 10_000_000)
    for n in (200, 500, 10_000):
        drawn = hidden_markov(n + 5_000)
        parts = drawn.histories[:n], drawn.response[:n], drawn.histories[n:], drawn.response[n:]
        yield "hidden Markov model, eight states", 20, 2, 2, parts
    rng = np.random.default_rng(5)
    stay = np.full((4, 4), 0.02) + 0.92 * np.eye(4)  # kinds of regions
    bases = rng.dirichlet(np.full(4, 1.5), 4)
    drawn = draw_hidden_markov(rng, transition=stay, emission=bases, length=120_012, samples=1)
    codes = np.ascontiguousarray(drawn.histories[0], dtype=np.int32)
    yield "DNA, drawn in four kinds of regions", 12, 4, 4, windows(codes, 12, 100_000, 20_000)
    X = rng.integers(0, 4, (8_000, 20)).astype(np.int32)
    motif = (X[:, -1] == X[:, -3]) ^ (rng.random(8_000) < 0.15)
    y = motif.astype(np.int32)
    yield "short sequences with a class each", 20, 4, 2, (X[:4000], y[:4000], X[4000:], y[4000:])


def scores(p, y):
    """Return the log loss, the observed error and the predicted error."""
    wrong = (p.argmax(axis=1) != y).mean()
    return -np.log(p[np.arange(len(y)), y]).mean(), wrong, 1 - p.max(axis=1).mean()


def bins(p, y):
    """Return the numbers, mean predicted probabilities and frequencies of bins of a tenth."""
    flat, happened = p.ravel(), np.eye(p.shape[1])[y].ravel()
    place = np.minimum((10 * flat).astype(int), 9)
    count = np.bincount(place, minlength=10)
    sums = [np.bincount(place, of, 10) / np.maximum(count, 1) for of in (flat, happened)]
    return count, *sums


def main():
    """Write the tables."""
    text = Path(sys.argv[1]).read_text(encoding="latin-1")
    rows, calibration = [], []
    for name, order, n_states, n_classes, (X, y, Z, z) in data_sets(text):
        n, about = len(X), {"data": name, "training samples": len(X)}

        def add(method, p=None, loss=None, seconds=None, memory=None, about=about, z=z):
            row = about | {"method": method, "log loss": loss}
            if p is not None:
                names = ("log loss", "observed error", "predicted error")
                row |= dict(zip(names, scores(p, z), strict=True))
            rows.append(row | {"seconds to fit": seconds, "bytes a sample": memory})
            print(rows[-1], flush=True)

        started = time.process_time()
        model = mixing.fit(X, y, order, n_states, n_classes)
        seconds, p = time.process_time() - started, model.predict(Z)
        memory = (model.arrays["nodes"].nbytes + model.arrays["entries"].nbytes) / n
        add(f"mixing, order {order}", p, seconds=seconds, memory=memory)
        for low, numbers in enumerate(zip(*bins(p, z), strict=True)):
            names = ("number", "mean predicted probability", "frequency")
            columns = dict(zip(names, numbers, strict=True))
            calibration.append(about | {"bin": f"{low / 10:.1f}-{low / 10 + 0.1:.1f}"} | columns)
        frequencies = np.bincount(y, minlength=n_classes) / n
        add("class frequencies", np.tile(frequencies, (len(z), 1)))
        if n <= 10_000:
            task = Task(peers.SEQUENCES, n_classes, values=n_states, order=min(order, 12))
            started = time.process_time()
            learnt = peers.fit("n-gram", task, X, y, 1)
            seconds = time.process_time() - started
            add("n-gram", peers.predict("n-gram", task, learnt, Z), seconds=seconds)
        if len(sys.argv) > 2 and X.strides[0] == X.strides[1] and n <= 1_000_000:
            codes = np.concatenate([y, z])
            path = Path(tempfile.mkdtemp()) / "codes.npy"
            np.save(path, codes)
            arguments = [str(path), str(n), str(order), str(n_states)]
            done = subprocess.run(
                [sys.argv[2], "-c", RIVALS, *arguments], capture_output=True, text=True, check=False
            )
            for method, (loss, seconds) in json.loads(done.stdout or "{}").items():
                add(method, loss=loss, seconds=seconds)
    print("peak resident GB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    formats = {"seconds to fit": "{:.2g}", "bytes a sample": "{:.0f}"}
    for found, path in ((rows, "mixing.csv"), (calibration, "mixing-bins.csv")):
        frame = pd.DataFrame(found)
        for name in frame.select_dtypes("float"):
            frame[name] = frame[name].map(formats.get(name, "{:.3f}").format, na_action="ignore")
        frame.to_csv(EVIDENCE / path, index=False)


if __name__ == "__main__":
    main()
