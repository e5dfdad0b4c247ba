"""What a check runs: for each case its inputs, and the runner's case with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.small_inputs import small_calls
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.launch.runner_case import runner_case
from amdkernel_mcp.problems.problem import Case, InitKind, Problem
from amdkernel_mcp.runner_protocol.job import RunCase

if TYPE_CHECKING:
    import numpy as np

    from amdkernel_mcp.launch.bind import BoundPlan

    Array = np.ndarray[Any, np.dtype[Any]]

# Instructions of a plain run: a check for races takes about ten times as long. Larger cases are checked in a sample of
# their workgroups. The smallest case may take longer than the others.
CLOSE_LOOK_WITHIN = 4_000_000
SMALLEST_WITHIN = 12_000_000
MANY_ORDERS_BYTES = 1 << 20
"""Of a case's buffers. A larger case runs in few orders: flaws between workgroups show in small cases as well."""

_INDEPENDENT: frozenset[InitKind] = frozenset(
    ("normal", "uniform", "integers", "large", "denormal", "spikes", "nans", "infs")
)
_EXCHANGED = 8  # of so many parts of an array one


@dataclass(frozen=True)
class CasePlan:
    """One case: its calls in the order of their inputs, and what the runner does with them in one process."""

    case: Case
    calls: tuple[Call, ...]
    run: RunCase


def plan_cases(
    problem: Problem,
    bound: Sequence[tuple[Case, BoundPlan]],
    calls: Sequence[Call],
    options: CheckOptions,
    *,
    shares: bool,
) -> list[CasePlan]:
    """The plans of all cases, each with its part of `calls`. `shares`: the code lets workgroups communicate."""
    own = len(calls) // len(bound)
    plans = [
        _plan(problem, case, each, calls[n * own : (n + 1) * own], options, shares=shares)
        for n, (case, each) in enumerate(bound)
    ]
    listed = [plan for plan in plans if not plan.case.drawn]  # the smallest drawn case is one element
    smallest = min(listed, key=lambda plan: _bytes(plan.run), default=None)
    return [
        replace(
            plan,
            run=replace(
                plan.run,
                close_look_within=SMALLEST_WITHIN if plan is smallest or options.patient else CLOSE_LOOK_WITHIN,
            ),
        )
        for plan in plans
    ]


def _plan(
    problem: Problem, case: Case, bound: BoundPlan, calls: Sequence[Call], options: CheckOptions, *, shares: bool
) -> CasePlan:
    if len(calls) > 1:
        nearly = _nearly_the_first(problem, calls)
        calls = [*calls, *([nearly] if nearly else [])]
        calls = [*calls, *small_calls(problem, case, calls)]
    run = runner_case(problem, case, calls[0].inputs, bound, repeats=1, odd=True)
    repeats = options.repeats(shares=shares and _bytes(run) <= MANY_ORDERS_BYTES)
    more = tuple({name: array.tobytes() for name, array in call.inputs.items()} for call in calls[1:])
    run = replace(run, repeats=repeats, emulator_options=_emulator_options(repeats, options.order), more_inputs=more)
    return CasePlan(case, tuple(calls), run)


def _nearly_the_first(problem: Problem, calls: Sequence[Call]) -> Call | None:
    """The first inputs with a part of each array exchanged: for a kernel that knows inputs again by some elements.

    Only where the elements of an array are independent, so that the exchange gives what its `init` could have given.
    """
    import numpy as np

    first, other = calls[0], calls[1]
    random = np.random.Generator(np.random.PCG64([first.seed, other.seed]))
    inputs = dict(first.inputs)
    for argument in problem.inputs:
        if argument.init is None or argument.init.kind not in _INDEPENDENT or problem.generates:
            continue
        mixed, new = inputs[argument.name].copy(), other.inputs[argument.name].reshape(-1)
        length = -(-mixed.size // _EXCHANGED)
        begin = int(random.integers(mixed.size - length + 1))
        mixed.reshape(-1)[begin : begin + length] = new[begin : begin + length]
        inputs[argument.name] = mixed
    if all(np.array_equal(array, first.inputs[name]) for name, array in inputs.items()):
        return None
    return Call(first.case, first.seed, inputs, len(calls))


def _bytes(run: RunCase) -> int:
    return sum(buffer.bytes for buffer in run.buffers)


def _emulator_options(repeats: int, order: int | None) -> tuple[str, ...]:
    """The first repeat is plain, the second checks for races, each of the others runs in its own order.

    The first of the others checks for races as well: in the plain order a wave may see a flag so late that everything
    looks ordered. With one `order` to replay, the second and the third repeat run in it.
    """
    seeds = range(1, repeats - 1) if order is None else (order,)
    looks = (f"races={int(n == seeds[0] and order is None)},schedule_seed={n}" for n in seeds)
    close = (f"races=1,schedule_seed={order or 0}", *looks)
    return ("races=0,schedule_seed=0", *close[: repeats - 1])
