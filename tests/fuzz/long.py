"""Run a fuzzer on thousands of inputs, and print counts as they grow, and what is wrong.

PYTHONPATH=. python tests/fuzz/long.py KIND START COUNT

KIND : models, tables (of ten one more is Parquet), configs, kills or results.
START : the first number; another one makes other inputs.
"""

import importlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support"), str(ROOT / "tests/fuzz")]
os.environ["THESISKIT_JOBS"] = "0"
warnings.filterwarnings("ignore", ".* encountered in cast")

from finished import finish  # noqa: E402
from harness import Tally  # noqa: E402

PART = {"kills": 10, "results": 20}  # inputs between two lines; of others 500


def main(kind: str, start: int, count: int) -> int:
    """Return the exit code: 1 if anything was wrong."""
    folder = Path(tempfile.mkdtemp(prefix=f"{kind}-"))
    module = importlib.import_module(f"test_{kind}")
    total, started = Tally(kind), time.time()
    made = folder / "made"
    made.mkdir()
    if kind == "models":
        models = module.export_all(made)
    elif kind in ("kills", "results"):
        finish(made)
    for first in range(start, start + count, part := PART.get(kind, 500)):
        numbers = range(first, min(first + part, start + count))
        work = folder / str(first)
        work.mkdir()
        if kind == "models":
            tally = module.fuzz(work, models, numbers)
        elif kind == "tables":
            tally = module.fuzz(work, numbers, range(numbers.start // 10, numbers.stop // 10))
        elif kind == "configs":
            tally = module.fuzz(numbers, work, 10)
        else:
            tally = module.fuzz(made, work, numbers)
        shutil.rmtree(work)
        total.counts += tally.counts
        total.wrong += tally.wrong
        total.seconds = max(total.seconds, tally.seconds)
        for wrong in tally.wrong:
            print("WRONG", wrong)
        print(f"{time.time() - started:,.0f} s", total, flush=True)
    shutil.rmtree(folder)
    return bool(total.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
