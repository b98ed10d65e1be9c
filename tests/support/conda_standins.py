"""Build the conda recipe with stand-ins for the packages of conda-forge, made of this environment.

    python tests/support/conda_standins.py FOLDER

Each distribution that the recipe needs, and that is installed here, becomes a conda package in a
channel below FOLDER.  Python becomes a package, too, and so does the C compiler of the system,
which does not optimise, to be quick.  The recipe is built and its tests are run with them alone.
This shows that the recipe and its tests work; it does not show that conda-forge has all packages
in these versions.
"""

import hashlib
import json
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from rattler_build import Stage0Recipe, ToolConfiguration, VariantConfig, assemble_package

ROOT = Path(__file__).resolve().parents[2]
VERSION = platform.python_version()
LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
PLATFORM = "linux-64"
NAMES = {"matplotlib": "matplotlib-base"}  # of distributions that conda-forge calls otherwise
COMPILER = """#!/bin/sh
exec /usr/bin/gcc "$@" -O0
"""
ACTIVATE = """export CC="$CONDA_PREFIX/bin/standin-cc"
"""


class Channel:
    """A folder of conda packages and their index."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.index: dict[str, dict] = {}
        for name in (PLATFORM, "noarch"):
            (folder / name).mkdir(parents=True)

    def add(self, name: str, version: str, staged: Path, depends: Iterable[str] = ()) -> None:
        """Make a package of the files below `staged`."""
        needed = sorted(depends)
        made = assemble_package(
            name, version, PLATFORM, "standin_0", self.folder / PLATFORM,
            files_dir=staged, depends=needed, compression_level=1, detect_prefix=False,
        )  # fmt: skip
        content = Path(made.path).read_bytes()
        self.index[Path(made.path).name] = {
            "name": name, "version": version, "build": "standin_0", "build_number": 0,
            "depends": needed, "subdir": PLATFORM, "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "md5": hashlib.md5(content).hexdigest(),
        }  # fmt: skip

    def finish(self) -> None:
        """Write the index."""
        for name in (PLATFORM, "noarch"):
            found = self.index if name == PLATFORM else {}
            text = {"info": {"subdir": name}, "packages": {}, "packages.conda": found}
            (self.folder / name / "repodata.json").write_text(json.dumps(text))


def stage_python(folder: Path) -> None:
    """Copy the interpreter that this environment is made from, without what is installed in it."""
    base = Path(sys.base_prefix)
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), folder / "bin/python")
    for name in ("python3", f"python{VERSION.rpartition('.')[0]}"):
        (folder / "bin" / name).symlink_to("python")
    unwanted = shutil.ignore_patterns("site-packages", "test", "tests", "__pycache__", "*.a")
    shutil.copytree(base / LIBRARY, folder / LIBRARY, ignore=unwanted)
    (folder / LIBRARY / "site-packages").mkdir()
    (folder / LIBRARY / "site-packages/README.txt").touch()
    include = Path(sysconfig.get_path("include"))
    shutil.copytree(include, folder / "include" / include.name)
    for shared in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(shared, folder / "lib" / shared.name)


def stage_distribution(found: metadata.Distribution, folder: Path) -> None:
    """Copy the files of a distribution."""
    for file in found.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = folder / LIBRARY / "site-packages" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(found.locate_file(file), target)


def needed() -> dict[str, tuple[metadata.Distribution, list[str]]]:
    """Return what the recipe names, and what that needs, by conda's name: each with its needs."""
    recipe = Stage0Recipe.from_file(ROOT / "recipe/recipe.yaml").to_dict()
    listed = recipe["requirements"]["host"] + recipe["requirements"]["run"]
    todo, found = [one.split()[0] for one in listed if not one.startswith("python ")], {}
    ours = {conda: name for name, conda in NAMES.items()}
    while todo:
        name = todo.pop()
        if name in found or name == "python":
            continue
        distribution, needs = metadata.distribution(ours.get(name, name)), ["python"]
        found[name] = distribution, needs
        for line in distribution.requires or ():
            words, _, marker = line.partition(";")
            if "extra" not in marker and "platform" not in marker:
                plain = re.match(r"[\w.-]+", words)[0].lower().replace("_", "-").replace(".", "-")
                if any(plain == d.lower().replace("_", "-") for d in INSTALLED):
                    needs.append(NAMES.get(plain, plain))
        todo += needs
    return found


INSTALLED = {one.metadata["Name"] for one in metadata.distributions()}


def main(folder: Path) -> None:
    """Make the channel, and build and test the recipe with it."""
    shutil.rmtree(folder, ignore_errors=True)
    channel, staged = Channel(folder / "channel"), folder / "staged"
    stage_python(staged / "python")
    channel.add("python", VERSION, staged / "python")
    tools = staged / "compiler"
    (tools / "bin").mkdir(parents=True)
    (tools / "bin/standin-cc").write_text(COMPILER)
    (tools / "bin/standin-cc").chmod(0o755)
    (tools / "etc/conda/activate.d").mkdir(parents=True)
    (tools / "etc/conda/activate.d/compiler.sh").write_text(ACTIVATE)
    channel.add("gcc_linux-64", "12.0", tools)
    (staged / "sysroot").mkdir()
    (staged / "sysroot/sysroot-standin.txt").touch()
    channel.add("sysroot_linux-64", "2.28", staged / "sysroot")
    for name, (found, needs) in needed().items():
        stage_distribution(found, staged / name)
        channel.add(name, found.version, staged / name, set(needs))
    channel.finish()
    results = Stage0Recipe.from_file(ROOT / "recipe/recipe.yaml").run_build(
        VariantConfig.from_file(ROOT / "recipe/variants.yaml"),
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=folder / "output",
        channels=[(folder / "channel").as_uri()],
    )
    for result in results:
        print(f"built and tested {result.packages[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
