"""The settings that the thesis prints, compared with our configs; numbers that follow from them.

Each entry has a key of numbers.yaml, what it is in words, and what our config has.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # scipy.stats takes seconds: it is loaded at its first use

from thesiskit.defaults import SIGMA_0, STEP
from thesiskit.report.finished import Finished
from thesiskit.report.verification.rows import Row, exact, setting

Entries = dict[str, tuple[str, Any]]

# what configs leave to the models: a test holds these to what the models do
GIBBS = {"alpha": 1, "labels": 5, "theta": 20}


def find(source: Finished, path: str) -> Any:
    """Return what a config has at a dotted path, None where it has nothing."""
    found: Any = source.config
    for part in path.split("."):
        if found is None:
            return None
        found = found[int(part)] if isinstance(found, list) else found.get(part)
    return found


def _pair(source: Finished, key: str, path: str, words: str, names: tuple) -> Entries:
    """Return the entries of a pair of values, such as those of two classes."""
    return {
        f"{key}.{name}": (f"{words} {name}", value)
        for name, value in zip(names, find(source, path), strict=True)
    }


def _prior(source: Finished) -> Entries:
    """Return the entries of the priors of chapter 2; that of alpha is also that of alpha_0."""
    alpha = find(source, "model.alpha_prior")
    own = find(source, "model.response_alpha_prior") or alpha
    a, b = (x if x == y else [x, y] for x, y in zip(alpha, own, strict=True))
    f0, f1 = find(source, "model.class_prior")
    return {
        "prior.f0": ("f_0 of the Beta prior of psi", f0),
        "prior.f1": ("f_1 of the Beta prior of psi", f1),
        "prior.a": ("shape of the prior of alpha", a),
        "prior.b": ("rate of the prior of alpha", b),
    }


def _simpson(rules: str | list[str]) -> Any:
    """Return the points of Simpson's rule."""
    for rule in [rules] if isinstance(rules, str) else rules:
        if rule.startswith("simpson-"):
            return int(rule.removeprefix("simpson-"))
    return "another rule"


def _naive(source: Finished) -> Entries:
    rules = find(source, "model.quadrature")
    return {
        "alpha": ("alpha that the data are drawn with", find(source, "data.alpha")),
        "features": ("features, p", find(source, "data.features")),
        **_pair(source, "train_cases", "data.train", "training cases of class", (0, 1)),
        **_pair(source, "test_cases", "data.test", "test cases of class", (0, 1)),
        "selected": ("numbers of features kept", find(source, "selection.features")),
        **_prior(source),
        "alpha_points": ("points of the rule for alpha, K", find(source, "model.alpha_points")),
        "theta_points": ("points of Simpson's rule for theta", _simpson(rules)),
    }


def _lattice(source: Finished) -> Entries:
    n0, n1 = find(source, "lattice.class_counts")
    figure, gamma = "the display of Cor(I0, I1): ", find(source, "lattice.gamma")
    return {
        "cor_lattice_figure.n": (f"{figure}cases", n0 + n1),
        "cor_lattice_figure.n1": (f"{figure}cases of class 1", n1),
        "cor_lattice_figure.gamma": (f"{figure}gamma", gamma),
    }


def _colon(source: Any) -> Entries:
    _, first = np.unique(source.predictions["case"], return_index=True)
    response = source.response[first]
    groups = find(source, "evaluation.groups")
    return {
        "cases.cancer": ("cancerous tissues", int((response == 1).sum())),
        "cases.normal": ("normal tissues", int((response == 0).sum())),
        "genes": ("genes", int(source.selection["n_features"][:groups].sum())),
        "groups": ("groups of genes", groups),
        "selected": ("genes kept in each group", find(source, "selection.features.0")),
        "evaluation": ("how cases are divided", find(source, "scheme")),
    }


def _mixture(source: Finished) -> Entries:
    rule, names = find(source, "model.thesis.quadrature"), ("z0", "z1")
    return {
        "alpha": ("alpha that the data are drawn with", find(source, "data.alpha")),
        **_pair(source, "phi_response", "data.response", "P(class 1) in component", names),
        **_pair(source, "train_cases", "data.train", "training cases of component", names),
        **_pair(source, "test_cases", "data.test", "test cases of component", names),
        "selected": ("numbers of features kept", find(source, "selection.features")),
        **_prior(source),
        "theta_points_adjustment": ("points of the adjustment factor's rule", _simpson(rule)),
        "iterations": ("iterations of Gibbs sampling", find(source, "model.thesis.iterations")),
        **{f"gibbs_iteration.{x}": (f"updates of {x} in each", n) for x, n in GIBBS.items()},
    }


def _logistic(source: Finished) -> Entries:
    sigma_0, step = (find(source, f"model.{one}") for one in ("sigma_0", "step"))
    entries: Entries = {}
    for prior in SIGMA_0:
        words = prior.capitalize()
        entries[f"sigma0.{prior}"] = (f"sigma_0, {words}", sigma_0 or SIGMA_0[prior])
        entries[f"slice_width.beta_{prior}"] = (f"slice width w of beta, {words}",
                                                step or STEP[prior])  # fmt: skip
    return entries | {
        "sigma_prior.shape": ("shape of the prior of sigma_o", find(source, "model.sigma_shape")),
        "sigma_prior.mode": ("mode of the prior of sigma_1", find(source, "model.sigma_mode")),
        "slice_width.sigma": ("slice width w of sigma", find(source, "model.sigma_step")),
        "slice_max_steps": ("most steps out, m", find(source, "model.most_steps")),
        "iterations": ("iterations", find(source, "model.iterations")),
        "beta_updates_per_iteration": ("updates of each beta in an iteration", 1),
        "sigma_updates_per_iteration": (
            "updates of sigma in an iteration", find(source, "model.sigma_updates")
        ),
        "burn_in": ("iterations dropped", find(source, "model.burn_in")),
        "thinning": ("of the others, one is kept in", find(source, "model.thin")),
    }  # fmt: skip


def _sequences(source: Any) -> Entries:
    return {
        "orders": ("orders", find(source, "model.orders")),
        "shown_sigmas": ("orders whose sigmas are shown", source.shown_sigmas),
    }


def _likely(rows: list[list[float]]) -> Any:
    """Return the largest entry of every row, one number where they agree."""
    largest = sorted({max(row) for row in rows})
    return largest[0] if len(largest) == 1 else largest


def _hmm(source: Finished) -> Entries:
    transition = find(source, "data.transition")
    arrows = [[i + 1, int(np.argmax(row)) + 1] for i, row in enumerate(transition)]
    known = [one for one in source.thesis["known_arrows"] if one in arrows]
    return {
        "hidden_states": ("hidden states", len(transition)),
        "stay_on_arrow": ("probability of an arrow", _likely(transition)),
        "emission": ("probability of the likely state", _likely(find(source, "data.emission"))),
        "known_arrows": ("arrows between hidden states that the text names", known),
        "sequences.train": ("training sequences", find(source, "data.train")),
        "sequences.test": ("test sequences", find(source, "data.test")),
        "length": ("states of a sequence", find(source, "data.history") + 1),
        **_sequences(source),
    }


def _text(source: Any) -> Entries:
    states, history = find(source, "data.limit"), find(source, "data.history")
    return {
        "states": ("kinds of characters", len(source.classes)),
        "sequence_length": ("states of the text", states),
        "windows": ("windows", None if states is None else states - history),
        "window_length": ("states of a window", history + 1),
        "train": ("windows to train", find(source, "data.train")),
        "test": ("windows to test", len(source.response)),
        "traced_parameters": ("coefficients whose traces are shown", find(source, "report.traced")),
        **_sequences(source),
    }


def _reduction(source: Any) -> Entries:
    return {
        "train_cases": ("training cases", find(source, "reduction.cases")),
        "varied": ("what is varied", [sweep.varied for sweep in source.sweeps]),
        "highest_order": ("highest order", int(source.sweeps[-1].x[-1])),
    }


def _cauchy(source: Finished) -> Entries:
    intercept, *sigma = find(source, "data.sigma")
    return {
        "features": ("features", find(source, "data.features")),
        "values_per_feature": ("values of each", find(source, "data.values")),
        "generating_order": ("order that responses are drawn with", len(sigma)),
        "sigma_o": ("sigma_o of orders 1 to 4", sigma),
        "intercept": ("intercept", intercept),
        "cases.train": ("training cases", find(source, "data.train")),
        "cases.test": ("test cases", find(source, "data.test")),
        "enlarged": ("half the side of the square shown larger", source.thesis["enlarged"]),
        **_sequences(source),
    }


ENTRIES: dict[str, Callable[[Any], Entries]] = {
    "naive_simulation": _naive,
    "lattice": _lattice,
    "colon": _colon,
    "mixture_simulation": _mixture,
    "logistic_sampling": _logistic,
    "hmm": _hmm,
    "text": _text,
    "parameter_reduction": _reduction,
    "cauchy_classification": _cauchy,
}


def setting_rows(source: Finished, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the rows of the settings of an experiment; numbers: those of the thesis."""
    prefix = "naive_simulation" if of == "lattice" else of
    return [
        setting(f"{prefix}.{key}", what, _printed(numbers, key), here)
        for key, (what, here) in ENTRIES[of](source).items()
    ]


def _printed(numbers: dict[str, Any], key: str) -> Any:
    found: Any = numbers
    for part in key.split("."):
        found = found[int(part) if part.isdigit() else part]
    return found


def exact_rows(source: Finished, of: str, numbers: dict[str, Any]) -> list[Row]:
    """Return the rows of numbers that follow from the settings."""
    if of == "naive_simulation":
        found = np.log([float(find(source, "data.alpha"))])
        return _exact(f"{of}.true_log_alpha", "log of that alpha", [numbers["true_log_alpha"]],
                      found, decimals=1)  # fmt: skip
    if of == "mixture_simulation":
        shape, rate = find(source, "model.alpha_prior")
        printed = numbers["alpha_grid"]
        n = find(source, "model.thesis.alpha_points")
        grid = scipy.stats.invgamma.ppf((np.arange(n) + 0.5) / n, shape, scale=rate)
        return _exact(f"{of}.alpha_grid", "values of alpha", printed, grid, decimals=2)
    if of == "logistic_sampling":
        shape, mode = find(source, "model.sigma_shape"), find(source, "model.sigma_mode")
        p, q = zip(*numbers["sigma1_quantiles"], strict=True)
        quantiles = scipy.stats.invgamma.ppf(p, shape, scale=(shape + 1) * mode)
        return _exact(f"{of}.sigma1_quantiles", "quantiles of sigma_1", q, quantiles, decimals=2)
    return []


def _exact(key: str, what: str, printed, found: np.ndarray, *, decimals: int) -> list[Row]:
    """Return a row for each of the numbers printed, one for all where ours are not as many."""
    if len(printed) != len(found):
        return [setting(key, what, list(printed), [round(float(one), decimals) for one in found])]
    if len(found) == 1:
        return [exact(key, what, printed[0], found[0], decimals)]
    return [
        exact(f"{key}.{i}", f"{what}, {i + 1}", printed[i], found[i], decimals)
        for i in range(len(found))
    ]
