"""Stored chains of a logistic experiment that go on, and why others cannot."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thesiskit.errors import ResultsError, UserError
from thesiskit.files import read_draws
from thesiskit.models.chains import Arrays

PART = re.compile(r"^(state|draws)-(\d+)-")  # of the name of an array of a chain


def stored_chains(
    path: Path, identity: dict[str, Any], iterations: int, saved_from: Callable[[Arrays], Arrays]
) -> Arrays | None:
    """Return the chains of a file of draws in the form of `running.run`; None if there are none.

    identity : what chains must share to go on from one another.
    saved_from : what the file's arrays have of chains.
    Raises UserError where they have done more iterations.
    """
    try:
        found = read_draws(path)
        if json.loads(str(found["identity"])) != identity:
            return None
        if int(found["done"]) <= iterations:
            return saved_from(found)
    except (ResultsError, KeyError):
        return None
    raise UserError(
        f"{path}: its chains have done {int(found['done']):,} iterations; "
        f"ask for as many with model.iterations, or make shorter ones with --force"
    )


def one_of(saved: Arrays, chain: int) -> Arrays:
    """Return a chain of several as the only one."""
    found = {name: values for name, values in saved.items() if not PART.match(name)}
    return found | {
        PART.sub(r"\1-0-", name): values
        for name, values in saved.items()
        if (part := PART.match(name)) and int(part[2]) == chain
    }


def as_one_of(saved: Arrays, chain: int) -> Arrays:
    """Return a chain that is the only one as one of several."""
    return {PART.sub(rf"\1-{chain}-", name): values for name, values in saved.items()}


def check_extension(path: Path, wanted: dict[str, Any], iterations: int) -> None:
    """Raise UserError where the chains of a file cannot go on."""
    if not path.exists():
        raise UserError(f"{path} is not there; leave out --extend to make it")
    stored = read_draws(path, command="fit-logistic")
    found = json.loads(str(stored["identity"]))
    differ = [name for name in sorted(found | wanted) if found.get(name) != wanted.get(name)]
    settings = [name for name in differ if name != "code"]
    if settings:
        name = settings[0]
        raise UserError(
            f"{path}: its chains were made with {name} {found.get(name)!r}, the config "
            f"says {wanted.get(name)!r}; only model.iterations may grow (without --extend "
            "these chains are made again)"
        )
    if differ:
        raise UserError(
            f"{path}: its chains were made by another version of the sampler, and cannot go on; "
            "--force in place of --extend makes them again"
        )
    if int(stored["done"]) > iterations:
        raise UserError(
            f"{path}: its chains have done {int(stored['done']):,} iterations; "
            f"model.iterations asks for {iterations:,}"
        )
