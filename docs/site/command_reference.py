"""Writes docs/reference.md from the commands, and docs/config.md from the classes of configs.

Both pages are for people with their own data. The site also has a page of all commands and a page
of all keys, which make_site.py writes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from tables import TEXTS, markdown

from thesiskit.cli import main
from thesiskit.config import Key, keys
from thesiskit.report.parts import PARTS

DOCS = Path(__file__).parents[1]
MANY = 5  # an option of so many commands is explained once, at the top
OWN_COMMANDS, OWN_BLOCKS = TEXTS["own commands"], {"", *TEXTS["own blocks"]}
RARE_OPTIONS, RARE_KEYS = set(TEXTS["rare options"]), set(TEXTS["rare keys"])
N_WORDS = 30  # of a key's description in docs/config.md


def commands(
    group: click.Group = main, prefix: str = "thesiskit"
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, with its full name; subcommands come last."""
    for name, command in sorted(
        group.commands.items(), key=lambda item: isinstance(item[1], click.Group)
    ):
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def example(command: click.Command) -> str:
    """Return the example in the help of a command, "" if there is none."""
    return " ".join((command.help or "").partition("Example:")[2].split())


def options(command: click.Command) -> dict[str, str]:
    """Return the options of a command as the help shows them, each with its description."""
    context = click.Context(command)
    parameters = [option for option in command.params if isinstance(option, click.Option)]
    return dict(record for record in (p.get_help_record(context) for p in parameters) if record)


def option_table(rows: dict[str, str]) -> str:
    """Return a Markdown table of options."""
    return markdown(["option", "meaning"], [(f"`{name}`", text) for name, text in rows.items()])


def reference() -> str:
    """Return docs/reference.md: the commands and options for people with their own data."""
    rows, texts = [], {}
    for name in OWN_COMMANDS:
        command = main.commands[name]
        rows.append((f"`{name}`", (command.help or "").partition("\n")[0]))
        for option, text in options(command).items():
            if not RARE_OPTIONS & {word.strip(",") for word in option.split()}:
                texts[f"`{option}`", sentences(text)[0]] = None
    page = f"{TEXTS['reference']}\n{markdown(['command', 'purpose'], rows)}"
    return f"{page}\n\n{markdown(['option', 'meaning'], texts)}\n"


def all_commands() -> str:
    """Return the page of all commands, with usage, help, options and example."""
    rows = {name: options(command) for name, command in commands()}
    times = Counter(
        item for options_of_command in rows.values() for item in options_of_command.items()
    )
    shared = {name: text for (name, text), count in times.items() if count >= MANY}
    page = f"{TEXTS['commands']}\n{option_table(shared)}\n"
    for name, command in commands():
        usage = " ".join(command.collect_usage_pieces(click.Context(command)))
        paragraphs = (command.help or "").partition("Example:")[0].strip().split("\n\n")
        about = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        page += f"\n## {name}\n\n`{name} {usage}`\n\n{about}\n\n"
        own = {key: text for key, text in rows[name].items() if key not in shared}
        page += f"{option_table(own)}\n\n" if own else ""
        others = [f"`{key.split(',')[-1].split()[0]}`" for key in rows[name] if key in shared]
        page += f"Other options: {', '.join(others)}.\n\n" if others else ""
        page += f"```sh\n{example(command)}\n```\n"
    return page


# ---- keys of configs ----


def sentences(text: str) -> list[str]:
    """Return the sentences of a description."""
    return re.split(r"(?<=[a-z0-9)`][.])\s+(?=[A-Z`])", text)


def shortened(key: Key) -> str:
    """Return the first sentences of a key's description, without those of other data."""
    tag = key.name.rpartition(".")[2]
    text = ""
    for sentence in sentences(key.text):
        word = re.match("`([^`]+)`:", sentence)
        if word and tag in ("source", "kind"):
            text += f" {sentence}" if f"{tag}: {word[1]}" in OWN_BLOCKS else ""
        elif not text or len(f"{text} {sentence}".split()) <= N_WORDS:
            text += f" {sentence}"
    return text.strip()


def own_keys() -> list[Key]:
    """Return the keys for people with their own data, once each, with short descriptions."""
    found: dict[str, Key] = {}
    for key in keys():
        if key.block in OWN_BLOCKS and not RARE_KEYS & set(key.name.split(".")):
            first = found.setdefault(key.name, key._replace(text=shortened(key)))
            if key.block != first.block:
                word = key.block.rpartition(" ")[2]
                other = "" if key.default == first.default else f"; {word}: {key.default}"
                found[key.name] = first._replace(
                    block=f"{first.block}, {word}",
                    default=first.default + other if key.default else first.default,
                )
    return list(found.values())


def key_tables(listed: Iterable[Key]) -> str:
    """Return a section with a table of keys for each block."""
    sections: dict[str, list[Key]] = {}
    for key in listed:
        sections.setdefault(key.name.partition(".")[0], []).append(key)
    single = [rows[0] for rows in sections.values() if len(rows) == 1]
    blocks = {f"`{block}`": rows[1:] for block, rows in sections.items() if len(rows) > 1}
    page = ""
    for title, rows in {"The experiment": single, **blocks}.items():
        about = sections[title.strip("`")][0].text + "\n\n" if title in blocks else ""
        cells = [
            (
                f"`{key.name}`",
                key.block.partition(": ")[2],
                key.default if key.default in ("", "required") else f"`{key.default}`",
                key.text,
            )
            for key in rows
        ]
        page += f"\n## {title}\n\n{about}{markdown(['key', 'for', 'default', 'meaning'], cells)}\n"
    return page


def config_page() -> str:
    """Return docs/config.md: the keys for people with their own data."""
    return TEXTS["config"] + key_tables(own_keys())


def all_keys() -> str:
    """Return the page of all keys, and of the parts of a report."""
    parts = [(f"`{name}`", part.about) for name, part in PARTS.items()]
    table = markdown(["part", "content"], parts)
    return f"{TEXTS['keys']}{key_tables(keys())}\n## Parts of a report\n\n{table}\n"


if __name__ == "__main__":
    (DOCS / "reference.md").write_text(reference(), encoding="utf-8")
    (DOCS / "config.md").write_text(config_page(), encoding="utf-8")
