"""What was submitted to a cluster: results/EXPERIMENT/batch/submissions.json, one entry an array.

It says which jobs to ask Slurm about.  It never says what is done: result files do.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thesiskit.files import read_record, write_record

Entry = dict[str, Any]
Say = Callable[[str], object]


def submissions(folder: Path, say: Say = warnings.warn) -> list[Entry]:
    """Return the entries of an experiment's folder, oldest first.

    A damaged file is set aside, and `say` told so: jobs of it may run, but do no harm.
    """
    path = _path(folder)
    record = read_record(path)
    if record is not None:
        return record["arrays"]
    if not os.path.lexists(path):
        return []
    aside = next(p for n in range(10**6) if not (p := path.with_suffix(f".damaged-{n}")).exists())
    os.replace(path, aside)
    say(
        f"{path} was damaged and is now {aside.name}; what was submitted before is not known "
        "(squeue shows jobs that still run), what is done is"
    )
    return []


def append(folder: Path, entry: Entry, say: Say = warnings.warn) -> None:
    """Add an entry; it needs `ids`, a list of jobs."""
    entries = [*submissions(folder, say), entry]
    write_record(_path(folder), {"arrays": entries})


def _path(folder: Path) -> Path:
    return Path(folder) / "batch" / "submissions.json"
