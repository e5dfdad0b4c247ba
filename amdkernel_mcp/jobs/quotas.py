"""How much of the server one user may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import JobError

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings


class QuotaError(JobError):
    """A quota of the user is used up."""


@dataclass(frozen=True)
class Quotas:
    """Of each user. None: no limit."""

    queued: int = 16
    running: int | None = None
    gpu_seconds_a_day: int | None = None

    @staticmethod
    def of(settings: Settings) -> Quotas:
        """What the settings allow."""
        return Quotas(settings.user_queued_jobs, settings.user_running_jobs, settings.user_gpu_seconds)

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
