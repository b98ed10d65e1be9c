"""thesiskit and python -m thesiskit: the command line, and the signals that end it."""

import atexit
import os
import signal

from thesiskit.errors import INTERRUPTED

FIRST: dict[int, str] = {
    signal.SIGINT: INTERRUPTED,
    signal.SIGTERM: INTERRUPTED.replace("Interrupted", "Terminated"),
}
AGAIN = "Stopped at once; unsaved work will be computed again."


def main() -> None:
    """Run a command; report a signal that stops it, even while it starts.

    The exit code is 130 of Ctrl-C, 143 of SIGTERM; at the second one nothing is waited for.
    """
    me, told = os.getpid(), []

    def end(number: int, _: object) -> None:
        if os.getpid() == me:  # no child that was forked
            told.append(number)
            os.write(2, f"{FIRST[number] if len(told) == 1 else AGAIN}\n".encode())
            if len(told) == 1:
                raise SystemExit(128 + number)
        os._exit(128 + number)

    for number in FIRST:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a shell
            signal.signal(number, end)
            atexit.register(signal.signal, number, signal.SIG_IGN)  # Python's end would say nothing
    from thesiskit.cli import main as command_line

    command_line(prog_name="thesiskit")


if __name__ == "__main__":
    main()
