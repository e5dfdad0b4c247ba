"""Whether a program with its own `main` writes what the problem asks.

Each run is a sandbox job of its own: a fresh folder, one set of inputs, a time limit. What the program says about
itself is not used: its files are compared with the reference by us. The emulator's memory checks are on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.drawn_cases import draw_cases
from amdkernel_mcp.checking.check import invalid
from amdkernel_mcp.checking.conditioning import conditioning_of
from amdkernel_mcp.checking.expected.generate import make_calls
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.checking.judging.judge import RunJudgement, judge_run
from amdkernel_mcp.checking.judging.judge_report import CaseJudgement
from amdkernel_mcp.checking.judging.summary import summarise
from amdkernel_mcp.execution.runner.program import TIMED_OUT, Look, ProgramRun, run_program
from amdkernel_mcp.execution.runner.program_build import build_program
from amdkernel_mcp.findings.programs import findings_in_orders
from amdkernel_mcp.host_programs.contract import input_files, outputs_in, words_of
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.host_programs import ProgramCheckResult
from amdkernel_mcp.results.kernels import CheckVerdict, Finding, SeedReveal
from amdkernel_mcp.runner_protocol.report import CaseReport
from amdkernel_mcp.work import Work, carried

if TYPE_CHECKING:
    from pathlib import Path

    from amdkernel_mcp.checking.cases.call import Call
    from amdkernel_mcp.checking.cases.seeds import SeedKey
    from amdkernel_mcp.checking.expected.reference import Array
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.problems.problem import Problem

SEEDS = 3
RUN_TIMEOUT_S = 120.0
_AT_A_TIME = 2
_MOST_BUILD_OUTPUT = 4000  # characters
_VERDICT_OF: dict[str, CheckVerdict] = {"timeout": "timeout", "deadlock": "deadlock", "not_emulated": "not_emulated"}


@dataclass(frozen=True)
class _Job:
    """All that stays the same from run to run."""

    sandbox: Sandbox
    target: Target
    problem: Problem
    program: Program  # built
    work: Work


@dataclass(frozen=True)
class _Ran:
    """One run with its judgement."""

    judgement: RunJudgement
    seconds: float


def check_program(
    *,
    sandbox: Sandbox,
    target: Target,
    problem: Problem,
    program: Program,
    key: SeedKey,
    cache_dir: Path | None,
    work: Work,
) -> ProgramCheckResult:
    """Build the program and run it on every case with every seed.

    Raises ProblemFileError when the reference cannot be used; SandboxError, TargetError. A bad program is a verdict.
    """
    began = time.monotonic()
    said = bytearray()
    built = build_program(sandbox, target.arch, program, said.extend, work)
    if built.failed:
        return _not_built(built.failed, said.decode(errors="replace"), target)
    ready = replace(program, path=built.path, files={**program.files, **built.files}, sources=(), keep=True)
    job = _Job(sandbox, target, problem, ready, work)
    cases, seeds = (*problem.cases, *draw_cases(problem, key)), key.seeds(SEEDS)
    calls = make_calls(sandbox, problem, [(case, seed, n) for case in cases for n, seed in enumerate(seeds)])
    work.say(f"running {len(calls)} times on {target.name}")
    expected = expected_outputs(sandbox, problem, calls, cache_dir=cache_dir)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        runs = list(pool.map(carried(_run), repeat(job), calls, expected.outputs))
    judged = [
        CaseJudgement(case, tuple(ran.judgement for ran in runs[n * SEEDS : (n + 1) * SEEDS]))
        for n, case in enumerate(cases)
    ]
    result = summarise(problem, judged, expected.outputs, seeds=SEEDS)
    return ProgramCheckResult.model_validate(
        result.model_dump()
        | {
            "reason": f"unverified, because the program's own host code ran: {result.reason}",
            "target": target.name,
            "isolation": sandbox.isolation,
            "evidence": "emulated" if target.kind == "emulator" else "measured",
            "seconds": round(time.monotonic() - began, 3),
            "run_seconds": [round(ran.seconds, 3) for ran in runs],
            "seeds": SeedReveal(commitment=key.commitment, key=key.hex, count=SEEDS, replayed=key.replayed),
            "not_cached": [f"the expected outputs were not cached: {expected.not_cached}"] * bool(expected.not_cached),
        }
    )


def _not_built(reason: str, said: str, target: Target) -> ProgramCheckResult:
    shown = said.strip()[:_MOST_BUILD_OUTPUT]
    finding = Finding(kind="compile_error", message=f"{reason}: {shown}" if shown else reason)
    return ProgramCheckResult.model_validate(invalid([finding], target=target.name).model_dump())


def _run(job: _Job, call: Call, expected: dict[str, Array]) -> _Ran:
    """Run the program once. Its output is not shown: it is not evidence."""
    files = {**job.program.files, **input_files(job.problem, call)}
    program = replace(job.program, files=files, arguments=tuple(words_of(job.problem, call.case)))
    printed = bytearray()
    began = time.monotonic()
    ended = run_program(
        job.sandbox,
        job.target,
        program,
        timeout_s=RUN_TIMEOUT_S,
        look=Look(memory=job.target.kind == "emulator"),
        on_output=lambda _, piece: printed.extend(piece[: _MOST_BUILD_OUTPUT - len(printed)]),
        work=job.work.saying(silent),
    )
    seconds = time.monotonic() - began
    return _Ran(_judgement(job, call, ended, expected, printed.decode(errors="replace")), seconds)


def _judgement(job: _Job, call: Call, ended: ProgramRun, expected: dict[str, Array], printed: str) -> RunJudgement:
    found = findings_in_orders(ended.reports, job.target, job.program.name_file)
    findings = [each.finding for each in found]
    stop = next((each.finding for each in found if each.stopped), None)
    if stop:
        return RunJudgement(_VERDICT_OF.get(stop.kind, "crashed"), stop.message, tuple(findings))
    if ended.code:
        verdict: CheckVerdict = "timeout" if ended.code == TIMED_OUT and ended.ended else "crashed"
        last = printed.strip().rpartition("\n")[2]
        reason = ended.ended or f"the program ended with exit code {ended.code}" + (f": {last}" if last else "")
        return RunJudgement(verdict, reason, tuple(findings))
    outputs = outputs_in(job.problem, call, ended.files)
    if isinstance(outputs, str):
        finding = Finding(kind="not_written", message=outputs)
        return RunJudgement("incorrect", outputs, (finding, *findings))
    report = CaseReport("ok", "", (outputs,))
    judged = judge_run(
        job.problem, call.case, report, expected, arch=job.target.arch, lines=None, layouts={},
        least_scales=partial(conditioning_of(job.sandbox, job.problem, [expected]), call, expected),
    )  # fmt: skip
    return _with_findings(judged, findings)


def _with_findings(judged: RunJudgement, findings: Sequence[Finding]) -> RunJudgement:
    if not findings:
        return judged
    reason = "; ".join(filter(None, [findings[0].message, judged.reason]))
    verdict = "incorrect" if judged.verdict == "correct" else judged.verdict
    return replace(judged, verdict=verdict, reason=reason, findings=(*findings, *judged.findings))
