"""What is kept of a cell that is not done, from which a killed run goes on."""

import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from thesiskit.errors import ResultsError
from thesiskit.files import read_arrays, read_key, remove, write_arrays
from thesiskit.models import chains
from thesiskit.models.chains import Arrays


class Unfinished:
    """Finished fits of a cell, and the state of the one that runs.

    They are in one file that is replaced now and then.
    """

    def __init__(self, path: Path, key: str):
        self.path, self.key = path, f"unfinished {key}"
        self.fits: dict[int, Arrays] = {}
        self.running: tuple[int, Arrays] = (-1, {})
        self.seconds = 0.0  # before this run
        with suppress(ResultsError):  # damaged, or another version's: begin anew
            if read_key(path, thorough=True) == self.key:
                self._read()
        self.started = self.written = time.monotonic()

    def _read(self) -> None:
        for name, values in read_arrays(self.path).items():
            kind, _, rest = name.partition("/")
            place, _, name = rest.partition("/")
            if kind == "fit":
                self.fits.setdefault(int(place), {})[name] = values
            elif kind == "running":
                self.running = (int(place), self.running[1] | {name: values})
            elif kind == "spent":
                self.seconds = float(values)

    def finish(self, place: int, fit: Arrays) -> None:
        """Keep a finished fit; write once a while."""
        self.fits[place] = fit
        self.running = (-1, {})
        stopped = chains.stopping.is_set()
        if stopped or time.monotonic() - self.written > chains.SAVE_SECONDS:
            self._write()
        if stopped:
            raise chains.Stopped

    def begin(self, place: int, saved: Arrays | None = None, seconds: float = 0.0) -> "Fit":
        """Return where a fit is kept, which goes on from what is known of it, or else `saved`."""
        if self.running[0] == place:
            saved = dict(self.running[1])
            seconds = float(saved.pop("seconds"))
        return Fit(self, place, saved, seconds)

    def save(self, place: int, state: Arrays) -> None:
        """Write what a running fit needs to go on."""
        self.running = (place, state)
        self._write()

    def remove(self) -> None:
        """Remove the file."""
        remove(self.path)

    @property
    def spent(self) -> float:
        """Seconds since the cell was first begun, without those between runs."""
        return self.seconds + time.monotonic() - self.started

    def _write(self) -> None:
        arrays = {
            f"fit/{place}/{name}": values
            for place, fit in self.fits.items()
            for name, values in fit.items()
        }
        place, state = self.running
        arrays |= {f"running/{place}/{name}": values for name, values in state.items()}
        write_arrays(self.path, self.key, arrays | {"spent": np.array(self.spent)})
        self.written = time.monotonic()


class Fit:
    """Where a running fit is kept, and the seconds that it has taken, in all runs."""

    def __init__(self, unfinished: Unfinished, place: int, saved: Arrays | None, seconds: float):
        self.unfinished, self.place, self.saved = unfinished, place, saved
        self.before, self.started = seconds, time.perf_counter()

    @property
    def seconds(self) -> np.ndarray:
        """Seconds so far."""
        return np.array(self.before + time.perf_counter() - self.started)

    def save(self, state: Arrays) -> None:
        """Keep the state of the chains."""
        self.unfinished.save(self.place, state | {"seconds": self.seconds})
