"""Draw the pictures of the README and the docs: schematics, and results in docs/evidence/.

    python benchmarks/pictures.py

All are 5.2 inches wide with letters of 9 to 10 points, so that they can be read on a phone.
"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

DOCS = Path(__file__).parent.parent / "docs"
BLUE, ORANGE, GREEN, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#1f1f1f", "#b4b4b4"
STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 150,
}
FILTERED = {
    "SelectKBest + BernoulliNB": "Naive Bayes,\ncross-validated",
    "SelectKBest + BernoulliNB, calibrated": "Naive Bayes,\nrecalibrated",
    "ridge": "Ridge,\ncross-validated",
    "corrected, some relevant": "thesiskit,\ncorrected",
}
FOREST = {  # method and number of features: short name, colour, marker
    ("corrected, tempered", "20"): ("20 features, corrected", ORANGE, "s"),
    ("pool", "all"): ("Pool", BLUE, "o"),
    ("lasso", "all"): ("Lasso", GREEN, "^"),
    ("ridge", "all"): ("Ridge", BLACK, "D"),
}


def draw_dots(axis: Axes, left: float, columns: int, rows: int, selected: list[int]) -> None:
    """Draw features as a grid of dots, the selected ones blue."""
    x, y = (grid.ravel() for grid in np.meshgrid(left + np.arange(columns), np.arange(rows)))
    dark = np.isin(np.arange(len(x)), selected)
    axis.scatter(x[~dark], y[~dark], s=9, color=GREY, linewidths=0)
    axis.scatter(x[dark], y[dark], s=26, color=BLUE, linewidths=0)


def draw_filtered(frame: pd.DataFrame, path: Path) -> None:
    """Draw predicted and observed errors of a filtered table without an informative feature."""
    useless = frame[frame["data"].str.startswith("0 of 10,000")].set_index("method")
    errors_in_percent = useless[["predicted error", "observed error"]] * 100
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(5.2, 3.7))
        table, errors = (
            figure.add_axes((0, 0.69, 1, 0.31)),
            figure.add_axes((0.22, 0.13, 0.77, 0.47)),
        )
        draw_dots(table, 1, 44, 6, [31, 75, 118, 150, 193])
        draw_dots(table, 61.5, 5, 1, [0, 1, 2, 3, 4])
        arrow = {"arrowstyle": "->", "color": BLACK, "linewidth": 1.4}
        table.annotate("", (60.5, 0), (46, 0), arrowprops=arrow)
        table.text(53, 0.8, "somebody kept\nthe 50 best", ha="center")
        table.text(63.5, -1.1, "your table", ha="center", va="top", color=BLUE)
        table.text(0.6, 6.3, "10,000 features were measured; none is informative", va="bottom")
        table.set(xlim=(0, 70), ylim=(-3.2, 9))
        table.set_axis_off()
        for row, method in enumerate(FILTERED):
            predicted, observed = errors_in_percent.loc[method]
            ours = method.startswith("corrected")
            colour = BLUE if ours else ORANGE
            errors.plot([predicted, observed], [row, row], color=GREY, linewidth=3, zorder=1)
            errors.plot(predicted, row, "o", color=colour, markersize=9)
            errors.plot(observed, row, "x", color=BLACK, markersize=8, markeredgewidth=2)
            away = {"xytext": (-8, 0), "ha": "right"} if ours else {"xytext": (8, 8), "ha": "left"}
            errors.annotate(
                f"predicts {predicted:.0f}%",
                (predicted, row),
                textcoords="offset points",
                va="center",
                color=colour,
                **away,
            )
            errors.annotate(
                f"{observed:.0f}% wrong",
                (observed, row),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
            )
        errors.set(xlim=(-1.5, 66), ylim=(len(FILTERED) - 0.5, -0.6), xlabel="errors (%)")
        errors.set_yticks(range(len(FILTERED)), FILTERED.values())
        errors.set_xticks(range(0, 51, 10))
        errors.tick_params(axis="y", length=0)
        errors.spines["left"].set_visible(False)
        errors.set_title("Predicted errors, and errors on 2,000 new samples", x=1, ha="right")
        figure.savefig(path)
        plt.close(figure)


def draw_memory(path: Path) -> None:
    """Draw a model that forgets the features which were not selected, and another that does not."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 4.1), layout="constrained")
        draw_dots(axis, 0, 68, 6, [40, 121, 163, 245, 330])
        axis.text(0, 6.8, "10,000 features are measured, and the best 50 selected", va="bottom")
        stories = (
            (
                0,
                ORANGE,
                "A model that forgets",
                "50 of 50 features are\nassociated with the class.",
                13,
            ),
            (
                38,
                BLUE,
                "A model that remembers",
                "50 of 10,000 features are, and\n9,950 are weaker: chance?",
                48,
            ),
        )
        for left, colour, title, belief, predicted in stories:
            axis.annotate(
                "",
                (left + 14, -4.6),
                (34, -1.2),
                arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.6},
            )
            axis.text(left, -7, title, color=colour, weight="bold", va="center")
            axis.scatter(
                left + 2.0 * np.arange(5), np.full(5, -9.2), s=26, color=BLUE, linewidths=0
            )
            if colour == BLUE:
                x, y = np.meshgrid(left + 12 + 1.2 * np.arange(14), [-8.4, -9.2, -10.0])
                axis.scatter(x, y, s=5, color=GREY, linewidths=0)
            axis.text(left, -11, belief, va="top")
            axis.text(left, -16.2, f"Predicts {predicted}% errors", color=colour, weight="bold")
        axis.text(0, -19.6, "None of the features is informative: both make 50% errors.")
        axis.set(xlim=(-1, 70), ylim=(-20.4, 9))
        axis.set_axis_off()
        figure.savefig(path)
        plt.close(figure)


def draw_map(path: Path) -> None:
    """Draw which method has the lowest log loss, by number and strength of informative features."""
    regions = (
        (
            (0, 0),
            46,
            50,
            GREY,
            "Nothing to find",
            "Class frequencies; the\ncorrection shows it.",
            "0 of 3,000: it predicts\n49% errors; without\nit, naive Bayes 19%",
        ),
        (
            (0, 50),
            46,
            50,
            ORANGE,
            "Few, strong",
            "A selection with\nthe correction",
            "5 of 2,000: 5.5% errors;\nlasso 10%, ridge 38%",
        ),
        (
            (46, 50),
            54,
            50,
            GREEN,
            "Dozens, strong",
            "Lasso, or the pool",
            "40 of 3,000: lasso 0% errors;\nselection of ten 1%, ridge 4%",
        ),
        (
            (46, 0),
            54,
            50,
            BLACK,
            "Many, weak",
            "Ridge on all features,\nor the pool",
            "300 of 3,000: ridge 2% errors;\nlasso 10%, selection\nof ten 23%",
        ),
    )
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
        for (x, y), width, height, colour, title, advice, example in regions:
            axis.add_patch(plt.Rectangle((x, y), width, height, color=colour, alpha=0.13, lw=0))
            axis.text(x + 2.5, y + height - 6, title, weight="bold", va="center")
            axis.text(x + 2.5, y + height - 11, advice, va="top")
            axis.text(x + 2.5, y + 3, example, va="bottom", color="#555555", fontsize=9)
        axis.add_patch(plt.Rectangle((0, 103), 100, 17, color=BLUE, alpha=0.16, lw=0))
        axis.text(
            2.5, 115, "Correlated within classes (genes, spectra)", weight="bold", va="center"
        )
        axis.text(2.5, 107.5, "the pool; a selection needs a temperature", va="center")
        axis.set(xlim=(0, 100), ylim=(0, 121))
        axis.set_xticks([4, 96], ["few", "many"])
        axis.set_yticks([5, 95], ["weak", "strong"])
        axis.set_xlabel("informative features")
        axis.set_ylabel("their effects", y=0.42)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        figure.savefig(path)
        plt.close(figure)


def draw_forest(frame: pd.DataFrame, path: Path) -> None:
    """Draw the log loss of each published table, and its mean, with 95% intervals."""
    tables = list(frame["table"].unique())
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 6.6), layout="constrained")
        for place, ((method, features), (name, colour, marker)) in enumerate(FOREST.items()):
            scores = frame[(frame["method"] == method) & (frame["features"] == features)]
            scores = scores.set_index("table").loc[tables]
            losses = np.append(scores["log loss"], scores["log loss"].mean())
            half = (scores["high"] - scores["log loss"]).to_numpy()
            halves = np.append(half, np.sqrt(np.square(half).sum()) / len(tables))
            y = np.append(np.arange(len(tables)), len(tables) + 0.4) + 0.2 * (place - 1.5)
            axis.hlines(y, np.maximum(0, losses - halves), losses + halves, color=colour, lw=1.4)
            axis.plot(losses, y, marker, color=colour, markersize=5, label=name)
        axis.axhline(len(tables) - 0.3, color=GREY, linewidth=0.8)
        axis.set_yticks([*range(len(tables)), len(tables) + 0.4], [*tables, "mean"])
        axis.set(ylim=(len(tables) + 1, -0.6), xlim=(0, 1.05))
        axis.set_xlabel("log loss, 95% interval (lower is better)")
        axis.tick_params(axis="y", length=0)
        figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.2)
        figure.savefig(path)
        plt.close(figure)


def draw_correlations(path: Path) -> None:
    """Draw correlations of useless features with a response, those of the selected ones blue."""
    rng = np.random.default_rng(1)
    response = np.repeat([-1.0, 1.0], 50)
    features = np.where(rng.random((10_000, 100)) < 0.5, -1.0, 1.0)
    correlations = np.array([np.corrcoef(response, x)[0, 1] for x in features])
    gamma = np.sort(np.abs(correlations))[-100]
    weak = np.abs(correlations) < gamma
    edges = (1 - 1e-9) * gamma / 13 * np.arange(-26, 27)  # gamma itself is outside
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 2.6), layout="constrained")
        axis.hist(correlations[weak], edges, color=GREY, label="9,900 dropped features: all weak")
        axis.hist(correlations[~weak], edges, color=BLUE, label="100 selected features")
        for side in (-gamma, gamma):
            axis.axvline(side, color=BLACK, linestyle="--", linewidth=1)
        axis.text(gamma, 2e3, " gamma", va="top")
        axis.set(xlabel="correlation with the response, 100 samples", ylabel="features")
        axis.set(yscale="log", ylim=(0.7, 2e3))
        figure.legend(frameon=False, loc="outside upper center", ncols=2)
        figure.savefig(path)
        plt.close(figure)


def draw_signals(frame: pd.DataFrame, path: Path) -> None:
    """Draw log losses of simulated data: a panel for each kind of data, a dot for each method."""
    frame["method"] = frame["method"].str.replace("SelectKBest + BernoulliNB", "scikit-learn")
    methods = list(frame["method"].unique())[::-1]
    panels = list(frame.groupby("data", sort=False))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(3, 2, figsize=(5.2, 6.6), sharey=True, layout="constrained")
        for axis, (words, rows) in zip(axes.flat, panels, strict=False):
            losses = rows.set_index("method")["log loss"][methods]
            best = losses == losses.min()
            axis.hlines(methods, 0, losses, color=GREY, linewidth=1)
            axis.plot(losses[~best], losses.index[~best], "o", color=BLACK, markersize=4)
            axis.plot(losses[best], losses.index[best], "D", color=BLUE, markersize=6)
            axis.axvline(np.log(2), color=BLACK, linestyle=":", linewidth=1)
            title = words.replace(" relevant, ", ",\n").replace("model, ", "model,\n")
            axis.set_title(title, loc="left")
            axis.set(xlim=(-0.07, 1.35))
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        figure.supxlabel("log loss (dotted: class frequencies)", fontsize=9.5)
        figure.savefig(path)
        plt.close(figure)


def draw_little(frame: pd.DataFrame, path: Path) -> None:
    """Draw predicted less observed errors with 95% intervals, a row for each kind of data."""
    names = frame["data"] + ", n = " + frame["samples"].astype(str)
    places = {name: place for place, name in enumerate(names.unique())}
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5.2, 5.6), layout="constrained")
        axis.axvline(0, color=BLACK, linewidth=0.8)
        for method, colour, marker in (("normal model", BLUE, "o"), ("pool", ORANGE, "s")):
            rows = frame[frame["method"] == method]
            y = names[rows.index].map(places) + (0.15 if method == "pool" else -0.15)
            half = 1.96 * rows["standard error"]
            axis.hlines(y, rows["difference"] - half, rows["difference"] + half, color=colour)
            axis.plot(rows["difference"], y, marker, color=colour, markersize=4, label=method)
        axis.set_yticks(list(places.values()), list(places))
        axis.set(xlabel="predicted error less observed error", ylim=(len(places) - 0.4, -0.6))
        figure.legend(loc="outside upper right", ncols=2, frameon=False)
        figure.savefig(path)
        plt.close(figure)


def main() -> None:
    draw_filtered(pd.read_csv(DOCS / "evidence/screened.csv"), DOCS / "screened.png")
    draw_forest(pd.read_csv(DOCS / "evidence/tables.csv"), DOCS / "evidence-forest.png")
    draw_signals(pd.read_csv(DOCS / "evidence/signals.csv"), DOCS / "evidence-signals.png")
    draw_little(pd.read_csv(DOCS / "evidence/little.csv"), DOCS / "evidence-little.png")
    draw_memory(DOCS / "idea.png")
    draw_correlations(DOCS / "how-it-works.png")
    draw_map(DOCS / "which-model.png")


if __name__ == "__main__":
    main()
