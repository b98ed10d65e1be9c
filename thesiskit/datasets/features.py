"""Tables of discrete features, drawn or played.

Features are drawn uniformly (section "Experiments Demonstrating Parameter Reduction"), and
responses from the model itself ("Experiments with Data from Cauchy Models").

thesis        here         shape
x_{1:p}       X            (n, p), codes from 0
y             response     (n,), codes from 0
K_t           values       the symbols of each feature
"""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from thesiskit.blocks import AtLeastTwo, Positive, PositiveNumber
from thesiskit.datasets.source import (
    FeatureTable,
    LogisticPriors,
    Sizes,
    Source,
    at_least_one,
    numbered,
)
from thesiskit.datasets.synthetic import (
    draw_noise,
    draw_real_responses,
    draw_responses,
    draw_sigma,
)
from thesiskit.defaults import MOST_VALUES
from thesiskit.errors import DataError

Values = Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)]
Widths = Annotated[list[Annotated[float, Field(strict=True, ge=0, le=1e20)]], Field(min_length=1)]


class InteractionData(Source):
    """Uniform features, and responses from all their patterns up to an order."""

    family: ClassVar = "features"
    drawn: ClassVar = True
    real: ClassVar = True

    source: Literal["interactions"]
    features: Positive
    """Number of uniform features."""
    values: Values
    """Number of values of each feature."""
    sigma: Widths | Literal["prior"]
    """The widths of the coefficients of orders 0, 1, ... with which responses are drawn; 0 leaves
    an order out. With `prior`, widths, coefficients and noise are drawn from the prior of the
    model, with the first of `model.orders` and the first of `model.priors`."""
    prior: Literal["cauchy", "gaussian"] = "cauchy"
    """The distribution of these coefficients, `cauchy` or `gaussian`."""
    classes: AtLeastTwo = 2
    """Number of classes."""
    noise: PositiveNumber = 0.5
    """With `model.response: gaussian`: standard deviation of the noise about the linear function.
    """
    train: Positive
    """Number of training cases."""
    test: Positive
    """Number of test cases."""

    @model_validator(mode="after")
    def _orders(self):
        if self.sigma == "prior":
            for name in ("prior", "noise"):
                if name in self.model_fields_set:
                    raise ValueError(f"{name} comes from the model with sigma: prior; leave it out")
        elif len(self.sigma) > self.features + 1:
            raise ValueError(
                f"sigma has widths up to order {len(self.sigma) - 1}, but there are "
                f"{self.features} features"
            )
        return self

    @property
    def sizes(self) -> Sizes:
        """How large drawn data are."""
        return Sizes(self.train, self.test, self.features, self.values, self.classes)

    @property
    def prior_of(self) -> str:
        """The kind of model from whose priors all parameters are drawn."""
        return "logistic" if self.sigma == "prior" else ""

    @property
    def drawn_order(self) -> int:
        """The order of the patterns that responses are drawn with, if it is not the model's."""
        return 0 if self.sigma == "prior" else len(self.sigma) - 1

    @property
    def settings_of_draws(self) -> dict[str, Any]:
        """What the generator depends on: noise only scales what is drawn."""
        return self.model_dump(exclude={"noise"})

    def misfit(self, kind: str, *, continuous: bool) -> str | None:  # noqa: ARG002
        """Say which key has nothing to do with such responses."""
        alien, wanted = ("classes", "classes") if continuous else ("noise", "gaussian")
        if alien in self.model_fields_set:
            return f"data.{alien}: is for model.response: {wanted}; leave it out"
        return None

    def draw(
        self, rng: np.random.Generator, priors: LogisticPriors
    ) -> tuple[FeatureTable, dict[str, np.ndarray]]:
        """Return what is drawn, and the truth where it is from the priors of the model."""
        own: dict[str, Any]
        if self.sigma == "prior":
            noise = None
            if priors.continuous:
                noise = priors.noise or draw_noise(rng, priors.noise_shape, priors.noise_mode)
            widths = (priors.sigma_0, priors.sigma_shape, priors.sigma_mode)
            own = {
                "order": priors.order,
                "sigma": lambda: draw_sigma(rng, priors.order, *widths),
                "cauchy": priors.cauchy,
                "noise": noise,
            }
        else:
            own = {
                "order": len(self.sigma) - 1,
                "sigma": np.array(self.sigma),
                "cauchy": self.prior == "cauchy",
                "noise": self.noise if priors.continuous else None,
            }
        table, truth = draw_interactions(
            rng, features=self.features, values=self.values, cases=self.train + self.test,
            train=self.train, classes=self.classes, **own,
        )  # fmt: skip
        return table, truth if self.sigma == "prior" else {}


class TicTacToeData(Source):
    """All boards at the end of a game of noughts and crosses; has x won?"""

    family: ClassVar = "features"
    published: ClassVar = "the 958 boards at the end of a game of noughts and crosses; computed"

    source: Literal["tic-tac-toe"]

    def read(self, folder: Path, *, continuous: bool = False) -> list[FeatureTable]:  # noqa: ARG002
        """Return the boards."""
        return [tic_tac_toe()]


# ---- uniform features ----


def draw_uniform(
    rng: np.random.Generator, *, features: int, values: int, cases: int
) -> FeatureTable:
    """Draw features x1 to xp, uniform on 1 to `values`; there is one class only.

    For the experiments on the number of parameters, which the response does not change.
    """
    at_least_one(features=features, values=values, cases=cases)
    if values > MOST_VALUES:
        raise DataError(f"values is {values}; it must be at most {MOST_VALUES}")
    return FeatureTable(
        rng.integers(0, values, (cases, features), dtype=np.int16),
        np.zeros(cases, dtype=np.int32),
        [f"x{j + 1}" for j in range(features)],
        [numbered(values) for _ in range(features)],
        ["1"],
        "uniform features",
    )


def draw_interactions(
    rng: np.random.Generator,
    *,
    features: int,
    values: int,
    order: int,
    sigma: np.ndarray | Callable[[], np.ndarray],
    cases: int,
    train: int,
    cauchy: bool = True,
    classes: int = 2,
    noise: float | None = None,
) -> tuple[FeatureTable, dict[str, np.ndarray]]:
    """Draw uniform features, and responses from all their patterns up to an order.

    Parameters
    ----------
    order : of the patterns that have a coefficient, at most `features`.
    sigma : (order + 1,) widths; 0 makes the coefficients of an order 0.  Or a function that draws
        them: simulation-based calibration must draw them again with the responses.
    train : among so many first responses there are two classes at least.
    noise : None for classes; or the standard deviation of the noise of real responses.

    Returns
    -------
    The table, and what synthetic.draw_responses, or draw_real_responses, says it was drawn with.

    Raises
    ------
    DataError: numbers, an order or widths that cannot be; one class 10,000 times.
    """
    table = draw_uniform(rng, features=features, values=values, cases=cases)
    if not 0 <= order <= features:
        raise DataError(f"order is {order}; it must be from 0 to the {features} features")
    if classes < 2:
        raise DataError(f"classes is {classes}; it must be at least 2")
    if not 2 <= train <= cases:
        raise DataError(f"train is {train}; it must be from 2 to the {cases} cases")
    if noise is not None and not noise > 0:
        raise DataError(f"noise is {noise}; it must be positive")

    def widths() -> np.ndarray:
        found = np.asarray(sigma() if callable(sigma) else sigma, dtype=float)
        if found.shape != (order + 1,) or not (np.isfinite(found) & (found >= 0)).all():
            raise DataError(
                f"sigma must be {order + 1} widths, of orders 0 to {order}, none negative; "
                f"got {found.tolist()}"
            )
        return found

    # the patterns of a subset are those of one less, each cut by one more feature
    level: dict[tuple[int, ...], np.ndarray] = {(): np.zeros(cases, dtype=np.int32)}
    patterns = [list(level.values())]
    for o in range(1, order + 1):
        level = {
            subset: _renumber(level[subset[:-1]] * values + table.X[:, subset[-1]])
            for subset in combinations(range(features), o)
        }
        patterns.append(list(level.values()))
    if noise is None:
        response, truth = draw_responses(
            rng, patterns, widths, classes=classes, train=train, cauchy=cauchy
        )
        symbols = [str(k + 1) for k in range(classes)]
    else:
        response, truth = draw_real_responses(rng, patterns, widths, noise=noise, cauchy=cauchy)
        symbols = []
    source = f"drawn from a model of order {order}"
    return FeatureTable(table.X, response, table.features, table.values, symbols, source), truth


def _renumber(codes: np.ndarray) -> np.ndarray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int32)


# ---- tic-tac-toe ----

ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "middle", "right")
LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def tic_tac_toe() -> FeatureTable:
    """Return the 958 boards on which games of tic-tac-toe end, x first; class 1 is x wins.

    Each square has x, o or b (blank).  Boards on which x wins come first; then in the order of
    their squares.
    """
    boards, ends = {"b" * 9}, []
    for mark in "xoxoxoxox":
        boards = {
            board[:square] + mark + board[square + 1 :]
            for board in boards
            for square in range(9)
            if board[square] == "b"
        }
        won = {b for b in boards if any(all(b[int(s)] == mark for s in line) for line in LINES)}
        ends += [(mark == "x", board) for board in won]
        boards -= won
    ends += [(False, board) for board in boards]
    rows = sorted((not x_wins, ["xob".index(mark) for mark in board]) for x_wins, board in ends)
    return FeatureTable(
        np.array([codes for _, codes in rows], dtype=np.int16),
        np.array([not lost for lost, _ in rows], dtype=np.int32),
        [f"{row}-{column}" for row in ROWS for column in COLUMNS],
        [["x", "o", "b"] for _ in range(9)],
        ["x does not win", "x wins"],
        "all ends of tic-tac-toe",
    )
