"""What a running server says of itself: the page, `amdkernel top` and `/status.json` show the same."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Evidence, Interval, Result


class RunningJob(Result):
    """A job that runs. Only its owner and an admin get its id, problem and progress."""

    id: str | None = None
    owner: str
    verb: str
    target: str | None = Field(description="Null: a compile, which needs none")
    problem: str | None = None
    state: Literal["running", "waits_for_gpu"] = Field(
        default="running", description="`waits_for_gpu`: it has begun, and others hold its GPU now"
    )
    progress: str | None = None
    seconds: float = Field(description="Since it began")


class WaitingJob(Result):
    """A job that waits. Only its owner and an admin get its id and problem."""

    id: str | None = None
    owner: str
    verb: str
    target: str | None
    problem: str | None = None
    place: int = Field(description="Within its lane: 1 is next")
    expected_wait_s: float | None = Field(description="From now on; null while too few jobs have ended")
    wait_range_s: list[float] | None = Field(default=None, description="Least and most: 4 of 5 waits end within it")
    wait_evidence: str | None = Field(default=None, description="What the range rests on, and how often such held")
    seconds: float = Field(description="Since it was accepted")


class LeaseState(Result):
    """A lease of a GPU that is held now, also through another server or a command line with the same database."""

    owner: str
    kind: Literal["exclusive", "shared"] = Field(description="`exclusive`: times are measured, nothing else runs")
    seconds: float = Field(description="Since it was granted")


State = Literal["idle", "busy", "draining", "quarantined", "unreachable"]
"""`draining`: its worker finishes what has begun there; `unreachable`: also with a job that waits for it."""


class TargetState(Result):
    """One GPU, or an emulated one, with what runs on it."""

    name: str
    kind: Literal["emulator", "gpu"]
    gpu: str
    arch: str
    state: State
    default: bool = False
    note: str | None = None
    leases: list[LeaseState] = []
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


class UserState(Result):
    """A user as an admin sees them: what they may, what they have, what they use."""

    name: str
    scopes: list[str]
    valid_tokens: int
    last_used: str | None = Field(description="Of their tokens in the database")
    last_seen: str | None = Field(default=None, description="The later of that and their newest attempt")
    running: int
    waiting: int
    gpu_seconds: float = Field(description="Of exclusive leases in the last 24 hours")
    emulator_seconds: float = Field(default=0.0, description="Of ended jobs on emulators in the last 24 hours")


class QuotaState(Result):
    """What each user may have; null: any."""

    running: int | None
    waiting: int
    gpu_seconds_a_day: int | None


class ServerStatus(Result):
    """The server as one user sees it."""

    user: str
    version: str
    draining: bool = Field(description="It takes no new work")
    workers: int = Field(description="Jobs at a time in each lane")
    targets: list[TargetState]
    away: list[str] = Field(default=[], description="Hosts whose workers left more than 5 minutes ago")
    compiling: list[RunningJob] = Field(description="Compiles, which have a lane of their own")
    waiting: list[WaitingJob]
    users: list[UserState] | None = Field(default=None, description="For a token with the scope `admin`")
    quotas: QuotaState | None = Field(default=None, description="The same")
