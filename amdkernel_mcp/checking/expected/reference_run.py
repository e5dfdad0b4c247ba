"""Runs a function of reference.py in a compile sandbox, which has no GPU and no candidate in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.checking.expected.reference_answer import ReferenceAnswer, ReferenceFailure, read_answer
from amdkernel_mcp.errors import ProblemFileError, SandboxError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox, SandboxKind
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.quoting import words_of

TIMEOUT_S = 120.0
_SCALE = Path(__file__).parents[1] / "judging" / "scale.py"  # it needs NumPy alone
_LEAST_OUTPUT_BYTES, _REST_BYTES = 256 << 20, 4 << 20


class ReferenceTimeoutError(ProblemFileError):
    """A function of reference.py did not end in time; with other inputs it would not either."""


def run_function(
    sandbox: Sandbox,
    problem: Problem,
    function: str,
    cases: Sequence[Case],
    job: Mapping[str, Any],
    files: Mapping[str, bytes],
    *,
    timeout_s: float = TIMEOUT_S,
    left_bytes: int = 0,
) -> Mapping[str, bytes]:
    """The files that `reference` or `generate` left. `cases`: that of each call, for messages.

    `left_bytes`: how much it leaves where all is well.

    Raises ProblemFileError when it fails; SandboxError.
    """
    runner = bundled_folder("sandbox") / "runner"
    scripts = {"reference": ("run_reference.py",), "generate": ("run_generate.py", "run_reference.py")}[function]
    scripts += ("rounded_arrays.py",) if "rounding" in job else ()
    shipped = {name: (runner / name).read_bytes() for name in scripts}
    if "parts" in job:
        shipped["scale.py"] = _SCALE.read_bytes()
    if problem.needs_torch:
        shipped |= module_scripts()
    shipped |= {"reference.py": problem.reference.encode(), "job.json": json.dumps(job).encode()}
    kind: SandboxKind = "torch" if problem.needs_torch else "compile"
    completed = sandbox.run(
        kind,
        ["python3", scripts[0]],
        {**files, **shipped},
        timeout_s=timeout_s,
        output_limit_bytes=max(_LEAST_OUTPUT_BYTES, left_bytes + _REST_BYTES),
    )
    answer = _answer(problem, completed, timeout_s)
    if answer.error:
        raise _explain(problem, function, cases, answer.error, answer.call)
    return completed.files


def module_scripts() -> dict[str, bytes]:
    """What the references of imported problems import: sandbox/modules."""
    return {path.name: path.read_bytes() for path in (bundled_folder("sandbox") / "modules").glob("*.py")}


def _answer(problem: Problem, completed: Completed, timeout_s: float) -> ReferenceAnswer:
    reason = None
    if completed.timed_out:
        reason = f"reference.py took more than {timeout_s:g} s"
    elif completed.out_of_memory:
        reason = "reference.py needs more memory than the sandbox has"
    elif completed.stderr_cut:
        reason = "reference.py printed more text than the sandbox returns: remove its prints"
    elif completed.truncated:
        reason = "reference.py left more data than the sandbox hands out"
    elif "answer.json" not in completed.files:
        if "run_reference.py" in completed.stderr and "numpy" in completed.stderr:
            raise SandboxError("the sandbox image has no NumPy", hint="amdkernel setup")
        reason = f"reference.py ended the interpreter (exit code {completed.exit_code})"
    if reason:
        failure = ReferenceTimeoutError if completed.timed_out else ProblemFileError
        raise failure(reason, file=problem.reference_file, line=problem.reference_line)
    try:
        return read_answer(completed.files["answer.json"])
    except ValueError:
        raise ProblemFileError("reference.py overwrote its own answer", file=problem.reference_file) from None


def _explain(
    problem: Problem, function: str, cases: Sequence[Case], error: ReferenceFailure, call: int | None
) -> ProblemFileError:
    message, hint = words_of(problem.author, error.message) if problem.author else error.message, None
    if error.kind == "module":
        message = f"reference.py imports {message}, which the sandbox does not have"
        torch = error.message == "torch"
        hint = "write the reference with NumPy; in float64 it is as exact as PyTorch" if torch else None
    else:
        where = f" in case {cases[call].name}" if call is not None and 0 <= call < len(cases) else ""
        message = f"{function} failed{where}: {message}"
    return ProblemFileError(
        message,
        file=problem.reference_file,
        line=error.line or problem.reference_line,
        hint=hint,
    )
