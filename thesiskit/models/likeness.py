"""Whether new samples are like the training samples: five measures of a sample, and a p-value.

| symbol | name | shape |
|---|---|---|
| m_j, s_j: mean, standard deviation of feature j in training samples | `mean`, `spread` | (p,) |
| discriminants of the features in which the classes differ most | `directions` | (k, G - 1) |
| directions in which the training samples vary most in these features | `factors` | (k, f) |
| measures of the training samples, each compared with the others alone | `own` | (n, 7) |

With the deviations d_j = (x_j - m_j) / s_j of a sample the measures are

- scale: the slope b of x_j = a s_j + b m_j, by least squares;
- shift: the mean of d_j;
- size: the logarithm of the root mean square of d_j;
- spread: the logarithm of the standard deviation of x_j over features;
- classes: the sum of three, each divided by its standard deviation in `own`, because another class
  makes each of them large in other tables: the distance to the nearest class in the space of the
  discriminants, to the power 2/3, which makes a chi-squared variable almost normal; less the share
  of the way there from the mean to the class it is nearest to; the logarithm of the distance from
  the space of the factors.

A measure is compared with those of the training samples by Student's t, which goes on where ranks
end: with n training samples no rank says less than 1 / (n + 1).  But a sample that is no further
out than k training samples has at least k / (n + 1), and each tail of the first four is no shorter
than an exponential one with the mean excess of the outer eighth of training samples on its side:
features may have heavy tails, and samples scales of their own, mostly on one side.  The p-value is
the smallest of the five, times 2 for the classes, which are hardest to see, and 8 for others, at
most 1, and at least (k - 1) / (n + 1) where k training samples are as odd: of samples like the
training samples about one in a hundred, or fewer, are below .01.

Of discrete features, columns are indicators of their values, and one more for values that no
training sample has.  Their variances have 1 / n more: so a value that one training sample alone has
is as far from the others as such a value is from all, and calibration holds.

Of a table that was filtered by the response the training samples took part in the filtering, which
new samples did not: their classes differ more, and vary less within.  They are then compared with
imitated samples, whose class means are shrunken by a model that is corrected for the filtering, and
no classes are told apart: what discriminants show there is mostly the filtering.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy import special

from thesiskit.models.base import check
from thesiskit.models.chains import Arrays
from thesiskit.models.packed import read_columns

UNLIKE = 0.01  # a sample with a smaller p-value is unlike the training samples
REASONS = ("scale", "shift", "classes", "distance")  # why it is
MUCH = 0.4  # scale or shift is the reason if both make so much of the square of the size
FEWEST = 10  # training samples; of fewer nothing is said
SAMPLES, FEATURES = 300, 30_000  # at most so many are looked at
FOLDS = 100  # of training samples that are compared with the others
MEASURES, TIMES = 7, np.array([8, 8, 8, 8, 2])  # in `own`; of p-values of the five
SIDES = np.array([2, 2, 2, 2, 1])  # of them: no sample is too near to a class
OUTER = 0.25  # of the training samples, half on each side, whose excess says how long tails are
TESTED = 200  # features of the discriminants
FACTORS = 15  # at most so many, and a quarter of samples and of features
ITERATIONS = 3  # of the power method, which finds them
RIDGE = 0.1  # added to their variances within classes, times the mean of these
CUT = 8.0  # deviations beyond it count as this, so that a few features do not speak for all
TIGHT = 0.01  # a standard deviation counts as at least so much of the mean; of a measure, so much
MOST_DISCRETE = 1000  # discrete features; of more, new samples are not compared
ROWS = 64  # new samples that are measured together, in the cache


@dataclass(frozen=True)
class Compared:
    """New samples beside the training samples, (T,) each.

    p : of the sample; NaN where all values are missing, or training samples are too few.
    reason : one of `REASONS` where p is small, else empty.
    scale : how many times as large its values are, 1 where they are alike.
    shift : how many standard deviations larger they are, on average.
    distance : the root mean square of its deviations, 1 of a usual training sample.
    """

    p: np.ndarray
    reason: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    distance: np.ndarray


@dataclass(frozen=True)
class Likeness:
    """What is kept of the training samples to compare new ones with.

    features : (p,) the columns that are looked at.
    tested : (k,) places among `features` of those of the discriminants.
    middles : (G, k) means of the classes there; `within` (k,) standard deviations within classes.
    kept, low, high : (c,) columns that models keep, and the range of their values.
    """

    features: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    tested: np.ndarray
    middles: np.ndarray
    within: np.ndarray
    directions: np.ndarray
    factors: np.ndarray
    own: np.ndarray
    kept: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, selected: np.ndarray, groups: np.ndarray | None = None,
        least: float = 0.0, imitated: np.ndarray | None = None,
    ) -> "Likeness":  # fmt: skip
        """Return what is to be known of training samples.

        X : (n, p) may be memory-mapped; NaN is a missing value.  y : (n,) classes from 0.
        groups : (n,) numbers of groups of samples, which are left out together.
        least : added to variances, so that columns count that are constant.
        imitated : (n, p) of a table that was filtered by y, samples as if they were new.
        """
        n, p = X.shape
        block = read_columns(X, selected)
        about = {"kept": selected, "low": np.fmin.reduce(block), "high": np.fmax.reduce(block)}
        X, y = (X, y) if imitated is None else (imitated, np.zeros_like(y))
        spaced = np.linspace(0, n - 1, min(n, SAMPLES)).astype(np.intp)
        rows = np.argsort(y, kind="stable")[spaced]  # each class has its share
        features = np.linspace(0, p - 1, min(p, FEATURES)).astype(np.intp)
        values = np.array([X[row, features] for row in rows], dtype=float)
        varies = np.fmax.reduce(values) > np.fmin.reduce(values) - least  # not if all are missing
        features, values = features[varies], values[:, varies]
        sums = _Sums.of(values, y[rows], least)
        measures = np.full((len(rows), MEASURES), np.nan)
        if len(rows) >= FEWEST and len(features):
            number = rows if groups is None or np.ptp(groups) == 0 else groups[rows]
            fold = np.unique(number, return_inverse=True)[1] % FOLDS
            for held_out in np.unique(fold):
                out = fold == held_out
                rest = cls(features, **sums.without(out).learnt(), own=measures, **about)
                measures[out] = rest._measured(values[out])[0]
        return cls(features, **sums.learnt(), own=measures, **about)

    def compare(self, X: np.ndarray) -> Compared:
        """Return how new samples X (T, columns of the table) are beside the training samples."""
        parts = [
            self._measured(read_columns(X[start : start + ROWS], self.features))
            for start in range(0, len(X), ROWS)
        ]
        measures, scale, cause, n_seen = map(np.concatenate, zip(*parts, strict=True))
        unit = np.maximum(self.own[:, 4:].std(axis=0, ddof=1), TIGHT)
        measures, training = (
            np.column_stack([values[:, :4], (values[:, 4:] / unit).sum(axis=1)])
            for values in (measures, self.own)
        )
        n, middle, deviation = len(training), training.mean(axis=0), training.std(axis=0, ddof=1)
        unit = np.maximum(deviation, TIGHT)
        t, training = (measures - middle) / unit, (training - middle) / unit
        for values in (t, training):
            np.maximum(values[:, 4], 0, out=values[:, 4])
        # other features have another spread, and that of few is far from normal
        t[:, 3] *= unit[3] / (unit[3] + 1 - n_seen + 3 / max(len(self.features), 1))
        further = (np.abs(training) >= np.abs(t)[:, None]).sum(axis=1)
        # of fewer values less is known
        tails = _tails(t * np.sqrt(n_seen / (1 + 1 / n))[:, None], training)
        tails = TIMES * np.maximum(tails, further / (n + 1))
        tails = np.where(n_seen[:, None] > 0, tails, np.nan)
        least = tails.min(axis=1)
        odd = (TIMES * _tails(training, training)).min(axis=1)
        odder = (odd <= least[:, None]).sum(axis=1) - 1  # one training sample may be
        p = np.minimum(1, np.maximum(least, odder / (n + 1)))
        size = np.exp(measures[:, 2] - middle[2])
        far = tails < UNLIKE
        moved, near = far[:, :2].any(axis=1), ~far[:, 2]
        shifted, scaled = moved & (cause == 1), moved & (cause == 2)
        flags = [~(p < UNLIKE), shifted, scaled, far[:, 3] & near, far[:, 4] & near]
        reason = np.select(flags, ["", *(REASONS[k] for k in (0, 1, 0, 2))], REASONS[3])
        return Compared(p, reason, scale, measures[:, 1], size)

    def beyond(self, X: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the share of some kept columns whose values are beyond the range, (T,)."""
        place = np.searchsorted(self.kept, columns)
        low, high, shares = self.low[place], self.high[place], []
        for start in range(0, len(X), ROWS):
            block = read_columns(X[start : start + ROWS], columns)
            n_known = np.maximum((block == block).sum(axis=1), 1)  # NaN differs from itself
            shares.append(((block < low) | (block > high)).sum(axis=1) / n_known)
        return np.concatenate(shares)

    def _measured(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the measures (T, 7), and (T,) each: the scale of values that are not cut; 1 if it
        makes much of the size, 2 if a shift does, else 0; the share of values that are there.
        """
        d = (values - self.mean) / self.spread
        is_finite = np.isfinite(self.spread) & ~np.isnan(d)
        count = np.maximum(is_finite.sum(axis=1), 1)
        d[~is_finite] = 0
        ratio = self.mean / self.spread
        centre = ratio.sum() / max(len(ratio), 1)
        lever = np.where(np.isfinite(self.spread), ratio - centre, 0)
        power = np.maximum(is_finite @ lever**2, np.finfo(float).tiny)
        with np.errstate(over="ignore", invalid="ignore"):  # here values count as they are
            slope = d @ lever / power
            moved = np.abs(d.sum(axis=1) / count - slope * centre)
            scaled = np.abs(slope) * np.sqrt(power / count + centre**2) > moved
            whole = np.where(is_finite, values, self.mean)
            whole -= whole.sum(axis=1, keepdims=True) / max(len(ratio), 1)
            variance = np.nan_to_num(np.einsum("tj,tj->t", whole, whole), nan=np.inf)
        np.clip(d, -CUT, CUT, out=d)
        measures = np.zeros((len(d), MEASURES))
        measures[:, 0] = d @ lever / power
        measures[:, 1] = d.sum(axis=1) / count
        square = np.maximum(np.einsum("tj,tj->t", d, d) / count, 1e-12)
        measures[:, 2] = np.log(square) / 2
        measures[:, 3] = np.log(np.clip(variance, 1e-300, 1e300) / max(len(ratio), 1)) / 2
        tested, mean = values[:, self.tested], self.mean[self.tested]
        away = (tested[:, None] - self.middles) / self.within
        away = np.clip(np.nan_to_num(away), -CUT, CUT) @ self.directions
        measures[:, 4] = (away**2).sum(axis=2).min(axis=1) ** (1 / 3)
        classes = (self.middles - mean) / self.within @ self.directions
        along = (away * classes).sum(axis=2) / np.maximum((classes**2).sum(axis=1), 1e-12)
        measures[:, 5] = -along.max(axis=1)
        rest = np.nan_to_num(np.clip((tested - mean) / self.within, -CUT, CUT)) * self.within
        rest -= rest @ self.factors @ self.factors.T
        measures[:, 6] = np.log(np.maximum((rest**2).sum(axis=1), 1e-300)) / 2
        much = measures[:, 0] ** 2 * power / count + measures[:, 1] ** 2 > MUCH * square
        cause = np.where(much, np.where(scaled, 1, 2), 0)
        return measures, 1 + slope, cause, is_finite.sum(axis=1) / max(len(lever), 1)

    @classmethod
    def restored(cls, arrays: Arrays, width: int) -> "Likeness":
        """Return what `stored` described; ValueError for arrays that do not fit together."""
        new = cls(*(arrays[field.name] for field in fields(cls)))
        check(all(values.dtype.kind in "iuf" for values in vars(new).values()))
        p, k, c = len(new.features), len(new.tested), len(new.kept)
        for columns, most in ((new.features, width), (new.kept, width), (new.tested, p)):
            check(columns.dtype.kind in "iu" and columns.ndim == 1)
            check(((columns >= 0) & (columns < most)).all())
        check(new.mean.shape == new.spread.shape == (p,) and (np.diff(new.kept) > 0).all())
        check(new.low.shape == new.high.shape == (c,) and new.within.shape == (k,))
        check(new.middles.ndim == 2 and new.middles.shape[1] == k and len(new.middles) > 0)
        for vectors in (new.directions, new.factors):
            check(vectors.ndim == 2 and len(vectors) == k)
        check(new.own.ndim == 2 and new.own.shape[1] == MEASURES and len(new.own) > 1)
        check((new.spread > 0).all() and (new.within > 0).all())
        return new


def indicators(codes: np.ndarray, counts: list[int]) -> np.ndarray:
    """Return discrete features as columns, (n, sum of counts + 1), 0 or 1, NaN where missing.

    codes : (n, p) from 0, -1 of a missing value, -2 of a value that no training sample has.
    counts : (p,) how many values features have.
    """
    columns = []
    for code, count in zip(codes.T, counts, strict=True):
        block = (code[:, None] == [*range(count), -2]).astype(np.float32)
        block[code == -1] = np.nan
        columns.append(block)
    return np.hstack(columns)


def _tails(t: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Return p-values (T, 5) of measures, on both sides but of classes.

    t (T, 5), training (n, 5) : measures, in standard deviations of those of training samples.
    """
    longer = np.zeros(t.shape)
    for side in (1, -1):  # of a measure that is skewed one has the longer tail
        start = np.quantile(side * training, 1 - OUTER / 2, axis=0)
        excess = np.maximum(side * training - start, 0).mean(axis=0) / (OUTER / 2)
        tail = OUTER * np.exp(np.minimum((start - side * t) / np.maximum(excess, 1e-9), 0))
        longer = np.where((side * t > 0) & (SIDES == 2), tail, longer)
    return np.maximum(special.stdtr(len(training) - 1, -np.abs(t)) * SIDES, longer)


@dataclass(frozen=True)
class _Sums:
    """Training samples and the sums of their values by class, which allow leaving any out.

    values : (n, p) less the means of all of them, 0 where missing; there : (n, p) or (n, 1).
    member : (n, G) 1 for the class of each sample.
    counts (G, p) or (G, 1), sums (G, p), squares (p,) : of those that are not left out.
    """

    values: np.ndarray
    centre: np.ndarray
    present: np.ndarray
    member: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    least: float

    @classmethod
    def of(cls, values: np.ndarray, y: np.ndarray, least: float) -> "_Sums":
        """Return the sums of all samples."""
        member = (y[:, None] == np.unique(y)).astype(float)
        present = ~np.isnan(values)
        if present.all():
            present = np.ones((len(values), 1), dtype=bool)
        values = np.where(present, values, 0)
        centre = values.sum(axis=0) / present.sum(axis=0)
        values = np.where(present, values - centre, 0)
        squares = np.einsum("ij,ij->j", values, values)
        counts, sums = member.T @ present, member.T @ values
        return cls(values, centre, present, member, counts, sums, squares, least)

    def without(self, out: np.ndarray) -> "_Sums":
        """Return the sums without some samples, a mask (n,)."""
        values, member = self.values[out], self.member[out]
        return replace(
            self,
            member=np.where(out[:, None], 0, self.member),
            counts=self.counts - member.T @ self.present[out],
            sums=self.sums - member.T @ values,
            squares=self.squares - np.einsum("ij,ij->j", values, values),
        )

    def learnt(self) -> Arrays:
        """Return what `Likeness` has of them, by name."""
        present = self.member.any(axis=0)
        counts, sums, member = self.counts[present], self.sums[present], self.member[:, present]
        number = counts.sum(axis=0)
        mean = sums.sum(axis=0) / np.maximum(number, 1)
        middles = sums / np.maximum(counts, 1)
        total = self.squares - number * mean**2
        within = self.squares - (counts * middles**2).sum(axis=0)
        tight = (TIGHT * (mean + self.centre)) ** 2 + self.least
        # a feature may not, without some samples
        vary = (total > 1e-9 * self.squares) | (self.least > 0)
        spread = np.sqrt(np.where(vary, total / np.maximum(number - 1, 1) + tight, np.inf))
        within = np.maximum(within, 1e-9 * total) / np.maximum(number - len(counts), 1) + tight
        f = np.where(vary, total / np.where(vary, within, 1), -1)
        tested = np.sort(np.argsort(-f, kind="stable")[:TESTED])
        tested = tested[vary[tested]]
        within, centres = np.sqrt(within[tested]), middles[:, tested]
        middles = (middles + self.centre)[:, tested]
        sample, of_class = np.nonzero(member)
        values = self.values[np.ix_(sample, tested)]
        counted = self.present[np.ix_(sample, tested)] if self.present.shape[1] > 1 else 1
        rest = np.clip((values - centres[of_class]) / within, -CUT, CUT) * counted
        values = np.clip((values - mean[tested]) / within, -CUT, CUT) * within * counted
        factors = np.eye(len(tested), min(FACTORS, min(values.shape) // 4))
        for _ in range(ITERATIONS):
            factors = np.linalg.qr(values.T @ (values @ factors))[0]
        apart = (centres - mean[tested]) / within
        inner = rest.T @ rest
        inner.flat[:: len(inner) + 1] += RIDGE * np.trace(inner) / max(len(sample), 1) + 1e-9
        solved = np.linalg.solve(inner, apart.T)
        values, vectors = np.linalg.eigh(apart @ solved)
        values, vectors = values[1:], vectors[:, 1:]  # classes differ in one dimension less
        clear = values > 1e-8 * values.max(initial=0)
        directions = solved @ vectors[:, clear] / np.sqrt(values[clear])
        about = {"mean": mean + self.centre, "spread": spread, "tested": tested}
        about |= {"middles": middles, "within": within}
        return about | {"directions": directions, "factors": factors}
