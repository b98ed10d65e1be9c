"""The errors that a user can see, each with its exit code.

Below them are functions that shorten what a message quotes.
"""

from collections.abc import Sequence


class ThesiskitError(Exception):
    """A failure that is no mistake of the user."""

    exit_code = 1
    shortened = True  # where it is printed


class UserError(ThesiskitError, ValueError):
    """A mistake in what the user gave: arguments, configs, data.  Also a ValueError."""

    exit_code = 2


class ChoiceError(UserError):
    """A name that does not exist; the message lists those that do, all of them."""

    shortened = False


class ConfigError(UserError):
    """A config that cannot be read or is not valid."""


class DataError(UserError):
    """Data that are missing, damaged or of the wrong kind."""


class ResultsError(ThesiskitError):
    """A results folder that cannot be written, or has files of another version."""


class UnreliableWarning(UserWarning):
    """Markov chains disagree, or have too few effective draws."""


INTERRUPTED = "Interrupted. Completed work is saved; run the same command to continue."
MOST_LINES, MOST_CHARACTERS = 3, 400  # the longest message


def shorten(value: object, most: int = 60) -> str:
    """Return a value as one line of at most `most` characters; unprintable ones are escaped."""
    text = str(value)
    shown = text[: 4 * most]  # a value can have megabytes
    shown = " ".join(part for part in shown.split(" ") if part)
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    whole = len(text) <= 4 * most and len(shown) <= most
    return shown if whole else shown[: most - 3].rstrip() + "..."


def quoted(value: object, most: int = 60) -> str:
    """Return a value as it is written in Python, shortened as `shorten` does."""
    if isinstance(value, str):
        return repr(value) if len(value) <= most else repr(value[: most - 3] + "...")
    return shorten(repr(value), most)


def list_some(values: Sequence[object], most: int = 5, length: int = 30) -> str:
    """Name the first of some values, each in so many characters."""
    shown = ", ".join(shorten(value, length) for value in values[:most])
    return shown + (f" and {len(values) - most:,} more" if len(values) > most else "")


def pluralise(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun; the plural is the singular with an s unless given."""
    return f"1 {singular}" if number == 1 else f"{number:,} {plural or singular + 's'}"


def brief(text: str) -> str:
    """Return a message shortened to MOST_LINES lines and MOST_CHARACTERS characters."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        more = f"({len(lines) - MOST_LINES + 1} more lines; -v shows them)"
        lines = [*lines[: MOST_LINES - 1], more]
    room = MOST_CHARACTERS - len(lines) + 1
    width = next(w for w in range(room, 0, -1) if sum(min(len(o), w) for o in lines) <= room)
    end = (width - 5) // 2  # the middle goes: what is wrong comes first, what to do comes last
    return "\n".join(
        line if len(line) <= width else f"{line[: width - 5 - end]} ... {line[len(line) - end :]}"
        for line in lines
    )


def memory_text(bytes_: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} GB"
