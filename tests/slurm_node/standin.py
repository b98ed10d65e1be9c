"""What stands in for cells in jobs: each takes seconds and keeps how far it is when stopped.

standin.py FOLDER SECONDS EACH --share I/N: share I has EACH cells; a cell is done when
FOLDER/cellK is there, and FOLDER/cellK.log has a line for each attempt.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STEP = 0.1  # seconds


def make(path: Path, seconds: float, stop: list[int]) -> bool:
    """Make a cell, or go on with it; whether it is done."""
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
        while done < seconds and not stop:
            time.sleep(STEP)
            done += STEP
            if child.poll() is not None and not stop:
                time.sleep(2)  # a cancelled job's are told too
                if stop:
                    break
                raise RuntimeError(f"the child ended: {child.returncode}")
    finally:
        child.kill()
        child.wait()
    if done < seconds:
        kept.write_text(str(done))
        return False
    kept.write_text("done")
    os.replace(kept, path)
    return True


def main(folder: str, seconds: str, each: str, _: str, share: str) -> int:
    """Make the cells of a share; 130 where a signal stopped it, as the command line says it."""
    place = int(share.split("/")[0]) - 1
    stop: list[int] = []  # an event has a lock, for which the handler of a second signal would wait
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    names = [f"cell{i}" for i in range(place * int(each), (place + 1) * int(each))]
    done = all(make(Path(folder) / name, float(seconds), stop) for name in names)
    print(f"{'done' if done else 'stopped'}: {' '.join(names)}")
    return 0 if done else 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
