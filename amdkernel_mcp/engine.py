"""The verbs on kernels: compile, check, benchmark, tune, profile, run. The command line and the MCP tools call them.

Each method validates, plans, executes, judges and returns a result model; the workers do the input and output.
`docs`, `machine` and `imports` have more verbs. Methods are thread-safe and raise only errors of `errors.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.history.judged import JudgedProblems
from amdkernel_mcp.history.recorder import LOCAL, Recorder, Tried
from amdkernel_mcp.kernel_steps import KernelSteps, Progress, ran_of, silent
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, CompileResult, ProfileResult
from amdkernel_mcp.results.tuning import TuneResult

if TYPE_CHECKING:
    from amdkernel_mcp.checking.options import CheckOptions
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.execution.machine import Machine
    from amdkernel_mcp.execution.runner.program import Look, ProgramRun, Stream
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.history.attempt import Attempt
    from amdkernel_mcp.history.attempts import Attempts
    from amdkernel_mcp.importing.importer import Importer
    from amdkernel_mcp.prepared_kernel import PreparedKernel
    from amdkernel_mcp.profile_steps import OnDetail
    from amdkernel_mcp.profiling.options import ProfileOptions
    from amdkernel_mcp.reading.reader import Reader
    from amdkernel_mcp.results.documentation import ReadResult, SearchResult
    from amdkernel_mcp.results.history import Pruned
    from amdkernel_mcp.results.host_programs import ProgramCheckResult
    from amdkernel_mcp.results.job_answer import JobAnswer
    from amdkernel_mcp.results.problems import CreatedProblem, ProblemList
    from amdkernel_mcp.search.cards.collect import Collected
    from amdkernel_mcp.search.documentation import Documentation
    from amdkernel_mcp.search.query.filters import SearchFilters
    from amdkernel_mcp.tuning.space import TuneOptions


class Engine:
    """The verbs over one configuration. Sandboxes and index are opened on first use; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        from amdkernel_mcp.execution.workers.hub import WorkerHub
        from amdkernel_mcp.leases.leased_sandbox import LeasedSandboxes

        self._settings = settings
        self.answers = answers_folder(settings.cache_dir / "answers")
        self.workers = WorkerHub((*settings.hosts, "slurm"))
        self._sandboxes = LeasedSandboxes(settings, self.workers)
        self._recorder = Recorder(settings, daily=self._prune_caches)
        self._judged = JudgedProblems(settings.data_dir)
        self._steps = KernelSteps(settings, self._sandboxes, self._judged)
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

        quarantined = self._sandboxes.quarantined
        return Machine(self._settings, self._sandboxes, lambda: self.docs.hip_version(), quarantined)

    @property
    def attempts(self) -> Attempts:
        """The attempts that were made: list, show, export, replay."""
        from amdkernel_mcp.history.attempts import Attempts

        return Attempts(self._recorder, self)

    @property
    def _reader(self) -> Reader:
        from amdkernel_mcp.reading.reader import Reader

        return Reader(lambda: self.docs, self.attempts, self._steps.own_problems, self.answers)

    def search(
        self,
        query: str,
        *,
        by: str = LOCAL,
        also: Sequence[str] = (),
        limit: int = 5,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """The documentation that answers a query best, our own first, and the lessons of `by`.

        also: the question in other words, three times at most.
        """
        return self._reader.search(query, by=by, also=also, limit=limit, filters=filters)

    def read(self, ref: str, *, by: str = LOCAL, start: int = 0, max_chars: int = 5000, **at: str | None) -> ReadResult:
        """A part of a page, a card, a guide, a problem, an attempt or a whole answer. `at`: `section`, `find`."""
        return self._reader.read(ref, by=by, start=start, max_chars=max_chars, **at)

    def prune(self) -> Pruned:
        """Remove files that no recent attempt needs, and old answers and expected outputs."""
        return self.attempts.prune().model_copy(update={"cache_bytes": self._prune_caches()})

    def _prune_caches(self) -> int:
        from amdkernel_mcp.checking.expected.reference_cache import ReferenceCache

        return self.answers.prune() + ReferenceCache(self._settings.cache_dir / "reference").prune()

    @property
    def imports(self) -> Importer:
        """Problems of other collections."""
        return self._steps.importer()

    def close(self) -> None:
        """Remove all containers and close the index and the history."""
        self._sandboxes.close()
        self._recorder.close()
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
        by: str = LOCAL,
        on_progress: Progress = silent,
    ) -> CompileResult:
        """Compile for `arch` (default: the target's), with `flags` after those of the file's `build` line.

        `isa`: with the disassembly of the kernels and the file's other functions; `kernel`: with that of this one.
        A compile error is a result whose `ok` is false. Raises FlagError, InputError for a kernel that is not there,
        UnknownTargetError, InfrastructureError.
        """
        from amdkernel_mcp.launch.kernel_symbols import symbols_called
        from amdkernel_mcp.launch.lines import read_launch_plan

        where = self._steps.target(target)
        self._recorder.warm_up()
        on_progress(f"compiling for {arch or where.arch}")
        given = {"arch": arch, "flags": list(flags)}
        flags = (*read_launch_plan(source).flags(), *flags)
        compiled = self._steps.compiler(where).compile(
            source, arch=arch or where.arch, flags=flags, file_name=file_name
        )
        result = compiled.result.model_copy(update={"target": where.name})
        sandbox = self._sandboxes.of(where)
        tried = Tried("compile", source, file_name, by, options=given, ran=lambda: [ran_of(compiled, flags, sandbox)])
        result = self._recorder.record(tried, result)
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
        by: str = LOCAL,
        on_progress: Progress = silent,
    ) -> CheckResult:
        """Whether the kernel computes what the problem asks, on announced and held-out cases.

        Raises ProblemFileError for a problem that cannot be used; a bad kernel is a verdict.
        """
        self._recorder.warm_up()
        loaded = self._steps.problem(problem, by)
        prepared = self._steps.prepare(loaded, source, file_name=file_name, target=target, on_progress=on_progress)
        answer = self._steps.check_tuned(
            prepared, self._steps.check(prepared, on_progress, options), on_progress, options
        )
        given, ran = asdict(options) if options else {}, lambda: [self._steps.what_ran(prepared)]
        return self._recorder.record(Tried("check", source, file_name, by, loaded, options=given, ran=ran), answer)

    def check_program(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "program.hip",
        target: str | None = None,
        seed_key: str | None = None,
        by: str = LOCAL,
        on_progress: Progress = silent,
    ) -> ProgramCheckResult:
        """Whether a HIP program with its own `main` writes what the problem asks; marked as unverified.

        `seed_key`: replays the inputs and shapes of an earlier check. Raises ProblemFileError for a problem that
        cannot be used; a bad program is a verdict.
        """
        self._recorder.warm_up()
        loaded = self._steps.problem(problem, by)
        answer = self._steps.check_program(
            loaded, source, file_name=file_name, target=target, key=seed_key, on_progress=on_progress
        )
        given = {"seed_key": seed_key} if seed_key else {}
        return self._recorder.record(Tried("check_program", source, file_name, by, loaded, options=given), answer)

    def benchmark(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        baseline: str | None = None,
        baseline_file: str = "baseline.hip",
        target: str | None = None,
        values: Mapping[str, str] | None = None,
        case: str | None = None,
        by: str = LOCAL,
        on_progress: Progress = silent,
        fresh: bool = False,
    ) -> BenchmarkResult:
        """Time a kernel, against the kernel `baseline` if given: its text or `attempt:ID`. Only correct ones are timed.

        `values`: those of its `tune` lines, by default its default values. `case`: in place of the profile case, or
        largest. `fresh`: nothing that was found before is used. Raises InputError, HistoryError for an unknown name.
        """
        from amdkernel_mcp.benchmark_steps import benchmark_steps
        from amdkernel_mcp.measurement.not_timed import name_baseline

        self._recorder.warm_up()
        baseline, baseline_file = self.attempts.named_source(baseline, baseline_file, by=by)
        loaded = self._steps.problem(problem, by)  # once: its files can change while the kernels run
        seen: list[PreparedKernel] = []
        answer = benchmark_steps(
            self._steps,
            loaded,
            source,
            file_name=file_name,
            baseline=baseline,
            baseline_file=baseline_file,
            target=target,
            values=values,
            on_progress=on_progress,
            seen=seen,
            case=case,
            fresh=fresh,
        )
        answer = name_baseline(answer, baseline_file)
        names = ("code_object", "baseline_code_object")
        compiled = {name: each.compiled.result.code_object for name, each in zip(names, seen, strict=False)}
        answer = self._judged.stamp_comparison(answer.model_copy(update=compiled), source, baseline, loaded)
        tried = Tried(
            *("benchmark", source, file_name, by, loaded),
            baseline=baseline,
            options={**({"values": dict(values)} if values else {}), **({"case": case} if case else {})},
            ran=lambda: [self._steps.what_ran(each, ("check", "timing")) for each in seen],
        )
        return self._recorder.record(tried, answer)

    def tune(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        options: TuneOptions | None = None,
        by: str = LOCAL,
        on_progress: Progress = silent,
    ) -> TuneResult:
        """Try the values of the kernel's `tune` lines: each row is verified, and the correct ones are ranked by time.

        A cancelled sweep leaves the record of its finished rows. Raises InputError for a kernel without such a line.
        """
        from amdkernel_mcp.tuning.records import record_sweep
        from amdkernel_mcp.tuning.space import TuneOptions
        from amdkernel_mcp.tuning.tune import Tuned, tune

        self._recorder.warm_up()
        loaded = self._steps.problem(problem, by)
        base = self._steps.prepare(loaded, source, file_name=file_name, target=target, on_progress=on_progress)
        options = options or TuneOptions()
        tried = Tried(
            *("tune", source, file_name, by, loaded),
            options=asdict(options),
            ran=lambda: [self._steps.what_ran(base, ("check", "timing"))],
        )

        def record(tuned: Tuned) -> TuneResult:
            stamped = self._judged.stamp_sweep(tuned.result, source, loaded)
            return record_sweep(self._recorder, tried, replace(tuned, result=stamped))

        return record(tune(self._steps, base, options, on_progress, on_cancel=record))

    def profile(
        self,
        problem: str,
        source: str,
        *,
        file_name: str = "kernel.hip",
        target: str | None = None,
        by: str = LOCAL,
        options: ProfileOptions | None = None,
        on_progress: Progress = silent,
        on_detail: OnDetail | None = None,
    ) -> ProfileResult:
        """Counters, metrics and a diagnosis of a kernel on the problem's announced cases.

        `on_detail` is given what a page shows besides: traffic by level and every line. Not on a GPU, where neither is
        known.
        """
        from amdkernel_mcp.profile_steps import ProfileSteps, no_detail
        from amdkernel_mcp.profiling.options import NO_OPTIONS

        self._recorder.warm_up()
        options = options or NO_OPTIONS
        other, name = self.attempts.named_source(options.compare_to, options.compare_file, by=by)
        loaded, options = self._steps.problem(problem, by), replace(options, compare_to=other, compare_file=name)
        steps = ProfileSteps(self._steps, loaded, target, options, on_progress, on_detail or no_detail)
        answer = self._judged.stamp_profile(steps.profile(source, file_name), source, loaded)
        tried = Tried(
            *("profile", source, file_name, by, loaded),
            baseline=options.compare_to,
            options=options.recorded(),
            ran=lambda: [self._steps.what_ran(each, ("timing",)) for each in steps.seen],
        )
        return steps.recorded(self._recorder.record(tried, answer))

    def profile_import(
        self,
        path: Path,
        *,
        gpu: str | None = None,
        kernel: str = "",
        limit: int | None = None,
        options: ProfileOptions | None = None,
    ) -> ProfileResult:
        """Metrics and a diagnosis from a recording of AMD's profilers. Raises ProfileFileError.

        kernel: a part of the names of the wanted kernels. limit: how many, those with most time first.
        """
        from amdkernel_mcp.profile_steps import profile_recording
        from amdkernel_mcp.profiling.options import NO_OPTIONS

        return profile_recording(path, gpu=gpu, kernel=kernel, limit=limit, options=options or NO_OPTIONS)

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
        are what stopped a kernel, where the line is known; `profile` is there where the look asks for it. Raises
        InputError where `look` names what only the emulator can report and the target is a GPU.
        """
        from amdkernel_mcp.execution.runner.program import NO_LOOK, run_program
        from amdkernel_mcp.findings.programs import findings_in_orders

        where = self._steps.target(target)
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
        profile = None
        if look and look.profile and ran.compiled:
            from amdkernel_mcp.program_profile import program_profile

            on_progress("reading what the kernels did")
            profile = program_profile(self._sandboxes.of(where), where, program, ran.reports[look.order])
        return replace(
            ran,
            profile=profile,
            findings=(*failures, *ran.findings),
            stops=tuple(each.finding for each in rest if each.stopped and each.finding.line),
            overruns=tuple(each.finding for each in rest if not each.stopped),
        )

    def create_problem(
        self, name: str, declaration: str, reference: str, *, by: str = LOCAL, shared: bool = False
    ) -> CreatedProblem:
        """Store a problem of the texts of problem.toml and reference.py, once it was examined; `shared`: for all users.

        Raises ProblemFileError for one that cannot be used or proves nothing, InputError for its name.
        """
        from amdkernel_mcp.measurement.timed_case import what_is_timed
        from amdkernel_mcp.problems.signature import signature
        from amdkernel_mcp.results.problems import CreatedProblem

        problem, warnings = self._steps.create_problem(name, declaration, reference, by, shared=shared)
        return CreatedProblem(
            name=problem.name,
            hash=problem.hash,
            signature=signature(problem),
            cases=[case.name for case in problem.cases],
            timed_case=what_is_timed(problem),
            warnings=list(warnings),
        )

    def identity(self, target: str | None = None) -> tuple[str, str]:
        """What decides an answer besides kernel and problem: the target's name and the sandbox image's id."""
        where = self._steps.target(target)
        return where.name, self._sandboxes.of(where).image_id

    def has_own_problem(self, name: str, *, by: str = LOCAL) -> bool:
        """Whether `by` created a problem of this name, or a user shared one."""
        return self._steps.own_problems.find(name, by) is not None

    def list_problems(self, *, by: str = LOCAL) -> ProblemList:
        """The problems that `by` created, shared and bundled ones."""
        return self._steps.list_problems(by)

    def problem_hash(self, name: str, by: str) -> str | None:
        """The hash of the problem of this name as it is now; None where there is none."""
        try:
            return self._steps.problem(name, by).hash
        except ProblemFileError:
            return None

    def repeat(
        self,
        attempt: Attempt,
        *,
        source: str,
        baseline: str | None,
        problem: str,
        target: str | None,
        on_progress: Progress = silent,
    ) -> JobAnswer:
        """Run the verb of an attempt again, with its options."""
        from amdkernel_mcp.checking.options import CheckOptions
        from amdkernel_mcp.history.attempts import CompileOptions, read_options
        from amdkernel_mcp.profiling.options import ProfileOptions
        from amdkernel_mcp.tuning.space import TuneOptions

        same: dict[str, Any] = {
            "source": source, "file_name": attempt.file_name, "target": target, "on_progress": on_progress,
        }  # fmt: skip
        given = attempt.options
        if attempt.verb == "compile":
            chosen = read_options(CompileOptions, given)
            return self.compile(**same, arch=chosen.arch, flags=chosen.flags)
        seeds = attempt.answer.get("seeds")  # of an export by anybody, maybe
        key = seeds.get("key") if isinstance(seeds, dict) else None
        if attempt.verb == "check_program":
            return self.check_program(problem, **same, seed_key=given.get("seed_key") or key)
        if attempt.verb == "check":
            options = read_options(CheckOptions, {**given, "seed_key": given.get("seed_key") or key})
            return self.check(problem, **same, options=options)
        if attempt.verb in ("benchmark", "tune_row"):
            same |= {"values": given.get("values"), "case": given.get("case"), "fresh": True}
            return self.benchmark(problem, **same, baseline=baseline)
        if attempt.verb == "tune":
            return self.tune(problem, **same, options=read_options(TuneOptions, given))
        asked = read_options(ProfileOptions, given)
        again = ProfileOptions(focus=asked.focus, compare_to=baseline, case=asked.case, fresh=True)
        return self.profile(problem, **same, options=again)

    def _collect_headers(self) -> Collected:
        from amdkernel_mcp.search.cards.collect import COMMAND, TIMEOUT_S, Collected, command_files

        sandbox = self._sandboxes.without_gpu()
        completed = sandbox.run("compile", COMMAND, command_files(), timeout_s=TIMEOUT_S)
        return Collected(completed.files, completed.stderr, in_sandbox=sandbox.isolation != "none")
