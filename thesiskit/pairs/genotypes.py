"""Genotypes that are drawn: loci of which some pairs have to do with the response."""

from itertools import combinations, product
from typing import Any, ClassVar, Literal

import numpy as np
import scipy  # scipy.optimize takes half a second to load: at its first use
from pydantic import model_validator

from thesiskit.blocks import Count, Positive, PositiveNumber
from thesiskit.datasets.source import FeatureTable, Sizes, Source
from thesiskit.datasets.synthetic import draw_rows
from thesiskit.errors import DataError

GENOTYPES, CLASSES = ["0", "1", "2"], ["control", "case"]
# the table of the epistasis study
TWO_LOCI: dict[str, Any] = {"frequency": (0.4, 0.4), "heritability": 0.4, "prevalence": 0.5}
# of genotypes, named in the settings that their generator depends on
SETTINGS_OF_DRAWS = {"penetrance": "exclusive-or", "haplotype": 1, "correlation": 0.0}


class EpistasisData(Source):
    """Genotypes, of which two loci matter together and neither alone.

    Their penetrance table has a heritability of 0.4 and a prevalence of 0.5, and both minor alleles
    have a frequency of 0.4.
    """

    family: ClassVar = "features"
    drawn: ClassVar = True

    source: Literal["epistasis"]
    samples: Positive
    """Number of all samples."""
    noise_features: Count
    """Number of loci in addition to the two informative ones."""

    @property
    def has_test_set(self) -> bool:
        return False  # they are divided by k-fold

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.samples, self.samples, 2 + self.noise_features, 3)

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> FeatureTable:
        table, _ = draw_epistasis(
            rng, samples=self.samples, noise_features=self.noise_features, **TWO_LOCI
        )
        return table

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on."""
        return self.model_dump() | TWO_LOCI


class GenotypesData(Source):
    """Genotypes of loci, some pairs of which are associated with the response.

    Minor allele frequencies are uniform between 0.05 and 0.5, of the loci that matter between 0.2
    and 0.5.
    """

    family: ClassVar = "features"
    drawn: ClassVar = True

    source: Literal["genotypes"]
    loci: Positive
    """Number of loci; the informative pairs come first."""
    train: Positive
    """Number of training samples."""
    test: Positive
    """Number of test samples."""
    pairs: Count = 0
    """Number of pairs of loci associated with the response."""
    effect: PositiveNumber = 0.8
    """Effect of a pair on the log odds: added if exactly one of the two loci has a minor allele,
    and subtracted otherwise."""

    @model_validator(mode="after")
    def _enough(self):
        if 2 * self.pairs > self.loci:
            raise ValueError(f"loci: {self.pairs} pairs need {2 * self.pairs} loci")
        return self

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on, as it was written in earlier versions."""
        settings = self.model_dump(exclude={"source"}) | SETTINGS_OF_DRAWS
        return {"source": self.source, "settings": [settings]}

    @property
    def divided_at(self) -> tuple[int, int | None]:
        return self.train, self.test

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.train, self.test, self.loci, values=3)

    @property
    def names(self) -> list[str]:
        pairs = 2 * self.pairs
        of_pairs = [f"pair{j // 2 + 1}{'ab'[j % 2]}" for j in range(pairs)]
        return of_pairs + [f"locus{j + 1}" for j in range(pairs, self.loci)]

    def draw(self, rng: np.random.Generator, *, continuous: bool = False) -> FeatureTable:
        X, response = draw_genotypes(rng, self)
        values = [GENOTYPES] * X.shape[1]
        return FeatureTable(X, response, self.names, values, CLASSES, source="drawn genotypes")


# ---- two loci that matter together ----


def penetrance(
    rng: np.random.Generator, frequency: tuple[float, float], heritability: float, prevalence: float
) -> np.ndarray:
    """Draw P(sample | genotypes i, j of two loci), (3, 3), to which no locus adds on its own.

    With g_i and h_j the genotype frequencies, the table is prevalence + D, where sum_j h_j D_ij
    and sum_i g_i D_ij are 0.  Such D are B C B'^T for any C (2, 2), if the columns of B (3, 2)
    are orthogonal to 1 under the weights g, and B' likewise under h.  With orthonormal columns
    the variance of D is the sum of squares of C, and heritability is this variance divided by
    prevalence (1 - prevalence).

    The direction of C is drawn.  Where it leaves [0, 1] too early, C goes from there towards the
    corner of the feasible C that has the largest variance, until its variance is as asked: the
    feasible C are convex.

    Parameters
    ----------
    frequency : of the minor allele at each locus; genotypes count it (Hardy-Weinberg).

    Raises
    ------
    DataError: a heritability that no table has, with the largest there is.
    """
    basis = np.kron(*map(_without_mean, frequency))  # D = basis C, (9, 4)

    def most(c: np.ndarray) -> float:
        """How many times c still gives probabilities."""
        with np.errstate(divide="ignore"):
            room = np.where((d := basis @ c) > 0, 1 - prevalence, prevalence) / np.abs(d)
        return float(room.min())

    corner = _widest(basis, prevalence)
    corner = corner * min(most(corner), 1.0)  # against rounding
    scale = prevalence * (1 - prevalence)
    largest = (corner @ corner) / scale * (1 + 1e-9)
    if not 0 < heritability <= largest:
        raise DataError(
            f"heritability is {heritability:g}; with frequencies {frequency[0]:g} and "
            f"{frequency[1]:g} and prevalence {prevalence:g} it must be above 0 and at most "
            f"{np.floor(1e6 * largest) / 1e6:g}"
        )
    variance = heritability * scale
    c = rng.standard_normal(4)
    c = c * min(most(c), float(np.sqrt(variance / (c @ c))))
    if c @ c < variance:
        # |c + t (corner - c)|^2 = variance at one t in [0, 1]
        step = corner - c
        roots = np.roots([step @ step, 2 * c @ step, c @ c - variance])
        c = c + min(roots.real.max(), 1) * step
    return np.clip(prevalence + basis @ c, 0, 1).reshape(3, 3)


def _hardy_weinberg(frequency: float) -> np.ndarray:
    return np.array([(1 - frequency) ** 2, 2 * frequency * (1 - frequency), frequency**2])


def _without_mean(frequency: float) -> np.ndarray:
    """Return two functions of a genotype, (3, 2), with mean 0, variance 1 and no covariance."""
    root = np.sqrt(_hardy_weinberg(frequency))
    whole, _ = np.linalg.qr(np.column_stack([root, np.eye(3)[:, :2]]))
    return whole[:, 1:] / root[:, None]


def _widest(basis: np.ndarray, prevalence: float) -> np.ndarray:
    """Return the c (4,) with prevalence + basis c in [0, 1] that has the largest norm.

    It is a corner, where four of the nine probabilities are 0 or 1.
    """
    cells = np.array(list(combinations(range(9), 4)))
    unit = basis / np.linalg.norm(basis, axis=1, keepdims=True)
    cells = cells[np.abs(np.linalg.det(unit[cells])) > 1e-9]
    bounds = np.array(list(product([-prevalence, 1 - prevalence], repeat=4)))
    corners = np.linalg.solve(basis[cells], bounds.T[None]).transpose(0, 2, 1).reshape(-1, 4)
    table = prevalence + corners @ basis.T
    corners = corners[((table > -1e-9) & (table < 1 + 1e-9)).all(axis=1)]
    return corners[np.argmax((corners**2).sum(axis=1))]


def draw_epistasis(
    rng: np.random.Generator,
    *,
    samples: int,
    noise_features: int,
    frequency: tuple[float, float],
    heritability: float,
    prevalence: float,
) -> tuple[FeatureTable, dict[str, np.ndarray]]:
    """Draw genotypes (0, 1, 2) of which two, together only, have to do with the response.

    Half of the samples are class 1, in random order.  Features N0, N1, ... have nothing to do with
    the response, and minor alleles of frequencies uniform on [0.05, 0.5]; P1 and P2 come last.

    Returns
    -------
    The table, and what it was drawn with: penetrance (3, 3), as the function of that name returns
    it, and probability (samples, 2) of each class given the genotypes in such a sample.
    """
    if samples < 2 or noise_features < 0:
        raise DataError(
            f"samples is {samples}, noise_features {noise_features}; they must be at least 2 and 0"
        )
    table = penetrance(rng, frequency, heritability, prevalence)
    response = rng.permutation(np.arange(samples) % 2).astype(np.int32)
    likelihood = (
        np.stack([1 - table, table]) / np.array([1 - prevalence, prevalence])[:, None, None]
    )
    population = np.outer(*map(_hardy_weinberg, frequency))
    pair = draw_rows(rng, (likelihood * population).reshape(2, 9), response)
    minor = rng.uniform(0.05, 0.5, noise_features)
    X = np.column_stack([rng.binomial(2, minor, (samples, noise_features)), pair // 3, pair % 3])
    share = np.bincount(response) / samples
    probability = likelihood.reshape(2, 9)[:, pair].T * share
    genotypes = FeatureTable(
        X.astype(np.int16),
        response,
        [*(f"N{j}" for j in range(noise_features)), "P1", "P2"],
        [GENOTYPES] * (noise_features + 2),
        CLASSES,
        source="drawn with two-locus epistasis",
    )
    return genotypes, {
        "penetrance": table,
        "probability": probability / probability.sum(axis=1, keepdims=True),
    }


def draw_genotypes(rng: np.random.Generator, data: GenotypesData) -> tuple[np.ndarray, np.ndarray]:
    """Draw genotypes (n, p) of 0, 1 and 2, and responses (n,), a half expected in each class."""
    n, p = data.train + data.test, data.loci
    frequency = rng.uniform(0.05, 0.5, p)
    frequency[: 2 * data.pairs] = rng.uniform(0.2, 0.5, 2 * data.pairs)
    threshold = scipy.special.ndtri(1 - frequency)
    X = np.zeros((n, p), dtype=np.int16)
    for _ in range(2):  # two copies of a chromosome
        X += rng.standard_normal((n, p), dtype=np.float32) > threshold
    odds = np.zeros(n)
    for pair in range(data.pairs):
        a, b = X[:, 2 * pair], X[:, 2 * pair + 1]
        odds += data.effect * (2 * ((a > 0) != (b > 0)) - 1)
    # the intercept with which the classes are expected to be equally frequent
    middle = scipy.optimize.brentq(lambda c: scipy.special.expit(odds - c).mean() - 0.5, -50, 50)
    response = (rng.random(n) < scipy.special.expit(odds - middle)).astype(np.int32)
    return X, response
