"""What the tests of all logistic kernels share: groups to try, stages, and what must not change."""

import numpy as np
import reference_hamiltonian
import reference_tree
from scipy import special, stats
from statistical import ALARM

from thesiskit.models.patterns import Groups, compress_features, compress_sequences

# ---- groups to try ----


class ArbitraryGroups(Groups):
    """Any subsets of rows, with any counts of patterns."""

    def __init__(self, row_of, subsets, kinds, kind):
        self.row_of, self.n_rows = np.asarray(row_of, dtype=np.int32), max(row_of) + 1
        sizes = np.array([len(s) for s in subsets])
        self.members = np.concatenate(subsets).astype(np.int32)
        self.end = np.cumsum(sizes)
        self.begin = self.end - sizes
        self.kinds, self.kind = np.asarray(kinds), np.asarray(kind, dtype=np.int32)
        self.order = self.kinds.shape[1] - 1


def arbitrary(rng, rows=6, groups=7, order=2, merged=True, large=0) -> ArbitraryGroups:
    """Random subsets, counts above 1; with `large`, so many coefficients of one kind more."""
    row_of = np.arange(rows)
    if merged:
        row_of = rng.permutation(np.append(row_of, [0, 0, 1, rows - 1]))
    subsets = [rng.permutation(rows)[: rng.integers(1, rows + 1)] for _ in range(groups + large)]
    kinds = [[1] + [0] * order, [0] * order + [1], [1] + [3] * order]
    kinds += rng.integers(0, 5, (3, order + 1)).tolist()
    kinds[3][1] += 1
    kinds[4][order] += 1
    kinds[5][0] += 1
    kind = np.append(rng.integers(0, 6, groups), np.full(large, 1))
    kind[:6] = range(6)
    return ArbitraryGroups(row_of, subsets, kinds, kind)


def sequences(rng, compressed=True, samples=9, length=3, order=3):
    histories = rng.integers(0, 2, (samples, length))
    histories[-1] = histories[0]
    return compress_sequences(histories, order, compress=compressed)


def design_of(groups) -> np.ndarray:
    design = np.zeros((groups.n_samples, groups.n_groups))
    for g in range(groups.n_groups):
        rows = groups.members[groups.begin[g] : groups.end[g]]
        design[np.isin(groups.row_of, rows), g] = 1
    return design


def groups_named(name: str, rng):
    """Groups of each sort that sweeps must serve."""
    if name in ("compressed", "original"):
        return sequences(rng, name == "compressed")
    if name == "plain rows":
        return compress_sequences([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]], 3)
    if name == "many samples":  # more than CERTAIN, in rows of one sample and of several
        return compress_sequences(rng.integers(0, 2, (32, 5)), 5)
    if name == "arbitrary":
        return arbitrary(rng)
    if name == "arbitrary plain":
        return arbitrary(rng, merged=False)
    if name == "features":
        table = rng.integers(0, 3, (12, 4))
        table[3] = table[7]
        table[5, 1] = -1
        return compress_features(table, 3)
    assert name == "large"
    return arbitrary(rng, large=530)


NAMES = (
    "compressed", "original", "plain rows", "many samples", "arbitrary", "arbitrary plain",
    "features",
)  # fmt: skip


def tiny(name, rng):
    """Groups of 6 to 10 samples."""
    if name == "arbitrary":
        return arbitrary(rng, rows=5, groups=6)
    if name == "arbitrary plain":
        return arbitrary(rng, rows=6, groups=6, merged=False)
    if name == "features":
        table = [[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [-1, 0, 0]]
        return compress_features(table, 2)
    histories = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [0, 1]]
    if name == "plain rows":
        return compress_sequences([*histories[:4], [2, 1], [2, 2]], 2)
    return compress_sequences(histories[:6], 2, compress=name == "compressed")


# ---- the joint distribution of parameters and data ----

# as many as those tests have that find a sabotaged kernel with z above 8; `make test-slow` has more
REPLICATES, MORE_REPLICATES = 6000, 20_000
FEW = 6  # steps of a trajectory
LIGHT = {"sigma_shape": 2.5, "sigma_mode": 0.5}  # the thesis's prior is far heavier


def ranks(slow, log_sigma, coefficient):
    """Where sigmas (size, O) and coefficients (size, S, G) are in their priors, from -1 to 1."""
    rates = np.array([slow.rate(max(o, 1)) for o in range(slow.order + 1)])
    u = 1 - 2 * special.gammainc(slow.shape, rates * np.exp(-log_sigma))[:, 1:]
    power = np.exp((1 if slow.cauchy else 2) * log_sigma) @ slow.counts.T
    width = (power if slow.cauchy else np.sqrt(power))[:, None, :]
    return u, 2 * (stats.cauchy if slow.cauchy else stats.norm).cdf(coefficient / width) - 1


def largest_z(before, after) -> tuple[float, int]:
    """The largest of the z scores of paired differences (., size), and how many there were."""
    difference = after - before
    size = difference.shape[1]
    difference = difference[(np.abs(difference) > 1e-9).sum(axis=1) > min(1000, size // 20)]
    error = difference.std(axis=1) / np.sqrt(size)
    return float(np.abs(difference.mean(axis=1) / error).max()), len(difference)


def assert_unchanged(states) -> None:
    """No stage may change the joint distribution: bounded functions (., size) after each."""
    for i in range(1, len(states)):
        z, tests = largest_z(states[i - 1], states[i])
        assert tests > 5
        assert z < stats.norm.isf(ALARM / tests / 2), f"stage {i}: z = {z:.2f} of {tests}"


def coefficients_twice(chain, capsule):
    chain.sweep_coefficients(capsule)
    chain.sweep_coefficients(capsule)


def widths_twice(chain, capsule):
    chain.sweep_widths(capsule)
    chain.sweep_widths(capsule)


def short(chain):
    """The chain with shorter trajectories, and trees in blocks of a few rows.

    What trajectories leave as it is does not depend on this.
    """
    chain.steps, chain.block = FEW, 2
    return chain


def slow_moves(model, learn=True):
    """The joint moves of an iteration by the twins, which return how often they looked."""
    settings, groups = model.settings, model.groups
    often = settings.joint_updates
    if model.moves == "tree":
        rounds = reference_tree.ROUNDS * settings.learning
        tuning = reference_tree.Tuned(groups.order, rounds if learn else 0)

        def move(slow, coefficient, log_sigma, rng):
            return reference_tree.move_tree(
                slow, groups, coefficient, log_sigma, settings, tuning, rng
            )

        return [move] * (often * reference_tree.ROUNDS)
    tuned = reference_hamiltonian.Tuned(settings.learning * often if learn else 0)

    def along(slow, coefficient, log_sigma, rng):
        free = settings.sigma is None
        return reference_hamiltonian.move_hamiltonian(
            slow, coefficient, log_sigma, free, tuned, FEW, rng, settings.most_steps
        )

    return [along] * often


def together_once(chain, capsule):
    chain.sweep_together(capsule)


def tree_once(chain, capsule):
    chain.sweep_tree(capsule)


# ---- exact posteriors ----


def batch_test(values, expected, alarm=ALARM / 4) -> None:
    """The mean of a chain's values must be the expected one (t-test of 50 batches)."""
    batches = values[: len(values) // 50 * 50].reshape(50, -1).mean(axis=1)
    t = (batches.mean() - expected) / (batches.std(ddof=1) / np.sqrt(50))
    assert 2 * stats.t.sf(abs(t), 49) > alarm, (t, batches.mean(), expected)


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def quantile(cauchy, u):
    return np.tan(np.pi * (u - 0.5)) if cauchy else special.ndtri(u)
