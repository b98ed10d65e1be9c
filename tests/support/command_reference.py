"""Writes docs/reference.md from the commands, and docs/config.md from the classes of configs.

`make docs` runs this file.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from thesiskit.cli import main
from thesiskit.config import Key, keys
from thesiskit.report.parts import PARTS

DOCS = Path(__file__).parents[2] / "docs"
MANY = 5  # an option that so many commands have is explained once, at the top
INTRODUCTION = """# Commands

`make docs` writes this page from the commands, so it says what `thesiskit COMMAND --help` says.

The examples run in an empty folder. The exit code of a command is 0 if it is done, 2 for a
mistake in the config, the data or the options, 1 for a failure, and 130 or 143 if interrupted.

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


# ---- keys of configs ----

KEYS = """# Config keys

`make docs` writes this page from the classes of configs, so it says what `thesiskit docs KEY` says.
`thesiskit docs --schema > config-schema.json` writes a JSON schema, with which editors complete and
check keys. (In the first line of a config, for editors that use the YAML language server:
`# yaml-language-server: $schema=config-schema.json`.)

A config is one YAML file. A key that thesiskit does not know is an error. `--set key=value`
overrides a key by its dotted name, for example `--set model.alpha_points=60`.

A config may contain mappings, lists, text, numbers, `true`, `false` and `null`. The following are
refused, with the line: numbers with leading zeros (some programs read `010` as 8; write 10, or
`'010'` for text), keys that are not text or are given twice, tags, aliases, a second document,
control characters, more than 10,000 values, and files above 1 MB. `0x1F`, `0b11` and `1_000` are
numbers; `yes`, `0o17`, dates and `1:30` are text.

Before anything is computed, thesiskit counts what the config needs: cells, fits, iterations,
memory and disk. If these are above 5 million cells, 50 million fits, 10^10 iterations, the memory
of the machine or 200 GB on disk, the command stops, unless you give `--yes`.
"""


def config_page() -> str:
    """Return the page of all keys, block by block, and of the parts of a report."""
    blocks = {key.name.partition(".")[0] for key in keys() if "." in key.name}
    sections: dict[str, list[Key]] = {"The experiment": []}
    texts = {key.name: key.text for key in keys()}
    for key in keys():
        block = key.name.partition(".")[0]
        if block not in blocks:
            sections["The experiment"].append(key)
        elif "." in key.name:
            title = f"`{block}`" + (f", with `{key.block}`" if key.block else "")
            sections.setdefault(title, []).append(key)
    page, said = KEYS, set()
    for title, listed in sections.items():
        page += f"\n## {title}\n\n"
        block = listed[0].name.partition(".")[0]
        if "." in listed[0].name and block not in said:
            page += f"{texts[block]}\n\n"
            said.add(block)
        page += "| key | default | meaning |\n|---|---|---|\n"
        for key in listed:
            default = key.default if key.default in ("", "required") else f"`{key.default}`"
            page += f"| `{key.name}` | {default} | {key.text} |\n"
    page += "\n## Parts of a report\n\n| part | what it shows |\n|---|---|\n"
    return page + "".join(f"| `{name}` | {part.about} |\n" for name, part in PARTS.items())


if __name__ == "__main__":
    (DOCS / "reference.md").write_text(reference(), encoding="utf-8")
    (DOCS / "config.md").write_text(config_page(), encoding="utf-8")
