"""The fork server of the workers: it imports what cells need while the command imports the rest."""

import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver

FORKSERVER = multiprocessing.get_context("forkserver")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MODULES = ["scipy.optimize", "thesiskit.study.patterns", "thesiskit.study.selecting"]
SIGNALS = {signal.SIGINT, signal.SIGTERM}  # that reach every process of a command


def start_server() -> None:
    """Start the fork server, unless it runs.

    SIGNALS stay blocked in it: it ends when the command is gone.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    FORKSERVER.set_forkserver_preload(MODULES)
    usual = dict(os.environ)
    # It would look in the current folder first, which may hold the sources and no kernels.
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    try:
        # a forked process would lack the threads of linear algebra
        os.environ.update(ONE_THREAD, PYTHONSAFEPATH="1", PYTHONPATH=path)
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(usual)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
