"""Where the waves of a kernel stood when its time was up → the line at which most of them were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.execution.runner_answer import StandingWaves

Chain = Sequence[int]  # the line of an instruction, then those of the calls that led there, outwards


@dataclass(frozen=True)
class Standstill:
    """The line where most waves stood, how one of them came there, and how many they were `of` those that could run."""

    chain: Chain
    waves: int
    of: int
    example: StandingWaves

    def __str__(self) -> str:
        whose = f"wave {self.example.wave} of workgroup {list(self.example.workgroup)}"
        if self.of == 1:
            return f"{whose} was at line {self.chain[0]}"
        return f"{self.waves} of {self.of} waves were at line {self.chain[0]}, as {whose}"


def commonest_place(
    standing: Sequence[StandingWaves], chain_of: Callable[[int, Sequence[int]], Chain]
) -> Standstill | None:
    """None where no line is known. A loop has many instructions and few lines, so it is lines that are counted.

    chain_of: of an instruction and its callers, empty where the line is not known.
    """
    chains = [(chain, place) for place in standing if (chain := chain_of(place.pc, place.callers))]
    waves: dict[int, int] = {}
    for chain, place in chains:
        waves[chain[0]] = waves.get(chain[0], 0) + place.waves
    if not chains:
        return None
    line = max(waves, key=lambda line: waves[line])
    chain, example = next((chain, place) for chain, place in chains if chain[0] == line)
    return Standstill(chain, waves[line], sum(place.waves for place in standing), example)
