"""What all fuzzers share: a command in a process of its own, and what is wrong with its outcome.

A fuzzer makes inputs from a seed, runs a command on each, and asks an oracle of its own whether the
input must be refused.  Whatever the input, a command ends within a minute, without a traceback,
with a message of at most three lines, and touches nothing outside its results folder.
"""

import hashlib
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path

import matplotlib.figure  # noqa: F401  loaded once, for all children, as the next
import scipy.stats  # noqa: F401

BATCH = 50  # commands of one process: a process for each takes four times as long
SECONDS = 60.0  # of the processor: all take less than two
WAITS = 10  # times as long a command may take on a busy machine, or wait for something
MEMORY = 6 * 2**30  # bytes of address space: an absurd input must be refused before it is used
LINES, CHARACTERS = 3, 400  # of what an error says
# what opens, changes or removes files: the event, and which of its arguments are paths
CHANGES = {"os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.truncate": 1,
           "os.link": 2, "os.symlink": 2, "os.chmod": 1, "os.utime": 1}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code (None where it hung), what it printed, what it touched."""

    code: int | None
    output: str
    errors: str
    seconds: float
    touched: tuple[str, ...]

    @property
    def faults(self) -> list[str]:
        """What no input may bring about."""
        found = []
        if self.code is None:
            found.append(f"hangs: {self.seconds:.0f} s")
        elif self.code not in (0, 1, 2):
            found.append(f"exit code {self.code}")
        if "Traceback" in self.errors or "(run with -v to see where)" in self.errors:
            found.append(f"an error that nobody foresaw: {self.errors.strip()[-300:]}")
        said = [line for line in self.errors.splitlines() if line.startswith("Error: ")]
        if self.code not in (0, None) and not self.errors.strip():
            found.append("fails without a word")
        length = sum(len(line.removeprefix("Error: ")) for line in said)
        if len(said) > LINES or length > CHARACTERS:
            found.append(f"a message of {len(said)} lines, {length} characters")
        if self.touched:
            found.append(f"touches {', '.join(self.touched[:3])}")
        return found


@dataclass
class Tally:
    """What became of the inputs of a fuzzer; `spent` has seconds of those that it is set for."""

    name: str
    counts: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    spent: dict[tuple[str, ...], float] = field(default_factory=dict)

    def add(self, label: str, outcome: Outcome, *wrong: str) -> None:
        """Count an outcome; `label` says how to make the input again, `wrong` what is wrong."""
        faults = [*outcome.faults, *(one for one in wrong if one)]
        self.wrong += [f"{label}: {one}" for one in faults]
        kind = "wrong" if faults else "accepted" if outcome.code == 0 else "refused"
        self.counts[kind] += 1
        self.seconds = max(self.seconds, outcome.seconds)

    def __str__(self) -> str:
        kinds = [f"{self.counts[kind]:,} {kind}" for kind in ("accepted", "refused", "wrong")]
        total = f"{self.name}: {sum(self.counts.values()):,} inputs, {', '.join(kinds)}"
        return f"{total}; the slowest took {self.seconds:.1f} s"

    def check(self, tell: Callable[[str, str], None]) -> None:
        """Tell the counts, which are printed after all tests, and fail if anything was wrong.

        tell : pytest's `record_property`.
        """
        tell("counts", str(self))
        assert not self.wrong, "\n".join([str(self), *self.wrong[:20]])


def command(
    *arguments: object,
    folder: Path,
    results: Path | None = None,
    main: Callable[[list[str]], object] | None = None,
    seconds: float = SECONDS,
) -> Outcome:
    """Run `thesiskit` with arguments in a forked process that has loaded it already.

    folder : where it is run; results : the only folder that it may change (folder/results).
    main : what is run instead of the command line, given the arguments.
    """
    given = [str(one) for one in arguments]
    results = (results or folder / "results").absolute()
    logs = _logs(folder)
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        _inside(given, folder, results, logs, main)
    code = _wait(child, started + WAITS * seconds)
    spent = time.perf_counter() - started
    outcome = _outcome(code, spent, logs)
    for log in logs:
        log.unlink()
    return outcome


@dataclass(frozen=True)
class Job:
    """One of the commands of `commands`; what its fields are says `command`."""

    arguments: tuple[object, ...]
    folder: Path
    main: Callable[[list[str]], object] | None = None


def commands(jobs: list[Job], folder: Path, seconds: float = SECONDS) -> list[Outcome]:
    """Run commands as `command` does, but many in one process; return the outcome of each.

    A command that hangs or ends its process has that as its outcome, and the next begins another.
    folder : where the process writes what is said.
    """
    outcomes: list[Outcome] = []
    path = folder / ".outcomes"
    while len(outcomes) < len(jobs):
        logs = _logs(folder)
        batch = jobs[len(outcomes) :][:BATCH]
        child = os.fork()
        if child == 0:
            _one_by_one(batch, logs, path, seconds)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(path, "rb") as file:
            for _ in batch:
                try:
                    outcomes.append(pickle.load(file))
                except EOFError:
                    ended = None if -code in (signal.SIGALRM, signal.SIGPROF) else code or 70
                    outcomes.append(_outcome(ended, seconds, logs))
                    break
        for log in (*logs, path):
            log.unlink()
    return outcomes


def batched(numbers: Sequence[int]) -> list[Sequence[int]]:
    """Return the numbers of inputs in parts, which one process is given."""
    return [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]


def _one_by_one(jobs: list[Job], logs: list[Path], path: Path, seconds: float) -> None:
    """Run commands in this process, which ends here, and write the outcome of each to a file."""
    results = [""]
    try:
        _prepare(logs)
        outcomes = os.open(path, os.O_WRONLY | os.O_CREAT)
        written = [os.open(log, os.O_WRONLY) for log in logs]
        audit(results, logs[2])
        for job in jobs:
            results[0] = os.path.realpath(job.folder / "results")
            os.chdir(job.folder)
            started = time.perf_counter()
            # then the process is ended
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.setitimer(signal.ITIMER_REAL, WAITS * seconds)
            with warnings.catch_warnings():  # so each is said once more
                code = _run([str(one) for one in job.arguments], job.main)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            outcome = _outcome(code, time.perf_counter() - started, logs)
            os.write(outcomes, pickle.dumps(outcome))
            for log in written:
                os.truncate(log, 0)
    finally:
        os._exit(70 * (sys.exc_info()[0] is not None))


def _logs(folder: Path) -> list[Path]:
    """Return new files for what a command prints, its errors, and what it touches."""
    logs = [folder / f".{name}" for name in ("output", "errors", "touched")]
    for log in logs:
        log.write_text("")
    return logs


def _outcome(code: int | None, seconds: float, logs: list[Path]) -> Outcome:
    output, errors, touched = (log.read_text(errors="replace") for log in logs)
    return Outcome(code, output, errors, seconds, tuple(dict.fromkeys(touched.splitlines())))


def _wait(child: int, end: float) -> int | None:
    """Return the exit code of a child, minus the signal that ended it; None where it hung."""
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == -signal.SIGXCPU else code
        if time.perf_counter() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)


def _inside(given: list[str], folder: Path, results: Path, logs: list[Path], main) -> None:
    """Run the command in this process, which ends here."""
    code = 70
    try:
        _prepare(logs)
        os.chdir(folder)
        audit([os.path.realpath(results)], logs[2])
        code = _run(given, main)
    finally:
        os._exit(code)


def _prepare(logs: list[Path]) -> None:
    """Let this process write to logs only, and take no more memory than it may."""
    for number, log in zip((1, 2), logs, strict=False):
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    forkserver._forkserver.__init__()  # that of the tests, if any, is no child of this process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _run(given: list[str], main) -> int:
    """Run the command in this process, and return its exit code."""
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    code = 70
    try:
        if main is None:
            from thesiskit.cli import main as command_line

            command_line(given, prog_name="thesiskit")
        else:
            main(given)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def audit(results: list[str], log: Path) -> None:
    """From now on, note every path that this process would change, but in real paths `results`."""
    note = os.open(log, os.O_WRONLY | os.O_APPEND)

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            path, _, flags = arguments
            paths = [path] if isinstance(flags, int) and flags & WRITING else []
        else:
            paths = list(arguments[: CHANGES.get(event, 0)])
        for path in paths:
            if isinstance(path, int) or "__pycache__" in os.fsdecode(path):
                continue
            # of the folder that holds it: a link itself may be replaced, not followed
            where, name = os.path.split(os.path.abspath(os.fsdecode(path)))
            real = os.path.join(os.path.realpath(where), name)
            if event == "open":
                real = os.path.realpath(real)
            allowed = (*results, os.devnull, "/proc/", "/dev/shm/")
            if not f"{real}/".startswith(tuple(one.rstrip("/") + "/" for one in allowed)):
                os.write(note, f"{event} {real}\n".encode(errors="replace"))

    sys.addaudithook(hook)


def fingerprint(folder: Path, *but: Path) -> dict[str, str]:
    """Return what is in a folder: type, and digest or target, of everything but some paths."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if any(path == one or one in path.parents for one in but):
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder" if path.is_dir() else "special"
    return found
