"""The scope of a check: what the emulator checked, and what it did not, with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from amdkernel_mcp.counted import counted
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import CheckScope
from amdkernel_mcp.runner_protocol.records import DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport

_SHOWN = 3


@dataclass(frozen=True)
class _RaceSample:
    """In how many of its workgroups a case was checked for races; `own`: only among the waves of each of these."""

    followed: int
    total: int
    own: bool

    def __str__(self) -> str:
        own = " (only among the waves of each)" if self.own else ""
        return f"{self.followed:,} of {counted(self.total, 'workgroup', grouped=True)}{own}"


def scope_of(names: Sequence[str], reports: Sequence[CaseReport]) -> CheckScope:
    """The scope over the cases `names`.

    `reports` are those of the first seed, whose repeats are the plain run, the one that looks for races, other orders.
    """
    indices = range(len(names))
    ran = [k for k in indices if reports[k].dispatches]
    raced = [k for k in ran if any(record.races_checked for record in reports[k].dispatches)]
    in_part = [k for k in ran if any(record.races_in_part for record in reports[k].dispatches)]
    ordered = [k for k in ran if any(record.schedule_seed for record in reports[k].dispatches)]
    sampled = {k: sample for k in raced if (sample := _sample_of(reports[k]))}
    plain = [k for k in ran if k not in raced and reports[k].status == "ok"]
    stopped = [k for k in ran if k not in raced and reports[k].status != "ok"]
    silent = [k for k in indices if k not in ran]
    parts = [f"races were checked in {len(raced)} of {counted(len(names), 'case')}"]
    parts += [
        f"{_listed(names, [k])} in {sample}, because it executes {executed(reports[k]):,} instructions"
        " (the check takes ten times as long)"
        for k, sample in list(sampled.items())[:_SHOWN]
    ]
    if plain:
        parts.append(f"not in {_listed(names, plain)}")
    if stopped:
        parts.append(f"not in {_listed(names, stopped)}, which stopped before")
    if silent:
        parts.append(f"{_listed(names, silent)} did not run")
    if in_part:
        parts.append(f"only in part in {_listed(names, in_part)}, whose waves share more than 32 MiB")
    return CheckScope(
        cases=len(names),
        memory=len(ran),
        races=len(raced),
        races_sampled=len(sampled),
        races_in_part=len(in_part),
        orders=len(ordered),
        note="; ".join(parts),
    )


def gaps_of(names: Sequence[str], reports: Sequence[CaseReport], *, orders: bool) -> str:
    """What the verdict on a correct kernel does not cover, as the end of its sentence; empty if there is nothing.

    orders: other orders were asked for.
    """
    indices = range(len(names))
    samples = {k: sample for k in indices if (sample := _sample_of(reports[k]))}
    unraced = [k for k in indices if not any(record.races_checked for record in reports[k].dispatches)]
    in_part = [k for k in indices if any(record.races_in_part for record in reports[k].dispatches)]
    unordered = [k for k in indices if not any(record.schedule_seed for record in reports[k].dispatches)]
    parts = [f"races were looked for in {samples[k]} of {_listed(names, [k])}" for k in list(samples)[:_SHOWN]]
    if len(samples) > _SHOWN:
        parts.append(f"and in a sample of {counted(len(samples) - _SHOWN, 'other case')}")
    if unraced:
        parts.append(f"races were not looked for in {_listed(names, unraced)}")
    if in_part:
        parts.append(f"races were looked for in part of the memory of {_listed(names, in_part)}")
    if orders and unordered:
        parts.append(f"{_listed(names, unordered)} ran in the plain order only")
    return "; ".join(parts)


def sizes_beyond(problem: Problem, cases: Sequence[Case]) -> str:
    """From which sizes on no case was judged, where the problem is timed with larger ones; empty where it is not."""
    names = {name for argument in problem.arrays for shape in argument.shape or () for name in shape.names}
    parts = []
    for name in (scalar.name for scalar in problem.scalars if scalar.name in names):
        reached = max(case.values[name] for case in cases)
        if any(case.values[name] > reached for case in problem.profile_cases):
            parts.append(f"{name} = {reached:,}")
    return f"no size beyond {', '.join(parts)} was tried" if parts else ""


def _sample_of(report: CaseReport) -> _RaceSample | None:
    """None where races were looked for in all workgroups, or not at all."""
    checked = [record for record in report.dispatches if record.races_checked]
    closest: dict[tuple[str, tuple[int, ...]], DispatchRecord] = {}
    for record in checked:
        key = (record.kernel, record.grid)
        if key not in closest or record.race_groups > closest[key].race_groups:
            closest[key] = record
    followed = sum(record.race_groups for record in closest.values())
    total = sum(prod(record.grid) for record in closest.values())
    if followed >= total or report.status != "ok":
        return None
    return _RaceSample(followed, total, any(record.race_own_group for record in closest.values()))


def executed(report: CaseReport) -> int:
    """The instructions of the first repeat: the dispatches before one that looks for races."""
    plain = 0
    for record in report.dispatches:
        if record.races_checked:
            break
        plain += record.counters.get("SQ_INSTS", 0)
    return plain


def _listed(names: Sequence[str], chosen: Sequence[int]) -> str:
    shown = ", ".join(names[k] for k in chosen[:_SHOWN])
    more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
    return f"{'cases' if len(chosen) > 1 else 'case'} {shown}{more}"
