"""The steps on one kernel: read, compile, check, measure. The verbs of `engine.py` put them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.history.judged import JudgedProblems
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult, Finding, ProfileResult
from amdkernel_mcp.work import LOCAL, Work

if TYPE_CHECKING:
    from pathlib import Path

    from amdkernel_mcp.checking.cases.seeds import Purpose, SeedKey
    from amdkernel_mcp.checking.measured import MeasuredOutputs
    from amdkernel_mcp.checking.options import CheckOptions
    from amdkernel_mcp.compiler.compile import Compiled, Compiler
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.engine.first_starts import FirstStarts
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.execution.sandboxes import Sandboxes
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.history.attempt import Ran
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.measurement.job import Measured, MeasurementJob, TimingInputs
    from amdkernel_mcp.measurement.timing.interleaved import Plan
    from amdkernel_mcp.problems.own_problems import OwnProblems
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.problems.size_limits import SizeLimits
    from amdkernel_mcp.results.host_programs import ProgramCheckResult
    from amdkernel_mcp.results.problems import ProblemList
    from amdkernel_mcp.runner_protocol.report import RunnerReport

INPUTS_IN_TURNS = 2
"""Of a case that is timed in turns: no kernel gains by fitting one of them."""
_LONGEST_REASON = 160  # characters of why outputs were not judged


def ran_of(compiled: Compiled, flags: Sequence[str], sandbox: Sandbox) -> Ran:
    """What a record says of a compile."""
    from amdkernel_mcp.history.attempt import Ran

    result = compiled.result
    return Ran(
        code_object=result.code_object.removeprefix("sha256:") if result.code_object else None,
        flags=list(flags),
        arch=result.arch,
        toolchain=result.toolchain,
        image=sandbox.image_id,
        isolation=sandbox.isolation,
        headers=result.headers,
    )


class KernelSteps:
    """The steps over one configuration. Thread-safe. Raises only errors of `errors.py`."""

    def __init__(self, settings: Settings, sandboxes: Sandboxes, judged: JudgedProblems) -> None:
        self._settings = settings
        self._sandboxes = sandboxes
        self._judged = judged

    @cached_property
    def first_starts(self) -> FirstStarts:
        """What asks before something is started that may hang."""
        from amdkernel_mcp.engine.first_starts import FirstStarts

        return FirstStarts(self._settings, self._sandboxes)

    def prepare(
        self,
        problem: Problem,
        source: str,
        *,
        file_name: str,
        target: str | None,
        work: Work,
        values: Mapping[str, str] | None = None,
    ) -> PreparedKernel:
        """Read the launch plan and compile, with these `values` of its `tune` lines. A compile error is in `compiled`.

        Raises InputError for values that the lines do not have.
        """
        from amdkernel_mcp.checking.cases.tuned import chosen
        from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
        from amdkernel_mcp.languages.table import language_of

        where, language = self.target(target), language_of(source, file_name)
        plan = chosen(language.read_plan(source, problem), values or {})
        work.say(f"compiling for {where.arch}")
        toolchain = language.toolchain(plan, problem)
        compiled = self.compiler(where).compile(
            source, arch=where.arch, flags=plan.flags(), file_name=file_name, toolchain=toolchain
        )
        return PreparedKernel(problem, plan, compiled, where, self._sandboxes.of(where), file_name)

    def recompile(self, prepared: PreparedKernel, plan: LaunchPlan) -> PreparedKernel:
        """The same kernel with other flags: those of `plan`. A compile error is in `compiled`."""
        from amdkernel_mcp.languages.table import language_of

        source, name = prepared.compiled.source, prepared.file_name
        toolchain = language_of(source, name).toolchain(plan, prepared.problem)
        compiled = self.compiler(prepared.target).compile(
            source, arch=prepared.target.arch, flags=plan.flags(), file_name=name, toolchain=toolchain
        )
        return replace(prepared, plan=plan, compiled=compiled)

    def problem(self, name_or_path: str, by: str = LOCAL) -> Problem:
        """The problem that `by` created, the one in a folder, or a bundled one. Raises ProblemFileError."""
        from amdkernel_mcp.problems.problem_file import load_problem

        return self.own_problems.load(name_or_path, by, self.limits) or load_problem(name_or_path, self.limits)

    @property
    def cache_dir(self) -> Path:
        """Where things are kept that can be made again."""
        return self._settings.cache_dir

    @property
    def limits(self) -> SizeLimits:
        """How large a problem may be."""
        from amdkernel_mcp.problems.size_limits import SizeLimits

        return SizeLimits.of_mib(self._settings.max_case_mib, self._settings.max_problem_mib)

    @property
    def own_problems(self) -> OwnProblems:
        """The problems that callers created."""
        from amdkernel_mcp.problems.own_problems import OwnProblems

        return OwnProblems(self._settings.data_dir / "problems")

    def list_problems(self, by: str) -> ProblemList:
        """The problems that `by` created, shared and bundled ones."""
        from amdkernel_mcp.problems.listing import listed
        from amdkernel_mcp.problems.problem_file import bundled_problems
        from amdkernel_mcp.results.problems import ProblemList

        bundled, own = bundled_problems(), self.own_problems
        found = {name: self.problem(name, by) for name in (*own.names(by), *bundled)}
        lines = [listed(name, each, name in bundled, own.sharer(name, by)) for name, each in found.items()]
        return ProblemList(problems=lines)

    def create_problem(
        self, name: str, declaration: str, reference: str, work: Work, *, shared: bool
    ) -> tuple[Problem, tuple[str, ...]]:
        """Examine a problem, then store it. Returns it with warnings. Raises ProblemFileError, InputError."""
        from amdkernel_mcp.checking.problem_probe import examine_problem

        warnings: list[str] = []

        def examine(problem: Problem) -> None:
            warnings.extend(examine_problem(self._sandboxes.without_gpu(), problem, cache_dir=self._settings.cache_dir))

        made = self.own_problems.create(
            name, declaration, reference, work.owner, shared=shared, limits=self.limits, examine=examine
        )
        return made, tuple(warnings)

    def check(self, prepared: PreparedKernel, work: Work, options: CheckOptions | None = None) -> CheckResult:
        """The verdict on a kernel, with the notes on its problem. Raises InputError where it may hang and must not."""
        from amdkernel_mcp.checking.check import check
        from amdkernel_mcp.checking.options import CheckOptions
        from amdkernel_mcp.checking.problem_probe import examined
        from amdkernel_mcp.languages.language import in_words_of
        from amdkernel_mcp.languages.table import language_of

        cache_dir = self._settings.cache_dir
        asked = options is not None and options.hang
        if not asked:
            self.first_starts.admit(prepared, work)
        with examined(prepared.sandbox, prepared.problem, cache_dir=cache_dir) as warnings:
            result = check(
                sandbox=prepared.sandbox,
                compiled=prepared.compiled,
                problem=prepared.problem,
                plan=prepared.plan,
                target=prepared.target,
                options=options or CheckOptions(),
                key=self.key("check", prepared),
                cache_dir=cache_dir,
                work=work,
            )
        result = result.model_copy(update={"notes": [*result.notes, *warnings()]})
        self.first_starts.note(prepared, result, asked=asked)
        result = in_words_of(language_of(prepared.compiled.source, prepared.file_name), result)
        return self.stamped(result, prepared)

    def stamped(self, result: CheckResult, prepared: PreparedKernel) -> CheckResult:
        """The verdict with the hashes of this source and problem."""
        return self._judged.stamp(result, prepared.compiled.source, prepared.problem)

    def check_program(
        self,
        problem: Problem,
        source: str,
        *,
        file_name: str,
        target: str | None,
        key: str | None,
        work: Work,
        built: Program | None = None,
        hang: bool = False,
    ) -> ProgramCheckResult:
        """The verdict on a program with its own `main`. `key`: a seed key to replay. `built`: the source is built.

        Raises InputError where it may hang and must not; `hang`: it may.
        """
        from amdkernel_mcp.checking.cases.seeds import read_key, seed_key, server_secret
        from amdkernel_mcp.checking.problem_probe import examined
        from amdkernel_mcp.engine.first_starts import started_program
        from amdkernel_mcp.execution.runner.program_files import sent_program
        from amdkernel_mcp.host_programs.check_program import check_program
        from amdkernel_mcp.launch.lines import read_launch_plan

        where, flags = self.target(target), read_launch_plan(source).flags()
        sandbox, secret = self._sandboxes.of(where), server_secret(self._settings.data_dir)
        drawn = seed_key(secret, "check_program", problem, source=source, flags=flags, arch=where.arch)
        cache_dir = self._settings.cache_dir
        sent = sent_program(source, file_name, flags)
        started = started_program(sent, "amdkernel check-program", problem.hash)
        if not hang:
            self.first_starts.admit_program(started, where, sandbox)
        with examined(sandbox, problem, cache_dir=cache_dir) as warnings:
            result = check_program(
                sandbox=sandbox,
                target=where,
                problem=problem,
                program=built or sent,
                key=read_key(key) if key else drawn,
                cache_dir=cache_dir,
                work=work,
            )
        self.first_starts.note_program(started, result, where, asked=hang)
        return result.model_copy(update={"notes": [*result.notes, *warnings()]})

    def check_tuned(
        self, prepared: PreparedKernel, answer: CheckResult, work: Work, options: CheckOptions | None
    ) -> CheckResult:
        """The answer about every value of the `tune` line; a replay of one order is of the first values alone."""
        from amdkernel_mcp.checking.cases.tuned import check_combinations, fewer_seeds

        def check_one(plan: LaunchPlan, name: str) -> CheckResult:
            work.say(f"checking {name}")
            return self.check(self.recompile(prepared, plan), work.saying(silent), fewer_seeds(options))

        return answer if options and options.order else check_combinations(answer, prepared.plan, check_one)

    def measure(self, prepared: PreparedKernel, planned: MeasurementJob | Finding, work: Work) -> Measured:
        """Run what was planned; its outputs are judged like those of a check, of a sample those that it wrote."""
        from amdkernel_mcp.checking.measured import why_not_judged
        from amdkernel_mcp.execution.runner.job import run_job
        from amdkernel_mcp.measurement.job import Measured, read_measurement

        if isinstance(planned, Finding):
            return Measured(finding=planned)
        cases, emulated = counted(len(planned.cases), "case"), prepared.target.kind == "emulator"
        how = ", with the caches modelled" if emulated else ""
        work.say(f"measuring {cases} on {prepared.target.name}{how}")
        report = run_job(prepared.sandbox, prepared.target, planned.job, work)
        work.say("reading what was counted")
        measured = read_measurement(planned, report)
        if measured.finding:
            return measured
        if measured.sampled and (why := why_not_judged(prepared.problem, prepared.compiled, planned.calls)):
            return replace(measured, not_judged=why)
        work.say("comparing the outputs with the reference")
        try:
            outputs = self._judge(prepared, planned, report)
        except ProblemFileError as error:
            if not measured.sampled:
                raise
            return replace(measured, not_judged=error.message[:_LONGEST_REASON])  # its counters need no reference
        measured = replace(measured, judged_elements=outputs.elements, not_judged=outputs.beyond or None)
        if outputs.wrong is None:
            return measured
        case, judged = outputs.wrong
        return replace(measured, wrong_outputs=f"case {case}: {judged.reason}", findings=judged.findings)

    def _judge(self, prepared: PreparedKernel, planned: MeasurementJob, report: RunnerReport) -> MeasuredOutputs:
        from amdkernel_mcp.checking.measured import judge_measured

        return judge_measured(
            report,
            job=planned.job,
            calls=planned.calls,
            sandbox=prepared.sandbox,
            problem=prepared.problem,
            plan=prepared.plan,
            compiled=prepared.compiled,
            cache_dir=self._settings.cache_dir,
        )

    def benchmark_in_turns(
        self,
        candidate: PreparedKernel,
        baseline: PreparedKernel | None,
        work: Work,
        *,
        protocol: Plan | None = None,
        case: str | None = None,
    ) -> BenchmarkResult:
        """Time two kernels in turns on a GPU, or a kernel in turns with itself.

        `protocol` None: as thoroughly as a verdict needs it. `case`: in place of those that count.
        """
        from amdkernel_mcp.engine.gpu_benchmark import Contest, benchmark_in_turns
        from amdkernel_mcp.leases.leased_sandbox import exclusively
        from amdkernel_mcp.measurement.not_timed import stopped
        from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN

        where, both = candidate.target, tuple(each for each in (candidate, baseline) if each)
        for each in both:
            self.first_starts.admit(each, work)
        planned = self.plan_measurement(candidate, inputs=INPUTS_IN_TURNS, case=case)
        other = planned
        if baseline and not isinstance(planned, Finding):
            other = self.plan_measurement(baseline, planned)
        for found, role in ((planned, "this kernel"), (other, "the baseline")):
            if isinstance(found, Finding):
                return stopped(found, role, where.name, candidate.sandbox.isolation)
        assert not isinstance(planned, Finding)
        assert not isinstance(other, Finding)
        contest = Contest(
            candidate,
            baseline or candidate,
            planned,
            other,
            lambda: self._sandboxes.render_node(where),
            lambda work: exclusively(candidate.sandbox, work),
            self._settings.data_dir,
            self._settings.cache_dir,
            protocol or DEFAULT_PLAN,
            lambda report: self.first_starts.note_report(report, *both),
        )
        return benchmark_in_turns(contest, work)

    def timing_inputs(self, prepared: PreparedKernel, *, inputs: int = 1, case: str | None = None) -> TimingInputs:
        """The inputs with which a problem's kernels are timed, so many of each case at most.

        case: in place of those that count. Raises InputError for one that the problem does not announce.
        """
        from amdkernel_mcp.checking.expected.generate import make_calls
        from amdkernel_mcp.measurement.job import TimingInputs, measured_inputs

        wanted = measured_inputs(prepared.problem, self.key("timing", prepared), inputs=inputs, case=case)
        return TimingInputs(tuple(make_calls(prepared.sandbox, prepared.problem, wanted)))

    def plan_measurement(
        self,
        prepared: PreparedKernel,
        same_inputs: MeasurementJob | TimingInputs | None = None,
        *,
        inputs: int = 1,
        case: str | None = None,
    ) -> MeasurementJob | Finding:
        """The measurement of a kernel; with the inputs of `same_inputs` where it is compared with that one.

        inputs: of each case, at most. case: in place of those that count. On the emulator a sample of the workgroups
        of a large launch runs.
        """
        from amdkernel_mcp.measurement.job import plan_measurement

        code_object, key = prepared.compiled.code_object, self.key("timing", prepared)
        assert code_object is not None  # a failed compile was judged before
        calls = (same_inputs or self.timing_inputs(prepared, inputs=inputs, case=case)).calls
        return plan_measurement(
            target=prepared.target,
            problem=prepared.problem,
            plan=prepared.plan,
            code_object=code_object,
            calls=calls,
            layout_seed=key.derive("layout"),
            sampled=True,
        )

    def key(self, purpose: Purpose, prepared: PreparedKernel) -> SeedKey:
        """What the seeds of a check or of a measurement are drawn from.

        All kernels of a problem are measured with the same inputs, addresses and drawn conditions, so that two of them
        differ by what they do alone. That key is never revealed.
        """
        from amdkernel_mcp.checking.cases.seeds import seed_key, server_secret

        if purpose == "timing":
            secret, problem = server_secret(self._settings.data_dir), prepared.problem
            return seed_key(secret, purpose, problem, source="", flags=(), arch=prepared.target.arch)
        return seed_key(
            server_secret(self._settings.data_dir),
            purpose,
            prepared.problem,
            source=prepared.compiled.source,
            flags=prepared.plan.flags(),
            arch=prepared.target.arch,
        )

    def what_ran(self, prepared: PreparedKernel, purposes: Sequence[Purpose] = ()) -> Ran:
        """What a record says of a kernel that was prepared; with the seeds that it got for `purposes`."""
        from amdkernel_mcp.history.attempt import Seeds

        keys = {purpose: self.key(purpose, prepared) for purpose in purposes if prepared.compiled.code_object}
        seeds = {
            purpose: Seeds(commitment=key.commitment, key="" if purpose == "timing" else key.hex)
            for purpose, key in keys.items()
        }
        return ran_of(prepared.compiled, prepared.plan.flags(), prepared.sandbox).model_copy(update={"seeds": seeds})

    def profile_on_gpu(self, prepared: PreparedKernel, planned: MeasurementJob, work: Work) -> ProfileResult:
        """Record with rocprofv3, then explain the recording; its outputs are judged."""
        from amdkernel_mcp.execution.gpu_idle import read_state
        from amdkernel_mcp.execution.runner.gpu_profile import FOLDER, list_counters, record_profile
        from amdkernel_mcp.execution.runner.job import runner_command
        from amdkernel_mcp.leases.leased_sandbox import exclusively
        from amdkernel_mcp.profiling.gated_counters import level_warning
        from amdkernel_mcp.profiling.import_recording import import_files
        from amdkernel_mcp.profiling.kernel_trace import without_other_kernels
        from amdkernel_mcp.profiling.rocprofv3 import commands, listed_counters, uncounted

        self.first_starts.admit(prepared, work)
        where, job, program = prepared.target, planned.job, runner_command(prepared.target, planned.job)
        names = [kernel.name for kernel in prepared.compiled.result.kernels]
        with exclusively(prepared.sandbox, work) as held:
            state = read_state(prepared.sandbox, self._sandboxes.render_node(where))
            level = level_warning(where.arch, None if isinstance(state, str) else state.performance)
            has = listed_counters(list_counters(prepared.sandbox, where))
            runs = commands(where.arch, folder=FOLDER, program=program, kernels=names, available=has)
            held.say(f"profiling in {counted(len(runs), 'pass', 'passes')} on {where.name}")
            recorded = record_profile(prepared.sandbox, where, job, runs)
        self.first_starts.note_report(recorded.report, prepared)
        answer = import_files(without_other_kernels(recorded.files, names), gpu=where.gpu)
        update: dict[str, object] = {
            "target": where.name,
            "isolation": prepared.sandbox.isolation,
            "code_object": prepared.compiled.result.code_object,
        }
        said = [*level, *uncounted(where.arch, has), *recorded.warnings, *answer.warnings]
        answer = answer.model_copy(update={"warnings": said})
        wrong = self._judge(prepared, planned, recorded.report).wrong if recorded.report else None
        if wrong or not recorded.report:
            what = f"wrong: case {wrong[0]}: {wrong[1].reason}" if wrong else "not judged: the runner left no report"
            update["warnings"] = [f"the outputs of this run are {what}", *answer.warnings]
            update["findings"] = [*(wrong[1].findings if wrong else ()), *answer.findings]
        return answer.model_copy(update=update)

    def target(self, name: str | None) -> Target:
        """The target of this name, or the default one. Raises UnknownTargetError."""
        from amdkernel_mcp.execution.targets import find_target

        return find_target(name, self._settings, self._sandboxes.workers)

    def compiler(self, target: Target, *, hip: str | None = None) -> Compiler:
        """The compiler of a target; with `hip`, that of another HIP release, on this machine."""
        from amdkernel_mcp.compiler.compile import Compiler

        sandbox = self._sandboxes.of_compiler(hip) if hip else self._sandboxes.of(target)
        return Compiler(sandbox, self._settings.cache_dir, headers=self._settings.headers)
