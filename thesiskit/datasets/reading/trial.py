"""Reading with a library that can crash on a damaged file, or loop without end.

A child process tries first, for a limited time.
"""

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from thesiskit.datasets.reading.text_files import opened, shown
from thesiskit.errors import DataError

PATIENCE, SPEED = 60, 2e6  # seconds, and bytes a second, after which a trial is ended
Result = TypeVar("Result")


def tried(path: Path, read: Callable[[], Result]) -> Result:
    """Return what `read` returns of a file, or raise what it raises, if it comes to an end.

    Raises
    ------
    DataError: it does not, or it ends the process.
    """
    with opened(path) as file:
        seconds = PATIENCE + os.fstat(file.fileno()).st_size / SPEED
    if not _ends(read, seconds):
        raise DataError(f"{shown(path)}: damaged: it cannot be read to its end; write it again")
    return read()


def _ends(work: Callable[[], object], seconds: float) -> bool:
    """Whether some work ends in time, with a result or an error, in a child process."""
    with warnings.catch_warnings():  # of threads, which the child does not need
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(max(1, int(seconds)))
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)
