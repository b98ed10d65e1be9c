"""What stands in for cells in jobs: each takes seconds and keeps how far it is when stopped."""

import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

STEP = 0.1  # seconds


@dataclass(frozen=True)
class StandIn:
    """A share whose cells are done when folder/ID stands; folder/ID.log has a line an attempt."""

    folder: Path
    ids: tuple[str, ...]
    seconds: float = 0.0

    def make(self, stop: threading.Event) -> bool:
        return all(self._cell(self.folder / name, stop) for name in self.ids)

    def _cell(self, path: Path, stop: threading.Event) -> bool:
        if path.exists():
            return True
        kept = path.with_suffix(".part")
        done = float(kept.read_text()) if kept.exists() else 0.0
        log = path.with_suffix(".log")
        with open(log, "a") as file:
            print(os.getpid(), round(done, 1), file=file)
        # cells have child processes too
        child = subprocess.Popen(["tail", "-f", log], stdout=subprocess.DEVNULL)
        try:
            while done < self.seconds and not stop.wait(STEP):
                done += STEP
                if child.poll() is not None:
                    raise RuntimeError(f"the child ended: {child.returncode}")
        finally:
            child.kill()
            child.wait()
        if done < self.seconds:
            kept.write_text(str(done))
            return False
        kept.write_text("done")
        os.replace(kept, path)
        return True
