"""Writes docs/reference.md from the commands themselves; `make docs` runs this file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from thesiskit.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
MANY = 5  # an option that so many commands have is explained once, at the top
INTRODUCTION = """# Commands

`make docs` writes this page from the commands, so it says what `thesiskit COMMAND --help` says.

The examples use configs of the project. The exit code of a command is 0 if it is done, 2 for a
mistake in the config, the data or the options, 1 for a failure, and 130 if it was interrupted.

## Options of most commands

"""


def commands(
    group: click.Group = main, prefix: str = "thesiskit"
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, with its full name; those of groups come last."""
    for name, command in sorted(
        group.commands.items(), key=lambda item: isinstance(item[1], click.Group)
    ):
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def example(command: click.Command) -> str:
    """Return the example in the help of a command, "" if it has none."""
    return " ".join((command.help or "").partition("Example:")[2].split())


def options(command: click.Command, context: click.Context) -> dict[str, str]:
    """Return how each option is written, with its help."""
    records = [
        one.get_help_record(context) for one in command.params if isinstance(one, click.Option)
    ]
    return dict(record for record in records if record is not None)


def table(rows: dict[str, str]) -> str:
    """Return a Markdown table of options."""
    cells = [(f"`{name}`", text) for name, text in rows.items()]
    lines = ["| option | meaning |", "|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return "\n".join(lines)


def reference() -> str:
    """Return the whole page."""
    listed = [
        (name, command, click.Context(command, info_name=name)) for name, command in commands()
    ]
    rows = {name: options(command, context) for name, command, context in listed}
    times = Counter(item for mine in rows.values() for item in mine.items())
    shared = {name: text for (name, text), count in times.items() if count >= MANY}
    page = INTRODUCTION + table(shared) + "\n"
    for name, command, context in listed:
        said = " ".join((command.help or "").partition("Example:")[0].replace("\n\n", "\0").split())
        paragraphs = said.replace("\0 ", "\n\n").replace("\0", "").strip()
        usage = " ".join(command.collect_usage_pieces(context))
        page += f"\n## {name}\n\n`{name} {usage}`\n\n{paragraphs}\n\n"
        own = {key: text for key, text in rows[name].items() if key not in shared}
        if own:
            page += table(own) + "\n\n"
        common = [key.split(",")[-1].split()[0] for key in rows[name] if key in shared]
        others = ", ".join(f"`{option}`" for option in common)
        page += f"Other options: {others}.\n\n" if others else ""
        page += f"```sh\n{example(command)}\n```\n"
    return page


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
