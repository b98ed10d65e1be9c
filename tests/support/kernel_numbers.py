"""Digests of what all kernels compute, for fixed seeds: a build says the same as another.

    python tests/support/kernel_numbers.py

`make check-sdist` compares the build with bounds checks to the fast one.
"""

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from logistic_samples import NAMES, groups_named
from thesiskit._kernels.interactions import FORMS

from thesiskit.models import integrals, logistic, mixing, mixture, naive_bayes, normal
from thesiskit.models.packed import PackedFeatures
from thesiskit.models.patterns import compress_features, compress_sequences
from thesiskit.models.selection import AT, BELOW, LOT, WITHIN, LeftOut, select_by_f, select_features
from thesiskit.pairs.interactions import Run, select_patterns
from thesiskit.pairs.planes import Planes


def of_naive_bayes() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(1)
    alpha = np.geomspace(0.1, 1e4, 7)
    for n in ((7, 5), (40, 60), (400, 350), (1500, 2500)):
        pairs = np.stack([rng.integers(0, m + 1, 9) for m in n], axis=1)
        for rule in ("exact", "simpson-21"):
            yield f"pairs {n} {rule}", integrals.pair_integrals(pairs, n, alpha, rule)
            yield (
                f"discard {n} {rule}",
                integrals.log_discard_probability(*n, Fraction(1, 30), alpha, quadrature=rule),
            )
    selection, table, _ = selected()
    for correct in (True, False):
        posterior = naive_bayes.fit(selection, naive_bayes.NaiveBayes(), correct=correct)
        yield f"naive Bayes {correct}", naive_bayes.predict(posterior, table)


def selected():
    """Five of 200 features, selected."""
    rng = np.random.default_rng(2)
    table, y = rng.integers(0, 2, (50, 200)).astype(np.uint8), np.arange(50) % 2
    packed = PackedFeatures.pack(table)
    selection = select_features(packed, y, 5, rng, samples=np.arange(50))
    return selection, table[:, selection.selected], y


def of_mixtures() -> Iterator[tuple[str, Any]]:
    selection, table, y = selected()
    events = {
        "True": {WITHIN: 195}, "False": {}, "ties": {BELOW: 193, AT: 2}, "lot": {LOT: 195},
    }  # fmt: skip
    for sampler, correct in product(("collapsed", "gibbs", "approximate"), events):
        left_out = LeftOut.of(events[correct], (25, 25), selection.gamma_squared, 2)
        settings = mixture.Mixture(
            sampler=sampler, iterations=12, burn_in=2, chains=2, alpha_points=9
        )
        target = mixture.MixtureTarget(table, y, settings, left_out)
        draws = mixture.sample(target, [np.random.default_rng([3, c]) for c in range(2)])
        yield f"mixture {sampler} {correct}", [*draws.flat, draws.log_posterior]
        yield "its predictions", target.predict(draws.flat, table[:9])


def of_patterns() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(4)
    for values, length, order, compress in product((2, 4), (3, 6), (2, 3), (True, False)):
        table = rng.integers(0, values, (40, length))
        test = rng.integers(0, values + 1, (9, length))
        found = compress_sequences(table, order, compress=compress)
        yield f"sequences {values} {length} {order} {compress}", found.arrays()
        yield "shared", vars(found.shared(test))
        table[rng.random(table.shape) < 0.1] = -1
        found = compress_features(table, order, compress=compress)
        yield f"features {values} {length} {order} {compress}", found.arrays()
        yield "shared", vars(found.shared(test))


def of_logistic_models() -> Iterator[tuple[str, Any]]:
    for name, prior, scale, classes in product(
        (*NAMES, "large"), ("cauchy", "gaussian"), logistic.SCALES, (2, 3, 0)
    ):
        rng = np.random.default_rng([5, classes])
        groups = groups_named(name, rng)
        settings = logistic.Logistic(
            prior=prior, sigma_scale=scale, iterations=12, burn_in=2, thin=2
        )
        if classes:
            model = logistic.LogisticTarget(
                groups, np.arange(groups.n_samples) % classes, classes, settings
            )
        else:
            model = logistic.GaussianTarget(groups, rng.normal(size=groups.n_samples), settings)
        draws = logistic.sample(model, [np.random.default_rng([6, c]) for c in range(2)])
        yield f"logistic {name} {prior} {scale} {classes}", [draws.coefficient, draws.trace]
        if name in ("compressed", "original", "features"):
            test = np.random.default_rng(7).integers(0, 3, (5, 4 if name == "features" else 3))
            shared, cauchy, once = groups.shared(test), prior == "cauchy", np.random.default_rng(8)
            if classes:
                predicted = logistic.predict(
                    *draws.flat, shared, classes, cauchy=cauchy, rng=once, split_draws=3
                )
            else:
                predicted = logistic.predict_response(
                    *draws.flat, draws.log_noise.ravel(), shared, cauchy=cauchy, rng=once,
                    split_draws=3,
                ).linear  # fmt: skip
            yield "its predictions", predicted


def of_normal_features() -> Iterator[tuple[str, Any]]:
    for classes, correct in product((2, 3), (True, False)):
        rng = np.random.default_rng([9, classes])
        y = np.arange(40) % classes
        X = rng.standard_normal((40, 300)) + (y[:, None] == 1) * (np.arange(300) < 5)
        selection = select_by_f(X, y, 25, rng)
        found = normal.fit(selection, normal.Normal(), correct=correct)
        yield f"normal {classes} {correct}", [found.log_joint, found.variance]
        yield (
            "its predictions",
            normal.Normal().log_probability(found, 2 * X[:, selection.selected]),
        )
        selection = select_by_f(X, X[:, 0] + rng.standard_normal(40), 25, rng)
        found = normal.fit(selection, normal.Normal(), correct=correct)
        density = normal.Normal().density(found, 2 * X[:, selection.selected])
        yield "its real responses", [density.location, density.scale, density.logs]


def of_interactions() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(10)
    codes, y = rng.integers(-1, 4, (70, 40)), np.arange(70) % 2
    for complete, form in product((False, True), range(len(FORMS))):
        planes, run = Planes.pack(abs(codes) if complete else codes, y), Run(form=form)
        selection = select_patterns(planes, 30, np.random.default_rng(1), run=run)
        assert selection.left_out is not None
        yield f"patterns {complete} {form}", [selection.selected, selection.left_out.rows]


def of_mixing() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(7)
    for n_states, n_classes, order in ((3, 3, 12), (2, 2, 20), (27, 27, 5), (4, 2, 0)):
        X, y = rng.integers(0, n_states, (3000, 20)), rng.integers(0, n_classes, 3000)
        y[1000:] = X[1000:, -1] % n_classes
        model = mixing.fit(X, y, order, n_states, n_classes)
        yield (
            f"mixing {n_states} {order}",
            [model.loss, model.arrays["weights"], model.predict(X[:100])],
        )


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """Yield all numeric arrays that a value has."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from arrays_of(one)
    elif isinstance(value, np.ndarray | np.number) and value.dtype.kind in "biuf":
        yield np.ascontiguousarray(value)


def main() -> None:
    for numbers in (of_naive_bayes, of_mixtures, of_patterns, of_logistic_models,
                    of_normal_features, of_interactions, of_mixing):  # fmt: skip
        for name, value in numbers():
            found = list(arrays_of(value))
            assert found, name
            content = b"".join(one.tobytes() for one in found)
            print(hashlib.sha256(content).hexdigest()[:16], len(found), name)


if __name__ == "__main__":
    main()
