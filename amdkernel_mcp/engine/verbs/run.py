"""run: a whole HIP program, on this machine alone. It has neither a job nor a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.engine.verbs.verb import Means
from amdkernel_mcp.execution.runner.program import NO_LOOK, TIMED_OUT, Look, ProgramRun, Stream, run_program
from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.results.kernels import CheckResult, Finding


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run a whole HIP program and pass its output on as it comes. Its exit code and its findings are values.

    Without a close look, accesses beyond a block continue as on a GPU and are reported as `overruns`; `stops`
    are what stopped a kernel, where the line is known; `profile` is there where the look asks for it. Raises
    InputError where `look` names what only the emulator can report and the target is a GPU, and for a program that may
    hang and must not; `hang`: it may.
    """

    program: Program
    target: str | None = None
    devices: int = 1
    timeout_s: float = 600.0
    look: Look = NO_LOOK
    hang: bool = False
    stdin: int | None = None
    on_output: Callable[[Stream, bytes], None]

    def do(self, means: Means) -> ProgramRun:
        """What became of the program."""
        from amdkernel_mcp.engine.first_starts import started_program
        from amdkernel_mcp.engine.program_profile import program_profile
        from amdkernel_mcp.findings.programs import findings_in_orders

        where = means.steps.target(self.target)
        sandbox, starts = means.sandboxes.of(where), means.steps.first_starts
        started = started_program(self.program, "amdkernel run")
        if not self.hang:
            starts.admit_program(started, where, sandbox)
        ran = run_program(
            sandbox,
            where,
            self.program,
            devices=self.devices,
            timeout_s=self.timeout_s,
            look=self.look,
            stdin=self.stdin,
            on_output=self.on_output,
            work=means.work,
        )
        found = findings_in_orders(ran.reports, where, self.program.name_file)
        starts.note_program(started, _ending(ran, [each.finding for each in found]), where, asked=self.hang)
        failures = [each.finding for each in found if self.look.closely or each.finding.kind == "timeout"]
        rest = [each for each in found if each.finding not in failures]
        profile = None
        if self.look.profile and ran.compiled:
            means.work.say("reading what the kernels did")
            profile = program_profile(sandbox, where, self.program, ran.reports[self.look.order])
        return replace(
            ran,
            profile=profile,
            findings=(*failures, *ran.findings),
            stops=tuple(each.finding for each in rest if each.stopped and each.finding.line),
            overruns=tuple(each.finding for each in rest if not each.stopped),
        )


def _ending(ran: ProgramRun, findings: Sequence[Finding]) -> CheckResult:
    """As a check says it; no verdict where it was ended by something else than time, or was not run at all."""
    stuck = next((each for each in findings if each.kind in ("timeout", "deadlock")), None)
    if stuck or (ran.code == TIMED_OUT and ran.ended):
        deadlock = stuck is not None and stuck.kind == "deadlock"
        return CheckResult(verdict="deadlock" if deadlock else "timeout", findings=[stuck] if stuck else [])
    return CheckResult(verdict="correct" if ran.compiled and not ran.ended else None)
