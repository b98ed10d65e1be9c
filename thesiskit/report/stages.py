"""An experiment in words: what the data are, what the stages did, which results are doubtful."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from thesiskit.defaults import LEAVE_OUT, RESIDUAL, TEMPERED, THESIS_GRID_POINTS
from thesiskit.errors import pluralise
from thesiskit.report import metrics
from thesiskit.report.layout import PageTable, caption, percent, prose
from thesiskit.report.metrics import headline as headline_of
from thesiskit.report.record import Record

Arrays = dict[str, np.ndarray]
AT_END = 0.1  # with a larger fraction of draws at an end, the grid of alpha should be wider
COUNTED = ("order", "groups", "patterns", "stopped")  # the groups themselves can be many
BIASING = ("D01", "D02", "D03")  # checks of duplicates, leaks and batches
MISSING = -1  # the code of a missing value
UNSUPPORTED = "WARNING: unreliable predictions, because chains have not converged, of"
COMPARED = {
    "logistic": "the log likelihood, of real responses the log noise, and ",
    "mixture": "log alpha, the log posterior, the agreement of labels with responses, and ",
}


def _range(values: np.ndarray) -> str:
    least, high = int(values.min()), int(values.max())
    return f"{least:,}" if least == high else f"{least:,} to {high:,}"


def _first(words: list[str], most: int, apart: str = ", ") -> str:
    """Return the first words of many."""
    return apart.join(words[:most]) + (f"{apart}..." if len(words) > most else "")


# ---- what the data are ----


def data_card(record: Record) -> list[PageTable]:
    """The data: samples, classes, features, missing values, division."""
    frame = pd.DataFrame(card(record), columns=["data", "value"])
    return [PageTable("data-card", "The data", frame, "Counts include training and test samples.")]


def card(record: Record) -> list[tuple[str, str]]:
    """Return the lines of the data card: a name and a value."""
    data = record.config["data"]
    source = f"drawn at random ({data['source']})" if record.config["drawn"] else data["source"]
    if record.config["own"]:
        test = data.get("test_path")
        source = data["path"] + (f", and {test} with the test samples" if test else "")
    arrays = record.results.load("simulate", 0, None if record.logistic else ("response", "fold"))
    y = arrays["response"] if record.logistic else arrays["response"][0]
    rows = [("source", source), ("samples", f"{len(y):,}")]
    if record.continuous:
        spread = f"mean {y.mean():.4g}, standard deviation {y.std():.4g}"
        rows.append(("response", f"from {y.min():.4g} to {y.max():.4g}, {spread}"))
    else:
        names = [record.class_words(k) for k in range(record.n_classes)]
        rows.append(("classes", _balance(y.astype(np.int64), names)))
    if not record.logistic:
        fold = arrays["fold"][0]
        folds, train = len(np.unique(fold)), int((fold < 0).sum())
        n = int(record.simulated.get("columns", (0,) * 5)[3]) if record.real else 0
        note = f", of which {n:,} constant and dropped"
        width = f"{record.width:,}{note if n else ''}"
        rows.append(("features", width + prose("pre_filtered", x=record.config["selection"])))
        rows += _columns(record)
        return [*rows, ("division", _divided(record, folds, train, len(y) - train))]
    if "histories" in arrays:
        states = arrays["states"].tolist()
        rows.append(("history", f"{arrays['histories'].shape[1]} states before each response"))
        rows.append(("states", f"{len(states)}: {', '.join(states[:20])}"))
    else:
        counts, missing = arrays["n_values"], int((arrays["cases"] == MISSING).sum())
        more = f"{missing:,}; a pattern that fixes such a feature is absent from the sample"
        rows.append(("features", f"{len(counts):,}, of {_range(counts)} values each"))
        rows.append(("missing values", more if missing else "none"))
    train = int(arrays["train_cases"])
    return [*rows, ("division", _divided(record, record.folds, train, len(y) - train))]


def _balance(response: np.ndarray, classes: list[str]) -> str:
    counts = np.bincount(response, minlength=len(classes))
    shares = [
        f"{classes[k]} {counts[k]:,} ({percent(counts[k] / counts.sum())})"
        for k in np.argsort(-counts, kind="stable")[:12]
    ]
    return ", ".join(shares) + (f" and {len(classes) - 12:,} more" if len(classes) > 12 else "")


def _columns(record: Record) -> list[tuple[str, str]]:
    """Return how many values are missing, and what columns of a table that is read became."""
    if "columns" not in record.simulated:
        return []
    names = ("bits", "pairs", "reals", "constant", "missing")
    counts = dict(zip(names, record.simulated["columns"].tolist(), strict=True))
    binarise, kind = record.config["data"].get("binarise"), "binary"
    if record.real or record.candidates is not None:
        kind = "patterns" if record.candidates is not None else "real"
    missing = counts.pop("missing")
    words = prose("columns", of_all=binarise == "all-medians", kind=kind, **counts).strip("; ")
    title = "made binary" if kind == "binary" else "values"
    return [("missing values", f"{missing:,}" if missing else "none"), (title, words or "none")]


def _divided(record: Record, folds: int, train: int, tests: int) -> str:
    """Return how many samples train, and how those that are tested were chosen."""
    names = ("logistic", "continuous", "folded")
    about = {name: getattr(record, name) for name in names} | {"config": record.config}
    return prose("divided", folds=folds, train=train, tests=tests, **about)


def notes(record: Record, *, fitted: bool = True) -> list[str]:
    """Return what the user should know about the data, and of models that are fitted."""
    if record.config["data"] is None:
        return []
    if not record.logistic:
        return [str(note) for note in record.simulated.get("notes", ())]
    sentences = record.results.load("simulate", 0, ("notes",))["notes"].tolist()
    if not (fitted and record.own):
        return sentences
    return sentences + separation_note(map(record.name, record.own), record.worst["separated"])


def separation_note(names: Iterable[str], separated: np.ndarray) -> list[str]:
    """Say what it means that a draw of some models separates the classes completely."""
    apart = [name for name, is_so in zip(names, separated, strict=True) if is_so]
    if not apart:
        return []
    return [
        "patterns separate the classes of all training samples completely "
        f"({_first(apart, 4, '; ')}): the prior determines the coefficients there, so do not "
        "interpret them; predictions remain valid"
    ]


# ---- what the stages did ----


def headline(record: Record) -> list[str]:
    """Return lines with the scores of the methods, the best ones where there are many."""
    return headline_of(record.scores, *([record.choice[0]] if record.choice else []))


def summary(record: Record, stage: str) -> str:
    """Say in a line what the files of a stage show; of some stages, those of the first block."""
    if record.config["reduction"]:
        settings = len(record.results.load("compress", 0, ("sweep",))["sweep"])
        return f"patterns and groups of {settings} settings, by two algorithms"
    if record.config["data"] is None:
        return "the lattice of counts"
    say = {
        "simulate": _samples_of_patterns if record.logistic else _samples_of_features,
        "select": _selected,
        "compress": _compressed,
        "fit": _chains if record.logistic else _fitted,
        "predict": _predicted,
    }[stage]
    arrays = record.results.load(stage, 0, COUNTED if stage == "compress" else None)
    text = say(record, arrays)
    if record.n_blocks == 1 or (not record.logistic and (stage == "simulate" or "rhat" in arrays)):
        return text
    return f"of the first division: {text}" if record.logistic else f"{text} in the first block"


def _samples_of_features(record: Record, arrays: Arrays) -> str:
    fold, p = arrays["fold"][0], arrays["group"].shape[1]
    samples, division = f"{len(fold):,} samples", ""
    if (fold < 0).any():
        n_tests = (fold >= 0).sum()
        tests = f" and {n_tests:,} test" if n_tests else ""
        samples = f"{(fold < 0).sum():,} training{tests} samples"
    elif record.config["scheme"] in ("k-fold", LEAVE_OUT):
        division = f"; {len(np.unique(fold)):,}-fold cross-validation"
    groups, replicates = record.config["evaluation"]["groups"], record.config["replicates"]
    text = f"{samples}, {p:,} features" + (f" in {groups} groups" if groups > 1 else "") + division
    return f"{replicates:,} x {text}" if replicates > 1 else text


def _samples_of_patterns(record: Record, arrays: Arrays) -> str:
    y, train = arrays["response"], int(arrays["train_cases"])
    if "states" in arrays:
        states = _first(arrays["states"].tolist(), 9)
        inputs = f"histories of {arrays['histories'].shape[1]} states ({states})"
    else:
        values = np.array([str(symbols).count("\t") + 1 for symbols in arrays["values"]])
        inputs = f"{len(values)} features of {_range(values)} values"
    responses = f"{len(arrays['classes'])} classes"
    if record.continuous:
        responses = f"response from {y.min():.4g} to {y.max():.4g}"
    return f"{train:,} training and {len(y) - train:,} test samples, {inputs}, {responses}"


def _selected(record: Record, arrays: Arrays) -> str:
    labels = arrays["label"].tolist()
    gamma = metrics.gammas(arrays).reshape(-1, len(labels)).mean(axis=0)
    n_selected, p = (arrays[name].reshape(-1, len(labels))[0] for name in ("kept", "n_features"))
    parts = [
        f"{label} (gamma {g:.2f})" if k < of else f"{label} (no correction needed)"
        for label, g, k, of in zip(labels, gamma, n_selected, p, strict=True)
    ]
    of_all = f" of {p[0]:,} {record.unit}s" if len(set(p)) == 1 else ""
    return f"selected {', '.join(parts)}{of_all}"


def _compressed(_record: Record, arrays: Arrays) -> str:
    last, stopped = int(np.argmax(arrays["order"])), int(arrays["stopped"])
    order, groups, patterns = (int(arrays[name][last]) for name in COUNTED[:3])
    growth = f"; no new groups beyond order {stopped}" if stopped < order else ""
    return (
        f"order {order}: {groups:,} groups of {patterns:,} patterns "
        f"(ratio {groups / patterns:.3f}){growth}"
    )


def _fitted(record: Record, arrays: Arrays) -> str:
    if "rhat" in arrays:
        return _sampled(record, _short_names(record, arrays))
    if "promised" in arrays:  # no sample is tested
        errors = zip(map(record.name, record.own), arrays["promised"].mean(axis=0), strict=True)
        return f"predicted error {_first([f'{value:.3f} ({name})' for name, value in errors], 4)}"
    n_fits, n_methods = len(arrays["seconds"]), len(arrays["label"])
    return f"{pluralise(n_fits, 'fit')} of {pluralise(n_methods, 'method')}"


def _sampled(record: Record, names: list[str]) -> str:
    rhat, ess, reliable = (record.fit_arrays[name] for name in ("rhat", "ess", "reliable"))
    parts, doubtful = [], []
    for j, name in enumerate(names):
        if np.isnan(rhat[:, j]).all():  # nothing was sampled
            continue
        parts.append(f"{name} {np.nanmax(rhat[:, j]):.2f} ({np.nanmin(ess[:, j]):.0f})")
        bad = int((reliable[:, j] == 0).sum())
        if bad:
            doubtful.append(name + (f" ({bad:,} of {len(rhat):,} fits)" if len(rhat) > 1 else ""))
    text = f"largest R-hat (and fewest effective draws) {_first(parts, 4)}"
    text = text if parts else "enumerated"
    if record.config["model"]["until"]:
        text += "; " + _how_long(record.fit_arrays)
    if doubtful:
        text += f"; {UNSUPPORTED} {_first(doubtful, 4)}: more iterations are needed"
    return text


def _chains(record: Record, arrays: Arrays) -> str:
    rhat, ess, model = arrays["rhat"][:, 0], arrays["ess"][:, 0], record.config["model"]
    names = arrays["name"].tolist()
    bad = [name for name, well in zip(names, arrays["reliable"], strict=True) if not well]
    text = (
        f"{pluralise(len(names), 'fit')}, R-hat of the log likelihood up to {np.nanmax(rhat):.2f}, "
        f"effective draws from {np.nanmin(ess):.0f}"
    )
    if model["until"] is not None:
        text += "; " + _how_long(arrays)
    if bad:
        more = f"try --set model.iterations={4 * model['iterations']}"
        text += f"; {UNSUPPORTED} {_first(bad, 4)}; {more}"
    return "; ".join([text, *separation_note(names, arrays["separated"])])


def _predicted(record: Record, arrays: Arrays) -> str:
    if record.continuous:
        words, scores = "negative log density", (-arrays["log_density"].mean(axis=1)).tolist()
    else:
        words, y = "log loss", arrays["response"].astype(np.int64)
        predicted = arrays["probability"]  # some take two classes, and there are more
        scores = [metrics.log_loss(p, y) for p in predicted if not np.isnan(p).all()]
    return f"{pluralise(len(scores), 'method')}, lowest {words} {min(scores):.3g}"


def _short_names(record: Record, arrays: Arrays) -> list[str]:
    model = record.config["model"]
    has_variants = len(model.get("samplers" if record.mixture else "quadrature", ())) > 1
    names = ("label", "method", "variant", "relevant", "temperature")
    return [
        f"{label} {method}"
        + (f" {variant}" if has_variants else "")
        + (" some" if relevant == "some" else "")
        + (f" {TEMPERED}" if temperature == RESIDUAL else "")
        for label, method, variant, relevant, temperature in zip(
            *(arrays[name] for name in names), strict=True
        )
    ]


# ---- how long chains ran, and whether they support what is predicted ----


def reached_table(record: Record) -> list[PageTable]:
    """How long the chains of each method ran, and how well they agreed when they ended."""
    model = record.config["model"]
    limit = (model if record.logistic else model["collapsed"])["iterations"]
    rows = [
        {name: value for name, value in record.keys(method).items() if name != record.variant_name}
        | {
            "iterations": _range(chains["iterations"]),
            "largest R-hat": chains["judged_rhat"].max(),
            "fewest effective draws": np.rint(chains["judged_ess"].min()),
            "furthest from the targets": chains["worst"][chains["lack"].argmax()],
            "enough": enough(chains["reached"] == 1),
        }
        for method, chains in record.reached()
    ]
    return [
        PageTable(
            "reached",
            "Convergence of the chains",
            pd.DataFrame(rows),
            caption("reached", limit=limit, compared=COMPARED[model["kind"]], **model["until"]),
            long=len(rows) > 25,
        )
    ]


def enough(well: np.ndarray) -> str:
    """Say how many of some fits (D,) are well; of one fit, whether it is."""
    if len(well) == 1:
        return "yes" if well[0] else "NO"
    return f"{int(well.sum()):,} of {len(well):,}"


def _how_long(arrays: Arrays) -> str:
    """Say in a few words how long chains ran, and how many fits reached the limit."""
    reached, ran = (arrays[name][np.isfinite(arrays[name])] for name in ("reached", "iterations"))
    text, short = f"the chains ran for {_range(ran)} iterations", int((reached != 1).sum())
    if short:
        fits = "they" if short == len(reached) else f"those of {short:,} of {len(reached):,} fits"
        return f"{text}, and {fits} reached the iteration limit before converging"
    return f"{text} until they converged"


def warnings(record: Record) -> list[str]:
    """Return sentences about results that are not reliable, shown at the top of the page."""
    if record.config["reduction"] and not (agree := record.reduction["same"]).all():
        return [
            f"The thesis's algorithm and ours find different groups in {(~agree).sum():,} of "
            f"{agree.size:,} data sets: one of the two is wrong."
        ]
    if record.config["data"] is None:
        return []
    biased = record.checks.query("result == 'warning' and check in @BIASING")
    sentences = (biased["about"] + " (" + biased["check"] + "): " + biased["finding"]).tolist()
    return sentences + (_about_divisions(record) if record.logistic else _about_samplers(record))


def _about_samplers(record: Record) -> list[str]:
    doubtful: dict[str, list[str]] = {}
    at_end: dict[str, list[str]] = {}
    for j, method in record.sampled:
        name, fits = f"{method.label} {method.words}", record.fit_arrays
        bad, of = int((fits["reliable"][:, j] == 0).sum()), len(fits["reliable"])
        if bad:
            count = f"{bad:,} of {of:,} fits, " if of > 1 else ""
            rhat, ess = np.nanmax(fits["rhat"][:, j]), np.nanmin(fits["ess"][:, j])
            doubtful.setdefault(method.variant, []).append(
                f"{name} ({count}R-hat up to {rhat:.2f}, effective draws down to {ess:.0f})"
            )
        end = np.nanmax(fits["at_end"][:, j].mean(axis=0))
        points = THESIS_GRID_POINTS
        if method.variant == "collapsed":
            points = record.config["model"]["collapsed"]["alpha_points"]
        by_prior = 1 / points  # the prior probability of each end
        if end > max(AT_END, 2 * by_prior):
            at_end.setdefault(method.variant, []).append(f"{name} ({end:.0%} of the draws)")
    return [
        f"{variant} sampler: predictions are unreliable, because chains have not converged, with "
        f"{'; '.join(names)}. More iterations are needed."
        for variant, names in doubtful.items()
    ] + [
        f"{variant} sampler: alpha is often at an end of its grid with {'; '.join(names)}. The "
        "grid should be widened: more alpha_points, or another alpha_prior."
        for variant, names in at_end.items()
    ]


def _about_divisions(record: Record) -> list[str]:
    """Return what is doubtful about chains of chapter 3."""
    if not record.own:
        return []
    worst, model, doubtful = record.worst, record.config["model"], []
    rhat, ess, criterion = worst["rhat"][:, 0], worst["ess"][:, 0], ", judged by the log likelihood"
    if model["until"] is not None:
        rhat, ess = (record.fit_arrays[f"judged_{name}"] for name in ("rhat", "ess"))
        rhat, ess = rhat.max(axis=0), ess.min(axis=0)
        criterion = ""
    for j in np.flatnonzero(~record.reliable):
        bad = round((1 - worst["reliable"][j]) * record.n_blocks)
        count = f"{bad:,} of {record.n_blocks:,} divisions, " if record.n_blocks > 1 else ""
        about = f"{count}R-hat {rhat[j]:.2f}, effective draws {ess[j]:.0f}"
        doubtful.append(f"{record.name(record.own[j])} ({about})")
    sentences = []
    if doubtful:
        sentences.append(
            "Predictions are unreliable, because chains have not converged, of "
            f"{_first(doubtful, 3, '; ')} ({len(doubtful)} of {len(record.own)} "
            f"models{criterion}). More iterations are needed: "
            f"--set model.iterations={4 * model['iterations']} continues the stored chains."
        )
    return sentences


def prediction_table(record: Record) -> PageTable:
    """Return a row for each test sample and method."""
    tested = record.tested
    response = np.array(tested.classes)[tested.response] if tested.classes else tested.response
    about = {"id": tested.ids, **tested.division, "response": response}
    order = np.argsort(tested.unit, kind="stable")  # in the order of the table
    frames = [
        pd.DataFrame(about | score.keys | score.columns).iloc[order] for score in record.scores
    ]
    frame = pd.concat(frames, ignore_index=True).dropna(axis="columns", how="all")
    caption = prose("predictions", real=record.continuous)
    return PageTable("predictions", "All predictions", frame, caption, long=True)
