"""The outputs of a run → the verdict of a case, its findings, and the worst element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from amdkernel_mcp.checking.judging.bias import Bias, find_bias
from amdkernel_mcp.checking.judging.lost_precision import find_loss
from amdkernel_mcp.checking.judging.partial_work import loads_left_out, stores_left_out
from amdkernel_mcp.checking.judging.sentences import (
    at,
    bias_sentence,
    element_of,
    elements,
    loss_sentence,
    plain,
    said,
    values_sentence,
)
from amdkernel_mcp.checking.judging.tolerance import MAX_BIAS, Comparison, Tolerance, compare
from amdkernel_mcp.counted import counted
from amdkernel_mcp.findings.faults import Layout, Lines, Stop, explain_stop
from amdkernel_mcp.findings.mistakes import explain_mistakes
from amdkernel_mcp.problems.problem import Argument, Case, OutputTolerance, Problem
from amdkernel_mcp.results.kernels import CaseResult, CheckVerdict, Finding, Worst
from amdkernel_mcp.runner_protocol.report import CaseReport

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]
    LeastScales = Callable[[Mapping[str, float]], Mapping[str, float | Array]]

# The bytes that outputs hold before a run, alternating between repeats. Source: sandbox/runner/guarded_buffer.py.
POISON = (0xFF, 0x3F)
_ROUNDING = "floating-point sums round differently in another order, which is not a mistake"
SEVERITY: tuple[CheckVerdict, ...] = (
    "correct", "not_measured", "not_emulated", "incorrect", "timeout", "deadlock", "crashed", "invalid",
)  # fmt: skip


@dataclass(frozen=True)
class RunJudgement:
    """One seed of one case. `inputs`: which ones, where they are not the first."""

    verdict: CheckVerdict
    reason: str
    findings: tuple[Finding, ...] = ()
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    violations: int | None = None
    elements: int = 0  # of all outputs, those that were judged
    worst: Worst | None = None
    notes: tuple[str, ...] = ()
    inputs: str = ""

    @property
    def gravity(self) -> tuple[int, bool, bool, bool, int]:
        """How bad it is: of two wrong runs, the one with a cause says more than the one with wrong values.

        A race explains the rest: which words were not yet written, and which values are wrong, is chance.
        """
        cause = any(_breaks(finding) for finding in self.findings)
        return SEVERITY.index(self.verdict), _remembers(self), cause, has_race(self.findings), self.violations or 0


def worst_of(runs: Sequence[RunJudgement]) -> RunJudgement:
    """The run that decides about its case; the reason and the first findings are its own."""
    return max(runs, key=lambda run: run.gravity)


def tolerance_of(problem: Problem, argument: Argument) -> Tolerance:
    """The tolerance of an output: its own table, then the problem's `rtol`, then the default of its dtype.

    A problem's `rtol` applies to integers only where all outputs are integers. With `rtol = 0` no step is allowed
    unless `steps` is given: that is how a problem requires equality.
    """
    given = problem.tolerances.get(argument.name, OutputTolerance())
    rtol = given.rtol
    if rtol is None:
        among_floats = argument.dtype.kind == "int" and any(output.dtype.kind == "float" for output in problem.outputs)
        rtol = argument.dtype.rtol if problem.rtol is None or among_floats else problem.rtol
    steps = argument.dtype.steps if rtol != 0 else 0
    return Tolerance(
        rtol=rtol,
        atol=given.atol,
        steps=steps if given.steps is None else given.steps,
        matched_ratio=1.0 if given.matched_ratio is None else given.matched_ratio,
        max_error=given.max_error or 0.0,
        max_bias=MAX_BIAS if given.max_bias is None else given.max_bias,
        overflow_is_nan=argument.dtype.bytes == 1 and argument.non_finite,
    )


def no_scales(_: Mapping[str, float]) -> Mapping[str, float | Array]:
    """Nothing is known but the outputs themselves."""
    return {}


def judge_run(
    problem: Problem,
    case: Case,
    report: CaseReport,
    expected: Mapping[str, Array],
    *,
    arch: str,
    lines: Lines | None,
    layouts: Mapping[str, Layout],
    returned: Mapping[str, bytes] | None = None,
    least_scales: LeastScales = no_scales,
    written: Mapping[str, Mask] | None = None,
) -> RunJudgement:
    """Judge one run on `arch` (one seed, all its repeats) against the expected outputs.

    `returned`: the outputs of one more run with the same inputs, in the same process after launches with others. Not
    judged where a race was found: the emulator gives all cores to that run, so that chance decides how it ends.
    `least_scales`: asked once where an output is wrong, with the largest error of each such output; it may know what
    cancels inside the reference, and for an integer output which other values rounding gives (conditioning.py).
    `written`: of a run of a sample of the workgroups, the elements of each output that it wrote; others are not judged.
    """
    stop, mistakes, findings = around_outputs(report, arch=arch, lines=lines, layouts=layouts)
    if has_race(mistakes):
        returned = None
    if stop:
        return RunJudgement(stop.verdict, _with_line(stop.finding), (stop.finding, *mistakes, *findings))

    def judge(scales: Mapping[str, float | Array]) -> list[_Output]:
        return [
            _judge_output(
                problem, case, argument, report, expected[argument.name], (returned or {}).get(argument.name),
                scales.get(argument.name), (written or {}).get(argument.name),
            )
            for argument in problem.outputs
        ]  # fmt: skip

    judged = judge({})
    errors = {
        argument.name: output.comparison.largest_wrong
        for argument, output in zip(problem.outputs, judged, strict=True)
        if output.sentence or output.suspect
    }
    if errors and (scales := least_scales(errors)):
        judged = judge(scales)
    findings = [*mistakes, *(finding for output in judged for finding in output.findings), *findings]
    told = any(finding.kind == "not_written" for finding in findings)
    left_out = [] if told or written is not None else stores_left_out(report, layouts)
    findings += left_out
    worst = max(judged, key=lambda output: (output.worst is not None, output.comparison.max_rel_err or 0.0))
    wrong = [output for output in judged if output.sentence]
    cause = next((_with_line(finding) for finding in [*mistakes, *findings] if _breaks(finding)), "")
    sentences = [output.sentence for output in wrong]
    reason = "; ".join(([cause] if mistakes or left_out or not wrong else []) + sentences)
    bad = bool(wrong) or any(_breaks(finding) for finding in findings)
    findings += [] if bad or written is not None else loads_left_out(report, layouts)
    return RunJudgement(
        verdict="incorrect" if bad else "correct",
        reason=reason,
        findings=tuple(findings),
        max_abs_err=_largest(output.comparison.max_abs_err for output in judged),
        max_rel_err=_largest(output.comparison.max_rel_err for output in judged),
        violations=sum(output.comparison.violations for output in judged),
        elements=sum(output.comparison.elements for output in judged),
        worst=worst.worst if wrong else None,
        notes=tuple(output.note for output in judged if output.note),
    )


def around_outputs(
    report: CaseReport, *, arch: str, lines: Lines | None, layouts: Mapping[str, Layout]
) -> tuple[Stop | None, list[Finding], list[Finding]]:
    """Why the run stopped, the mistakes that the checks saw, and what is wrong around the buffers."""
    mistakes = explain_mistakes(report, lines=lines, layouts=layouts)
    findings = [*_guard_findings(report, layouts), *_input_findings(report, mistakes)]
    return explain_stop(report, arch=arch, lines=lines, layouts=layouts), mistakes, findings


def is_right(argument: Argument, runs: Sequence[Array], expected: Array, scale: Array, *, tolerance: Tolerance) -> bool:
    """Whether a part of an output is right beyond doubt: no rounding need be asked for, and all runs are the same.

    runs: the same elements of each repeat, flat, as `expected` (float64 or integers) and the `scale` of each.
    """
    if len(set(_first_of_equal(runs))) > 1:
        return False
    about: Any = {"dtype": argument.dtype, "tolerance": tolerance, "scale": scale}
    return (
        compare(runs[0], expected, **about).violations == 0
        and find_bias(runs[0], expected, **about) is None
        and find_loss(runs[0], expected, **about) is None
    )


def judge_case(case: Case, runs: Sequence[RunJudgement]) -> CaseResult:
    """The case's verdict: that of its worst seed."""
    worst = worst_of(runs)
    known = [run.violations for run in runs if run.violations is not None]
    reason = worst.reason or "all elements are within the tolerance"
    return CaseResult(
        case=case.name,
        held_out=case.held_out,
        drawn=case.drawn,
        verdict=worst.verdict,
        reason=f"{worst.inputs}: {reason}" if worst.inputs and worst.reason else reason,
        max_abs_err=_largest(run.max_abs_err for run in runs),
        max_rel_err=_largest(run.max_rel_err for run in runs),
        violations=max(known, default=None),
        worst=worst.worst,
    )


def _largest(values: Any) -> float | None:
    return max((value for value in values if value is not None), default=None)


def has_race(findings: Sequence[Finding]) -> bool:
    return any(finding.kind == "race" for finding in findings)


def _remembers(run: RunJudgement) -> bool:
    return any(finding.kind == "state_between_launches" for finding in run.findings)


def _breaks(finding: Finding) -> bool:
    """Whether a finding alone makes a kernel incorrect, even with correct outputs."""
    return finding.kind in (
        "out_of_bounds", "input_modified", "not_written", "race", "uninitialised_read", "misaligned", "use_after_free",
        "missing_wait", "state_between_launches",
    )  # fmt: skip


def _with_line(finding: Finding) -> str:
    return f"line {finding.line}: {finding.message}" if finding.line else finding.message


# ---- one output ----


@dataclass(frozen=True)
class _Output:
    comparison: Comparison
    worst: Worst | None
    sentence: str  # why it is wrong; empty where it is right
    findings: tuple[Finding, ...]
    note: str = ""
    suspect: bool = False  # it is wrong unless rounding explains it


def _judge_output(
    problem: Problem,
    case: Case,
    argument: Argument,
    report: CaseReport,
    expected: Array,
    returned: bytes | None,
    least_scale: float | Array | None,
    written: Mask | None,
) -> _Output:
    """`least_scale`: None where it was not asked for; of an integer output the values that rounding gives it."""
    shape, dtype = case.shape_of(argument), argument.dtype
    repeats = [np.frombuffer(outputs[argument.name], dtype.numpy).reshape(shape) for outputs in report.outputs]
    runs = repeats if returned is None else [*repeats, np.frombuffer(returned, dtype.numpy).reshape(shape)]
    poisoned = argument.role == "out"
    tolerance = tolerance_of(problem, argument)
    others = least_scale if dtype.kind == "int" and isinstance(least_scale, np.ndarray) else None
    rounded = least_scale is not None
    least_scale = 0.0 if dtype.kind == "int" or least_scale is None else least_scale
    first_of = _first_of_equal(runs)
    different = sorted(set(first_of))
    compared = {
        n: compare(
            runs[n], expected, dtype=dtype, tolerance=tolerance, least_scale=least_scale, others=others, written=written
        )
        for n in different
    }
    # In the emulator run 0 and `returned` had all cores, where a race may end otherwise: the others are shown first.
    on_one_thread = set(first_of[1 : len(repeats)])
    number = max(compared, key=lambda n: (_fails(compared[n]), n in on_one_thread, compared[n].violations))
    comparison, got = compared[number], runs[number]
    unwritten = _never_written(repeats) & comparison.wrong if poisoned else np.zeros(shape, bool)
    last = compared[first_of[-1]] if returned is not None else None
    if last is not None and last.worst is not None and _fails(last) and not _fails(compared[0]):
        return _remembering(argument, last, runs[-1], expected)
    findings = _repeat_findings(argument, repeats, orders_of(report), poisoned=poisoned)
    if comparison.worst is None or (comparison.forgiven and not unwritten.any()):
        biases = (
            find_bias(runs[n], expected, dtype=dtype, tolerance=tolerance, least_scale=least_scale, written=written)
            for n in different
        )
        bias = next((found for found in biases if found), None)
        loss = (
            None
            if bias
            else find_loss(
                runs[0], expected, dtype=dtype, tolerance=tolerance, least_scale=least_scale, written=written
            )
        )
        if loss and rounded:
            element = element_of(argument, loss.example, runs[0], expected)
            message = loss_sentence(argument, loss, element)
            return _Output(comparison, element, message, (Finding(kind="wrong_result", message=message), *findings))
        right = _within_tolerance(argument, comparison, findings, bias, tolerance)
        return replace(right, suspect=loss is not None)
    worst = comparison.worst
    element = element_of(argument, worst, got, expected)
    if unwritten[worst]:
        element = element.model_copy(update={"got": "never written"})
    sentence = values_sentence(argument, comparison, element, int(np.count_nonzero(unwritten)))
    return _Output(comparison, element, sentence, (*_value_findings(argument, comparison, got, unwritten), *findings))


def _first_of_equal(runs: Sequence[Array]) -> list[int]:
    """For each run the first one whose bytes are the same."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(run.tobytes(), n) for n, run in enumerate(runs)]


def _fails(comparison: Comparison) -> bool:
    return comparison.violations > 0 and not comparison.forgiven


def _within_tolerance(
    argument: Argument, comparison: Comparison, findings: Sequence[Finding], bias: Bias | None, tolerance: Tolerance
) -> _Output:
    """The output whose elements are right one by one, or are forgiven."""
    notes = []
    if comparison.violations:
        count = f"{comparison.violations} of {elements(comparison.elements)} of {argument.name}"
        are = "is" if comparison.violations == 1 else "are"
        notes.append(f"{count} {are} outside the tolerance, which matched_ratio allows: {comparison.rule}")
    if bias:
        message = bias_sentence(argument, bias, tolerance)
        return _Output(comparison, None, message, (Finding(kind="wrong_result", message=message), *findings))
    if argument.dtype.kind == "float" and [finding.kind for finding in findings] == ["non_deterministic"]:
        notes.append(f"{findings[0].message}; all are within the tolerance: {_ROUNDING}")
        findings = ()
    return _Output(comparison, None, "", tuple(findings), "; ".join(notes))


def _never_written(repeats: Sequence[Array]) -> Mask:
    """Elements that hold the poison of each run. One run does not prove it: a kernel may copy the poison."""
    if len(repeats) < 2:
        return np.zeros(repeats[0].shape, bool)
    return _unwritten(repeats[0], POISON[0]) & _unwritten(repeats[1], POISON[1])


def _unwritten(array: Array, poison: int) -> Mask:
    """Which elements still hold the bytes from before the run."""
    raw = np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, array.dtype.itemsize)
    return np.asarray((raw == poison).all(axis=-1))


def _value_findings(argument: Argument, comparison: Comparison, got: Array, unwritten: Mask) -> list[Finding]:
    findings = []
    if unwritten.any():
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(unwritten)), unwritten.shape))
        count = int(np.count_nonzero(unwritten))
        message = f"{at(argument, first)} was never written; {count} of {elements(unwritten.size)} in all"
        findings.append(Finding(kind="not_written", message=message))
    rest = comparison.wrong & ~unwritten
    if argument.dtype.kind == "float":
        broken = rest & ~np.isfinite(got.astype(np.float64))
        if broken.any():
            first = tuple(int(i) for i in np.unravel_index(int(np.argmax(broken)), broken.shape))
            count = int(np.count_nonzero(broken))
            message = f"{at(argument, first)} is {plain(got[first])}; {elements(count)} in all are NaN or infinite"
            findings.append(Finding(kind="nan_or_inf", message=message))
        rest = rest & ~broken
    if rest.any():
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(rest)), rest.shape))
        count = int(np.count_nonzero(rest))
        are = "is" if count == 1 else "are"
        message = f"{count} of {elements(comparison.elements)} of {argument.name} {are} outside the tolerance"
        message += f", first {at(argument, first)}; {comparison.rule}"
        findings.append(Finding(kind="wrong_result", message=message))
    return findings


def orders_of(report: CaseReport) -> list[int]:
    """The seed of each repeat's order of waves and workgroups, 0 for the plain one; all 0 where none is reported."""
    repeats = len(report.outputs)
    launches, rest = divmod(len(report.dispatches), repeats) if repeats else (0, 0)
    if rest or not launches:
        return [0] * repeats
    return [report.dispatches[n * launches].schedule_seed for n in range(repeats)]


def _repeat_findings(
    argument: Argument, repeats: Sequence[Array], orders: Sequence[int], *, poisoned: bool
) -> list[Finding]:
    """Differences between runs on the same inputs. Runs 0, 2, … began with one poison, 1, 3, … with the other.

    The emulator gives run 0 all cores: it is compared last.
    """
    for n in sorted(range(2, len(repeats)), key=lambda n: n == 2):
        if differ := _differing(repeats[n], repeats[n - 2]):
            one, other = (f"{said(plain(repeats[k][differ]))} in run {k + 1} ({_order(orders[k])})" for k in (n - 2, n))
            count = _count_differing(repeats[n], repeats[n - 2])
            message = (
                f"the result depends on the order of waves and workgroups: {at(argument, differ)} is {one}"
                f" and {other},"
                f" {elements(count)} in all: look for a race, for atomics on floating-point numbers,"
                " or for a clock that decides"
            )
            if orders[n]:
                message += f"; replay that order with --order {orders[n]}"
            return [Finding(kind="non_deterministic", message=message)]
    if len(repeats) < 2:
        return []
    differ = _differing(repeats[0], repeats[1], apart_from=_never_written(repeats) if poisoned else None)
    if not differ:
        return []
    if len(repeats) == 2:
        message = f"two runs on the same inputs gave different bits in {at(argument, differ)}"
        return [Finding(kind="non_deterministic", message=message)]
    message = (
        f"{at(argument, differ)} depends on what memory held before the launch:"
        " an output or a workspace is read before it is written"
    )
    return [Finding(kind="uninitialised_read", message=message)]


def _order(seed: int) -> str:
    return f"the order of seed {seed}" if seed else "the plain order"


def _count_differing(a: Array, b: Array) -> int:
    size = a.dtype.itemsize
    raw = [np.frombuffer(array.tobytes(), np.uint8).reshape(-1, size) for array in (a, b)]
    return int(np.count_nonzero((raw[0] != raw[1]).any(axis=-1)))


def _differing(a: Array, b: Array, *, apart_from: Mask | None = None) -> tuple[int, ...] | None:
    """The first element whose bits differ."""
    size = a.dtype.itemsize
    raw = [np.frombuffer(array.tobytes(), np.uint8).reshape(*array.shape, size) for array in (a, b)]
    mask = (raw[0] != raw[1]).any(axis=-1)
    if apart_from is not None:
        mask &= ~apart_from
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.any() else None


def _remembering(argument: Argument, last: Comparison, got: Array, expected: Array) -> _Output:
    """An output that is right where its inputs run first, and wrong after launches with others."""
    assert last.worst is not None
    wrong = element_of(argument, last.worst, got, expected)
    message = (
        f"the kernel remembers an earlier launch, or a clock decides: {argument.name} is right when its inputs run"
        f" first, and wrong when they run again after others: {at(argument, wrong.index)} is {said(wrong.got)},"
        f" expected {said(wrong.expected)}; look for a `__device__` variable that keeps its value between launches,"
        " or for a branch on a clock or on where a wave runs"
    )
    return _Output(last, wrong, message, (Finding(kind="state_between_launches", message=message),))


# ---- around the outputs ----


def _guard_findings(report: CaseReport, layouts: Mapping[str, Layout]) -> list[Finding]:
    findings = []
    for name, side in dict.fromkeys((damage.buffer, damage.side) for damage in report.guard_damage):
        damage = next(d for d in report.guard_damage if (d.buffer, d.side) == (name, side))
        size = layouts[name].item_bytes if name in layouts else 1
        where = f"{elements(damage.offset // size + 1)} past its end"
        if side == "before":
            where = f"{elements(-damage.offset // size)} before its start"
        findings.append(
            Finding(
                kind="out_of_bounds",
                message=f"writes outside {name}: {counted(damage.bytes, 'byte')}, the first {where}",
            )
        )
    return findings


def _input_findings(report: CaseReport, mistakes: Sequence[Finding]) -> list[Finding]:
    """Inputs that differ after the run, where no check reported the store itself."""
    if any(finding.kind == "input_modified" for finding in mistakes):
        return []
    return [
        Finding(kind="input_modified", message=f"changed the input array {name}")
        for name in dict.fromkeys(changed.buffer for changed in report.inputs_modified)
    ]
