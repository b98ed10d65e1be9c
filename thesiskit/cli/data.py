"""Commands about data: the published ones, a config for a file of the user's, and new samples."""

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
    print_notes,
    watch,
)
from thesiskit.errors import ThesiskitError, UserError, list_some, pluralise
from thesiskit.registry import shipped


@click.group()
def data() -> None:
    """List the published data that experiments use, or print one as a table.

    Example:  thesiskit data list
    """


@data.command("list")
@VERBOSE
def list_data() -> None:
    """List the published data sets; nothing is downloaded.

    Example:  thesiskit data list
    """
    from thesiskit.datasets.published import published

    for name, source in published().items():
        click.echo(f"{name:14} {source.published}")


@data.command()
@click.argument("name")
@VERBOSE
def show(name) -> None:
    """Print a published data set as CSV, the class first.

    Example:  thesiskit data show colon > colon.csv
    """
    from thesiskit.datasets.published import csv_lines

    for line in csv_lines(name):
        click.echo(line)


@click.command("fetch")
@click.argument("name", type=click.Choice(["microarray"]))
@VERBOSE
def fetch_data(name) -> None:
    """Download published data that are not included, so that `run` needs no network.

    Tables come from a public repository, are checked, and are stored in your cache. Tables in the
    folder THESISKIT_DATA_DIR are not downloaded.

    Example:  thesiskit fetch microarray
    """
    from thesiskit.datasets.published import TABLES, fetch, held

    lacking = [one for one in TABLES if not held(one)]
    size = sum(int(TABLES[one]["kilobytes"]) for one in lacking) / 1000
    click.echo(f"{len(lacking)} of {len(TABLES)} tables to download: {size:.1f} MB")
    for one in watch(lacking, len(lacking), f"fetch {name}"):
        fetch(one)
    click.echo(f"{name}: {', '.join(sorted({str(held(one)[0].parent) for one in TABLES}))}")


TABLE = click.argument("table", type=click.Path(path_type=Path))
# how tables of predictions begin, of classes and of real responses
PREDICTIONS = (b"id,method,predicted,", b"id,method,mean,median,")
STANDARD = Path("-")  # standard input or output, in place of a file


def as_file(table: Path, name: str = "standard input.csv") -> Path:
    """Return the path of a table; of standard input, that of a temporary file with a name."""
    if table != STANDARD:
        return table
    from thesiskit.datasets.reading import standard_input

    return click.get_current_context().with_resource(standard_input(name))


def asks(command: Any) -> Any:
    """Give a command the options that describe a table."""
    for option in (
        STRICT,
        click.option("--thousands", metavar="SEP", help="Thousands separator, such as . or '."),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal separator. Default: detected.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="Text that marks a missing value, such as a point. May be repeated.",
        ),
        click.option("--response", metavar="COLUMN", help="Column to predict. Default: guessed."),
    ):
        command = option(command)
    return command


@click.command()
@TABLE
@asks
@VERBOSE
def check(table: Path, **asked: Any) -> None:
    """Check a table for problems that could bias predictions (duplicates, leaks, batch effects).

    TABLE is a file that `thesiskit init` takes, - for CSV from standard input, or a config. Each
    warning has a code: D01 is about duplicate samples, D02 about a leak of the response. `init`
    prints the same warnings, and the report has a table of all checks. `data.accept: [D02]` in a
    config silences a warning.

    Example:  thesiskit data show colon > colon.csv && thesiskit check colon.csv
    """
    from thesiskit.datasets.checking import warnings_of
    from thesiskit.datasets.reading import shown
    from thesiskit.start import Hints, draft_config
    from thesiskit.start import check as check_config

    file = table
    if table.suffix in (".yaml", ".yml") or str(table) in shipped():
        for name, value in asked.items():
            if value:
                raise click.UsageError(f"--{name} is for tables, not for a config. Fix: remove it")
        checks, notes = check_config(shipped().get(str(table), table))
    else:
        file = as_file(table)
        _, checks, notes = draft_config(file, Hints(**asked), file.parent)
    print_notes(notes)
    for line in warnings_of(checks):
        click.echo(line)
    codes: dict[str, list[str]] = {"warning": []}
    for code, status, _ in checks:
        codes.setdefault(status, []).append(code)
    counts = [pluralise(len(codes.pop("warning")), "warning")]
    counts += [f"{status}: {', '.join(codes[status])}" for status in codes]
    click.echo(f"{shown(file)}: {'; '.join(counts)}", err=True)


@click.command()
@TABLE
@asks
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the config to this new file. Default: print it.",
)
@VERBOSE
def init(table: Path, output: Path | None, **asked: Any) -> None:
    """Write a config for a table, which runs as it is.

    TABLE is text (.csv, .tsv, .txt, also packed as .gz), Parquet, PLINK .bed, AnnData
    .h5ad, FASTA, or lines of states; - is CSV from standard input, which --output NAME.yaml saves
    as NAME.csv. Guesses are printed, and marked in comments of the config. Paths in the config
    start in the folder of --output, or in the current folder.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv > mine.yaml
    """
    from thesiskit.datasets.checking import warnings_of
    from thesiskit.files import create
    from thesiskit.start import Hints, draft_config

    from_pipe, output = table == STANDARD, None if output == STANDARD else output
    folder = Path() if output is None else output.parent
    table_copy = output.with_suffix(".csv") if from_pipe and output is not None else None
    if table_copy is not None and table_copy == output:
        raise UserError(f"{output}: a config is YAML\nFix: --output NAME.yaml")
    for path in filter(None, (output, table_copy)):
        if os.path.lexists(path):
            raise UserError(f"{path}: exists already. Fix: choose another name, or remove it")
    if not folder.is_dir():
        raise UserError(f"{output}: there is no folder {folder}. Fix: create it")
    file = as_file(table, "table.csv" if table_copy is None else table_copy.name)
    text, checks, notes = draft_config(file, Hints(**asked), file.parent if from_pipe else folder)
    if from_pipe and output is None:
        notes.append("the config expects table.csv. Fix: save the table, or add --output NAME.yaml")
    print_notes([*warnings_of(checks), *notes])
    if output is None:
        click.echo(text, nl=False)
        return
    if table_copy is not None:
        with file.open("rb") as content, create(table_copy) as target:
            shutil.copyfileobj(content, target)
    with open(output, "x", encoding="utf-8") as config:
        config.write(text)
    click.echo(f"Wrote {output}. Next: thesiskit run {output}", err=True)


class Target(click.Path):
    """A file to write, which replaces a file of that name, but never a link, pipe or device."""

    def __init__(self):
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """Return the path; fail where there is a link, a pipe or a device."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            text = f"{path} is a link, a pipe or a device. Fix: give the name of a file"
            self.fail(text, param, ctx)
        return path


NEW = click.option(
    "--new",
    type=click.Path(path_type=Path),
    metavar="TABLE",
    help="Table of new samples; - is CSV from standard input.",
)
METHOD = click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Method to use, by its name or a unique part of it, such "
    "as pool. May be repeated. Default: the method with the lowest cross-validated log loss, "
    "or class frequencies if no method is clearly better.",
)
ALL_METHODS = click.option(
    "--all-methods", is_flag=True, help="Use all methods, not only the best one."
)


@click.command()
@click.argument("config", type=ConfigType(), required=False)
@opens_experiment()
@NEW
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --new: model file of `thesiskit export`, in place of a CONFIG.",
)
@click.option(
    "--output",
    type=Target(),
    metavar="FILE",
    help="With --new: CSV file for predictions. Default: -, standard output.",
)
@click.option(
    "--prevalence",
    multiple=True,
    metavar="CLASS=SHARE",
    help="With --new: class prevalence. May be repeated, such as tumour=0.02; the other "
    "classes share the rest as in the training samples. Default: the shares of training samples.",
)
@METHOD
@ALL_METHODS
def predict(config, asked, force, new, model, output, prevalence, methods, all_methods) -> None:
    """Predict the response of the test samples, or of new samples.

    With --new TABLE, methods are compared by cross-validation first, and the best one is fitted to
    all samples with a response. Columns of TABLE are matched by name. The predictions are CSV with
    a row for each sample and method: the predicted class and the probability of each class, or for
    a continuous response the mean, the median and the ends of the 50% and 90% intervals. Further
    columns compare new samples with the training samples. A sample too far from the training
    samples has no prediction: the column `note` gives the reason, and the exit code is 1.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv --output mine.yaml
    && thesiskit predict mine.yaml --new colon.csv --output predictions.csv
    """
    if config is None and model is None:
        raise click.UsageError("no model is given. Fix: give a CONFIG, or --model FILE --new TABLE")
    if new is None:
        values = {"--model": model, "--output": output, "--method": methods}
        values |= {"--prevalence": prevalence, "--all-methods": all_methods}
        if option := next((name for name in values if values[name]), None):
            raise click.UsageError(f"{option} is for new samples. Fix: add --new TABLE")
        make_stage(config, asked, force)
        return
    _either(methods, all_methods)
    from thesiskit.files import begins_with, write_text
    from thesiskit.report.layout import csv_text

    new, prevalence = as_file(new), prevalence or None
    if model is not None and config is not None:
        raise click.UsageError("--model FILE replaces CONFIG. Fix: remove CONFIG")
    if output not in (None, STANDARD):
        _check_output(
            asked, config, output, [model, new], lambda p: begins_with(p, *PREDICTIONS), force
        )
    again = force and (model is None or output is None)
    inputs = _opened(asked, config, model, again, methods, all_methods, new, False, prevalence)
    fitted, table, page_names = inputs
    print_notes([*table.notes, *fitted.gaps(table), *fitted.assumed(prevalence)])
    _warn(fitted)
    frame = fitted.frame(table, prevalence)
    print_notes(fitted.remarks(frame))
    text = csv_text(frame)
    if output in (None, STANDARD):
        click.echo(text, nl=False)
    else:
        write_text(output, text)
        samples = f"{len(frame) // len(fitted.methods):,} samples"
        click.echo(f"Predicted {samples} with {_count(fitted, page_names)}; wrote {output}")
    if "note" in frame:
        ids = frame["id"][frame["note"] != ""].drop_duplicates().tolist()
        fault = f"{pluralise(len(ids), 'sample has', 'samples have')} no prediction"
        raise ThesiskitError(f"{fault}: {list_some(ids)}. Fix: scale them as the training samples")


@click.command("learning-curve")
@ONE_CONFIG
@opens_experiment(force=False)
@click.option(
    "--method",
    metavar="NAME",
    help="Method to use, by its name or a unique part of the name, for example pool. Default: as "
    "`thesiskit predict` chooses.",
)
def learning_curve(config, asked, method) -> None:
    """Predict the log loss with more samples.

    The method is fitted to half, three quarters and all samples of each training set, in four
    divisions into folds (or with the test set of the config), and always tested on the same
    samples. An inverse power law predicts the log loss (of a continuous response, the negative log
    density) with 1.5, 2 and 4 times as many samples, with 95% intervals. The results are a CSV file
    and a figure.

    Example:  thesiskit learning-curve breast-cancer --method "10 corrected"
    """
    from thesiskit.report.learning import write_curve
    from thesiskit.study.learning import LearningCurve

    experiment = replace(asked, yes=None).open(config, all_samples=True)
    curve = LearningCurve(experiment)
    methods = experiment.check_methods([method] if method else [])
    methods = methods or experiment.recommended(watch=watch, yes=bool(asked.yes))
    print_notes(experiment.notes)
    (name,) = methods or experiment.graph.work.methods("fit")
    sizes, losses = curve.measure(name, watch=watch)
    positive = curve.design.n_classes > 0
    for line in write_curve(curve.results, name, curve.n, sizes, losses, positive=positive):
        click.echo(line)


def _either(methods: tuple[str, ...], all_methods: bool) -> None:
    if methods and all_methods:
        raise click.UsageError("--method and --all-methods exclude each other. Fix: remove one")


def _check_output(
    options: Asked, config: Path | None, output, inputs: list, is_ours, force
) -> None:
    """Raise UserError for an output that would replace an input, or a file of somebody else."""
    from thesiskit.files import check_output

    if not output.exists():
        return
    files = [path for path in (config, *inputs) if path is not None]
    if config is not None:
        folder = config.parent if options.folder is None else options.folder
        data = replace(options, yes=None).open(config, all_samples=True).config.data
        files += [folder / name for name in ([] if data is None else data.files(folder))]
    beds = [path for path in files if path.suffix == ".bed"]
    files += [path.with_suffix(suffix) for path in beds for suffix in (".bim", ".fam", ".cov")]
    check_output(output, files, is_ours, force=force)


def _opened(asked, config, model, force, methods, all_methods, new, tested, prevalence=None):
    """Return the model of a file, or of a config, the new samples, and names of methods.

    tested : the new samples have a response.
    """
    if model is None:
        return _fitted(asked, config, force, methods, all_methods, new, tested, prevalence)
    from thesiskit.fitted import load_model

    if asked.options or force:
        option = (*asked.options, "--force")[0]
        raise click.UsageError(f"--model FILE is fitted already. Fix: remove {option}")
    fitted = load_model(model)
    table = fitted.read(new, tested=tested)
    return (fitted.select_methods(methods) if methods else fitted), table, {}


def _fitted(
    asked: Asked, config: Path, force, methods, all_methods, new, tested=False, prevalence=None
):
    """Return the model of a config, fitted now if it is not yet, and the new samples, if any."""
    # faults of a config or a table are found before anything is fitted
    experiment = replace(asked, yes=None).open(config, all_samples=True)
    methods = experiment.check_methods(methods)
    experiment.check_prevalence(prevalence)
    table = None if new is None else experiment.read_new(new, tested=tested)
    experiment.check_needs(yes=bool(asked.yes))
    started = time.perf_counter()
    if not methods and not all_methods:
        methods = experiment.recommended(watch=watch, yes=bool(asked.yes))
    made = experiment.fit(watch=watch, force=force)
    print_notes(experiment.notes)
    fitted, page_names = experiment.model(methods), experiment.page_names()
    state = f"{time.perf_counter() - started:.1f} s" if made else "already done"
    click.echo(
        f"fit: {_count(fitted, page_names)}, {fitted.samples:,} samples -> "
        f"{experiment.results.folder} ({state})",
        err=True,
    )
    return fitted, table, page_names


def _count(fitted, page_names: dict[str, str]) -> str:
    if len(fitted.methods) > 1:
        return f"{len(fitted.methods)} methods"
    (name,) = fitted.methods
    return f'"{page_names.get(name, name)}"'


def _warn(fitted) -> None:
    """Warn of methods whose chains have not converged."""
    methods = fitted.methods.values()
    print_notes([f"{method.name}: {method.warning}" for method in methods if method.warning])


@click.command()
@ONE_CONFIG
@opens_experiment()
@click.argument("file", type=Target())
@METHOD
@ALL_METHODS
def export(config, asked, force, file, methods, all_methods) -> None:
    """Write a fitted model to a file, which predicts new samples without config and results.

    The model is fitted to all samples with a response, as in `thesiskit predict --new`. Use the
    file with `thesiskit predict --model FILE --new TABLE`, or in Python with thesiskit.load_model.
    The file has names, medians and categories; those of mixture and logistic models also contain
    the training samples as codes.

    Example:  thesiskit export breast-cancer breast-cancer.model
    """
    from thesiskit.fitted.file import is_model

    _either(methods, all_methods)
    _check_output(asked, config, file, [], is_model, force)
    fitted, _, page_names = _fitted(asked, config, force, methods, all_methods, None)
    _warn(fitted)
    fitted.save(file)
    click.echo(f"export: {_count(fitted, page_names)}, {fitted.samples:,} samples -> {file}")


@click.command()
@click.argument("model", metavar="MODEL_OR_CONFIG")
@opens_experiment()
@NEW
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder for the page. Default: EXPERIMENT-on-TABLE in the results folder.",
)
@METHOD
@ALL_METHODS
@STRICT
def validate(model, asked, force, new, output, methods, all_methods) -> None:
    """Compare predictions of new samples with their responses.

    MODEL_OR_CONFIG is a model file of `thesiskit export`, or a config, which is fitted to all its
    samples. The response of TABLE has the name and the classes of the training table. The page has
    log loss, error, AUC and calibration, with 95% intervals and next to those of the training
    study; validation.csv and validation.json have the numbers.

    Example:  thesiskit data show colon > colon.csv && thesiskit init colon.csv --output mine.yaml
    && thesiskit validate mine.yaml --new colon.csv
    """
    from thesiskit.files import Results
    from thesiskit.report.validation import Validation

    if new is None:
        raise click.UsageError("there are no new samples. Fix: add --new TABLE")
    _either(methods, all_methods)
    new, config = as_file(new), None
    if model.endswith((".yaml", ".yml")) or model in shipped():
        config, model = ConfigType().convert(model, None, None), None
    fitted, table, names = _opened(asked, config, model, force, methods, all_methods, new, True)
    notes, frame = [*table.notes, *fitted.gaps(table)], fitted.frame(table, tested=True)
    notes += fitted.remarks(frame)
    print_notes([*notes])
    _warn(fitted)
    results = Results(asked.results, f"{fitted.experiment}-on-{new.stem}")
    results = results if output is None else Results(output, "")
    if new.resolve().parent == results.folder.resolve():
        raise UserError(f"{new}: the page would be written next to it. Fix: give another --output")
    validation = Validation(frame, table, fitted.classes, names, fitted.internal)
    validation.write(results, fitted.experiment, notes)
    click.echo("\n".join(validation.headline))
    click.echo(f"validate: {len(table.response):,} samples -> {results.folder}/validation.html")
