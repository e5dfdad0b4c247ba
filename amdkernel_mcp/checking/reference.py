"""The expected outputs: reference.py runs in a compile sandbox, which has no GPU and no candidate in it.

Its outputs are checked like any other input: the reference is untrusted code.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.checking.inputs import in_reference_form, scalars_for_reference
from amdkernel_mcp.checking.reference_answer import ReferenceAnswer, ReferenceFailure, read_answer, read_npy
from amdkernel_mcp.checking.reference_cache import ReferenceCache
from amdkernel_mcp.errors import ProblemFileError, SandboxError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.problems.problem import Argument, Case, Problem

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Call:
    """One set of inputs, and so one set of expected outputs."""

    case: Case
    seed: int
    inputs: Mapping[str, Array]


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
    """The expected outputs of `calls`, those that are not in the cache computed in the sandbox.

    Raises ProblemFileError when reference.py fails, returns the wrong thing, or expects a NaN; SandboxError.
    """
    cache = ReferenceCache(cache_dir / "reference") if cache_dir else None
    found = [cache.get(problem, call.case, call.seed) if cache else None for call in calls]
    missing = [index for index, outputs in enumerate(found) if outputs is None]
    not_kept = None
    if missing:
        todo = [calls[index] for index in missing]
        for index, outputs in zip(missing, _run(sandbox, problem, todo, timeout_s), strict=True):
            found[index] = outputs
            if cache:
                not_kept = cache.put(problem, calls[index].case, calls[index].seed, outputs) or not_kept
    return Expected([outputs for outputs in found if outputs is not None], not_kept)


def _run(sandbox: Sandbox, problem: Problem, calls: Sequence[Call], timeout_s: float) -> list[dict[str, Array]]:
    completed = sandbox.run("compile", ["python3", "run_reference.py"], _job_files(problem, calls), timeout_s=timeout_s)
    answer = _answer(problem, completed, timeout_s)
    if answer.error:
        raise _explain(problem, calls, answer.error, answer.call)
    return [_outputs(problem, call, number, completed) for number, call in enumerate(calls)]


def _job_files(problem: Problem, calls: Sequence[Call]) -> dict[str, bytes]:
    runner = bundled_folder("sandbox") / "runner" / "run_reference.py"
    files = {"reference.py": problem.reference.encode(), "run_reference.py": runner.read_bytes()}
    entries = []
    for number, call in enumerate(calls):
        for argument in problem.inputs:
            files[f"{number}/{argument.name}.npy"] = _npy(in_reference_form(call.inputs[argument.name], argument))
        entries.append({"scalars": scalars_for_reference(problem, call.case), "arrays": list(call.inputs)})
    job = {"calls": entries, "outputs": [argument.name for argument in problem.outputs]}
    return files | {"job.json": json.dumps(job).encode()}


def _npy(array: Array) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _answer(problem: Problem, completed: Completed, timeout_s: float) -> ReferenceAnswer:
    reason = None
    if completed.timed_out:
        reason = f"reference.py took more than {timeout_s:g} s"
    elif completed.out_of_memory:
        reason = "reference.py needs more memory than the sandbox has"
    elif completed.truncated:
        reason = "reference.py left more data than the sandbox hands out"
    elif "answer.json" not in completed.files:
        if "run_reference.py" in completed.stderr and "numpy" in completed.stderr:
            raise SandboxError("the sandbox image has no NumPy", hint="amdkernel setup")
        reason = f"reference.py ended the interpreter (exit code {completed.exit_code})"
    if reason:
        raise ProblemFileError(reason, file=problem.reference_file, line=problem.reference_line)
    try:
        return read_answer(completed.files["answer.json"])
    except ValueError:
        raise ProblemFileError("reference.py overwrote its own answer", file=problem.reference_file) from None


def _explain(problem: Problem, calls: Sequence[Call], error: ReferenceFailure, call: int | None) -> ProblemFileError:
    message, hint = error.message, None
    if error.kind == "module":
        module = message
        message = f"reference.py imports {module}, which the sandbox does not have"
        hint = "write the reference with NumPy; in float64 it is as exact as PyTorch" if module == "torch" else None
    else:
        where = f" in case {calls[call].case.name}" if call is not None and 0 <= call < len(calls) else ""
        message = f"reference failed{where}: {message}"
    return ProblemFileError(
        message,
        file=problem.reference_file,
        line=error.line or problem.reference_line,
        hint=hint,
    )


def _outputs(problem: Problem, call: Call, number: int, completed: Completed) -> dict[str, Array]:
    outputs = {}
    for argument in problem.outputs:
        content = completed.files.get(f"{number}/{argument.name}.npy")
        if content is not None:
            outputs[argument.name] = _checked(problem, argument, call, content)
        elif argument.role == "inout":  # not returned: it stays as it was
            outputs[argument.name] = in_reference_form(call.inputs[argument.name], argument)
        else:
            raise _bad(problem, call, f"`{argument.name}` is missing in what reference returned")
    return outputs


def _bad(problem: Problem, call: Call, message: str) -> ProblemFileError:
    return ProblemFileError(
        f"{message}, in case {call.case.name}", file=problem.reference_file, line=problem.reference_line
    )


def _checked(problem: Problem, argument: Argument, call: Call, content: bytes) -> Array:
    import numpy as np

    try:
        array = read_npy(content)
    except ValueError as error:
        raise _bad(problem, call, f"`{argument.name}` cannot be read: {error}") from None
    shape = call.case.shape_of(argument)
    if array.size == 1 and shape == (1,) * len(shape):
        array = array.reshape(shape)  # a sum may come as a plain number
    if array.shape != shape:
        raise _bad(problem, call, f"`{argument.name}` has the shape {list(array.shape)} instead of {list(shape)}")
    if np.isnan(array).any():
        index = _index(np.isnan(array))
        raise _bad(problem, call, f"`{argument.name}` is NaN at {index}: there is nothing to compare with")
    if argument.dtype.kind == "float":
        return np.asarray(array, dtype=np.float64)
    return _whole(problem, argument, call, array)


def _whole(problem: Problem, argument: Argument, call: Call, array: Array) -> Array:
    import numpy as np

    dtype = argument.dtype
    with np.errstate(invalid="ignore"):
        broken = array != np.floor(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        outside = (array < dtype.smallest) | (array > dtype.largest)
    for wrong, why in ((broken, "is not an integer"), (outside, f"does not fit into {dtype.name}")):
        if wrong.any():
            index = _index(wrong)
            value = array[tuple(index)]
            raise _bad(problem, call, f"`{argument.name}` is {value} at {index}, which {why}")
    return array.astype(dtype.numpy)


def _index(mask: Array) -> list[int]:
    import numpy as np

    return [int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)]
