"""New samples beside training samples: how many are unlike them by chance, and which are found."""

from itertools import product

import numpy as np
import pytest
from cases import only

from thesiskit.models.likeness import REASONS, UNLIKE, Likeness, indicators


class Kind:
    """Samples of some classes, which differ in a tenth of the features."""

    def __init__(self, rng, p, classes=2, noise="normal", level=8.0):
        self.rng, self.noise = rng, noise
        self.base = level + rng.normal(0, 2, p)
        self.effect = rng.normal(size=(classes, p)) * (rng.random(p) < 0.1)
        self.factors = rng.normal(0, 0.4, (5, p))

    def draw(self, n, y=None):
        """Return samples (n, p) and their classes."""
        rng, p = self.rng, len(self.base)
        y = rng.integers(0, len(self.effect), n) if y is None else np.full(n, y)
        noise = rng.standard_t(3, (n, p)) if self.noise == "heavy" else rng.normal(size=(n, p))
        if self.noise == "correlated":
            noise += rng.normal(size=(n, 5)) @ self.factors
        X = self.base + self.effect[y] + noise
        return np.where(rng.random((n, p)) < 0.1, np.nan, X) if self.noise == "missing" else X, y


def learnt(X, y, **more):
    return Likeness.of(X, y, np.arange(X.shape[1]), **more)


# ---- of samples like the training samples one in a hundred, or fewer ----


@pytest.mark.parametrize(
    ("noise", "p"),
    only(
        product(("normal", "correlated", "heavy", "missing"), (10, 300)),
        ("normal", 10), ("correlated", 300), ("heavy", 10), ("missing", 300),
    ),
)  # fmt: skip
def test_of_samples_like_the_training_samples_few_are_unlike(rng, noise, p):
    shares = []
    for n, classes in [(30, 2), (40, 3), (60, 2), (60, 4), (120, 3), (300, 2)]:
        kind = Kind(rng, p, classes, noise)
        found = learnt(*kind.draw(n)).compare(kind.draw(500)[0])
        shares.append((found.p < UNLIKE).mean())
        assert set(found.reason[found.p < UNLIKE]) <= set(REASONS)
        assert not found.reason[found.p >= UNLIKE].any()
    assert 0.001 < np.mean(shares) < 0.02
    assert max(shares) < 0.06


def test_many_features_make_training_samples_no_nearer(rng):
    """Each training sample is compared with the others alone, also 30 samples of 5,000 features."""
    kind, shares = Kind(rng, 5000), []
    for _ in range(5):
        shares.append((learnt(*kind.draw(30)).compare(kind.draw(200)[0]).p < UNLIKE).mean())
    assert np.mean(shares) < 0.02


def test_samples_that_go_together_are_left_out_together(rng):
    kind = Kind(rng, 200)
    X, y = kind.draw(30)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    X += rng.normal(0, 0.1, X.shape)  # three samples of each patient
    new = kind.draw(300)[0]
    groups = np.repeat(np.arange(30), 3)
    assert (learnt(X, y, groups=groups).compare(new).p < UNLIKE).mean() < 0.03
    assert (learnt(X, y).compare(new).p < UNLIKE).mean() > 0.1


def discrete(rng, n, p, apart, skew):
    """Return shares that are unlike: of like samples, of values at random, of four never seen."""
    counts = [int(k) for k in rng.integers(2, 5, p)]
    often = [[rng.dirichlet(np.full(k, skew))] * 2 for k in counts]
    for j in np.flatnonzero(rng.random(p) < 0.3 * apart):
        often[j] = [often[j][0], rng.dirichlet(np.full(counts[j], skew))]

    def draw(n):
        y = rng.integers(0, 2, n)
        return np.array([[rng.choice(k, p=f[g]) for k, f in zip(counts, often, strict=True)]
                         for g in y]), y  # fmt: skip

    (X, y), (new, _) = draw(n), draw(150)
    held = [np.unique(column) for column in X.T]
    new = np.column_stack([np.where(np.isin(one, values), one, -2)
                           for one, values in zip(new.T, held, strict=True)])  # fmt: skip
    odd = np.column_stack([rng.choice(values, 150) for values in held])
    unseen = new.copy()
    unseen[:, :4] = -2
    for one in (X, new, odd, unseen):
        one[rng.random(one.shape) < 0.05] = -1
    likeness = learnt(indicators(X, counts), y, least=1 / n)
    return [(likeness.compare(indicators(one, counts)).p < UNLIKE).mean()
            for one in (new, odd, unseen)]  # fmt: skip


@pytest.mark.parametrize(("n", "p"), only(product((100, 400), (8, 50)), (100, 50), (400, 8)))
def test_discrete_features(rng, n, p):
    """Also where some samples have values that no other has, which is usual of many features."""
    shares = [discrete(rng, n, p, apart, skew) for apart in (0, 1) for skew in (1, 0.3)]
    like, odd, unseen = np.mean(shares, axis=0)
    assert like < 0.04
    assert odd > 6 * like
    assert odd > (0.1 if p == 8 else 0.7)
    assert unseen > 0.8


def test_indicators():
    nan = np.nan
    expected = [[1, 0, 0, 0, 1, 0, 0], [nan] * 3 + [0, 0, 0, 1], [0, 0, 1, 0, 0, 1, 0]]
    found = indicators(np.array([[0, 1], [-1, -2], [-2, 2]]), [2, 3])
    np.testing.assert_array_equal(found, expected)
    found = learnt(found.repeat(5, axis=0), np.arange(15) % 2, least=0.1)
    assert len(found.features) == 7  # one of them constant
    whole = learnt(np.full((15, 2), [nan, 1.0]), np.arange(15) % 2, least=0.1)
    assert whole.features.tolist() == [1]  # nothing is known of the other


# ---- what is found ----


@pytest.mark.parametrize("n", [30, 100])
def test_another_scale_is_seen_where_each_value_is_in_the_range(rng, n):
    kind = Kind(rng, 1000, level=0.0)
    kind.base /= 2
    X, y = kind.draw(n)
    likeness = learnt(X, y)
    new = kind.draw(50)[0]
    halves = likeness.compare(new / 2)
    assert likeness.beyond(new / 2, np.arange(1000)).mean() < 0.05
    assert (halves.p < 0.001).all()
    np.testing.assert_allclose(halves.scale, 0.5, atol=0.05)
    assert (halves.reason == "scale").all()


def test_raw_values_shifted_ones_and_noise(rng):
    kind = Kind(rng, 500)
    likeness, new = learnt(*kind.draw(60)), kind.draw(40)[0]
    raw = likeness.compare(2.0**new)
    assert (raw.p < 0.001).all()
    assert (raw.reason == "scale").all()
    shifted = likeness.compare(new + 3)
    assert (shifted.p < 0.001).all()
    assert (shifted.reason == "shift").all()
    np.testing.assert_allclose(shifted.shift, 3, atol=0.5)
    noisy = likeness.compare(new + rng.normal(0, 2, new.shape))
    assert (noisy.p < 0.001).all()
    assert (noisy.reason == "distance").all()
    assert (noisy.distance > 1.5).all()


def test_another_scale_of_heavy_tailed_samples_that_were_standardised(rng):
    """Features differ so much in the slope that only the spread of a sample, which is 1, tells."""

    def draw(n):
        X = kind.draw(n)[0] + 8 * rng.normal(size=(n, 1)) * kind.factors[0]
        X = np.sinh(X / 2) * np.exp(rng.normal(0, 0.5, (n, 1)))
        return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)

    kind = Kind(rng, 1000, noise="heavy", level=0.0)
    likeness, new = learnt(draw(40), np.arange(40) % 2), draw(200)
    assert (likeness.compare(new).p < UNLIKE).mean() < 0.06
    halves = likeness.compare(new / 2)
    assert (halves.p < UNLIKE).all()
    assert (halves.reason == "scale").mean() > 0.8
    new[:, ::2] = np.nan  # a table that lacks features has another spread
    assert (likeness.compare(new).p < UNLIKE).mean() < 0.06


def test_few_samples_of_few_features_with_heavy_tails_or_two_values(rng):
    for noise in ("heavy", "bits"):
        shares = []
        for _ in range(20):
            kind = Kind(rng, 10, noise=noise.replace("bits", "normal"), level=0.0)
            (X, y), (new, _) = kind.draw(30), kind.draw(200)
            if noise == "bits":
                X, new = (X > 0).astype(float), (new > 0).astype(float)
            shares.append((learnt(X, y).compare(new).p < UNLIKE).mean())
        assert np.mean(shares) < 0.035


def test_samples_that_have_scales_of_their_own(rng):
    """Scales are skewed, and so are measures: once 2.2% of these were unlike training samples."""
    shares, doubled = [], []
    for _ in range(60):
        kind = Kind(rng, 30, level=0.0)
        scales = np.exp(rng.normal(0, 0.7, 340))
        (X, y), (new, _) = kind.draw(40), kind.draw(300)
        X, new = np.exp(X / 2) * scales[:40, None], np.exp(new / 2) * scales[40:, None]
        likeness = learnt(X, y)
        shares.append((likeness.compare(new).p < UNLIKE).mean())
        doubled.append((likeness.compare(100 * new).p < UNLIKE).mean())
    assert np.mean(shares) < 0.018
    assert np.mean(doubled) > 0.8


def test_samples_of_a_class_that_did_not_train(rng):
    kind = Kind(rng, 500, classes=4)
    kind.effect *= 2
    X, y = kind.draw(150)
    likeness = learnt(X[y < 3], y[y < 3])
    apart = likeness.compare(kind.draw(100, y=3)[0])
    assert (apart.p < UNLIKE).mean() > 0.95
    assert (apart.reason == "classes").mean() > 0.5


def test_values_beyond_the_range_and_missing_ones(rng):
    kind = Kind(rng, 20)
    X, y = kind.draw(40)
    likeness = Likeness.of(X, y, np.array([3, 5, 9, 12]))
    new = X[:3].copy()
    new[0, 3], new[0, 5], new[1, 9], new[1, 12] = 99, np.nan, -99, 99
    assert likeness.beyond(new, np.array([3, 5, 9])).tolist() == [0.5, 1 / 3, 0]
    new[2] = np.nan
    found = likeness.compare(new)
    assert np.isnan(found.p).tolist() == [False, False, True]


def test_tables_of_which_little_can_be_said(rng):
    X, y = Kind(rng, 20).draw(9)
    assert np.isnan(learnt(X, y).compare(X).p).all()  # too few
    X, y = Kind(rng, 20).draw(30)
    X[:, 4:] = 1.0  # constant
    X[:, 3] = np.arange(30) == 7
    assert (learnt(X, y).compare(X).p > UNLIKE).mean() > 0.9
    assert np.isnan(learnt(X * 0, y).compare(X).p).all()
    y = np.where(np.arange(30) == 3, 2, y)  # a class of one sample
    assert (learnt(X, y).compare(X).p > UNLIKE).mean() > 0.9
    bits = (rng.random((60, 50)) < 0.3).astype(np.uint8)
    assert (learnt(bits, bits[:, 0]).compare(1 - bits).p < UNLIKE).mean() > 0.9


def test_large_tables_are_looked_at_in_part(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("thesiskit.models.likeness.SAMPLES", 40)
    monkeypatch.setattr("thesiskit.models.likeness.FEATURES", 100)
    kind = Kind(rng, 300)
    X, y = kind.draw(200)
    np.save(tmp_path / "x.npy", X)
    mapped = Likeness.of(np.load(tmp_path / "x.npy", mmap_mode="r"), y, np.array([1, 250]))
    assert mapped.own.shape == (40, 7)
    assert mapped.features.shape == (100,)
    assert (mapped.compare(kind.draw(100)[0]).p < UNLIKE).mean() < 0.05
    assert (mapped.compare(X[:20] / 2).p < UNLIKE).all()
    assert mapped.low[1] == X[:, 250].min()


def test_measures_are_those_of_the_definitions(rng):
    kind = Kind(rng, 30)
    X, y = kind.draw(25)
    new = kind.draw(4)[0]
    likeness = learnt(X, y)
    m, s = X.mean(axis=0), np.sqrt(X.var(axis=0, ddof=1) + (0.01 * X.mean(axis=0)) ** 2)
    d = (new - m) / s
    found = likeness.compare(new)
    slope = [np.polyfit(m / s, one / s, 1)[0] for one in new]
    np.testing.assert_allclose(found.scale, slope)
    np.testing.assert_allclose(found.shift, d.mean(axis=1))  # none is cut
    size = np.log(np.sqrt((d**2).mean(axis=1)))
    np.testing.assert_allclose(found.distance, np.exp(size - likeness.own[:, 2].mean()))
    # what is kept of a training sample is what the others say of it
    order = np.argsort(y, kind="stable")
    for row in (0, 11):
        rest = np.delete(order, row)
        alone = learnt(X[rest], y[rest]).compare(X[order[row]][None])
        other = learnt(X[rest], y[rest]).own[:, 2].mean()
        np.testing.assert_allclose(
            likeness.own[row, 0] + 1, np.clip(alone.scale, -9, 9)[0], atol=1e-9
        )
        np.testing.assert_allclose(likeness.own[row, 1], alone.shift[0], atol=1e-9)
        np.testing.assert_allclose(likeness.own[row, 2], np.log(alone.distance[0]) + other)
