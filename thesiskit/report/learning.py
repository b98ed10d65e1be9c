"""Learning curves: an inverse power law, its extrapolation to more samples, and their figure.

The log loss with n training samples is taken to be a + b n^-c, with a and b of at least 0 and c
from 0.5 to 1.5.  Three sizes do not show c, so it is averaged over; a and b have flat priors.  The
loss of real responses, minus a log density, may be negative, and so may a.
"""

import numpy as np
import pandas as pd
from scipy import special

from thesiskit.files import Results
from thesiskit.report.layout import (
    ACCENT,
    GREY,
    INK,
    PALE,
    Figure,
    Outputs,
    csv_text,
    drawn_words,
    legend,
    panel_canvas,
)

POWERS = np.linspace(0.5, 1.5, 11)[:, None]  # c, (C, 1), of equal prior probability
TIMES = (1, 1.5, 2, 4)  # as many samples as there are
EXCESSES, LEVELS = 200, 25  # points of b, and of the level at each
NOISY = 0.05  # a decrease that cannot be told from none, above which the curve is not known
Z = 1.96
LOSS, DECREASE = (
    (name, f"{name}: low", f"{name}: high") for name in ("log loss", "decrease")
)  # columns


def errors_of_means(losses: np.ndarray) -> tuple[float, float]:
    """Return variances of mean losses: of what all sizes share, and of the rest of each size.

    losses (repeats, S, n) are of the same samples at all sizes, so that their means rise and fall
    together.  What differs between repeats is added to what differs between samples.
    """
    covariance = np.cov(losses.mean(axis=0)) / losses.shape[2]
    covariance += np.cov(losses.mean(axis=2).T) / len(losses)
    total, S = float(np.diag(covariance).mean()), len(covariance)
    common = max(0.0, float(covariance.sum() / S - total) / (S - 1))
    return common, max(total - common, 1e-4 * total, 1e-12)


def extrapolate(
    sizes: np.ndarray, losses: np.ndarray, larger: np.ndarray, *, positive: bool
) -> np.ndarray:
    """Return the loss with `larger` numbers of samples, and its decrease since the first of them.

    sizes (S,), losses (repeats, S, n); positive : whether losses are.  The result, (2, larger, 3),
    has medians and the ends of 95% intervals: of the posterior, given means with normal errors.
    """
    common, apart = errors_of_means(losses)
    means, t, S = losses.mean(axis=(0, 2)), sizes / sizes[-1], len(sizes)
    # excess: b n^-c at the last size; level: the loss there, normal for each excess and power
    most = max(0, means[0] - means[-1]) + 4 * np.sqrt(2 * apart)
    excess = np.linspace(0, most / (t[0] ** -POWERS.min() - 1), EXCESSES)[:, None]  # (E, 1)
    rest = means - excess[..., None] * (t**-POWERS - 1)  # (E, C, S)
    level, error = rest.mean(axis=2), np.sqrt(common + apart / S)
    cut = special.ndtr((excess - level) / error) * positive  # where a would be negative
    weights = np.exp(-0.5 * S * (rest.var(axis=2) - rest.var(axis=2).min()) / apart) * (1 - cut)
    u = cut[..., None] + (1 - cut[..., None]) * (np.arange(LEVELS) + 0.5) / LEVELS
    levels = level[..., None] + special.ndtri(np.clip(u, 1e-12, 1 - 1e-12)) * error  # (E, C, L)
    first, ends = (larger[0] / sizes[-1]) ** -POWERS, []
    for size in larger / sizes[-1]:
        gain = (excess * (first - size**-POWERS)[:, 0])[..., None]
        loss = levels + excess[..., None] * (size**-POWERS - 1)
        for values in (loss, np.broadcast_to(gain, loss.shape)):
            order = np.argsort(values, axis=None, kind="stable")
            weight = np.broadcast_to(weights[..., None], loss.shape).ravel()[order]
            below = (np.cumsum(weight) - weight / 2) / weight.sum()
            ends.append(np.interp([0.5, 0.025, 0.975], below, values.ravel()[order]))
    return np.swapaxes(np.reshape(ends, (-1, 2, 3)), 0, 1)


def curve_table(sizes: np.ndarray, losses: np.ndarray, n: int, *, positive: bool) -> pd.DataFrame:
    """Return a row for each size that was measured, and for 1, 1.5, 2 and 4 times n samples.

    losses (2, repeats, S, samples) are of a method, and of class frequencies.
    """
    means, larger = losses[0].mean(axis=(0, 2)), np.rint(n * np.array(TIMES))
    half = Z * np.sqrt(sum(errors_of_means(losses[0])))
    measured = np.stack([means, means - half, means + half], axis=1)
    predicted, decrease = extrapolate(sizes, losses[0], larger, positive=positive)
    empty = np.full_like(measured, np.nan)
    values = np.block([[measured, empty], [predicted, decrease]])
    table = pd.DataFrame(values, columns=[*LOSS, *DECREASE])
    table.insert(0, "kind", ["measured"] * len(sizes) + ["predicted"] * len(larger))
    table.insert(1, "training samples", np.rint([*sizes, *larger]).astype(int))
    return table.assign(**{"without features": losses[1].mean()})


def conclusion(table: pd.DataFrame, losses: np.ndarray) -> str:
    """Return what a curve says of twice as many samples; losses are those of the method."""
    means, (_, apart) = losses.mean(axis=(0, 2)), errors_of_means(losses)
    size, *decrease = table.iloc[-2][["training samples", *DECREASE]]
    middle, least, most = (f"{value:.3f}" for value in decrease)
    lower = f"with {size:,} training samples, the log loss would be lower by"
    if means[0] - means[-1] > Z * np.sqrt(2 * apart):
        return f"Falling: {lower} {middle} ({least} to {most})"
    if decrease[2] > NOISY:
        return f"Too noisy to say: {lower} at most {most}, but no decrease is certain"
    return f"Flat within its error: {lower} at most {most}"


def draw(table: pd.DataFrame, name: str) -> Figure:
    """Draw a learning curve with its 95% intervals, and the loss without features."""
    figure, axis = panel_canvas(6.4, 3.8, "training samples", "log loss")
    x, *y = table[["training samples", *LOSS]].to_numpy(float).T
    measured, guess = table["kind"] == "measured", table["without features"].iloc[0]
    axis.axhline(guess, color=GREY, linestyle="--", label="without features")
    axis.fill_between(x[~measured], y[1][~measured], y[2][~measured], color=PALE)
    axis.plot(x[~measured], y[0][~measured], color=ACCENT, label="predicted")
    ends = np.abs(np.array(y[1:]) - y[0])[:, measured]
    axis.errorbar(x[measured], y[0][measured], ends, fmt="o", color=INK, label="measured")
    axis.set(xscale="log", title=drawn_words(name))
    axis.minorticks_off()
    ticks = np.delete(x, -len(TIMES))  # it is near to the last size that was measured
    axis.set_xticks(ticks, [f"{size:,.0f}" for size in ticks])
    legend(figure, axis)
    return Figure("learning-curve", "Learning curve", figure, "")


def write_curve(
    results: Results, name: str, n: int, sizes: np.ndarray, losses: np.ndarray, *, positive: bool
) -> list[str]:
    """Write the table and the figure of a method; return lines about them for the console."""
    table = curve_table(sizes, losses, n, positive=positive)
    figure, file = draw(table, name), f"{results.folder.name}.csv"
    results.prepare()
    outputs = Outputs(results, [file, *figure.files])
    outputs.write(file, csv_text(table))
    figure.write(outputs)
    outputs.finish("")
    lines = [f"{name}: log loss (95% interval); without features {losses[1].mean():.3f}"]
    for kind, size, loss, low, high in table.iloc[:, :5].itertuples(index=False):
        lines.append(f"  {size:,} training samples: {loss:.3f} ({low:.3f} to {high:.3f}), {kind}")
    files = ", ".join(str(results.folder / path) for path in (file, figure.files[0]))
    return [*lines, conclusion(table, losses[0]), f"learning-curve: {files}"]
