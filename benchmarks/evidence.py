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

from thesiskit.estimators import NormalClassifier

DOCS = Path(__file__).parent.parent / "docs"
RUN = (
    "null",
    "screened",
    "microarray",
    "microarray-screened",
    "signals",
)
OURS = "corrected, some relevant, residual-tempered"
BEST = [
    ("20", OURS),
    ("all", "pool of ridge, lasso, discriminants"),
    ("all", "logistic regression, L2"),
    ("all", "logistic regression, L1"),
    ("all", "nearest shrunken centroids"),
    ("all", "random forest"),
]
FIGURES = {
    "reliability": "my-known/figures/reliability.png",  # of the tutorial
    "null": "null/figures/null.png",
    "screened": "screened/figures/screened.png",
    "evidence-tables": "microarray/figures/board-predicted.png",
    "evidence-screened": "microarray-screened/figures/board-predicted.png",
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


def board(name: str):
    """Means over the ten tables, the lowest log loss first."""

    def rows(results: Path) -> list[dict[str, str]]:
        found = pd.read_csv(results / name / "tables/board.csv")
        found = found[found["tables"] == 10].sort_values("AMLP: mean")
        return [
            {
                "method": row["method"],
                "kept": row["kept"],
                "observed error": number(row["error rate: mean"]),
                "predicted error": number(row["error rate: predicted"]),
                "distance": number(row["error rate: off"]),
                **(
                    {"in cross-validation": number(row["error rate: cross-validated"])}
                    if "error rate: cross-validated" in found
                    else {}
                ),
                "AUC": number(row["AUC"]),
                "log loss": f"{number(row['AMLP: mean'])} ± {number(row['AMLP: ±'])}",
                "difference from ridge (95 % for another table)": ""
                if pd.isna(row["against ridge: low"])
                else "{:+.3f} ({:+.3f} to {:+.3f})".format(
                    *(row[f"against ridge: {one}"] for one in ("difference", "low", "high"))
                ),
            }
            for _, row in found.iterrows()
        ]

    return rows


def tables(results: Path) -> list[dict[str, str]]:
    """Log loss with its interval, and observed (predicted) errors, table by table."""
    found = pd.read_csv(results / "microarray/tables/board-scores.csv").astype({"kept": str})
    kept = found.set_index(["table", "kept", "method"])
    short = {
        OURS: "ours, 20 kept, tempered",
        BEST[1][1]: "ours, pool",
        BEST[2][1]: "ridge",
        BEST[3][1]: "lasso",
        BEST[4][1]: "shrunken centroids",
        BEST[5][1]: "forest",
    }
    rows = []
    for table in found["table"].unique():
        row = {"table": table}
        for k, method in BEST:
            one = kept.loc[(table, k, method)]
            errors = [number(one[f"error rate: {name}"], 2) for name in ("observed", "predicted")]
            loss = "{:.2f} ({:.2f} to {:.2f})".format(
                *one[["AMLP: mean", "AMLP: low", "AMLP: high"]]
            )
            row[short[method]] = f"{loss}; {errors[0]} [{errors[1]}]; {number(one['AUC: mean'], 2)}"
        rows.append(row)
    return rows


def signals(name: str):
    """Predicted and observed errors, and log losses, of drawn data; means over data sets."""

    def rows(results: Path) -> list[dict[str, str]]:
        found = pd.read_csv(results / name / f"tables/{name}.csv")
        found.columns = found.columns.str.replace("errors:", "error:")
        return [
            {
                "data": row["data"],
                "method": row["method"],
                "observed error": "{:.3f} ± {:.3f}".format(
                    *row[["observed error: mean", "observed error: ±"]]
                ),
                "predicted error": number(row["predicted error: mean"]),
                "log loss": number(row["AMLP: mean"]),
            }
            for _, row in found.iterrows()
        ]

    return rows


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
    "board": board("microarray"),
    "tables": tables,
    "board-screened": board("microarray-screened"),
    "screened": signals("screened"),
    "signals": signals("signals"),
    "ranks": ranks,
    "verify": verified,
    "together": together,
    "guesses": guesses,
}


def draw_idea(path: Path) -> None:
    """Correlations of useless features with a response, those kept dark."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

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
            *RUN,
        ]
        subprocess.run(command, check=True)
    draw_idea(DOCS / "how-it-works.png")
    if (report := asked.results / "my-known/report.html").exists():
        photograph(report, DOCS / "page.png")
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
