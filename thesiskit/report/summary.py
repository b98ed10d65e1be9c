"""What a page opens with: its answer in a few sentences, and the summary that explains it.

The summary says what was asked, how good the answers are, and what they are worth.
"""

import numpy as np
import pandas as pd

from thesiskit.errors import pluralise
from thesiskit.models.peers import PEERS
from thesiskit.report import metrics
from thesiskit.report.layout import PageTable
from thesiskit.report.metrics import BORDER, CAREFUL, SURE, WELL, Score
from thesiskit.report.posteriors import features_words
from thesiskit.report.predicted import expected_sentence, predicted_table
from thesiskit.report.record import Record
from thesiskit.report.stages import manner_words, question, warnings

MOST_ROWS = 10  # of arms
NEXT = (
    "To predict new cases with the best model of this page: "
    "`thesiskit predict CONFIG --new TABLE`, where CONFIG is the file that you ran."
)
OUTSIDE = 0.1  # of real responses, outside their predictive interval of 90 %


def answer(record: Record) -> tuple[str, ...]:
    """Say in one to three sentences what was found; the first has the headline number."""
    if record.config["reduction"]:
        ratio = record.reduction["groups"] / record.reduction["patterns"]
        low, high = (f"{100 * end:.0f}" for end in (ratio.min(), ratio.max()))
        return (f"Of 100 coefficients, compression leaves {low} to {high}, by the setting.",)
    if record.config["data"] is None:
        kind = record.results.load("select", 0, ("kind",))["kind"]
        gamma = record.config["lattice"]["gamma"]
        return (
            f"Of {kind.size:,} pairs of counts, {int((kind == 2).sum()):,} have an absolute "
            f"correlation above gamma = {gamma:g}: features with these are kept.",
        )
    if record.continuous:
        return _of_real_responses(record).lead[1:]
    if not record.tests:
        return (expected_sentence(record),)
    best = min(record.predicting, key=lambda score: score.amlp)
    score = record.choice[0] if record.choice else best
    base = Score(record.tested, "base rate", record.tested.base)
    rates = f"an error rate of {_rate(score)} and an AMLP of {score.amlp:.3f}"
    name = f"The arm {score.name}".replace("arm the ", "")
    of = f"over {pluralise(len(score.wrong), 'test case')}"
    sentences = [
        f"{name} has {rates}, {of}; the frequencies of the classes have "
        f"{100 * base.error:.1f} % and {base.amlp:.3f}."
    ]
    if score.rare:
        sentences = [f"{name} has {_auc_words(score)}, {of}.", f"{_gain_words(score, base)}."]
    corrected = "" if record.config["own"] or record.logistic else _correction(record)
    return (corrected, *sentences) if corrected else (*sentences, _calibration(score))


def _rate(score: Score) -> str:
    low, high = score.error_interval
    return f"{100 * score.error:.1f} % (95 % interval {100 * low:.1f} % to {100 * high:.1f} %)"


def _correction(record: Record) -> str:
    """Say what the correction does to the errors that are expected, where it does most."""
    pairs = []
    for arm in record.main_arms:
        counterpart = record.find(arm.label, "corrected", arm.variant, arm.options)
        if arm.method == "uncorrected" and counterpart is not None:
            pairs.append((arm, record.scores[arm.row], record.scores[counterpart.row]))
    if not pairs:
        return ""
    arm, without, with_it = max(pairs, key=lambda pair: pair[1].error - pair[1].expected)
    first, second = (
        f"{100 * score.expected:.1f} % and {100 * score.error:.1f} %"
        for score in (without, with_it)
    )
    return (
        f"With {features_words(record, arm.label)}{arm.options.words}, the expected and the "
        f"observed error rates are {first} without the correction for selection, and {second} "
        "with it."
    )


def summary(record: Record) -> list[PageTable]:
    """What was asked, the best arm beside simple rivals, and expected and observed errors."""
    if record.continuous:
        return [_of_real_responses(record)]
    if not record.tests:
        return predicted_table(record)
    scored = record.predicting
    best = min(scored, key=lambda score: score.amlp)
    base = Score(record.tested, "base rate", record.tested.base)
    regressions = [score for score in scored if score.linear]
    linear = min(regressions, key=lambda score: score.amlp, default=None)
    choice, chosen_rows = record.choice or (best, None)
    lead = [question(record), _recommended(record, best), _chosen(record, chosen_rows)]
    if choice.rare:
        counts = np.bincount(record.tested.response)
        lead.append(
            f"{100 * counts.max() / counts.sum():.0f} % of the test cases are "
            f"{record.tested.classes[counts.argmax()]}, so that error rates tell little here."
        )
    if warnings(record):
        lead.append("Some chains have not converged (see above), so numbers may change.")
    if record.config["own"] and linear is None:
        place = "logistic-regression to model.peers"
        place = place if record.logistic else "l2-logistic to model.methods"
        lead.append(f"To compare with a regularised logistic regression, add {place}.")
    if record.config["own"]:
        lead.append(NEXT)
    scores = scored if chosen_rows is None else [choice, *scored]
    if len(scored) > MOST_ROWS:  # the best of them
        scores = sorted(scored, key=lambda score: score.amlp)[:MOST_ROWS]
        scores += [linear] if linear is not None and linear not in scores else []
        scores = scores if chosen_rows is None else [choice, *scores]
    frame = pd.DataFrame([_row(score) for score in (*scores, base)])
    sentences = tuple(filter(None, lead))
    return [PageTable("summary", "Summary", frame, _explained(record), lead=sentences)]


def _row(score: Score) -> dict:
    error, amlp = score.error_interval, score.amlp_interval
    return {
        "arm": score.name,
        "errors: observed": int(score.wrong.sum()),
        "errors: expected": f"{score.risk.sum():.1f}",
        "errors: p": p_number(score.p_value),
        "errors: verdict": score.verdict,
        "error rate: mean": score.error,
        "error rate: low": error[0],
        "error rate: high": error[1],
        "AMLP: mean": score.amlp,
        "AMLP: low": amlp[0],
        "AMLP: high": amlp[1],
    }


def _recommended(record: Record, best: Score) -> str:
    """Say which method predicts new cases, if any does better than the class frequencies."""
    if record.recommended(range(len(record.scores))) < 0:
        return (
            "No model is recommended, because none is clearly better than the class frequencies; "
            "`thesiskit predict` uses these."
        )
    arm = record.arms[record.scores.index(best)]
    peer = PEERS.get(arm.engine if record.logistic else arm.method)
    use = ", and is the one to predict by" if peer is None or peer.exported else ""
    n_arms = len(record.predicting)
    return f"Of {n_arms} arms, {best.name} has the lowest AMLP{use}." if n_arms > 1 else ""


def _chosen(record: Record, chosen_rows: np.ndarray | None) -> str:
    """Say what an arm predicts that is chosen inside the training cases of each fold."""
    if chosen_rows is None or record.choice is None:
        if not record.config["own"] or len(record.scores) == 1:
            return ""
        return (
            "It was chosen on these cases, so it will predict others a little worse; "
            "`evaluation.choose: true` says how much."
        )
    names = [score.name for score in record.scores] + ["the frequencies of the classes"]
    rows, counts = np.unique(chosen_rows, return_counts=True)
    by_count = sorted(zip(counts.tolist(), rows.tolist(), strict=True), reverse=True)
    of = len(chosen_rows)
    return (
        "The best of several arms on some cases is less good on others. So an arm was also chosen "
        "inside the training cases of each fold, without the cases that it then predicted: the "
        "first row is what to expect of new cases. What was chosen is "
        + ", ".join(f"{names[row]} in {count:,} of {of:,} folds" for count, row in by_count)
        + "."
    )


def _auc_words(score: Score) -> str:
    area, low, high = score.auc_interval
    interval = f" (95 % interval {low:.2f} to {high:.2f})" if low == low else ""
    return f"an AUC of {area:.2f}{interval}"


def _gain_words(score: Score, base: Score) -> str:
    """Say by how much AMLP is lower than that of the frequencies, with an interval of cases."""
    difference, error = score.less(base)
    return (
        f"Its AMLP is {score.amlp:.3f}, which is {abs(difference):.3f} "
        f"{'lower' if difference < 0 else 'higher'} than that of the frequencies of the classes "
        f"(95 % interval of the paired gain {-difference - 1.96 * error:.3f} to "
        f"{-difference + 1.96 * error:.3f})"
    )


def _calibration(score: Score) -> str:
    """Compare the errors that an arm expects with those observed."""
    verdict, meaning = {
        SURE: ("it is over-confident", " Take its probabilities as less certain than they look."),
        CAREFUL: ("it is under-confident", " It knows more than its probabilities say."),
        WELL: ("nothing speaks against its calibration", ""),
    }[score.verdict]
    observed = int(score.wrong.sum())
    return (
        f"Its probabilities expect {score.risk.sum():.1f} errors, and {observed:,} were "
        f"observed: {verdict} ({p_words(score.p_value)}).{meaning}"
    )


def p_words(p: float) -> str:
    """Return a p-value as a sentence has it."""
    return f"p {p_number(p)}" if p < 1e-4 else f"p = {p_number(p)}"


def p_number(p: float) -> str:
    """Return a p-value as a table has it."""
    return "< 0.0001" if p < 1e-4 else f"{p:.{4 if p < 0.01 else 3 if p < 0.1 else 2}f}"


def _explained(record: Record) -> str:
    """Return what the intervals and p-values are of."""
    tested = record.tested
    text = (
        "p is the probability that the errors of a calibrated arm are by so much or more off by "
        f"chance. An arm is called calibrated unless p is below {BORDER:g}. Intervals are of 95 % "
        "(Wilson's for error rates, normal ones for AMLP)."
    )
    if tested.repetition.max() > 0:
        text += " Cases are tested several times, so p is twice the median of the repetitions."
    if tested.group is not None:
        text += (
            f" Intervals take the {pluralise(tested.n_independent, 'group')} of data.case_groups "
            "as independent, p takes cases so."
        )
    if "fold" in tested.division:
        text += " The cases of a cross-validation share training cases, so p is approximate."
    return text + tested.about_intervals + manner_words(record)


# ---- real responses ----


def _of_real_responses(record: Record) -> PageTable:
    y, predictions = record.tested.response, record.predictions
    rows: list[dict] = []
    outside, error = {}, "root mean squared error"
    for arm in record.arms:
        name = record.name(arm)
        median, low, high = (predictions[end][arm.row] for end in ("median", "low", "high"))
        square = (y - median) ** 2
        error_of_mean = metrics.standard_error(record.tested.independent(square))
        half = 1.96 * record.tested.wider_of_skew * error_of_mean
        row = {
            "arm": name,
            f"{error}: mean": float(np.sqrt(square.mean())),
            f"{error}: low": float(np.sqrt(max(0, square.mean() - half))),
            f"{error}: high": float(np.sqrt(square.mean() + half)),
        }
        if np.isfinite(low).all():
            out = int(((y < low) | (y > high)).sum())
            p = metrics.errors_p_value(np.full(len(y), OUTSIDE), out)
            row |= {"outside 90 %: observed": out, "outside 90 %: expected": OUTSIDE * len(y)}
            outside[name] = (out, p)
        rows.append(row)
    best = min(
        (row for row in rows if row["arm"] in outside), key=lambda row: row[f"{error}: mean"]
    )
    out, p = outside[best["arm"]]
    spread = float(np.sqrt(np.mean((y - record.tested.base[:, 0]) ** 2)))
    verdict = "nothing speaks against its intervals"
    if p < BORDER:
        verdict = SURE if out > OUTSIDE * len(y) else CAREFUL
    mean, low, high = (best[f"{error}: {end}"] for end in ("mean", "low", "high"))
    lead = (
        question(record),
        f"Of our arms, {best['arm']} has the smallest error: its {error} is {mean:.4g} "
        f"(95 % interval {low:.4g} to {high:.4g}). Always predicting the mean of the "
        f"training cases gives {spread:.4g}" + (", which is better." if spread <= mean else "."),
        f"Its intervals of 90 % are expected to miss {OUTSIDE * len(y):.1f} of {len(y):,} "
        f"responses, and missed {out:,}: {verdict} ({p_words(p)}).",
    )
    caption = (
        "Errors are those of the predictive median, in the units of the response; their intervals "
        f"are normal ones over {record.tested.unit_name}.{record.tested.about_intervals} "
        "One response in ten is expected outside its predictive interval of 90 %: of an "
        "over-confident arm more are, of an under-confident one fewer."
    )
    return PageTable("summary", "Summary", pd.DataFrame(rows), caption, lead=lead)
