"""The logistic kernels: sums of logarithms, slices, sweeps one number at a time and on average.

The twins in reference_logistic.py spend random numbers in the kernel's order, so that a whole
chain can be compared number by number; what they prove of the algorithm, draws from the joint
distribution of parameters and data prove of the distribution.
"""

import json
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import partial
from itertools import pairwise, product
from math import fsum

import numpy as np
import pytest
import reference_logistic as twin
from cases import only
from logistic_samples import (
    LIGHT,
    MORE_REPLICATES,
    NAMES,
    REPLICATES,
    ArbitraryGroups,
    arbitrary,
    assert_unchanged,
    batch_test,
    coefficients_twice,
    design_of,
    groups_named,
    largest_z,
    midpoints,
    quantile,
    ranks,
    sequences,
    short,
    slow_moves,
    tiny,
    together_once,
    tree_once,
    widths_twice,
)  # fmt: skip
from reference_splitting import cauchy_split_cdf
from scipy import special, stats
from statistical import ALARM

from thesiskit._kernels import linear as kernel
from thesiskit._kernels import shims, splitting
from thesiskit.errors import UserError
from thesiskit.models import logistic
from thesiskit.models.patterns import compress_sequences

PRIORS = ("cauchy", "gaussian")
CLASSES = (2, 3)


# ---- sums of logarithms ----


def ulps(ours, exact: list[Decimal]) -> float:
    """The largest error in units of the last place of the exact values."""
    return max(
        abs(float((Decimal(float(a)) - b) / Decimal(float(np.spacing(abs(float(b)))))))
        for a, b in zip(ours, exact, strict=True)
    )


def test_logarithm(rng):
    x = np.concatenate([
        np.exp(rng.uniform(-700, 700, 600)), rng.uniform(0.5, 2, 600),
        1 + rng.normal(size=300) / 1e6,
        np.nextafter(1, [0, 2]), [2.2250738585072014e-308, 1.7976931348623157e308, 0.5, 2, 4],
        np.sqrt(0.5) * (1 + np.arange(-5, 6) * 2.0**-52),
        np.sqrt(2) * (1 + np.arange(-5, 6) * 2.0**-52),
    ])  # fmt: skip
    out = np.empty_like(x)
    shims.shim_log(x, out)
    with localcontext() as context:
        context.prec = 40
        assert ulps(out, [Decimal(float(v)).ln() for v in x]) < 1.5
    shims.shim_log(np.ones(1), out[:1])
    assert out[0] == 0


def test_exponential(rng):
    x = np.concatenate([
        -rng.uniform(0, 700, 900), -rng.uniform(0, 1, 300), -np.exp(rng.uniform(-40, 0, 100)),
        [0.0, -0.0, -700, -699.9999999, -np.log(2), -np.log(2) / 2],
    ])  # fmt: skip
    out = np.empty_like(x)
    shims.shim_exp(x, out)
    with localcontext() as context:
        context.prec = 40
        assert ulps(out, [Decimal(float(v)).exp() for v in x]) < 2
    shims.shim_exp(np.array([0.0, -700.0001, -800, -1e300, -np.inf]), out[:5])
    assert out[:5].tolist() == [1, 0, 0, 0, 0]


SIZES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 100, 999, 1000)
MAGNITUDES = (1e-9, 1e-3, 0.5, 1.1999, 1.2001, 5, 30, 74.9, 75.1, 300, 599.9, 600)


def probabilities(rng, size: int, kind: str):
    """p and q that add up to 1, each to its full precision."""
    x = {
        "any": lambda: rng.normal(size=size) * 3,
        "low": lambda: -rng.uniform(20, 690, size),
        "high": lambda: rng.uniform(20, 690, size),
        "both": lambda: rng.choice([-1, 1], size) * rng.uniform(0, 690, size),
    }[kind]()
    p, q = special.expit(x), special.expit(-x)
    if kind == "both" and size:
        place = rng.integers(0, 6, size)
        p, q = np.where(place == 0, 1.0, p), np.where(place == 0, 0.0, q)
        p, q = np.where(place == 1, 0.0, p), np.where(place == 1, 1.0, q)
        p, q = np.where(place == 2, 1e-300, p), np.where(place == 2, 1.0, q)
    return p, q


def log_of_mixture(p, q, magnitude):
    """log(q + p exp(-magnitude)), to full relative precision where p is small."""
    low = np.minimum(p, 0.5)
    return np.where(
        p < 0.5, np.log1p(low * np.expm1(-magnitude)), np.log(q + p * np.exp(-magnitude))
    )


@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("kind", ["any", "low", "high", "both"])
def test_logarithms_of_mixtures(rng, magnitude, kind):
    for size in SIZES:
        p, q = probabilities(rng, size, kind)
        terms = log_of_mixture(p, q, magnitude)
        slack = {"rel": 1e-14, "abs": 3e-16 * (size + 1)}
        t = float(np.exp(-magnitude))
        assert shims.shim_log_mixtures(p, q, t, magnitude) == pytest.approx(fsum(terms), **slack)
        n = rng.integers(1, 9, size).astype(float)
        slack = {"rel": 1e-14, "abs": 3e-15 * (size + 1)}
        assert shims.shim_log_weighted(p, q, n, t) == pytest.approx(fsum(n * terms), **slack)


def test_the_least_factors_do_not_underflow():
    for magnitude in MAGNITUDES:
        for size in SIZES:
            one, none = np.ones(size), np.zeros(size)
            t = float(np.exp(-magnitude))
            sums = shims.shim_log_mixtures(one, none, t, magnitude)
            assert sums == pytest.approx(-size * magnitude, rel=1e-13)
            assert shims.shim_log_mixtures(none, one, t, magnitude) == 0


@pytest.mark.parametrize("sigma", [1.9e-35, 1e-9, 0.3, 7.0, 1e20, 5e34])
@pytest.mark.parametrize("squares", ["zero", "usual", "wild", "largest"])
def test_logarithms_of_widths(rng, sigma, squares):
    for size in SIZES:
        s2 = np.zeros(size)
        if squares == "usual":
            s2 = rng.standard_cauchy(size) ** 2
        elif squares == "wild":
            s2 = np.exp(rng.uniform(-300, 345, size))
        elif squares == "largest":
            s2[:] = 1e150
        rest = rng.choice([0, 1e-30, 0.1, 5, 1e35], size)
        count = rng.choice([1.0, 2.0, 50.0], size)
        w = rest + count * sigma
        terms = np.log(w) - np.log(w * w + s2)
        ours = shims.shim_log_widths(rest, count, s2, sigma)
        assert ours == pytest.approx(fsum(terms), rel=1e-13, abs=1e-13 * (size + 1))
        terms = np.log(sigma**2 + s2)
        ours = shims.shim_log_shifted(s2, sigma**2)
        assert ours == pytest.approx(fsum(terms), rel=1e-13, abs=1e-13 * (size + 1))
        n, v = rng.integers(1, 500, size).astype(float), rest + count * sigma**2
        terms = n * np.log(v) + s2 / v
        ours = shims.shim_log_variances(rest, count, n, s2, sigma**2)
        assert ours == pytest.approx(fsum(terms), rel=1e-13, abs=1e-13 * (size + 1))


@pytest.mark.parametrize("spread", [0.0, 1.0, 40.0, 1000.0, 1e8])
def test_log_likelihood_of_rows(rng, spread):
    for size in SIZES[1:]:
        eta = rng.normal(size=size) * spread
        eta[0] = -800
        samples, others = rng.integers(0, 4, (2, size)).astype(float)
        n = samples + others
        terms = samples * eta - n * np.logaddexp(0, eta)
        slack = 1e-15 * size * (1000 + 10 * spread)  # the sum is of numbers as large as eta
        ours = shims.shim_log_binary(eta, samples, n)
        assert ours == pytest.approx(fsum(terms), rel=1e-13, abs=slack)


# ---- slices ----

BIMODAL = ((0.3, -4.0, 1.0), (0.7, 3.0, 0.5))
TARGETS = {
    "log-gamma": (
        lambda size, rng: np.log(rng.gamma(2, size=size)),
        lambda x: special.gammainc(2, np.exp(x)),
        lambda x: 2 * x - np.exp(x),
    ),
    "uniform": (
        lambda size, rng: rng.random(size), lambda x: np.clip(x, 0, 1),
        lambda x: 0.0 if 0 < x < 1 else -np.inf,
    ),
    "beta": (
        lambda size, rng: rng.beta(2, 0.5, size),
        lambda x: special.betainc(2, 0.5, np.clip(x, 0, 1)),
        lambda x: float(np.log(x) - np.log1p(-x) / 2) if 0 < x < 1 else -np.inf,
    ),
    "cauchy": (
        lambda size, rng: rng.standard_cauchy(size), stats.cauchy.cdf, lambda x: -np.log1p(x * x),
    ),
    "bimodal": (
        lambda size, rng: np.where(
            rng.random(size) < 0.3, rng.normal(-4, 1, size), rng.normal(3, 0.5, size)
        ),
        lambda x: sum(p * special.ndtr((x - m) / s) for p, m, s in BIMODAL),
        lambda x: np.log(sum(p / s * np.exp(-(((x - m) / s) ** 2) / 2) for p, m, s in BIMODAL)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("most_steps", [1, 3, 50])
@pytest.mark.parametrize("width", [0.1, 1, 20])
@pytest.mark.parametrize("target", TARGETS)
def test_slices_leave_the_target_as_it_is(target, width, most_steps):
    draw, cdf, _ = TARGETS[target]
    rng = np.random.default_rng([most_steps, int(10 * width), list(TARGETS).index(target)])
    x = draw(30_000, rng)
    if target == "beta":
        x = x[x < 1]  # its density is infinite there
    start = x.copy()
    shims.shim_slice_update(target, None, x, width, most_steps, 3, rng.bit_generator.capsule)
    assert (x != start).all()
    assert stats.kstest(x, cdf, method="asymp").pvalue > ALARM
    # and of those that start to the right of the median, as many leave as come
    right = cdf(start) > 0.5
    moves = (right & (cdf(x) <= 0.5)).sum(), (~right & (cdf(x) > 0.5)).sum()
    assert stats.binomtest(moves[0], max(1, sum(moves))).pvalue > ALARM


@pytest.mark.parametrize("most_steps", [1, 3, 50])
@pytest.mark.parametrize("width", [0.1, 1, 20])
@pytest.mark.parametrize("target", TARGETS)
def test_slices_number_by_number(target, width, most_steps):
    draw, _, log_density = TARGETS[target]
    start = draw(60, np.random.default_rng(1)) * 0.999
    ours, rng = start.copy(), np.random.default_rng(2)
    count = shims.shim_slice_update(
        target, None, ours, width, most_steps, 1, rng.bit_generator.capsule
    )
    after, again = rng.random(), np.random.default_rng(2)
    found = [twin.slice_update(log_density, x, width, most_steps, again) for x in start]
    np.testing.assert_allclose(ours, [x for x, _ in found], rtol=1e-12)
    assert count == sum(looked for _, looked in found)
    assert again.random() == after
    python, rng = start.copy(), np.random.default_rng(2)
    more = shims.shim_slice_update(
        "python", log_density, python, width, most_steps, 1, rng.bit_generator.capsule
    )
    np.testing.assert_allclose(python, ours, rtol=1e-12)
    assert more == count


# ---- models to try ----


def both(groups, response, n_classes, **options):
    """The model, and its twin."""
    model = logistic.LogisticTarget(groups, response, n_classes, logistic.Logistic(**options))
    settings = model.settings
    return model, twin.Posterior(
        design_of(groups), groups.patterns_per_order, np.asarray(response), n_classes,
        settings.cauchy, settings.sigma_shape, settings.sigma_mode,
    )  # fmt: skip


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", [*NAMES, "large"])
@pytest.mark.parametrize("sampled", [True, False])
def test_log_likelihood_and_prior(rng, prior, n_classes, name, sampled):
    """Equations eqn-softmax to eqn-softmax-class, eqn-dist-sg and eqn-post-sum."""
    groups = groups_named(name, rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    given = None if sampled else tuple(rng.uniform(0.1, 3, groups.order + 1))
    model, slow = both(groups, response, n_classes, prior=prior, sigma=given)
    for spread in (0.01, 1, 30, 1000, 1e5):
        coefficient = rng.standard_cauchy((model.sets, groups.n_groups)) * spread
        log_sigma = rng.normal(size=groups.order + 1) * 5
        chain = model.sampler(coefficient, log_sigma)
        exact = slow.log_likelihood(coefficient)
        assert chain.log_likelihood == pytest.approx(exact, rel=1e-11, abs=1e-11)
    # the log prior is known after an iteration
    out = np.empty((1, model.sets, groups.n_groups)), np.empty((1, groups.order + 1))
    info = np.empty((1, 4))
    coefficient, log_sigma = model.start(rng)
    chain = model.sampler(coefficient, log_sigma)
    chain.run(0, 1, 0, 1, 1, 1, *out, None, info, rng.bit_generator.capsule)
    assert (out[0][0] == coefficient).all()
    assert (out[1][0] == log_sigma).all()
    assert info[0, 0] == pytest.approx(slow.log_likelihood(coefficient), rel=1e-11)
    exact = slow.log_prior(coefficient, log_sigma, sampled)
    assert info[0, 1] == pytest.approx(exact, rel=1e-11)


def test_the_twin_itself():
    # densities integrate to 1, and the design is that of all patterns
    histories, response = np.array([[0, 1], [1, 1], [0, 0]]), np.array([0, 1, 1])
    for compressed in (True, False):
        design, counts = twin.dense(histories, 2, compressed=compressed)
        assert design.sum() == (8 if compressed else 9)
        slow = twin.Posterior(design, counts, response, 2, True, 2.0, 0.5)
        x = np.linspace(-12, 12, 4001)
        for o in (1, 2):
            density = np.exp([slow.log_sigma_prior(o, v) + v for v in x])
            assert density.sum() * (x[1] - x[0]) == pytest.approx(1, abs=1e-6)
        for cauchy, law in ((True, stats.cauchy), (False, stats.norm)):
            slow = replace(slow, cauchy=cauchy)
            x, log_sigma = np.linspace(-3, 900, len(counts)), np.array([0.3, -2.0, 1.1])
            exact = law.logpdf(x, scale=slow.scale(log_sigma)).sum()
            assert slow.log_coefficients(x, log_sigma) == pytest.approx(exact, rel=1e-13)
        exact = stats.invgamma(2.0, scale=0.7).logpdf(np.exp(-1.3))
        assert twin.log_inverse_gamma(-1.3, 2.0, 0.7) == pytest.approx(exact, rel=1e-13)
        total = 0.0
        for y in product((0, 1), repeat=3):
            slow = twin.with_response(slow, y)
            total += np.exp(slow.log_likelihood(np.linspace(-1, 2, len(counts))[None, :]))
        assert total == pytest.approx(1)
        ours = compress_sequences(histories, 2, compress=compressed)
        columns = sorted(map(tuple, np.vstack([design_of(ours), ours.patterns_per_order.T]).T))
        assert columns == sorted(map(tuple, np.vstack([design, counts.T]).T))


# ---- sweeps, number by number ----


def slow_iteration(slow, coefficient, log_sigma, settings, moves, rng):
    """One iteration of the twin; returns evaluations for coefficients and for widths."""
    most = settings.most_steps
    looked = twin.sweep_coefficients(slow, coefficient, log_sigma, settings.step, most, rng)
    more = sum(move(slow, coefficient, log_sigma, rng) for move in moves)
    for _ in range(settings.sigma_updates if settings.sigma is None else 0):
        more += twin.sweep_widths(
            slow, coefficient, log_sigma, settings.sigma_scale, settings.sigma_step, most, rng
        )
    return looked, more


def compare_chains(groups, response, n_classes, seed, start=None, **options):
    """Run the kernel's chain and the twin's with the same random numbers."""
    model, slow = both(groups, response, n_classes, burn_in=0, thin=1, **options)
    settings, rng = model.settings, np.random.default_rng(seed)
    chain = logistic.Chain(model, np.random.default_rng(seed))
    coefficient, log_sigma = model.start(rng)
    if start is not None:
        coefficient[:] = chain.place["coefficient"][:] = start[0]
        log_sigma[1:] = chain.place["log_sigma"][1:] = start[1][1:]
    moves = slow_moves(model)
    chain.kernel = short(model.sampler(**chain.place))
    ours = chain.advance(settings.iterations)
    for i in range(settings.iterations):
        looked = slow_iteration(slow, coefficient, log_sigma, settings, moves, rng)
        close = {"rtol": 1e-8, "atol": 1e-8}
        # rounding, which depends on the processor's exp, is relative to the largest coefficient:
        # a Cauchy chain has some beyond 1,000 beside others of 1
        rounding = max(1e-8, 1e-10 * np.abs(coefficient).max())
        found = ours["coefficient"][i]
        np.testing.assert_allclose(found, coefficient, rtol=1e-8, atol=rounding)
        np.testing.assert_allclose(ours["log_sigma"][i], log_sigma, **close)
        found = ours["info"][i]
        assert found[0] == pytest.approx(slow.log_likelihood(coefficient), rel=1e-8, abs=1e-9)
        sampled = settings.sigma is None
        exact = slow.log_prior(coefficient, log_sigma, sampled)
        assert found[1] == pytest.approx(exact, rel=1e-8, abs=1e-8)
        assert tuple(found[2:]) == looked
    assert chain.rng.random() == rng.random()


# each combination of one kind of groups, and of the others two that differ in all
MANY = list(product(NAMES, CLASSES, PRIORS, logistic.SCALES))
LESS = [case for case in MANY if case[0] == "compressed"
        or case[1:] in ((2, "cauchy", "natural"), (3, "gaussian", "log"))]  # fmt: skip


@pytest.mark.parametrize(("name", "n_classes", "prior", "scale"), only(MANY, *LESS))
def test_chains_number_by_number(name, n_classes, prior, scale):
    rng = np.random.default_rng([n_classes, NAMES.index(name)])
    groups = groups_named(name, rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    compare_chains(
        groups, response, n_classes, 11, prior=prior, sigma_scale=scale, sigma_updates=2,
        joint_updates=2, iterations=1 if name == "many samples" else 6,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "n_classes", "prior"),
    only(
        product(("compressed", "original", "features"), CLASSES, PRIORS),
        ("compressed", 2, "cauchy"), ("original", 3, "gaussian"), ("features", 3, "cauchy"),
    ),
)  # fmt: skip
def test_the_sampler_of_the_thesis_number_by_number(name, n_classes, prior):
    """Single slice updates, each sigma ten times on its own scale (section 3.4.4)."""
    rng = np.random.default_rng([4, n_classes, NAMES.index(name)])
    groups = groups_named(name, rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    compare_chains(
        groups, response, n_classes, 16, prior=prior, sigma_scale="natural", joint_updates=0,
        iterations=4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n_classes", "prior", "most_steps"),
    only(product((2, 4), PRIORS, (1, 3)), (2, "gaussian", 1), (4, "cauchy", 1), (4, "gaussian", 3)),
)
def test_chains_of_few_steps_and_other_settings(n_classes, prior, most_steps):
    rng = np.random.default_rng(n_classes)
    groups = arbitrary(rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    options = {
        "prior": prior, "most_steps": most_steps, "sigma_0": 2.0, "sigma_shape": 3.0,
        "sigma_mode": 0.7,
    }  # fmt: skip
    compare_chains(
        groups, response, n_classes, 12, step=0.7, sigma_step=0.4, iterations=5, **options
    )
    sigma = tuple(rng.uniform(0.2, 2, groups.order + 1))
    compare_chains(groups, response, n_classes, 13, sigma=sigma, iterations=5, **options)


@pytest.mark.parametrize(
    ("name", "n_classes", "prior"),
    only(
        product(("compressed", "arbitrary", "arbitrary plain"), CLASSES, PRIORS),
        ("compressed", 2, "gaussian"), ("compressed", 3, "cauchy"), ("arbitrary", 2, "cauchy"),
        ("arbitrary plain", 3, "gaussian"),
    ),
)  # fmt: skip
def test_chains_of_very_large_coefficients(name, n_classes, prior):
    # steps of several hundred, so that exp(-d) and probabilities underflow
    rng = np.random.default_rng([3, n_classes])
    groups = groups_named(name, rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    for wide in (150.0, 3000.0):
        sigma = tuple([wide] * (groups.order + 1))
        compare_chains(
            groups, response, n_classes, 14, prior=prior, sigma=sigma, step=wide / 3, iterations=5
        )
        model, _ = both(groups, response, n_classes)
        size = (model.sets, groups.n_groups)
        start = rng.standard_cauchy(size) * wide, np.full(groups.order + 1, np.log(wide))
        compare_chains(groups, response, n_classes, 15, start, prior=prior, step=wide, iterations=3)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("scale", logistic.SCALES)
def test_widths_of_many_coefficients_number_by_number(n_classes, scale):
    # more than LARGE_KIND of one kind: the sum over them is interpolated
    rng = np.random.default_rng(n_classes)
    groups = arbitrary(rng, large=530)
    sets = 1 if n_classes == 2 else n_classes
    assert 530 * sets > kernel.LARGE_KIND > max(np.bincount(groups.kind)[[0, 2, 3, 4, 5]]) * sets
    response = rng.integers(0, n_classes, groups.n_samples)
    model, slow = both(groups, response, n_classes, sigma_scale=scale)
    for spread in (1e-6, 1, 1e3):
        coefficient = rng.standard_cauchy((sets, groups.n_groups)) * spread
        log_sigma = np.array([np.log(5), -20.0, 1.0])
        again = log_sigma.copy()
        chain = model.sampler(coefficient, log_sigma)
        fast, rng_slow = np.random.default_rng(5), np.random.default_rng(5)
        for _ in range(4):
            coefficient *= rng.uniform(0.3, 3, coefficient.shape)  # the sums are not those before
            chain.sweep_widths(fast.bit_generator.capsule)
            looked = twin.sweep_widths(slow, coefficient, again, scale, 1.0, 50, rng_slow)
            np.testing.assert_allclose(log_sigma, again, rtol=1e-9, atol=1e-9)
            assert chain.width_evaluations >= looked
        assert fast.random() == rng_slow.random()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_classes", CLASSES)
def test_each_sweep_alone_number_by_number(prior, n_classes):
    rng = np.random.default_rng(8)
    groups = sequences(rng)
    response = rng.integers(0, n_classes, groups.n_samples)
    model, slow = both(groups, response, n_classes, prior=prior)
    settings = model.settings
    coefficient, log_sigma = model.start(rng)
    other, again = coefficient.copy(), log_sigma.copy()
    chain, move = short(model.sampler(coefficient, log_sigma)), slow_moves(model, learn=False)[0]
    one, two = np.random.default_rng(9), np.random.default_rng(9)
    counts = np.zeros(2, dtype=int)
    for _ in range(6):
        for step in rng.permutation(3):
            capsule = one.bit_generator.capsule
            if step == 0:
                chain.sweep_coefficients(capsule)
                counts[0] += twin.sweep_coefficients(
                    slow, other, again, settings.step, settings.most_steps, two
                )
            elif step == 1:
                chain.sweep_widths(capsule)
                counts[1] += twin.sweep_widths(
                    slow, other, again, "log", settings.sigma_step, settings.most_steps, two
                )
            else:
                (chain.sweep_tree if model.moves == "tree" else chain.sweep_together)(capsule)
                counts[1] += move(slow, other, again, two)
            np.testing.assert_allclose(coefficient, other, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(log_sigma, again, rtol=1e-9, atol=1e-9)
            if step != 1:
                exact = slow.log_likelihood(other)
                assert chain.log_likelihood == pytest.approx(exact, rel=1e-9, abs=1e-9)
            assert chain.coefficient_evaluations == counts[0]
            assert chain.width_evaluations == counts[1]
    assert log_sigma[0] == np.log(settings.sigma_0)


def test_a_class_that_underflowed_comes_back_when_the_others_fall():
    # one row: class 0 falls by hundreds, and with it what made the others' probabilities 0
    groups = compress_sequences([[0]], 0)
    for n_classes, wide, seed in [
        (3, 300.0, 24),
        (3, 1000.0, 168),
        (4, 300.0, 24),
        (4, 1000.0, 938),
    ]:
        model, slow = both(groups, [0], n_classes, prior="gaussian", sigma=(wide,), step=200)
        fast, rng = np.random.default_rng(seed), np.random.default_rng(seed)
        coefficient = fast.normal(size=(n_classes, 1)) * wide
        other, log_sigma = rng.normal(size=(n_classes, 1)) * wide, np.log([wide])
        chain = model.sampler(coefficient, log_sigma)
        chain.sweep_coefficients(fast.bit_generator.capsule)
        twin.sweep_coefficients(slow, other, log_sigma, 200, 50, rng)
        np.testing.assert_allclose(coefficient, other, rtol=1e-9)


# ---- the joint distribution of parameters and data ----


def replicates(model, slow, size, rng, stages, *, log_sigma=None, data=None, told=None):
    """Draw from the joint distribution, and apply each stage to what the one before left.

    Returns the drawn responses, and after 0, 1, ... stages (log sigma, coefficients, log
    likelihood).  data: the twin that is drawn from, if not `slow`; told: the classes that the
    kernel is told for those drawn, if not the same.
    """
    settings, groups = model.settings, model.groups
    sigmas, coefficients, response = twin.joint_draws(
        data or slow, settings.sigma_0, size, rng, log_sigma
    )
    n_classes, rows = model.n_classes, groups.row_of
    samples = np.zeros((size, n_classes, groups.n_rows))
    seen = response if told is None else np.asarray(told)[response]
    np.add.at(samples, (np.arange(size)[:, None], seen, rows), 1)
    log_likelihood = np.empty((len(stages) + 1, size))
    sigmas = np.repeat(sigmas[None], len(stages) + 1, axis=0)
    coefficients = np.repeat(coefficients[None], len(stages) + 1, axis=0)
    capsule = rng.bit_generator.capsule
    for m in range(size):
        model.samples[:] = samples[m].T
        coefficient, here = coefficients[0, m].copy(), sigmas[0, m].copy()
        chain = short(model.sampler(coefficient, here))
        log_likelihood[0, m] = chain.log_likelihood
        for i, stage in enumerate(stages, 1):
            stage(chain, capsule)
            coefficients[i, m], sigmas[i, m] = coefficient, here
            log_likelihood[i, m] = chain.log_likelihood
    return response, [
        (sigmas[i], coefficients[i], log_likelihood[i]) for i in range(len(stages) + 1)
    ]


def bounded_functions(slow, response, log_sigma, coefficient, log_likelihood) -> np.ndarray:
    """Bounded functions of parameters and data, (., size)."""
    u, v = ranks(slow, log_sigma, coefficient)
    eta = coefficient @ slow.design.T
    if slow.n_classes == 2:
        eta = np.concatenate([np.zeros_like(eta), eta], axis=1)
    p = special.softmax(eta, axis=1)
    y = response[:, None, :] == np.arange(slow.n_classes)[None, :, None]
    # samples of each class in each group, less what would be expected of all classes alike
    share = (y - 1 / slow.n_classes) @ slow.design / slow.design.sum(axis=0)
    share = share[:, 1:] if slow.n_classes == 2 else share
    size = len(response)
    parts = [
        u, u * u, np.cos(np.pi * u), np.clip(log_sigma[:, 1:], -6, 6),
        v, v * v, np.cos(np.pi * v), np.arctan(coefficient), v * share,
        np.arctan(coefficient) * share,
        (v * v)[:, :, :-1] * (v * v)[:, :, 1:], v[:, :, :-1] * v[:, :, 1:],
        u[:, :, None] * (v * v)[:, 0][:, None, :],
        u[:, :, None] * np.abs(share).mean(axis=1)[:, None],
        np.exp(np.clip(log_likelihood, -30, 0) / 5)[:, None], (y * p).mean(axis=2),
        (y * p).sum(axis=1),
        (p * p).sum(axis=1), u * np.exp(np.clip(log_likelihood, -30, 0) / 5)[:, None],
    ]  # fmt: skip
    return np.concatenate([part.reshape(size, -1) for part in parts], axis=1).T


def functions_of(slow, response, states):
    return [bounded_functions(slow, response, *state) for state in states]


def iterations_of(model):
    """A stage of two whole iterations."""
    kept = np.empty((2, model.sets, model.groups.n_groups))
    trace, info = np.empty((2, model.groups.order + 1)), np.empty((2, 4))

    def stage(chain, capsule):
        assert chain.run(0, 2, 0, 1, 2, 1, kept, trace, None, info, capsule) == 2

    return stage


QUICK = [
    ("compressed", "cauchy", 3, "log", 2.5),
    ("compressed", "gaussian", 2, "log", 0.25),
    ("original", "cauchy", 2, "natural", 2.5),
    ("arbitrary", "gaussian", 2, "log", 2.5),
    ("features", "cauchy", 2, "log", 2.5),
    ("features", "gaussian", 3, "log", 2.5),
]
ALL = product(NAMES[:3] + NAMES[4:], PRIORS, CLASSES, logistic.SCALES, (2.5, 0.25))
CASES = [(*one, REPLICATES) for one in QUICK]
CASES += [pytest.param(*one, MORE_REPLICATES, marks=pytest.mark.slow) for one in ALL]


@pytest.mark.parametrize(("name", "prior", "n_classes", "scale", "shape", "size"), CASES)
def test_sweeps_leave_the_joint_distribution_as_it_is(name, prior, n_classes, scale, shape, size):
    rng = np.random.default_rng([len(name), len(prior), n_classes, len(scale), int(shape)])
    groups = tiny(name, rng)
    options = LIGHT if shape == 2.5 else {"sigma_shape": 0.25, "sigma_mode": 0.1}
    model, slow = both(
        groups, np.zeros(groups.n_samples, int), n_classes, prior=prior, sigma_scale=scale,
        sigma_0=1.5, step=5.0, **options,
    )  # fmt: skip
    together = tree_once if model.moves == "tree" else together_once
    stages = [together, coefficients_twice, widths_twice, iterations_of(model)]
    assert_unchanged(functions_of(slow, *replicates(model, slow, size, rng, stages)))


@pytest.mark.parametrize(
    ("prior", "n_classes", "wide"),
    only(
        product(PRIORS, CLASSES, (60.0, 2000.0)),
        ("gaussian", 3, 60.0), ("gaussian", 2, 2000.0), ("cauchy", 2, 2000.0),
    ),
)  # fmt: skip
def test_very_wide_priors_leave_the_joint_distribution_as_it_is(prior, n_classes, wide):
    # p or q is 0 in most rows, and coefficients move by more than 600
    rng = np.random.default_rng([n_classes, int(wide)])
    groups = tiny("compressed", rng)
    model, slow = both(
        groups, np.zeros(6, int), n_classes, prior=prior, step=wide / 2, most_steps=5
    )
    log_sigma = np.log(wide) - np.arange(3.0)
    stages = [coefficients_twice]
    drawn = replicates(model, slow, 8000, rng, stages, log_sigma=log_sigma)
    assert_unchanged(functions_of(slow, *drawn))
    moved = np.abs(drawn[1][1][1] - drawn[1][0][1])
    assert (moved > 600).mean() > (0.1 if wide > 1000 else -1)


@pytest.mark.parametrize(
    ("n_classes", "scale"), only(product(CLASSES, logistic.SCALES), (2, "log"), (3, "natural"))
)
def test_many_coefficients_of_a_kind_leave_the_joint_distribution_as_it_is(n_classes, scale):
    rng = np.random.default_rng(n_classes)
    groups = arbitrary(rng, rows=5, groups=6, large=520)
    assert kernel.LARGE_KIND < 520
    model, slow = both(
        groups, np.zeros(groups.n_samples, int), n_classes, sigma_scale=scale, sigma_0=1.5, **LIGHT
    )
    size = 400
    stages = [widths_twice, together_once, widths_twice]
    _, states = replicates(model, slow, size, rng, stages)
    rates = np.array([slow.rate(o) for o in (1, 2)])
    # of widths this well known, the ranks, and what they say of the coefficients
    for (log_sigma, coefficient, _), after in pairwise(states):
        found = []
        for a, c, _ in ((log_sigma, coefficient, 0), after):
            u = special.gammainc(slow.shape, rates * np.exp(-a[:, 1:])).T
            v = np.abs(2 / np.pi * np.arctan(c / (np.exp(a) @ slow.counts.T)[:, None, :]))
            found.append(np.vstack([u, v.mean(axis=(1, 2)), *np.clip(a[:, 1:].T, -6, 6)]))
        difference = found[1] - found[0]
        z = difference.mean(axis=1) / difference.std(axis=1) * np.sqrt(size)
        assert np.abs(z).max() < stats.norm.isf(ALARM / 10)


# without harm they are tested above
@pytest.mark.parametrize("harm", only(["none", "class", "rate", "width"], "class", "rate", "width"))
def test_the_joint_distribution_finds_what_is_wrong(harm):
    # the kernel is told another class, another rate of a prior, or another width than were drawn
    rng = np.random.default_rng(4)
    groups = tiny("compressed", rng)
    model, slow = both(groups, np.zeros(6, int), 3, sigma_0=1.5, **LIGHT)
    data = slow
    if harm == "rate":
        data = replace(slow, mode=slow.mode * 2)
    if harm == "width":
        model.layout.kinds[-1, -1] += 1
    response, states = replicates(
        model, slow, 6000, rng, [iterations_of(model)], data=data,
        told=[0, 2, 1] if harm == "class" else None,
    )  # fmt: skip
    z, tests = largest_z(*functions_of(slow, response, states))
    if harm == "none":
        assert z < stats.norm.isf(ALARM / tests / 2)
    else:
        assert z > 10


@pytest.mark.parametrize(
    ("prior", "harm"),
    only(
        product(PRIORS, ("none", "parent", "owner", "kind")),
        ("cauchy", "owner"), ("gaussian", "parent"), ("gaussian", "kind"),
    ),
)  # fmt: skip
def test_the_joint_distribution_finds_a_wrong_tree(prior, harm):
    rng = np.random.default_rng(4)
    groups = tiny("plain rows", rng)
    response = np.zeros(groups.n_samples, int)
    model, slow = both(groups, response, 2, prior=prior, sigma_0=1.5, **LIGHT)
    if harm == "parent":  # a leaf hangs from the root
        leaf = model.layout.owner[0]
        assert model.layout.parent[leaf] > 0
        model.layout.parent[leaf] = 0
    if harm == "owner":
        model.layout.owner[:] = np.roll(model.layout.owner, 1)
    if harm == "kind":
        model.layout.kinds[-1, -1] += 2
    response, states = replicates(model, slow, REPLICATES, rng, [tree_once] * 2)
    states = functions_of(slow, response, states)
    if harm == "none":
        assert_unchanged(states)
    else:
        with pytest.raises(AssertionError, match="stage"):
            assert_unchanged(states)


@pytest.mark.parametrize("prior", PRIORS)
def test_long_steps_leave_the_joint_distribution_as_it_is(prior, monkeypatch):
    # many trajectories are not accepted
    rng = np.random.default_rng(6)
    groups = tiny("compressed", rng)
    model, slow = both(groups, np.zeros(6, int), 2, prior=prior, sigma_0=1.5, **LIGHT)
    tuning = np.array([np.inf, np.log(0.8), 1, 1, 1, 1])
    monkeypatch.setattr(model, "sampler", partial(model.sampler, tuning=tuning))
    response, states = replicates(model, slow, REPLICATES, rng, [tree_once, tree_once])
    assert_unchanged(functions_of(slow, response, states))
    # those that stayed were shifted alone
    stayed = (np.ptp((states[1][0] - states[0][0])[:, 1:], axis=1) < 1e-9).mean()
    assert 0.05 < stayed < 0.95


# ---- exact posteriors ----


@pytest.mark.parametrize(
    ("prior", "n_classes"),
    only(product(PRIORS, CLASSES), ("gaussian", 2), ("cauchy", 2), ("cauchy", 3)),
)
def test_posterior_of_one_group_by_quadrature(prior, n_classes):
    """Equation eqn-post-sum."""
    groups, response = compress_sequences(np.zeros((7, 1)), 0), np.array([0, 1, 1, 1, 1, 1, 1])
    model, slow = both(
        groups, response, n_classes, prior=prior, sigma=(3.0,), iterations=20_000, burn_in=0, thin=1
    )
    draws = logistic.sample(model, [np.random.default_rng(1)]).flat[0][:, :, 0]
    u = np.meshgrid(*[midpoints(80 if n_classes == 3 else 20_000)] * model.sets, indexing="ij")
    s = np.stack([3 * quantile(slow.cauchy, one.ravel()) for one in u])
    eta = s if n_classes == 3 else np.vstack([np.zeros_like(s), s])
    log_p = special.log_softmax(eta, axis=0)
    weight = np.exp(log_p[0] + 6 * log_p[1])
    for k in range(model.sets):
        for function in (np.arctan, lambda x: np.arctan(x) ** 2, lambda x: (x > 1) * 1.0):
            batch_test(function(draws[:, k]), (function(s[k]) * weight).sum() / weight.sum())
    drawn = draws if n_classes == 3 else np.column_stack([np.zeros(len(draws)), draws])
    batch_test(
        special.softmax(drawn, axis=1)[:, 1], (np.exp(log_p[1]) * weight).sum() / weight.sum()
    )


@pytest.mark.parametrize("prior", PRIORS)
def test_posterior_of_two_groups_by_quadrature(prior):
    response = np.array([1, 1, 0, 1, 0])
    groups = ArbitraryGroups([0, 1, 1, 2, 2], [[0, 2], [1, 2]], [[1, 0], [0, 2]], [0, 1])
    sigma = (2.0, 0.7)
    model, slow = both(
        groups, response, 2, prior=prior, sigma=sigma, iterations=30_000, burn_in=0, thin=1
    )
    draws = logistic.sample(model, [np.random.default_rng(1)]).flat[0][:, 0]
    u, v = np.meshgrid(midpoints(600), midpoints(600), indexing="ij")
    width = (2.0, 1.4) if slow.cauchy else (2.0, 0.7 * np.sqrt(2))
    s, t = width[0] * quantile(slow.cauchy, u), width[1] * quantile(slow.cauchy, v)
    weight = special.expit(s) * special.expit(t) * special.expit(-t)
    weight *= special.expit(s + t) * special.expit(-s - t)
    for function in (
        lambda a, b: np.arctan(a), lambda a, b: np.arctan(b), lambda a, b: np.arctan(a * b),
        lambda a, b: special.expit(a + b),
    ):  # fmt: skip
        batch_test(function(*draws.T), (function(s, t) * weight).sum() / weight.sum())


@pytest.mark.parametrize(
    ("prior", "scale", "joint_updates"),
    only(
        product(PRIORS, logistic.SCALES, (0, 1)),
        ("cauchy", "log", 0), ("gaussian", "natural", 0), ("cauchy", "natural", 1),
    ),
)  # fmt: skip
def test_posterior_of_a_width_by_quadrature(prior, scale, joint_updates):
    groups = ArbitraryGroups([0] * 6, [[0]], [[1, 2]], [0])
    model, slow = both(
        groups, np.array([1, 1, 1, 1, 1, 0]), 2, prior=prior, sigma_scale=scale, sigma_0=0.3,
        sigma_shape=1.5, sigma_mode=0.8, joint_updates=joint_updates, iterations=20_000,
        burn_in=0, thin=1, sigma_updates=2,
    )  # fmt: skip
    coefficient, log_sigma = logistic.sample(model, [np.random.default_rng(1)]).flat
    u, v = np.meshgrid(midpoints(600), midpoints(600), indexing="ij")
    sigma = 2.5 * 0.8 / special.gammainccinv(1.5, u)
    width = 0.3 + 2 * sigma if slow.cauchy else np.sqrt(0.09 + 2 * sigma**2)
    s = width * quantile(slow.cauchy, v)
    weight = special.expit(s) ** 5 * special.expit(-s)
    a, b = np.clip(np.log(sigma), -3, 3), np.arctan(s)
    for exact, values in (
        (a, np.clip(log_sigma[:, 1], -3, 3)), (b, np.arctan(coefficient[:, 0, 0])),
        (a * b, np.clip(log_sigma[:, 1], -3, 3) * np.arctan(coefficient[:, 0, 0])),
        (np.exp(-sigma), np.exp(-np.exp(log_sigma[:, 1]))),
    ):  # fmt: skip
        batch_test(values, (exact * weight).sum() / weight.sum())


# ---- predictions ----


def predict(groups, tests, draws, cauchy, n_classes, rng, splits=1):
    """Predictive probabilities of the distinct test samples (., K), from the kernel."""
    shared = groups.shared(tests)
    coefficient, log_sigma = draws
    power = np.exp((1 if cauchy else 2) * log_sigma)
    first, second, new = (
        np.ascontiguousarray(power @ counts.T.astype(float))
        for counts in (shared.shared_counts, shared.other_counts, shared.new_counts)
    )
    out = np.zeros((len(shared.new_kind), n_classes))
    splitting.Shares(shared, first, second, new, cauchy).add_probabilities(
        np.ascontiguousarray(coefficient), splits, out, rng.bit_generator.capsule
    )
    return (out / (len(coefficient) * splits))[shared.sample_of]


@pytest.mark.parametrize(
    ("n_classes", "prior"),
    only(product(CLASSES, PRIORS), (2, "cauchy"), (2, "gaussian")),
)
def test_compressed_and_original_parameters_predict_alike(n_classes, prior):
    """Equations eqn-like-train and eqn-int-pred."""
    rng = np.random.default_rng(7)
    histories = rng.integers(0, 2, (12, 4))
    response = rng.integers(0, n_classes, 12)
    tests = np.array([*product((0, 1), repeat=4), (1, 0, 2, 1), (2, 2, 2, 2)])
    found = []
    for compressed in (True, False):
        groups = compress_sequences(histories, 4, compress=compressed)
        model, slow = both(
            groups, response, n_classes, prior=prior, iterations=15_500, burn_in=500, thin=5,
            sigma_mode=0.3, sigma_shape=1, sigma_updates=2,
        )  # fmt: skip
        draws = logistic.sample(model, [np.random.default_rng([1, compressed])])
        coefficient, log_sigma = draws.flat
        batches = [
            predict(groups, tests, (c, w), slow.cauchy, n_classes, rng)
            for c, w in zip(np.split(coefficient, 30), np.split(log_sigma, 30), strict=True)
        ]
        assert np.allclose(np.sum(batches, axis=2), 1)
        found.append((np.mean(batches, axis=0), np.var(batches, axis=0, ddof=1) / 30))
    (one, error), (other, more) = found
    t = (one - other) / np.sqrt(error + more)
    assert 2 * stats.t.sf(np.abs(t).max(), 40) * t.size > ALARM
    assert np.abs(one - other).max() < 0.03
    assert one.std(axis=0).max() > 0.02


def test_predictions_of_one_draw(rng):
    """Equation eqn-int-pred."""
    # shares of groups and new patterns, against draws that NumPy splits
    histories = np.array([[0, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 0]])
    tests = np.array(
        [[0, 0, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [2, 2, 2, 2], [1, 1, 0, 1]]
    )
    for cauchy, n_classes, compressed in product((True, False), CLASSES, (True, False)):
        groups = compress_sequences(histories, 4, compress=compressed)
        sets = 1 if n_classes == 2 else n_classes
        coefficient = rng.normal(size=(1, sets, groups.n_groups)) * 2
        log_sigma = rng.normal(size=(1, 5)) / 2
        size = 50_000
        p = predict(groups, tests, (coefficient, log_sigma), cauchy, n_classes, rng, size)
        power = np.exp((1 if cauchy else 2) * log_sigma[0])
        for t, history in enumerate(tests):
            counts, new = groups.shared_patterns(history)
            eta = np.zeros((n_classes, size))
            for k in range(sets):
                total = np.zeros(size)
                for g in range(groups.n_groups):
                    s, part = coefficient[0, k, g], counts[g] @ power
                    rest = (groups.patterns_per_order[g] - counts[g]) @ power
                    if part and rest and cauchy:
                        x = np.tan(np.pi * (midpoints(4001) - 0.5))
                        grid = np.sort(np.concatenate([part * x, s + rest * x]))
                        cdf = cauchy_split_cdf(grid, s, part, rest)
                        total += np.interp(rng.random(size), cdf, grid)
                    elif part and rest:
                        share = part / (part + rest)
                        total += s * share + np.sqrt(rest * share) * rng.normal(size=size)
                    elif part:
                        total += s
                w = new @ power
                draw = rng.standard_cauchy if cauchy else rng.standard_normal
                total += (w if cauchy else np.sqrt(w)) * draw(size)
                eta[-1 if sets == 1 else k] = total
            exact = special.softmax(eta, axis=0)
            error = (
                np.sqrt(2 / size) * exact.std(axis=1) + 2e-4 * (exact.std(axis=1) > 1e-6) + 1e-12
            )
            assert (np.abs(p[t] - exact.mean(axis=1)) < 5 * error).all()


RATIOS = (1e-8, 1e-4, 1e-1, 1.0, 3.0, 1e4, 1e8)


@pytest.mark.parametrize("ratio", RATIOS)
def test_splits_of_cauchy_sums(ratio):
    """Equations eqn-split2 and eqn-cond-cauchy."""
    rng = np.random.default_rng(int(1000 + np.log10(ratio)))
    out, size = np.empty(20_000), 20_000
    for unit in {1.0, ratio}:
        for s in (0.0, 1e-6, -0.5, 3.0, -40.0, 1e5):
            splitting.split_off(
                np.full(size, s * unit), np.full(size, ratio), np.ones(size), True, out,
                rng.bit_generator.capsule,
            )  # fmt: skip
            u = cauchy_split_cdf(out, s * unit, ratio, 1.0)
            assert stats.kstest(u, "uniform", method="asymp").pvalue > ALARM / 12


def test_splits_of_gaussian_sums_and_ends(rng):
    """Equation eqn-cond-gs."""
    size, out = 50_000, np.empty(50_000)
    capsule = rng.bit_generator.capsule
    for s, a, b in [(0, 1, 1), (3, 0.2, 5), (-7, 1e8, 1), (1, 1e-8, 1), (2, 3, 0.5)]:
        splitting.split_off(*(np.full(size, float(v)) for v in (s, a, b)), False, out, capsule)
        z = (out - s * a / (a + b)) / np.sqrt(a * b / (a + b))
        assert stats.kstest(z, "norm", method="asymp").pvalue > ALARM
    s, one, none = np.full(9, 2.5), np.ones(9), np.zeros(9)
    for cauchy in (True, False):
        for a, b, wanted in [(none, one, 0), (one, none, 2.5)]:
            splitting.split_off(s, a, b, cauchy, out[:9], capsule)
            assert (out[:9] == wanted).all()
    for scale in (1e-200, 1e200):
        splitting.split_off(np.full(size, scale), *np.full((2, size), scale), True, out, capsule)
        u = cauchy_split_cdf(out / scale, 1, 1, 1)
        assert stats.kstest(u, "uniform", method="asymp").pvalue > ALARM


# ---- whole chains ----


def some_model(**options):
    rng = np.random.default_rng(3)
    groups = sequences(rng, samples=20, length=4, order=4)
    response = rng.integers(0, 3, 20)
    settings = {"iterations": 100, "burn_in": 20, "thin": 3, **options}
    return logistic.LogisticTarget(groups, response, 3, logistic.Logistic(**settings))


def generators(n):
    return [np.random.default_rng([5, c]) for c in range(n)]


@pytest.mark.parametrize("chains", [1, 3])
def test_the_same_seed_has_the_same_draws_and_chains_go_on(chains):
    whole = logistic.sample(some_model(), generators(chains))
    again = logistic.sample(some_model(), generators(chains))
    assert whole.coefficient.shape == (chains, 26, 3, some_model().groups.n_groups)
    assert whole.log_sigma.shape == (chains, 26, 5)
    assert whole.info.shape == (chains, 100, 4)
    for name in ("coefficient", "trace", "info"):
        assert (getattr(whole, name) == getattr(again, name)).all()
        if chains > 1:
            assert (getattr(whole, name)[0] != getattr(whole, name)[1]).any()
    assert (whole.log_sigma == whole.trace[:, 22::3]).all()
    assert (whole.info[:, :, 2:] > 0).all()
    # a chain that stops after 37 iterations, and another that goes on from its state
    for stop in (1, 19, 37, 60):
        for c in range(chains):
            chain = logistic.Chain(some_model(), generators(chains)[c])
            first, state = chain.advance(stop), chain.state()
            chain = logistic.Chain(some_model(), np.random.default_rng(0))
            chain.restore(state)
            second = chain.advance(100 - stop)
            for name, one in (
                ("coefficient", whole.coefficient), ("log_sigma", whole.trace),
                ("info", whole.info),
            ):  # fmt: skip
                assert (np.concatenate([first[name], second[name]]) == one[c]).all()


def stopped(chains, stop, **options):
    """What `save` would have been given after so many iterations."""
    model = some_model(**options)
    saved = {"done": np.array(stop)}
    for c, rng in enumerate(generators(chains)):
        chain = logistic.Chain(model, rng)
        draws = chain.advance(stop)
        saved |= {f"draws-{c}-{name}": value for name, value in draws.items()}
        saved |= {f"state-{c}-{name}": value for name, value in chain.state().items()}
    return saved


@pytest.mark.parametrize("chains", [1, 3])
def test_stored_chains_go_on(chains):
    whole = logistic.sample(some_model(), generators(chains))
    saved = stopped(chains, 37)
    resumed = logistic.sample(some_model(), generators(chains), saved=saved)
    for name in ("coefficient", "trace", "info"):
        assert (getattr(whole, name) == getattr(resumed, name)).all()
    for stop in (24, 37, 100):
        part = logistic.sample(some_model(iterations=stop), generators(chains))
        resumed = logistic.sample(some_model(), generators(chains), saved=part.saved)
        assert (whole.coefficient == resumed.coefficient).all()
        assert (whole.trace == resumed.trace).all()
        assert (whole.info == resumed.info).all()
    for options, message in [
        (
            {"sigma_0": 4.0},
            "the stored chains have sigma_0 5.0, these settings 4.0. Fix: change only iterations",
        ),
        ({"prior": "gaussian"}, "the stored chains have prior 'cauchy', these settings 'gaussian'"),
        ({"thin": 4}, "the stored chains have thin 3, these settings 4"),
        ({"most_steps": 7}, "the stored chains have most_steps 50, these settings 7"),
        ({"joint_updates": 2}, "the stored chains have joint_updates 1, these settings 2"),
        (
            {"iterations": 36, "burn_in": 20},
            "have done 37 iterations, more than 36. Fix: set at least",
        ),
    ]:
        with pytest.raises(UserError, match=message):
            logistic.sample(some_model(**options), generators(chains), saved=saved)
    for moves in ({}, {"moves": "tree"}):  # of an older version, and of other groups
        found = json.loads(str(saved["state-0-model"]))
        assert found.pop("moves") == "hamiltonian"
        other = saved | {"state-0-model": np.array(json.dumps(found | moves))}
        with pytest.raises(
            UserError, match=r"another sampler and cannot be continued. Fix: fit again"
        ):
            logistic.sample(some_model(), generators(chains), saved=other)
    with pytest.raises(UserError, match=f"there are {chains} stored chains, not {chains + 1}"):
        logistic.sample(some_model(), generators(chains + 1), saved=saved)


def test_stored_chains_of_the_thesis_sampler_go_on_from_older_versions():
    whole = logistic.sample(some_model(joint_updates=0), generators(1))
    saved = stopped(1, 37, joint_updates=0)
    found = json.loads(str(saved["state-0-model"]))
    del found["moves"]
    saved["state-0-model"] = np.array(json.dumps(found))
    resumed = logistic.sample(some_model(joint_updates=0), generators(1), saved=saved)
    assert (whole.coefficient == resumed.coefficient).all()
    assert (whole.trace == resumed.trace).all()
