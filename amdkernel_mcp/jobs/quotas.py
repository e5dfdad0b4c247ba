"""How much of the server one user may have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import JobError
from amdkernel_mcp.hardware.reserved_times import ReservedTime, hold, read_time

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.jobs.job import Job


class QuotaError(JobError):
    """A quota of the user is used up."""


@dataclass(frozen=True)
class Quotas:
    """Of each user. None: no limit. `of_users`: of those who have a class of their own. `reserved`: targets and hosts,
    and who may use them; `when`: at which times that holds. Users are owners of jobs, such as `user:ann`."""

    queued: int = 16
    running: int | None = None
    gpu_seconds_a_day: int | None = None
    emulator_seconds_a_day: int | None = None
    job_minutes: float | None = None
    priority: int = 0
    of_users: Mapping[str, Quotas] = field(default_factory=dict)
    reserved: Mapping[str, frozenset[str]] = field(default_factory=dict)
    when: Mapping[str, Sequence[ReservedTime]] = field(default_factory=dict)
    clock: Callable[[], float] = time.time

    @staticmethod
    def of(settings: Settings) -> Quotas:
        """What the settings allow."""
        usual = Quotas(
            settings.user_queued_jobs,
            settings.user_running_jobs,
            settings.user_gpu_seconds,
            settings.user_emulator_seconds,
            settings.user_job_minutes,
        )
        of_users: dict[str, Quotas] = {}
        reserved: dict[str, frozenset[str]] = {}
        when: dict[str, Sequence[ReservedTime]] = {}
        for each in settings.classes.values():
            users = [f"user:{name}" for name in each.users]
            theirs = Quotas(
                each.queued_jobs or usual.queued,
                each.running_jobs or usual.running,
                each.gpu_seconds or usual.gpu_seconds_a_day,
                each.emulator_seconds or usual.emulator_seconds_a_day,
                each.job_minutes or usual.job_minutes,
                each.priority,
            )
            of_users |= dict.fromkeys(users, theirs)
            reserved |= dict.fromkeys(each.gpus, frozenset(users))
            if each.gpus_when:
                when |= dict.fromkeys(each.gpus, tuple(map(read_time, each.gpus_when)))
        return replace(usual, of_users=of_users, reserved=reserved, when=when)

    def of_user(self, owner: str) -> Quotas:
        """What this user may have."""
        return self.of_users.get(owner, self)

    def priority_of(self, owner: str) -> int:
        """See fair_queue.py."""
        return self.of_user(owner).priority

    def may_run_one_more(self, owner: str, running: Sequence[Job]) -> bool:
        """Besides those that run."""
        most = self.of_user(owner).running
        return most is None or sum(job.owner == owner for job in running) < most

    def may_use(self, owner: str, target: str) -> bool:
        """Whether a target is not reserved for others now."""
        for name in (target, target.partition(":")[0]):
            others = name in self.reserved and owner not in self.reserved[name]
            if others and hold(self.when.get(name, ()), self.clock()):
                return False
        return True

    def check_reserved(self, owner: str, lane: str, targets: Sequence[str]) -> None:
        """Raises QuotaError where all of these, the GPUs of a lane, are reserved for others."""
        if targets and not any(self.may_use(owner, target) for target in targets):
            times = [each.text for target in targets for each in self._times(target)]
            until = f" ({', '.join(dict.fromkeys(times))}, UTC)" if times else ""
            raise QuotaError(f"{lane} is reserved for other users{until}", hint="use another target of list_targets")

    def _times(self, target: str) -> Sequence[ReservedTime]:
        return [*self.when.get(target, ()), *self.when.get(target.partition(":")[0], ())]

    @contextmanager
    def time_limit(self, cancellation: Cancellation) -> Iterator[None]:
        """A block whose work is cancelled after `job_minutes`; then it raises QuotaError."""
        if self.job_minutes is None:
            yield
            return
        is_over = threading.Event()

        def end() -> None:
            is_over.set()
            cancellation.cancel()

        timer = threading.Timer(self.job_minutes * 60, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except CancelledWorkError:
            if not is_over.is_set():
                raise
            message = f"time limit of a job: it was ended after {self.job_minutes:g} min"
            raise QuotaError(message, hint="use fewer or smaller cases, or ask an admin for more") from None
        finally:
            timer.cancel()

    def check_queued(self, waiting: int, first_starts_s: float | None) -> None:
        """Raises QuotaError. first_starts_s: in how many seconds the first of them starts, where that is known."""
        if waiting < self.queued:
            return
        when = "" if first_starts_s is None else f", in about {first_starts_s:.0f} s"
        raise QuotaError(
            f"quota of queued jobs: {counted(waiting, 'job')} of yours wait, and {self.queued} may; "
            f"there is room when one of them starts{when}",
            hint="wait for one with get_job, or cancel one",
        )

    def check_gpu_seconds(self, used_s: float, frees_s: float) -> None:
        """Raises QuotaError. used_s: in the last 24 hours; frees_s: until the oldest of them are a day old."""
        if self.gpu_seconds_a_day is None or used_s < self.gpu_seconds_a_day:
            return
        raise QuotaError(
            f"quota of GPU seconds a day: {used_s:.0f} s of {self.gpu_seconds_a_day} s are used; "
            f"the first of them are free again in {frees_s:.0f} s",
            hint="an emulated target needs no GPU, such as emulator:gfx942",
        )

    def check_emulator_seconds(self, used_s: float, frees_s: float) -> None:
        """Raises QuotaError. used_s: in the last 24 hours; frees_s: until the oldest of them are a day old."""
        if self.emulator_seconds_a_day is None or used_s < self.emulator_seconds_a_day:
            return
        raise QuotaError(
            f"quota of seconds on emulators a day: {used_s:.0f} s of {self.emulator_seconds_a_day} s are used; "
            f"the first of them are free again in {frees_s:.0f} s",
            hint="a compile does not count",
        )
