"""Tables and figures of experiments with sequences."""

import numpy as np
import pandas as pd

from thesiskit.report.figures import GREY, INK, Figure, canvas, save_space
from thesiskit.report.sequence_record import Arm, SequenceRecord
from thesiskit.report.tables import Table

LAGS = 50
TRACED_ORDERS = (10, 12, 15, 17, 20)  # whose sigmas the thesis shows
SHOWN_ORDERS = (5, 10, 20)  # in the table of peers


def _style(arm: Arm) -> dict:
    """Circles for compressed, crosses for original; dashes for Gaussian, dots for Cauchy."""
    return {
        "color": GREY if arm.scale == "natural" else INK,
        "linestyle": "-" if arm.engine == "gp" else ":" if arm.prior == "cauchy" else "--",
        "marker": "s" if arm.engine == "gp" else "o" if arm.compress else "x",
        "markerfacecolor": "white",
        "markersize": 5,
    }


def parameter_table(record: SequenceRecord) -> list[Table]:
    """Groups and patterns by order."""
    found = record.compression
    frame = pd.DataFrame(
        {
            "order": found["order"],
            "groups": found["groups"],
            "patterns": found["patterns"],
            "ratio": found["groups"] / found["patterns"],
            "distinct histories": found["rows"],
            "seconds to compress": found["seconds"],
        }
    )
    theirs = record.thesis.get("compressed_over_original_at_order_20")
    beside = ""
    if theirs is not None:
        frame["ratio, thesis"] = [theirs if order == 20 else np.nan for order in found["order"]]
        beside = " The thesis prints the ratio at order 20."
    return [
        Table(
            "parameters",
            "Parameters",
            frame,
            "Patterns that some training case expresses, and groups of them with one expression; "
            f"each class has a coefficient for every one.{_no_more(record)}{beside}",
        )
    ]


def _no_more(record: SequenceRecord) -> str:
    """Say from which order on there are no new groups, where there is such an order."""
    stopped = int(record.compression["stopped"])
    return f" No groups are added beyond order {stopped}." if stopped < max(record.orders) else ""


def parameter_figure(record: SequenceRecord) -> list[Figure]:
    """Parameters, their ratio, and times, by order (fig-hmm500-comp, fig-text-comp)."""
    figure, axes = canvas(2, 2, height=5.6)
    found = record.compression
    order = np.argsort(found["order"])
    x = found["order"][order]
    axes[0, 0].plot(x, found["patterns"][order], "-x", color=INK, label="original")
    axes[0, 0].plot(x, found["groups"][order], "-o", color=INK, mfc="white", label="compressed")
    axes[0, 0].set_ylabel("parameters for each class")
    axes[0, 0].legend(frameon=False)
    axes[0, 1].plot(x, (found["groups"] / found["patterns"])[order], "-o", color=INK, mfc="white")
    axes[0, 1].set_ylabel("compressed / original")
    axes[0, 1].set_ylim(0, 1.05)
    for words, arms in record.lines(record.own).items():
        for axis, stage in ((axes[1, 0], "train"), (axes[1, 1], "predict")):
            seconds = [record.seconds[stage][arm.row] for arm in arms]
            axis.plot([arm.order for arm in arms], seconds, label=words, **_style(arms[0]))
    axes[1, 0].set_ylabel("seconds to train")
    axes[1, 1].set_ylabel("seconds to predict")
    axes[1, 0].legend(frameon=False, fontsize=8)
    for axis in axes.flat:
        axis.set_xlabel("order")
        axis.set_ylim(bottom=0)
    save_space(axes)
    return [
        Figure(
            "parameters",
            "Parameters and times by order",
            figure,
            "Circles: compressed, crosses: original parameters; dots: Cauchy, dashes: Gaussian "
            f"priors.{_no_more(record)}",
        )
    ]


def performance_figure(record: SequenceRecord) -> list[Figure]:
    """Error rate and AMLP by order (fig-hmm500-error, fig-text-error)."""
    priors = [p for p in ("cauchy", "gaussian") if any(arm.prior == p for arm in record.own)]
    figure, axes = canvas(len(priors), 2, height=2.9 * len(priors) + 0.2, sharey="col")
    for row, prior in enumerate(priors):
        arms = [arm for arm in record.own if arm.prior == prior]
        for words, line in record.lines(arms).items():
            orders = [arm.order for arm in line]
            style = _style(line[0]) | {"linestyle": "-", "label": words, "elinewidth": 0.5}
            wrong = np.array([record.error(arm) for arm in line])
            losses = np.array([record.losses(arm) for arm in line])
            root = np.sqrt(losses.shape[1])
            axes[row, 0].errorbar(orders, wrong, np.sqrt(wrong * (1 - wrong)) / root, **style)
            axes[row, 1].errorbar(orders, losses.mean(axis=1), losses.std(axis=1) / root, **style)
        axes[row, 0].set_ylabel("error rate")
        axes[row, 1].set_ylabel("average minus log probability")
        axes[row, 1].legend(frameon=False, fontsize=8)
        for axis in axes[row]:
            axis.set_xlabel("order")
    save_space(axes)
    both = len({arm.compress for arm in record.own if arm.engine == "slice"}) > 1
    return [
        Figure(
            "performance",
            "Performance by order",
            figure,
            f"Over {len(record.response):,} test cases, with bars of one standard error. Lower is "
            "better." + (" With and without compression the model is the same." if both else ""),
        )
    ]


def score_table(record: SequenceRecord) -> list[Table]:
    """Error, AMLP and what the chains are worth, of each of our models."""
    fits = record.fits
    rows = []
    for j, arm in enumerate(record.own):
        losses = record.losses(arm)
        rows.append(
            {
                "order": arm.order,
                "model": arm.words,
                "parameters a class": record.parameters(arm) or np.nan,
                "error": record.error(arm),
                "AMLP": losses.mean(),
                "its standard error": losses.std(ddof=1) / np.sqrt(len(losses)),
                "log likelihood: R-hat": fits["rhat"][j, 0],
                "log likelihood: effective draws": np.rint(fits["ess"][j, 0]),
                "seconds: train": record.seconds["train"][arm.row],
                "seconds: predict": record.seconds["predict"][arm.row],
            }
        )
    return [
        Table(
            "scores",
            "Performance",
            pd.DataFrame(rows),
            f"Over {len(record.response):,} test cases; AMLP is the average minus log probability "
            "of the actual class. R-hat compares chains (one chain: its halves).",
            long=len(rows) > 25,
        )
    ]


def sampler_table(record: SequenceRecord) -> list[Table]:
    """Slice evaluations, time, R-hat and effective draws of the sigmas."""
    fits, rows = record.fits, []
    model = record.config["model"]
    iterations = model["iterations"] * model["chains"]
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
                "ms an iteration": 1e3 * record.seconds["train"][arm.row] / iterations,
                "evaluations an iteration: coefficients": np.rint(fits["evaluations"][j, 0]),
                "evaluations an iteration: widths": np.rint(fits["evaluations"][j, 1]),
                "R-hat: log likelihood": fits["rhat"][j, 0],
                "R-hat: log prior": fits["rhat"][j, 1],
                "R-hat: worst sigma": np.nanmax(fits["rhat"][j, sigma]),
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
            "Effective draws of all iterations after burn-in. Reliable: R-hat at most 1.1 and 40 "
            "effective draws of the log likelihood; sigmas of orders that matter little may "
            "wander without harm to predictions. Milliseconds of one chain's iteration; chains run "
            "side by side.",
            long=len(rows) > 25,
        )
    ]


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


def _after_burn_in(record: SequenceRecord, arm: Arm) -> np.ndarray:
    return record.draws(arm)["log_sigma_trace"][:, record.config["model"]["burn_in"] :]


def autocorrelation_figure(record: SequenceRecord) -> list[Figure]:
    """Autocorrelations of log sigma at the largest order (fig-hmm500-acf, fig-text-acf)."""
    largest = max(record.orders)
    wanted = [o for o in TRACED_ORDERS if o <= largest] or list(range(1, largest + 1))[-5:]
    arms = [arm for arm in record.own if arm.order == largest and arm.engine == "slice"]
    traces = {arm: _after_burn_in(record, arm) for arm in arms}
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
            "After burn-in, every iteration.",
        )
    ]


def _medians(record: SequenceRecord, arm: Arm) -> np.ndarray:
    """Posterior medians of the coefficients, (S, G)."""
    return np.median(record.draws(arm)["coefficient"], axis=(0, 1))


def median_scatter(record: SequenceRecord) -> list[Figure]:
    """Medians of the coefficients, Cauchy against Gaussian (fig-text-medians)."""
    order = record.drawn_order
    pair = [record.find(order, prior) for prior in ("cauchy", "gaussian")]
    if None in pair:
        return []
    x, y = (_medians(record, arm).reshape(-1) for arm in pair)
    figure, axes = canvas(1, 2, height=3.8)
    for axis, limit in zip(axes.flat, (1.05 * max(np.abs(x).max(), np.abs(y).max()), 2.0),
                           strict=True):  # fmt: skip
        axis.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
        axis.plot(x, y, ".", color=INK, markersize=3, alpha=0.5, rasterized=True)
        axis.set_xlim(-limit, limit)
        axis.set_ylim(-limit, limit)
        axis.set_xlabel("median with Cauchy priors")
        axis.set_ylabel("median with Gaussian priors")
    axes[0, 0].add_patch(_box(2.0))
    save_space(axes)
    return [
        Figure(
            "medians",
            f"Posterior medians of the compressed coefficients, order {order}",
            figure,
            "On the right the rectangle (-2, 2) x (-2, 2), enlarged. Cauchy priors let a few "
            "coefficients be large and keep the others near 0.",
        )
    ]


def _box(half: float):
    from matplotlib.patches import Rectangle

    return Rectangle((-half, -half), 2 * half, 2 * half, fill=False, edgecolor=GREY)


def coefficient_name(pattern: str, response: str) -> str:
    """Write a coefficient: history, colon, response."""
    return f"{pattern or '(any)'}:{response}"


def _places(record: SequenceRecord, draws: dict[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Return set and group of the coefficients that are traced, by name."""
    classes = record.classes if draws["coefficient"].shape[2] > 1 else record.classes[1:]
    found = {}
    patterns = [str(one) for one in draws["pattern"]] if "pattern" in draws else []
    single = all(len(str(state)) == 1 for state in draws.get("states", []))
    for name in record.config["report"].get("traced", []):
        text, _, response = name.rpartition(":")
        text = "" if text == "(any)" else text
        history = list(text) if single else text.split()
        for g, pattern in enumerate(patterns):
            longest = list(pattern) if single else pattern.split()
            inside = draws["first"][g] <= len(history) <= draws["last"][g]
            if inside and longest[len(longest) - len(history) :] == history:
                if response in classes:
                    found[name] = (classes.index(response), g)
                break
    medians = np.median(draws["coefficient"], axis=(0, 1))
    k, g = np.unravel_index(medians.argmax(), medians.shape)
    pattern = patterns[g] if patterns else f"group {g}"
    found[coefficient_name(pattern, classes[k])] = (int(k), int(g))
    return found


def coefficient_traces(record: SequenceRecord) -> list[Figure]:
    """Traces of single coefficients, and of the one with the largest median (fig-text-betas)."""
    order = record.drawn_order
    priors = [p for p in ("cauchy", "gaussian") if record.find(order, p)]
    draws = {prior: record.draws(record.find(order, prior)) for prior in priors}
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
        low, high = np.quantile(shown, (0.002, 0.998))
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
            f"Draws kept of {chains} chain{'s' if chains > 1 else ''}. A name gives the history, "
            "most recent state last, and after the colon the response whose coefficient it is. "
            "The last row is the coefficient with the largest posterior median under "
            f"{priors[0].capitalize()} priors. Of the draws, 0.4 % lie outside the axes.",
        )
    ]


def peer_table(record: SequenceRecord) -> list[Table]:
    """Our models beside what else there is, at a few orders."""
    orders = [o for o in SHOWN_ORDERS if o in record.orders] or record.orders[-3:]
    arms = [arm for arm in record.arms if arm.peer or arm.compress or arm.engine == "gp"]
    rows = []
    for words, line in record.lines(arms).items():
        by_order = {arm.order: arm for arm in line}
        row: dict = {"model": words}
        for measure in ("AMLP", "error", "seconds"):
            for o in orders:
                arm = by_order.get(o)
                row[f"{measure}: {o}"] = np.nan if arm is None else _measure(record, arm, measure)
        rows.append(row)
    base = _base_rate(record)
    rows.append(
        {"model": "base rate"}
        | {f"AMLP: {o}": base[0] for o in orders}
        | {f"error: {o}": base[1] for o in orders}
        | {f"seconds: {o}": np.nan for o in orders}
    )
    frame = pd.DataFrame(rows).sort_values(f"AMLP: {orders[-1]}", ignore_index=True)
    return [
        Table(
            "peers",
            "Beside other models",
            frame,
            f"The same {len(record.response):,} test cases, by order (history given to the "
            "model). Seconds to fit and to predict. Sorted by AMLP at the largest order.",
        )
    ]


def _measure(record: SequenceRecord, arm: Arm, measure: str) -> float:
    if measure == "AMLP":
        return record.amlp(arm)
    if measure == "error":
        return record.error(arm)
    train = record.seconds["train"][arm.row]
    return float(np.nan_to_num(train) + record.seconds["predict"][arm.row])


def _base_rate(record: SequenceRecord) -> tuple[float, float]:
    counts = np.bincount(record.predictions["train_response"], minlength=len(record.classes)) + 0.5
    p = counts / counts.sum()
    return float(-np.log(p[record.response]).mean()), float(np.mean(record.response != p.argmax()))


def scale_figure(record: SequenceRecord) -> list[Figure]:
    """Effective draws of each sigma, sampled on the log scale and on its own."""
    largest = max(record.orders)
    priors = [p for p in ("cauchy", "gaussian") if record.find(largest, p)]
    fits = record.fits
    place = {arm: j for j, arm in enumerate(record.own)}
    figure, axes = canvas(1, len(priors), sharey=True)
    for column, prior in enumerate(priors):
        axis = axes[0, column]
        for scale, style in (("log", "-o"), ("natural", ":s")):
            arm = record.find(largest, prior, scale=scale)
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
            "Effective draws of all iterations after burn-in"
            + (f", the fewest of {record.n_blocks} data sets" if record.n_blocks > 1 else "")
            + ". Where the data leave sigma its prior's tail, over many powers of ten, at most 50 "
            "steps of 1 do not cross it: more evaluations, and fewer effective draws in the worst "
            "case. Where the data say much of sigma, both scales mix alike.",
        )
    ]
