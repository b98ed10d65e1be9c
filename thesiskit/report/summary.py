"""The first part of a report: what was asked, how good the answers are, and what they are worth."""

from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.layout import Table
from thesiskit.report.metrics import BORDER, CAREFUL, SURE, WELL, Score
from thesiskit.report.posteriors import relevance_sentence, temperature_sentence
from thesiskit.report.promises import promised_table
from thesiskit.report.record import Record
from thesiskit.report.stages import counted, manner_words, question, warnings

MOST_ROWS = 10  # of arms
NEXT = (
    "To predict new cases with the best model of this page: "
    "`thesiskit predict CONFIG --new TABLE`, where CONFIG is the file that you ran."
)
OUTSIDE = 0.1  # of real responses, outside their predictive interval of 90 %


def summary(record: Record) -> list[Table]:
    """What was asked, the best arm beside simple rivals, and whether predictions keep promises."""
    if record.continuous:
        return [_of_real_responses(record)]
    if not record.tests:
        return promised_table(record)
    scored = record.predicting
    best = min(scored, key=lambda one: one.amlp)
    base = Score(record.tested, "base rate", record.tested.base)
    regressions = [one for one in scored if one.linear]
    linear = min(regressions, key=lambda one: one.amlp, default=None)
    choice, chosen = record.choice or (best, None)
    lead = [question(record), _performance(best, len(scored)), _chosen(record, chosen)]
    lead += [_against(choice, base, linear if chosen is None else None), _calibration(choice)]
    if not record.logistic:
        lead += [relevance_sentence(record), temperature_sentence(record)]
    if warnings(record):
        lead.append("Some chains have not converged (see above), so numbers may change.")
    if record.config["own"] and linear is None:
        place = "logistic-regression to model.peers"
        place = place if record.logistic else "l2-logistic to model.methods"
        lead.append(f"To compare with a regularised logistic regression, add {place}.")
    if record.config["own"]:
        lead.append(NEXT)
    shown = scored if chosen is None else [choice, *scored]
    if len(scored) > MOST_ROWS:  # the best of them
        shown = sorted(scored, key=lambda one: one.amlp)[:MOST_ROWS]
        shown += [linear] if linear is not None and linear not in shown else []
        shown = shown if chosen is None else [choice, *shown]
    frame = pd.DataFrame([_row(one) for one in (*shown, base)])
    told = tuple(filter(None, lead))
    return [Table("summary", "Summary", frame, _explained(record), lead=told)]


def _row(one: Score) -> dict:
    error, amlp = one.error_interval, one.amlp_interval
    return {
        "arm": one.name,
        "errors: made": int(one.wrong.sum()),
        "errors: promised": f"{one.risk.sum():.1f}",
        "errors: p": p_number(one.p_value),
        "errors: verdict": one.verdict,
        "error rate: mean": one.error,
        "error rate: low": error[0],
        "error rate: high": error[1],
        "AMLP: mean": one.amlp,
        "AMLP: low": amlp[0],
        "AMLP: high": amlp[1],
    }


def _performance(best: Score, arms: int) -> str:
    lead = f"The arm {best.name}"
    if arms > 1:
        lead = f"Of {arms} arms, {best.name} has the lowest AMLP, and is the one to predict by. It"
    return f"{lead} {_made(best)}."


def _made(one: Score) -> str:
    """Say how often a score is wrong."""
    low, high = one.error_interval
    first, last = one.amlp_interval
    range_of_amlp = f" ({first:.3f} to {last:.3f})" if last == last else ""  # not of one case
    wrong, of = int(one.wrong.sum()), len(one.wrong)
    return (
        f"is wrong in {wrong:,} of {of:,} test case{'s' * (of > 1)}: an error rate of "
        f"{100 * one.error:.1f} % (95 % interval {100 * low:.1f} % to {100 * high:.1f} %), with "
        f"an AMLP of {one.amlp:.3f}{range_of_amlp}"
    )


def _chosen(record: Record, chosen: np.ndarray | None) -> str:
    """Say what an arm predicts that is chosen inside the training cases of each fold."""
    if chosen is None or record.choice is None:
        return ""
    names = [one.name for one in record.scores] + ["the frequencies of the classes"]
    rows, counts = np.unique(chosen, return_counts=True)
    told = sorted(zip(counts.tolist(), rows.tolist(), strict=True), reverse=True)
    of = len(chosen)
    return (
        "The best of several arms on some cases is less good on others. So an arm was also chosen "
        "inside the training cases of each fold, without the cases that it then predicted: this "
        f"{_made(record.choice[0])}, and this is what to expect of new cases. What was chosen is "
        + ", ".join(f"{names[row]} in {count:,} of {of:,} folds" for count, row in told)
        + "."
    )


def _against(one: Score, base: Score, linear: Score | None) -> str:
    """Compare a score with the frequencies of the classes, and with a simple rival."""
    told = (
        f"Always predicting the frequencies of the classes gives an error rate of "
        f"{100 * base.error:.1f} % and an AMLP of {base.amlp:.3f}."
    )
    difference, error = one.less(base)
    clearly = difference < -2 * error
    fewer = one.error < base.error and metrics.mcnemar(one.wrong_cases, base.wrong_cases) < 0.05
    if one.amlp > base.amlp:
        told += " So these probabilities are worth less than the frequencies."
    elif not (clearly or fewer):
        told += " So it is not clearly better, and may have learnt nothing about the response."
    if linear is not None and linear is not one:
        name = linear.name.removeprefix("all features, ").replace(", L2", " (L2)")
        told += (
            f" The {name} has {100 * linear.error:.1f} % and {linear.amlp:.3f}; "
            f"{_compared(one, linear)}."
        )
    return told


def _compared(best: Score, rival: Score) -> str:
    difference, error = best.less(rival)
    if not abs(difference) > 2 * error:
        return (
            f"the AMLP differs by {abs(difference):.3f} ± {error:.3f}, so these cases cannot tell "
            "which is better"
        )
    which = "higher" if difference < 0 else "lower"
    return f"its AMLP is clearly {which}, by {abs(difference):.3f} ± {error:.3f}"


def _calibration(one: Score) -> str:
    """Say whether an arm keeps its promises."""
    told, meaning = {
        SURE: ("too sure", " Take its probabilities as less certain than they look."),
        CAREFUL: ("too careful", " It knows more than its probabilities admit."),
        WELL: ("nothing speaks against its probabilities", ""),
    }[one.verdict]
    made = counted(int(one.wrong.sum()), "error")
    return (
        f"Its predictions promised {one.risk.sum():.1f} errors and made {made}: {told} "
        f"({p_words(one.p_value)}).{meaning}"
    )


def p_words(p: float) -> str:
    """Return a p-value as a sentence has it."""
    return f"p {p_number(p)}" if p < 1e-4 else f"p = {p_number(p)}"


def p_number(p: float) -> str:
    """Return a p-value as a table has it."""
    return "< 0.0001" if p < 1e-4 else f"{p:.{4 if p < 0.01 else 3 if p < 0.1 else 2}f}"


def _explained(record: Record) -> str:
    """Return what the columns mean, without formulae."""
    tested, count = record.tested, record.n_classes
    many = "two" if count == 2 else f"{count}"
    text = (
        "A prediction of 80 % admits that it is wrong in one case of five. Added up over all test "
        "cases, this is the number of errors that an arm promises. An arm that makes many more is "
        "too sure of itself, and one that makes many fewer is too careful. p is the probability "
        "that predictions which keep their promises are off by so much or more by chance. An "
        f"arm is called too sure or too careful where p is below {BORDER:g}. "
    )
    if tested.repeat.max() > 0:
        text += "Cases are tested several times, so p is twice the median of the repetitions. "
    if tested.group is not None:
        text += (
            f"The cases are of {counted(tested.many, 'group')}, which are in one fold each; "
            "intervals take groups as independent, but p takes cases so. "
        )
    if "fold" in tested.division:
        text += "The cases of a cross-validation share training cases, so p is approximate. "
    text += (
        "AMLP, the average minus log probability of the actual class, also counts how sure an arm "
        f"was: lower is better, and guessing between {many} classes has {np.log(count):.3f}. "
        "Intervals are of 95 % (Wilson's for error rates, normal ones for AMLP). The base rate "
        "predicts each class by its frequency among the training cases."
    )
    return text + manner_words(record)


# ---- real responses ----


def _of_real_responses(record: Record) -> Table:
    y, found = record.tested.response, record.predictions
    rows: list[dict[str, Any]] = []
    promises, error = {}, "root mean squared error"
    for arm in record.arms:
        name = record.name(arm)
        median, low, high = (found[end][arm.row] for end in ("median", "low", "high"))
        square = (y - median) ** 2
        half = 1.96 * metrics.standard_error(record.tested.by_case(square))
        row = {
            "arm": name,
            f"{error}: mean": float(np.sqrt(square.mean())),
            f"{error}: low": float(np.sqrt(max(0, square.mean() - half))),
            f"{error}: high": float(np.sqrt(square.mean() + half)),
        }
        if np.isfinite(low).all():
            out = int(((y < low) | (y > high)).sum())
            p = metrics.errors_p_value(np.full(len(y), OUTSIDE), out)
            row |= {"outside 90 %: made": out, "outside 90 %: promised": OUTSIDE * len(y)}
            promises[name] = (out, p)
        rows.append(row)
    best = min(
        (row for row in rows if row["arm"] in promises), key=lambda row: row[f"{error}: mean"]
    )
    out, p = promises[best["arm"]]
    spread = float(np.sqrt(np.mean((y - record.base_rate[0]) ** 2)))
    verdict = "nothing speaks against its intervals"
    if p < BORDER:
        verdict = SURE if out > OUTSIDE * len(y) else CAREFUL
    mean, low, high = (best[f"{error}: {end}"] for end in ("mean", "low", "high"))
    lead = (
        question(record),
        f"Of our arms, {best['arm']} has the smallest error: its {error} is {mean:.4g} "
        f"(95 % interval {low:.4g} to {high:.4g}). Always predicting the mean of the "
        f"training cases gives {spread:.4g}" + (", which is better." if spread <= mean else "."),
        f"Its intervals of 90 % promised to miss {OUTSIDE * len(y):.1f} of {len(y):,} responses, "
        f"and missed {out:,}: {verdict} ({p_words(p)}).",
    )
    caption = (
        "Errors are those of the predictive median, in the units of the response; their intervals "
        "are normal ones over test cases. Of responses, one in ten should be outside its "
        "predictive interval of 90 %. An arm with many more is too sure of itself, and one with "
        "many fewer is too careful. p, above, is the probability that chance alone gives such a "
        "number."
    )
    return Table("summary", "Summary", pd.DataFrame(rows), caption, lead=lead)
