"""Commands about data: the published ones, a config for a file of the user's, and new cases."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from thesiskit.cli.console import (
    ONE_CONFIG,
    STRICT,
    VERBOSE,
    Asked,
    ConfigType,
    make_stage,
    opens_experiment,
    tell_notes,
    watch,
)
from thesiskit.errors import UserError
from thesiskit.registry import shipped


@click.group()
def data() -> None:
    """List the published data that experiments use, or print one as a table.

    Example:  thesiskit data list
    """


@data.command("list")
@VERBOSE
def list_data() -> None:
    """List the published data sets. Nothing is fetched.

    Example:  thesiskit data list
    """
    from thesiskit.datasets.published import published

    for name, source in published().items():
        click.echo(f"{name:14} {source.published}")


@data.command()
@click.argument("name")
@VERBOSE
def show(name) -> None:
    """Print a published data set as a CSV table, the class first.

    Example:  thesiskit data show colon > colon.csv
    """
    from thesiskit.datasets.published import csv_lines

    for line in csv_lines(name):
        click.echo(line)


@click.command("fetch")
@click.argument("name", type=click.Choice(["microarray"]))
@VERBOSE
def fetch_data(name) -> None:
    """Fetch the published data that do not come with thesiskit, so that `run` needs no network.

    The tables are taken from a public repository, checked, and kept in the cache of the user. Those
    in the folder that THESISKIT_DATA_DIR names are not fetched.

    Example:  thesiskit fetch microarray
    """
    from thesiskit.datasets.published import TABLES, fetch, held

    lacking = [one for one in TABLES if not held(one)]
    size = sum(int(TABLES[one]["kilobytes"]) for one in lacking) / 1000
    click.echo(f"{len(lacking)} of {len(TABLES)} tables are to be fetched: {size:.1f} MB")
    for one in watch(lacking, len(lacking), f"fetch {name}"):
        fetch(one)
    click.echo(f"{name}: {', '.join(sorted({str(held(one)[0].parent) for one in TABLES}))}")


TABLE = click.argument("table", type=click.Path(path_type=Path))
STANDARD = Path("-")  # standard input or output, in place of a file


def as_file(table: Path, name: str = "standard input.csv") -> Path:
    """Return the path of a table; of standard input, that of a temporary file with a name."""
    if table != STANDARD:
        return table
    from thesiskit.datasets.reading import standard_input

    return click.get_current_context().with_resource(standard_input(name))


def asks(command: Any) -> Any:
    """Give a command the options that say what a table holds."""
    for option in (
        STRICT,
        click.option(
            "--thousands",
            metavar="SEP",
            help="What stands between thousands of numbers, such as . or '.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="What stands before decimals. Default: a comma is found where it is plain.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="A text that stands for a missing value, such as a single point. May be repeated.",
        ),
        click.option(
            "--response",
            metavar="COLUMN",
            help="The column to predict. Default: a guess.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@TABLE
@asks
@VERBOSE
def check(table: Path, **asked: Any) -> None:
    """Check a table for problems that could bias predictions, before any model is fitted.

    TABLE is a file as `thesiskit init` takes it, - for CSV from standard input, or a config whose
    table is read. Findings are advice: samples that repeat, features that copy the response, an
    order of samples or a batch that is associated with it, groups of samples, small classes,
    constant and equal features, odd values, and missing ones that depend on the response. `init`
    and `run` print the same.

    Example:  thesiskit data show colon > colon.csv && thesiskit check colon.csv
    """
    from thesiskit.datasets.reading import shown
    from thesiskit.start import Hints, draft_config
    from thesiskit.start import check as check_config

    file = table
    if table.suffix in (".yaml", ".yml") or str(table) in shipped():
        for name, value in asked.items():
            if value:
                raise click.UsageError(f"a config says what its table holds; leave out --{name}")
        findings = check_config(shipped().get(str(table), table))
    else:
        file = as_file(table)
        _, findings, notes = draft_config(file, Hints(**asked), file.parent)
        tell_notes(notes)
    for line in findings:
        click.echo(line)
    click.echo(
        f"{shown(file)}: {len(findings) or 'no'} finding{'s' * (len(findings) != 1)}", err=True
    )


@click.command()
@TABLE
@asks
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the config to this file, which must not exist. Default: print it.",
)
@VERBOSE
def init(table: Path, output: Path | None, **asked: Any) -> None:
    """Look at a table and print a config for it, which runs as it stands.

    TABLE is text (.csv, .tsv, .txt, also packed as .gz), Parquet, PLINK .bed, AnnData
    .h5ad, FASTA, or lines of states; - is CSV from standard input, which --output NAME.yaml saves
    as NAME.csv. The command asks nothing; it prints its guesses, and the comments of the config
    repeat them. Paths in the config start in the folder of --output, or in the current folder.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv > mine.yaml
    """
    from thesiskit.files import create
    from thesiskit.start import Hints, draft_config

    from_pipe, output = table == STANDARD, None if output == STANDARD else output
    folder = Path() if output is None else output.parent
    table_copy = output.with_suffix(".csv") if from_pipe and output is not None else None
    if table_copy is not None and table_copy == output:
        raise UserError(f"{output}: a config is YAML\nFix: --output NAME.yaml")
    for path in filter(None, (output, table_copy)):
        if os.path.lexists(path):
            raise UserError(f"{path}: it exists already; choose another name, or remove it")
    if not folder.is_dir():
        raise UserError(f"{output}: there is no folder {folder}; make it first")
    file = as_file(table, "table.csv" if table_copy is None else table_copy.name)
    text, findings, notes = draft_config(file, Hints(**asked), file.parent if from_pipe else folder)
    if from_pipe and output is None:
        notes.append("save the table as table.csv for this config, or add --output NAME.yaml")
    tell_notes([*findings, *notes])
    if output is None:
        click.echo(text, nl=False)
        return
    if table_copy is not None:
        with file.open("rb") as content, create(table_copy) as target:
            shutil.copyfileobj(content, target)
    with open(output, "x", encoding="utf-8") as config:
        config.write(text)
    click.echo(f"{output}; now: thesiskit run {output}", err=True)


class Target(click.Path):
    """A file to write, which replaces a file of that name, but never a link, pipe or device."""

    def __init__(self):
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """Return the path, or say what stands in its place."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            self.fail(f"{path} is a link, a pipe or a device; give the name of a file", param, ctx)
        return path


ARM = click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="NAME",
    help="Only this method, by its name, as a page names it, or by a unique part of either, for "
    "example pool. May be repeated. Default: the method that predicts the test samples best, or "
    "the class frequencies where none is clearly better than these.",
)
ALL_ARMS = click.option("--all-arms", is_flag=True, help="All arms, not only the best one.")


@click.command()
@click.argument("config", type=ConfigType(), required=False)
@opens_experiment()
@click.option(
    "--new",
    type=click.Path(path_type=Path),
    metavar="TABLE",
    help="Predict the samples of this table, which has no response; - is CSV from standard input.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --new: predict by a model that `thesiskit export` wrote, in place of a CONFIG.",
)
@click.option(
    "--output",
    type=Target(),
    metavar="FILE",
    help="With --new: write the predictions to this CSV file. Default: -, standard output.",
)
@ARM
@ALL_ARMS
def predict(config, asked, force, new, model, output, arms, all_arms) -> None:
    """Predict the response of the test cases, or of new cases.

    With --new TABLE the models are fitted to all samples that have a response. The fit is kept
    below results/EXPERIMENT/all-cases and used again. Methods are compared on the test samples
    first. Columns of TABLE are matched by name; medians and categories are those of the training
    samples. The predictions are a CSV table with a row for each sample and method: the more
    probable class and the probability of each class, or of a real response the median and the
    interval from 5% to 95%. Other columns compare new samples with the training samples.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv --output mine.yaml
    && thesiskit predict mine.yaml --new colon.csv --output predictions.csv
    """
    if config is None and model is None:
        raise click.UsageError("give a CONFIG, or a model with --model FILE --new TABLE")
    if new is None:
        given = {"--model": model, "--output": output, "--arm": arms, "--all-arms": all_arms}
        option = next((name for name, value in given.items() if value), None)
        if option is not None:
            raise click.UsageError(f"{option} is for new cases; give their table with --new TABLE")
        make_stage(config, asked, force)
        return
    _either(arms, all_arms)
    new = as_file(new)
    if output is not None and output.exists() and new.exists() and output.samefile(new):
        raise click.UsageError("--output is the table of --new; give it another name")
    if model is not None:
        from thesiskit.fitted import load_model

        if config is not None:
            raise click.UsageError("--model FILE has all that is needed; leave out CONFIG")
        if asked.options or force:
            option = (*asked.options, "--force")[0]
            raise click.UsageError(f"--model FILE is fitted already; leave out {option}")
        fitted = load_model(model)
        table = fitted.read(new)
        fitted = fitted.select_arms(arms) if arms else fitted
    else:
        fitted, table = _fitted(asked, config, force, arms, all_arms, new)
    tell_notes([*table.notes, *fitted.gaps(table)])
    _warn(fitted)
    frame = fitted.frame(table)
    tell_notes(fitted.remarks(frame))
    from thesiskit.files import write_text
    from thesiskit.report.layout import csv_text

    text = csv_text(frame)
    if output in (None, STANDARD):
        click.echo(text, nl=False)
        return
    write_text(output, text)
    cases = f"{len(frame) // len(fitted.arms):,} cases"
    click.echo(f"predict: {cases} by {_count(fitted)} -> {output}")


def _either(arms: tuple[str, ...], all_arms: bool) -> None:
    if arms and all_arms:
        raise click.UsageError("--arm and --all-arms: give one of them")


def _fitted(asked: Asked, config: Path, force: bool, arms: Any, all_arms: bool, new: Path | None):
    """Return the model of a config, fitted now if it is not yet, and the new cases, if any."""
    # faults of a config or a table are found before anything is fitted
    experiment = replace(asked, yes=None).open(config, all_cases=True)
    arms = experiment.check_arms(arms)
    table = None if new is None else experiment.read_new(new)
    experiment.check_needs(yes=bool(asked.yes))
    started = time.perf_counter()
    if not arms and not all_arms:
        arms = experiment.recommended(watch=watch, yes=bool(asked.yes))
    made = experiment.fit(watch=watch, force=force)
    tell_notes(experiment.notes)
    fitted = experiment.model(arms)
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(
        f"fit: {_count(fitted)}, {fitted.cases:,} cases -> {experiment.results.folder} ({state})",
        err=True,
    )
    return fitted, table


def _count(fitted) -> str:
    return f"{len(fitted.arms)} arms" if len(fitted.arms) > 1 else next(iter(fitted.arms))


def _warn(fitted) -> None:
    """Say which arms should not be relied on."""
    tell_notes([f"{arm.name}: {arm.warning}" for arm in fitted.arms.values() if arm.warning])


@click.command()
@ONE_CONFIG
@opens_experiment()
@click.argument("file", type=Target())
@ARM
@ALL_ARMS
def export(config, asked, force, file, arms, all_arms) -> None:
    """Write a fitted model to a file, which predicts new cases without config and results.

    The model is fitted to all cases that have a response, as with `thesiskit predict --new`. Use
    the file with `thesiskit predict --model FILE --new TABLE`, or in Python with
    thesiskit.load_model. It holds names, medians and categories; mixture and logistic models also
    hold the training cases as codes.

    Example:  thesiskit export breast-cancer breast-cancer.model
    """
    _either(arms, all_arms)
    fitted, _ = _fitted(asked, config, force, arms, all_arms, None)
    _warn(fitted)
    fitted.save(file)
    click.echo(f"export: {_count(fitted)}, {fitted.cases:,} cases -> {file}")
