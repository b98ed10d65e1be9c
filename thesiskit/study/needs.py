"""What an experiment needs, known before it starts.

Counted are
- cells: of each stage its arms and their chains, times the blocks;
- fits: arms times training sets;
- iterations of all chains, those of hot replicas and further updates of sigma included; where
  chains run until they agree, as many as the limit allows;
- bytes that must be held in memory and on disk: cases, predictions, quantiles of posteriors, and
  draws before they are compressed.

Groups of patterns are not known before they are counted, so neither they nor draws of their
coefficients are in it: `models/patterns` refuses what is too much, as soon as it is seen.  How long
it takes is not known either.

What needs more than the limits below is only begun with --yes: they are far above what is shipped,
and above the plans in docs/cluster.md.
"""

import math
import os
from dataclasses import dataclass
from typing import Any

from thesiskit.datasets.source import Sizes
from thesiskit.errors import UserError, memory_text
from thesiskit.models.chains import most_kept

MOST_CELLS = 5_000_000
MOST_FITS = 50_000_000
MOST_ITERATIONS = 10_000_000_000
MOST_DISK = 200e9  # bytes
TOO_MANY = 100_000_000  # cells whose names fit into memory, whatever the user says
RHOS, WITHIN = 65, 5  # values of rho; folds in which a temperature is fitted


@dataclass
class Needs:
    """What an experiment needs; disk in bytes, memory in bytes of one process."""

    cells: int = 0
    fits: int = 0
    iterations: int = 0
    disk: float = 0.0
    memory: float = 0.0

    @property
    def problem(self) -> str | None:
        """Say what is much about it, None if nothing is."""
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        much = {
            f"{self.cells:,} cells": self.cells > MOST_CELLS,
            f"{self.fits:,} fits": self.fits > MOST_FITS,
            f"{self.iterations:,} iterations": self.iterations > MOST_ITERATIONS,
            f"about {memory_text(self.memory)} of memory": self.memory > machine,
            f"about {memory_text(self.disk)} on disk": self.disk > MOST_DISK,
        }
        return " and ".join(text for text, is_much in much.items() if is_much) or None


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
    """Say what a run would make, and what is known of what that needs."""
    graph, lines = experiment.graph, []
    for stage in experiment.stages:
        every = todo = 0
        for number in graph.blocks:
            block = graph.block(number)
            cells = block.cells(stage)
            every += len(cells)
            if force or block.to_do(stage):
                todo += len(cells) if force else sum(not graph.done(cell) for cell in cells)
        lines.append(f"{stage}: {todo:,} of {every:,} cells to make" if todo else f"{stage}: done")
    needed, config, jobs = needs(experiment), experiment.config, max(experiment.jobs, 1)
    if needed.iterations:
        until = getattr(config.model, "until", None) is not None
        less = ", less if chains agree before the limit" if until else ""
        lines.append(f"{needed.iterations:,} iterations of all chains together{less}")
    if config.minutes is not None:
        lines.append(f"about {config.minutes:g} min on two cores in its full form, says the config")
    many = f"{jobs} processes" if jobs > 1 else "1 process"
    lines.append(
        f"{many}, at least {memory_text(needed.memory)} of memory in each, and "
        f"{memory_text(needed.disk)} on disk"
    )
    return lines


def needs(experiment) -> Needs:
    """Return what an experiment needs, whatever of it is done."""
    work, config = experiment.graph.work, experiment.config
    if config.reduction is not None:
        needed = _of_sweeps(config, experiment.graph.replicates)
    elif config.data is None:
        points = math.prod(n + 1 for n in config.lattice.class_counts)
        needed = Needs(disk=9.0 * points, memory=9.0 * points)
    elif not config.selects:
        work.design.check_sizes()
        needed = _of_division(work)
    else:
        work.check()
        needed = _of_block(work, experiment.graph.replicates)
    cells = sum(sum(1 + n for n in work.arms(stage).values()) or 1 for stage in work.stages)
    replicates = experiment.graph.replicates  # what is needed is of a block of so many
    every = replicates if config.data is config.reduction is None else config.divisions
    return Needs(
        cells * experiment.graph.blocks.stop,
        needed.fits * every // replicates,
        needed.iterations * every // replicates,
        needed.disk * every / replicates,
        needed.memory,
    )


def _of_block(work: Any, replicates: int) -> Needs:
    """Return what a block of selections, naive Bayes fits or mixtures needs."""
    from thesiskit.study.selections import selections

    config, design, model = work.config, work.design, work.config.model
    sizes = _sizes(design)
    n, p = sizes.train + sizes.test, sizes.width
    splits = replicates * design.folds * config.evaluation.groups
    kept = [k.size if isinstance(k.size, int) else p for k in selections(config)]
    every = config.scheme not in ("test-set", "none")
    tested = replicates * config.evaluation.groups * (n if every else sizes.test)
    own, arms = len(work.own_arms), len(work.all_arms)
    real = config.takes_reals
    bits = replicates * 8 * p * math.ceil(n / 64) * (config.drawn and not real)
    needed = Needs(fits=splits * own)
    needed.memory = bits + n * p * config.drawn * (8 if real else 1) + 8 * tested
    needed.disk = bits + replicates * 5 * n + 4 * splits * sum(kept) + tested * (8 * arms + 5)
    if model.kind != "mixture":
        points = (
            RHOS * len(model.effect_shapes) * len(model.pi)
            if real
            else 2 * getattr(model, "alpha_points", 1)
        )
        needed.memory += 8 * own * splits * points
        needed.disk += 8 * own * splits * points
        return needed
    most = 0
    for _, arm in work.own_arms.values():
        if not work.model_of(arm).sampled:
            continue
        thesis = arm.variant != "collapsed"
        replicas = 1 if thesis else model.collapsed.replicas or 4
        sampler = model.thesis if thesis else model.collapsed
        draws = sampler.iterations - sampler.burn_in
        if model.until is not None:
            draws = min(draws // 2 + 1, most_kept(sampler.chains, sizes.train + 3))
        width = sizes.train + 2 + 4 * 8 + (8 * kept[arm.size] if thesis else 0)
        held = splits * sampler.chains * draws * width
        needed.disk, most = needed.disk + held, max(most, held)
        runs = splits * sampler.chains * (1 + WITHIN * arm.tempered)
        needed.iterations += runs * sampler.iterations * replicas
    needed.memory += most
    return needed


def _sizes(design: Any) -> Sizes:
    """Return numbers of training cases (with folds, of all), test cases, and features."""
    if design.data is not None and design.data.sizes is not None:
        return design.data.sizes
    shapes = []
    for first, *others in (each.tables for each in design.each):
        tests = sum(len(table.response) for table in others)
        shapes.append((len(first.response), tests, first.features.shape[1]))
    return Sizes(*map(max, zip(*shapes, strict=True)))  # of several tables, the largest


def _of_division(work: Any) -> Needs:
    """Return what a division of logistic models needs."""
    model, sizes = work.design.model, work.design.sizes
    n, own = sizes.train + sizes.test, len(work.own_arms)
    draws = max(1, (model.iterations - model.burn_in) // model.thin)
    if model.until is not None:
        draws = draws // 2 + 1
    sets = 1 if model.continuous else sizes.classes - (sizes.classes == 2)
    held = 8 * (3 if model.continuous else sizes.classes)  # of a case that is predicted
    codes, predicted = n * sizes.width, sizes.test * held
    needed = Needs(fits=own, disk=codes + len(work.all_arms) * predicted)
    most = 0
    for _, arm in work.own_arms.values():
        if arm.engine == "gp":
            kept = draws
            if model.until is not None:
                kept = min(draws, most_kept(model.chains, sets * sizes.train))
            latent = model.chains * kept * sets * 4 * sizes.train
            needed.disk, most = needed.disk + latent, max(most, latent + 8 * sizes.train**2)
    needed.memory = codes + predicted + 8 * sizes.values * sizes.classes + most
    splits = 1 if model.split_draws == "exact" else model.split_draws
    updates = max(1, model.sigma_updates // 10, model.joint_updates)
    needed.iterations = own * model.chains * (model.iterations * updates + draws * (splits - 1))
    return needed


def _of_sweeps(config: Any, replicates: int) -> Needs:
    """Return what a block of compressed uniform features needs."""
    settings = [setting for sweep in config.reduction.sweeps for setting in sweep.settings]
    fits = replicates * len(settings)
    widest = max(features for features, _, _ in settings)
    return Needs(fits=fits, disk=8.0 * 9 * fits, memory=1.0 * config.reduction.cases * widest)
