"""The scope of a check: what the emulator checked, and what it did not, with the reason."""

from collections.abc import Sequence

from amdkernel_mcp.results.kernels import CheckScope
from amdkernel_mcp.runner_protocol.report import CaseReport

_SHOWN = 3


def scope_of(names: Sequence[str], reports: Sequence[CaseReport], limits_s: Sequence[float]) -> CheckScope:
    """The scope over the cases `names`; `limits_s`: how long a plain run of each may take to be checked for races.

    `reports` are those of the first seed, whose repeats are the plain run, the one that looks for races, other orders.
    """
    indices = range(len(names))
    ran = [k for k in indices if reports[k].dispatches]
    raced = [k for k in ran if any(record.races_checked for record in reports[k].dispatches)]
    in_part = [k for k in ran if any(record.races_in_part for record in reports[k].dispatches)]
    ordered = [k for k in ran if any(record.schedule_seed for record in reports[k].dispatches)]
    slow = [k for k in ran if k not in raced and reports[k].status == "ok"]
    stopped = [k for k in ran if k not in raced and reports[k].status != "ok"]
    silent = [k for k in indices if k not in ran]
    parts = [f"races were checked in {len(raced)} of {len(names)} cases"]
    if slow:
        parts.append(
            f"not in {_listed(names, slow)}, whose launches took more than {max(limits_s[k] for k in slow):g} s"
            " (the check takes ten times that): add a smaller case"
        )
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
        races_in_part=len(in_part),
        orders=len(ordered),
        note="; ".join(parts),
    )


def _listed(names: Sequence[str], chosen: Sequence[int]) -> str:
    shown = ", ".join(names[k] for k in chosen[:_SHOWN])
    more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
    return f"{'cases' if len(chosen) > 1 else 'case'} {shown}{more}"
