"""The expected outputs: what `reference` returns for the inputs of each call."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import in_reference_form, scalars_for_reference
from amdkernel_mcp.checking.expected.reference_arrays import bad_array, checked_array
from amdkernel_mcp.checking.expected.reference_cache import ReferenceCache
from amdkernel_mcp.checking.expected.reference_run import TIMEOUT_S, run_function
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.problems.problem import Argument, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Expected:
    """For each call every output as float64 (or the output's integer type)."""

    outputs: list[dict[str, Array]]
    not_cached: str | None = None  # why the outputs could not be kept for the next check


def expected_outputs(
    sandbox: Sandbox,
    problem: Problem,
    calls: Sequence[Call],
    *,
    cache_dir: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Expected:
    """The expected outputs of `calls`, from the cache or computed in the sandbox.

    Raises ProblemFileError when reference.py fails or returns the wrong thing, such as a NaN; SandboxError.
    """
    cache = ReferenceCache(cache_dir / "reference") if cache_dir else None
    if cache and (found := cache.get(problem, calls)) is not None:
        return Expected(found)
    outputs = _run(sandbox, problem, calls, timeout_s)
    return Expected(outputs, cache.put(problem, calls, outputs) if cache else None)


def rounded_outputs(
    sandbox: Sandbox, problem: Problem, call: Call, seeds: Sequence[int], *, steps: int = 1
) -> list[dict[str, Array]]:
    """The outputs of one call where each operation of the reference rounds as float32 does, for each seed of chance.

    `steps`: of float32, by which a result may be off. Raises ProblemFileError where the reference cannot be run so;
    SandboxError.
    """
    return _run(sandbox, problem, [call] * len(seeds), TIMEOUT_S, rounding=seeds, steps=steps)


def _run(
    sandbox: Sandbox,
    problem: Problem,
    calls: Sequence[Call],
    timeout_s: float,
    *,
    rounding: Sequence[int] = (),
    steps: int = 1,
) -> list[dict[str, Array]]:
    entries, files = [], {}
    for number, call in enumerate(calls):
        for argument in problem.inputs:
            files[f"{number}/{argument.name}.npy"] = _npy(in_reference_form(call.inputs[argument.name], argument))
        entries.append({"scalars": scalars_for_reference(problem, call.case), "arrays": list(call.inputs)})
    job = {"calls": entries, "outputs": [argument.name for argument in problem.outputs]}
    job |= {"rounding": list(rounding), "steps": steps} if rounding else {}
    cases = [call.case for call in calls]
    left = run_function(sandbox, problem, "reference", cases, job, files, timeout_s=timeout_s)
    return [_outputs(problem, call, number, left, any_nan=bool(rounding)) for number, call in enumerate(calls)]


def _npy(array: Array) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _outputs(
    problem: Problem, call: Call, number: int, left: Mapping[str, bytes], *, any_nan: bool
) -> dict[str, Array]:
    outputs = {}
    for argument in problem.outputs:
        content = left.get(f"{number}/{argument.name}.npy")
        if content is not None:
            outputs[argument.name] = checked_array(
                problem, argument, call.case, content, nan=None if any_nan else _why_no_nan(problem, argument)
            )
        elif argument.role == "inout":  # not returned: it stays as it was
            outputs[argument.name] = in_reference_form(call.inputs[argument.name], argument)
        else:
            raise bad_array(problem, call.case, f"`{argument.name}` is missing in what reference returned")
    return outputs


def _why_no_nan(problem: Problem, output: Argument) -> str | None:
    """NaN is allowed where the problem says so, for the output or by inputs that hold NaN or infinity."""
    special = any(argument.init and argument.init.kind in ("nans", "infs") for argument in problem.inputs)
    if special or output.non_finite or any(argument.non_finite for argument in problem.inputs):
        return None
    return "there is nothing to compare with (non_finite = true on the output allows it)"
