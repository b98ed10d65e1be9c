"""What is kept of a block whose stage is not done, from which a killed run goes on."""

import time

import numpy as np

from thesiskit.models import running
from thesiskit.report.store import UNFINISHED, Results


class Unfinished:
    """Finished fits of a block, and the state of the one that runs.

    They are in one file, unfinished/NNNN.npz, that is replaced now and then; `key` is what the
    file of the finished block will have.
    """

    def __init__(self, results: Results, number: int, key: str):
        self.results, self.number = results, number
        self.key = f"unfinished {key}"
        self.fits: dict[int, dict[str, np.ndarray]] = {}
        self.running: tuple[int, dict[str, np.ndarray]] = (-1, {})
        if results.key(UNFINISHED, number) == self.key:
            for name, values in results.load(UNFINISHED, number).items():
                kind, _, rest = name.partition("/")
                place, _, name = rest.partition("/")
                if kind == "fit":
                    self.fits.setdefault(int(place), {})[name] = values
                elif kind == "running":
                    self.running = (int(place), self.running[1] | {name: values})
        self.written = time.monotonic()

    def finish(self, place: int, fit: dict[str, np.ndarray]) -> None:
        """Keep a finished fit; write once a while."""
        self.fits[place] = fit
        self.running = (-1, {})
        if time.monotonic() - self.written > running.SAVE_SECONDS:
            self._write()

    def checkpoint(self, place: int) -> "Checkpoint":
        """Return where a fit that is begun is kept, with what is known of it."""
        return Checkpoint(self, place, self.running[1] if self.running[0] == place else {})

    def keep(self, place: int, state: dict[str, np.ndarray]) -> None:
        """Write what a running fit needs to go on."""
        self.running = (place, state)
        self._write()

    def _write(self) -> None:
        arrays = {
            f"fit/{place}/{name}": values
            for place, fit in self.fits.items()
            for name, values in fit.items()
        }
        place, state = self.running
        arrays |= {f"running/{place}/{name}": values for name, values in state.items()}
        self.results.save(UNFINISHED, self.number, self.key, arrays)
        self.written = time.monotonic()


class Checkpoint:
    """Where a running fit is kept, and the seconds it took before it was interrupted."""

    def __init__(self, unfinished: Unfinished, place: int, saved: dict[str, np.ndarray]):
        self.unfinished, self.place = unfinished, place
        self.seconds = float(saved.pop("seconds", 0.0))
        self.saved = saved or None
        self.started = time.perf_counter()

    def save(self, state: dict[str, np.ndarray]) -> None:
        """Keep the state of the chains."""
        seconds = self.seconds + time.perf_counter() - self.started
        self.unfinished.keep(self.place, state | {"seconds": np.array(seconds)})
