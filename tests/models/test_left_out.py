"""What is known of features left out: ties, screened tables, and features that are irrelevant."""

from fractions import Fraction

import numpy as np
import pytest
import reference
from cases import only

from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.errors import UserError
from thesiskit.models import naive_bayes as nb
from thesiskit.models.integrals import log_discard_probability, log_tied_probability
from thesiskit.models.naive_bayes import log_factor, log_lot
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.selection import (
    AT,
    BELOW,
    LOT,
    WITHIN,
    LeftOut,
    Screened,
    select_features,
    squared_correlation,
    tied_pairs,
)

ALPHA = np.array([0.3, 2.0, 40.0])
PI = np.array([0.05, 0.5, 1.0])


def drawn(seed, n=(5, 6), p=30, alpha=2.0):
    rng = np.random.default_rng(seed)
    found = draw_naive_bayes(rng, features=p, alpha=alpha, train=n, test=(4, 4))
    return found.train.features, found.train.response, found.test.features


@pytest.mark.parametrize(
    ("y", "count"),
    only(
        [((0, 1), 1), ((0, 1), 2), ((0, 1), 3), ((0, 0, 1, 1), 1), ((0, 0, 1, 1), 2),
         ((0, 0, 1, 1), 3), ((0, 0, 1, 1, 1), 1), ((0, 0, 1, 1, 1), 2), ((0, 1, 1, 1, 1), 1),
         ((0, 1, 1, 1, 1), 2)],
        ((0, 1), 3), ((0, 0, 1, 1), 2), ((0, 0, 1, 1, 1), 1), ((0, 1, 1, 1, 1), 1),
    ),
)  # fmt: skip
def test_factors_against_every_table_and_every_lot(y, count):
    """Equations eq-cor-lik and eq-corfact; so many features are left out, in all their tables."""
    n1 = sum(y)
    n0 = len(y) - n1
    squares = {squared_correlation(i, j, n0, n1) for i in range(n0 + 1) for j in range(n1 + 1)}
    for square in sorted(squares):
        for kept in (1, 2):
            for t in (*range(count + 1), None):
                if square == 0 and t != count:
                    continue
                events = {LOT: count} if t is None else {BELOW: count - t, AT: t}
                left_out = LeftOut.of(events, (n0, n1), square, kept)
                ours, _ = log_factor(left_out, ALPHA, PI, "exact")
                exact = np.array([[
                    float(reference.chance_of_leaving_out(
                        y, square, kept, count, Fraction(a), Fraction(b), t))
                    for b in PI.tolist()] for a in ALPHA.tolist()])  # fmt: skip
                difference = ours - np.log(exact)
                # equal up to a number that has nothing to do with alpha and pi
                np.testing.assert_allclose(difference, difference[0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n0", "n1"), [(3, 4), (20, 20), (33, 67), (400, 350)])
def test_ties_and_what_is_below_add_up(n0, n1):
    for i, j in ((0, n1), (n0 // 3, n1 // 2), (n0, 1)):
        square = squared_correlation(i, j, n0, n1)
        pairs = tied_pairs(n0, n1, square).tolist()
        assert [i, j] in pairs
        assert all(squared_correlation(*pair, n0, n1) == square for pair in pairs)
        tied = np.exp(log_tied_probability(n0, n1, square, ALPHA))
        below = np.exp(log_discard_probability(n0, n1, square, ALPHA, below=True))
        within = np.exp(log_discard_probability(n0, n1, square, ALPHA))
        np.testing.assert_allclose(tied + below, within, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 7, 1000, 10**6])
@pytest.mark.parametrize("m", [1, 4, 60, 500])
def test_lot_against_its_sum(d, m):
    from scipy.special import gammaln, logsumexp

    t = np.arange(min(d, 200_000) + 1)
    choose = gammaln(d + 1) - gammaln(t + 1) - gammaln(d - t + 1)
    lot = gammaln(m + t + 1) - gammaln(m + 1) - gammaln(t + 1)
    for e in (1e-40, 1e-9, 1e-5, 1e-3, 0.1):
        if d * e > 50_000:
            continue  # terms beyond those summed here
        log_e, log_s = np.log(e), np.log1p(-e) - 0.2
        exact = logsumexp(choose + t * log_e + (d - t) * log_s - lot)
        ours = log_lot(np.array([log_e]), np.array([log_s]), d, m)[0]
        assert ours == pytest.approx(exact, rel=1e-10, abs=1e-8)


@pytest.mark.parametrize("ties", ["exact", "as-printed"])
def test_predictions_with_some_relevant_against_rational_arithmetic(ties):
    X, y, new = drawn(3, n=(3, 3), p=4)
    found = select_features(X, y, 2, np.random.default_rng(0), ties=ties)
    pi = (0.125, 0.5, 1.0)
    settings = nb.NaiveBayes(class_prior=(2.0, 0.5), alpha_points=3, relevant="some", pi=pi)
    posterior = nb.fit(found, settings)
    points = [(Fraction(a), Fraction(b)) for a in posterior.alpha for b in pi]
    if ties == "exact":
        t = found.tied - found.tied_kept
        chances = [
            reference.chance_of_leaving_out(
                tuple(y.tolist()), found.gamma_squared, found.tied_kept, 2, a, b, t
            )
            for a, b in points
        ]
    else:
        counts = [(i, j) for i in range(4) for j in range(4)]
        within = [c for c in counts if squared_correlation(*c, 3, 3) <= found.gamma_squared]
        chances = [
            sum(reference.mixed_marginal(*c, 3, 3, a, b) for c in within) ** 2 for a, b in points
        ]
    for row, p in zip(new, nb.predict(posterior, new[:, found.selected]), strict=True):
        exact, relevance = reference.predictive_some(
            X[:, found.selected], y, row[found.selected], points,
            (Fraction(2), Fraction(1, 2)), chances,
        )  # fmt: skip
        assert p == pytest.approx(float(exact), rel=1e-11)
        np.testing.assert_allclose(posterior.relevance, [float(r) for r in relevance], rtol=1e-11)


@pytest.mark.parametrize("relevant", ["all", "some"])
def test_screened_table_is_as_good_as_the_whole(relevant):
    X, y, new = drawn(5, n=(12, 10), p=400, alpha=20.0)
    settings = nb.NaiveBayes(relevant=relevant)

    def fitted(columns, k, threshold, screened):
        found = select_features(
            X[:, columns], y, k, np.random.default_rng(7), threshold=threshold, prefiltered=screened
        )
        posterior = nb.fit(found, settings)
        return posterior, nb.predict(posterior, new[:, columns][:, found.selected])

    everything = np.arange(400)
    by_threshold = select_features(X, y, None, np.random.default_rng(0), threshold="0.35")
    columns = np.sort(by_threshold.selected)
    screened = Screened(400, Fraction("0.35") ** 2)
    whole, expected = fitted(everything, None, "0.35", None)
    part, ours = fitted(columns, None, None, screened)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.log_joint, whole.log_joint, rtol=0, atol=1e-10)
    # further selection on top, by a number and by a threshold
    assert len(columns) > 9
    for k, threshold in ((6, None), (None, "0.5")):
        _, expected = fitted(everything, k, threshold, None)
        for known in (screened, Screened(400)):
            _, ours = fitted(columns, k, threshold, known)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


def test_what_is_said_of_features_left_out():
    X, y, _ = drawn(1, n=(4, 4), p=60)
    rng = np.random.default_rng(0)
    found = select_features(X, y, 5, rng)
    tied = found.tied - found.tied_kept
    assert tied > 0
    assert found.left_out.rows.tolist() == [[4, 4, BELOW, 55 - tied], [4, 4, AT, tied]]
    printed = select_features(X, y, 5, rng, ties="as-printed")
    assert printed.left_out.rows.tolist() == [[4, 4, WITHIN, 55]]
    threshold = select_features(X, y, None, rng, threshold="0.3")
    assert threshold.left_out.rows.tolist() == [[4, 4, WITHIN, 60 - len(threshold.selected)]]
    whole = select_features(X, y, 60, rng)
    assert whole.left_out.total == 0
    best = X[:, found.selected]
    screened = select_features(best, y, None, rng, prefiltered=Screened(60))
    assert screened.left_out.rows.tolist() == [[4, 4, LOT, 55]]
    assert screened.left_out.tied_kept == found.tied_kept
    assert screened.n_features == 60
    # some of those that tie are kept by the screening, and one less by us
    again = select_features(best, y, 4, rng, prefiltered=Screened(60))
    if found.tied_kept > 1:
        assert again.left_out.rows.tolist() == [[4, 4, AT, 1], [4, 4, LOT, 55]]


def test_every_feature_ties():
    X = np.zeros((8, 12), dtype=np.uint8)
    X[:4] = 1
    y = np.repeat([0, 1], 4)
    found = select_features(X, y, 3, np.random.default_rng(0))
    assert found.left_out.rows.tolist() == [[4, 4, AT, 9]]
    for relevant in ("all", "some"):
        p = nb.predict(nb.fit(found, nb.NaiveBayes(relevant=relevant)), np.eye(3, dtype=np.uint8))
        assert ((p > 0) & (p < 1)).all()
    # none of them has anything to do with the response
    useless = np.tile([0, 1], 4)[:, None] * np.ones((1, 12), dtype=np.uint8)
    found = select_features(useless, y, 3, np.random.default_rng(0))
    assert found.gamma_squared == 0
    assert found.left_out.rows.tolist() == [[4, 4, AT, 9]]
    assert np.isfinite(nb.fit(found, nb.NaiveBayes(relevant="some")).log_joint).all()


def test_impossible_screenings_are_refused():
    X, y, _ = drawn(2, p=20)
    rng = np.random.default_rng(0)
    with pytest.raises(UserError, match="20 features, so it cannot have been selected from 19"):
        select_features(X, y, None, rng, prefiltered=Screened(19))
    with pytest.raises(UserError, match=r"feature \d+ has \|COR\| .* less than the threshold 0.9"):
        select_features(X, y, None, rng, prefiltered=Screened(100, Fraction(81, 100)))
    with pytest.raises(UserError, match="binary features"):
        select_features(X + 0.5, y, 3, rng, prefiltered=Screened(100))
    with pytest.raises(UserError, match="unknown ties"):
        select_features(X, y, 3, rng, ties="lost")


def test_missing_values_among_the_ties():
    rng = np.random.default_rng(4)
    X, y, _ = drawn(6, n=(6, 6), p=40)
    X = X.astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    found = select_features(PackedFeatures.pack(X), y, 6, rng)
    rows = found.left_out.rows
    assert rows[rows[:, 2] == AT, 3].sum() == found.tied - found.tied_kept
    assert found.left_out.total == 34
    total, _ = log_factor(found.left_out, ALPHA, PI, "exact")
    slow = np.zeros_like(total)
    for n0, n1, event, count in rows.tolist():
        cells = [(i, j) for i in range(n0 + 1) for j in range(n1 + 1)]
        squares = {cell: squared_correlation(*cell, n0, n1) for cell in cells}
        square = found.gamma_squared
        mine = [c for c, s in squares.items() if (s == square if event == AT else s < square)]
        for k, a in enumerate(ALPHA.tolist()):
            for j, b in enumerate(PI.tolist()):
                chance = sum(
                    reference.mixed_marginal(*c, n0, n1, Fraction(a), Fraction(b)) for c in mine
                )
                slow[k, j] += count * np.log(float(chance))
    np.testing.assert_allclose(total, slow, rtol=1e-11)


def test_points_without_weight_predict_nothing_that_matters(monkeypatch):
    X, y, new = drawn(8, n=(40, 40), p=500, alpha=5.0)
    found = select_features(X, y, 200, np.random.default_rng(0))
    posterior = nb.fit(found, nb.NaiveBayes(relevant="some"))
    ours = nb.predict_log_odds(posterior, new[:, found.selected])
    points = sum(len(at) for at, _ in posterior.points)
    assert points < posterior.log_joint.size / 2
    monkeypatch.setattr(nb, "WEIGHTLESS", np.inf)
    all_points = nb.predict_log_odds(posterior, new[:, found.selected])
    np.testing.assert_allclose(ours, all_points, rtol=0, atol=1e-12)


def test_promise_is_kept_by_samples_of_the_model():
    # data whose parameters are drawn from the prior: promised and actual errors agree on average
    promised, actual = [], []
    for seed in range(150):
        rng = np.random.default_rng([9, seed])
        alpha = 5.0 / rng.gamma(0.5)
        data = draw_naive_bayes(rng, features=60, alpha=alpha, train=(15, 15), test=100)
        found = select_features(data.train.features, data.train.response, 5, rng)
        posterior = nb.fit(found, nb.NaiveBayes())
        p = nb.predict(posterior, data.test.features[:, found.selected])
        new = nb.predictive_probabilities_of_new_samples(posterior, rng, 100)
        promised.append(np.minimum(new, 1 - new).mean())
        actual.append(((p >= 0.5) != data.test.response).mean())
    difference = np.subtract(promised, actual)
    assert abs(difference.mean()) < 4.5 * difference.std() / np.sqrt(len(difference))
