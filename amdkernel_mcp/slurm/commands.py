"""Slurm's commands, run with time limits: sbatch, squeue, scontrol, scancel, sinfo.

Only the part that Slurm and compatible schedulers share is used: text with a format of ours, no JSON, no accounting. An
answer that did not come is not a refusal: what was submitted may be there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from amdkernel_mcp.errors import TargetError

TIMEOUT_S = 20.0
"""For one command; sbatch itself tries to reach its controller for longer."""
JOB_NAME = "amdkernel"
_JOB_FORMAT, _NODE_FORMAT = "%i|%T|%N|%r|%k", "%N|%T|%G|%E"
_COMMENT = re.compile(r"amdkernel,([0-9a-f]{16})\.(\d{1,9}),(\S+)")
# What the commands print when the controller does not answer, or answers that it cannot now.
_LATER = re.compile(
    r"unable to contact|connect failure|connection refused|timed out|temporarily|zero bytes|resource temporarily"
    r"|communication|not responding|no route|in standby|socket|connection reset|connection closed|broken pipe"
    r"|is not running|authentication error",  # auth/slurm and Munge ask a daemon for a token
    re.IGNORECASE,
)


class SlurmError(TargetError):
    """Slurm refused, or cannot be used."""


class NoAnswerError(SlurmError):
    """Slurm did not answer. What was asked may have happened."""


@dataclass(frozen=True)
class Comment:
    """Our key in the comment of a job. `holder`: the process that submitted it, see `database.holder`."""

    key: str
    fence: int
    holder: str

    def __str__(self) -> str:
        return f"{JOB_NAME},{self.key}.{self.fence},{self.holder}"


@dataclass(frozen=True)
class SlurmJob:
    """A job of ours as squeue lists it. Its `id` may be used again for another job; its comment is not."""

    id: str
    state: str
    nodes: str
    reason: str
    comment: Comment


@dataclass(frozen=True)
class SlurmNode:
    """A node as sinfo lists it. `reason`: why it takes no jobs; empty where it does."""

    name: str
    state: str
    gres: str
    reason: str

    @property
    def is_down(self) -> bool:
        """Whether no job starts there."""
        return bool(re.match(r"drain|down|fail|unknown|not_resp", self.state.lower())) or self.state.endswith("*")


class Slurm(Protocol):
    """What the engine asks of a cluster. All raise NoAnswerError, and SlurmError for a refusal."""

    def submit(self, script: str, options: Sequence[str]) -> str:
        """The id of a new job."""
        ...

    def jobs(self) -> list[SlurmJob]:
        """All jobs of ours that Slurm knows, ended ones for a while as well."""
        ...

    def nodes(self) -> list[SlurmNode]:
        """All nodes."""
        ...

    def release(self, job: str) -> None:
        """End the hold of a job."""
        ...

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        """Send a signal to the script of a job; without one, end the job."""
        ...


class SlurmCommands:
    """Implements `Slurm` by its commands. `prefix`: what runs them elsewhere, such as `ssh login1`."""

    def __init__(self, prefix: str = "", timeout_s: float = TIMEOUT_S) -> None:
        self._prefix = shlex.split(prefix)
        self._timeout_s = timeout_s

    def submit(self, script: str, options: Sequence[str]) -> str:
        """See `Slurm.submit`."""
        said = self.run("sbatch", "--parsable", f"--job-name={JOB_NAME}", *options, stdin=script)
        found = re.match(r"(\d+)(;\S+)?\s*$", said)
        if not found:
            raise NoAnswerError(f"sbatch printed {said.strip()[:200]!r} in place of a job's id")
        return found[1]

    def jobs(self) -> list[SlurmJob]:
        """See `Slurm.jobs`."""
        said = self.run("squeue", "--noheader", "--states=all", f"--name={JOB_NAME}", f"--format={_JOB_FORMAT}")
        return read_jobs(said)

    def nodes(self) -> list[SlurmNode]:
        """See `Slurm.nodes`."""
        return read_nodes(self.run("sinfo", "--noheader", "--Node", f"--format={_NODE_FORMAT}"))

    def release(self, job: str) -> None:
        """See `Slurm.release`."""
        self.run("scontrol", "release", job)

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        """See `Slurm.cancel`."""
        self.run("scancel", *(["--batch", f"--signal={signal}"] if signal else []), job)

    def run(self, *command: str, stdin: str = "") -> str:
        """What a command prints. Raises SlurmError, NoAnswerError."""
        words = [*self._prefix, *command]
        if self._prefix and self._prefix[0].rpartition("/")[2] == "ssh":
            words = [*self._prefix, shlex.join(command)]  # its shell takes them apart again
        try:
            ended = subprocess.run(
                words, input=stdin, capture_output=True, text=True, errors="replace", timeout=self._timeout_s,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"{command[0]} did not end within {self._timeout_s:.0f} s") from None
        except OSError as error:
            raise SlurmError(
                f"{words[0]} cannot be run: {error.strerror}",
                hint="install Slurm's commands on the server's machine, or set `commands` of [slurm]",
            ) from None
        if ended.returncode == 0:
            return ended.stdout
        said = " ".join(ended.stderr.split())[:400]
        if not said and (signal := _signal(ended.returncode)):
            raise NoAnswerError(f"{command[0]}: ended by signal {signal}")
        said = said or f"exit code {ended.returncode}"
        if _LATER.search(said) or (ended.returncode == 255 and len(words) != len(command)):
            raise NoAnswerError(f"{command[0]}: {said}")
        raise SlurmError(f"{command[0]}: {said}", hint="`amdkernel slurm doctor` on the server looks at the cluster")


def _signal(code: int) -> int:
    """The signal that ended a command, here or as the shell behind `commands` reports it; 0 when none did."""
    if code < 0:
        return -code
    return code - 128 if 128 < code < 128 + 65 else 0


def read_jobs(printed: str) -> list[SlurmJob]:
    """The jobs in the output of squeue that have a comment of ours."""
    found = []
    for line in printed.splitlines():
        parts = line.split("|", 4)
        comment = _COMMENT.fullmatch(parts[4].strip()) if len(parts) == 5 else None
        if comment:
            number, state, nodes, reason = (part.strip() for part in parts[:4])
            read = Comment(comment[1], int(comment[2]), comment[3])
            found.append(SlurmJob(number, state.upper(), nodes, reason.replace("_", " "), read))
    return found


def read_nodes(printed: str) -> list[SlurmNode]:
    """The nodes in the output of sinfo, each once."""
    found = {}
    for line in printed.splitlines():
        parts = [part.strip() for part in line.split("|", 3)]
        if len(parts) == 4:
            name, state, gres, reason = parts
            found[name] = SlurmNode(name, state, gres, "" if reason.lower() == "none" else reason)
    return list(found.values())
