"""Build the package, with the configs in it, and its kernels.

A kernel is one extension thesiskit._kernels.NAME for each NAME.pyx below cython_ext.

THESISKIT_CHECKED=1 builds them with bounds and initialisation checks (same numbers, slower);
the kernel tests run once on that build.  It is also optimised less: it compiles in half the time,
and a number that depended on what the optimiser does would show.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SOURCES = Path("cython_ext")
HEADERS = SOURCES / "headers"
CONFIGS = Path("configs")
CHECKED = os.environ.get("THESISKIT_CHECKED", "0") not in ("", "0")


def kernel(path: Path) -> Extension:
    return Extension(
        f"thesiskit._kernels.{path.stem}",
        [path.as_posix()],
        include_dirs=[HEADERS.as_posix(), numpy.get_include()],
        # Nothing here relaxes IEEE results: two flags only drop errno and trap bookkeeping, and
        # without fused products all processors give the same numbers.
        extra_compile_args=[
            "-O1" if CHECKED else "-O3",
            "-fno-math-errno",
            "-fno-trapping-math",
            "-ffp-contract=off",
            "-g0",
        ],
        define_macros=[("THESISKIT_CHECKED", str(int(CHECKED)))],
    )


class BuildPy(build_py):
    """Put the configs into the package; an editable installation finds them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for path in sorted(CONFIGS.glob("*/*.yaml")):
                target = Path(self.build_lib, "thesiskit", path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))


os.chdir(HERE)
setup(
    cmdclass={"build_py": BuildPy},
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        [kernel(path) for path in sorted(SOURCES.rglob("*.pyx"))],
        include_path=[HEADERS.as_posix()],
        build_dir=f"build/cython-{'checked' if CHECKED else 'fast'}",
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "initializedcheck": CHECKED,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
        },
    ),
)
