"""What a user of a wheel does, in an empty folder, without a compiler and without a network.

    PYTHON tests/support/wheel_user.py

PYTHON is that of an environment with the wheel.  `make wheel` and cibuildwheel run this.
"""

import csv
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang", "c++", "g++")
DEAD = "http://127.0.0.1:9"  # a proxy that does not answer
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run two experiments and predict new samples with the installed package."""
    package = Path(importlib.util.find_spec("thesiskit").origin).parent
    assert package != ROOT / "thesiskit", "the sources are imported, not the wheel"
    with tempfile.TemporaryDirectory() as name:
        folder, binaries = Path(name), Path(sys.executable).parent
        (folder / "bin").mkdir()
        for command in ("python", "thesiskit"):  # nothing else can be called by its name
            (folder / "bin" / command).symlink_to(binaries / command)
        environment = {
            "PATH": str(folder / "bin"), "HOME": name, "http_proxy": DEAD, "https_proxy": DEAD,
        }  # fmt: skip
        assert not [one for one in COMPILERS if (folder / "bin" / one).exists()]

        def thesiskit(*arguments: str) -> str:
            done = subprocess.run(
                [binaries / "thesiskit", *arguments],
                cwd=folder, env=environment, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
            return done.stdout

        thesiskit("run", "--smoke", "null", "text")
        for experiment in ("null-smoke", "text-smoke"):
            assert (folder / "results" / experiment / "report.html").is_file()
        (folder / "tissues.csv").write_text(thesiskit("data", "show", "colon"))
        (folder / "mine.yaml").write_text(thesiskit("init", "tissues.csv"))
        thesiskit("export", "mine.yaml", "tissues.model")
        predicted = thesiskit("predict", "--model", "tissues.model", "--new", "tissues.csv")
        methods = {row["method"] for row in csv.DictReader(predicted.splitlines())}
        assert predicted.count("\n") == 1 + 62 * len(methods)
    print(f"the wheel in {os.path.basename(sys.prefix)} works: experiments, {len(methods)} models")


if __name__ == "__main__":
    main()
