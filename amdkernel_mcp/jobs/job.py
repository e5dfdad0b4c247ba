"""One job while it is in this process."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from amdkernel_mcp.cancellation import Cancellation
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.results.job_answer import JobState, JobStatus
from amdkernel_mcp.work import Work

MOST_LINES = 400
"""Of a log; the oldest go."""
FINISHED: Final = frozenset({"done", "failed", "cancelled"})


@dataclass(frozen=True)
class Said:
    """A line of a job's log. `at_s`: since 1970."""

    at_s: float
    text: str


def new_id() -> str:
    """A random id that cannot be guessed."""
    return f"job-{secrets.token_hex(6)}"


@dataclass(eq=False)
class Job:
    """One piece of work of one owner. Fields change under the store's lock; `wait` needs none."""

    id: str
    owner: str
    request: Request
    status: JobStatus = "queued"
    progress: str | None = None
    log: deque[Said] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    answer: Answer | None = None
    error: BaseException | None = None
    lane: str = "emulator"
    pool: str | None = None  # the lane in which it waits for any GPU of it; `lane` is the GPU's once it runs
    avoided: set[str] = field(default_factory=set)  # GPUs of its pool that were lost under it
    created_s: float = field(default_factory=time.time)  # since 1970; a job outlives its server
    accepted_s: float = 0.0  # these times: seconds of the store's clock
    begun_s: float | None = None
    tries: int = 0  # how often its work was begun
    finished_s: float | None = None
    fence: int | None = None  # of the journal; None: the job is in this process alone
    elsewhere: bool = False  # another process has it; this is what the journal said last
    work: Work = field(init=False)
    cancellation: Cancellation = field(default_factory=Cancellation)
    ended: threading.Event = field(default_factory=threading.Event)
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The work is its owner's."""
        self.work = Work(self.owner, self.cancellation, self._say)

    def _say(self, sentence: str) -> None:
        if sentence != self.progress:
            self.log.append(Said(time.time(), sentence))
        self.progress = sentence
        self.cancellation.check()

    @property
    def state(self) -> JobState:
        """Its status, with what has begun and waits for its GPU apart."""
        return "waits_for_gpu" if self.status == "running" and self.work.used.waits else self.status

    def wait(self, timeout_s: float) -> bool:
        """Whether the job ended within `timeout_s`."""
        return self.ended.wait(timeout_s)
