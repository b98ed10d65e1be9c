"""Genotypes of which two loci matter together and neither alone."""

from itertools import combinations, product
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from thesiskit.blocks import Count, Positive, Probability
from thesiskit.datasets.source import FeatureTable, LogisticPriors, Sizes, Source
from thesiskit.datasets.synthetic import draw_rows
from thesiskit.errors import DataError

Frequency = Annotated[float, Field(strict=True, gt=0, lt=1)]


class EpistasisData(Source):
    """Genotypes, of which two loci matter together and neither alone."""

    family: ClassVar = "features"
    drawn: ClassVar = True

    source: Literal["epistasis"]
    cases: Positive
    """Number of all cases."""
    noise_features: Count
    """Number of loci besides the two that matter."""
    frequency: tuple[Frequency, Frequency] = (0.4, 0.4)
    """Minor allele frequencies of the two loci that matter."""
    heritability: Probability = 0.1
    """Heritability of their penetrance table."""
    prevalence: Frequency = 0.5
    """Prevalence of their penetrance table."""

    @property
    def has_test_set(self) -> bool:
        """Whether it comes with test cases."""
        return False  # they are divided by k-fold

    @property
    def sizes(self) -> Sizes:
        """How large drawn data are."""
        return Sizes(self.cases, self.cases, 2 + self.noise_features, 3)

    def draw(
        self,
        rng: np.random.Generator,
        priors: LogisticPriors,  # noqa: ARG002
    ) -> tuple[FeatureTable, dict[str, np.ndarray]]:
        """Return what is drawn."""
        table, _ = draw_epistasis(rng, **self.model_dump(exclude={"source"}))
        return table, {}


def penetrance(
    rng: np.random.Generator,
    frequency: tuple[float, float],
    heritability: float,
    prevalence: float,
) -> np.ndarray:
    """Draw P(case | genotypes i, j of two loci), (3, 3), to which no locus adds on its own.

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
    DataError: a number out of range; a heritability that no table has, and the largest there is.
    """
    if len(frequency) != 2 or not all(0 < f < 1 for f in frequency):
        raise DataError(f"frequency is {frequency}; give two numbers between 0 and 1")
    if not 0 < prevalence < 1:
        raise DataError(f"prevalence is {prevalence}; it must be between 0 and 1")
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
    cases: int,
    noise_features: int,
    frequency: tuple[float, float] = (0.4, 0.4),
    heritability: float = 0.1,
    prevalence: float = 0.5,
) -> tuple[FeatureTable, dict[str, np.ndarray]]:
    """Draw genotypes (0, 1, 2) of which two, together only, have to do with the response.

    Half of the cases are class 1, in random order.  Features N0, N1, ... have nothing to do with
    the response, and minor alleles of frequencies uniform on [0.05, 0.5]; P1 and P2 come last.

    Returns
    -------
    The table, and what it was drawn with: penetrance (3, 3), as the function of that name returns
    it, and probability (cases, 2) of each class given the genotypes in such a sample.

    Raises
    ------
    DataError: as penetrance; fewer than two cases.
    """
    if cases < 2 or noise_features < 0:
        raise DataError(
            f"cases is {cases} and noise_features {noise_features}; they must be at least 2 and 0"
        )
    table = penetrance(rng, frequency, heritability, prevalence)
    response = rng.permutation(np.arange(cases) % 2).astype(np.int32)
    given = np.stack([1 - table, table]) / np.array([1 - prevalence, prevalence])[:, None, None]
    population = np.outer(*map(_hardy_weinberg, frequency))
    pair = draw_rows(rng, (given * population).reshape(2, 9), response)
    minor = rng.uniform(0.05, 0.5, noise_features)
    X = np.column_stack([rng.binomial(2, minor, (cases, noise_features)), pair // 3, pair % 3])
    share = np.bincount(response) / cases
    probability = given.reshape(2, 9)[:, pair].T * share
    drawn = FeatureTable(
        X.astype(np.int16),
        response,
        [*(f"N{j}" for j in range(noise_features)), "P1", "P2"],
        [["0", "1", "2"] for _ in range(noise_features + 2)],
        ["control", "case"],
        "drawn with two-locus epistasis",
    )
    return drawn, {
        "penetrance": table,
        "probability": probability / probability.sum(axis=1, keepdims=True),
    }
