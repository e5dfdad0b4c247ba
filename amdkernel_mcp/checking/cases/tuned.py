"""Which combinations of `tune` values a check tries, and what its answer says about them. Pure.

A sweep may choose any value that the line lists, so a kernel is only correct when it is with each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.results.kernels import CheckResult

MOST_WHOLE = 16
"""Up to so many combinations are all checked; of more, each value once."""
MOST = 32
_SEEDS = 2

Tuning = Mapping[str, str]


def other_combinations(plan: LaunchPlan) -> list[Tuning]:
    """The combinations to check besides the one that the plan's own flags choose."""
    tune = plan.tune or {}
    if not tune:
        return []
    lists = [list(dict.fromkeys(values)) for values in tune.values()]
    if prod(map(len, lists)) <= MOST_WHOLE:
        chosen = list(product(*lists))
    else:
        longest = max(map(len, lists))
        steps = range(longest) if longest < MOST else [k * (longest - 1) // (MOST - 2) for k in range(MOST - 1)]
        chosen = [tuple(values[k % len(values)] for values in lists) for k in steps]
        chosen.append(tuple(values[-1] for values in lists))
    default = plan.flags()
    tunings = [dict(zip(tune, values, strict=True)) for values in dict.fromkeys(chosen)]
    return [tuning for tuning in tunings if plan.flags(tuning) != default]


def with_tuning(plan: LaunchPlan, tuning: Tuning) -> LaunchPlan:
    """The plan with one combination fixed."""
    return replace(plan, build=plan.flags(tuning), tune=None)


def chosen(plan: LaunchPlan, values: Tuning) -> LaunchPlan:
    """The plan with these values fixed, unless there are none. Raises InputError for one that its lines do not list."""
    tune = plan.tune or {}
    for name, value in values.items():
        if value not in tune.get(name, ()) and default_tuning(plan).get(name) != value:
            raise InputError(f"the kernel's `tune` lines do not list {name}={value}")
    return with_tuning(plan, values) if values else plan


def fewer_seeds(options: CheckOptions | None) -> CheckOptions:
    """The options for a combination besides the first; its flags give it seeds of its own."""
    return replace(options or CheckOptions(), seed_count=_SEEDS)


def name_of(tuning: Tuning) -> str:
    """A combination as the answer names it: `TILE=32 WAVES=4`."""
    return " ".join(f"{name}={value}" for name, value in tuning.items())


def default_tuning(plan: LaunchPlan) -> Tuning:
    """The values that the plan's own flags choose."""
    defined = dict(flag[2:].partition("=")[::2] for flag in plan.flags() if flag.startswith("-D"))
    return {name: defined[name] for name in plan.tune or {}}


def check_combinations(
    result: CheckResult, plan: LaunchPlan, check_one: Callable[[LaunchPlan, str], CheckResult]
) -> CheckResult:
    """The answer about all combinations; `result` is that about the values that the plan's own flags choose.

    `check_one` compiles and checks one plan. The first combination that is not correct is the answer; one that cannot
    be launched cannot be chosen either, and is named.
    """
    own = default_tuning(plan)
    if not own:
        return result
    if result.verdict != "correct":
        return _named(result, own)
    refused: dict[str, str] = {}
    checked = [own]
    for tuning in other_combinations(plan):
        one = check_one(with_tuning(plan, tuning), name_of(tuning))
        checked.append(tuning)
        if one.verdict == "invalid":
            refused[name_of(tuning)] = one.reason
        elif one.verdict != "correct":
            return _named(one, tuning)
    return result.model_copy(update={"reason": f"{result.reason}; {_summary(plan, checked, refused)}"})


def _named(result: CheckResult, tuning: Tuning) -> CheckResult:
    """The answer about one combination: the reason and each finding begin with its name."""
    name = name_of(tuning)
    findings = [finding.model_copy(update={"message": f"{name}: {finding.message}"}) for finding in result.findings]
    return result.model_copy(update={"reason": f"{name}: {result.reason}", "findings": findings})


def _summary(plan: LaunchPlan, checked: Sequence[Tuning], refused: Mapping[str, str]) -> str:
    tune = plan.tune or {}
    total = prod(len(set(values)) for values in tune.values())
    missing = sum(len(set(values) - {tuning[name] for tuning in checked}) for name, values in tune.items())
    right = len(checked) - len(refused)
    if right >= total:
        text = (
            f"all {right} combinations of `tune` are correct"
            if right > 1
            else "the only combination of `tune` is correct"
        )
    else:
        text = f"{right} of {total} combinations of `tune` {'is' if right == 1 else 'are'} correct"
        left = total - len(checked)
        if left > 0:
            covered = f", {counted(missing, 'value')} among them" if missing else ", but each value was tried"
            text += f", {left} {'was' if left == 1 else 'were'} not checked{covered}"
    for name, reason in list(refused.items())[:2]:
        text += f"; {name} cannot be launched: {reason}"
    return text + (f"; nor can {counted(len(refused) - 2, 'other')}" if len(refused) > 2 else "")
