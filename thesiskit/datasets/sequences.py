"""Sequences drawn from a hidden Markov model (section sec-sim-blsm), or from the logistic model.

thesis        here              shape
x_{1:O}       histories         (n, length), codes from 0; the last column is x_O
x_{O+1}       response          (n,), codes from 0
O             length
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from thesiskit.blocks import AtLeastTwo, Positive, Probability
from thesiskit.datasets.source import (
    LogisticPriors,
    Sequences,
    Sizes,
    Source,
    WrongKeyError,
    at_least_one,
    digest_of,
    numbered,
)
from thesiskit.datasets.synthetic import draw_responses, draw_rows, draw_sigma
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError


class HiddenMarkovData(Source):
    """Sequences drawn from a hidden Markov model."""

    family: ClassVar = "sequences"
    drawn: ClassVar = True

    source: Literal["hidden-markov"]
    transition: list[list[Probability]]
    """The probability of moving from each hidden state to each other; rows sum to 1."""
    emission: list[Annotated[list[Probability], Field(max_length=MOST_VALUES)]]
    """The probability of each observed state in each hidden state; rows sum to 1."""
    history: Positive
    """Number of states before the one that is predicted."""
    train: Positive
    """Number of training cases."""
    test: Positive
    """Number of test cases."""

    @property
    def sizes(self) -> Sizes:
        states = len(self.emission[0]) if self.emission else 0
        return Sizes(self.train, self.test, self.history, states, states)

    def draw(
        self,
        rng: np.random.Generator,
        priors: LogisticPriors,
    ) -> tuple[Sequences, dict[str, np.ndarray]]:
        try:
            drawn = draw_hidden_markov(
                rng,
                transition=self.transition,
                emission=self.emission,
                length=self.history,
                cases=self.train + self.test,
            )
        except DataError as error:
            name = "emission" if str(error).startswith("emission") else "transition"
            raise WrongKeyError(name, str(error)) from None
        return drawn, {}


class LogisticData(Source):
    """Sequences drawn from the model itself, with the first of its orders and priors."""

    family: ClassVar = "sequences"
    drawn: ClassVar = True

    source: Literal["logistic"]
    states: Annotated[AtLeastTwo, Field(le=MOST_VALUES)]
    """Number of states. The data are drawn from the model with the first of `model.orders` and the
    first of `model.priors`."""
    classes: AtLeastTwo
    """Number of classes."""
    history: Positive
    """Number of states before the one that is predicted."""
    train: Positive
    """Number of training cases."""
    test: Positive
    """Number of test cases."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.train, self.test, self.history, self.states, self.classes)

    @property
    def prior_of(self) -> str:
        return "logistic"

    def draw(
        self, rng: np.random.Generator, priors: LogisticPriors
    ) -> tuple[Sequences, dict[str, np.ndarray]]:
        return draw_logistic(
            rng,
            states=self.states,
            classes=self.classes,
            length=self.history,
            order=priors.order,
            cases=self.train + self.test,
            train=self.train,
            cauchy=priors.cauchy,
            sigma_0=priors.sigma_0,
            sigma_shape=priors.sigma_shape,
            sigma_mode=priors.sigma_mode,
        )


def draw_hidden_markov(
    rng: np.random.Generator,
    *,
    transition: ArrayLike,
    emission: ArrayLike,
    length: int,
    cases: int,
) -> Sequences:
    """Draw sequences of `length` + 1 states from a hidden Markov model (section sec-sim-blsm).

    Parameters
    ----------
    transition : (H, H) probabilities of the next hidden state; the chain starts stationary.
    emission : (H, M) probabilities of the observable states, whose symbols are 1 to M.
    length, cases : states in a history, and sequences.

    Raises
    ------
    DataError: which row is not a distribution; several stationary distributions; length or cases
        below 1.
    """
    at_least_one(length=length, cases=cases)
    start = stationary(transition)
    transition = _distributions(transition, "transition")
    emission = _distributions(emission, "emission")
    if len(emission) != len(transition):
        raise DataError(
            f"emission has {len(emission)} rows; it needs one for each of the {len(transition)} "
            "hidden states of transition"
        )
    states = np.empty((cases, length + 1), dtype=np.int32)
    hidden = draw_rows(rng, start[None], np.zeros(cases, dtype=np.int64))
    for t in range(length + 1):
        if t:
            hidden = draw_rows(rng, transition, hidden)
        states[:, t] = draw_rows(rng, emission, hidden)
    symbols = numbered(emission.shape[1])
    return Sequences(
        states[:, :-1],
        states[:, -1].copy(),
        symbols,
        list(symbols),
        digest_of(states, symbols),
        "drawn from a hidden Markov model",
    )


def draw_logistic(
    rng: np.random.Generator,
    *,
    states: int,
    classes: int,
    length: int,
    order: int,
    cases: int,
    train: int,
    cauchy: bool,
    sigma_0: float,
    sigma_shape: float,
    sigma_mode: float,
) -> tuple[Sequences, dict[str, np.ndarray]]:
    """Draw from the logistic sequence model, equations eqn-softmax to eqn-cc-prior.

    Histories are uniform.  Returns the sequences, and what they were drawn with: log_sigma
    (order + 1,) and probability (cases, classes).  Drawn again, parameters and responses, until
    the first `train` responses are of two classes at least: to condition on that leaves the
    posterior given these as it is.
    """
    histories = rng.integers(0, states, (cases, length), dtype=np.int32)
    patterns = [
        [np.unique(histories[:, length - o :], axis=0, return_inverse=True)[1].reshape(-1)]
        for o in range(order + 1)
    ]
    response, truth = draw_responses(
        rng,
        patterns,
        lambda: draw_sigma(rng, order, sigma_0, sigma_shape, sigma_mode),
        classes=classes,
        train=train,
        cauchy=cauchy,
    )
    drawn = Sequences(
        histories, response, numbered(states), numbered(classes),
    )  # fmt: skip
    return drawn, truth


def stationary(transition: ArrayLike) -> np.ndarray:
    """Return the (H,) distribution that a chain with these (H, H) probabilities keeps.

    Raises
    ------
    DataError: which row is not a distribution; or several distributions are kept.
    """
    transition = _distributions(transition, "transition")
    hidden = len(transition)
    if transition.shape[1] != hidden:
        raise DataError(f"transition must be square, got shape {transition.shape}")
    # pi (P - I) = 0 and sum pi = 1: H + 1 equations of rank H where pi is unique
    equations = np.vstack([transition.T - np.eye(hidden), np.ones(hidden)])
    pi, _, rank, _ = np.linalg.lstsq(equations, np.eye(hidden + 1)[hidden], rcond=None)
    if rank < hidden:
        raise DataError(
            "transition keeps more than one distribution, because some hidden states never reach "
            "each other; give small probabilities to the moves between them"
        )
    pi = np.maximum(pi, 0)
    return pi / pi.sum()


def _distributions(matrix: ArrayLike, name: str) -> np.ndarray:
    """Return a matrix with rows that sum to 1; up to 1e-6 is taken as rounding."""
    try:
        matrix = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be rows of numbers, all of one length") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"{name} must be a matrix, got shape {matrix.shape}")
    for number, row in enumerate(matrix, start=1):
        if not (np.isfinite(row).all() and (row >= 0).all()):
            wrong = row[~(np.isfinite(row) & (row >= 0))][0]
            raise DataError(f"{name}: row {number} holds {wrong:g}, which is not a probability")
        if abs(row.sum() - 1) > 1e-6:
            raise DataError(f"{name}: row {number} sums to {row.sum():.6g}; it must sum to 1")
    return matrix / matrix.sum(axis=1, keepdims=True)
