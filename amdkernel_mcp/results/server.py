"""What a running server says of itself: the page, `amdkernel top` and `/status.json` show the same."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Evidence, Interval, Result


class RunningJob(Result):
    """A job that runs. Only its owner gets its id, problem and progress."""

    id: str | None = None
    owner: str
    verb: str
    target: str | None = Field(description="Null: a compile, which needs none")
    problem: str | None = None
    progress: str | None = None
    seconds: float = Field(description="Since it began")


class WaitingJob(Result):
    """A job that waits. Only its owner gets its id and problem."""

    id: str | None = None
    owner: str
    verb: str
    target: str | None
    problem: str | None = None
    place: int = Field(description="Within its lane: 1 is next")
    expected_wait_s: float | None = Field(description="Null before any job has ended")
    seconds: float = Field(description="Since it was accepted")


class TargetState(Result):
    """One GPU, or an emulated one, with what runs on it."""

    name: str
    kind: Literal["emulator", "gpu"]
    gpu: str
    arch: str
    state: Literal["idle", "busy", "unreachable"]
    default: bool = False
    note: str | None = None
    jobs: list[RunningJob] = []


class BestTime(Result):
    """The caller's fastest correct kernel of a problem on a target, for one kind of evidence."""

    problem: str
    target: str
    attempt: str
    file_name: str
    created: str = Field(description="UTC")
    verdict: str
    time_us: float
    evidence: Evidence
    speedup: Interval = Field(description="Over the baseline of that benchmark; null where it had none")
    tried: int = Field(description="Timed attempts with this evidence")


class ServerStatus(Result):
    """The server as one user sees it."""

    user: str
    version: str
    draining: bool = Field(description="It takes no new work")
    workers: int = Field(description="Jobs at a time in each lane")
    targets: list[TargetState]
    compiling: list[RunningJob] = Field(description="Compiles, which have a lane of their own")
    waiting: list[WaitingJob]
