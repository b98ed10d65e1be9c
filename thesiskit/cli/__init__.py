"""The command line: it parses, calls and prints.

Heavy packages are imported inside the commands, so that `--help` is quick.
"""

import json
from dataclasses import replace
from pathlib import Path

import click

from thesiskit import __version__
from thesiskit.cli.batch import batch
from thesiskit.cli.console import (
    ANY_CONFIGS,
    EXHIBIT,
    MANY_CONFIGS,
    ONE_CONFIG,
    STRICT,
    VERBOSE,
    Commands,
    make_stage,
    opens_experiment,
    run_stage,
    write_report,
)
from thesiskit.cli.data import (
    check,
    data,
    export,
    fetch_data,
    init,
    learning_curve,
    predict,
    validate,
)
from thesiskit.errors import UserError
from thesiskit.models import MODELS
from thesiskit.registry import exhibits, fit_command, folders, name_of


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with:  thesiskit run null",
)
@click.version_option(__version__, "--version", prog_name="thesiskit")
@VERBOSE
def main() -> None:
    """Classify with few samples and many features, and reproduce Longhai Li's thesis (2007).

    A YAML file, the config, describes an experiment; `thesiskit init TABLE` writes one for your
    table, and `thesiskit run CONFIG` computes all of its stages. Each stage has a command, too:
    simulate, select, fit-naive, fit-normal or fit-mixture, predict and report; for sequences and
    discrete features simulate, compress, fit-logistic, predict and report. A stage reads files of
    the stages before it in results/EXPERIMENT/, and computes what is missing.

    A CONFIG is a path, a name of `thesiskit list`, or a figure or table of the thesis, such as
    "Figure 2.7".
    """


@main.command("list")
@VERBOSE
def list_configs() -> None:
    """List the built-in experiments: minutes on two cores, title, exhibits of the thesis.

    Example:  thesiskit list
    """
    from thesiskit.yamlfile import read_yaml

    reproduced = exhibits()
    for folder, paths in folders().items():
        click.echo(folder)
        for path in paths:
            tree, _ = read_yaml(path)
            minutes = f"{tree['minutes']:g} min" if tree.get("minutes") is not None else ""
            shown = f" [{', '.join(reproduced[path.stem])}]" if path.stem in reproduced else ""
            click.echo(f"  {path.stem:32}{minutes:>8}  {tree.get('title', '')}{shown}")
    click.echo(
        "Run one with `thesiskit run NAME`, or a group with `thesiskit run FOLDER`; "
        "`thesiskit show NAME` prints a config."
    )


@main.command()
@ONE_CONFIG
@VERBOSE
def show(config) -> None:
    """Print a config, as a start for your own.

    Example:  thesiskit show breast-cancer > mine.yaml
    """
    from thesiskit.yamlfile import read_yaml

    read_yaml(config)  # what is no config is not printed
    click.echo(config.read_text(encoding="utf-8"), nl=False)


@main.command()
@click.argument("key", required=False)
@click.option("--schema", is_flag=True, help="Print a JSON schema of configs, for editors.")
@VERBOSE
def docs(key, schema) -> None:
    """Describe a key of configs, such as model.orders, or list all keys.

    The name of a block, such as model, describes all its keys; `parts` lists sections of reports.

    Example:  thesiskit docs model.orders
    """
    from thesiskit.config import described
    from thesiskit.config import schema as schema_of

    if schema and key:
        raise click.UsageError("--schema covers all keys. Fix: remove the key")
    if schema:
        click.echo(json.dumps(schema_of(), indent=2))
    elif key == "parts":
        from thesiskit.report.parts import PARTS

        for name, part in PARTS.items():
            click.echo(f"{name}: {part.about}")
    else:
        for line in described(key):
            click.echo(line)


for command in (batch, data, init, check, predict, export, validate, learning_curve, fetch_data):
    main.add_command(command)

STAGES = {  # commands that compute a stage, and their help
    "simulate": """Read or simulate data, and divide samples into training and test sets.

    Example:  thesiskit simulate naive-simulation
    """,
    "select": """Select the features most associated with the response, in each training set.

    Example:  thesiskit select naive-simulation
    """,
}
EXAMPLES = {  # of a kind of model, a config
    "naive-bayes": "naive-simulation",
    "mixture": "mixture-simulation",
    "normal": "colon-normal",
    "pool": "colon-pool",
    "logistic": "hmm --set model.iterations=4000",
}
for kind in MODELS.names:
    STAGES[fit_command(kind)] = f"""Fit the model of experiments with `model.kind: {kind}`.

    Example:  thesiskit {fit_command(kind)} {EXAMPLES.get(kind, "CONFIG")}
    """
for name, text in STAGES.items():
    main.command(name, help=text)(ONE_CONFIG(opens_experiment()(make_stage)))


@main.command()
@ONE_CONFIG
@opens_experiment()
@click.option(
    "--list",
    "listed",
    type=click.IntRange(0, 10**9),
    default=0,
    metavar="N",
    help="Print the N groups present in the most training samples.",
)
@click.option(
    "--pattern", help="Print the group of this pattern, such as CC or size=small, form=round."
)
@click.option(
    "--order",
    type=click.IntRange(0, 10**9),
    help="Groups of the model of this order. Default: the largest order.",
)
def compress(config, asked, force, listed, pattern, order) -> None:
    """Group the patterns that are present in the same training samples.

    A group of patterns of sequences is printed as its longest pattern, with a bar where the
    shortest begins: V_|CC is CC, _CC and V_CC. A group of patterns of features is printed as the
    values that all its patterns fix, and in brackets values that only some of them fix.

    Example:  thesiskit compress text --list 10
    """
    experiment = make_stage(config, asked, force)
    if listed or pattern is not None:
        for line in experiment.list_groups(order, listed, pattern):
            click.echo(line)


@main.command()
@ONE_CONFIG
@opens_experiment()
def report(config, asked, force) -> None:
    """Write the tables, the figures and the page of a finished experiment.

    Example:  thesiskit run null && thesiskit report null --force
    """
    write_report(replace(asked, jobs=0).open(config), force)  # a report is written here


@main.command()
@ANY_CONFIGS
@EXHIBIT
@opens_experiment()
@STRICT
@click.option(
    "--quick",
    is_flag=True,
    help="Take a first look at your table: five folds, three methods, no nested cross-validation. "
    "Results go to a folder NAME-quick.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be computed, with memory and disk needs."
)
def run(configs, exhibit, asked, force, dry_run) -> None:
    """Compute all stages of one or more experiments, and write their reports.

    Stages that were computed with the same config, data and code are skipped. On a cluster, use
    `thesiskit batch`.

    Example:  thesiskit run naive-simulation --set data.alpha=100
    """
    configs += [exhibit] if exhibit else []
    if not configs:
        raise click.UsageError("Missing argument 'CONFIG...'.")

    def run_all_stages(experiment) -> None:
        if dry_run:
            for line in experiment.plan(force=force):
                click.echo(line)
            return
        for stage in experiment.stages:
            run_stage(experiment, stage, force, ahead=True)
        write_report(experiment, force)

    failed = asked.for_each(configs, run_all_stages)
    if not dry_run:
        from thesiskit.report.page import write_index  # once the server of the workers has started

        but = " but those that failed" if failed else ""
        click.echo(f"All reports{but}: {write_index(asked.results)}")
    if failed:
        raise click.exceptions.Exit(failed)


@main.command()
@MANY_CONFIGS
@opens_experiment(force=False, jobs=False)
@click.option("--partial", is_flag=True, help="Use the replicates before the first unfinished one.")
def verify(configs, asked, partial) -> None:
    """Compare numbers printed in the thesis with finished experiments.

    The result is a page, verify/verify.html in the results folder, and the same table as CSV.

    Example:  thesiskit run correlation-lattice && thesiskit verify correlation-lattice
    """
    from thesiskit.report.page import write_index
    from thesiskit.report.verify import verify as hold_against

    records = []
    for config in configs:
        experiment = asked.open(config)
        done, lack = experiment.count_finished()
        if lack is not None and not (partial and done):
            given = "".join(f" {part}" for part in asked.options)
            given += f" --results {asked.results}" if asked.results != Path("results") else ""
            hint = f", or add --partial for the first {done}" if done else ""
            what = str(lack).partition(". Fix: ")[0]
            raise UserError(f"{what}. Fix: run `thesiskit run {name_of(config)}{given}`{hint}")
        if lack is not None:
            experiment = asked.open(config, f"replicates={done}")
        records.append(experiment.record())
    page, summary = hold_against(records, asked.results)
    click.echo(f"{summary}\n{page}")
    write_index(asked.results)
