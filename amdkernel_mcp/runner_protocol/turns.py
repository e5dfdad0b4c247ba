"""The turns of a case: which inputs each run of its launches has, and the report cut at them.

The order is that of sandbox/runner/case_run.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.runner_protocol.job import Mode, RunCase
from amdkernel_mcp.runner_protocol.report import CaseReport


@dataclass(frozen=True)
class TurnReports:
    """The report of a case by its inputs.

    `inputs`: of the first data, then of each of `more_inputs`; None for those that a failure kept from running.
    `returned`: of the first data in the last turn; None where there is no such turn, or it did not run.
    """

    inputs: tuple[CaseReport | None, ...]
    returned: CaseReport | None


def turns_of(case: RunCase, mode: Mode) -> list[int]:
    """Which inputs each turn of `case` has, from 0."""
    inputs = 1 + len(case.more_inputs)
    if mode == "time":
        return [0] * case.repeats + [sample % max(1, case.timing.buffer_sets) % inputs for sample in case.timing.kept]
    return [0] * case.repeats + [*range(1, inputs), *([0] if inputs > 1 else [])]


def by_inputs(case: RunCase, mode: Mode, report: CaseReport) -> TurnReports:
    """`report` cut at the turns of `case`. A failure belongs to the turn in which it came."""
    turns = turns_of(case, mode)
    returned = len(turns) - 1 if mode != "time" and case.more_inputs else None
    stopped = None if report.status == "ok" else min(len(report.outputs), len(turns) - 1)

    def of(chosen: Sequence[int]) -> CaseReport | None:
        reached = [turn for turn in chosen if turn < len(report.outputs) or turn == stopped]
        return _cut(case, report, reached, failed=stopped in chosen) if reached else None

    numbers = [turn for turn in range(len(turns)) if turn != returned]
    inputs = tuple(of([t for t in numbers if turns[t] == k]) for k in range(1 + len(case.more_inputs)))
    return TurnReports(inputs, of([returned]) if returned is not None else None)


def _cut(case: RunCase, report: CaseReport, turns: Sequence[int], *, failed: bool) -> CaseReport:
    launches = len(case.launches)
    last = len(report.outputs)  # whose records go to the end: it may have stopped in any of its launches
    dispatches = [
        record
        for turn in turns
        for record in report.dispatches[turn * launches : None if turn >= last else (turn + 1) * launches]
    ]
    return replace(
        report,
        status=report.status if failed else "ok",
        message=report.message if failed else "",
        outputs=tuple(report.outputs[turn] for turn in turns if turn < last),
        guard_damage=tuple(damage for damage in report.guard_damage if damage.repeat in turns),
        inputs_modified=tuple(changed for changed in report.inputs_modified if changed.repeat in turns),
        untouched=tuple(untouched for untouched in report.untouched if untouched.repeat in turns),
        dispatches=tuple(dispatches),
    )
