"""Data drawn from the models of the thesis."""

from numbers import Integral

import numpy as np

from thesiskit.datasets import Drawn, Table


def draw_naive_bayes(
    rng: np.random.Generator,
    *,
    features: int,
    alpha: float,
    train: tuple[int, int],
    test: tuple[int, int] | int,
    class_prior: tuple[float, float] = (1.0, 1.0),
) -> Drawn:
    """Draw binary data from equations sample-x-b, prior-theta-b and prior-phi-b.

    Parameters
    ----------
    features : p.
    alpha : how alike the classes are; inf makes phi_0 = phi_1, so that no feature has anything to
        do with the response.
    train, test : cases in class 0 and in class 1.  A single number for `test` draws the classes
        too, from their posterior given the training ones under the prior `class_prior`
        (f_0, f_1): the order in which prior, training and test data come does not matter.
    """
    theta = rng.random(features)
    if np.isinf(alpha):
        phi = np.stack([theta, theta])
    else:
        # Beta(a, b) with a or b below 1e-300 is 0 or 1, never 0 / 0
        phi = rng.beta(
            np.maximum(alpha * theta, 1e-300),
            np.maximum(alpha * (1 - theta), 1e-300),
            size=(2, features),
        )
    if isinstance(test, Integral):
        psi = rng.beta(class_prior[1] + train[1], class_prior[0] + train[0])
        test_response = np.sort(rng.random(test) < psi).astype(np.uint8)
    else:
        test_response = np.repeat(np.array([0, 1], dtype=np.uint8), test)
    response = np.repeat(np.array([0, 1], dtype=np.uint8), train)
    return Drawn(
        Table(_bernoulli(rng, phi, response), response),
        Table(_bernoulli(rng, phi, test_response), test_response),
        alpha,
    )


def _bernoulli(rng, phi: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Draw one row of features for each response, row by row to keep memory small."""
    features = np.empty((len(response), phi.shape[1]), dtype=np.uint8)
    for row, y in zip(features, response, strict=True):
        np.less(rng.random(phi.shape[1]), phi[y], out=row.view(bool))
    return features
