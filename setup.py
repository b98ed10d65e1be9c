"""Build the kernels: one extension thesiskit._kernels.NAME for each NAME.pyx below cython_ext.

THESISKIT_CHECKED=1 builds them with bounds and initialisation checks (same numbers, slower);
the kernel tests run once on that build.  It is also optimised less: it compiles in half the time,
and a number that depended on what the optimiser does would show.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

HERE = Path(__file__).parent
SOURCES = Path("cython_ext")
HEADERS = SOURCES / "headers"
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


os.chdir(HERE)
setup(
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
