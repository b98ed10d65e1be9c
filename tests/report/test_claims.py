"""Claims of the thesis: entries, verdicts, and worlds in which each claim holds and fails."""

import inspect
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import ROOT
from printed import printed_keys
from scipy.special import expit

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.models.peers import Method
from thesiskit.report import claims as module
from thesiskit.report.claims import (
    CRITERIA,
    DIRECTION,
    FOUND,
    NOT_FOUND,
    TESTS,
    UNTESTED,
    VERDICTS,
    Estimate,
    claims,
    evaluate,
    interval,
    number,
    opening,
    verdict,
)
from thesiskit.report.page import exhibits
from thesiskit.report.record import thesis_numbers

CONFIGS = {path.stem: path for path in (ROOT / "configs").rglob("*.yaml")}
CLAIMS = {claim.id: claim for claim in claims()}
TESTED = [claim for claim in CLAIMS.values() if not claim.untested]
TRUE, REVERSE, OTHER = "true", "reverse", "other"

# ---- the rule ----


@pytest.mark.parametrize(
    ("criterion", "ends", "sure", "expected"),
    [({"above": 0}, (0.1, 0.05, 0.2), True, FOUND),
     ({"above": 0}, (0.1, -0.05, 0.2), True, DIRECTION),
     ({"above": 0}, (0.1, 0.05, 0.2), False, DIRECTION), ({"above": 0}, (0, 0, 0), True, NOT_FOUND),
     ({"above": 0}, (0.1, np.nan, np.nan), True, DIRECTION),
     ({"below": 0}, (1, 0, 2), True, NOT_FOUND),
     ({"within": 0.02}, (0.0, -0.01, 0.01), True, FOUND), ({"at_least": 5}, (5, 5, 5), True, FOUND),
     ({"within": 0.02}, (0.01, -0.01, 0.03), True, DIRECTION),
     ({"within": 0.02}, (-0.03, -0.04, -0.02), True, NOT_FOUND),
     ({"above": 0.9, "below": 1.1}, (1, 0.95, 1.05), True, FOUND),
     ({"above": 0.9, "below": 1.1}, (1.2, 1.1, 1.3), True, NOT_FOUND)],
)  # fmt: skip
def test_verdicts(criterion, ends, sure, expected):
    assert verdict([Estimate("", *ends, sure)], criterion) == expected
    fine = Estimate("", 1, 1, 1)
    if criterion == {"above": 0}:  # the worst of all estimates counts
        assert verdict([fine, Estimate("", *ends, sure), fine], criterion) == expected


def test_intervals_have_their_level_and_count_units(rng):
    inside = 0
    for _ in range(2000):
        estimate = interval("", rng.normal(3, 2, 6))
        inside += estimate.low <= 3 <= estimate.high
    assert 1965 <= inside <= 1996  # 1,980 expected, standard deviation 4.4
    values = rng.normal(size=5)
    again = interval("", np.repeat(values, 7), np.repeat(np.arange(5), 7))
    np.testing.assert_allclose(again[1:4], interval("", values)[1:4])
    gaps = interval("", np.append(values, np.nan), np.arange(6))
    np.testing.assert_allclose(gaps[1:4], interval("", values)[1:4])
    assert np.isnan(interval("", np.arange(4), np.zeros(4)).low)


def test_numbers_are_written_with_three_digits():
    written = [number(x) for x in (0.012345, -1.0, 6819, 234.5, 0, 3e-7, -3e-7, 0.9996)]
    assert written == ["0.0123", "-1", "6,819", "234", "0", "< 0.0001", "> -0.0001", "1"]
    assert str(Estimate("10 features", 0.5, 0.25, 0.75)) == "10 features: 0.5 (0.25 to 0.75)"
    assert str(Estimate("", 4, 4, 4)) == "4"


# ---- the entries ----


def test_entries_name_what_exists():
    assert len(CLAIMS) == len(claims())
    sections = {exhibit.name: exhibit.section for exhibit in exhibits()}
    known = printed_keys()
    for claim in CLAIMS.values():
        assert claim.of in thesis_numbers(), claim.id
        assert sections.get(claim.exhibit, claim.section) == claim.section, claim.id
        assert claim.exhibit in sections or claim.exhibit in ("text", "Appendix 1"), claim.id
        assert bool(claim.untested) != bool(claim.criterion and claim.measures), claim.id
        assert set(claim.criterion) <= set(CRITERIA)
        assert claim.experiments, claim.id
        for name in claim.experiments:
            report = load_config(CONFIGS[name]).report
            assert report.thesis == claim.of, (claim.id, name)
        for key in claim.numbers:
            assert any(leaf == key or leaf.startswith(f"{key}.") for leaf in known), key
        if not claim.untested:
            inspect.signature(TESTS[claim.test]).bind(None, **claim.arguments)
    covered = {key for claim in CLAIMS.values() for key in claim.numbers}
    assert covered >= {
        "hmm.helps", "text.helps", "text.cauchy_better", "cauchy_classification.best",
        "cauchy_classification.groups_stop_at", "parameter_reduction.converged_at_order",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ([FOUND, FOUND], "yes"),
        ([FOUND, DIRECTION], "in part"),
        ([DIRECTION, DIRECTION], "in part"),
        ([FOUND, NOT_FOUND], "in part"),
        ([NOT_FOUND, UNTESTED], "no"),
        ([UNTESTED, UNTESTED], UNTESTED),
    ],
)
def test_a_page_opens_with_the_main_claims(monkeypatch, verdicts, found):
    given = iter(verdicts)
    monkeypatch.setattr(
        "thesiskit.report.claims.evaluate",
        lambda claim, _: {"exhibit": claim.exhibit, "verdict": next(given)},
    )
    config = {"report": {"thesis": "colon"}}
    opened = opening(SimpleNamespace(config=config, small=False))
    assert opened["found"] == found
    assert opened["exhibit"] == "Figure 2.10"
    assert [row["verdict"] for row in opened["claims"]] == verdicts
    assert opening(SimpleNamespace(config={"report": {}}, small=False)) == {}


def test_the_small_form_of_an_experiment_tests_no_claim():
    for of in {claim.of for claim in CLAIMS.values()}:
        opened = opening(SimpleNamespace(config={"report": {"thesis": of}}, small=True))
        assert opened["found"] == UNTESTED
        assert opened["claims"]
        assert {row["part"] for row in opened["claims"]} == {of}
        assert all(not CLAIMS[row["id"]].untested for row in opened["claims"])


def test_configs_of_chapters_show_their_claims():
    for claim in CLAIMS.values():
        for name in claim.experiments:
            if not name.endswith("-replicates"):
                assert "statement-table" in load_config(CONFIGS[name]).report.parts, name


# ---- worlds in which the thesis is right, and others ----


def chapter2(of, world, rng):
    """A record of chapter 2, of 20 data sets of 1,000 samples; of colon, of one data set."""
    sizes = ["5"] if of == "colon" else ["1", "10", "100", "1000", "all"]
    variants, sets, n = ["first", "collapsed"], 20, 20_000
    response = rng.random(n) < 0.5
    methods, p, log_alpha, right = [], [], [], world == TRUE
    remains = 1.3 if of in ("mixture_simulation", "colon") else 1  # bias after the correction
    for size in sizes:
        m = 0.5 + 0.15 * sizes.index(size)  # normal features with means -m and m
        fair = 2 * m * rng.normal(m * (2 * response - 1))  # their log odds, which are calibrated
        for method, variant in ((m, v) for m in ("corrected", "uncorrected") for v in variants):
            good = right == (method == "corrected")
            times = {True: remains, False: 6.0 if size == "10" else 2.0}[good]
            if variant == "collapsed" and method == "corrected":
                times = 1 if right else 3
            if world == OTHER:  # all are too careful
                times = 0.6 if method == "corrected" else 0.8
            values = fair * times
            if world == REVERSE and method == "corrected":
                values = rng.permutation(values)
            failing = of == "mixture_simulation" and variant == "first"
            if size == "all" and world != OTHER and failing == right:
                values = 2 * rng.permutation(values)  # all features predict badly
            methods.append(
                Method(len(methods), size, "complete" if size == "all" else method, variant)
            )
            p.append(expit(values))
            log_alpha.append(5.7 if good or (size == "all") else 3.0)
    log_alpha = np.array(log_alpha) + 0.05 * rng.normal(size=(sets, len(methods)))
    grid = np.linspace(2, 7, 26)
    posterior = -0.5 * ((grid - log_alpha[:, :, None]) / 0.5) ** 2
    posterior -= np.log(np.exp(posterior).sum(axis=2, keepdims=True))

    def find(size, method, variant=None):
        wanted = ("complete" if size == "all" else method, variant or "first")
        return next(
            (a for a in methods if a.label == size and (a.estimator, a.variant) == wanted), None
        )

    seconds = [1 + 9 * (method.label == "all") * right for method in methods]
    if of == "mixture_simulation":
        estimators = [method.estimator for method in methods]
        seconds = [
            s * (1 + 3 * (name == "corrected")) if right else 1 + (name == "uncorrected")
            for s, name in zip(seconds, estimators, strict=True)
        ]
    elif not right:
        seconds = [1 + (method.estimator == "corrected") for method in methods]
    train = np.sort(np.abs(rng.normal(0.1, 0.03, 3000)))
    strong = (train / 3, train) if right else (train, train / 3)
    agreement = np.full_like(log_alpha, 199 if right else 120)
    best = 9.5 if right else 2
    return SimpleNamespace(
        logistic=False, mixture=of == "mixture_simulation", methods=methods, own=methods, find=find,
        variants=variants, variant_name="sampler", response=response, n_blocks=1,
        probability=lambda method: p[method.row],
        predictions=pd.DataFrame({"replicate": np.arange(n) % sets, "sample": np.arange(n)}),
        config={"drawn": of != "colon", "replicates": sets, "reduction": None, "selection": {},
                "data": {"alpha": np.exp(5.7), "train": [100, 100]}, "experiment": "made-up"},
        fit_arrays={"means": np.stack([log_alpha, agreement], axis=2),
                    "alpha": np.exp(grid)[None, None]},
        results=SimpleNamespace(load=lambda *_: {
            "log_posterior": posterior, "train_correlation": train,
            "test_correlation": strong[0] + (np.arange(3000) == 5) * right}),
        timings=pd.DataFrame([{"fit": s, "fit and predict": s} for s in seconds]),
        selections=pd.DataFrame({"gamma": np.full(50, 0.5 if right else 0.1)}),
        divisions=pd.DataFrame({"log loss better": [best], "squared error better": [best],
                                "log loss p-value": [1 / best**3], "optimistic": [best],
                                "squared error p-value": [1 / best**3]}),
    )  # fmt: skip


QUALITY = {  # probability of the class that is right, and error rate, by world, order and so on
    "hmm": {
        TRUE: lambda order, *_: ({1: 0.6, 20: 0.795}.get(order, 0.8), 0.1),
        REVERSE: lambda order, prior, compress: (
            {1: 0.95, 20: 0.6}.get(order, 0.8) - 0.05 * (prior == "gaussian") - 0.04 * compress,
            0.3 * (order == 20)),
        OTHER: lambda order, *_: (0.7 + order / 100, 0.1),
    },
    "text": {
        TRUE: lambda order, prior, compress: (
            0.7 + order / 200 + (0.01 + 0.01 * compress) * (prior == "cauchy"),
            0.1 + 0.1 * (prior == "gaussian")),
        REVERSE: lambda order, prior, compress: (
            0.8 - order / 200 - 0.02 * (prior == "cauchy") - 0.05 * compress,
            0.2 - 0.1 * (prior == "gaussian")),
    },
    "cauchy_classification": {
        TRUE: lambda order, prior, _: (0.7 + 0.1 * (order == 4) + 0.05 * (prior == "cauchy"), 0.1),
        REVERSE: lambda order, _, compress: (0.9 - 0.1 * (order == 4) - 0.05 * compress, 0.1),
    },
}  # fmt: skip
ORDERS = {"cauchy_classification": [1, 2, 3, 4, 5, 6, 7]}
SHOWN_SIGMAS = {"cauchy_classification": [5, 6, 7]}


def chapter3(of, world, rng):
    """A record of chapter 3, of one data set."""
    right, n = world == TRUE, 1000
    orders = ORDERS.get(of, [1, 2, 5, 10, 15, 20])
    methods = [
        Method(row, order=order, prior=prior, compress=compress, engine="slice")
        for row, (order, prior, compress) in enumerate(
            (o, p, c) for o in orders for p in ("cauchy", "gaussian") for c in (True, False)
        )
    ]

    def of_order(order, prior, compress=True):
        wanted = (order, prior, compress)
        return next((a for a in methods if (a.order, a.prior, a.compress) == wanted), None)

    def probability(method):
        c, e = QUALITY[of][world](method.order, method.prior, method.compress)
        p = np.where(np.arange(n) < e * n, 0.45, c)
        return np.column_stack([1 - p, p])

    def trace(method):
        rho = 0.9 * (method.compress != right)
        x = rng.normal(size=(3, 2000, orders[-1] + 1))
        for t in range(1, 2000):
            x[:, t] += rho * x[:, t - 1]
        return x

    def draws(method):
        few = (method.prior == "cauchy") == right  # a few large coefficients, and others very small
        sizes = np.full(20, 0.01 if few else 0.5)
        sizes[0] = (10 if few else 1) if right else -1
        sizes[2] = 10 if few else 1
        noise = rng.normal(size=(3, 50, 1, 20)) * (0.02 if few else 0.2)
        return {"coefficient": sizes + noise}

    def seconds(method):
        train = (1 + method.order) * (1 if method.compress else 4)
        if right:
            return {"train": train, "predict": train / 20}
        return {"train": 1 / train, "predict": 1 / train}

    groups = np.minimum(np.arange(orders[-1] + 1), 4) * 90.0 + 10
    patterns = np.arange(orders[-1] + 1) * (200.0 if of in ORDERS else 100.0) + 10
    if not right:
        groups = patterns = 2.0 ** np.arange(orders[-1] + 1)
    counts = {"order": np.array(orders), "groups": groups[orders], "patterns": patterns[orders],
              "growth": groups}  # fmt: skip
    return SimpleNamespace(
        logistic=True, mixture=False, methods=methods, own=methods, of_order=of_order,
        orders=orders, probability=probability, response=np.ones(n, int),
        predictions=pd.DataFrame({"sample": np.arange(n)}), n_blocks=1,
        losses=lambda method: -np.log(probability(method)[:, 1]), log_sigma_trace=trace,
        draws=draws, config={"drawn": True, "replicates": 1, "reduction": None, "selection": None,
                "experiment": "made-up"},
        widest_order=orders[-1], drawn_order=4 if of in ORDERS else 10,
        reliable=np.ones(len(methods), bool),
        worst={"rhat": np.ones((len(methods), orders[-1] + 2))},
        shown_sigmas=SHOWN_SIGMAS.get(of, [10, 12, 15, 17, 20]),
        timings=pd.DataFrame([seconds(method) for method in methods]),
        results=SimpleNamespace(load=lambda *_: counts),
    )  # fmt: skip


def reduction(world, rng):
    """A record of numbers of parameters, of three data sets."""
    right = world == TRUE
    x = {"values": np.array([2, 4, 6]), "features": np.array([4, 8, 16]),
         "order": np.arange(1.0, 8)}  # fmt: skip
    noise = np.exp(rng.normal(0, 1e-4, (3, 1)))
    patterns = {"values": x["values"] * 100.0, "features": x["features"] ** 4.0,
                "order": x["order"] ** 1.5 * 100}  # fmt: skip
    groups = {"values": 1000 / x["values"], "features": x["features"] ** 3.0,
              "order": np.minimum(x["order"], 4) * 50}  # fmt: skip
    if not right:
        patterns = {name: 1000 / x[name] ** (1 + (name == "features")) for name in x}
        groups = {name: x[name] * 10.0 for name in x}
    sweeps = [
        SimpleNamespace(varied=name, x=x[name], patterns=patterns[name] * noise,
                        groups=groups[name] * noise, ratio=(groups[name] / patterns[name]) * noise)
        for name in x
    ]  # fmt: skip
    found = {"superpatterns": np.full((3, 4), 8.0 if right else 2.0),
             "groups": np.full((3, 4), 2.0), "order": np.full(4, 3)}  # fmt: skip
    config = {
        "reduction": {"samples": 3},
        "selection": None,
        "replicates": 3,
        "experiment": "made-up",
    }
    return SimpleNamespace(config=config, reduction=found, sweeps=sweeps, logistic=False)


def record_of(of, world, rng):
    if of == "parameter_reduction":
        return reduction(world, rng)
    if of in QUALITY:
        return chapter3(of, world, rng)
    return chapter2(of, world, rng)


@pytest.fixture(scope="module")
def worlds():
    """The records of all sections, by section and world."""
    return {
        (of, world): record_of(of, world, np.random.default_rng(40))
        for of in {claim.of for claim in TESTED}
        for world in (TRUE, REVERSE, OTHER)
        if world != OTHER or of == "hmm" or of not in [*QUALITY, "parameter_reduction"]
    }


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    monkeypatch.setattr(module, "divisions", lambda record: record.divisions)
    monkeypatch.setattr(module, "sweeps", lambda record: record.sweeps)
    monkeypatch.setattr(module, "traced_places", lambda *_: {"_CC:V": (0, 0), "CC:V": (0, 1)})


@pytest.mark.parametrize("claim", TESTED, ids=lambda claim: claim.id)
def test_every_claim_is_found_where_it_is_true_and_not_where_it_is_false(claim, worlds):
    rows = {
        world: evaluate(claim, [record])
        for (of, world), record in worlds.items() if of == claim.of
    }  # fmt: skip
    assert rows[TRUE]["verdict"] in (FOUND, DIRECTION), rows[TRUE]
    assert NOT_FOUND in [row["verdict"] for row in rows.values()], rows
    assert UNTESTED not in [row["verdict"] for row in rows.values()], rows


def test_most_claims_are_found_with_an_interval(worlds):
    rows = [evaluate(claim, [worlds[claim.of, TRUE]]) for claim in TESTED]
    verdicts = [row["verdict"] for row in rows]
    assert verdicts.count(FOUND) >= 0.8 * len(verdicts), [
        row["id"] for row in rows if row["verdict"] != FOUND
    ]


def test_chains_that_have_not_converged_give_a_direction_at_most(worlds):
    record = SimpleNamespace(**vars(worlds["hmm", TRUE]))
    record.reliable = np.zeros(len(record.methods), bool)
    record.worst = {"rhat": np.full((len(record.methods), 22), 2.7)}
    for name in ("hmm-order-helps", "hmm-autocorrelations", "hmm-compression-alike"):
        row = evaluate(CLAIMS[name], [record])
        assert row["verdict"] == DIRECTION
        assert row[module.ESTIMATES].endswith("chains not converged")
    assert evaluate(CLAIMS["hmm-training-time"], [record])["verdict"] == FOUND


def test_the_groups_of_the_printed_design_grow_after_order_4(worlds):
    record = SimpleNamespace(**vars(worlds["cauchy_classification", TRUE]))
    growth = np.array([1, 22, 211, 1156, 3971, 6669, 6819, 6819])
    record.results = SimpleNamespace(load=lambda *_: {
        "order": np.arange(1, 8), "groups": growth[1:], "patterns": growth[1:], "growth": growth,
    })  # fmt: skip
    row = evaluate(CLAIMS["cauchy-groups-stop"], [record])
    assert (row["verdict"], row[module.ESTIMATES]) == (NOT_FOUND, "orders 4 to 7: 0.717")


def test_a_claim_takes_the_first_experiment_that_can_test_it(worlds):
    record = SimpleNamespace(**vars(worlds["hmm", TRUE]))
    lacking = SimpleNamespace(**vars(record) | {"of_order": lambda *_, **__: None})
    lacking.config = record.config | {"experiment": "lacking"}
    row = evaluate(CLAIMS["hmm-order-helps"], [lacking, record])
    assert row["experiment"] == "made-up"
    assert evaluate(CLAIMS["hmm-order-helps"], [lacking])["verdict"] == UNTESTED
    assert evaluate(CLAIMS["hmm-ratio-limit"], [record])["verdict"] == UNTESTED


# ---- files and pages ----


def test_the_table_of_the_docs(tmp_path):
    where = ("--results", str(tmp_path), "--set", "data.features=300", "--set", "data.test=[50,50]",
             "--set", "selection.features=[1, 10, 100]")  # fmt: skip
    for command in ("run", "verify"):
        done = CliRunner().invoke(main, [command, "naive-simulation", *where])
        assert done.exit_code == 0, done.output
    assert "claims of the thesis" in done.output
    frame = pd.read_csv(tmp_path / "verify/claims.csv", keep_default_na=False)
    assert len(frame) == len(CLAIMS)
    assert set(frame["verdict"]) <= set(VERDICTS)
    statements = pd.read_csv(tmp_path / "naive-simulation/tables/statements.csv")
    assert statements["claim"].isin(frame["claim"]).all()
    index = (tmp_path / "index.html").read_text()
    assert re.search(r"values not printed; \d of 5 claims found", index)  # Figure 2.6
