"""The one door: every verb of the command line and of the MCP tools is a method here.

Each method validates, plans, executes, judges and returns a result model; the workers do the input and output.
Methods are synchronous and thread-safe. Raises only errors of `errors.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import AmdkernelError, DocumentationError
from amdkernel_mcp.results.documentation import ReadResult, SearchResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.machine import ArchCoverage, CoverageResult, DoctorResult, TargetsResult

if TYPE_CHECKING:
    from amdkernel_mcp.compiler.compile import Compiled, Compiler
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.execution.runner.job import RunnerJob
    from amdkernel_mcp.execution.runner.measure import Measured, Plan
    from amdkernel_mcp.execution.runner.program import Look, ProgramRun, Stream
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.execution.targets import Target
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.measurement.benchmark import Side
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.search.corpus.online import Refreshed
    from amdkernel_mcp.search.library import Library
    from amdkernel_mcp.search.query.evaluate import Evaluation

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Progress that nobody reads."""


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel on its way: read, compiled, and where it is to run."""

    problem: Problem
    plan: LaunchPlan
    compiled: Compiled
    target: Target
    sandbox: Sandbox


class Engine:
    """All verbs over one configuration. Sandboxes and index are opened on first use; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._sandboxes: dict[tuple[str | None, int | None], Sandbox] = {}
        self._opened_library: Library | None = None

    @property
    def index_path(self) -> Path:
        """Where the documentation index is, or will be."""
        return self._settings.data_dir / "docs.sqlite3"

    def close(self) -> None:
        """Remove all containers and close the index."""
        with self._lock:
            for sandbox in self._sandboxes.values():
                sandbox.close()
            self._sandboxes.clear()
            if self._opened_library:
                self._opened_library.close()

    # -- kernels -------------------------------------------------------------------------------------------------------

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
        from amdkernel_mcp.launch.plan import read_launch_plan

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
        schedules: int | None = None,
        order: int | None = None,
        on_progress: Progress = silent,
    ) -> CheckResult:
        """Whether the kernel computes what the problem asks, on announced and held-out cases.

        `schedules`: in how many other orders of waves and workgroups the emulator runs it as well; `order`: the seed of
        the one to replay instead.
        Raises ProblemFileError for a problem that cannot be used; a bad kernel is a verdict.
        """
        candidate = self._candidate(problem, source, file_name=file_name, target=target, on_progress=on_progress)
        return self._check(candidate, on_progress, schedules, order)

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
        from amdkernel_mcp.execution.runner.measure import measure
        from amdkernel_mcp.hardware.specs import gpu_by_name
        from amdkernel_mcp.measurement.benchmark import benchmark
        from amdkernel_mcp.measurement.not_timed import incorrect, stopped

        sides = []
        for text, role in ((source, "this kernel"), (baseline, "the baseline")):
            if text is None:
                continue
            name = file_name if role == "this kernel" else "baseline.hip"
            candidate = self._candidate(problem, text, file_name=name, target=target, on_progress=on_progress)
            checked = self._check(candidate, on_progress)
            if checked.verdict != "correct":
                return incorrect(checked, role)
            measured = measure(
                sandbox=candidate.sandbox,
                target=candidate.target,
                planned=self._plan(candidate),
                on_progress=on_progress,
            )
            if measured.finding:
                return stopped(measured.finding, role, candidate.target.name, candidate.sandbox.isolation)
            sides.append(_side(candidate, measured))
        where = candidate.target
        answer = benchmark(
            candidate=sides[0],
            baseline=sides[1] if baseline is not None else None,
            gpu=gpu_by_name(where.gpu),
            target=where.name,
            emulated=where.kind == "emulator",
            interleaved=False,
        )
        return answer.model_copy(update={"isolation": candidate.sandbox.isolation})

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
        from amdkernel_mcp.checking.check import invalid, invalid_from_compile
        from amdkernel_mcp.execution.runner.measure import measure
        from amdkernel_mcp.hardware.specs import gpu_by_name
        from amdkernel_mcp.profiling.profile import profile

        candidate = self._candidate(problem, source, file_name=file_name, target=target, on_progress=on_progress)
        where, compiled = candidate.target, candidate.compiled
        refused = None
        if candidate.plan.mistakes:
            refused = invalid(candidate.plan.mistakes)
        elif not compiled.result.ok:
            refused = invalid_from_compile(compiled.result)
        if refused:
            return ProfileResult(
                target=where.name, reason=refused.reason, findings=refused.findings, diagnostics=refused.diagnostics
            )
        planned = self._plan(candidate)
        if where.kind == "gpu" and planned.job:
            return self._profile_on_gpu(candidate, planned.job, on_progress)
        measured = measure(sandbox=candidate.sandbox, target=where, planned=planned, on_progress=on_progress)
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
        return answer.model_copy(update={"isolation": candidate.sandbox.isolation})

    def _profile_on_gpu(self, candidate: PreparedKernel, job: RunnerJob, on_progress: Progress) -> ProfileResult:
        from amdkernel_mcp.execution.runner.gpu_profile import profile_on_gpu

        names = [kernel.name for kernel in candidate.compiled.result.kernels]
        answer = profile_on_gpu(candidate.sandbox, candidate.target, job, kernels=names, on_progress=on_progress)
        return answer.model_copy(update={"isolation": candidate.sandbox.isolation})

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
        """Run a whole HIP program, its output passed on as it comes. Its own ending is a value, and so are findings.

        Where nobody looks closely, accesses beyond a block go on as on a GPU, and are told as `overruns`; `stops`
        name the line of what stopped a kernel, where it is known.

        Raises InputError where `look` asks a GPU for what only the emulator sees.
        """
        from dataclasses import replace

        from amdkernel_mcp.execution.runner.program import NO_LOOK, run_program
        from amdkernel_mcp.findings.programs import findings_in_orders

        where = self._target(target)
        ran = run_program(
            self._sandbox(where),
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
        seen = findings_in_orders(ran.reports, where, program.name_file)
        failures = [told.finding for told in seen if closely or told.finding.kind == "timeout"]
        rest = [told for told in seen if told.finding not in failures]
        return replace(
            ran,
            findings=(*failures, *ran.findings),
            stops=tuple(told.finding for told in rest if told.stopped and told.finding.line),
            overruns=tuple(told.finding for told in rest if not told.stopped),
        )

    def profile_import(self, path: Path, *, gpu: str | None = None) -> ProfileResult:
        """Metrics and a diagnosis from a recording of AMD's profilers. Raises ProfileFileError."""
        from amdkernel_mcp.profiling.import_recording import import_recording

        return import_recording(path, gpu=gpu)

    def _candidate(
        self, problem: str, source: str, *, file_name: str, target: str | None, on_progress: Progress
    ) -> PreparedKernel:
        from amdkernel_mcp.launch.plan import read_launch_plan
        from amdkernel_mcp.problems.problem_file import load_problem

        where, loaded = self._target(target), load_problem(problem)
        plan = read_launch_plan(source, loaded)
        on_progress(f"compiling for {where.arch}")
        compiled = self._compiler(where).compile(source, arch=where.arch, flags=plan.flags(), file_name=file_name)
        return PreparedKernel(loaded, plan, compiled, where, self._sandbox(where))

    def _check(
        self, candidate: PreparedKernel, on_progress: Progress, schedules: int | None = None, order: int | None = None
    ) -> CheckResult:
        from amdkernel_mcp.checking.check import check

        return check(
            sandbox=candidate.sandbox,
            compiled=candidate.compiled,
            problem=candidate.problem,
            plan=candidate.plan,
            target=candidate.target,
            schedules=schedules,
            order=order,
            cache_dir=self._settings.cache_dir,
            on_progress=on_progress,
        )

    def _plan(self, candidate: PreparedKernel) -> Plan:
        from amdkernel_mcp.execution.runner.measure import plan_job

        return plan_job(
            target=candidate.target, problem=candidate.problem, plan=candidate.plan, compiled=candidate.compiled
        )

    # -- documentation -------------------------------------------------------------------------------------------------

    def search_docs(
        self,
        query: str,
        *,
        limit: int = 5,
        source: str | None = None,
        arch: str | None = None,
        rocm_version: str | None = None,
    ) -> SearchResult:
        """Cards of the names in the query, and the sections that answer it best. Raises DocumentationError."""
        return self._library.search(query, limit=limit, source=source, arch=arch, rocm_version=rocm_version)

    def read_doc(
        self,
        ref: str,
        *,
        section: str | None = None,
        start: int = 0,
        max_chars: int = 5000,
        find: str | None = None,
    ) -> ReadResult:
        """A card (`api:hipMalloc`) or a piece of a page of the documentation. Raises DocumentationError."""
        return self._library.read(ref, section=section, start=start, max_chars=max_chars, find=find)

    def docs_build(
        self, folders: Sequence[Path] = (), *, online: bool = False, on_progress: Progress = silent
    ) -> list[str]:
        """Build the index over `folders`, or over what this machine can have; returns what was skipped, and why.

        online: fetch the declared online sources first, and index them too.
        """
        from amdkernel_mcp.search.corpus.gather import build, fetch_online

        skipped = self._renew_declarations(on_progress)
        skipped += fetch_online(self._settings, on_progress).skipped if online else ()
        report = build(self._settings, self.index_path, folders, online=online, on_progress=on_progress)
        self._library.close()
        return [*skipped, *report.skipped]

    def docs_refresh(self, on_progress: Progress = silent) -> Refreshed:
        """Fetch what changed in the online sources, and build the index anew if anything did."""
        from amdkernel_mcp.search.corpus.gather import refresh

        refreshed, _ = refresh(self._settings, self.index_path, on_progress=on_progress)
        self._library.close()
        return refreshed

    def docs_eval(self, questions: Path) -> Evaluation:
        """How well the index answers questions whose answers are known."""
        from amdkernel_mcp.search.query.evaluate import evaluate

        return evaluate(self._library.index(), questions)

    def page(self, source: str, path: str) -> str:
        """The beginning of a page as quoted Markdown, and how to read on. Raises DocumentationError."""
        return self._library.page(source, path)

    def architecture(self, gfx: str) -> str:
        """The card of an architecture as Markdown. Raises DocumentationError for one that has none."""
        from amdkernel_mcp.search.cards.architecture import architecture_card, architectures

        card = architecture_card(gfx)
        if card is None:
            raise DocumentationError(f"no card of {gfx[:50]!r}", hint=f"there are {', '.join(architectures())}")
        return f"# {card.title}\n\n{card.text}\n"

    @property
    def _library(self) -> Library:
        from amdkernel_mcp.search.library import Library

        with self._lock:
            if self._opened_library is None:
                path = self._settings.data_dir / "hip-api.sqlite3"
                self._opened_library = Library(self.index_path, path, self._collect_declarations)
            return self._opened_library

    def _collect_declarations(self) -> None:
        from amdkernel_mcp.search.cards.collect import collect_declarations, sandbox_documents

        sandbox = self._sandbox(self._target("emulator:gfx942"))  # the one that needs no GPU
        path = self._settings.data_dir / "hip-api.sqlite3"
        collect_declarations(sandbox, path, sandbox_documents(self._settings))

    def _renew_declarations(self, on_progress: Progress) -> list[str]:
        """Reads what the sandbox's compiler declares; says why not where there is no sandbox yet."""
        on_progress("reading the HIP headers of the sandbox")
        try:
            self._collect_declarations()
        except AmdkernelError as error:
            return [f"the HIP headers of the sandbox: {error.message}"]
        return []

    # -- the machine ---------------------------------------------------------------------------------------------------

    def targets(self) -> TargetsResult:
        """Where code can run."""
        from amdkernel_mcp.execution.targets import list_targets

        declared = self._library.declarations()  # the headers that kernels of this machine's targets are compiled with
        version = declared.hip_version if declared else None
        return TargetsResult(
            targets=[
                one if one.name.partition(":")[0] in self._settings.hosts else one.model_copy(update={"rocm": version})
                for one in list_targets(self._settings)
            ]
        )

    def emulator_coverage(self, paths: Sequence[Path]) -> CoverageResult:
        """Which instructions of code objects, bundles and programs the emulator does not know."""
        from amdkernel_mcp.execution.runner.coverage import coverage_of_files, read_files

        files = read_files(paths)
        return coverage_of_files(self._sandbox(self._target("emulator:gfx942")), files)

    def emulator_instructions(self, arch: str) -> ArchCoverage:
        """Which instructions of an architecture the emulator does not know."""
        from amdkernel_mcp.execution.runner.coverage import coverage_of_arch

        return coverage_of_arch(self._sandbox(self._target("emulator:gfx942")), arch)

    def doctor(self) -> DoctorResult:
        """What is there, what is missing, and the command that mends it."""
        from amdkernel_mcp.execution.setup.doctor import doctor

        return doctor(self._settings)

    def setup(self, on_progress: Progress = silent, *, host: str | None = None, prune: bool = False) -> None:
        """Make the sandbox image and the documentation index where they are missing or of another release."""
        from amdkernel_mcp.execution.setup.build import setup
        from amdkernel_mcp.execution.setup.prune import prune as remove_unused_images
        from amdkernel_mcp.search.corpus.gather import remake

        setup(self._settings, on_progress, host=host)
        if prune:
            remove_unused_images(self._settings, on_progress, host=host)
        if remake(self._settings, self.index_path, on_progress=on_progress):
            self._library.close()

    def _target(self, name: str | None) -> Target:
        from amdkernel_mcp.execution.targets import find_target

        return find_target(name, self._settings)

    def _sandbox(self, target: Target) -> Sandbox:
        from amdkernel_mcp.execution.open_sandbox import open_sandbox

        key = (target.host, target.index)
        with self._lock:
            if key not in self._sandboxes:
                self._sandboxes[key] = open_sandbox(self._settings, host=target.host, gpu=target.index)
            return self._sandboxes[key]

    def _compiler(self, target: Target) -> Compiler:
        from amdkernel_mcp.compiler.compile import Compiler

        return Compiler(self._sandbox(target), self._settings.cache_dir)


def _side(candidate: PreparedKernel, measured: Measured) -> Side:
    from amdkernel_mcp.measurement.benchmark import Side

    resources = candidate.compiled.result.kernels
    return Side(measured.runs, {kernel.name: kernel.occupancy_waves_per_simd for kernel in resources})
