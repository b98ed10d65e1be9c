"""Priors of the normal model, and the grids on which they are averaged over."""

from dataclasses import dataclass

import numpy as np

from thesiskit.defaults import EFFECT_SHAPES, NORMAL_PI
from thesiskit.errors import UserError, quoted
from thesiskit.models.priors import LEAST_COUNT, MOST_COUNT, check_pi, positive

RATIO = tuple(np.exp(0.25 * np.arange(-46, 19)).tolist())  # 1.0e-5 to 90
LEAST_SHAPE, MOST_SHAPE = 0.5, 1000.0


@dataclass(frozen=True)
class Settings:
    """Priors of a fit.

    class_prior : parameter of the Dirichlet prior of the class probabilities: one number for all
        classes, or one for each.
    effect_shapes : the values of c, each as probable as the others; None where T_j is 1.
    relevant : "some" features are relevant, each with probability pi; or "all".
    ratio, pi : the values of rho and pi, each as probable as the others.
    variance : (a, b) of the Inverse-Gamma(a / 2, a b / 2) prior of the variances; None to take
        those that make the kept features most probable.
    """

    class_prior: float | tuple[float, ...] = 1.0
    effect_shapes: tuple[float | None, ...] = EFFECT_SHAPES
    relevant: str = "some"
    ratio: tuple[float, ...] = RATIO
    pi: tuple[float, ...] = NORMAL_PI
    variance: tuple[float, float] | None = None

    def __post_init__(self):
        _check_dirichlet(self.class_prior)
        _check_shapes(self.effect_shapes)
        check_pi(self.pi)
        if not len(self.ratio):
            raise UserError("ratio must have at least one value")
        for value in self.ratio:
            positive("ratio", value)
        if self.relevant not in ("all", "some"):
            raise UserError(f"relevant must be all or some, got {quoted(self.relevant)}")
        if self.variance is not None:
            for name, value in zip("ab", self.variance, strict=True):
                positive(name, value)

    @property
    def pi_points(self) -> np.ndarray:
        """The grid of pi, (J,)."""
        return np.ones(1) if self.relevant == "all" else np.array(self.pi, dtype=float)

    @property
    def shapes(self) -> np.ndarray:
        """The values of c, (C,), infinite where T_j is 1."""
        return np.array([np.inf if c is None else c for c in self.effect_shapes])

    def class_weights(self, classes: int) -> np.ndarray:
        """Return the parameters of the Dirichlet prior, (G,)."""
        prior = np.atleast_1d(np.array(self.class_prior, dtype=float))
        if len(prior) not in (1, classes):
            raise UserError(
                f"class_prior has {len(prior)} numbers for {classes} classes; give one number, or "
                "one for each class"
            )
        return np.broadcast_to(prior, (classes,))


def _check_dirichlet(prior) -> None:
    several = isinstance(prior, tuple | list | np.ndarray)
    values = list(prior) if several else [prior]
    if not values:
        raise UserError("class_prior must be a positive number, or one for each class")
    for value in values:
        positive("class_prior", value)
        if not LEAST_COUNT <= value <= MOST_COUNT:
            raise UserError(
                f"class_prior must be between {LEAST_COUNT:g} and {MOST_COUNT:g}, got {value:g}"
            )


def _check_shapes(shapes) -> None:
    if not isinstance(shapes, tuple | list) or not shapes:
        raise UserError(f"effect_shapes must be a list such as (3, 10, None), got {quoted(shapes)}")
    for shape in shapes:
        if shape is not None:
            positive("effect_shapes", shape)
            if not LEAST_SHAPE <= shape <= MOST_SHAPE:
                raise UserError(
                    f"effect_shapes must be between {LEAST_SHAPE:g} and {MOST_SHAPE:g}, or None, "
                    f"got {shape:g}"
                )
    if len(set(shapes)) < len(shapes):
        raise UserError(f"effect_shapes must differ from each other, got {quoted(shapes)}")
