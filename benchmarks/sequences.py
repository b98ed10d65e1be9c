"""Speed and memory of logistic sequence models; run by bench.py."""

import importlib.util
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from thesiskit.datasets.sequences import draw_hidden_markov
from thesiskit.models import logistic
from thesiskit.models.chains import compare_chains
from thesiskit.models.patterns import compress_sequences
from thesiskit.report.layout import INK, canvas

ARROWS = ((2, 3), (3, 8), (8, 6), (6, 4), (4, 2), (1, 5), (5, 7), (7, 1))


def hidden_markov(samples, history=20, seed=1, classes=2):
    """The sequences of configs/chapter3/hmm.yaml, or with more observable states."""
    transition = np.full((8, 8), 0.05 / 7)
    for a, b in ARROWS:
        transition[a - 1, b - 1] = 0.95
    emission = np.full((8, classes), 0.05 / (classes - 1))
    emission[np.arange(8), np.arange(1, 9) % classes] = 0.95
    rng = np.random.default_rng(seed)
    return draw_hidden_markov(
        rng, transition=transition, emission=emission, length=history, samples=samples
    )


def model(drawn, order, samples=500, classes=2, **options):
    groups = compress_sequences(drawn.histories[:samples], order)
    settings = logistic.Logistic(**options)
    return logistic.LogisticTarget(groups, drawn.response[:samples], classes, settings)


def iteration_seconds(one, warm=200, iterations=400, repeats=5):
    """Seconds of an iteration of a chain that has settled: the best of several runs."""
    chain = logistic.Chain(one, np.random.default_rng(2))
    chain.advance(warm)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        chain.advance(iterations)
        times.append((time.perf_counter() - started) / iterations)
    return min(times)


COMPRESSION = r"""
import re, time
import numpy as np
from thesiskit.models.patterns import compress_sequences
rng = np.random.default_rng(1)
text = np.empty(1_001_000, dtype=np.int32)
text[:2] = 0
step = rng.random(len(text))
for t in range(2, len(text)):  # a chain of order 2 with a vowel-and-consonant rhythm
    p = (0.6, 0.3) if text[t - 1] == 1 else (0.2, 0.6) if text[t - 2] == 1 else (0.1, 0.8)
    text[t] = 0 if step[t] < p[0] else 1 if step[t] < p[0] + p[1] else 2
X = np.lib.stride_tricks.sliding_window_view(text, 1_001)[:1_000_000]
started = time.perf_counter()
groups = compress_sequences(X, "all")
seconds = time.perf_counter() - started
peak = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1e6
print(seconds, peak, groups.n_groups)
"""


def compression_rows():
    done = subprocess.run(
        [sys.executable, "-c", COMPRESSION], capture_output=True, text=True, check=True
    )
    seconds, gigabytes, _ = map(float, done.stdout.split())
    yield "sequences: compression, N = 1,000,000 text states, order all (1,001)", seconds, 5.0
    yield "the same, resident memory (GB)", gigabytes, 1.0


def sampling_rows():
    drawn = hidden_markov(5_500)
    for order, prior, target in (
        (20, "cauchy", 1.0), (20, "gaussian", 0.8), (5, "cauchy", 0.15), (5, "gaussian", 0.15),
    ):  # fmt: skip
        name = f"sequences: HMM, N = 500, order {order}, {prior}, one iteration (ms)"
        for joint, words in ((0, name), (1, "the same with joint updates")):
            one = model(drawn, order, prior=prior, joint_updates=joint)
            yield words, 1e3 * iteration_seconds(one), target


def prediction_rows():
    drawn = hidden_markov(5_500)
    for order, target in ((20, 0.4), (5, 0.1)):
        one = model(drawn, order)
        coefficient, log_sigma = logistic.sample(one, [np.random.default_rng(1)]).flat
        times = []
        for _ in range(5):
            started = time.perf_counter()
            shared = one.groups.shared(drawn.histories[500:])
            rng = np.random.default_rng(3)
            logistic.predict(coefficient, log_sigma, shared, 2, cauchy=True, rng=rng)
            times.append(time.perf_counter() - started)
        yield f"sequences: prediction, 5,000 samples, 250 draws, order {order}", min(times), target


def effective(one, seed=4):
    """Effective draws of each log sigma in a second: one chain, the first tenth dropped."""
    chain, drop = logistic.Chain(one, np.random.default_rng(seed)), one.settings.burn_in
    started = time.perf_counter()
    draws = chain.advance(one.settings.iterations)
    seconds = time.perf_counter() - started
    return compare_chains(draws["log_sigma"][None, drop:, 1:])[1] / seconds


def effective_rows():
    """Effective draws a second, of 10,000 iterations (1,000 of 5,000 samples)."""
    for samples, iterations in ((500, 10_000), (5_000, 1_000)):
        drawn = hidden_markov(samples)
        for prior in ("cauchy", "gaussian"):
            options = {"prior": prior, "iterations": iterations, "burn_in": iterations // 10}
            ess, without = (
                effective(model(drawn, 20, samples, joint_updates=joint, **options))
                for joint in (1, 0)
            )
            words = f"sequences: HMM, N = {samples:,}, order 20, {prior}, effective draws a second"
            yield f"{words}, worst sigma", float(ess.min()), None
            yield "the same, median over sigmas", float(np.median(ess)), None
            yield "the worst without joint updates over it", float(without.min() / ess.min()), None
            if samples == 500:
                yield from nuts_rows(prior)


def nuts_rows(prior):
    if importlib.util.find_spec("numpyro") is None:
        print("NUTS: skipped, numpyro is not here", file=sys.stderr)
        return
    found = subprocess.run(
        [sys.executable, "-c", NUTS, prior], capture_output=True, text=True, check=True
    )
    worst, middle = map(float, found.stdout.split()[-2:])
    yield "the same by NumPyro's NUTS, 500 + 1,000 draws, worst sigma", worst, None
    yield "the same, median over sigmas", middle, None


# The same posterior, not centred: Cauchy coefficients are tangents of normal ones, which mixed best
# of five parameterisations tried.  Compilation is left out of the seconds.
NUTS = r"""
import sys, time
sys.path.insert(0, "benchmarks")
import numpy as np
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
from arviz_stats.base import array_stats
from sequences import hidden_markov, model
one = model(hidden_markov(500), 20, prior=sys.argv[1])
groups, cauchy = one.groups, sys.argv[1] == "cauchy"
A = np.zeros((groups.n_rows, groups.n_groups))
for g in range(groups.n_groups):
    A[groups.members[groups.begin[g] : groups.end[g]], g] = 1
kinds, rate = groups.kinds[groups.kind].astype(float), one.settings.rates(groups.order)[1:]
n, y = one.samples.sum(axis=1), one.samples[:, 1]
def density():
    x = numpyro.sample("x", dist.ImproperUniform(dist.constraints.real_vector, (), (groups.order,)))
    numpyro.factor("prior", jnp.sum(-0.25 * x - rate * jnp.exp(-x)))  # of x = log sigma
    sigma = jnp.concatenate([jnp.array([one.settings.sigma_0]), jnp.exp(x)])
    z = numpyro.sample("z", dist.Normal(0, 1).expand([groups.n_groups]))
    if cauchy:
        s = (kinds @ sigma) * jnp.tan(jnp.pi * (jax.scipy.stats.norm.cdf(z) - 0.5))
    else:
        s = jnp.sqrt(kinds @ sigma**2) * z
    eta = A @ s
    numpyro.factor("data", jnp.sum(y * eta - n * jax.nn.softplus(eta)))
kernel = NUTS(density, init_strategy=numpyro.infer.init_to_uniform(radius=1.0))
mcmc = MCMC(kernel, num_warmup=500, num_samples=1000, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0))  # compiles
first = time.perf_counter()
mcmc.run(jax.random.PRNGKey(1))
x = np.asarray(mcmc.get_samples(group_by_chain=True)["x"])
seconds = time.perf_counter() - first
ess = array_stats.ess(x, chain_axis=0, draw_axis=1) / seconds
print(ess.min(), np.median(ess))
"""


def rows():
    yield from compression_rows()
    yield from sampling_rows()
    yield from prediction_rows()
    yield from effective_rows()


def growth():
    """Milliseconds of an iteration, by samples, order and classes, and the size of expressions."""
    found = []

    def add(varied, value, one):
        size = int((one.groups.end - one.groups.begin).sum()) * one.sets
        found.append({"varied": varied, "value": value, "size": size,
                      "milliseconds": 1e3 * iteration_seconds(one, 20, 30, 3)})  # fmt: skip

    many = hidden_markov(64_000)
    for samples in (125, 500, 2_000, 8_000, 32_000):
        add("N, training samples (order 20)", samples, model(many, 20, samples, joint_updates=0))
    long = hidden_markov(500, history=160)
    for order in (2, 5, 10, 20, 40, 80, 160):
        add("order (N = 500)", order, model(long, order, joint_updates=0))
    for classes in (2, 3, 4, 8):
        drawn = hidden_markov(500, classes=classes)
        add("classes (N = 500, order 20)", classes,
            model(drawn, 20, classes=classes, joint_updates=0))  # fmt: skip
    return pd.DataFrame(found)


def draw_growth(frame):
    figure, axes = canvas(1, 4, width=11, height=2.9)
    parts = [(name, part, "value") for name, part in frame.groupby("varied", sort=False)]
    parts.append(("size of all expressions, times sets", frame, "size"))
    for (name, part, column), axis in zip(parts, axes.flat, strict=True):
        line = "o" if column == "size" else "-o"
        axis.loglog(part[column], part.milliseconds, line, color=INK, markersize=4)
        axis.set_xlabel(name, fontsize=9)
        if name.startswith("classes"):
            axis.set_xticks(part.value, [str(one) for one in part.value])
            axis.set_yticks([0.5, 1, 2], ["0.5", "1", "2"])
            axis.minorticks_off()
    x = np.sort(frame["size"])
    slope = np.median(frame.milliseconds / frame["size"])
    axes[0, 3].loglog(x, slope * x, ":", color=INK, linewidth=0.8)
    axes[0, 0].set_ylabel("milliseconds an iteration")
    return figure


def effective_growth():
    """Effective draws a second of the worst sigma, by samples and by order."""
    found = []

    def add(varied, value, drawn, samples, order):
        for prior in ("gaussian", "cauchy"):
            for joint in (1, 0):
                iterations = int(np.clip(3_000_000 / samples, 400, 4000))
                one = model(drawn, order, samples, prior=prior, joint_updates=joint,
                            iterations=iterations, burn_in=iterations // 10)  # fmt: skip
                found.append({"varied": varied, "value": value, "prior": prior, "joint": joint,
                              "effective": effective(one).min()})  # fmt: skip

    many = hidden_markov(8_000)
    for samples in (125, 500, 2_000, 8_000):
        add("N, training samples (order 20)", samples, many, samples, 20)
    long = hidden_markov(500, history=40)
    for order in (2, 5, 10, 20, 40):
        add("order (N = 500)", order, long, 500, order)
    return pd.DataFrame(found)


def draw_effective_growth(frame):
    figure, axes = canvas(1, 2, width=8, height=3.2)
    parts = frame.groupby("varied", sort=False)
    for (name, part), axis in zip(parts, axes.flat, strict=True):
        for (prior, joint), line in part.groupby(["prior", "joint"], sort=False):
            style = ("o" if prior == "gaussian" else "s") + ("-" if joint else ":")
            words = f"{prior.capitalize()}, joint updates: {joint}"
            axis.loglog(line.value, line.effective, style, color=INK, markersize=4, label=words)
        axis.set_xlabel(name, fontsize=9)
        values = part.value.unique()
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.xaxis.minorticks_off()
    axes.flat[0].set_ylabel("effective draws a second, worst sigma", fontsize=9)
    axes.flat[1].legend(fontsize=7, loc="lower left")
    return figure
