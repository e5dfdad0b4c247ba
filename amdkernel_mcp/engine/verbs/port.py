"""port: a CUDA program on AMD GPUs: translated or kept, linted, and run on both sizes of waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import LAST, STRINGS, Cut, Keep, KeepFirst
from amdkernel_mcp.engine.verbs.verb import Means, Repeated, Text, Verb
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results.port import PortResult

if TYPE_CHECKING:
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.history.attempt import Attempt
    from amdkernel_mcp.port.candidate import Candidate
    from amdkernel_mcp.port.sources import CudaProgram
    from amdkernel_mcp.port.verify import Verified

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class PortOptions:
    """How a CUDA program is ported.

    others: the program's further files, path to text. keep_warps: the source stays, with our headers. verify: run it on
    a wave of 32 and of 64. arguments: of the program. defines: NAME=VALUE for its constants. timeout_s: of a run.
    with_sources: the answer has the HIP sources or our headers. candidate: the kernel to take alone, or
    the host function whose launches to take. problem: whose
    outputs decide, for a program or a candidate that takes its arguments.
    """

    others: Mapping[Text, Text] = field(default_factory=dict)
    keep_warps: bool = False
    verify: bool = False
    arguments: tuple[Text, ...] = ()
    defines: tuple[Text, ...] = ()
    timeout_s: float = TIMEOUT_S
    with_sources: bool = False
    candidate: Text | None = None
    problem: Text | None = None


NO_OPTIONS = PortOptions()


@dataclass(frozen=True, kw_only=True)
class Port(Verb[PortResult]):
    """Whether a CUDA program compiles for AMD GPUs, what a translator cannot see in it, and whether it means the same.

    A program that does not compile is a verdict. Raises InputError for defines of another form or a target without
    waves of 64.
    """

    name: ClassVar = "port"
    tool: ClassVar = "port_cuda"
    key: ClassVar = "port"
    answer: ClassVar = PortResult
    scope: ClassVar = "check"
    shortened: ClassVar = (
        Keep("sources", 0),
        Cut("diff", 500),
        KeepFirst("lint", 6),
        Keep("diagnostics", 4),
        KeepFirst("changes", 4),
        KeepFirst("findings", 3),
        KeepFirst("by_hand", 6),
        KeepFirst("suspects", 3),
        KeepFirst("lint", 3),
        Keep("diagnostics", 2),
        *STRINGS,
        Keep("changes", 1),
        KeepFirst("by_hand", 3),
        Keep("diagnostics", 1),
        KeepFirst("lint", 1),
        KeepFirst("suspects", 2),
        LAST,
    )

    file_name: Text = "program.cu"
    options: PortOptions = NO_OPTIONS

    def do(self, means: Means) -> PortResult:
        """The verdict, with the lint."""
        from amdkernel_mcp.port.answer import answer_of
        from amdkernel_mcp.port.port import Wanted, port
        from amdkernel_mcp.port.sources import CudaProgram
        from amdkernel_mcp.port.verify import NARROW, WAVES

        means.recorder.warm_up()
        wide, narrow = means.steps.target(self.target), means.steps.target(NARROW)
        if WAVES.get(wide.arch) != 64:
            raise InputError(f"{wide.name} has no waves of 64", hint="--target emulator:gfx942")
        if self.options.candidate:
            return self._candidate(means, wide, self.options.candidate)
        program = CudaProgram(self.file_name, {self.file_name: self.source, **self.options.others})
        wanted = Wanted(
            program,
            keep_warps=self.options.keep_warps,
            archs=(wide.arch, narrow.arch),
            defines=self.options.defines,
            arguments=self.options.arguments,
        )
        sandbox = means.sandboxes.of(wide)
        ported = port(sandbox, wanted, means.work)
        verified = None
        if (self.options.verify or self.options.problem) and not ported.failed:
            if not program.has_main:
                raise InputError("there is no main to run", hint="leave --verify out, or take a kernel: --candidate")
            verified = self._verified(means, ported.program, program, narrow, wide)
        return self._recorded(means, answer_of(wanted, ported, verified, target=wide.name), sandbox, ported.sources)

    def _verified(self, means: Means, program: Program, sources: CudaProgram, narrow: Target, wide: Target) -> Verified:
        """By the outputs of a problem where one is named, else by what the program says and writes."""
        from amdkernel_mcp.engine.first_starts import started_program
        from amdkernel_mcp.port.functions import kernel_lines, prints_on_gpu
        from amdkernel_mcp.port.sources import large_sizes
        from amdkernel_mcp.port.verify import Place, RunHints, verified_by_checks, verify

        if self.options.problem is None:
            places = [Place(each, means.sandboxes.of(each)) for each in (narrow, wide)]
            started = started_program(program, "amdkernel run")
            for place in places:
                means.steps.first_starts.admit_program(started, place.target, place.sandbox)
            prints = any(prints_on_gpu(text) for text in sources.files.values())
            lines = {kernel: line for text in sources.files.values() for kernel, line in kernel_lines(text).items()}
            hints = RunHints(lines | kernel_lines(self.source), large_sizes(sources, self.options.arguments))
            return verify(
                program,
                *places,
                timeout_s=self.options.timeout_s,
                work=means.work,
                kernels_print=prints,
                hints=hints,
            )
        problem = means.steps.problem(self.options.problem, means.work.owner)
        first, second = (
            means.steps.check_program(
                problem,
                self.source,
                file_name=self.file_name,
                target=each.name,
                key=None,
                work=means.work,
                built=program,
            )
            for each in (narrow, wide)
        )
        return verified_by_checks(first, second)

    def _candidate(self, means: Means, wide: Target, kernel: str) -> PortResult:
        """One kernel, or what a host function launches, with its launch plan; compiled as `compile` does."""
        from amdkernel_mcp.launch.lines import read_launch_plan
        from amdkernel_mcp.port.answer import answer_about_candidate
        from amdkernel_mcp.port.port import hip_names
        from amdkernel_mcp.port.several import candidate_of
        from amdkernel_mcp.port.sources import with_headers

        sandbox = means.sandboxes.of(wide)
        problem = means.steps.problem(self.options.problem, means.work.owner) if self.options.problem else None
        text = with_headers(self.source, self.options.others)
        made = candidate_of(text, hip_names(sandbox), kernel, problem)
        if self.options.problem:
            return self._judged(means, made, sandbox)
        means.work.say(f"compiling {kernel} for {wide.arch}")
        flags = read_launch_plan(made.text).flags()
        compiled = means.steps.compiler(wide).compile(made.text, arch=wide.arch, flags=flags, file_name=f"{kernel}.hip")
        answer = answer_about_candidate(made, compiled.result, self.source, target=wide.name)
        files = {f"{kernel}.hip": made.text, "problem.toml": made.problem, "reference.py": made.reference}
        return self._recorded(means, answer, sandbox, files)

    def _judged(self, means: Means, made: Candidate, sandbox: Sandbox) -> PortResult:
        """One kernel, checked by the problem whose arguments it takes. The check is an attempt of its own."""
        from amdkernel_mcp.engine.verbs.check import Check
        from amdkernel_mcp.port.answer import answer_about_judged

        asked = Check(
            problem=self.options.problem or "", source=made.text, file_name=f"{made.kernel}.hip", target=self.target
        )
        checked = asked.do(means)
        answer = answer_about_judged(made, checked, self.source, target=means.steps.target(self.target).name)
        return self._recorded(means, answer, sandbox, {f"{made.kernel}.hip": made.text})

    def _recorded(self, means: Means, answer: PortResult, sandbox: Sandbox, sources: Mapping[str, str]) -> PortResult:
        answer = answer.model_copy(update={"isolation": sandbox.isolation})
        recorded = means.recorder.record(self.tried(means, options=asdict(self.options)), answer)
        return recorded.model_copy(update={"sources": dict(sources)}) if self.options.with_sources else recorded

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """With the recorded options and files."""
        from amdkernel_mcp.history.attempts import read_options

        options = read_options(PortOptions, attempt.options)
        return cls(source=given.source, file_name=attempt.file_name, target=given.target, options=options)

    def options_of_tool(self) -> dict[str, Any]:
        """All but another time limit, which no tool takes."""
        if "/" in self.file_name:
            hint = "leave --url out, or name a file that includes only what is below its folder"
            raise InputError("a source in a folder of its own is ported on the machine that has it", hint=hint)
        if self.options.timeout_s != TIMEOUT_S:
            raise InputError("a team's server has a time limit of its own", hint="leave --timeout out, or --url")
        words = {"arguments": list(self.options.arguments), "defines": list(self.options.defines)}
        return {
            "keep_warps": self.options.keep_warps,
            "verify": self.options.verify,
            "candidate": self.options.candidate,
            "problem": self.options.problem,
            "headers": dict(self.options.others),
            **words,
        }

    @staticmethod
    def good(answer: PortResult) -> bool:
        """It compiles, and where it was verified it means the same or is correct."""
        return answer.verdict in ("compiles", "same", "correct")
