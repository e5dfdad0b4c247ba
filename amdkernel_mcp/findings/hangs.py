"""Where the waves of a kernel were when its time was up → the line at which most of them were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.runner_protocol.records import StandingWaves

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


def describe_hang(kernel: str, seconds: float, running: Standstill | str, waiting: Standstill | None) -> str:
    """What may be wrong with a kernel whose time was up: it hangs, or it is slow.

    running: where the waves were that could run; waiting: where the others were, at a barrier.
    """
    where = f"{kernel} was still running after {seconds:.1f} s: {running}"
    if waiting is None:
        return f"{where}. A loop never ends, a wait is never satisfied, or the kernel is only slow"
    return (
        f"{where}, {waiting.waves} at the barrier of line {waiting.chain[0]}."
        " A loop or a wait that never ends keeps threads from that __syncthreads(), or the kernel is only slow"
    )
