"""The times of two kernels in turns: the host's side of sandbox/runner/pair_timing.py, all of it validated."""

from collections.abc import Mapping, Sequence

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerJob
from amdkernel_mcp.runner_protocol.records import PairsAnswer
from amdkernel_mcp.runner_protocol.report import PairsReport

JUDGED = 4
"""Samples of each side whose outputs come back: the first, the last and two that were drawn."""


def paired_output_bytes(job: RunnerJob) -> int:
    """What the judged samples of both sides add to the answer at most."""
    return sum(
        JUDGED * buffer.bytes
        for case in job.cases
        if case.rival
        for buffer in (*case.buffers, *case.rival.buffers)
        if buffer.role in ("out", "inout")
    )


def read_pairs(index: int, case: RunCase, answer: PairsAnswer, files: Mapping[str, bytes], target: str) -> PairsReport:
    """The samples, with the outputs of those that are judged. Raises TargetError for what the job did not ask for."""
    rival = case.rival
    assert rival is not None
    of_both = len(answer.outputs) == len(answer.damage) == 2 and all(
        len(kept) == len(answer.kept) == len(answer.kept_sets) == JUDGED for kept in answer.outputs
    )
    if not of_both or answer.batch < 1 or not rival.least_pairs <= len(answer.pairs_us) <= rival.pairs:
        raise TargetError(f"{target} did not time case {index} as it should")
    mine, other = (
        tuple(_outputs(index, side, number, buffers, files, target) for number in range(JUDGED))
        for side, buffers in (("side-0", case.buffers), ("side-1", rival.buffers))
    )
    return PairsReport(
        pairs_us=tuple((a / answer.batch, b / answer.batch) for a, b in answer.pairs_us),
        batch=answer.batch,
        buffer_sets=answer.buffer_sets,
        settled_us=answer.settled_us,
        filled=answer.filled,
        outputs=mine,
        rival_outputs=other,
        inputs=tuple(number % (1 + len(case.more_inputs)) for number in answer.kept_sets),
        process=answer.process,
        damage=tuple(answer.damage[0]),
        rival_damage=tuple(answer.damage[1]),
    )


def _outputs(
    index: int, side: str, number: int, buffers: Sequence[Buffer], files: Mapping[str, bytes], target: str
) -> dict[str, bytes]:
    found = {}
    for position, buffer in enumerate(buffers):
        if buffer.role not in ("out", "inout"):
            continue
        content = files.get(f"case-{index}.{side}.sample-{number}.buffer-{position}.bin")
        if content is None or len(content) != buffer.bytes:
            raise TargetError(f"{target} did not return {buffer.name} of timed sample {number} of case {index}")
        found[buffer.name] = content
    return found
