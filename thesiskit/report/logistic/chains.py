"""Chains of logistic models: whether they mix, and traces of coefficients."""

import numpy as np
import pandas as pd

from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.report.layout import GREY, INK, Figure, Table, canvas, save_space
from thesiskit.report.record import Arm, Record

LAGS = 50


def sampler_table(record: Record) -> list[Table]:
    """Evaluations of densities, time, R-hat and effective draws of the sigmas."""
    fits, rows = record.worst, []
    chains = record.config["model"]["chains"]
    for j, arm in enumerate(record.own):
        if arm.engine != "slice":
            continue
        sigma = slice(2, 2 + arm.order)
        if not np.isfinite(fits["rhat"][j, sigma]).any():
            continue
        worst = int(np.nanargmin(fits["ess"][j, sigma])) + 1
        rows.append(
            {
                "order": arm.order,
                "model": arm.words,
                "ms an iteration": 1e3
                * record.seconds["train"][arm.row]
                / (record.iterations[j] * chains),
                "evaluations an iteration: coefficients": np.rint(fits["evaluations"][j, 0]),
                "evaluations an iteration: widths": np.rint(fits["evaluations"][j, 1]),
                "R-hat: log likelihood": fits["rhat"][j, 0],
                "R-hat: log prior": fits["rhat"][j, 1],
                "R-hat: worst sigma": np.nanmax(fits["rhat"][j, sigma]),
                **({"R-hat: log noise": fits["rhat"][j, sigma.stop]} if record.continuous else {}),
                "effective draws: log likelihood": np.rint(fits["ess"][j, 0]),
                "effective draws: worst sigma": np.rint(np.nanmin(fits["ess"][j, sigma])),
                "effective draws: of order": worst,
                "reliable": "yes" if record.reliable[j] else "NO",
            }
        )
    return [
        Table(
            "sampler",
            "The chains",
            pd.DataFrame(rows),
            f"Effective draws of {_counted(record)}. Reliable: R-hat at most "
            f"{RELIABLE_RHAT:g} and {RELIABLE_ESS:g} effective draws of the log likelihood; sigmas "
            "of orders that matter little may wander without harm to predictions. Milliseconds of "
            f"one chain's iteration; {_side_by_side(record)}.",
            long=len(rows) > 25,
        )
    ]


def _counted(record: Record) -> str:
    """Say which iterations count."""
    if record.config["model"]["until"] is None:
        return "all iterations after burn-in"
    return "the second half of the iterations"


def _side_by_side(record: Record) -> str:
    if record.config["model"]["until"] is None:
        return "chains run side by side"
    return "the time of a fit, in which chains run side by side, divided by all their iterations"


def autocorrelation(x: np.ndarray, lags: int = LAGS) -> np.ndarray:
    """Return the autocorrelation of chains x (C, I) at lags 0..lags, averaged over chains."""
    x = x - x.mean(axis=1, keepdims=True)
    variance = (x**2).mean()
    if variance == 0:
        return np.ones(lags + 1)
    size = x.shape[1]
    return np.array(
        [(x[:, lag:] * x[:, : size - lag]).sum() / x.size / variance for lag in range(lags + 1)]
    )


def autocorrelation_figure(record: Record) -> list[Figure]:
    """Autocorrelations of log sigma at a large order (fig-hmm500-acf, fig-text-acf)."""
    largest, wanted = record.widest_order, record.shown_sigmas
    arms = [arm for arm in record.own if arm.order == largest and arm.engine == "slice"]
    traces = {arm: record.log_sigma_trace(arm) for arm in arms}
    figure, axes = canvas(
        len(arms), len(wanted), height=1.5 * len(arms) + 0.6, sharex=True, sharey=True
    )
    for row, arm in enumerate(arms):
        lags = min(LAGS, traces[arm].shape[1] - 1)
        for column, o in enumerate(wanted):
            axis = axes[row, column]
            axis.vlines(
                range(lags + 1), 0, autocorrelation(traces[arm][:, :, o], lags), color=INK, lw=0.9
            )
            axis.axhline(0, color=GREY, linewidth=0.6)
            if row == 0:
                axis.set_title(rf"$\sigma_{{{o}}}$", fontsize=10)
            if column == 0:
                axis.set_ylabel(arm.words.replace(", ", ",\n"), fontsize=8)
    figure.supxlabel("lag, in iterations", fontsize=10)
    save_space(axes)
    return [
        Figure(
            "autocorrelations",
            f"Autocorrelations of the logarithms of the sigmas, order {largest}",
            figure,
            f"Computed from {_counted(record)}.",
        )
    ]


def _medians(record: Record, arm: Arm) -> np.ndarray:
    """Posterior medians of the coefficients, (S, G)."""
    return np.median(record.draws(arm)["coefficient"], axis=(0, 1))


def median_scatter(record: Record) -> list[Figure]:
    """Medians of the coefficients, Cauchy against Gaussian (fig-text-medians)."""
    order = record.drawn_order
    pair = [record.of_order(order, prior) for prior in ("cauchy", "gaussian")]
    if None in pair:
        return []
    x, y = (_medians(record, arm).reshape(-1) for arm in pair)
    far = 1.05 * max(np.abs(x).max(), np.abs(y).max())
    near = float(f"{far / 5:.1g}") if record.continuous else record.thesis.get("enlarged", 2.0)
    figure, axes = canvas(1, 2, height=3.8)
    for axis, limit in zip(axes.flat, (far, near), strict=True):
        axis.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
        axis.plot(x, y, ".", color=INK, markersize=3, alpha=0.5, rasterized=True)
        axis.set_xlim(-limit, limit)
        axis.set_ylim(-limit, limit)
        axis.set_xlabel("median with Cauchy priors")
        axis.set_ylabel("median with Gaussian priors")
    axes[0, 0].add_patch(_box(near))
    save_space(axes)
    return [
        Figure(
            "medians",
            f"Posterior medians of the compressed coefficients, order {order}",
            figure,
            f"The right panel enlarges the part from -{near:g} to {near:g}. Cauchy priors allow a "
            "few coefficients to be large and keep the others near 0.",
        )
    ]


def _box(half: float):
    from matplotlib.patches import Rectangle

    return Rectangle((-half, -half), 2 * half, 2 * half, fill=False, edgecolor=GREY)


def coefficient_name(pattern: str, response: str) -> str:
    """Write a coefficient: pattern, and of a class a colon and the class."""
    return (pattern or "(any)") + (f":{response}" if response else "")


def _places(record: Record, draws: dict[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Return set and group of the coefficients that are traced, by name."""
    classes = record.classes[-draws["coefficient"].shape[2] :] or [""]
    found = {}
    patterns = [str(one) for one in draws["pattern"]]
    for name in record.config["report"].get("traced", []):
        text, _, response = name.rpartition(":") if record.classes else (name, "", "")
        g = _group(draws, patterns, "" if text == "(any)" else text)
        if g is not None and response in classes:
            found[name] = (classes.index(response), g)
    medians = np.median(draws["coefficient"], axis=(0, 1))
    k, g = np.unravel_index(medians.argmax(), medians.shape)
    found[coefficient_name(patterns[g], classes[k])] = (int(k), int(g))
    return found


def _group(draws: dict[str, np.ndarray], patterns: list[str], text: str) -> int | None:
    """Return the group of a pattern: of features by its name, of sequences by its longest."""
    if "states" not in draws:
        wanted = sorted(item.strip() for item in text.split(",") if item.strip())
        names = [sorted(filter(None, pattern.split(", "))) for pattern in patterns]
        return names.index(wanted) if wanted in names else None
    single = all(len(str(state)) == 1 for state in draws["states"])
    history = list(text) if single else text.split()
    for g, pattern in enumerate(patterns):
        longest = list(pattern) if single else pattern.split()
        inside = draws["first"][g] <= len(history) <= draws["last"][g]
        if inside and longest[len(longest) - len(history) :] == history:
            return g
    return None


def coefficient_traces(record: Record) -> list[Figure]:
    """Traces of single coefficients, and of the one with the largest median (fig-text-betas)."""
    order = record.drawn_order
    priors = [p for p in ("cauchy", "gaussian") if record.of_order(order, p)]
    draws = {prior: record.draws(record.of_order(order, prior)) for prior in priors}
    places = _places(record, draws[priors[0]])
    figure, axes = canvas(
        len(places), len(priors), height=2.0 * len(places) + 0.5, sharex=True, sharey="row"
    )
    shades = [INK, "#777777", GREY]
    for row, (name, (k, g)) in enumerate(places.items()):
        for column, prior in enumerate(priors):
            axis = axes[row, column]
            for chain, values in enumerate(draws[prior]["coefficient"][:, :, k, g]):
                axis.plot(values, color=shades[chain % 3], linewidth=0.7)
            axis.set_title(f"{name}, {prior.capitalize()}", fontsize=9)
            axis.set_ylabel("coefficient")
        shown = [draws[prior]["coefficient"][:, :, k, g] for prior in priors]
        low, high = np.quantile(np.concatenate([one.ravel() for one in shown]), (0.002, 0.998))
        axes[row, 0].set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    for axis in axes[-1]:
        axis.set_xlabel("draw")
    save_space(axes)
    chains = record.config["model"]["chains"]
    return [
        Figure(
            "traces",
            f"Coefficients along the chains, order {order}",
            figure,
            f"The draws kept of {chains} chain{'s' if chains > 1 else ''}. {_naming(record)}"
            "The last row is the coefficient with the largest posterior median under "
            f"{priors[0].capitalize()} priors. 0.4 % of the draws are outside the axes.",
        )
    ]


def _naming(record: Record) -> str:
    if record.continuous:
        return (
            "Coefficients are in the units of the response, and the intercept is relative to its "
            "mean. "
        )
    return (
        "The name of a coefficient is its pattern (the most recent state is last), "
        "and after the colon its class. "
    )


def scale_figure(record: Record) -> list[Figure]:
    """Effective draws of each sigma, sampled on the log scale and on its own."""
    largest = max(record.orders)
    priors = [p for p in ("cauchy", "gaussian") if record.of_order(largest, p)]
    fits = record.worst
    place = {arm: j for j, arm in enumerate(record.own)}
    figure, axes = canvas(1, len(priors), sharey=True)
    for column, prior in enumerate(priors):
        axis = axes[0, column]
        for scale, style in (("log", "-o"), ("natural", ":s")):
            arm = record.of_order(largest, prior, scale=scale)
            if arm is not None:
                ess = fits["ess"][place[arm], 2 : 2 + largest]
                label = {"log": "log sigma", "natural": "sigma"}[scale]
                label += f": {fits['evaluations'][place[arm], 1]:,.0f} evaluations an iteration"
                axis.plot(range(1, largest + 1), ess, style, color=INK, mfc="white", label=label)
        axis.set_yscale("log")
        axis.set_xlabel("order o of sigma")
        axis.set_title(prior.capitalize(), fontsize=10)
        axis.set_xticks(range(1, largest + 1) if largest < 8 else range(5, largest + 1, 5))
        axis.legend(frameon=False, title="updated on the scale of", fontsize=7, title_fontsize=8)
    axes[0, 0].set_ylabel("effective draws")
    save_space(axes)
    return [
        Figure(
            "scales",
            f"Sigma on its own scale and on the log scale, order {largest}",
            figure,
            f"Effective draws of {_counted(record)}"
            + (f", the smallest of {record.n_blocks} data sets" if record.n_blocks > 1 else "")
            + ". If the data say little about sigma, its posterior has the tail of the prior, over "
            "many powers of ten. At most 50 steps of 1 on sigma's own scale cannot cross this "
            "tail, so this scale needs more evaluations and may give fewer effective draws. If the "
            "data determine sigma well, chains on both scales mix alike.",
        )
    ]
