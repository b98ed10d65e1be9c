"""Speed and memory of screening all patterns of two and three features; run by bench.py."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from thesiskit._kernels.interactions import FORMS

from thesiskit.pairs.interactions import Run, select_patterns
from thesiskit.pairs.planes import Planes


def genotypes(n, p, missing=0.0):
    """Genotypes of independent loci in Hardy-Weinberg proportions, and a response."""
    rng = np.random.default_rng(1)
    frequency = rng.uniform(0.1, 0.5, p)
    codes = np.empty((n, p), dtype=np.int8)
    for row in codes:
        row[:] = rng.binomial(2, frequency)
        if missing:
            row[rng.random(p) < missing] = -1
    return codes, np.arange(n) % 2


def seconds(codes, y, order, k=1_000, repeats=2, **options):
    run, times = Run(threads=1, form=options.pop("form", -1)), []
    for _ in range(repeats):
        started = time.process_time()
        planes = Planes.pack(codes, y)
        select_patterns(planes, k, np.random.default_rng(1), order=order, run=run, **options)
        times.append(time.process_time() - started)
    return min(times)


def plink_seconds(codes, y):
    """Processor seconds of plink 1.9 for its fastest test of all pairs, with one thread."""
    n, p = codes.shape
    bits = np.array([0b11, 0b10, 0b00], dtype=np.uint8)[codes]  # a .bed has two bits for a genotype
    padded = np.zeros((p, -(-n // 4) * 4), dtype=np.uint8)
    padded[:, :n] = bits.T
    packed = (padded.reshape(p, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2)
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder, "x")
        stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.astype(np.uint8).tobytes())
        people = (f"c{i} c{i} 0 0 0 {1 + c}\n" for i, c in enumerate(y))
        stem.with_suffix(".fam").write_text("".join(people))
        loci = (f"{1 + 22 * j // p} l{j} 0 {j + 1} A C\n" for j in range(p))
        stem.with_suffix(".bim").write_text("".join(loci))
        command = ["plink1.9", "--bfile", stem, "--fast-epistasis", "boost", "--threads", "1",
                   "--epi1", "1e-6", "--allow-no-sex", "--out", Path(folder, "out")]  # fmt: skip
        started = os.times()
        subprocess.run(command, check=True, capture_output=True)
        ended = os.times()  # other work on the machine does not count
        return ended.children_user + ended.children_system - sum(started[2:4])


LARGE = r"""
import re, sys
sys.path[:0] = [sys.argv[1]]
from interactions import *
from thesiskit.pairs.interactions import forecast
peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e6
codes, y = genotypes(2_000, 100_000)
before = peak()
planes = Planes.pack(codes, y)
_, whole = forecast(planes, 2, Run(threads=2))
class Enough(Exception): pass
def watch(done, total, state):
    if done > 0.03 * total:
        raise Enough
try:
    select_patterns(planes, 1_000, np.random.default_rng(1), run=Run(threads=1, watch=watch))
except Enough:
    pass
print(whole / 60, peak() - before - planes.words.nbytes / 1e9)
"""


def rows():
    pairs, triples = genotypes(1_000, 10_000), genotypes(1_000, 500)
    theirs = plink_seconds(*pairs) if shutil.which("plink1.9") else None
    if theirs is None:
        print("plink: skipped, plink1.9 is not here", file=sys.stderr)
    else:
        yield "plink 1.9, --fast-epistasis boost, 10,000 loci, 1,000 samples", theirs, None
    for form, name in enumerate(FORMS):
        ours = seconds(*pairs, 2, form=form)
        yield f"all patterns of two of 10,000 loci, 1,000 samples, {name}", ours, None
        if theirs is not None:
            target = 0.5 if name == "avx512" else 1.0
            yield "the same, over plink", ours / theirs, target
    yield "the same, each locus once, k = 100", seconds(*pairs, 2, k=100, disjoint=True), None
    some = genotypes(1_000, 10_000, 0.05)
    yield "the same, k = 1,000, 5 of 100 genotypes missing", seconds(*some, 2), None
    yield "all patterns of three of 500 loci, 1,000 samples", seconds(*triples, 3), 120.0
    command = [sys.executable, "-c", LARGE, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    minutes, gigabytes = map(float, done.stdout.split())
    yield "100,000 loci, 2,000 samples, two threads, forecast (minutes)", minutes, 30.0
    yield (
        "the same, memory besides table and bits, of the first 3 of 100 parts (GB)",
        gigabytes,
        1.0,
    )
