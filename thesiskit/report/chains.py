"""Chains, whether they mix and agree, the exact posterior, and coefficients of logistic models."""

import numpy as np
import pandas as pd

from thesiskit.defaults import RELIABLE_ESS, RELIABLE_RHAT
from thesiskit.errors import pluralise
from thesiskit.models.peers import Method
from thesiskit.report import layout
from thesiskit.report.layout import Figure, PageTable
from thesiskit.report.record import EXACT, PRIORS, Record
from thesiskit.report.stages import enough

QUANTITIES = ("log alpha", "log posterior", "agreement", "prediction")
LAGS = 50
SHOWN_GROUPS = 20  # on the page
MOST_GROUPS = 2000  # in the file
ENDS = [0.05, 0.5, 0.95]
_SHADES = (layout.INK, "#b0b0b0", "#707070", "#d0d0d0")


# ---- samplers of the mixture model ----


def diagnostics(record: Record) -> list[PageTable | Figure]:
    """R-hat, effective draws and exchanges of every sampled method; traces of the first fit."""
    return [_diagnostics_table(record), *_trace_figures(record)]


def _diagnostics_table(record: Record) -> PageTable:
    """Return R-hat, effective draws, exchanges and table use of every sampled method."""
    fits, rows = record.fit_arrays, []
    for j, method in record.sampled:
        rhat = np.quantile(fits["rhat"][:, j], 0.99, axis=0)
        ess = np.rint(np.quantile(fits["ess"][:, j], 0.01, axis=0))
        exchanged, (low, high) = fits["exchanged"][:, j], fits["at_end"][:, j].mean(axis=0)
        constant = np.isnan(exchanged).all()
        hits, misses = np.nansum(fits["table"][:, j], axis=0)
        rows.append(
            {"features": method.label, "method": method.words, "sampler": method.variant}
            | {f"R-hat: {name}": x for name, x in zip(QUANTITIES, rhat, strict=True)}
            | {f"effective draws: {name}": x for name, x in zip(QUANTITIES, ess, strict=True)}
            | {"exchanges": np.nan if constant else np.nanmin(np.nanmean(exchanged, axis=0))}
            | {"alpha at grid's: low end": low, "alpha at grid's: high end": high}
            | {"factor table: found": hits, "factor table: computed": misses}
            | {"reliable": enough(fits["reliable"][:, j])}
        )
    about = layout.caption("diagnostics", many=len(fits["reliable"]) > 1)
    return PageTable("diagnostics", "Do the chains agree?", pd.DataFrame(rows), about)


def _trace_figures(record: Record) -> list[Figure]:
    """Return agreement of labels with responses, and log alpha, along the chains of a fit."""
    variants = [name for name in record.variants if name != EXACT]
    caption = layout.caption("traces")
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
    families = record.families(("corrected", "uncorrected"))
    for estimator in dict.fromkeys(family.estimator for family in families):
        drawn_methods = {method for row in rows for method in row}
        methods_by_label = [record.find(label, estimator, variant) for label in record.labels]
        rows.append([None if method in drawn_methods else method for method in methods_by_label])
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    figure, axes = layout.canvas(
        2 * len(rows), len(columns), height=2.9 * len(rows) + 0.4, width=2.4 * len(columns) + 1.2
    )
    samples = int(np.nanmax(record.fit_arrays["cases"][0]))
    for c, column in enumerate(columns):
        for r, method in enumerate(column):
            pair = axes[2 * r : 2 * r + 2, c]
            if method is None:
                for axis in pair:
                    axis.set_visible(False)
                continue
            traces = record.fit_arrays["traces"][record.own.index(method)]
            for axis, q in zip(pair, (2, 0), strict=True):
                for chain, values in enumerate(traces[..., q]):
                    colour = layout.INK if chain == 0 else layout.GREY
                    finite = values[np.isfinite(values)]
                    axis.plot(finite, color=colour, linewidth=0.7, zorder=2 - 0.1 * chain)
            pair[0].set_title(f"{layout.kept_words(method.label)}, {method.words}")
            pair[0].set_ylim(samples * 0.49, samples * 1.02)
            pair[1].set_xlabel("iteration")
            if c == 0:
                pair[0].set_ylabel("agreement")
                pair[1].set_ylabel("log alpha")
    return figure


def exact_table(record: Record) -> list[PageTable]:
    """Samplers against the exact posterior."""
    fits, rows = record.fit_arrays, []
    exact = {method.estimator: j for j, method in enumerate(record.own) if method.variant == EXACT}
    number = record.predictions["training_set"]
    first = (number == number[0]).to_numpy()
    for j, method in record.sampled:
        true = exact[method.estimator]
        row: dict[str, object] = {"method": method.words, "sampler": method.variant}
        for q, name in enumerate(("mean log alpha", "mean agreement")):
            means, error = fits["means"][0, [true, j], q], fits["errors"][0, j, q]
            off = (means[1] - means[0]) / error if error > 1e-9 * abs(means[1]) else np.nan
            row |= {f"{name}: exact": means[0], f"{name}: sampled": means[1]}
            row[f"{name}: error in standard errors"] = off
        p, truth = (record.probability(member)[first] for member in (method, record.own[true]))
        row["P(class 1): exact"] = " and ".join(f"{member:.4f}" for member in np.unique(truth))
        row["P(class 1): largest difference"] = np.abs(p - truth).max()
        rows.append(row)
    title, frame = "Samplers against the exact posterior", pd.DataFrame(rows)
    return [PageTable("exact", title, frame, layout.caption("exact"))]


# ---- chains of logistic models ----


def sampler_table(record: Record) -> list[PageTable]:
    """Evaluations of densities, time, R-hat and effective draws of the sigmas."""
    fits, model, rows = record.worst, record.config["model"], []
    iterations = np.full(len(record.own), model["iterations"])
    if model["until"] is not None:  # how many iterations a chain had, means over divisions
        iterations = record.fit_arrays["iterations"].mean(axis=0)
    for j, method in enumerate(record.own):
        rhat, ess = (fits[name][j, 2 : 2 + method.order] for name in ("rhat", "ess"))
        if method.engine != "slice" or not np.isfinite(rhat).any():
            continue
        n_steps = iterations[j] * model["chains"]
        coefficients, widths = np.rint(fits["evaluations"][j, :2])
        noise = {"R-hat: log noise": fits["rhat"][j, 2 + method.order]} if record.continuous else {}
        rows.append(
            {
                "order": method.order,
                "model": method.words,
                "ms an iteration": 1e3 * record.timings["train"][method.row] / n_steps,
                "evaluations an iteration: coefficients": coefficients,
                "evaluations an iteration: widths": widths,
                "R-hat: log likelihood": fits["rhat"][j, 0],
                "R-hat: log prior": fits["rhat"][j, 1],
                "R-hat: worst sigma": np.nanmax(rhat),
                **noise,
                "effective draws: log likelihood": np.rint(fits["ess"][j, 0]),
                "effective draws: worst sigma": np.rint(np.nanmin(ess)),
                "effective draws: of order": int(np.nanargmin(ess)) + 1,
                "reliable": "yes" if record.reliable[j] else "NO",
            }
        )
    limits = {"rhat": RELIABLE_RHAT, "ess": RELIABLE_ESS}
    about = layout.caption("sampler", until=model["until"], **limits)
    return [PageTable("sampler", "The chains", pd.DataFrame(rows), about, long=len(rows) > 25)]


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
    """Autocorrelations of the sigmas at a large order (Figures 3.8 and 3.11)."""
    largest, sigmas = record.widest_order, record.shown_sigmas
    methods = [
        method for method in record.own if method.order == largest and method.engine == "slice"
    ]
    own_scale = {method for method in methods if method.scale == "natural"}  # as the chain moves
    traces = {method: record.log_sigma_trace(method) for method in methods}
    traces |= {method: np.exp(traces[method]) for method in own_scale}
    sizes = {"height": 1.5 * len(sigmas) + 0.8, "width": 2.6 * len(methods) + 0.5}
    figure, axes = layout.canvas(len(sigmas), len(methods), sharex=True, sharey=True, **sizes)
    of_sigmas = np.ix_([record.own.index(m) for m in methods], range(2, 2 + largest))
    rhat = np.nanmax(record.worst["rhat"][of_sigmas])
    ess = np.nanmin(record.worst["ess"][of_sigmas])
    for column, method in enumerate(methods):
        lags = min(LAGS, traces[method].shape[1] - 1)
        for axis, o in zip(axes[:, column], sigmas, strict=True):
            heights = autocorrelation(traces[method][:, :, o], lags)
            axis.vlines(range(lags + 1), 0, heights, color=layout.INK, linewidth=0.9)
            axis.axhline(0, color=layout.GREY, linewidth=0.6)
            name = rf"$\sigma_{{{o}}}$" if method in own_scale else rf"$\log\,\sigma_{{{o}}}$"
            axis.text(0.97, 0.97, name, ha="right", va="top", transform=axis.transAxes)
        axes[0, column].set_title(method.words)
    axes[0, 0].set_ylim(top=1.35)  # room for the names of the sigmas
    figure.supxlabel("lag, in iterations")
    figure.supylabel("autocorrelation")
    title = f"Autocorrelations of the sigmas, order {largest}"
    about = {"rhat": rhat, "ess": ess, "limit": RELIABLE_RHAT}
    about |= {"until": record.config["model"]["until"]}
    chains = pluralise(len(traces[methods[0]]), "chain")
    caption = layout.caption("autocorrelations", chains=chains, **about)
    return [Figure("autocorrelations", title, figure, caption)]


def median_scatter(record: Record) -> list[Figure]:
    """Medians of the coefficients, Cauchy against Gaussian (Figure 3.13)."""
    order = record.drawn_order
    pair = [record.of_order(order, prior) for prior in PRIORS]
    if None in pair:
        return []
    x, y = (
        np.median(record.draws(method)["coefficient"], axis=(0, 1)).reshape(-1) for method in pair
    )
    far = 1.05 * max(np.abs(x).max(), np.abs(y).max())
    near = float(f"{far / 5:.1g}") if record.continuous else record.thesis.get("enlarged", 2.0)
    figure, axes = layout.canvas(1, 2, height=3.8)
    for axis, limit in zip(axes.flat, (far, near), strict=True):
        ends = (-limit, limit)
        axis.plot(ends, ends, color=layout.GREY, linewidth=0.8)
        axis.plot(x, y, ".", color=layout.INK, markersize=3, alpha=0.5, rasterized=True)
        if limit == far:  # few coefficients are huge: on a linear scale all others are one dot
            for scaled in (axis.set_xscale, axis.set_yscale):
                scaled("symlog", linthresh=near)
            for axis_ticks in (axis.xaxis, axis.yaxis):
                axis_ticks.set_major_formatter("{x:g}")
        axis.set(xlim=ends, ylim=ends)
        axis.set(xlabel="median with Cauchy priors", ylabel="median with Gaussian priors")
    axes[0, 1].locator_params(nbins=5)
    axes[0, 0].indicate_inset((-near, -near, 2 * near, 2 * near))
    title = f"Posterior medians of the compressed coefficients, order {order}"
    caption = layout.caption("medians", near=f"{near:g}")
    return [Figure("medians", title, figure, caption)]


# ---- coefficients ----


def coefficients(record: Record) -> list[Figure | PageTable]:
    """The largest coefficients, and traces of those in `report.traced` (Figure 3.14)."""
    figures = [_coefficient_traces(record)] if record.config["report"].get("traced") else []
    return [_coefficient_table(record), *figures]


def _coefficient_table(record: Record) -> PageTable:
    """Return the groups with the largest coefficients, over the divisions that have them."""
    order, priors = record.drawn_order, record.config["model"]["priors"]
    method = next(method for prior in priors if (method := record.of_order(order, prior)))
    # patterns can be compared in divisions of the same samples
    same_samples = record.folded and not record.config["drawn"]
    divisions = record.n_blocks if same_samples else record.folds
    coefficients = pd.concat([_coefficients(record, method, i) for i in range(divisions)])
    frame = coefficients.groupby(["pattern", "class"], sort=False, as_index=False).agg(
        **{
            "patterns in its group": ("patterns", "mean"),
            "training samples": ("cases", "mean"),
            "divisions": ("cases", "size"),
            "median": ("median", "median"),  # heavy tails rule a mean
            "5%": ("low", "median"),
            "95%": ("high", "median"),
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
    for name in frame.columns.intersection(["patterns in its group", "training samples"]):
        frame[name] = frame[name].round().astype(int)
    n_shown = min(SHOWN_GROUPS, len(frame))
    zero = (frame["5%"] <= 0) & (frame["95%"] >= 0)
    return PageTable(
        "coefficients",
        "The largest coefficients",
        frame,
        layout.caption("coefficients", method=method, divisions=divisions, record=record),
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
    figure, axes = layout.canvas(
        len(places), len(priors), height=2.0 * len(places) + 0.5, sharex=True, sharey="row"
    )
    for row, (name, (k, g)) in enumerate(places.items()):
        for column, prior in enumerate(priors):
            axis = axes[row, column]
            for chain, values in enumerate(draws[prior]["coefficient"][:, :, k, g]):
                shade, under = _SHADES[chain % 4], 2 - 0.1 * (chain % 2)
                axis.plot(values, color=shade, lw=0.8, zorder=under, label=f"chain {chain + 1}")
            axis.set_title(f"{name}, {prior.capitalize()}")
            axis.set_ylabel("coefficient")
        traces = [draws[prior]["coefficient"][:, :, k, g] for prior in priors]
        low, high = np.quantile(np.concatenate([trace.ravel() for trace in traces]), (0.002, 0.998))
        axes[row, 0].set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
    for axis in axes[-1]:
        axis.set_xlabel("draw")
    chains = record.config["model"]["chains"]
    if chains > 1:
        layout.legend(figure, axes[0, 0])
    about = {"prior": priors[0].capitalize(), "continuous": record.continuous}
    caption = layout.caption("coefficient-traces", **about)
    return Figure("traces", f"Coefficients along the chains, order {order}", figure, caption)


def _coefficients(record: Record, method: Method, division: int) -> pd.DataFrame:
    """Return the coefficients of a method in a division, without the intercept, by class and group.

    Besides, how many training samples express a group and how many patterns it has, NaN where draws
    do not say.
    """
    draws = record.draws(method, division)
    values = draws["coefficient"].reshape(-1, *draws["coefficient"].shape[2:])
    low, median, high = np.quantile(values, ENDS, axis=0)  # (K, G)
    samples = draws["cases"]
    columns = {
        "pattern": draws["pattern"].astype(str),
        "cases": samples,
        "patterns": draws.get("patterns", np.full(len(samples), np.nan)),
    }
    by_class = [
        pd.DataFrame(columns | {"class": k, "low": low[k], "median": median[k], "high": high[k]})
        for k in range(len(median))
    ]
    return pd.concat([frame[samples < samples.max()] for frame in by_class])
