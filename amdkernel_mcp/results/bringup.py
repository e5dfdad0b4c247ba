"""What a bring-up returns: its probes in order, and what they say of each promise."""

from typing import Literal

from pydantic import Field

from amdkernel_mcp.results.quantity import Result

Promise = Literal["listed", "correct", "timed", "profiled", "shared"]
PROMISES: tuple[Promise, ...] = ("listed", "correct", "timed", "profiled", "shared")
ProbeStatus = Literal["pass", "fail", "unknown"]
PromiseStatus = Literal["holds", "broken", "unknown"]


class ProbeResult(Result):
    """One probe: what it asked, what it found, and the next command."""

    id: str
    asks: str
    promises: list[Promise] = Field(description="Which promises it is about")
    status: ProbeStatus
    found: str
    next: str | None = Field(default=None, description="The command or step that comes next")
    seconds: float = 0.0


class BringupResult(Result):
    """What a machine with an AMD GPU is and does."""

    ok: bool
    target: str
    version: str
    seconds: float
    promises: dict[Promise, PromiseStatus]
    probes: list[ProbeResult]
    archive: str | None = Field(default=None, description="The file with all that was read, scrubbed")
