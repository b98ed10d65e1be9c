"""What an experiment needs, estimated before it starts: a few milliseconds, by arithmetic.

Counted are
- cells, exactly: of each stage its arms and their chains, times the blocks;
- fits: arms times training sets;
- iterations of all chains, those of hot replicas and further updates of sigma included; where
  chains run until they agree, as many as the limit allows;
- disk: arrays of cells and blocks, and draws before they are compressed;
- seconds of one process, within a factor of about three, from measured costs (below);
- memory of one process: the data, the most draws that are held at once, and tables of work; an
  upper bound by order, for groups of patterns are not known before they are counted.

Groups of sequences are at most two for each training case, original patterns at most one for each
case and order.  Groups of features are taken to be the patterns that two cases would express if
features were uniform, and a group for each case.

What needs more than the limits below is only begun with --yes: they are far above what is shipped,
and above the plans in docs/cluster.md.
"""

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thesiskit.config import LogisticModel
from thesiskit.datasets.source import Sizes
from thesiskit.errors import UserError, memory_text
from thesiskit.experiments.pattern_counts import groups_of, patterns, patterns_of_case
from thesiskit.models.chains import MOST_CASES, MOST_JUDGED, most_kept

if TYPE_CHECKING:  # one of them is enough
    from thesiskit.experiments.logistic.design import LogisticDesign
    from thesiskit.study.design import Design

# Seconds, measured on a core of 2020; they are for `plan` alone
BEGIN, PER_CELL = 4.0, 0.005  # of a command with its report; of a cell, besides its work
PER_SPLIT = 2e-4  # naive Bayes, beside the work by cases and features
PER_VALUE = 2e-9  # to screen a binary value of a case
PER_TESTED = 1e-9  # to predict with one
PER_REAL = 3e-9  # to screen a real value of a case
PER_NORMAL = 0.05  # a fit of real features
PER_NODES = 2e-6  # to predict with a real value
POINTS, WITHIN = 65, 5  # of rho; folds in which a temperature is fitted
PER_MEDIAN = 3e-8  # to make a real value binary
PER_PEER = 0.1  # another classifier
PER_TUNED = 0.6  # the regularised logistic regression, besides: it is fitted often
PER_PRODUCT = (
    3e-10  # a product of rows in the regularised logistic regression: two cases, a feature
)
PER_LABEL = 4e-10  # sweep of labels of a mixture: a case and a feature
PER_THETA = 1e-7  # the thesis's sampler: an update of theta, a feature
PER_GROUP = 5e-7  # an iteration of a logistic model: to update a coefficient
PER_NODE = 5e-7  # its joint update by passes over a tree: a coefficient
# that by a trajectory: a case of a group of features, a coefficient, a linear function of a case
PER_MEMBER, PER_SLOPE, PER_ROW = 1.5e-7, 7.5e-7, 1.5e-6
PER_CASE = 1e-6  # an iteration of a Gaussian process: a case

MOST_CELLS = 5_000_000
MOST_FITS = 50_000_000
MOST_ITERATIONS = 10_000_000_000
MOST_DISK = 200e9  # bytes
TOO_MANY = 100_000_000  # cells whose names fit into memory, whatever the user says
PROCESS = 300e6  # bytes of a process before it holds any data
ARRAY, RECORD = 300, 200  # bytes of an array's head in a file, of the record of a cell
DRAWS_FILE = 60_000  # bytes of a file of draws that holds none
ARRAYS = {
    "simulate": 7,
    "select": 8,
    "compress": 9,
    "fit": 8,
    "predict": 10,
}  # of a block's file


@dataclass(frozen=True)
class Needs:
    """What an experiment needs; disk and memory in bytes, seconds of one process."""

    cells: int
    fits: int = 0
    iterations: int = 0
    disk: float = 0.0
    memory: float = 0.0
    seconds: float = 0.0

    @property
    def problem(self) -> str | None:
        """Say what is much about it, None if nothing is."""
        much = {
            f"{self.cells:,} cells": self.cells > MOST_CELLS,
            f"{self.fits:,} fits": self.fits > MOST_FITS,
            f"{self.iterations:,} iterations": self.iterations > MOST_ITERATIONS,
            f"about {memory_text(self.memory)} of memory": self.memory > machine_memory(),
            f"about {memory_text(self.disk)} on disk": self.disk > MOST_DISK,
        }
        return " and ".join(text for text, is_much in much.items() if is_much) or None


def machine_memory() -> float:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check(experiment, *, yes: bool) -> None:
    """Raise UserError where an experiment needs much and the user did not say --yes.

    Errors of the report, and of sizes that cannot be (more folds than cases, say), come first.
    """
    experiment.check_report()  # takes no time, and reads no data
    needed = needs(experiment)
    name = experiment.config.experiment
    if needed.cells > TOO_MANY:
        raise UserError(f"{name} needs {needed.cells:,} cells; at most {TOO_MANY:,} can be made")
    if needed.problem and not yes:
        raise UserError(f"{name} needs {needed.problem}: say --yes if that is meant")


def plan(experiment, *, force: bool) -> list[str]:
    """Say what a run would make, and about how long it takes."""
    graph, left, total, lines = experiment.graph, 0, 0, []
    for stage in experiment.stages:
        mine = todo = 0
        for number in range(len(graph.blocks)):
            cells = graph.cells(stage, number)
            mine += len(cells)
            if force or graph.to_do(stage, number):
                todo += len(cells) if force else sum(not graph.done(cell) for cell in cells)
        lines.append(f"{stage}: {todo:,} of {mine:,} cells to make" if todo else f"{stage}: done")
        left, total = left + todo, total + mine
    needed, jobs = needs(experiment), max(experiment.jobs, 1)
    until = getattr(experiment.config.model, "until", None) is not None
    most = ", less if chains agree before the limit" if until else ""
    seconds = BEGIN + needed.seconds * left / total / min(jobs, max(left, 1))
    many = f"{jobs} processes" if jobs > 1 else "1 process"
    lines.append(
        f"about {_duration(seconds)} with {many} (within a factor of three{most}), "
        f"{memory_text(needed.memory)} of memory in each, and {memory_text(needed.disk)} on disk"
    )
    return lines


def _duration(seconds: float) -> str:
    for unit, size, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds / 86400:.2g}'):,g} days"


def needs(experiment) -> Needs:
    """Return what an experiment needs, whatever of it is done."""
    work, config = experiment.graph.work, experiment.config
    blocks = 1 if config.data is None and config.reduction is None else _blocks(config)
    if config.reduction is not None:
        found = _of_sweeps(config)
    elif config.data is None:
        points = math.prod(n + 1 for n in config.lattice.class_counts)
        found = Needs(0, disk=9.0 * points, memory=PROCESS + 200.0 * points)
    elif isinstance(config.model, LogisticModel):
        work.design.check_sizes()
        found = _of_division(work)
    else:
        work.check()
        found = _of_block(work)
    cells, disk = 0, found.disk
    for stage in work.stages:
        arms = work.arms(stage)
        mine = sum(1 + chains for chains in arms.values()) or 1
        cells += mine
        # a block has all that its cells have
        disk += RECORD * mine + ARRAY * (ARRAYS[stage] + 5 * len(arms))
    return replace(
        found, cells=cells * blocks, fits=found.fits * blocks,
        iterations=found.iterations * blocks, disk=disk * blocks,
        seconds=(found.seconds + PER_CELL * cells) * blocks,
    )  # fmt: skip


def _blocks(config) -> int:
    return config.n_settings * -(-config.divisions // config.n_settings // config.block)


# ---- chapter 2 ----


def _of_block(work) -> Needs:
    """Return what a block of selections, naive Bayes fits or mixtures needs."""
    from thesiskit.study.selections import selections

    config, design, model = work.config, work.design, work.config.model
    replicates = min(config.block, config.divisions // config.n_settings)
    sizes_of = _sizes(design)
    train, test, p = sizes_of.train, sizes_of.test, sizes_of.width
    folds, groups = design.folds, config.evaluation.groups
    splits = replicates * folds * groups
    kept = [k.size if isinstance(k.size, int) else p for k in selections(config)]
    n, words = train + test, 8 * p * math.ceil((train + test) / 64)
    tested = replicates * groups * (test if config.scheme in ("test-set", "none") else n)
    own, arms = len(work.own_arms), len(work.all_arms)
    stores_bits = config.drawn and not config.takes_reals
    stored = replicates * (5 * n + 4 * p + words * stores_bits)
    stored += 20 * splits * sum(kept) + 16 * p
    predicted = tested * (16 * arms + 29)
    memory = PROCESS + 3 * replicates * words + 10 * n * p * config.drawn
    memory += 2 * stored + 2 * predicted
    peers = arms - own
    seconds = splits * p * train * PER_VALUE
    # on a table that was screened before, others are cross-validated besides
    times = 1 if config.selection.screened is None else 11
    tuned = "l2-logistic" in model.methods
    seconds += splits * times * (peers * PER_PEER + tuned * PER_TUNED)
    seconds += splits * p * train * PER_MEDIAN * (not config.drawn)
    seconds += splits * p * train**2 * PER_PRODUCT * tuned
    # fits are repeated in folds of the training cases
    within = sum(WITHIN for _, arm in work.all_arms.values() if arm.tempered)
    seconds += splits * within * (p * train * PER_REAL + PER_SPLIT)
    if config.takes_reals:
        # points of the posterior, held once in a cell and once in the file of the block
        points = 3 * POINTS * len(model.effect_shapes) * len(model.pi)
        seconds += len(kept) * splits * p * train * PER_REAL
        seconds += (own + within) * splits * PER_NORMAL
        seconds += own / len(kept) * tested * sum(kept) * PER_NODES
        disk = stored + predicted + own * splits * 4 * points
        return Needs(0, splits * own, 0, disk, memory + own * splits * 4 * points, seconds)
    if model.kind != "mixture":
        points = getattr(model, "alpha_points", 1)
        seconds += own * splits * PER_SPLIT
        seconds += own / len(kept) * tested * sum(kept) * PER_TESTED
        pairs = min(max(kept), (train + 1) ** 2 // 4 + 1)  # distinct counts of a feature
        disk = stored + predicted + own * 2 * (2 * splits + 3) * 8 * points
        memory += 8 * points * (6 * pairs + 4 * train + 2 * test + 4 * splits)
        return Needs(0, splits * own, 0, disk, memory, seconds)
    draws = most = steps = 0
    for _, (_, arm) in work.own_arms.items():
        if not work.model_of(arm).sampled:
            continue
        thesis = arm.variant != "collapsed"
        replicas = 1 if thesis else model.collapsed.replicas or 4
        how = model.thesis if thesis else model.collapsed
        chains, left = how.chains, how.iterations - how.burn_in
        if model.until is not None:
            left = min(left // 2 + 1, most_kept(chains, train + 3))
            width_judged = 8 * (3 + MOST_CASES) * min(how.iterations, 2 * MOST_JUDGED)
            memory += splits * chains * width_judged
        width = train + 2 + 4 * 8 + (8 * kept[arm.size] if thesis else 0)
        mine = splits * chains * left * width
        draws, most = draws + mine, max(most, mine)
        draws += DRAWS_FILE + 2 * chains * left * 4 * 8  # traces
        runs = splits * chains * (1 + WITHIN * arm.tempered)
        steps += runs * how.iterations * replicas
        sweeps = 5 * (1 + (replicas - 1) / 5)
        cost = (
            20 * PER_THETA * kept[arm.size] if thesis else 2e-5 + PER_LABEL * train * kept[arm.size]
        )
        seconds += runs * how.iterations * sweeps * cost
        memory += replicas * (train + kept[arm.size]) * 16
    disk = stored + predicted + draws
    return Needs(0, splits * own, steps, disk, memory + 3 * most, seconds)


def _sizes(design: "Design") -> Sizes:
    """Return numbers of training cases (with folds, of all), test cases, and features."""
    if design.data is not None and design.data.sizes is not None:
        return design.data.sizes
    shapes = []
    for first, *others in (one.tables for one in design.each):
        tests = sum(len(one.response) for one in others)
        shapes.append((len(first.response), tests, first.features.shape[1]))
    return Sizes(*map(max, zip(*shapes, strict=True)))  # of several tables, the largest


# ---- chapter 3 ----


def _of_division(work) -> Needs:
    """Return what a division of logistic models needs."""
    design: LogisticDesign = work.design
    model, found = design.model, design.sizes
    train, test, width, values = found.train, found.test, found.width, found.values
    features = design.data.family == "features"
    n, draws = train + test, max(1, (model.iterations - model.burn_in) // model.thin)
    judged = 0
    if model.until is not None:
        draws = draws // 2 + 1
        judged = 8 * (2 + MOST_CASES) * min(model.iterations, MOST_JUDGED) * model.chains
    sets = 1 if design.model.continuous else found.classes - (found.classes == 2)
    held = 8 * (3 if design.model.continuous else found.classes)
    disk: float = n * (12 if design.model.continuous else 4) + n * width * (2 if features else 1)
    disk += 2 * len(work.all_arms) * test * held
    data = 16.0 * n * width + 4 * test * held + 8 * values * found.classes
    most: float = 16 * groups_of(design, _drawn_order(design), train + test, values, compress=False)
    seconds = PER_PEER * test * len(design.peers) / 10
    kept_groups: dict[tuple[int, bool], float] = {}  # by the compress stage
    for _, arm in work.own_arms.values():
        groups = train
        tables = 32 * train**2  # of a Gaussian process
        if arm.engine != "gp":
            groups = groups_of(design, arm.order, train, values, compress=arm.compress)
            tables = 64 * groups + 8 * train * (arm.order + 1)
            listed = min(groups, patterns_of_case(width, arm.order, features=features))
            kept_groups[arm.order, arm.compress] = 30 * ARRAY + 64 * groups + 4 * n * listed
        kept = groups
        if model.original and arm.compress:
            kept += groups_of(design, arm.order, train, values, compress=False)
        each = sets * groups * (PER_CASE if arm.engine == "gp" else PER_GROUP)
        if arm.engine != "gp" and model.joint_updates > 0:
            together = groups * PER_NODE
            if features or sets > 1:  # a trajectory
                listed = patterns_of_case(width, arm.order, features=True) if features else 0
                members = train * int(min(groups, listed))
                together = PER_MEMBER * members + sets * (PER_SLOPE * groups + PER_ROW * train)
                at_once = 1 if model.until is None else model.chains
                tables += at_once * (128 * sets * (groups + train) + 4 * members)
            each += model.joint_updates * together
        seconds += model.chains * model.iterations * each
        held_draws = draws
        if model.until is not None:
            held_draws = min(draws, most_kept(model.chains, sets * groups))
        mine = judged + model.chains * held_draws * sets * (4 * kept + 8 * (arm.order + 1))
        disk += mine + DRAWS_FILE
        most = max(most, tables + 3 * mine)
    disk += sum(kept_groups.values())
    splits = 1 if model.split_draws == "exact" else model.split_draws
    updates = max(1, model.sigma_updates // 10, model.joint_updates)
    own = len(work.own_arms)
    steps = own * model.chains * (model.iterations * updates + draws * (splits - 1))
    return Needs(0, own, steps, disk, PROCESS + data + most, seconds)


def _drawn_order(design: "LogisticDesign") -> int:
    """Return the order of the patterns that responses are drawn with, 0 of other data."""
    data = design.data
    return design.orders[0] if data.prior_of else data.drawn_order


# ---- numbers of parameters ----


def _of_sweeps(config) -> Needs:
    """Return what a block of compressed uniform features needs."""
    reduction, replicates = config.reduction, min(config.block, config.replicates)
    settings, most = 0, 0.0
    for sweep in reduction.sweeps:
        for p, values, order in sweep.settings:
            found = patterns(p, order, reduction.cases, values, compress=True)
            most = max(most, 8.0 * reduction.cases * p + 100 * found)
            settings += 1
    disk = replicates * settings * 8 * 9
    return Needs(0, replicates * settings, 0, disk, PROCESS + 2 * most + 2 * disk)
