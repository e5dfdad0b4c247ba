"""The expected outputs: what `reference` returns for the inputs of each call."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.inputs import in_reference_form, scalars_for_reference
from amdkernel_mcp.checking.expected.reference_arrays import bad_array, checked_array, checked_scale
from amdkernel_mcp.checking.expected.reference_cache import ReferenceCache
from amdkernel_mcp.checking.expected.reference_run import TIMEOUT_S, run_function
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.problems.problem import Argument, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

MOST_ELEMENTS = 1 << 26
"""Of the outputs that are compared in one go: float64, and a judgement takes several times that."""


@dataclass(frozen=True)
class Expected:
    """For each call every output as float64 (or the output's integer type)."""

    outputs: list[dict[str, Array]]
    not_cached: str | None = None  # why the outputs could not be kept for the next check


@dataclass(frozen=True)
class Part:
    """Some elements of an output, in the order of their flat indices, with the scale of each (scale.py)."""

    values: Array
    scale: Array


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
    outputs = [each for group in _groups(problem, calls) for each in _run(sandbox, problem, group, timeout_s)]
    return Expected(outputs, cache.put(problem, calls, outputs) if cache else None)


def expected_part(
    sandbox: Sandbox,
    problem: Problem,
    call: Call,
    wanted: Mapping[str, Array],
    rtols: Mapping[str, float],
    *,
    cache_dir: Path | None = None,
) -> dict[str, Part]:
    """The elements at the flat indices `wanted` (int64) of each output; the whole outputs stay in the sandbox.

    `rtols`: of each output, on which the scale of its elements depends. Raises as expected_outputs does.
    """
    cache = ReferenceCache(cache_dir / "reference") if cache_dir else None
    found = cache.get(problem, [call], wanted) if cache else None
    if found is None:
        found = [_run_part(sandbox, problem, call, wanted, rtols)]
        if cache:
            cache.put(problem, [call], found, wanted)
    arrays = found[0]
    return {output.name: Part(arrays[output.name], arrays[f"{output.name}.scale"]) for output in problem.outputs}


def _run_part(
    sandbox: Sandbox, problem: Problem, call: Call, wanted: Mapping[str, Array], rtols: Mapping[str, float]
) -> dict[str, Array]:
    parts = {}
    entry, files = _job_of(problem, call, 0)
    for output in problem.outputs:
        files[f"0/{output.name}.wanted.npy"] = _npy(wanted[output.name])
        parts[output.name] = {
            "shape": list(call.case.shape_of(output)),
            "rtol": rtols[output.name],
            "epsilon": output.dtype.sum_epsilon,
        }
    job = {"calls": [entry], "outputs": [*parts], "parts": [parts]}
    left = run_function(sandbox, problem, "reference", [call.case], job, files)
    arrays = {}
    for output in problem.outputs:
        shape, nan = wanted[output.name].shape, _why_no_nan(problem, output)
        for name, argument in ((output.name, output), (f"{output.name}.scale", None)):
            content = left.get(f"0/{name}.npy")
            if content is None:
                raise bad_array(problem, call.case, f"`{output.name}` is missing in what reference returned")
            if argument:
                arrays[name] = checked_array(problem, argument, call.case, content, nan=nan, shape=shape)
            else:
                arrays[name] = checked_scale(problem, call.case, content, shape)
    return arrays


def _groups(problem: Problem, calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The calls in runs whose outputs fit into memory at once. Raises ProblemFileError for a call that is too large."""
    group: list[Call] = []
    elements = 0
    for call in calls:
        own = sum(prod(call.case.shape_of(output)) for output in problem.outputs)
        if own > MOST_ELEMENTS:
            message = f"the outputs have {own:,} elements, more than the {MOST_ELEMENTS:,} that are compared at once"
            raise bad_array(problem, call.case, message)
        if group and elements + own > MOST_ELEMENTS:
            yield group
            group, elements = [], 0
        group.append(call)
        elements += own
    yield group


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
    entries: list[Mapping[str, Any]] = []
    files: dict[str, bytes] = {}
    for number, call in enumerate(calls):
        entry, own = _job_of(problem, call, number)
        entries.append(entry)
        files |= own
    job = {"calls": entries, "outputs": [argument.name for argument in problem.outputs]}
    job |= {"rounding": list(rounding), "steps": steps} if rounding else {}
    cases = [call.case for call in calls]
    left_bytes = 8 * sum(prod(case.shape_of(output)) for case in cases for output in problem.outputs)
    left = run_function(sandbox, problem, "reference", cases, job, files, timeout_s=timeout_s, left_bytes=left_bytes)
    return [_outputs(problem, call, number, left, any_nan=bool(rounding)) for number, call in enumerate(calls)]


def _job_of(problem: Problem, call: Call, number: int) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """The entry of a call in the job, and its files. What NumPy itself knows becomes float64 there."""
    files = {}
    for argument in problem.inputs:
        array = call.inputs[argument.name]
        native = array.dtype.isbuiltin == 1
        files[f"{number}/{argument.name}.npy"] = _npy(array if native else in_reference_form(array, argument))
    return {"scalars": scalars_for_reference(problem, call.case), "arrays": list(call.inputs)}, files


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
