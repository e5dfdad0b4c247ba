"""Whether a problem can tell a right kernel from a wrong one. Pure: problem_probe.py makes the data.

An error refuses the problem; it is one only where no kernel at all would be found out, or where the reference
contradicts itself. A warning is a note: copies and exact tolerances are often what the problem wants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.judging.bias import find_bias
from amdkernel_mcp.checking.judging.judge import tolerance_of
from amdkernel_mcp.checking.judging.scale import scales
from amdkernel_mcp.checking.judging.tolerance import compare
from amdkernel_mcp.problems.problem import Argument, Problem

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Outputs = dict[str, Array]
    Wrong = Callable[[int], Array | None]  # a wrong answer to the call of this number; None where there is none

SAME = 1e-9
"""How far apart two runs of a reference may be, relative to their magnitude: BLAS adds in an order of its own."""
_FEW = 0.01  # of the elements
_MANY = 0.2
_NEUTRAL = (0, 1)


@dataclass(frozen=True)
class ProblemFinding:
    """One thing that is wrong with a problem, as a sentence without its end."""

    severity: Literal["error", "warning"]
    message: str


@dataclass(frozen=True)
class Probe:
    """The same call three times: again, with inputs moved by far less than an f32 step, and by one such step."""

    expected: Outputs
    again: Outputs
    nudged: Outputs | None  # None: the reference has no answer there, or no input is a float
    stepped: Outputs | None


def weak_points(
    problem: Problem, calls: Sequence[Call], expected: Sequence[Outputs], *, all_cases: bool
) -> list[ProblemFinding]:
    """Which wrong answers would pass in every call. `all_cases`: the calls are of all cases of the problem."""
    passing = {output.name: _passing(problem, output, calls, expected) for output in problem.outputs}
    findings = []
    constants = {name: wrongs["constant"] for name, wrongs in passing.items() if "constant" in wrongs}
    if constants:
        what = " and ".join(f"{value} to {name}" for name, value in constants.items())
        # A mean over many elements hardly moves: such a number is worth a check, one that never moves is not.
        single = all(array.size == 1 for outputs in expected for array in outputs.values())
        moves = any(len({outputs[output.name].tobytes() for outputs in expected}) > 1 for output in problem.outputs)
        proves_nothing = len(constants) == len(problem.outputs) and all_cases and not (single and moves)
        findings.append(_finding(proves_nothing, f"a kernel that only writes {what} passes every case"))
    kept = [name for name, wrongs in passing.items() if "unchanged" in wrongs]
    if kept and len(kept) == len(problem.outputs):
        findings.append(_finding(all_cases, "a kernel that does nothing passes every case"))
    elif kept:
        findings.append(_finding(False, f"a kernel that leaves {' and '.join(kept)} unchanged passes every case"))
    for wrongs in passing.values():
        findings += [_finding(False, text) for key, text in wrongs.items() if key not in ("constant", "unchanged")]
    return findings


def _finding(error: bool, message: str) -> ProblemFinding:
    return ProblemFinding("error" if error else "warning", message)


def _passing(problem: Problem, output: Argument, calls: Sequence[Call], expected: Sequence[Outputs]) -> dict[str, str]:
    """The wrong answers for one output that pass in all calls, by kind, with what is said of them."""
    refs = [outputs[output.name] for outputs in expected]

    def passes(wrong: Wrong) -> bool:
        answers = (wrong(number) for number in range(len(refs)))
        pairs = zip(answers, refs, calls, strict=True)
        return all(got is not None and _accepted(problem, output, got, ref) for got, ref, _ in pairs)

    name, found = output.name, {}
    for constant in dict.fromkeys((0.0, _middle(refs))):
        if passes(lambda k, c=constant: np.full(refs[k].shape, c)):  # type: ignore[misc]
            return {"constant": f"{constant:g}"}  # the others would pass for the same reason
    for argument in problem.inputs:
        if passes(lambda k, a=argument: _as_output(calls[k].inputs[a.name], refs[k])):  # type: ignore[misc]
            if argument.name == name:
                return {"unchanged": ""}
            found["passthrough"] = f"a kernel that copies {argument.name} to {name} passes every case"
    if any(ref.size > 1 for ref in refs) and passes(lambda k: _shifted(refs[k])):
        found["shifted"] = f"{name} shifted by one element passes every case"
    rounded = _rounded(problem, output, refs)
    if rounded and passes(lambda k: rounded[1][k]):
        found["rounded"] = f"the tolerance of {name} accepts {output.dtype.name} results rounded to {rounded[0]}"
    return found


def _middle(refs: Sequence[Array]) -> float:
    finite = [ref[np.isfinite(ref)] if ref.dtype.kind == "f" else ref for ref in refs]
    ends = [float(end) for ref in finite if ref.size for end in (ref.min(), ref.max())]
    return (min(ends) + max(ends)) / 2 if ends else 0.0


def _shifted(ref: Array) -> Array:
    flat = ref.reshape(-1)
    return np.concatenate([flat[:1], flat[:-1]]).reshape(ref.shape)


def _as_output(array: Array, ref: Array) -> Array | None:
    return array if array.shape == ref.shape else None


def _rounded(problem: Problem, output: Argument, refs: Sequence[Array]) -> tuple[str, list[Array]] | None:
    """The answers in half the precision, where that changes them and no input is that narrow anyway."""
    narrow = {"f32": ("f16", np.float16), "f64": ("f32", np.float32)}.get(output.dtype.name)
    if narrow is None or any(a.dtype.kind == "float" and a.dtype.bytes < output.dtype.bytes for a in problem.inputs):
        return None
    with np.errstate(over="ignore"):
        rounded = [ref.astype(narrow[1]).astype(np.float64) for ref in refs]
    same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(rounded, refs, strict=True))
    return None if same else (narrow[0], rounded)


def _accepted(problem: Problem, output: Argument, wrong: Array, ref: Array) -> bool:
    """Whether a check would call this answer right."""
    dtype, tolerance = output.dtype, tolerance_of(problem, output)
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype.kind == "int":
            wrong = (
                np.clip(wrong.astype(np.float64), dtype.smallest, float(dtype.largest))
                if wrong.dtype.kind == "f"
                else wrong
            )
        got = wrong.astype(dtype.numpy)
    comparison = compare(got, ref, dtype=dtype, tolerance=tolerance)
    if comparison.violations and not comparison.forgiven:
        return False
    return find_bias(got, ref, dtype=dtype, tolerance=tolerance) is None


# ---- what no case shows ----


def unshown(problem: Problem, calls: Sequence[Call]) -> list[ProblemFinding]:
    """Scalars that have one neutral value in all cases, and inputs that every seed makes alike."""
    findings = []
    sizes = {name for argument in problem.arrays for dimension in argument.shape or () for name in dimension.names}
    for argument in (each for each in problem.scalars if each.name not in sizes):
        values = {case.values.get(argument.name) for case in problem.cases}
        if argument.name not in problem.ranges and len(values) == 1 and (value := next(iter(values))) in _NEUTRAL:
            message = (
                f"no case shows what {argument.name} does: it is {value} in all of them, so a kernel may ignore it"
            )
            findings.append(ProblemFinding("warning", message))
    if problem.generates and problem.inputs and _alike(problem, calls):
        message = "generate gives the same inputs for every seed, so a kernel may know them: draw them from `rng`"
        findings.append(ProblemFinding("warning", message))
    return findings


def _alike(problem: Problem, calls: Sequence[Call]) -> bool:
    """Whether the inputs of each case are the same in all its calls; False where each has one call."""
    first: dict[str, Call] = {}
    again = [call for call in calls if first.setdefault(call.case.name, call) is not call]
    names = [argument.name for argument in problem.inputs]
    return bool(again) and all(
        np.array_equal(
            call.inputs[name], first[call.case.name].inputs[name], equal_nan=call.inputs[name].dtype.kind == "f"
        )
        for call in again
        for name in names
    )


# ---- the reference itself ----


def contradictions(problem: Problem, probe: Probe) -> list[ProblemFinding]:
    """What the reference does to its own answers."""
    findings = []
    for output in problem.outputs:
        name = output.name
        if not _same(probe.expected[name], probe.again[name]):
            message = (
                f"the reference gives another {name} for the same inputs; it must not use time or unseeded numbers"
            )
            findings.append(ProblemFinding("error", message))
        elif output.dtype.kind == "float" and probe.nudged and probe.stepped:
            findings += _precision(problem, output, probe.expected[name], probe.nudged[name], probe.stepped[name])
    return findings


def _same(one: Array, other: Array) -> bool:
    if one.dtype.kind != "f":
        return float(np.mean(one != other)) <= _FEW
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(one)
        finite = np.isfinite(one)
        scale = float(np.sqrt(np.mean(size[finite] ** 2))) if finite.any() else 0.0
        near = np.abs(one - other) <= SAME * (size + scale)
    return bool(np.all(near | (one == other) | (np.isnan(one) & np.isnan(other))))


def _precision(problem: Problem, output: Argument, ref: Array, nudged: Array, stepped: Array) -> list[ProblemFinding]:
    findings = []
    if output.dtype.bytes >= 4 and np.array_equal(ref, nudged, equal_nan=True) and np.mean(ref != stepped) > _MANY:
        message = f"the reference computes {output.name} in float32: its rounding takes a part of the tolerance"
        findings.append(ProblemFinding("warning", message + "; keep its arrays float64"))
    tolerance = tolerance_of(problem, output)
    if tolerance.is_equality or not (tolerance.rtol or tolerance.atol):
        return findings
    rtol = tolerance.rtol or 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        margin = rtol * scales(ref, rtol=rtol, epsilon=2.0**-23) if tolerance.atol is None else tolerance.atol
        moved = np.abs(stepped - ref) > rtol * np.abs(ref) + margin
    share = float(np.mean(moved & np.isfinite(ref)))
    if share > _FEW:
        unit = "f64" if all(argument.dtype.bytes == 8 for argument in problem.inputs) else "f32"
        message = f"the tolerance of {output.name} is below its own noise: inputs that move by one {unit} step put"
        findings.append(ProblemFinding("warning", f"{message} {100 * share:.0f} % of the elements outside"))
    return findings
