"""The tables and figures of docs/evidence.md, and that of docs/how-it-works.md, from results.

    python benchmarks/evidence.py --run     make the experiments first: hours on two cores
    python benchmarks/evidence.py           write the page from results/
    python benchmarks/evidence.py --guesses    its table that needs no results

Each table of the page stands between two comments that name it; the text around it is written by
hand.  A table whose experiment is not in the results stays as it is.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright
from scipy import stats
from sklearn.metrics import roc_auc_score

from thesiskit.estimators import NormalClassifier

matplotlib.use("Agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).parent.parent / "docs"
OURS = "corrected, some relevant, residual-tempered"
RIDGE = "logistic regression, L2"
BEST = {
    ("20", OURS): "ours, 20 kept, tempered",
    ("all", "pool of ridge, lasso, discriminants"): "ours, pool",
    ("all", RIDGE): "ridge",
    ("all", "logistic regression, L1"): "lasso",
    ("all", "nearest shrunken centroids"): "shrunken centroids",
    ("all", "random forest"): "forest",
}
FIGURES = {
    "reliability": "my-known/figures/reliability.png",  # of the tutorial
    "null": "null/figures/null.png",
}

MARKED = (
    "#answer p:nth-of-type(1)",
    "#answer p:nth-of-type(2)",
    "aside.warning",
    "main nav",
    "#summary p:nth-of-type(2)",
    "#summary p:nth-of-type(3)",
)


def markdown(rows: list[dict[str, str]]) -> str:
    head = f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}\n"
    return head + "\n".join(f"| {' | '.join(row.values())} |" for row in rows)


def number(value: float, digits: int = 3) -> str:
    return "-" if pd.isna(value) else f"{value:.{digits}f}"


def small(p: float) -> str:
    return f"{p:.0e}" if p > 1e-20 else "below 1e-20"


def null(results: Path) -> list[dict[str, str]]:
    found = pd.read_csv(results / "null/tables/scores.csv")
    return [
        {
            "kept": str(row["features"]),
            "method": row["method"],
            "observed error": number(row["error"]),
            "predicted error": number(row["expected error"]),
            "log loss": number(row["AMLP"]),
        }
        for _, row in found.iterrows()
    ]


def read_study(results: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(results / f"studies/{name}.csv", dtype={"kept": str})


def auc(rows: pd.DataFrame) -> float:
    """Return the mean over classes of the AUC of each against all others."""
    y = rows["class"]
    last = y.max()
    each = [roc_auc_score(y == k, rows[f"p{k}"]) for k in range(last + 1)]
    return float(np.mean(each))


def by_table(results: Path, name: str) -> pd.DataFrame:
    """Return a row for each published table, number of features and method."""
    frame = read_study(results, name)
    groups = frame.groupby(["data", "kept", "method"], sort=False)
    means = groups[["error", "predicted", "loss", "cross-validated"]].mean()
    # a sample counts once, though it is tested in both divisions
    means["loss error"] = groups["loss"].std() / np.sqrt(groups.size() / 2)
    means["AUC"] = groups.apply(auc, include_groups=False)
    ridge = means.xs(RIDGE, level="method").groupby("data")["loss"].first()
    means["difference"] = means["loss"] - ridge
    return means.reset_index()


def board(name: str):
    """Means over the ten tables, the lowest log loss first."""

    def rows(results: Path) -> list[dict[str, str]]:
        tables, summaries = by_table(results, name), []
        for (kept, method), each in tables.groupby(["kept", "method"]):
            half = stats.t.ppf(0.975, len(each) - 1) * each["difference"].sem()
            mean, difference = each.mean(numeric_only=True), each["difference"].mean()
            error = np.sqrt(np.square(each["loss error"]).sum()) / len(each)
            row = {
                "method": method,
                "kept": kept,
                "observed error": number(mean["error"]),
                "predicted error": number(mean["predicted"]),
                "distance": number((each["error"] - each["predicted"]).abs().mean()),
                "in cross-validation": number(mean["cross-validated"]),
                "AUC": number(mean["AUC"]),
                "log loss": f"{number(mean['loss'])} ± {number(error)}",
                "difference from ridge (95% for another table)": ""
                if method == RIDGE
                else f"{difference:+.3f} ({difference - half:+.3f} to {difference + half:+.3f})",
            }
            if not tables["cross-validated"].notna().any():
                del row["in cross-validation"]
            summaries.append((mean["loss"], row))
        return [row for _, row in sorted(summaries, key=lambda pair: pair[0])]

    return rows


def tables(results: Path) -> list[dict[str, str]]:
    """Log loss with its interval, and observed (predicted) errors, table by table."""
    frame = by_table(results, "tables").set_index(["data", "kept", "method"])
    rows = []
    for table in frame.index.unique("data"):
        row = {"table": table}
        for (kept, method), short in BEST.items():
            one = frame.loc[(table, kept, method)]
            low, high = (max(0, one["loss"] + side * 1.96 * one["loss error"]) for side in (-1, 1))
            loss = f"{one['loss']:.2f} ({low:.2f} to {high:.2f})"
            row[short] = f"{loss}; {one['error']:.2f} [{one['predicted']:.2f}]; {one['AUC']:.2f}"
        rows.append(row)
    return rows


def signals(name: str):
    """Predicted and observed errors, and log losses, of drawn data; means over data sets.

    Of filtered tables third-party methods predict their errors by cross-validation.
    """

    def rows(results: Path) -> list[dict[str, str]]:
        frame = read_study(results, name)
        frame["predicted"] = frame["cross-validated"].fillna(frame["predicted"])
        groups = frame.groupby(["data", "method"], sort=False)
        means, errors = groups.mean(numeric_only=True), groups["error"].sem()
        return [
            {
                "data": data,
                "method": method,
                "observed error": f"{row['error']:.3f} ± {errors[data, method]:.3f}",
                "predicted error": number(row["predicted"]),
                "log loss": number(row["loss"]),
            }
            for (data, method), row in means.iterrows()
        ]

    return rows


def draw_errors(frame: pd.DataFrame, path: Path) -> None:
    """Predicted against observed errors, a panel for each method."""
    groups = list(frame.groupby("method", sort=False))
    figure, axes = plt.subplots(
        -(-len(groups) // 4), 4, figsize=(9, 2.4 * -(-len(groups) // 4)), sharex=True, sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, (method, each) in zip(axes.flat, groups, strict=False):
        predicted = each["cross-validated"].fillna(each["predicted"])
        axis.axline((0, 0), slope=1, color="#b4b4b4", linewidth=0.8)
        axis.plot(predicted, each["error"], "o", color="#1f1f1f", markersize=4)
        axis.set_title(method.replace(", ", ",\n"), fontsize=8)
        axis.set_aspect("equal")
    figure.supxlabel("predicted error")
    figure.supylabel("observed error")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def ranks(results: Path) -> list[dict[str, str]]:
    """The smallest p of both tests of all quantities, of models that are right and that are not."""
    rows, tests = [], ["chi-squared p", "ECDF p"]
    for path in sorted((results / "ranks").glob("*.csv")):
        frame = pd.read_csv(path)
        wrong = frame["model"].str.startswith("uncorrected")
        p = frame.loc[~wrong, tests]
        rows.append(
            {
                "study": path.stem,
                "models": str(frame.loc[~wrong, "model"].nunique()),
                "quantities": str(len(p)),
                "smallest p times tests": f"{min(1, p.min(axis=None) * p.size):.2g}",
                "p without the correction": small(frame.loc[wrong, tests].min(axis=None))
                if wrong.any()
                else "",
            }
        )
    if not rows:
        raise FileNotFoundError(2, "", str(results / "ranks"))
    return rows


def verified(results: Path) -> list[dict[str, str]]:
    found = pd.read_csv(results / "verify/verify.csv")
    return [
        {"verdict": verdict, "numbers of the thesis": f"{count:,}"}
        for verdict, count in found["verdict"].value_counts().items()
    ]


def together(results: Path) -> list[dict[str, str]]:
    found = pd.read_csv(results / "verify/together.csv")
    found["by chance"], found["p"] = found["by chance"].map("{:.1f}".format), found["p"].map(number)
    return found.astype(str).to_dict("records")


def guesses(_) -> list[dict[str, str]]:
    """What a wrong number of features does, and a screening by another statistic: 20 minutes."""
    rows = []
    for relevant, rule, of in [
        *((relevant, "F", of) for relevant in (0, 10) for of in (2_500, 5_000, 10_000, 20_000)),
        (0, "limma", 10_000),
        (10, "limma", 10_000),
    ]:
        found = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            y = np.arange(1040) % 2
            scale = np.sqrt(4 / rng.chisquare(4, 10_000)) if rule == "limma" else np.ones(10_000)
            X = rng.normal(size=(len(y), 10_000)) * scale
            X[:, :relevant] += 1.2 * scale[:relevant] * y[:, None]
            low, high = X[:40][y[:40] == 0], X[:40][y[:40] == 1]
            within = (low.var(axis=0, ddof=1) + high.var(axis=0, ddof=1)) / 2
            if rule == "limma":
                within = (4 + 38 * within) / 42
            best = np.argsort(-np.abs(high.mean(axis=0) - low.mean(axis=0)) / np.sqrt(within))[:50]
            model = NormalClassifier(None, screened={"of": of}, random_state=0)
            p = model.fit(X[:40, best], y[:40]).predict_proba(X[40:, best])
            right = p[np.arange(1000), y[40:]]
            found.append((np.mean(p.argmax(axis=1) != y[40:]), p.min(axis=1).mean(), right))
        error, predicted, right = (np.array(one) for one in zip(*found, strict=True))
        rows.append(
            {
                "relevant": str(relevant),
                "screened by": rule,
                "of, as given": f"{of:,}",
                "observed error": number(error.mean()),
                "predicted error": number(predicted.mean()),
                "log loss": number(-np.log(right).mean()),
            }
        )
    return rows


MADE = {
    "null": null,
    "board": board("tables"),
    "tables": tables,
    "board-screened": board("tables-screened"),
    "screened": signals("screened"),
    "signals": signals("signals"),
    "ranks": ranks,
    "verify": verified,
    "together": together,
    "guesses": guesses,
}


def draw_idea(path: Path) -> None:
    """Correlations of useless features with a response, those kept dark."""
    rng = np.random.default_rng(1)
    response = np.repeat([-1.0, 1.0], 50)
    features = np.where(rng.random((10_000, 100)) < 0.5, -1.0, 1.0)
    found = np.array([np.corrcoef(response, one)[0, 1] for one in features])
    gamma = np.sort(np.abs(found))[-100]
    edges = (1 - 1e-9) * gamma / 13 * np.arange(-26, 27)  # gamma itself is outside
    figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
    axis.hist(
        found[np.abs(found) < gamma],
        edges,
        color="#b4b4b4",
        label="9,900 that are left out: all weak",
    )
    axis.hist(found[np.abs(found) >= gamma], edges, color="#1f1f1f", label="100 that are kept")
    axis.set(xlabel="correlation with the response, 100 cases", ylabel="features", yscale="log")
    for side in (-gamma, gamma):
        axis.axvline(side, color="#1f1f1f", linestyle="--", linewidth=1)
    axis.text(gamma, axis.get_ylim()[1], " gamma", va="top")
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=130)


def photograph(report: Path, path: Path) -> None:
    """The top of a report, with the numbers that docs/reading.md refers to."""
    mark = """([selector, number]) => {
        const place = document.querySelector(selector).getBoundingClientRect();
        const circle = document.createElement("div");
        circle.textContent = number;
        circle.style.cssText = `position: absolute; left: ${Math.max(4, place.left - 44)}px;
            top: ${place.top}px; width: 28px; border-radius: 14px; background: #a3211b; color: #fff;
            font: bold 17px/28px sans-serif; text-align: center`;
        document.body.append(circle);
    }"""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1080, "height": 1040})
        page.goto(report.resolve().as_uri())
        for number, selector in enumerate(MARKED, 1):
            page.evaluate(mark, [selector, number])
        page.screenshot(path=path)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", action="store_true", help="run the experiments first")
    parser.add_argument("--guesses", action="store_true", help="only the table of wrong numbers")
    parser.add_argument("--results", type=Path, default=Path("results"))
    asked = parser.parse_args()
    if asked.run:
        command = [
            sys.executable,
            "-m",
            "thesiskit",
            "run",
            "--results",
            asked.results,
            "--yes",
            "null",
        ]
        subprocess.run(command, check=True)
        script = Path(__file__).parent / "studies.py"
        subprocess.run([sys.executable, script, "--results", asked.results], check=True)
    draw_idea(DOCS / "how-it-works.png")
    if (report := asked.results / "my-known/report.html").exists():
        photograph(report, DOCS / "page.png")
    for name, study in (("evidence-tables", "tables"), ("evidence-screened", "tables-screened")):
        if (asked.results / f"studies/{study}.csv").exists():
            draw_errors(by_table(asked.results, study), DOCS / f"{name}.png")
    if (asked.results / "studies/screened.csv").exists():
        draw_errors(read_study(asked.results, "screened"), DOCS / "screened.png")
    for name, source in FIGURES.items():
        if (asked.results / source).exists():
            shutil.copy(asked.results / source, DOCS / f"{name}.png")
    page = DOCS / "evidence.md"
    text = page.read_text(encoding="utf-8")
    for name, rows in MADE.items():
        if (name == "guesses") != asked.guesses:
            continue
        try:
            made = markdown(rows(asked.results))
        except FileNotFoundError as error:
            print(f"{name}: {error.filename} is missing; its table stays as it was")
            continue
        whole = f"<!-- made: {name} -->\n\n{made}\n\n<!-- end -->"
        before, rest = text.split(f"<!-- made: {name} -->")
        text = before + whole + rest.partition("<!-- end -->")[2]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
