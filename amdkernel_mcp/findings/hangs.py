"""Where the waves of a kernel were when its time was up → the line at which most of them were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.counted import counted
from amdkernel_mcp.runner_protocol.records import DispatchFault, StandingWaves

Chain = Sequence[int]  # the line of an instruction, then the lines of the calls around it, innermost first


@dataclass(frozen=True)
class Standstill:
    """The line where most waves were, one of them as an example, and how many of all waves (`of`)."""

    chain: Chain
    waves: int
    of: int
    example: StandingWaves

    def __str__(self) -> str:
        whose = f"wave {self.example.wave} of workgroup {list(self.example.workgroup)}"
        if self.of == 1:
            return f"{whose} was at line {self.chain[0]}"
        if self.waves == 1:
            return f"1 of {self.of} waves was at line {self.chain[0]} ({whose})"
        return f"{self.waves} of {self.of} waves were at line {self.chain[0]} ({whose} among them)"


def commonest_place(
    standing: Sequence[StandingWaves], chain_of: Callable[[int, Sequence[int]], Chain], *, at_barrier: bool = False
) -> Standstill | None:
    """The line with most waves; None where no line is known. A loop has many instructions and few lines: lines count.

    chain_of: the lines of an instruction and its callers, empty where they are not known. at_barrier: count the waves
    that wait at a barrier, else the others.
    """
    chains = [(chain_of(place.pc, place.callers), place) for place in standing if place.at_barrier == at_barrier]
    chains = [(chain, place) for chain, place in chains if chain]
    waves: dict[int, int] = {}
    for chain, place in chains:
        waves[chain[0]] = waves.get(chain[0], 0) + place.waves
    if not chains:
        return None
    line = max(waves, key=lambda line: waves[line])
    chain, example = next((chain, place) for chain, place in chains if chain[0] == line)
    return Standstill(chain, waves[line], sum(place.waves for place in standing), example)


SLOW = ", or the kernel is only slow"
"""In the sentence about a kernel that reached a limit: that does not prove a hang."""


def describe_hang(
    kernel: str, spent: str | None, running: Standstill | str, waiting: Standstill | None, *, crowd: str = ""
) -> str:
    """What may be wrong with a kernel that was ended: it hangs, or it is slow.

    spent: the limit that it reached, as in `2.9 s`; None: nothing could change any more. running: where the waves were
    that could run; waiting: where the others were, at a barrier. crowd: how many of its workgroups fit at once.
    """
    where = f"{kernel} was still running after {spent}: {running}" if spent else f"{kernel} never ends: {running}"
    slow = SLOW if spent else ""
    if waiting is None and not spent:
        return f"{where}, and what is waited for there never comes"
    if waiting is None:
        return f"{where}. A loop never ends, a wait is never satisfied{slow}{crowd}"
    return (
        f"{where}, {waiting.waves} at the barrier of line {waiting.chain[0]}."
        f" A loop or a wait that never ends keeps threads from that __syncthreads(){slow}{crowd}"
    )


def describe_absent_lane(line: int) -> str:
    """Why a loop that hands a value from lane to lane may never end, and what to do; `line` hands it."""
    return (
        f"; in that loop line {line} takes a value of a lane that is not in it (`__shfl`, readfirstlane)."
        " Either only some lanes enter the loop, or the compiler has taken the others out of it, as it may where a loop"
        " begins and ends with the same `if`: then make `__builtin_amdgcn_wave_barrier()` its first statement"
    )


_LIMITED_BY = {"lds": "LDS", "vgprs": "registers", "wave_slots": "wave slots"}


def describe_crowd(fault: DispatchFault, total: int, gpu: str) -> str:
    """How many workgroups fit: `1,216 of 4,096 workgroups fit on MI300X at once (limited by LDS)`."""
    by = f" (limited by {_LIMITED_BY[fault.fit_by]})" if fault.fit_by else ""
    return f"{fault.fit:,} of {counted(total, 'workgroup', grouped=True)} fit on {gpu} at once{by}"


def describe_deadlock(kernel: str, crowd: str, running: Standstill | str) -> str:
    """Why a kernel whose workgroups wait for others that have no room can never end on that GPU."""
    return (
        f"{kernel} never ends: {crowd}; the rest start when these end, and these wait for the rest: {running}."
        " Launch no more workgroups than fit and let each do more, or wait for earlier workgroups only"
    )
