"""What the fork server of the workers imports first; no other module imports this.

Linear algebra that is loaded from here on starts no threads, which a forked process would not have.
"""

import os
import signal

# Ctrl-C and a cancelled job signal every process: workers end when they have saved, and the server
# when the command is gone.  Both signals are blocked until here.
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import scipy.optimize  # noqa: E402, F401

from thesiskit.study import patterns, selecting  # noqa: E402, F401
