"""Writes docs/evidence/, the numbers of docs/evidence.md and its pictures.

    python benchmarks/evidence.py --run       run the experiments first: hours on two cores
    python benchmarks/evidence.py             write docs/evidence/ from results/
    python benchmarks/evidence.py --guesses   only guesses.csv, which needs no results

A file whose experiment is not among the results stays as it is.  docs/site/tables.py copies rows
into the page, and benchmarks/pictures.py draws the pictures.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright
from scipy import stats
from sklearn.metrics import roc_auc_score

from thesiskit.estimators import NormalClassifier

DOCS = Path(__file__).parent.parent / "docs"
SHORT = {
    "corrected, some relevant, residual-tempered": "corrected, tempered",
    "uncorrected, some relevant, residual-tempered": "uncorrected, tempered",
    "logistic regression, L1": "lasso",
    "logistic regression, L2": "ridge",
    "nearest shrunken centroids": "shrunken centroids",
    "pool of ridge, lasso, discriminants": "pool",
}
FIGURES = {
    "null": "null/figures/null.png",
}


def null(results: Path) -> pd.DataFrame:
    """Return the scores of methods where no feature is relevant."""
    scores = pd.read_csv(results / "null/tables/methods.csv")
    scores = scores[scores["setting: features"].notna()].drop(columns="method")
    names = {f"setting: {name}": name for name in ("features", "method")}
    scores = scores.rename(columns=names | {"error": "observed error"})
    scores = scores.astype({"features": int})
    return scores[["features", "method", "observed error", "predicted error", "log loss"]]


def read_study(results: Path, name: str) -> pd.DataFrame:
    frame = pd.read_csv(results / f"studies/{name}.csv", dtype={"kept": str})
    frame["method"] = frame["method"].replace(SHORT)
    new = {"kept": "features", "error": "observed error", "predicted": "predicted error"}
    new |= {"loss": "log loss", "cross-validated": "cross-validated error"}
    return frame.rename(columns=new)


def auc(rows: pd.DataFrame) -> float:
    """Return the mean over classes of the AUC of each against all others."""
    y = rows["class"]
    last = y.max()
    each = [roc_auc_score(y == k, rows[f"p{k}"]) for k in range(last + 1)]
    return float(np.mean(each))


def by_table(results: Path, name: str) -> pd.DataFrame:
    """Return a row for each published table, number of features and method."""
    frame = read_study(results, name)
    frame["method"] = frame["method"].str.removesuffix(", some relevant")  # there is no other here
    groups = frame.groupby(["data", "features", "method"], sort=False)
    scores = ["observed error", "predicted error", "log loss", "cross-validated error"]
    means = groups[scores].mean()
    # a sample counts once, though it is tested in both divisions
    means["standard error"] = groups["log loss"].std() / np.sqrt(groups.size() / 2)
    means["AUC"] = groups.apply(auc, include_groups=False)
    ridge = means.xs("ridge", level="method").groupby("data")["log loss"].first()
    means["difference from ridge"] = means["log loss"] - ridge
    means["distance"] = (means["observed error"] - means["predicted error"]).abs()
    return means.reset_index()


def mean_scores(name: str):
    """Return what averages scores over the ten tables, the lowest log loss first."""

    def average(results: Path) -> pd.DataFrame:
        groups = by_table(results, name).groupby(["method", "features"])
        means = groups.mean(numeric_only=True)
        size = groups.size()
        squares = groups["standard error"].agg(lambda errors: np.square(errors).sum())
        means["standard error"] = np.sqrt(squares) / size
        half = stats.t.ppf(0.975, size - 1) * groups["difference from ridge"].sem()
        means["low"] = means["difference from ridge"] - half
        means["high"] = means["difference from ridge"] + half
        ridge = means.index.get_level_values("method") == "ridge"
        means.loc[ridge, ["difference from ridge", "low", "high"]] = np.nan
        return means.sort_values("log loss").reset_index()

    return average


def tables(results: Path) -> pd.DataFrame:
    """Return the scores of each published table, with the 95% interval of the log loss."""
    frame = by_table(results, "tables").rename(columns={"data": "table"})
    half = 1.96 * frame["standard error"]
    frame["low"], frame["high"] = (frame["log loss"] - half).clip(0), frame["log loss"] + half
    return frame


def drawn(name: str):
    """Return what averages the scores of drawn data sets.

    Of filtered tables third-party methods predict their errors by cross-validation.
    """

    def average(results: Path) -> pd.DataFrame:
        frame = read_study(results, name)
        validated = frame.pop("cross-validated error")
        frame["predicted error"] = validated.fillna(frame["predicted error"])
        groups = frame.groupby(["data", "method"], sort=False)
        scores = groups[["observed error", "predicted error", "log loss"]].mean()
        scores.insert(1, "standard error", groups["observed error"].sem())
        return scores.reset_index()

    return average


def regression(results: Path) -> pd.DataFrame:
    """Return the scores of real responses by study, data and method, and means over the data."""
    studies = []
    for study in ("tables", "filtered", "simulated"):
        frame = pd.read_csv(results / f"studies/regression-{study}.csv")
        groups = frame.groupby(["data", "method"], sort=False)
        means = groups.mean(numeric_only=True).reset_index()
        over = means.groupby("method", sort=False).mean(numeric_only=True).reset_index()
        means = pd.concat([means, over.assign(data="mean")]) if study != "simulated" else means
        studies.append(means.assign(study=study))
    frame = pd.concat(studies).rename(columns={"loss": "negative log density"})
    frame["observed error"] = np.sqrt(frame["squared error"])
    frame["predicted error"] = np.sqrt(frame["predicted variance"])
    frame["observed R2"] = 1 - frame["squared error"] / frame["base"]
    frame["predicted R2"] = 1 - frame["predicted variance"] / frame["base"]
    return frame


def learning_curve(results: Path) -> pd.DataFrame:
    """Return what learning curves of half of the samples predict, by method and table."""
    return pd.read_csv(results / "studies/learning-curve.csv")


def ranks(results: Path) -> pd.DataFrame:
    """Return the smallest p of all tests, of models that are right and that are not."""
    rows, tests = [], ["chi-squared p", "ECDF p"]
    for path in sorted((results / "ranks").glob("*.csv")):
        frame = pd.read_csv(path)
        wrong = frame["model"].str.startswith("uncorrected")
        p = frame.loc[~wrong, tests]
        smallest = frame.loc[wrong, tests].min(axis=None)
        rows.append(
            {
                "study": path.stem,
                "models": frame.loc[~wrong, "model"].nunique(),
                "quantities": len(p),
                "p": min(1, p.min(axis=None) * p.size),
                "p uncorrected": "< 1e-20" if smallest < 1e-20 else smallest,
            }
        )
    if not rows:
        raise FileNotFoundError(2, "", str(results / "ranks"))
    return pd.DataFrame(rows)


def effects(results: Path) -> pd.DataFrame:
    """Return coverage, length and bias of intervals of effects: a row for each kind of data."""
    frame = pd.read_csv(results / "studies/effects.csv")
    frame[["data", "features"]] = frame["data"].str.split(": ", expand=True)
    kinds = ["data", "features"]
    by_set = frame.groupby([*kinds, "method", "set"], sort=False)["covered"].mean()
    groups = frame.groupby([*kinds, "method"], sort=False)
    means = groups[["covered", "length", "bias"]].mean()
    means["standard error"] = by_set.groupby([*kinds, "method"], sort=False).sem()
    wide = means.unstack(sort=False)
    wide.columns = [f"{method}, {score}".replace(", covered", "") for score, method in wide]
    wide["selected"] = frame.groupby(kinds).size() // frame["method"].nunique()
    return wide.reset_index()


def verified(results: Path) -> pd.DataFrame:
    """Return how many numbers of the thesis have which verdict."""
    verdicts = pd.read_csv(results / "verify/verify.csv")["verdict"]
    return verdicts.value_counts().rename("numbers").reset_index()


def copied(name: str):
    """Return what reads a table of `thesiskit verify`."""
    return lambda results: pd.read_csv(results / f"verify/{name}.csv", keep_default_na=False)


def guesses() -> pd.DataFrame:
    """Try wrong numbers of features, and a selection by another statistic: 20 minutes."""
    rows = []
    for relevant, rule, of in [
        *((relevant, "F", of) for relevant in (0, 10) for of in (2_500, 5_000, 10_000, 20_000)),
        (0, "limma", 10_000),
        (10, "limma", 10_000),
    ]:
        scores = []
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
            scores.append((np.mean(p.argmax(axis=1) != y[40:]), p.min(axis=1).mean(), right))
        error, predicted, right = (np.array(values) for values in zip(*scores, strict=True))
        rows.append(
            {
                "relevant": relevant,
                "filtered by": rule,
                "of": of,
                "observed error": error.mean(),
                "predicted error": predicted.mean(),
                "log loss": -np.log(right).mean(),
            }
        )
    return pd.DataFrame(rows)


FILES = {
    "null": null,
    "means": mean_scores("tables"),
    "tables": tables,
    "means-screened": mean_scores("tables-screened"),
    "screened": drawn("screened"),
    "signals": drawn("signals"),
    "regression": regression,
    "effects": effects,
    "learning-curve": learning_curve,
    "ranks": ranks,
    "verify": verified,
    "together": copied("together"),
    "claims": copied("claims"),
}


def write(name: str, frame: pd.DataFrame) -> None:
    """Write a CSV file of docs/evidence, with the columns that it has, and its commit."""
    path, provenance = DOCS / f"evidence/{name}.csv", DOCS / "evidence/provenance.csv"
    frame[list(pd.read_csv(path, nrows=0))].to_csv(path, index=False, float_format="%.3f")
    commits = pd.read_csv(provenance, index_col="file")
    command = ["git", "rev-parse", "--short", "HEAD"]
    commits.loc[path.name, "commit"] = subprocess.check_output(command, text=True).strip()
    commits.to_csv(provenance)


def photograph(report: Path, path: Path) -> None:
    """Save a picture of the first screen of a report."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1080, "height": 1040})
        page.goto(report.resolve().as_uri())
        page.screenshot(path=path)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", action="store_true", help="run the experiments first")
    parser.add_argument("--guesses", action="store_true", help="only guesses.csv")
    parser.add_argument("--results", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    results = arguments.results
    if arguments.guesses:
        write("guesses", guesses())
        return
    if arguments.run:
        command = [sys.executable, "-m", "thesiskit", "run", "--results", results, "--yes", "null"]
        subprocess.run(command, check=True)
        for script in ("studies.py", "regression.py", "effects.py", "learning_curve.py"):
            command = [sys.executable, Path(__file__).parent / script, "--results", results]
            subprocess.run(command, check=True)
    for name, compute in FILES.items():
        try:
            write(name, compute(results))
        except FileNotFoundError as error:
            print(f"{name}.csv is unchanged: {error.filename} does not exist")
    if (report := results / "my-known/report.html").exists():
        photograph(report, DOCS / "page.png")
    for name, source in FIGURES.items():
        if (results / source).exists():
            shutil.copy(results / source, DOCS / f"{name}.png")


if __name__ == "__main__":
    main()
