"""An experiment in words: what is asked, what the data are, what was done, what is doubtful."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from thesiskit.defaults import RESIDUAL, TEMPERED, THESIS_GRID_POINTS
from thesiskit.errors import shorten
from thesiskit.models.peers import method_words
from thesiskit.report import metrics
from thesiskit.report.layout import PageTable
from thesiskit.report.metrics import MOST_LINES, aligned
from thesiskit.report.metrics import headline as headline_of
from thesiskit.report.record import Record

Arrays = dict[str, np.ndarray]
FITTED_TO = "to cases that are imitated with the residuals of the training cases"
TRANSFORMED = {  # by the key of a config
    "log": " Methods called 'log' take log2 of the features, of counts log2 of counts per million; "
    "means and effects are those of transformed values.",
    "normal-scores": " Methods called 'normal-scores' take normal quantiles of ranks among the "
    "training samples; means and effects are those of transformed values.",
}
MOST_PREDICTED = 30  # rows of predictions on the page
MOST_NAMED = 6  # classes of a question
AT_END = 0.1  # with a larger fraction of draws at an end, the grid of alpha should be wider
COUNTED = ("order", "groups", "patterns", "stopped")  # the groups themselves can be many
MISSING = -1  # the code of a missing value
UNSUPPORTED = "WARNING: the chains do not support the predictions of"
COMPARED = {
    "logistic": "the log likelihood, of real responses the log noise, and ",
    "mixture": "log alpha, the log posterior, the agreement of labels with responses, and ",
}


def listed(words: list[str], last: str = "and") -> str:
    """Return words as a sentence lists them."""
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _range(values: np.ndarray) -> str:
    least, high = int(values.min()), int(values.max())
    return f"{least:,}" if least == high else f"{least:,} to {high:,}"


def _first(words: list[str], most: int, apart: str = ", ") -> str:
    """Return the first words of many."""
    return apart.join(words[:most]) + (f"{apart}..." if len(words) > most else "")


# ---- what is asked ----


def question(record: Record) -> str:
    """Say what is predicted from what, and by which arms."""
    text = _asked_of_patterns(record) if record.logistic else _asked_of_features(record)
    peers = dict.fromkeys(
        method_words(arm.method or arm.engine)
        for arm in record.arms_with_predictions
        if not arm.own
    )
    return text + (f" Other models stand beside these: {listed([*peers])}." if peers else "")


def _asked_of_features(record: Record) -> str:
    config, classes = record.config, [record.class_words(y) for y in range(record.n_classes)]
    text = f"Is a case {classes[1]} or {classes[0]}"
    if len(classes) > 2:
        class_names = [shorten(name) for name in classes[:MOST_NAMED]]
        more = len(classes) - len(class_names)
        class_names += [f"one of {more} more"] if more else []
        text = f"To which class does a case belong: {listed(class_names, 'or')}"
    column = config["data"].get("response") if config["own"] else None
    text += f" (the column {column} of {config['data']['path']})?" if column else "?"
    selection, of, how = config["selection"], f"{record.used:,} features", ""
    if record.candidates is not None:
        of, how = record.candidates.load("question")(record, of)
    if selection["features"]:
        sizes = [f"{size:,}" for size in selection["features"] if size != "all"]
        basis = f"all {of}"
        if sizes:
            basis = f"the {listed(sizes)} of {of} that correlate best with it in "
            basis += "training cases" + (", and from all" if "all" in selection["features"] else "")
    else:
        limits = listed([f"{limit:g}" for limit in selection["thresholds"]])
        basis = f"those of {of} whose correlation with it exceeds {limits} in training cases"
    model = config.get("model_words", "the model")  # results of before do not say
    corrected = {"corrected": "with", "uncorrected": "without"}
    methods = config["model"]["methods"]
    corrections = " and ".join(corrected[name] for name in corrected if name in methods)
    return (
        f"{text} This is predicted from {basis}{how}, by {model} {corrections} the correction for "
        "this selection."
    )


def _asked_of_patterns(record: Record) -> str:
    config, classes, data = record.config, record.classes, record.results.load("simulate", 0)
    class_list = f"{len(classes)} classes ({', '.join(classes[:MOST_NAMED])}, ...)"
    class_list = listed(classes, "or") if 0 < len(classes) <= MOST_NAMED else class_list
    orders = listed([f"{order:,}" for order in record.orders], "or")
    if config["data"].get("predict") == "label":
        text = f"Is a sequence {class_list}, judged by its last letters?"
        patterns = f"patterns of its last {orders} letters"
    elif "histories" in data:
        text = f"Which of {class_list} comes after {data['histories'].shape[1]} states?"
        patterns = f"patterns of the {orders} most recent states"
    else:
        column = f" of {config['data']['path']}" if config["own"] else ""
        name = config["data"].get("response", "the response")
        start = "How large" if record.continuous else f"Which of {class_list}"
        text = f"{start} is {name}{column}, by the values of {len(data['features']):,} features?"
        patterns = f"the values of up to {orders} features together"
    priors = listed([prior.capitalize() for prior in config["model"]["priors"]])
    kind = "linear" if record.continuous else "logistic"
    return (
        f"{text} This is predicted by {kind} models with a coefficient for {patterns}, "
        f"and {priors} priors."
    )


def manner_words(record: Record) -> str:
    """Say what `some relevant`, `residual-tempered` and transforms mean, if there are any."""
    text, relevant = "", {arm.relevant for arm in record.arms if arm.own}
    if "some" in relevant:
        text += (
            f" With 'some relevant', each {record.unit} differs between the classes with a "
            "probability that is estimated"
        )
        text += f"; in the other arms of ours all {record.unit}s do." if "all" in relevant else "."
    if any(arm.tempered for arm in record.arms):
        text += (
            f" A '{TEMPERED}' arm divides its log odds by a number of at least 1, the temperature, "
            f"which is fitted {FITTED_TO}."
        )
    for transform in (record.config["data"] or {}).get("transform", ()):
        text += TRANSFORMED.get(transform, "")
    return text


# ---- what the data are ----


def data_card(record: Record) -> list[PageTable]:
    """What is known about the data, a line each."""
    frame = pd.DataFrame(card(record), columns=["what", "here"])
    caption = "Counts are of all cases, training and test cases."
    return [PageTable("data-card", "The data", frame, caption)]


def card(record: Record) -> list[tuple[str, str]]:
    """Return what there is to say about the data: what, and the words."""
    data = record.config["data"]
    source = f"drawn at random ({data['source']})" if record.config["drawn"] else data["source"]
    if record.config["own"]:
        test = data.get("test_path")
        source = data["path"] + (f", and {test} with the test cases" if test else "")
    arrays = record.results.load("simulate", 0, None if record.logistic else ("response", "fold"))
    y = arrays["response"] if record.logistic else arrays["response"][0].astype(np.int64)
    rows = [("source", source), ("cases", f"{len(y):,}")]
    if record.continuous:
        spread = f"mean {y.mean():.4g}, standard deviation {y.std():.4g}"
        rows.append(("response", f"from {y.min():.4g} to {y.max():.4g}, {spread}"))
    else:
        names = [record.class_words(k) for k in range(record.n_classes)]
        rows.append(("classes", _balance(y, names)))
    if not record.logistic:
        fold = arrays["fold"][0]
        folds, train = len(np.unique(fold)), int((fold < 0).sum())
        n = record.width - record.used  # constant ones
        note = f", of which {n:,} with one value only {'is' if n == 1 else 'are'} left out"
        width = f"{record.width:,}{note if n else ''}"
        rows.append(("features", f"{width}{_screened(record.config['selection'])}"))
        rows += _columns(record)
        return [*rows, ("divided", _divided(record, folds, train, len(y) - train))]
    if "histories" in arrays:
        states = arrays["states"].tolist()
        rows.append(("history", f"{arrays['histories'].shape[1]} states before each response"))
        rows.append(("states", f"{len(states)}: {', '.join(states[:20])}"))
    else:
        counts, missing = arrays["n_values"], int((arrays["cases"] == MISSING).sum())
        more = f"{missing:,}; no pattern that fixes such a feature is present in the case"
        rows.append(("features", f"{len(counts):,}, of {_range(counts)} values each"))
        rows.append(("missing values", more if missing else "none"))
    train = int(arrays["train_cases"])
    return [*rows, ("divided", _divided(record, record.folds, train, len(y) - train))]


def _balance(response: np.ndarray, classes: list[str]) -> str:
    counts = np.bincount(response, minlength=len(classes))
    shares = [
        f"{classes[k]} {counts[k]:,} ({100 * counts[k] / counts.sum():.0f} %)"
        for k in np.argsort(-counts, kind="stable")[:12]
    ]
    return ", ".join(shares) + (f" and {len(classes) - 12:,} more" if len(classes) > 12 else "")


def _screened(selection: dict) -> str:
    """Say how the table was screened before; nothing if it was not."""
    screened = selection["screened"]
    if screened is None:
        return ""
    of = listed([f"{count:,}" for count in screened["of"]], "or")
    criterion = "the best ones"
    if screened["threshold"] is not None:
        criterion = f"those with an absolute correlation above {screened['threshold']:g}"
    if screened.get("f") is not None:
        criterion = f"those with an F statistic above {screened['f']:g}"
    return f", {criterion} of {of}"


def _columns(record: Record) -> list[tuple[str, str]]:
    """Say how many values are missing, and what columns of a table that is read became."""
    if "columns" not in record.simulated:
        return []
    bits, pairs, reals, constant, missing = record.simulated["columns"].tolist()
    of = "each training set"
    if record.config["data"].get("binarise") == "all-medians":
        of = "all cases"
    kinds = [
        (reals, f"cut at the median of {of} (1 is above it)"),
        (pairs, "with two values (1 is the larger one)"),
        (bits, "already 0 and 1"),
        (constant, "with one value only, which say nothing"),
    ]
    if record.real:
        kinds = [
            (reals, "real, taken as they are"),
            (pairs + bits, "with two values, taken as real ones"),
            (constant, "with one value only, which are left out"),
        ]
    if record.candidates is not None:
        kinds = [(reals, "with more than two values"), (bits, "with two"), kinds[-1]]
    words = "; ".join(f"{count:,} {kind}" for count, kind in kinds if count) or "none"
    title = "values" if record.real or record.candidates else "made binary"
    return [("missing values", f"{missing:,}" if missing else "none"), (title, words)]


def _divided(record: Record, folds: int, train: int, tests: int) -> str:
    """Say how many cases train, and how those that are tested were chosen."""
    config, division = record.config, "drawn at random in each class"
    repeats = "data sets" if config["drawn"] else "random divisions"
    test_words = f"{tests:,} test cases of their own"
    if record.logistic:
        spread = "" if record.continuous else "each class spread evenly and "
        division = f"with {spread}equal rows in one fold"
        repeats = "divisions" if record.folded else "data sets"
        test_words = f"the {tests:,} after them are tested"
    text = {
        "test-set": f"{train:,} training cases, and {test_words}",
        "holdout": f"{tests:,} of the cases, drawn at random in each class, are tested, and the "
        "others train",
        "none": "all cases train",
        "leave-one-out": "each case is predicted from all others",
        "k-fold": f"{folds} folds, {division}; the cases of a fold are predicted from those of the "
        "others",
    }[config["scheme"]]
    if config["replicates"] > 1:
        text += f"; {config['replicates']:,} such {repeats}"
    groups = config["evaluation"]["groups"]
    if groups > 1:
        text += f"; the features are divided at random into {groups} groups, analysed one by one"
    return text


def divided_words(record: Record) -> str:
    """Return the phrase of captions that says how cases were divided, and what the seconds are."""
    if not record.folded:
        return ", processor seconds to fit and to predict"
    return (
        f"; {record.folds}-fold cross-validation, equal rows in one fold; processor seconds to fit "
        "and to predict in a fold"
    )


def notes(record: Record, *, fitted: bool = True) -> list[str]:
    """Return what the user should know about the data, and of models that are fitted."""
    if record.config["data"] is None:
        return []
    if not record.logistic:
        return [str(note) for note in record.simulated.get("notes", ())]
    sentences = record.results.load("simulate", 0, ("notes",))["notes"].tolist()
    if not fitted:
        return sentences
    return sentences + separation_note(map(record.name, record.own), record.worst["separated"])


def separation_note(names: Iterable[str], separated: np.ndarray) -> list[str]:
    """Say what it means that a draw of some models separates the classes completely."""
    apart = [name for name, is_so in zip(names, separated, strict=True) if is_so]
    if not apart:
        return []
    return [
        f"patterns separate the classes of all training cases completely ({_first(apart, 4, '; ')})"
        ": only the prior bounds the coefficients there, and their sizes mean little; predictions "
        "keep their meaning"
    ]


# ---- what the stages did ----


def headline(record: Record) -> list[str]:
    """Return lines with the scores of the arms, the best ones where there are many."""
    if record.continuous:
        errors = zip(record.arms, record.mean_losses, strict=True)
        rows = [(record.name(arm), f"{error:.4g}") for arm, error in errors]
        best = sorted(rows, key=lambda row: float(row[1]))[:MOST_LINES]
        return aligned(["", "root mean squared error"], best)
    return headline_of(record.scores, *([record.choice[0]] if record.choice else []))


def summary(record: Record, stage: str) -> str:
    """Say in a line what the files of a stage show; of some stages, those of the first block."""
    if record.config["reduction"]:
        settings = len(record.results.load("compress", 0, ("sweep",))["sweep"])
        return f"patterns and groups of {settings} settings, by two algorithms"
    if record.config["data"] is None:
        return "the lattice of counts"
    say = {
        "simulate": _cases_of_patterns if record.logistic else _cases_of_features,
        "select": _selected,
        "compress": _compressed,
        "fit": _chains if record.logistic else _fitted,
        "predict": _losses if record.logistic else _rates,
    }[stage]
    arrays = record.results.load(stage, 0, COUNTED if stage == "compress" else None)
    text = say(record, arrays)
    if record.n_blocks == 1 or (not record.logistic and (stage == "simulate" or "rhat" in arrays)):
        return text
    return f"of the first division: {text}" if record.logistic else f"{text} in the first block"


def _cases_of_features(record: Record, arrays: Arrays) -> str:
    fold, p = arrays["fold"][0], arrays["group"].shape[1]
    cases = f"{len(fold):,} cases in {len(np.unique(fold[fold >= 0])):,} folds"
    if (fold < 0).any():
        cases = f"{(fold < 0).sum():,} training and {(fold >= 0).sum():,} test cases"
    groups, replicates = record.config["evaluation"]["groups"], record.config["replicates"]
    text = f"{p:,} features" + (f" in {groups} groups" if groups > 1 else "") + f", {cases}"
    return f"{replicates:,} x {text}" if replicates > 1 else text


def _cases_of_patterns(record: Record, arrays: Arrays) -> str:
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
    return f"{train:,} training and {len(y) - train:,} test cases, {inputs}, {responses}"


def _selected(record: Record, arrays: Arrays) -> str:
    labels = arrays["label"].tolist()
    gamma = metrics.gammas(arrays).reshape(-1, len(labels)).mean(axis=0)
    n_selected, p = (arrays[name].reshape(-1, len(labels))[0] for name in ("kept", "n_features"))
    parts = [
        f"{label} (gamma {g:.2f})" if k < of else f"{label} (nothing to correct)"
        for label, g, k, of in zip(labels, gamma, n_selected, p, strict=True)
    ]
    of_all = f" of {p[0]:,} {record.unit}s" if len(set(p)) == 1 else ""
    return f"kept {', '.join(parts)}{of_all}"


def _compressed(_record: Record, arrays: Arrays) -> str:
    last, stopped = int(np.argmax(arrays["order"])), int(arrays["stopped"])
    order, groups, patterns = (int(arrays[name][last]) for name in COUNTED[:3])
    growth = f"; no new groups beyond order {stopped}" if stopped < order else ""
    return (
        f"order {order}: {groups:,} groups of {patterns:,} patterns "
        f"(ratio {groups / patterns:.3f}){growth}"
    )


def _fitted(record: Record, arrays: Arrays) -> str:
    names = _short_names(record, arrays)
    if "rhat" in arrays:
        return _sampled(record, names)
    if "promised" in arrays:  # no case is tested
        errors = zip(names, arrays["promised"].mean(axis=0), strict=True)
        return f"predicted error {_first([f'{name} {value:.3f}' for name, value in errors], 4)}"
    if "ratio" in arrays:
        log_ratio = np.log(arrays["ratio"])
        weight = np.exp(arrays["log_joint"].astype(float)).sum(axis=(2, 4))  # (splits, arms, R)
        mean, word = (weight @ log_ratio / weight.sum(axis=2)).mean(axis=0), "rho"
    elif "log_posterior" in arrays:
        posterior = np.exp(arrays["log_posterior"])
        mean, word = (posterior * np.log(arrays["alpha"])).sum(axis=2).mean(axis=0), "alpha"
    else:  # a model of one's own
        return f"{len(arrays['tau']):,} fits of {', '.join(names)}"
    # a temperature changes no posterior
    plain = arrays["temperature"] == arrays["temperature"][0]
    means = [f"{names[j]} {mean[j]:.2f}" for j in np.flatnonzero(plain)]
    return f"mean log {word} {_first(means, 4)}"


def _sampled(record: Record, names: list[str]) -> str:
    rhat, ess, reliable = (record.fits[name] for name in ("rhat", "ess", "reliable"))
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
        text += "; " + _how_long(record.fits)
    if doubtful:
        text += f"; {UNSUPPORTED} {_first(doubtful, 4)}: more iterations are needed"
    return text


def _chains(record: Record, arrays: Arrays) -> str:
    rhat, ess, model = arrays["rhat"][:, 0], arrays["ess"][:, 0], record.config["model"]
    names = arrays["name"].tolist()
    bad = [name for name, well in zip(names, arrays["reliable"], strict=True) if not well]
    text = (
        f"{len(names)} fits, R-hat of the log likelihood up to {np.nanmax(rhat):.2f}, "
        f"effective draws from {np.nanmin(ess):.0f}"
    )
    if model["until"] is not None:
        text += "; " + _how_long(arrays)
    if bad:
        more = f"try --set model.iterations={4 * model['iterations']}"
        text += f"; {UNSUPPORTED} {_first(bad, 4)}; {more}"
    return "; ".join([text, *separation_note(names, arrays["separated"])])


def _rates(record: Record, arrays: Arrays) -> str:
    rates = [
        f"{name} {metrics.error_rate(p, arrays['response']):.3f} ({metrics.expected_error(p):.3f})"
        for name, p in zip(_short_names(record, arrays), arrays["probability"], strict=True)
        if not np.isnan(p).all()  # it takes two classes, and there are more
    ]
    return f"error rate (and expected) {_first(rates, 4)}"


def _losses(record: Record, arrays: Arrays) -> str:
    words = "root mean squared error" if record.continuous else "AMLP"
    score = metrics.root_mean_square if record.continuous else metrics.amlp
    scores = [
        (score(predicted, arrays["response"]), str(name))
        for predicted, name in zip(arrays[record.predicted[0]], arrays["name"], strict=True)
    ]
    return f"lowest {words} " + ", ".join(f"{name} {x:.4g}" for x, name in sorted(scores)[:3])


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
    """How long the chains of each arm ran, and how well they agreed when they ended."""
    model = record.config["model"]
    until = model["until"]
    limit = (model if record.logistic else model["collapsed"])["iterations"]
    rows = [
        {name: value for name, value in record.keys(arm).items() if name != record.variant_name}
        | {
            "iterations": _range(chains["iterations"]),
            "largest R-hat": chains["judged_rhat"].max(),
            "fewest effective draws": np.rint(chains["judged_ess"].min()),
            "furthest from the targets": str(chains["worst"][chains["lack"].argmax()]),
            "enough": enough(chains["reached"] == 1),
        }
        for arm, chains in record.reached()
    ]
    return [
        PageTable(
            "reached",
            "What the chains had reached when they ended",
            pd.DataFrame(rows),
            "Chains end when all that is compared has an R-hat of at most "
            f"{until['rhat']:g} and at least {until['ess']:g} effective draws, all chains "
            f"together, or after {limit:,} iterations. They are compared after 200, 300, "
            f"450, ... iterations, each half as many again; the first half of them does "
            f"not count. Compared are {COMPARED[model['kind']]}the predictions for up to 20 cases. "
            "The fifth column names the quantity that lacks most, in the fit that lacks most.",
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
        return f"{text}, and {fits} ended at the limit, not at the targets of model.until"
    return f"{text} until they agreed"


def warnings(record: Record) -> list[str]:
    """Return sentences about results that are not reliable, shown at the top of the page."""
    if record.config["reduction"] and not (agree := record.reduction["same"]).all():
        return [
            f"The thesis's algorithm and ours found different groups in {(~agree).sum():,} of "
            f"{agree.size:,} data sets: one of the two is wrong."
        ]
    if record.config["data"] is None:
        return []
    return _about_divisions(record) if record.logistic else _about_samplers(record)


def _about_samplers(record: Record) -> list[str]:
    doubtful: dict[str, list[str]] = {}
    at_end: dict[str, list[str]] = {}
    for j, arm in record.sampled:
        name, fits = f"{arm.label} {arm.words}", record.fits
        bad, of = int((fits["reliable"][:, j] == 0).sum()), len(fits["reliable"])
        if bad:
            count = f"{bad:,} of {of:,} fits, " if of > 1 else ""
            rhat, ess = np.nanmax(fits["rhat"][:, j]), np.nanmin(fits["ess"][:, j])
            doubtful.setdefault(arm.variant, []).append(
                f"{name} ({count}R-hat up to {rhat:.2f}, effective draws down to {ess:.0f})"
            )
        end = np.nanmax(fits["at_end"][:, j].mean(axis=0))
        points = THESIS_GRID_POINTS
        if arm.variant == "collapsed":
            points = record.config["model"]["collapsed"]["alpha_points"]
        by_prior = 1 / points  # the prior probability of each end
        if end > max(AT_END, 2 * by_prior):
            at_end.setdefault(arm.variant, []).append(f"{name} ({end:.0%} of the draws)")
    return [
        f"{variant} sampler: the chains do not support the predictions with "
        f"{'; '.join(names)}. More iterations are needed."
        for variant, names in doubtful.items()
    ] + [
        f"{variant} sampler: alpha is often at an end of its grid with {'; '.join(names)}. The "
        "grid should be widened: more alpha_points, or another alpha_prior."
        for variant, names in at_end.items()
    ]


def _about_divisions(record: Record) -> list[str]:
    """Return what is doubtful about chains of chapter 3."""
    worst, model, doubtful = record.worst, record.config["model"], []
    rhat, ess, criterion = worst["rhat"][:, 0], worst["ess"][:, 0], ", judged by the log likelihood"
    if model["until"] is not None:
        rhat, ess = record.fits["judged_rhat"].max(axis=0), record.fits["judged_ess"].min(axis=0)
        criterion = ""
    for j in np.flatnonzero(~record.reliable):
        bad = round((1 - worst["reliable"][j]) * record.n_blocks)
        count = f"{bad:,} of {record.n_blocks:,} divisions, " if record.n_blocks > 1 else ""
        about = f"{count}R-hat {rhat[j]:.2f}, effective draws {ess[j]:.0f}"
        doubtful.append(f"{record.name(record.own[j])} ({about})")
    sentences = []
    if doubtful:
        sentences.append(
            f"The chains do not support the predictions of {_first(doubtful, 3, '; ')} "
            f"({len(doubtful)} of {len(record.own)} models{criterion}). More "
            f"iterations are needed: --set model.iterations={4 * model['iterations']} continues "
            "the stored chains."
        )
    return sentences


def prediction_table(record: Record) -> list[PageTable]:
    """A row for each test case and arm."""
    tested = record.tested
    response, contents = tested.response, "the probability of each class"
    if tested.classes:
        response = np.array(tested.classes)[response]
    else:
        contents = "the predictive median and the ends of the predictive interval of 90 %"
    about = {"id": tested.ids, **tested.division, "response": response}
    order = np.argsort(tested.unit, kind="stable")  # as the cases stand in the table
    frames = [
        pd.DataFrame(about | keys | columns).iloc[order]
        for keys, columns in record.predicted_columns()
    ]
    frame = pd.concat(frames, ignore_index=True).dropna(axis="columns", how="all")
    caption = (
        f"Each row is what one arm predicts for one test case, by its id: {contents}. The case was "
        "not among those that the arm was fitted to."
    )
    first_rows = tuple(range(min(MOST_PREDICTED, len(frame))))
    return [PageTable("predictions", "Predictions", frame, caption, shown=first_rows)]
