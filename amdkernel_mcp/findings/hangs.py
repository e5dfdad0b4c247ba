"""Where the waves of a kernel stood when its time was up → the line at which most of them were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.runner_protocol.records import StandingWaves

Chain = Sequence[int]  # the line of an instruction, then those of the calls that led there, outwards


@dataclass(frozen=True)
class Standstill:
    """The line where most waves stood, how one of them came there, and how many they were `of` all."""

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
    """None where no line is known. A loop has many instructions and few lines, so it is lines that are counted.

    chain_of: of an instruction and its callers, empty where the line is not known. at_barrier: of the waves that waited
    at one, else of the others.
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
    """What may be wrong with a kernel whose time was up; it cannot be known whether it would have ended.

    running: where the waves were that could go on; waiting: those at a barrier.
    """
    where = f"{kernel} had not ended after {seconds:.1f} s: {running}"
    if waiting is None:
        return f"{where}. Either a loop has no end or waits for what never comes, or the kernel is slow"
    return (
        f"{where}, {waiting.waves} at the barrier of line {waiting.chain[0]}."
        " Either a loop that has no end, or waits for what never comes, keeps threads from that"
        " __syncthreads(), or the kernel is slow"
    )
