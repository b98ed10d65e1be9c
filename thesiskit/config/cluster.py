"""Config of jobs on a cluster: what they ask for.  Nothing here changes a result."""

import re
import unicodedata
from typing import Annotated, Any

from pydantic import Field, field_validator

from thesiskit.blocks import Block, Count, Positive, Text
from thesiskit.errors import cut, quoted

TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])")
MOST_CORES = 1024  # of a job
KEYS = {  # sbatch options with a key of their own
    "partition": "partition",
    "time": "time",
    "mem": "memory",
    "cpus-per-task": "cpus",
    "array": "array",
    "account": "account",
    "qos": "qos",
}
OURS = {  # what submitting, stopping and going on rest on
    "chdir",
    "dependency",
    "error",
    "export",
    "job-name",
    "no-requeue",
    "ntasks",
    "open-mode",
    "output",
    "requeue",
    "signal",
    "wrap",
}


def control_character(text: str) -> str | None:
    """Return a character that does not belong on a line of a script, None if there is none.

    That is one that ends a line somewhere, or that a terminal obeys.
    """
    return next((c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")), None)


class ClusterBlock(Block):
    """What a job asks for; what is not given is for the cluster to decide."""

    partition: Text | None = None
    """Partition of jobs; the cluster's own unless given."""
    time: Text = "1:00:00"
    """Time limit of each job: hours:minutes:seconds, days-hours:minutes:seconds, or minutes. A job
    stops two minutes before its limit (or after half of it, if that is later), stores its chains,
    and is queued again."""
    memory: Text | None = None
    """Memory of each job, such as `4G` or `500M`; the cluster's own unless given."""
    cpus: Annotated[Positive, Field(le=MOST_CORES)] = 1
    """Number of cores of each job."""
    array: Positive = 100
    """Largest number of jobs that run at the same time."""
    cells: Positive | None = None
    """Number of cells that each job makes; chosen by thesiskit unless given."""
    account: Text | None = None
    """Account of jobs; the cluster's own unless given."""
    qos: Text | None = None
    """Quality of service of jobs; the cluster's own unless given."""
    options: list[Annotated[str, Field(strict=True)]] = []
    """Further options of sbatch, such as `--constraint=avx2`; each may be given once."""
    requeues: Count = 10
    """How often a job may be queued again after it met its time limit."""
    setup: list[Text] = []
    """Shell commands that a job runs first, such as `module load python`."""

    @field_validator("*")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        for text in value if isinstance(value, list) else [value]:
            found = control_character(text) if isinstance(text, str) else None
            if found is not None:
                raise ValueError(f"the character {quoted(found)} would leave its line; remove it")
        return value

    @field_validator("partition", "account", "qos")
    @classmethod
    def _one_word(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[^\s\-][^\s]*", value):
            raise ValueError(f"write one word, not {quoted(value)}")
        return value

    @field_validator("time", mode="before")
    @classmethod
    def _whole_minutes(cls, value: Any) -> Any:
        return str(value) if type(value) is int else value

    @field_validator("time")
    @classmethod
    def _limit(cls, value: str) -> str:
        if _minutes(value) < 1:
            raise ValueError(
                "write the limit as hours:minutes:seconds, days-hours:minutes:seconds, or whole "
                f"minutes, at least one, not {quoted(value)}"
            )
        return value

    @field_validator("memory")
    @classmethod
    def _size(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[1-9][0-9]{0,8}[KMGT]", value):
            raise ValueError(f"write memory as 4G or 500M, not {quoted(value)}")
        return value

    @field_validator("options")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        given: dict[str, str] = {}
        for option in value:
            found = re.fullmatch(r"--([a-z][a-z-]*)(=.+)?", option)
            said = cut(option)
            if found is None:
                raise ValueError(f"write it as --name or --name=value, not {quoted(option)}")
            if found[1] in KEYS:
                raise ValueError(f"{said}: use `cluster.{KEYS[found[1]]}`")
            if found[1] in OURS:
                raise ValueError(f"{said}: is set by thesiskit; leave it out")
            if found[1] in given:
                raise ValueError(f"{given[found[1]]} and {said} are one option; keep one of them")
            given[found[1]] = said
        return value

    @property
    def minutes(self) -> int:
        """The time limit in minutes, rounded up as Slurm does."""
        return _minutes(self.time)

    @property
    def requests(self) -> dict[str, str | bool]:
        """Options of sbatch for a job, without their dashes."""
        given = {name: getattr(self, key) for name, key in KEYS.items() if name != "array"}
        named = {name: str(value) for name, value in given.items() if value is not None}
        further = (option[2:].partition("=") for option in self.options)
        return named | {name: value if equals else True for name, equals, value in further}


def _minutes(text: str) -> int:
    """Return the minutes of a time limit, 0 where it is none."""
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    found = TIME.fullmatch(text)
    if found is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return (days * 24 + hours) * 60 + minutes + -(-seconds // 60)
