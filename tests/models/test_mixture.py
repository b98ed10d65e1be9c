"""The mixture model's samplers, predictions and chains."""

import copy
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import reference_mixture as twin
from cases import only
from scipy import special, stats
from statistical import ALARM, assert_proportions

from thesiskit.errors import DataError, UserError
from thesiskit.models import chains, mixture
from thesiskit.models.mixture_tables import Tables
from thesiskit.models.selection import AT, BELOW, LOT, WITHIN, LeftOut, squared_correlation

PRIORS = {"class_prior": (2.0, 1.0), "alpha_prior": (1.0, 1.0), "response_alpha_prior": (1.0, 0.5)}


class TargetAt(mixture.MixtureTarget):
    """A target whose powers of the likelihood a test chooses."""

    powers = np.ones(1)


def settings_of_three(**options) -> mixture.Mixture:
    """Settings with few alphas, so that all states can be enumerated, and one replica."""
    return mixture.Mixture(**{**PRIORS, "alpha_points": 3, "replicas": 1, **options})


def with_powers(target, powers) -> TargetAt:
    target = copy.copy(target)
    target.__class__ = TargetAt
    target.powers = np.asarray(powers, dtype=float)
    return target


def within(y, dropped, cut):
    """So many features left out with COR^2 <= cut, or None for none."""
    ones = int(np.sum(y))
    return LeftOut.of({WITHIN: dropped}, (len(y) - ones, ones), cut) if dropped else None


def draws_of(target, seed, chains_=None, **options):
    generators = [
        np.random.default_rng([seed, c]) for c in range(chains_ or target.settings.chains)
    ]
    return mixture.sample(target, generators, **options)


def two_samples(one, other) -> float:
    """P-value of the hypothesis that two samples of codes are alike; rare codes are pooled."""
    codes, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = np.stack(
        [np.bincount(p, minlength=len(codes)) for p in (place[: len(one)], place[len(one) :])]
    )
    rare = counts.sum(axis=0) < 40
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] == 1:
        return 1.0
    return float(stats.chi2_contingency(counts, correction=False).pvalue)


def assert_alike(one, other) -> None:
    """Every statistic must have the same distribution in both samples."""
    p_values = {name: two_samples(one[name], other[name]) for name in one}
    assert min(p_values.values()) > ALARM, p_values


def assert_frequencies(codes, probability) -> None:
    """Codes must look drawn independently with these probabilities; rare ones are pooled."""
    counts = np.bincount(codes, minlength=len(probability))
    assert len(counts) == len(probability)
    rare = probability * len(codes) < 10
    if rare.any():
        assert counts[rare & (probability == 0)].sum() == 0
        counts = np.append(counts[~rare], counts[rare].sum())
        probability = np.append(probability[~rare], probability[rare].sum())
    enough = probability * len(codes) > 5
    if not enough[-1]:  # the pooled ones are too rare for the approximation
        assert counts[-1] < 40
        counts, probability = counts[:-1], probability[:-1] / probability[:-1].sum()
    assert_proportions(counts, probability)


# ---- each sweep by itself: exact draws of all, data included, must stay what they are ----
#
# A joint draw has alpha, labels, response, k kept features and d dropped ones, and is accepted if
# all of the dropped are weak: the selection is simulated, no adjustment factor is computed.  Where
# ties are known, as many as wanted must tie with the cut; where lots are drawn, those among the
# dropped must lose against the kept ones that tie.  An update of part of the state, given data and
# the rest, leaves this distribution alone.

SAMPLES, DROPPED, CUT = 6, 6, Fraction(1, 9)  # a cut that COR^2 often attains
KNOWN = {  # what is known of the dropped features
    "within": {WITHIN: DROPPED},
    "ties": {BELOW: 2, AT: 1},
    "lot": {LOT: 3},
}
TIED_KEPT = 6


def known(rule, class_counts, *, ties=True):
    counts = KNOWN[rule] if ties else {WITHIN: sum(KNOWN[rule].values())}
    return LeftOut.of(counts, class_counts, CUT, TIED_KEPT)


def joint_draws(rng, number, rule="within", k=1, n=SAMPLES, cut=CUT):
    settings = settings_of_three()
    grids = settings.alpha, settings.response_alpha
    f0, f1 = settings.class_prior
    parts = []
    while sum(len(part["y"]) for part in parts) < number:
        size = 60_000
        point = rng.integers(0, 3, (size, 2))
        labels = rng.random((size, n)) < rng.beta(f1, f0, (size, 1))

        def columns(alpha, labels, count):
            theta = rng.random((len(alpha), count))
            a = alpha[:, None] * theta
            phi = rng.beta(a, alpha[:, None] - a, (2, *a.shape))
            p = np.where(labels[:, :, None], phi[1][:, None], phi[0][:, None])
            return theta, (rng.random(p.shape) < p).astype(np.int64)

        theta0, y = columns(grids[1][point[:, 1]], labels, 1)
        if rule != "within":  # only with equal classes can a feature tie with the cut
            equal = 2 * y[:, :, 0].sum(axis=1) == n
            point, labels, theta0, y = (one[equal] for one in (point, labels, theta0, y))
        theta, x = columns(grids[0][point[:, 0]], labels, k)
        _, other = columns(grids[0][point[:, 0]], labels, sum(KNOWN[rule].values()))
        s, t = other.sum(axis=1), y.sum(axis=1)
        sxy = n * (other * y).sum(axis=1) - s * t
        ours, bound = sxy**2 * cut.denominator, cut.numerator * (n * s - s**2) * (n * t - t**2)
        good = (ours <= bound).all(axis=1)
        tied = ((ours == bound) & (bound > 0)).sum(axis=1)
        if rule == "ties":
            good &= tied == KNOWN[rule][AT]
        if rule == "lot":
            good &= rng.random(len(tied)) * special.comb(tied + TIED_KEPT, tied) < 1
        parts.append(
            {
                "point": point[good],
                "labels": labels[good].astype(np.uint8),
                "theta": np.column_stack([theta, theta0])[good],
                "x": x[good].astype(np.uint8),
                "y": y[good, :, 0].astype(np.uint8),
            }
        )
    return {name: np.concatenate([part[name] for part in parts])[:number] for name in parts[0]}


def statistics(draws, sampler):
    """Codes of what a wrong update would move."""
    z, x, y = draws["labels"], draws["x"][:, :, 0], draws["y"]
    a, a0 = draws["point"].T
    code = {
        "alpha, size, agreement": (a, z.sum(1), (z == y).sum(1)),
        "alpha_0, classes, those of component 1": (a0, y.sum(1), (z & y).sum(1)),
        "alpha, ones, those of component 1": (a, x.sum(1), (z & x).sum(1)),
        "alpha, n^[1] by class": (a, (z & y).sum(1), (z & (1 - y)).sum(1)),
        "labels": tuple(z.T),
    }
    if sampler == "gibbs":
        bins, bins0 = (draws["theta"][:, [0, -1]] * 6).astype(int).T
        code["theta, alpha, ones"] = (bins, a, x.sum(1))
        code["theta, size, ones in component 1"] = (bins, z.sum(1), (z & x).sum(1))
        code["theta_0, alpha_0, classes"] = (bins0, a0, y.sum(1))
    base = 1 + max(int(v.max()) for values in code.values() for v in values)
    return {
        name: np.ravel_multi_index(values, (max(base, 7),) * len(values))
        for name, values in code.items()
    }


@pytest.fixture(scope="module")
def exact_draws():
    rng = np.random.default_rng(404)
    before = joint_draws(rng, 50_000)
    return before, joint_draws(rng, 20_000)


@pytest.fixture(scope="module")
def tied_draws():
    """The same where it is known which of the dropped tie, and where lots were drawn."""
    rng = np.random.default_rng(405)
    return {
        rule: tuple(joint_draws(rng, size, rule) for size in sizes)
        for rule, sizes in (("ties", (15_000, 8_000)), ("lot", (30_000, 15_000)))
    }


SWEEPS = {
    "collapsed": ("labels", "alpha", "response_alpha", "all"),
    "gibbs": ("labels", "theta", "alpha", "response_alpha", "all"),
}


def factor_tables(settings, sign=1.0, rule="within", *, ties=True):
    """Tables, and adjustment factors by the size of class 1, with their sign as wanted."""
    tables = Tables(SAMPLES, settings.alpha)
    made = {}
    for n1 in range(SAMPLES + 1):
        if rule != "within" and 2 * n1 != SAMPLES:
            continue  # no feature ties with the cut
        classes = (SAMPLES - n1, n1)
        made[n1] = tables.discards(classes, known(rule, classes, ties=ties))
        made[n1].fill_all()
        np.asarray(made[n1].value)[...] *= sign
    return tables, made


def swept(draws, sampler, sweep, factors, times=2, seed=8, dropped=DROPPED):
    """The draws after updates of their state."""
    settings = settings_of_three(sampler=sampler)
    tables, discards = factors
    out = {name: values.copy() for name, values in draws.items()}
    data = np.packbits(np.column_stack([draws["x"][:, :, 0], draws["y"]]), axis=1)
    order = np.lexsort(data.T)
    cuts = np.flatnonzero(np.any(np.diff(data[order].astype(int), axis=0), axis=1)) + 1
    rng = np.random.default_rng(seed)
    capsule = rng.bit_generator.capsule
    parts = SWEEPS[sampler][:-1] if sweep == "all" else (sweep,) * times
    for group in np.split(order, cuts):
        first = group[0]
        target = mixture.MixtureTarget(draws["x"][first], draws["y"][first], settings)
        factor = discards[target.class_counts[1]] if dropped else None
        flip = np.append(target.exchanged, False)
        if sampler == "collapsed":
            R = len(group)
            labels = draws["labels"][group].copy()
            point = draws["point"][group].astype(np.intp)
            made = mixture.collapsed(
                with_powers(target, np.ones(R)), tables, factor, labels, point, np.arange(R)
            )
            for r in range(R):
                for part in parts:
                    getattr(made, f"sweep_{part}")(r, capsule)
            out["labels"][group], out["point"][group] = labels, point
            continue
        labels, point = np.zeros(SAMPLES, dtype=np.uint8), np.zeros(2, dtype=np.intp)
        theta = np.zeros(target.k + 1)
        made = mixture.with_theta(target, factor, labels, theta, point)
        for d in group:
            labels[:], point[:] = draws["labels"][d], draws["point"][d]
            theta[:] = np.where(flip, 1 - draws["theta"][d], draws["theta"][d])
            made.refresh()
            for part in parts:
                if part == "theta":
                    made.sweep_theta(10, capsule)
                else:
                    getattr(made, f"sweep_{part}")(capsule)
            out["labels"][d], out["point"][d] = labels, point
            out["theta"][d] = np.where(flip, 1 - theta, theta)
    return out


@pytest.mark.parametrize(
    ("sampler", "sweep"),
    only(
        [(sampler, sweep) for sampler in SWEEPS for sweep in SWEEPS[sampler]],
        ("collapsed", "labels"), ("collapsed", "all"), ("gibbs", "theta"), ("gibbs", "all"),
    ),
)  # fmt: skip
def test_updates_leave_the_joint_distribution_alone(exact_draws, sampler, sweep):
    """Equations post-zi, post-phi-mix and adjust-factor-mix."""
    before, draws = exact_draws
    factors = factor_tables(settings_of_three())
    after = swept(draws, sampler, sweep, factors)
    moved = "point" if "alpha" in sweep else "theta" if sweep == "theta" else "labels"
    assert (after[moved] != draws[moved]).any(axis=1).mean() > 0.2
    assert_alike(statistics(before, sampler), statistics(after, sampler))


@pytest.mark.parametrize(
    ("sampler", "sweep", "sign"),
    only(
        product(SWEEPS, ("labels", "alpha"), (-1, 0)),
        ("collapsed", "labels", 0), ("collapsed", "alpha", -1), ("gibbs", "labels", -1),
    ),
)  # fmt: skip
def test_a_wrong_sign_is_noticed(exact_draws, sampler, sweep, sign):
    before, draws = exact_draws
    factors = factor_tables(settings_of_three(), sign)
    after = swept(draws, sampler, sweep, factors)
    with pytest.raises(AssertionError):
        assert_alike(statistics(before, sampler), statistics(after, sampler))


@pytest.mark.parametrize(
    ("sampler", "sweep", "rule"),
    only(
        product(SWEEPS, ("labels", "alpha", "all"), ("ties", "lot")),
        ("collapsed", "labels", "ties"), ("collapsed", "all", "lot"), ("gibbs", "all", "ties"),
    ),
)  # fmt: skip
def test_updates_count_ties(tied_draws, sampler, sweep, rule):
    before, draws = tied_draws[rule]
    after = swept(draws, sampler, sweep, factor_tables(settings_of_three(), rule=rule))
    assert_alike(statistics(before, sampler), statistics(after, sampler))


@pytest.mark.parametrize(
    ("sampler", "sweep", "rule"),
    only(
        product(SWEEPS, ("labels", "alpha"), ("ties", "lot")),
        ("collapsed", "labels", "ties"), ("collapsed", "alpha", "lot"), ("gibbs", "alpha", "ties"),
    ),
)  # fmt: skip
def test_ties_that_are_not_counted_are_noticed(tied_draws, sampler, sweep, rule):
    before, draws = tied_draws[rule]
    wrong = factor_tables(settings_of_three(), rule=rule, ties=False)
    after = swept(draws, sampler, sweep, wrong)
    with pytest.raises(AssertionError):
        assert_alike(statistics(before, sampler), statistics(after, sampler))


def test_a_factor_left_out_is_noticed(exact_draws):
    before, draws = exact_draws
    factors = factor_tables(settings_of_three())
    for sampler in SWEEPS:
        after = swept(draws, sampler, "labels", factors, dropped=0)
        with pytest.raises(AssertionError):
            assert_alike(statistics(before, sampler), statistics(after, sampler))


def test_updates_of_theta_where_data_say_much(monkeypatch):
    # theta given labels has a polynomial density; features from rare to even, two alphas
    monkeypatch.setattr(mixture, "THETA_STEP", 0.4)
    n, number, bins = 12, 12_000, 12
    labels = (np.arange(n) % 3 == 0).astype(np.uint8)
    x = np.stack([np.arange(n) < ones for ones in (0, 1, 4, 6)], axis=1).astype(np.uint8)
    y = (np.arange(n) < 2).astype(np.uint8)
    settings = mixture.Mixture(
        sampler="gibbs", alpha_points=2, alpha_prior=(5.0, 300.0), response_alpha_prior=(5.0, 40.0)
    )
    target = mixture.MixtureTarget(x, y, settings)
    rng = np.random.default_rng(63)
    grid, theta, edges = np.linspace(0, 1, 4001), [], []
    for column in (*target.bits.T, y):
        alpha = settings.alpha[1] if len(theta) < 4 else settings.response_alpha[1]
        ones, zeros = (twin._tally(column, labels, value) for value in (1, 0))
        density = [Fraction(1)]
        for z in (0, 1):
            u = twin.rising_u(Fraction(float(alpha)), ones[z], zeros[z])
            density = twin.multiply(density, u)
        cdf = np.polynomial.Polynomial([float(c) for c in density]).integ()(grid)
        cdf /= cdf[-1]
        theta.append(np.interp(rng.random(number), cdf, grid))
        edges.append(np.interp(np.arange(1, bins) / bins, cdf, grid))
    theta, state = np.stack(theta, axis=1), np.zeros(5)
    point = np.ones(2, dtype=np.intp)
    made = mixture.with_theta(target, None, labels.copy(), state, point)
    accepted = 0
    for row in theta:
        state[:] = row
        accepted += made.sweep_theta(6, rng.bit_generator.capsule)
        row[:] = state
    assert 0.2 < accepted / (number * 5 * 6) < 0.9
    for values, cuts in zip(theta.T, edges, strict=True):
        counts = np.bincount(np.searchsorted(cuts, values), minlength=bins)
        assert_proportions(counts, np.full(bins, 1 / bins))


# ---- tempered targets, by enumeration ----


def small_data(seed, n, k):
    rng = np.random.default_rng([31, seed])
    y = rng.permutation(np.arange(n) % 2).astype(np.uint8)
    strength = 0.22 if k < 5 else 0.05
    p = np.where(y[:, None] == 1, 0.5 + strength, 0.5 - strength)
    return (rng.random((n, k)) < p).astype(np.uint8), y


def small_target(seed=1, n=6, k=2, dropped=4, cut=CUT, powers=(1.0,), **options):
    settings = settings_of_three(replicas=len(powers), **options)
    x, y = small_data(seed, n, k)
    return with_powers(mixture.MixtureTarget(x, y, settings, within(y, dropped, cut)), powers)


def log_targets(target):
    """All labels, and the parts of the log posterior: tempered (z, alpha), the rest (z, alpha0)."""
    settings = target.settings
    y = tuple(int(v) for v in target.response)
    columns = [tuple(int(v) for v in column) for column in target.features.T]
    labels = list(product((0, 1), repeat=target.n))
    prior = tuple(Fraction(f) for f in settings.class_prior)
    hot, rest = np.zeros((len(labels), 3)), np.zeros((len(labels), 3))
    for i, z in enumerate(labels):
        rest[i] = np.log(float(twin.label_prior(z, prior)))
        counts = tuple(zip(twin._tally(y, z, 0), twin._tally(y, z, 1), strict=True))
        for a in range(3):
            alpha, alpha0 = float(settings.alpha[a]), float(settings.response_alpha[a])
            rest[i, a] += np.log(float(twin.column_likelihood(y, z, alpha0)))
            for column in columns:
                hot[i, a] += np.log(float(twin.column_likelihood(column, z, alpha)))
            if target.left_out is not None:
                hot[i, a] += np.log(float(twin.selection_factor(counts, target.left_out, alpha)))
    return np.array(labels, dtype=np.uint8), hot, rest


def tempered(hot, rest, power):
    """P(z, alpha, alpha0) at a power, as a flat vector."""
    log_p = power * hot[:, :, None] + rest[:, None, :]
    p = np.exp(log_p - log_p.max()).ravel()
    return p / p.sum()


def code_of(labels, point):
    place = labels.astype(np.int64) @ (1 << np.arange(labels.shape[-1])[::-1])
    return (place * 3 + point[..., 0]) * 3 + point[..., 1]


@pytest.mark.parametrize("sweep", ["labels", "alpha", "response_alpha"])
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_updates_at_any_power(sweep, power):
    number = 30_000
    target = small_target()
    labels, hot, rest = log_targets(target)
    p = tempered(hot, rest, power)
    rng = np.random.default_rng(61)
    code = rng.choice(len(p), size=number, p=p)
    state = labels[code // 9].copy()
    point = np.column_stack([code // 3 % 3, code % 3]).astype(np.intp)
    assert (code_of(state, point) == code).all()
    tables = Tables(target.n, target.settings.alpha)
    discards = tables.discards(target.class_counts, target.left_out)
    for part in np.split(np.arange(number), 300):
        z, at = state[part].copy(), point[part].copy()
        made = mixture.collapsed(
            with_powers(target, np.full(100, power)), tables, discards, z, at, np.arange(100)
        )
        for r in range(100):
            getattr(made, f"sweep_{sweep}")(r, rng.bit_generator.capsule)
        state[part], point[part] = z, at
    after = code_of(state, point)
    assert (after != code).mean() > 0.1
    assert_frequencies(after, p)


@pytest.mark.parametrize("first", [0, 1])
def test_exchanges_leave_every_power_its_distribution(first):
    powers = np.array([1.0, 0.35, 0.1])
    target = small_target(k=3, dropped=12, powers=powers)
    labels, hot, rest = log_targets(target)
    p = [tempered(hot, rest, power) for power in powers]
    rng = np.random.default_rng(62 + first)
    number = 15_000
    codes = np.stack([rng.choice(len(q), size=number, p=q) for q in p], axis=1)
    tables = Tables(target.n, target.settings.alpha)
    discards = tables.discards(target.class_counts, target.left_out)
    z, at = np.zeros((3, target.n), dtype=np.uint8), np.zeros((3, 2), dtype=np.intp)
    holder, accepted = np.arange(3), np.zeros(2, dtype=np.int_)
    made = mixture.collapsed(target, tables, discards, z, at, holder)
    after = np.empty_like(codes)
    for d, code in enumerate(codes):
        holder[:] = rng.permutation(3)
        z[holder] = labels[code // 9]
        at[holder] = np.column_stack([code // 3 % 3, code % 3])
        made.refresh()
        made.exchange(first, accepted, rng.bit_generator.capsule)
        after[d] = code_of(z[holder], at[holder])
    for t in range(3):
        assert_frequencies(after[:, t], p[t])
    # the rate at which offers of this pair should be accepted
    energy = np.repeat(hot.ravel(), 3)
    gain = (powers[first] - powers[first + 1]) * (energy[None, :] - energy[:, None])
    rate = float(p[first] @ np.exp(np.minimum(gain, 0)) @ p[first + 1])
    assert accepted[1 - first] == 0
    assert 0.02 < rate < 0.98
    deviation = (accepted[first] - number * rate) / np.sqrt(number * rate * (1 - rate))
    assert abs(deviation) < stats.norm.isf(ALARM / 2)
    assert (np.sort(after, axis=1) == np.sort(codes, axis=1)).all()


# ---- whole samplers against enumeration ----


def quick_thesis(monkeypatch):
    """The thesis's sampler with larger steps and fewer of them: as right, and faster."""
    monkeypatch.setattr(mixture, "ROUNDS", 3)
    monkeypatch.setattr(mixture, "THETA_UPDATES", 3)
    monkeypatch.setattr(mixture, "THETA_STEP", 0.6)


RUNS = [
    # sampler, replicas, n, k, left out, iterations of each of 4 chains, kept one in
    ("collapsed", 1, 7, 2, {WITHIN: 20}, 90_000, 30),
    ("collapsed", 1, 6, 1, {}, 24_000, 6),
    ("collapsed", 4, 7, 2, {WITHIN: 20}, 45_000, 15),
    ("collapsed", 4, 6, 10, {WITHIN: 8}, 24_000, 6),
    ("collapsed", 4, 6, 2, {BELOW: 8, AT: 3}, 24_000, 6),
    ("collapsed", 1, 6, 2, {LOT: 20}, 45_000, 15),
    ("gibbs", 1, 7, 2, {WITHIN: 20}, 36_000, 30),
    ("gibbs", 1, 6, 10, {WITHIN: 8}, 10_000, 8),
    ("gibbs", 1, 6, 2, {BELOW: 8, AT: 3}, 20_000, 16),
]


@pytest.mark.parametrize(
    ("sampler", "replicas", "n", "k", "counts", "iterations", "thin"),
    only(RUNS, *RUNS[3:6], RUNS[7]),
)
def test_samplers_against_enumeration(
    sampler, replicas, n, k, counts, iterations, thin, monkeypatch
):
    """Equations prior-alpha0, prior-theta, like-part-mix and prob-pred-mix."""
    quick_thesis(monkeypatch)
    settings = mixture.Mixture(
        **PRIORS, sampler=sampler, replicas=replicas, alpha_points=4, chains=4,
        iterations=iterations, burn_in=100,
    )  # fmt: skip
    x, y = small_data(2, n, k)
    ones = int(y.sum())
    left_out = LeftOut.of(counts, (n - ones, ones), CUT, TIED_KEPT) if counts else None
    target = mixture.MixtureTarget(x, y, settings, left_out)
    draws = draws_of(target, 71)
    prior = tuple(Fraction(f) for f in settings.class_prior)
    exact = twin.label_posterior(x, y, settings.alpha, settings.response_alpha, prior, left_out)
    labels, point = draws.labels[:, ::thin], draws.point[:, ::thin]
    # what is left of autocorrelation must not disturb the tests
    for values in (point[:, :, 0], point[:, :, 1], (labels == y).sum(axis=2)):
        centred = values - values.mean()
        assert (centred[:, 1:] * centred[:, :-1]).mean() < 0.03 * centred.var()
    place = labels.astype(np.int64) @ (1 << np.arange(n)[::-1])
    assert_frequencies(place.ravel(), np.array(list(exact["labels"].values())))
    assert_frequencies(point[:, :, 0].ravel(), np.array(exact["alpha"]))
    assert_frequencies(point[:, :, 1].ravel(), np.array(exact["alpha0"]))
    # predictions: joint probabilities of every chain, their ratio, and its Monte Carlo error
    new = np.array([[0], [1]] if k == 1 else [1 - x[1]], dtype=np.uint8)
    thinned = tuple(one.reshape((*draws.labels.shape[:2], -1))[:, ::thin] for one in draws.flat)
    thinned = tuple(one.reshape(-1, one.shape[2]) for one in thinned)
    blocks = np.exp(np.concatenate(list(target.log_joint(thinned, new)), axis=2))
    used = len(thinned[0]) // 100 * 100
    batches = blocks[:, :, :used].reshape(len(new), 2, 100, -1).mean(axis=3)
    found = target.predict(thinned, new)
    for row in range(len(new)):
        right = twin.mixture_predictive(
            x, y, new[row], settings.alpha, settings.response_alpha, prior, left_out
        )
        gap = batches[row, 1] - right * batches[row].sum(axis=0)
        error = gap.std(ddof=1) / 10
        assert abs(gap.mean()) < stats.t.isf(ALARM / 2, 99) * error
        assert abs(found[row] - right) < 0.02


@pytest.mark.parametrize(
    ("sampler", "counts"),
    only(
        product(SWEEPS, ({WITHIN: 30}, {BELOW: 27, AT: 3})),
        ("collapsed", {BELOW: 27, AT: 3}), ("gibbs", {WITHIN: 30}),
    ),
)  # fmt: skip
def test_samplers_against_counts(sampler, counts, monkeypatch):
    quick_thesis(monkeypatch)
    n, cut = 20, Fraction(1, 25)
    rng = np.random.default_rng(9)
    y = (np.arange(n) % 2).astype(np.uint8)
    x = np.where(rng.random(n) < 0.8, y, 1 - y).astype(np.uint8)[:, None]
    options = (
        {"iterations": 20_000, "replicas": 3} if sampler == "collapsed" else {"iterations": 12_000}
    )
    settings = mixture.Mixture(
        **PRIORS, sampler=sampler, alpha_points=5, chains=4, burn_in=200, **options
    )
    prior = tuple(Fraction(f) for f in settings.class_prior)
    left_out = LeftOut.of(counts, (10, 10), cut)
    exact = twin.posterior_by_counts(x, y, settings.alpha, settings.response_alpha, prior, left_out)
    target = mixture.MixtureTarget(x, y, settings, left_out)
    draws = draws_of(target, 72)
    found = {
        "alpha": draws.point[:, :, 0],
        "alpha0": draws.point[:, :, 1],
        "size": draws.labels.sum(axis=2),
        "agreement": (draws.labels == y).sum(axis=2),
    }
    length = draws.labels.shape[1] // 25
    for name, values in found.items():
        p = np.asarray(exact[name])
        for code in np.flatnonzero(p > 0.01):
            # means of 100 stretches, which are nearly independent of each other
            hit = (values == code)[:, : 25 * length].reshape(100, length).mean(axis=1)
            z = (hit.mean() - p[code]) / (hit.std(ddof=1) / 10)
            assert abs(z) < stats.t.isf(ALARM / 20, 99), (name, code)
    rows = np.array([[0], [1]], dtype=np.uint8)
    blocks = np.exp(np.concatenate(list(target.log_joint(draws.flat, rows)), axis=2))
    batches = blocks.reshape(2, 2, 100, -1).mean(axis=3)
    for row in (0, 1):
        right = exact["predictive"][row]
        gap = batches[row, 1] - right * batches[row].sum(axis=0)
        assert abs(gap.mean()) < stats.t.isf(ALARM / 2, 99) * gap.std(ddof=1) / 10
    np.testing.assert_allclose(
        target.predict(draws.flat, rows), [exact["predictive"][v] for v in (0, 1)], atol=0.02
    )
    # the correction matters here: the test would notice its absence
    plain = twin.posterior_by_counts(x, y, settings.alpha, settings.response_alpha, prior, None)
    assert np.abs(plain["alpha"] - exact["alpha"]).max() > 0.05


@pytest.mark.parametrize(
    "counts", [{}, {WITHIN: 40}, {BELOW: 37, AT: 3}, {AT: 9}, {LOT: 40}, {BELOW: 9, LOT: 6}]
)
@pytest.mark.parametrize("rare", [True, False])
def test_enumeration_against_counts(counts, rare):
    n = 14
    rng = np.random.default_rng(10)
    y = (np.arange(n) % 2).astype(np.uint8)
    x = (rng.random(n) < (0.15 if rare else 0.5)).astype(np.uint8)[:, None]
    settings = mixture.Mixture(**PRIORS, alpha_points=6)
    left_out = LeftOut.of(counts, (7, 7), squared_correlation(2, 4, 7, 7), 4) if counts else None
    found = mixture.enumerate_posterior(mixture.MixtureTarget(x, y, settings, left_out))
    prior = tuple(Fraction(f) for f in settings.class_prior)
    exact = twin.posterior_by_counts(x, y, settings.alpha, settings.response_alpha, prior, left_out)
    np.testing.assert_allclose(found.alpha, exact["alpha"], atol=1e-12)
    predictive = [exact["predictive"][v] for v in (0, 1)]
    np.testing.assert_allclose(found.predictive, predictive, atol=1e-12)


# ---- chains ----


def random_target(n=15, k=9, dropped=30, seed=3, **options):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n - 2)).astype(np.uint8)
    x = rng.integers(0, 2, (n, k), dtype=np.uint8)
    options = {"iterations": 40, "burn_in": 10, "alpha_points": 6, **options}
    settings = mixture.Mixture(**PRIORS, **options)
    return mixture.MixtureTarget(x, y, settings, within(y, dropped, Fraction(1, 16)))


def arrays(draws):
    found = {"labels": draws.labels, "point": draws.point, "log_posterior": draws.log_posterior,
             "exchanged": draws.exchanged}  # fmt: skip
    return found if draws.theta is None else {**found, "theta": draws.theta}


def assert_same(one, other):
    assert arrays(one).keys() == arrays(other).keys()
    for name, values in arrays(one).items():
        assert (values == arrays(other)[name]).all(), name
    assert one.starts == other.starts


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_a_run_goes_on_from_any_saved_state(sampler, monkeypatch, tmp_path):
    target = random_target(sampler=sampler, chains=3)
    monkeypatch.setattr(chains, "SAVE_SECONDS", 1e9)
    whole = draws_of(target, 5)
    shapes = {name: values.shape for name, values in arrays(whole).items()}
    assert shapes["labels"] == (3, 30, 15)
    assert shapes["exchanged"] == (3, len(target.powers) - 1)
    monkeypatch.setattr(chains, "SAVE_SECONDS", -1)
    monkeypatch.setattr(chains, "SAVE_SHARE", -1)
    monkeypatch.setattr(chains, "BLOCK_SECONDS", 0)  # blocks shrink to one iteration
    saved = []
    monkeypatch.setattr(chains, "FIRST_BLOCK", 7)
    assert_same(draws_of(target, 5, save=lambda state: saved.append(state)), whole)
    assert len(saved) > 10
    assert int(saved[0]["done"]) == 7
    monkeypatch.setattr(chains, "FIRST_BLOCK", 4)
    for state in [saved[0], saved[1], saved[4], saved[-1]]:
        path = tmp_path / "state.npz"
        np.savez(path, **state)
        with np.load(path) as file:
            loaded = dict(file)
        again = []
        # generators of another seed: all that counts is in the state
        draws = draws_of(target, 99, saved=loaded, save=lambda state, to=again: to.append(state))
        assert_same(draws, whole)
        # blocks of one iteration: the last state is the same, wherever the run went on from
        assert bool(again) == (state is not saved[-1])
        for name, value in again[-1].items() if again else ():
            if not name.endswith("-table"):
                assert (value == saved[-1][name]).all(), name
    assert sum(whole.table) > 0


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_draws_do_not_depend_on_threads(sampler):
    target = random_target(sampler=sampler, chains=5)
    draws = draws_of(target, 6)
    for c in (4, 2, 0, 1, 3):
        chain = mixture.MixtureChain(
            target, np.random.default_rng([6, c]), mixture.STARTS[c % len(mixture.STARTS)]
        )
        parts = [chain.advance(length) for length in (1, 11, 28)]
        made = {name: np.concatenate([part[name] for part in parts])[10:] for name in
                ("labels", "point", "log_posterior")}  # fmt: skip
        for name, values in made.items():
            assert (values == arrays(draws)[name][c]).all()
        assert chain.start == draws.starts[c]
        assert chain.done == 40


def test_recorded_log_posterior_is_that_of_the_recorded_state():
    target = small_target(n=6, k=2, chains=2, iterations=60, burn_in=20, powers=(1.0, 0.4, 0.1))
    draws = draws_of(target, 1)
    _, hot, rest = log_targets(target)
    code = code_of(draws.labels, draws.point)
    expected = (hot[:, :, None] + rest[:, None, :]).ravel()[code]
    np.testing.assert_allclose(draws.log_posterior, expected, atol=1e-10)
    # offers alternate: 30 of each
    assert draws.exchanged.shape == (2, 2)
    assert np.allclose(draws.exchanged * 30, np.round(draws.exchanged * 30))
    assert (draws.exchanged > 0).all()
    assert (draws.exchanged <= 1).all()


def test_starts():
    rng = np.random.default_rng(0)
    y = np.array([0, 1, 1, 0, 1, 1, 1], dtype=np.uint8)
    made = {start: mixture.start_labels(start, y, rng) for start in mixture.STARTS}
    assert (made["responses"] == y).all()
    assert made["responses"] is not y
    assert (made["one component"] == 0).all()
    assert made["random"].sum() == 3
    assert set(np.unique(made["half the responses"])) <= {0, 1}
    assert all(labels.dtype == np.uint8 for labels in made.values())
    half = np.mean([mixture.start_labels("half the responses", y, rng) == y for _ in range(4000)])
    assert abs(half - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 28_000)


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
@pytest.mark.parametrize("sample", ["constant", "identical", "nothing dropped", "n = 2", "k = 0"])
def test_degenerate_data(sampler, sample):
    rng = np.random.default_rng(12)
    n, k, dropped = (2, 3, 5) if sample == "n = 2" else (9, 0 if sample == "k = 0" else 10, 7)
    y = np.append([0, 1], rng.integers(0, 2, n - 2)).astype(np.uint8)
    x = rng.integers(0, 2, (n, k), dtype=np.uint8)
    cut = Fraction(1, 9)
    if sample == "constant":
        x[:, 0], x[:, 1] = 0, 1
    if sample == "identical":
        x[:] = x[:, :1]
    if sample == "nothing dropped":
        dropped = 0
    settings = mixture.Mixture(**PRIORS, sampler=sampler, chains=4, iterations=60, burn_in=10,
                                alpha_points=5)  # fmt: skip
    target = mixture.MixtureTarget(x, y, settings, within(y, dropped, cut))
    draws = draws_of(target, 13)
    assert np.isfinite(draws.log_posterior).all()
    assert ((draws.point >= 0) & (draws.point < 5)).all()
    assert set(np.unique(draws.labels)) <= {0, 1}
    p = target.predict(draws.flat, x)
    assert ((p > 0) & (p < 1)).all()
    found = mixture.diagnose(target, draws)
    assert found.quantities.shape == (4, 50, 4)
    assert np.isfinite(found.quantities).all()
    assert (sum(draws.table) > 0) == (dropped > 0)


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_components_may_empty(sampler):
    target = random_target(n=4, k=1, dropped=0, sampler=sampler, chains=1, iterations=3000)
    draws = draws_of(target, 14)
    size = draws.labels.sum(axis=2)
    assert (size == 0).any()
    assert (size == 4).any()
    assert np.isfinite(draws.log_posterior).all()
    assert np.isfinite(target.predict(draws.flat, target.features)).all()


def fake(target, labels, point, log_posterior):
    return mixture.MixtureDraws(
        labels, point, log_posterior, None, ("random",) * len(labels), np.zeros((len(labels), 0)),
        (0, 0), labels.shape[1],
    )  # fmt: skip


def test_diagnostics_of_chains_that_stand_still():
    target = random_target(n=8, k=2, dropped=0)
    C, D = 4, 50
    labels = np.zeros((C, D, 8), dtype=np.uint8)
    point = np.full((C, D, 2), 3, dtype=np.intp)
    same = mixture.diagnose(target, fake(target, labels, point, np.full((C, D), -7.0)))
    assert (same.rhat == 1).all()
    assert (same.ess == C * D).all()
    assert same.reliable
    assert same.at_end == (0, 0)
    stuck = point.copy()
    stuck[0, :, 0], stuck[1, :, 0] = 0, 5
    log_posterior = np.repeat(np.arange(C), D).reshape(C, D) - 7.0
    found = mixture.diagnose(target, fake(target, labels, stuck, log_posterior))
    assert found.rhat[0] > 2
    assert found.rhat[1] > 2
    assert not found.reliable
    assert found.at_end == (0.25, 0.25)


def test_diagnostics_of_independent_draws_and_of_one_chain():
    target = random_target(n=8, k=2, dropped=0)
    rng = np.random.default_rng(1)
    for C, D in [(4, 400), (1, 801)]:
        labels = rng.integers(0, 2, (C, D, 8), dtype=np.uint8)
        point = rng.integers(0, 6, (C, D, 2))
        found = mixture.diagnose(target, fake(target, labels, point, rng.normal(size=(C, D))))
        assert (found.rhat < 1.03).all()
        assert (found.ess > C * D / 3).all()
        assert found.reliable
        # halves that disagree
        drift = fake(target, labels, point, np.arange(C * D).reshape(C, D) // (D / 2) * 10.0
                     + rng.normal(size=(C, D)))  # fmt: skip
        found = mixture.diagnose(target, drift)
        assert found.rhat[1] > 1.2
        assert not found.reliable
    # exchanging the components changes nothing that is compared
    one = mixture.diagnose(target, fake(target, labels, point, np.zeros((1, 801))))
    same = (labels == target.response).sum(axis=2)
    assert (one.quantities[:, :, 2] == np.maximum(same, 8 - same)).all()
    assert (one.quantities[:, :, 0] == np.log(target.settings.alpha)[point[:, :, 0]]).all()
    for d in (0, 5, 800):
        expected = target.predict((labels[0, d : d + 1], point[0, d : d + 1]), target.features[:1])
        assert one.quantities[0, d, 3] == pytest.approx(expected[0], rel=1e-12)


@pytest.mark.parametrize("sampler", ["collapsed", "gibbs"])
def test_a_single_chain_has_diagnostics(sampler):
    target = random_target(sampler=sampler, chains=1, iterations=300, burn_in=51)
    draws = draws_of(target, 15)
    assert draws.starts == ("random",)
    found = mixture.diagnose(target, draws)
    assert np.isfinite(found.rhat).all()
    assert (found.ess > 0).all()


def test_very_few_draws_are_not_reliable():
    target = random_target(chains=1, iterations=4, burn_in=1)
    found = mixture.diagnose(target, draws_of(target, 16))
    assert not found.reliable


# ---- settings and arguments ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"class_prior": (0.0, 1.0)}, r"class_prior\[0\] must be a positive number, got 0.0"),
        ({"class_prior": 2.0}, "class_prior must be a pair"),
        ({"alpha_prior": (1.0, -2.0)}, r"alpha_prior\[1\] must be a positive number"),
        ({"alpha_prior": (1.0,)}, "alpha_prior must be a pair"),
        ({"response_alpha_prior": ("a", 1.0)}, r"response_alpha_prior\[0\]"),
        ({"response_alpha_prior": (1.0, float("nan"))}, r"response_alpha_prior\[1\]"),
        ({"sampler": "gibs"}, "unknown sampler 'gibs'. Fix: choose one of collapsed, gibbs"),
        ({"burn_in": 400}, "of 400 iterations none remains after burn_in 400. Fix"),
        ({"iterations": 5, "burn_in": 9}, "of 5 iterations none remains after burn_in 9. Fix"),
        ({"burn_in": -1}, "burn_in must be a whole number from 0, got -1"),
        ({"iterations": 0}, "iterations must be a whole number from 1, got 0"),
        ({"iterations": 2.5}, "iterations must be a whole number from 1, got 2.5"),
        ({"iterations": float("nan")}, "iterations must be a whole number"),
        ({"iterations": float("inf")}, "iterations must be a whole number"),
        ({"chains": 0}, "chains must be a whole number from 1"),
        ({"chains": True}, "chains must be a whole number from 1, got True"),
        ({"replicas": np.nan}, "replicas must be a whole number from 1"),
        ({"replicas": True}, "replicas must be a whole number from 1"),
        ({"replicas": 0}, "replicas must be a whole number from 1"),
        ({"replicas": "4"}, "replicas must be a whole number from 1, got '4'"),
        ({"alpha_points": 0}, "alpha_points must be a whole number from 1"),
        ({"quadrature": "simpson"}, "unknown quadrature 'simpson'"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(UserError, match=words):
        mixture.Mixture(**options)


@pytest.mark.parametrize(
    ("n", "options", "replicas"),
    [(20, {}, 4), (300, {}, 1), (300, {"replicas": 3}, 3), (20, {"sampler": "gibbs"}, 1)],
)
def test_powers_fall_from_one(n, options, replicas):
    y = np.arange(n) % 2
    target = mixture.MixtureTarget(np.zeros((n, 1), dtype=np.uint8), y, mixture.Mixture(**options))
    assert len(target.powers) == replicas
    assert target.powers[0] == 1
    assert target.powers[-1] == pytest.approx(0.02 if replicas > 1 else 1)
    assert (np.diff(target.powers) < 0).all()


def test_old_names_of_samplers_are_read():
    for old, new in (("thesis", "gibbs"), ("as-printed", "approximate")):
        assert mixture.Mixture(sampler=old) == mixture.Mixture(sampler=new)
        assert mixture.Mixture(sampler=old).sampler == new


def test_defaults_follow_the_sampler():
    settings = mixture.Mixture()
    assert (settings.chains, settings.iterations, settings.burn_in) == (4, 400, 100)
    assert settings.n_draws == 300
    assert len(settings.alpha) == len(settings.response_alpha) == 200
    thesis = mixture.Mixture(sampler="gibbs")
    assert (thesis.chains, thesis.iterations, thesis.burn_in) == (1, 50, 10)
    assert len(thesis.alpha) == 10
    assert mixture.Mixture(iterations=12).burn_in == 3
    assert mixture.Mixture(iterations=12.0, burn_in=0).n_draws == 12


def test_bad_data():
    settings = mixture.Mixture()
    with pytest.raises(UserError, match="at most 600 training samples, got 601"):
        mixture.MixtureTarget(np.zeros((601, 1), dtype=np.uint8), np.arange(601) % 2, settings)
    with pytest.raises(DataError, match="table of 0 and 1"):
        mixture.MixtureTarget(np.full((4, 2), 0.5), [0, 1, 0, 1], settings)
    with pytest.raises(DataError, match="table of 0 and 1"):
        mixture.MixtureTarget(np.zeros(4), [0, 1, 0, 1], settings)
    target = random_target()
    draws = draws_of(target, 3, 1)
    with pytest.raises(DataError, match=r"9 features .* got a table of shape \(2, 8\)"):
        target.predict(draws.flat, np.zeros((2, 8), dtype=np.uint8))
    assert target.predict(draws.flat, np.zeros((0, 9), dtype=np.uint8)).shape == (0,)
