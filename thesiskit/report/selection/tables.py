"""Tables of chapter 2: each function makes one from a finished experiment."""

from itertools import product

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import Table
from thesiskit.report.record import Arm, Manner, Record
from thesiskit.report.stages import manner_words


def selection_table(record: Record) -> list[Table]:
    """The numbers of features kept, gamma, and the ties at gamma."""
    thesis = {str(k): v for k, v in record.thesis.get("gamma", {}).items()}
    columns = {
        name: dict(record.by_size(name))
        for name in ("gamma", "n_features", "kept", "tied", "tied_kept")
    }
    sets = len(record.selection["tied"]) // len(record.labels)
    rows = []
    score = "an absolute correlation" if record.n_classes == 2 else "a correlation ratio"
    for label in record.labels:
        kept, p = columns["kept"][label], columns["n_features"][label]
        gamma = columns["gamma"][label]
        row = {"selection": label, "kept": kept.mean(), "of": int(p.max()), "gamma": gamma.mean()}
        if sets > 1:
            row |= {"gamma, lowest": gamma.min(), "gamma, highest": gamma.max()}
        row["tied at gamma"] = columns["tied"][label].mean()
        row["of these kept"] = columns["tied_kept"][label].mean()
        if (kept == p).all():  # nothing was left out: there is no gamma
            row |= dict.fromkeys(list(row)[3:], np.nan)
        if thesis:
            row["gamma, thesis"] = thesis.get(label, np.nan)
        rows.append(row)
    return [
        Table(
            "selection",
            "Features kept",
            pd.DataFrame(rows),
            f"Gamma bounds the features that were left out: each has {score} with "
            "the response of the training cases of at most gamma. Features for which it "
            "equals gamma are tied; those of them that were kept were chosen at random"
            + ("." if sets == 1 else f". Means over {sets:,} training sets."),
        )
    ]


def calibration_table(record: Record) -> list[Table]:
    """Calibration by first decimal of the prediction, one table for each rule or sampler."""
    tables, one = [], record.one_words
    actual = one if record.n_classes == 2 else "right"
    for variant in record.variants:
        frame = pd.concat(
            [
                _calibration_block(record, label, variant)
                for label in record.labels
                if record.find(label, record.arms[0].method, variant)
                or record.find(label, "corrected", variant)
                or record.find(label, "uncorrected", variant)
            ],
            ignore_index=True,
        )
        beside = (
            f" The thesis's numbers (table {record.thesis['calibration_label']}) stand beside "
            "ours; its data set is another draw from the same model."
            if record.thesis_calibration is not None
            else ""
        )
        suffix = "" if variant == record.variants[0] else f"-{variant}"
        tables.append(
            Table(
                f"calibration{suffix}",
                f"Calibration, {variant_words(variant)}",
                frame,
                f"C is the first decimal of the predictive probability of {one}; # the number of "
                "test cases in that category, Pred their mean prediction, Actual the fraction of "
                f"them that are {actual}. With all features there is nothing to correct." + beside,
                long=bool(suffix),
            )
        )
    return tables


def _calibration_block(record: Record, label: str, variant: str) -> pd.DataFrame:
    frame = pd.DataFrame({"features": [label] * 10, "C": range(10)})
    for way in record.ways(("corrected", "uncorrected", "complete")):
        arm = record.find(label, way.method, variant, way.manner)
        if arm is None or arm.way != way:
            continue
        ours = metrics.calibration(*record.of_one(arm))
        title = way.words.replace("complete", "corrected")
        frame[f"{title}: #"] = ours["cases"]
        frame[f"{title}: Pred"] = ours["predicted"]
        frame[f"{title}: Actual"] = ours["actual"]
        thesis = record.thesis_calibration
        if thesis is not None and way.manner == Manner("all"):
            theirs = thesis[(thesis.features_selected == label) & (thesis.method == way.method)]
            theirs = theirs.set_index("category").reindex(range(10))
            frame[f"{title}, thesis: #"] = theirs["cases"].to_numpy()
            frame[f"{title}, thesis: Pred"] = theirs["mean_predicted"].to_numpy()
            frame[f"{title}, thesis: Actual"] = theirs["fraction_actual"].to_numpy()
    return frame


def variant_words(variant: str) -> str:
    """How titles call a rule for theta, or a sampler."""
    return {
        "exact": "exact quadrature",
        "simpson-21": "Simpson's rule with 21 points",
        "collapsed": "collapsed sampler",
        "thesis": "the thesis's sampler",
        "as-printed": "the thesis's sampler as printed",
        "enumeration": "exact posterior",
    }.get(variant, variant)


_SEVERAL_CLASSES = (
    " The squared error is half of the sum over classes of the squared differences between the "
    "probability of a class and 1 or 0, whether it is the actual one."
)


def score_table(record: Record) -> list[Table]:
    """Error, expected error, AMLP and squared error of every arm."""
    rows = [
        {"features": arm.label, "method": arm.words}
        | ({record.variant_name: arm.variant} if len(record.variants) > 1 else {})
        | metrics.scores(record.probability(arm), record.response)
        for arm in record.arms
    ]
    return [
        Table(
            "scores",
            "Performance",
            pd.DataFrame(rows),
            f"Over {len(record.response):,} test cases. The expected error is what the predictions "
            "themselves promise; AMLP is the average minus log probability of the actual class."
            + _SEVERAL_CLASSES * (record.n_classes > 2)
            + ("" if record.config["own"] else manner_words(record)),  # the summary has said it
        )
    ]


def quadrature_table(record: Record) -> list[Table]:
    """What exact integrals over theta change, against Simpson's rule."""
    first, second = record.variants[:2]
    rows = []
    ways = record.ways(("corrected", "uncorrected", "complete"))
    for label, way in product(record.labels, ways):
        a, b = (record.find(label, way.method, one, way.manner) for one in (first, second))
        if a is None or b is None or a.way != way:
            continue
        pa, pb = record.probability(a), record.probability(b)
        rows.append(
            {
                "features": label,
                "method": way.words,
                "largest change of a prediction": np.abs(pa - pb).max(),
                "mean change": np.abs(pa - pb).mean(),
                f"AMLP: {first}": metrics.amlp(pa, record.response),
                f"AMLP: {second}": metrics.amlp(pb, record.response),
                f"expected error: {first}": metrics.expected_error(pa),
                f"expected error: {second}": metrics.expected_error(pb),
                f"mean log alpha: {first}": _mean_log_alpha(record, a),
                f"mean log alpha: {second}": _mean_log_alpha(record, b),
                "change of log P(S)": _log_factor(record, b) - _log_factor(record, a)
                if way.relevant == "all"
                else np.nan,  # it is not of one alpha
            }
        )
    return [
        Table(
            "quadrature",
            f"What {variant_words(first)} changes, against {variant_words(second)}",
            pd.DataFrame(rows),
            "The thesis integrates over theta by Simpson's rule with 21 points, which is far off "
            "for features that are almost constant. Log alpha is averaged over its posterior; the "
            "last column is how far the logarithm of the adjustment factor moves at the most "
            "probable alpha.",
        )
    ]


def _mean_log_alpha(record: Record, arm: Arm) -> float:
    fits = record.fits
    column = list(fits["arm"]).index(arm.row)
    alpha = fits["alpha"][0, column % fits["alpha"].shape[1]]
    return float(np.exp(fits["log_posterior"][0, column]) @ np.log(alpha))


def _log_factor(record: Record, arm: Arm) -> float:
    fits = record.fits
    column = list(fits["arm"]).index(arm.row)
    dropped = record.selection["n_features"][0] - record.kept(arm.label)
    peak = int(np.argmax(fits["log_posterior"][0, column]))
    return float(dropped * fits["log_discard"][0, column, peak])


def timing_table(record: Record) -> list[Table]:
    """Seconds spent on each arm, the thesis's beside ours."""
    frame = pd.DataFrame(record.timings())
    thesis = record.thesis.get("seconds", {})
    if thesis:
        known = {(str(k), m): s for m, column in thesis.items() for k, s in column.items()}
        frame["thesis"] = [
            known.get((row.features, "corrected" if row.method == "complete" else row.method))
            if getattr(row, record.variant_name) != "collapsed"
            else None
            for row in frame.itertuples()
        ]
    sets, cases = record.made
    return [
        Table(
            "timings",
            "Computation time",
            frame,
            f"Seconds on this machine, for {sets:,} training set{'s' if sets > 1 else ''} and "
            f"{cases:,} test cases. Selection serves all methods; fit and "
            "predict each compute the tables of integrals they need, and the first arm of each "
            f"{record.variant_name} pays for the tables that later ones share. Of a peer, only the "
            "total is known, selection included." + record.thesis.get("seconds_note", ""),
        )
    ]
