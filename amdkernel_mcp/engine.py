"""The verbs on kernels: compile, check, benchmark, profile, run. The command line and the MCP tools call them.

Each method validates, plans, executes, judges and returns a result model; the workers do the input and output.
`Engine.docs` has the verbs on documentation, `Engine.machine` those on the machine.
Methods are synchronous and thread-safe. Raises only errors of `errors.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, Finding, ProfileResult

if TYPE_CHECKING:
    from amdkernel_mcp.checking.options import CheckOptions
    from amdkernel_mcp.compiler.compile import Compiled, Compiler
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.execution.machine import Machine
    from amdkernel_mcp.execution.runner.program import Look, ProgramRun, Stream
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.measurement.benchmark import Side
    from amdkernel_mcp.measurement.job import Measured, MeasurementJob
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.search.cards.collect import Collected
    from amdkernel_mcp.search.documentation import Documentation

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that was read and compiled, with its problem and the place where it is to run."""

    problem: Problem
    plan: LaunchPlan
    compiled: Compiled
    target: Target
    sandbox: Sandbox


class Engine:
    """The verbs over one configuration. Sandboxes and index are opened on first use; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        from amdkernel_mcp.execution.sandboxes import Sandboxes

        self._settings = settings
        self._sandboxes = Sandboxes(settings)
        self._lock = threading.Lock()
        self._docs: Documentation | None = None

    @property
    def docs(self) -> Documentation:
        """The documentation: search, read, build, refresh."""
        from amdkernel_mcp.search.documentation import Documentation

        with self._lock:
            if self._docs is None:
                self._docs = Documentation(self._settings, self._collect_headers)
            return self._docs

    @property
    def machine(self) -> Machine:
        """The machine: targets, set-up, doctor, coverage of the emulator."""
        from amdkernel_mcp.execution.machine import Machine

        return Machine(self._settings, self._sandboxes, lambda: self.docs.hip_version())

    def close(self) -> None:
        """Remove all containers and close the index."""
        self._sandboxes.close()
        with self._lock:
            if self._docs:
                self._docs.close()

    def compile(
        self,
        source: str,
        *,
        file_name: str = "kernel.hip",
        arch: str | None = None,
        target: str | None = None,
        flags: Sequence[str] = (),
        isa: bool = False,
        kernel: str | None = None,
        on_progress: Progress = silent,
    ) -> CompileResult:
        """Compile for `arch` (default: the target's), with `flags` after those of the file's `build` line.

        `isa`: with the disassembly of the kernels and the file's other functions; `kernel`: with that of this one.
        A compile error is a result whose `ok` is false. Raises FlagError, InputError for a kernel that is not there,
        UnknownTargetError, InfrastructureError.
        """
        from amdkernel_mcp.launch.kernel_symbols import symbols_called
        from amdkernel_mcp.launch.lines import read_launch_plan

        where = self._target(target)
        on_progress(f"compiling for {arch or where.arch}")
        flags = (*read_launch_plan(source).flags(), *flags)
        compiled = self._compiler(where).compile(source, arch=arch or where.arch, flags=flags, file_name=file_name)
        result = compiled.result.model_copy(update={"target": where.name})
        if not result.ok or not (isa or kernel):
            return result
        shown = symbols_called(kernel, [found.name for found in result.kernels]) if kernel else []
        return result.model_copy(update={"isa": compiled.isa(shown)})

    def check(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        options: CheckOptions | None = None,
        on_progress: Progress = silent,
    ) -> CheckResult:
        """Whether the kernel computes what the problem asks, on announced and held-out cases.

        Raises ProblemFileError for a problem that cannot be used; a bad kernel is a verdict.
        """
        prepared = self._prepare(problem, source, file_name=file_name, target=target, on_progress=on_progress)
        return self._check(prepared, on_progress, options)

    def benchmark(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        baseline: str | None = None,
        target: str | None = None,
        on_progress: Progress = silent,
    ) -> BenchmarkResult:
        """Time a kernel, against the kernel text `baseline` if given. What is not correct is not timed."""
        from amdkernel_mcp.hardware.specs import gpu_by_name
        from amdkernel_mcp.measurement.benchmark import benchmark
        from amdkernel_mcp.measurement.not_timed import incorrect, stopped, wrong_when_measured

        sides, checks = [], []
        for text, role in ((source, "this kernel"), (baseline, "the baseline")):
            if text is None:
                continue
            name = file_name if role == "this kernel" else "baseline.hip"
            prepared = self._prepare(problem, text, file_name=name, target=target, on_progress=on_progress)
            checked = self._check(prepared, on_progress)
            checks.append(checked)
            if checked.verdict != "correct":
                return incorrect(checked, role)
            measured = self._measure(prepared, _plan_measurement(prepared), on_progress)
            if measured.finding:
                return stopped(measured.finding, role, prepared.target.name, prepared.sandbox.isolation)
            if measured.wrong_outputs:
                return wrong_when_measured(measured, role, prepared.target.name, prepared.sandbox.isolation)
            sides.append(_side(prepared, measured))
        where = prepared.target
        answer = benchmark(
            candidate=sides[0],
            baseline=sides[1] if baseline is not None else None,
            gpu=gpu_by_name(where.gpu),
            target=where.name,
            emulated=where.kind == "emulator",
            interleaved=False,
        )
        notes = dict.fromkeys(note for side in checks for note in side.not_cached)
        return answer.model_copy(update={"isolation": prepared.sandbox.isolation, "not_cached": [*notes]})

    def profile(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        on_progress: Progress = silent,
    ) -> ProfileResult:
        """Counters, metrics and a diagnosis of a kernel on the problem's announced cases."""
        from amdkernel_mcp.hardware.specs import gpu_by_name
        from amdkernel_mcp.profiling.profile import profile

        prepared = self._prepare(problem, source, file_name=file_name, target=target, on_progress=on_progress)
        where, compiled = prepared.target, prepared.compiled
        if refused := _cannot_launch(prepared):
            return refused
        planned = _plan_measurement(prepared)
        if where.kind == "gpu" and not isinstance(planned, Finding):
            return self._profile_on_gpu(prepared, planned, on_progress)
        measured = self._measure(prepared, planned, on_progress)
        if measured.finding:
            return ProfileResult(target=where.name, reason=measured.finding.message, findings=[measured.finding])
        answer = profile(
            runs=measured.runs,
            resources=compiled.result.kernels,
            lines=compiled.lines,
            source=source,
            gpu=gpu_by_name(where.gpu),
            target=where.name,
        )
        update: dict[str, object] = {
            "isolation": prepared.sandbox.isolation,
            "not_cached": compiled.result.not_cached,
        }
        if measured.wrong_outputs:
            update["warnings"] = [f"the outputs of this run are wrong: {measured.wrong_outputs}", *answer.warnings]
            update["findings"] = list(measured.findings)
        return answer.model_copy(update=update)

    def profile_import(self, path: Path, *, gpu: str | None = None) -> ProfileResult:
        """Metrics and a diagnosis from a recording of AMD's profilers. Raises ProfileFileError."""
        from amdkernel_mcp.profiling.import_recording import import_recording

        return import_recording(path, gpu=gpu)

    def run(
        self,
        program: Program,
        *,
        target: str | None = None,
        devices: int = 1,
        timeout_s: float = 600.0,
        look: Look | None = None,
        stdin: int | None = None,
        on_output: Callable[[Stream, bytes], None],
        on_progress: Progress = silent,
    ) -> ProgramRun:
        """Run a whole HIP program and pass its output on as it comes. Its exit code and its findings are values.

        Without a close look, accesses beyond a block continue as on a GPU and are reported as `overruns`; `stops`
        are what stopped a kernel, where the line is known. Raises InputError where `look` names what only the emulator
        can report and the target is a GPU.
        """
        from amdkernel_mcp.execution.runner.program import NO_LOOK, run_program
        from amdkernel_mcp.findings.programs import findings_in_orders

        where = self._target(target)
        ran = run_program(
            self._sandboxes.of(where),
            where,
            program,
            devices=devices,
            timeout_s=timeout_s,
            look=look or NO_LOOK,
            stdin=stdin,
            on_output=on_output,
            on_progress=on_progress,
        )
        closely = (look or NO_LOOK).closely
        found = findings_in_orders(ran.reports, where, program.name_file)
        failures = [each.finding for each in found if closely or each.finding.kind == "timeout"]
        rest = [each for each in found if each.finding not in failures]
        return replace(
            ran,
            findings=(*failures, *ran.findings),
            stops=tuple(each.finding for each in rest if each.stopped and each.finding.line),
            overruns=tuple(each.finding for each in rest if not each.stopped),
        )

    def _prepare(
        self, problem: str, source: str, *, file_name: str, target: str | None, on_progress: Progress
    ) -> PreparedKernel:
        from amdkernel_mcp.launch.lines import read_launch_plan
        from amdkernel_mcp.problems.problem_file import load_problem

        where, loaded = self._target(target), load_problem(problem)
        plan = read_launch_plan(source, loaded)
        on_progress(f"compiling for {where.arch}")
        compiled = self._compiler(where).compile(source, arch=where.arch, flags=plan.flags(), file_name=file_name)
        return PreparedKernel(loaded, plan, compiled, where, self._sandboxes.of(where))

    def _check(
        self, prepared: PreparedKernel, on_progress: Progress, options: CheckOptions | None = None
    ) -> CheckResult:
        from amdkernel_mcp.checking.check import check
        from amdkernel_mcp.checking.options import CheckOptions

        return check(
            sandbox=prepared.sandbox,
            compiled=prepared.compiled,
            problem=prepared.problem,
            plan=prepared.plan,
            target=prepared.target,
            options=options or CheckOptions(),
            cache_dir=self._settings.cache_dir,
            on_progress=on_progress,
        )

    def _measure(self, prepared: PreparedKernel, planned: MeasurementJob | Finding, on_progress: Progress) -> Measured:
        from amdkernel_mcp.checking.measured import judge_measured
        from amdkernel_mcp.execution.runner.job import run_job
        from amdkernel_mcp.measurement.job import Measured, read_measurement

        if isinstance(planned, Finding):
            return Measured(finding=planned)
        on_progress(f"measuring {len(planned.cases)} cases on {prepared.target.name}")
        report = run_job(prepared.sandbox, prepared.target, planned.job, on_progress=on_progress)
        measured = read_measurement(planned, report)
        if measured.finding:
            return measured
        wrong = judge_measured(
            report,
            cases=planned.cases,
            seed=planned.seed,
            sandbox=prepared.sandbox,
            problem=prepared.problem,
            plan=prepared.plan,
            compiled=prepared.compiled,
            cache_dir=self._settings.cache_dir,
        )
        if wrong is None:
            return measured
        case, judged = wrong
        return replace(measured, wrong_outputs=f"case {case}: {judged.reason}", findings=judged.findings)

    def _profile_on_gpu(
        self, prepared: PreparedKernel, planned: MeasurementJob, on_progress: Progress
    ) -> ProfileResult:
        from amdkernel_mcp.execution.runner.gpu_profile import FOLDER, record_profile
        from amdkernel_mcp.execution.runner.job import runner_command
        from amdkernel_mcp.profiling.import_files import import_files
        from amdkernel_mcp.profiling.rocprofv3 import commands

        where, job = prepared.target, planned.job
        names = [kernel.name for kernel in prepared.compiled.result.kernels]
        runs = commands(where.arch, folder=FOLDER, program=runner_command(where, job), kernels=names)
        on_progress(f"profiling in {len(runs)} passes on {where.name}")
        answer = import_files(record_profile(prepared.sandbox, where, job, runs), gpu=where.gpu)
        return answer.model_copy(update={"target": where.name, "isolation": prepared.sandbox.isolation})

    def _collect_headers(self) -> Collected:
        from amdkernel_mcp.search.cards.collect import COMMAND, TIMEOUT_S, Collected, command_files

        sandbox = self._sandboxes.without_gpu()
        completed = sandbox.run("compile", COMMAND, command_files(), timeout_s=TIMEOUT_S)
        return Collected(completed.files, completed.stderr, in_sandbox=sandbox.isolation != "none")

    def _target(self, name: str | None) -> Target:
        from amdkernel_mcp.execution.targets import find_target

        return find_target(name, self._settings)

    def _compiler(self, target: Target) -> Compiler:
        from amdkernel_mcp.compiler.compile import Compiler

        return Compiler(self._sandboxes.of(target), self._settings.cache_dir)


def _cannot_launch(prepared: PreparedKernel) -> ProfileResult | None:
    """The answer of a profile whose kernel cannot be launched."""
    from amdkernel_mcp.checking.check import invalid, invalid_from_compile

    if prepared.plan.mistakes:
        refused = invalid(prepared.plan.mistakes)
    elif not prepared.compiled.result.ok:
        refused = invalid_from_compile(prepared.compiled.result)
    else:
        return None
    return ProfileResult(
        target=prepared.target.name,
        reason=refused.reason,
        findings=refused.findings,
        diagnostics=refused.diagnostics,
    )


def _plan_measurement(prepared: PreparedKernel) -> MeasurementJob | Finding:
    from amdkernel_mcp.measurement.job import plan_measurement

    code_object = prepared.compiled.code_object
    assert code_object is not None  # a failed compile was judged before
    return plan_measurement(
        target=prepared.target, problem=prepared.problem, plan=prepared.plan, code_object=code_object
    )


def _side(prepared: PreparedKernel, measured: Measured) -> Side:
    from amdkernel_mcp.measurement.benchmark import Side
    from amdkernel_mcp.profiling.metrics.emulated import main_counters

    dispatches = [dispatch for run in measured.runs for dispatch in run.dispatches]
    return Side(
        measured.runs,
        {kernel.name: kernel.occupancy_waves_per_simd for kernel in prepared.compiled.result.kernels},
        main_counters(dispatches, prepared.target.arch) if dispatches else {},
    )
