"""Asks before the first start of what may hang, where a reset of the GPU would take down the work of others.

The emulator is asked first, with the same machine code on the problem's own cases; then the caller.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from amdkernel_mcp.compiler.endless import may_not_end
from amdkernel_mcp.engine.prepared_kernel import what_is_launched
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.findings.hangs import SLOW
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.kept_values import name_of
from amdkernel_mcp.leases.hung_kernels import HungKernels, Started
from amdkernel_mcp.leases.leased_sandbox import LeasedSandbox
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.execution.sandboxes import Sandboxes
    from amdkernel_mcp.results.kernels import CheckResult
    from amdkernel_mcp.runner_protocol.report import RunnerReport

_STOPPED = ("timeout", "deadlock", "crashed")
_CODE = (".hip", ".cpp", ".cxx", ".cc", ".c", ".cu", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl")
_LARGE = 4 << 20  # bytes: such a source is data, and takes long
# Comments and white space, or what may hold their signs: literals. Each ends at the end of the text at the latest, so
# that no text takes long.
_BLANKS = re.compile(
    rb"(?P<blank>(?:\s|//(?:\\\n|[^\n])*|/\*(?s:.*?)(?:\*/|\Z))+)"
    rb'|R"(?P<mark>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=mark)"|\Z)'
    rb"""|"(?:\\(?s:.)|[^"\\\n])*"?|'(?:\\(?s:.)|[^'\\\n])*'?"""
)


class FirstStarts:
    """Over one configuration. Thread-safe."""

    def __init__(self, settings: Settings, sandboxes: Sandboxes) -> None:
        self._settings = settings
        self._sandboxes = sandboxes
        self._known = HungKernels(settings.cache_dir / "endings")

    def admit(self, prepared: PreparedKernel, work: Work) -> None:
        """Raises InputError for a kernel that may hang and must not; SandboxError, TargetError without its GPU."""
        where, started = prepared.target, started_kernel(prepared)
        if where.kind == "emulator" or started is None:
            return

        def try_out() -> str:
            work.say(f"trying it on the emulator first: a reset of {where.name} may take down others")
            return self._tried(prepared, started)

        self._known.refuse(
            started,
            where.name,
            partial(self._sandboxes.look_at, where, prepared.sandbox),
            ends=lambda: not may_not_end(prepared.compiled.disassembly),
            try_out=try_out,
            unproven=self._settings.start_unproven,
        )

    def note(self, prepared: PreparedKernel, answer: CheckResult, *, asked: bool = False) -> None:
        """Keep how the kernel ended. asked: it was to start though it may hang.

        Raises QuarantinedError where its GPU is to blame.
        """
        if started := started_kernel(prepared):
            if answer.verdict in _STOPPED:
                self._blame_a_sick_gpu(prepared, started)
            self._known.note(started, _shown(answer, prepared.target), prepared.target.name, asked=asked)

    def note_report(self, report: RunnerReport | None, *kernels: PreparedKernel) -> None:
        """Keep that a measured run of these kernels did not end: which one of them it was is not known.

        Raises QuarantinedError where their GPU is to blame.
        """
        if report and any(case.status == "timeout" for case in report.cases):
            known = [(each, started) for each in kernels if (started := started_kernel(each))]
            for each, started in known:
                self._blame_a_sick_gpu(each, started)
            for each, started in known:
                self._known.note(started, "timeout", each.target.name)

    def _blame_a_sick_gpu(self, prepared: PreparedKernel, started: Started) -> None:
        """Raises QuarantinedError where the GPU failed a kernel with a known answer after this one was stopped on it,
        though this one ends elsewhere, if only on the emulator. Of a second GPU it is not believed: it may be that a
        kernel which does not always end makes GPUs sick."""
        sandbox = prepared.sandbox
        sick = sandbox.gpu.quarantine() if isinstance(sandbox, LeasedSandbox) else None
        if sick is None:
            return
        if not self._known.has_ended(started):
            self._tried(prepared, started)
        if self._known.has_ended(started) and self._known.excuse(started, prepared.target.name):
            raise sick

    def admit_program(self, started: Started, where: Target, sandbox: Sandbox) -> None:
        """Raises InputError for a program that may hang and must not; SandboxError, TargetError without its GPU."""
        if where.kind != "emulator":
            look = partial(self._sandboxes.look_at, where, sandbox)
            self._known.refuse(started, where.name, look, unproven=self._settings.start_unproven)

    def note_program(self, started: Started, answer: CheckResult, where: Target, *, asked: bool = False) -> None:
        """Keep how the program ended: `correct` for one that did."""
        self._known.note(started, _shown(answer, where), where.name, asked=asked)

    def _tried(self, prepared: PreparedKernel, started: Started) -> str:
        """The emulator's verdict on the listed cases, noted; or why there is none.

        It runs next to the GPU, whose image may be the only one; for a scheduled GPU on this machine: it needs no GPU.
        """
        from amdkernel_mcp.checking.check import check
        from amdkernel_mcp.checking.options import CheckOptions

        where, sandbox = prepared.target, prepared.sandbox
        beside = sandbox.without_lease if isinstance(sandbox, LeasedSandbox) else sandbox
        emulator = Target(f"emulator:{where.arch}", "emulator", where.arch, where.gpu)
        try:
            answer = check(
                sandbox=self._sandboxes.without_gpu() if where.is_scheduled else beside,
                compiled=prepared.compiled,
                problem=replace(prepared.problem, ranges={}),
                plan=prepared.plan,
                target=emulator,
                options=CheckOptions(seed_count=1, schedules=0),
                cache_dir=self._settings.cache_dir,
            )
        except InfrastructureError as error:
            return f"not known: {error.message}"
        self._known.note(started, _shown(answer, emulator), emulator.name)
        return f"{answer.verdict}: {answer.reason}"


def _shown(answer: CheckResult, where: Target) -> str | None:
    """The verdict, but for an emulated run that reached a limit: what is slow there may end soon on a GPU."""
    never_ends = any(each.kind in ("timeout", "deadlock") and SLOW not in each.message for each in answer.findings)
    slow = where.kind == "emulator" and answer.verdict in ("timeout", "deadlock") and not never_ends
    return None if slow else answer.verdict


def started_kernel(prepared: PreparedKernel) -> Started | None:
    """The kernel as the GPU gets it, so that comments and blanks do not count; None: it cannot be launched."""
    if prepared.compiled.code_object is None or prepared.plan.mistakes or not prepared.compiled.result.ok:
        return None
    return Started(name_of(what_is_launched(prepared)), name_of(prepared.problem.hash), "kernel", "amdkernel check")


def started_program(program: Program, asks: str, work: str = "") -> Started:
    """The program with its files and arguments; comments and blanks of its sources do not count."""
    plain = {name: _plain(data) for name, data in program.files.items() if name.endswith(_CODE) and len(data) < _LARGE}
    files = {**program.files, **plain}
    how = (program.path, program.sources, program.include, program.flags, program.build_target)
    given = (program.arguments, program.environment, program.visible)
    return Started(name_of(files, how, given), name_of(work), "program", asks)


def _plain(source: bytes) -> bytes:
    """The text with one blank or line end for all comments and white space in a row, literals as they are."""

    def blank(found: re.Match[bytes]) -> bytes:
        return found[0] if found["blank"] is None else (b"\n" if b"\n" in found[0] else b" ")

    return _BLANKS.sub(blank, source).strip()
