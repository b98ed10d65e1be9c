"""Chains, whether they mix and agree, the exact posterior, and coefficients of logistic models."""

import numpy as np
import pandas as pd

from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.errors import pluralise
from thesiskit.models.peers import Method
from thesiskit.report.layout import GREY, INK, Figure, PageTable, canvas, kept_words
from thesiskit.report.record import EXACT, PRIORS, Record
from thesiskit.report.stages import enough

QUANTITIES = ("log alpha", "log posterior", "agreement", "prediction")
LAGS = 50
SHOWN_GROUPS = 20  # on the page
MOST_GROUPS = 2000  # in the file
ENDS = [0.05, 0.5, 0.95]
_STYLES = ("-o", "--s", ":^", "-.x")  # of samplers
_SHADES = (INK, "#b0b0b0", "#707070", "#d0d0d0")


# ---- samplers of the mixture model ----


def diagnostics(record: Record) -> list[PageTable | Figure]:
    """R-hat, effective draws and exchanges of every sampled method; traces of the first fit."""
    return [_diagnostics_table(record), *_trace_figures(record)]


def _diagnostics_table(record: Record) -> PageTable:
    """Return R-hat, effective draws, exchanges and table use of every sampled method."""
    fits, rows = record.fits, []
    for j, arm in record.sampled:
        row: dict[str, object] = {
            "features": arm.label,
            "method": arm.words,
            "sampler": arm.variant,
        }
        for q, name in enumerate(QUANTITIES):
            row[f"R-hat: {name}"] = np.quantile(fits["rhat"][:, j, q], 0.99)
        for q, name in enumerate(QUANTITIES):
            row[f"effective draws: {name}"] = np.rint(np.quantile(fits["ess"][:, j, q], 0.01))
        exchanged = fits["exchanged"][:, j]
        never_exchanged = np.isnan(exchanged).all()
        row["exchanges"] = np.nan if never_exchanged else np.nanmin(np.nanmean(exchanged, axis=0))
        low, high = fits["at_end"][:, j].mean(axis=0)
        row |= {"alpha at grid's: low end": low, "alpha at grid's: high end": high}
        hits, misses = np.nansum(fits["table"][:, j], axis=0)
        row |= {"factor table: found": hits, "factor table: computed": misses}
        rows.append(row | {"reliable": enough(fits["reliable"][:, j])})
    caption = (
        "The quantities do not change if the components are exchanged: log alpha, the log "
        "posterior, the agreement of labels with responses, and a predictive probability. A fit is "
        "reliable if each has an R-hat of at most 1.05 and at least 100 effective draws, or never "
        "changes. Exchanges are the smallest fraction accepted between neighbouring powers of the "
        "likelihood. The factor table counts how often an adjustment factor was found in a table "
        "that fits share, and how often it was computed."
    )
    if len(fits["reliable"]) > 1:
        caption += " With many fits, the 99th and 1st percentiles are shown."
    return PageTable("diagnostics", "Do the chains agree?", pd.DataFrame(rows), caption)


def _trace_figures(record: Record) -> list[Figure]:
    """Return agreement of labels with responses, and log alpha, along the chains of a fit."""
    variants = [name for name in record.variants if name != EXACT]
    caption = (
        "The upper row is the agreement of labels with responses: the number of cases in the "
        "better matching of components with classes. The lower row is log alpha. There is one "
        "line for each chain, by iteration after burn-in. If the labels stay at the responses, "
        "the line stays at the top, which is the number of training cases."
    )
    return [
        Figure(
            "traces" if variant == variants[0] else f"traces-{variant}",
            f"Along the chains, {variant} sampler",
            _draw_traces(record, variant),
            caption,
        )
        for variant in variants
    ]


def _draw_traces(record: Record, variant: str):
    rows: list[list[Method | None]] = []
    for method in dict.fromkeys(
        family.method for family in record.families(("corrected", "uncorrected"))
    ):
        drawn_arms = {arm for row in rows for arm in row}
        arms_by_label = [record.find(label, method, variant) for label in record.labels]
        rows.append([None if arm in drawn_arms else arm for arm in arms_by_label])
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    figure, axes = canvas(
        2 * len(rows), len(columns), height=2.9 * len(rows) + 0.4, width=2.2 * len(columns) + 1.2
    )
    cases = int(np.nanmax(record.fits["cases"][0]))
    for c, column in enumerate(columns):
        for r, arm in enumerate(column):
            pair = axes[2 * r : 2 * r + 2, c]
            if arm is None:
                for axis in pair:
                    axis.set_visible(False)
                continue
            traces = record.fits["traces"][record.own.index(arm)]
            for axis, q in zip(pair, (2, 0), strict=True):
                for chain, values in enumerate(traces[..., q]):
                    colour = INK if chain == 0 else GREY
                    finite = values[np.isfinite(values)]
                    axis.plot(finite, color=colour, linewidth=0.7, zorder=2 - 0.1 * chain)
            pair[0].set_title(f"{kept_words(arm.label)}, {arm.words}", fontsize=9)
            pair[0].set_ylim(cases * 0.49, cases * 1.02)
            pair[1].set_xlabel("iteration", fontsize=8)
            if c == 0:
                pair[0].set_ylabel("agreement", fontsize=9)
                pair[1].set_ylabel("log alpha", fontsize=9)
    return figure


def exact_table(record: Record) -> list[PageTable]:
    """Samplers against the exact posterior."""
    fits, predicted, rows = record.fits, record.predictions, []
    exact = {arm.method: j for j, arm in enumerate(record.own) if arm.variant == EXACT}
    first = np.all(
        [predicted[name] == predicted[name][0] for name in ("replicate", "group", "fold")], axis=0
    )
    for j, arm in record.sampled:
        true = exact[arm.method]
        row: dict[str, object] = {"method": arm.words, "sampler": arm.variant}
        for q, name in enumerate(("mean log alpha", "mean agreement")):
            mean, error = fits["means"][0, j, q], fits["errors"][0, j, q]
            off = mean - fits["means"][0, true, q]
            row |= {
                f"{name}: exact": fits["means"][0, true, q],
                f"{name}: sampled": mean,
                f"{name}: error in standard errors": off / error
                if error > 1e-9 * abs(mean)
                else np.nan,
            }
        p, truth = (record.probability(member)[first] for member in (arm, record.own[true]))
        row["P(class 1): exact"] = " and ".join(f"{member:.4f}" for member in np.unique(truth))
        row["P(class 1): largest difference"] = np.abs(p - truth).max()
        rows.append(row)
    caption = (
        "With one feature, the posterior depends on the labels only through four counts, and "
        "is summed over these. The exact posterior has the grids of the collapsed sampler and "
        "exact quadrature; a sampler with other grids has another posterior. Standard errors "
        "allow for correlated draws. If there are several training sets, the first is shown."
    )
    return [PageTable("exact", "Samplers against the exact posterior", pd.DataFrame(rows), caption)]


# ---- chains of logistic models ----


def sampler_table(record: Record) -> list[PageTable]:
    """Evaluations of densities, time, R-hat and effective draws of the sigmas."""
    fits, rows = record.worst, []
    model = record.config["model"]
    chains, ran = model["chains"], np.full(len(record.own), model["iterations"])
    if model["until"] is not None:  # how many iterations a chain had, means over divisions
        ran = np.array([fit["iterations"].mean() for _, fit in record.reached()])
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
                "ms an iteration": 1e3 * record.seconds["train"][arm.row] / (ran[j] * chains),
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
    caption = (
        f"Effective draws of {_counted(record)}. Reliable: R-hat at most "
        f"{RELIABLE_RHAT:g} and {RELIABLE_ESS:g} effective draws of the log likelihood; sigmas "
        "of orders that matter little may wander without harm to predictions. Milliseconds are "
        "processor time."
    )
    return [PageTable("sampler", "The chains", pd.DataFrame(rows), caption, long=len(rows) > 25)]


def _counted(record: Record) -> str:
    """Say which iterations count."""
    if record.config["model"]["until"] is None:
        return "all iterations after burn-in"
    return "the second half of the iterations"


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
    """Autocorrelations of the sigmas at a large order (fig-hmm500-acf, fig-text-acf)."""
    largest, sigmas = record.widest_order, record.shown_sigmas
    arms = [arm for arm in record.own if arm.order == largest and arm.engine == "slice"]
    own_scale = {arm for arm in arms if arm.scale == "natural"}  # as the chain moves
    traces = {arm: record.log_sigma_trace(arm) for arm in arms}
    traces |= {arm: np.exp(traces[arm]) for arm in own_scale}
    figure, axes = canvas(
        len(arms), len(sigmas), height=1.5 * len(arms) + 0.6, sharex=True, sharey=True
    )
    rhat = max(np.nanmax(_of_sigmas(record, "rhat", arm)) for arm in arms)
    ess = min(np.nanmin(_of_sigmas(record, "ess", arm)) for arm in arms)
    for row, arm in enumerate(arms):
        lags = min(LAGS, traces[arm].shape[1] - 1)
        for column, o in enumerate(sigmas):
            axis = axes[row, column]
            axis.vlines(
                range(lags + 1), 0, autocorrelation(traces[arm][:, :, o], lags), color=INK, lw=0.9
            )
            axis.axhline(0, color=GREY, linewidth=0.6)
            name = rf"$\sigma_{{{o}}}$" if arm in own_scale else rf"$\log\,\sigma_{{{o}}}$"
            axis.text(0.97, 0.97, name, ha="right", va="top", transform=axis.transAxes)
        axes[row, 0].set_title(arm.words, loc="left", fontsize=9)
    axes[0, 0].set_ylim(top=1.35)  # room for the names of the sigmas
    figure.supxlabel("lag, in iterations", fontsize=10)
    figure.supylabel("autocorrelation", fontsize=10)
    title = f"Autocorrelations of the sigmas, order {largest}"
    converged = (
        "These chains have not converged: the figure shows how slowly they move, and varies with "
        "the seed."
        if rhat > RELIABLE_RHAT
        else "These chains have converged."
    )
    caption = (
        f"Computed from {_counted(record)}, means over {pluralise(len(traces[arms[0]]), 'chain')}. "
        f"Over all sigmas of these models, the largest R-hat is {rhat:.2f}, and the smallest "
        f"number of effective draws is {ess:.0f}. {converged}"
    )
    return [Figure("autocorrelations", title, figure, caption)]


def _of_sigmas(record: Record, name: str, arm: Method) -> np.ndarray:
    """Return R-hat or effective draws (`name`) of sigma_1, ..., sigma_O, (O,), the worst fit's."""
    return record.worst[name][record.own.index(arm), 2 : 2 + arm.order]


def median_scatter(record: Record) -> list[Figure]:
    """Medians of the coefficients, Cauchy against Gaussian (fig-text-medians)."""
    from matplotlib.patches import Rectangle

    order = record.drawn_order
    pair = [record.of_order(order, prior) for prior in PRIORS]
    if None in pair:
        return []
    x, y = (np.median(record.draws(arm)["coefficient"], axis=(0, 1)).reshape(-1) for arm in pair)
    far = 1.05 * max(np.abs(x).max(), np.abs(y).max())
    near = float(f"{far / 5:.1g}") if record.continuous else record.thesis.get("enlarged", 2.0)
    figure, axes = canvas(1, 2, height=3.8)
    for axis, limit in zip(axes.flat, (far, near), strict=True):
        axis.plot((-limit, limit), (-limit, limit), color=GREY, linewidth=0.8)
        axis.plot(x, y, ".", color=INK, markersize=3, alpha=0.5, rasterized=True)
        if limit == far:  # few coefficients are huge: on a linear scale all others are one dot
            for scaled in (axis.set_xscale, axis.set_yscale):
                scaled("symlog", linthresh=near)
            for axis_ticks in (axis.xaxis, axis.yaxis):
                axis_ticks.set_major_formatter("{x:g}")
        axis.set(
            xlim=(-limit, limit),
            ylim=(-limit, limit),
            xlabel="median with Cauchy priors",
            ylabel="median with Gaussian priors",
        )
    axes[0, 0].add_patch(Rectangle((-near, -near), 2 * near, 2 * near, fill=False, edgecolor=GREY))
    title = f"Posterior medians of the compressed coefficients, order {order}"
    caption = (
        f"The axes of the left panel are linear from -{near:g} to {near:g}, the part that the "
        "right panel enlarges, and logarithmic beyond. Cauchy priors allow a "
        "few coefficients to be large and keep the others near 0."
    )
    return [Figure("medians", title, figure, caption)]


def sampler_figure(record: Record) -> list[Figure]:
    """Draw predictions and effective draws a second of the first sampler against the last."""
    order = record.widest_order
    samplers = list(dict.fromkeys(arm.sampler for arm in record.own if arm.engine == "slice"))
    first, *_, last = samplers
    priors = [prior for prior in PRIORS if record.of_order(order, prior)]
    figure, axes = canvas(2, len(priors), height=6.4, sharex="row", sharey="row")
    sentences = []
    for column, prior in zip(axes.T, priors, strict=True):
        rates = {}
        for sampler, style in zip(samplers, _STYLES, strict=False):
            arm = record.of_order(order, prior, sampler=sampler)
            ess = record.worst["ess"][record.own.index(arm), 2 : 2 + order]
            rates[sampler] = ess / record.seconds["train"][arm.row]
            column[1].plot(
                range(1, order + 1), rates[sampler], style, c=INK, mfc="w", label=sampler
            )
        pair = [record.of_order(order, prior, sampler=sampler) for sampler in (first, last)]
        x, y = (record.probability_and_hit(arm)[0] for arm in pair)
        column[0].axline((0, 0), slope=1, color=GREY, linewidth=0.8)
        column[0].plot(x, y, ".", color=INK, markersize=2, alpha=0.5, rasterized=True)
        column[0].set(xlabel=first, xlim=(0, 1), ylim=(0, 1))
        column[0].set_title(prior.capitalize(), fontsize=10)
        column[1].set(yscale="log", xlabel="order o of sigma")
        losses = [record.losses(arm).mean() for arm in pair]
        worst = [np.nanmax(_of_sigmas(record, "rhat", arm)) for arm in pair]
        sentences.append(
            f" {prior.capitalize()} priors: probabilities differ by {np.abs(x - y).mean():.3f} on "
            f"average, and the log losses are {losses[0]:.3f} and {losses[1]:.3f}; the median "
            f"sigma has {np.median(rates[last] / rates[first]):,.0f} times as many effective draws "
            f"a second with '{last}' as with '{first}' (worst R-hat {worst[1]:.2f} and "
            f"{worst[0]:.2f})."
        )
    axes[0, 0].set_ylabel(last)
    axes[1, 0].set_ylabel("effective draws a processor second")
    handles = axes[1, 0].get_lines()
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    caption = (
        f"Above, the probability of {record.positive_class_name} for each test case by two "
        "samplers of the same posterior; below, effective draws of log sigma."
        + "".join(sentences)
        + " Where R-hat is large, effective draws are overestimated."
    )
    return [Figure("samplers", f"Samplers of one posterior, order {order}", figure, caption)]


# ---- coefficients ----


def coefficients(record: Record) -> list[Figure | PageTable]:
    """The largest coefficients, and traces of those in `report.traced` (fig-text-betas)."""
    figures = [_coefficient_traces(record)] if record.config["report"].get("traced") else []
    return [_coefficient_table(record), *figures]


def _coefficient_table(record: Record) -> PageTable:
    """Return the groups with the largest coefficients, over the divisions that have them."""
    order, priors = record.drawn_order, record.config["model"]["priors"]
    arm = next(arm for prior in priors if (arm := record.of_order(order, prior)))
    # patterns can be compared in divisions of the same cases
    same_cases = record.folded and not record.config["drawn"]
    divisions = record.n_blocks if same_cases else record.folds
    coefficients = pd.concat([_coefficients(record, arm, i) for i in range(divisions)])
    frame = coefficients.groupby(["pattern", "class"], sort=False, as_index=False).agg(
        **{
            "patterns in its group": ("patterns", "mean"),
            "training cases": ("cases", "mean"),
            "divisions": ("cases", "size"),
            "median": ("median", "median"),  # heavy tails rule a mean
            "5 %": ("low", "median"),
            "95 %": ("high", "median"),
        }
    )
    # an absent group has the coefficient 0: one that is rare must be large to come first
    size = frame["median"].abs() * frame["divisions"]
    frame = frame.loc[size.sort_values(ascending=False, kind="stable").index[:MOST_GROUPS]]
    # two classes share a coefficient, that of the last
    classes = record.classes[-1 - int(coefficients["class"].max()) :]
    frame["class"] = [classes[k] for k in frame["class"]] if classes else np.nan
    if divisions == 1:
        frame["divisions"] = np.nan
    frame = frame.dropna(axis="columns", how="all").reset_index(drop=True)
    for name in frame.columns.intersection(["patterns in its group", "training cases"]):
        frame[name] = frame[name].round().astype(int)
    n_shown = min(SHOWN_GROUPS, len(frame))
    zero = (frame["5 %"] <= 0) & (frame["95 %"] >= 0)
    several_words = (
        "Medians and ends of the intervals of 90 % are medians over those of the "
        f"{divisions:,} divisions of the cases whose training cases have the pattern. "
    )
    return PageTable(
        "coefficients",
        "The largest coefficients",
        frame,
        f"{arm.words}, order {order}: the groups whose coefficients have the largest absolute "
        f"medians, without the intercept. {several_words if divisions > 1 else ''}"
        "A row is grey if its interval contains 0. Each group is shown as one of its "
        "shortest patterns, and its coefficient is the sum of the coefficients of its patterns"
        + (", in the units of the response." if record.continuous else "."),
        shown=tuple(range(n_shown)),
        quiet=tuple(int(row) for row in np.flatnonzero(zero[:n_shown])),
    )


def traced_places(record: Record, draws: dict[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Return set and group of the coefficients that are traced, by name."""
    classes = record.classes[-draws["coefficient"].shape[2] :] or [""]
    places = {}
    patterns = draws["pattern"].astype(str).tolist()
    single = all(len(str(state)) == 1 for state in draws.get("states", ()))

    def group(text: str) -> int | None:  # of features by its name, of sequences by its longest
        if "states" not in draws:
            features = sorted(item.strip() for item in text.split(",") if item.strip())
            names = [sorted(filter(None, pattern.split(", "))) for pattern in patterns]
            return names.index(features) if features in names else None
        history = list(text) if single else text.split()
        for g, pattern in enumerate(patterns):
            longest = list(pattern) if single else pattern.split()
            inside = draws["first"][g] <= len(history) <= draws["last"][g]
            if inside and longest[len(longest) - len(history) :] == history:
                return g
        return None

    for name in record.config["report"].get("traced", []):
        text, _, response = name.rpartition(":") if record.classes else (name, "", "")
        g = group("" if text == "(any)" else text)
        if g is not None and response in classes:
            places[name] = (classes.index(response), g)
    medians = np.median(draws["coefficient"], axis=(0, 1))
    k, g = np.unravel_index(medians.argmax(), medians.shape)
    places[(patterns[g] or "(any)") + (f":{classes[k]}" if classes[k] else "")] = int(k), int(g)
    return places


def _coefficient_traces(record: Record) -> Figure:
    """Draw the traced coefficients, and the one with the largest median, along the chains."""
    order = record.drawn_order
    priors = [prior for prior in PRIORS if record.of_order(order, prior)]
    draws = {prior: record.draws(record.of_order(order, prior)) for prior in priors}
    places = traced_places(record, draws[priors[0]])
    figure, axes = canvas(
        len(places), len(priors), height=2.0 * len(places) + 0.5, sharex=True, sharey="row"
    )
    for row, (name, (k, g)) in enumerate(places.items()):
        for column, prior in enumerate(priors):
            axis = axes[row, column]
            for chain, values in enumerate(draws[prior]["coefficient"][:, :, k, g]):
                shade, under = _SHADES[chain % 4], 2 - 0.1 * (chain % 2)
                axis.plot(values, color=shade, lw=0.8, zorder=under, label=f"chain {chain + 1}")
            axis.set_title(f"{name}, {prior.capitalize()}", fontsize=9)
            axis.set_ylabel("coefficient")
        traces = [draws[prior]["coefficient"][:, :, k, g] for prior in priors]
        low, high = np.quantile(np.concatenate([trace.ravel() for trace in traces]), (0.002, 0.998))
        axes[row, 0].set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    for axis in axes[-1]:
        axis.set_xlabel("draw")
    chains = record.config["model"]["chains"]
    if chains > 1:
        handles = axes[0, 0].get_lines()
        figure.legend(handles=handles, loc="outside upper right", ncols=chains, frameon=False)
    names = (
        "Coefficients are in the units of the response, and the intercept is relative to its mean."
        if record.continuous
        else "The name of a coefficient is its pattern (the most recent state is last), and after "
        "the colon its class."
    )
    caption = (
        f"The draws kept of {chains} chain{'s' if chains > 1 else ''}. {names} "
        "The last row is the coefficient with the largest posterior median under "
        f"{priors[0].capitalize()} priors. 0.4 % of the draws are outside the axes."
    )
    return Figure("traces", f"Coefficients along the chains, order {order}", figure, caption)


def _coefficients(record: Record, arm: Method, division: int) -> pd.DataFrame:
    """Return the coefficients of an arm in a division, without the intercept, by class and group.

    Besides, how many training cases express a group and how many patterns it has, NaN where draws
    do not say.
    """
    draws = record.draws(arm, division)
    values = draws["coefficient"].reshape(-1, *draws["coefficient"].shape[2:])
    low, median, high = np.quantile(values, ENDS, axis=0)  # (K, G)
    cases = draws["cases"]
    columns = {
        "pattern": draws["pattern"].astype(str),
        "cases": cases,
        "patterns": draws.get("patterns", np.full(len(cases), np.nan)),
    }
    by_class = [
        pd.DataFrame(columns | {"class": k, "low": low[k], "median": median[k], "high": high[k]})
        for k in range(len(median))
    ]
    return pd.concat([frame[cases < cases.max()] for frame in by_class])
