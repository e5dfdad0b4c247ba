"""compile: diagnostics, registers, LDS, occupancy and the disassembly of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import LAST, STRINGS, Cut, Keep, KeepFirst
from amdkernel_mcp.engine.verbs.verb import Means, Repeated, Text, Verb
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.kernel_source import is_compiled_by_hip, names_no_file, other_compiler
from amdkernel_mcp.results.compile_comparison import CompileComparison
from amdkernel_mcp.results.kernels import CompileResult

if TYPE_CHECKING:
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True)
class CompileOptions:
    """What the record of a compile keeps of the caller's choice."""

    arch: str | None = None
    flags: tuple[str, ...] = ()
    old_arch: str | None = None
    old_flags: tuple[str, ...] | None = None
    old_compiler: str | None = None


@dataclass(frozen=True, kw_only=True)
class Compile(Verb[CompileResult]):
    """Compile for `arch` (default: the target's), with `flags` after those of the file's `build` line.

    `isa`: with the disassembly of the kernels and the file's other functions; `kernel`: with that of this one.
    `compare_to`: another kernel's text, `attempt:ID`, an answer of `compile --json`, or `hip:6.4`: this kernel by the
    compiler of that HIP release; `comparison` says what changed.
    `old_arch`, `old_flags`: those of that kernel, by default the same as here. The compile of an attempt is taken as it
    was recorded, unless one of them is given.
    A compile error is a result whose `ok` is false. Raises FlagError, InputError for a kernel that is not there,
    UnknownTargetError, InfrastructureError.
    """

    name: ClassVar = "compile"
    tool: ClassVar = "compile_kernel"
    key: ClassVar = "compile"
    answer: ClassVar = CompileResult
    scope: ClassVar = "compile"
    on_target: ClassVar = False
    shortened: ClassVar = (
        Cut("isa", 4000),
        Keep("diagnostics", 20),
        Cut("diagnostics", 400),
        Keep("kernels", 8),
        Keep("comparison.kernels", 6),
        KeepFirst("comparison.kernels.figures", 10),
        Cut("isa", 1500),
        Keep("diagnostics", 6),
        *STRINGS,
        Keep("kernels", 3),
        Keep("comparison.kernels", 2),
        Keep("comparison.gone", 4),
        Keep("comparison.new", 4),
        KeepFirst("comparison.kernels.figures", 6),
        LAST,
    )

    arch: Text | None = None
    flags: tuple[Text, ...] = ()
    isa: bool = False
    kernel: Text | None = None
    compare_to: Text | None = None
    compare_file: Text = "baseline.hip"
    old_arch: Text | None = None
    old_flags: tuple[Text, ...] | None = None

    def do(self, means: Means) -> CompileResult:
        """The result, with the disassembly where it was asked for."""
        from amdkernel_mcp.engine.kernel_steps import ran_of
        from amdkernel_mcp.launch.kernel_symbols import symbols_called

        where = means.steps.target(self.target)
        means.recorder.warm_up()
        arch = self.arch or where.arch
        other, other_text = self._other(means, arch)
        compiled, flags = self._compiled(means, self.source, self.file_name, arch, self.flags)
        sandbox = means.sandboxes.of(where)
        given: dict[str, Any] = {"arch": self.arch, "flags": list(self.flags)}
        given |= {"old_arch": self.old_arch} if self.old_arch else {}
        given |= {"old_flags": list(self.old_flags)} if self.old_flags is not None else {}
        given |= {"old_compiler": hip} if (hip := other_compiler(self.compare_to)) else {}
        tried = self.tried(means, options=given, baseline=other_text, ran=lambda: [ran_of(compiled, flags, sandbox)])
        answer = compiled.result.model_copy(update={"target": where.name})
        if other:
            answer = answer.model_copy(update={"comparison": other(answer)})
        result = means.recorder.record(tried, answer)
        if not result.ok or not (self.isa or self.kernel):
            return result
        names = [found.name for found in result.kernels]
        shown = symbols_called(self.kernel, names) if self.kernel else []
        return result.model_copy(update={"isa": compiled.isa(shown)})

    def _compiled(
        self, means: Means, source: str, file_name: str, arch: str, flags: Sequence[str], hip: str | None = None
    ) -> tuple[Compiled, tuple[str, ...]]:
        """With the flags that it was compiled with: of its `build` line, then `flags`. `hip`: by that compiler."""
        from amdkernel_mcp.languages.table import language_of

        means.work.say(f"compiling for {arch}" + (f" with the compiler of HIP {hip}" if hip else ""))
        language = language_of(source, file_name)
        plan = language.read_plan(source)
        whole = (*plan.flags(), *flags)
        compiler = means.steps.compiler(means.steps.target(self.target), hip=hip)
        toolchain = language.toolchain(plan, None)
        return compiler.compile(source, arch=arch, flags=whole, file_name=file_name, toolchain=toolchain), whole

    def _other(self, means: Means, arch: str) -> tuple[Callable[[CompileResult], CompileComparison] | None, str | None]:
        """What compares with the other kernel, and its text; None where there is none."""
        from amdkernel_mcp.compiler.comparison import compare_compiles, is_recorded_compile, read_recorded_compile
        from amdkernel_mcp.kernel_source import is_attempt

        if self.compare_to is None:
            return None, None
        if hip := other_compiler(self.compare_to):
            return self._by_another(means, arch, hip), None
        by = means.work.owner
        text, file = means.attempts.named_source(self.compare_to, self.compare_file, by=by)
        assert text is not None
        name, flags = file, None
        again = self.old_arch is not None or self.old_flags is not None
        kept = means.attempts.recorded_compile(self.compare_to, by=by) if is_attempt(self.compare_to) else None
        if kept and not again:
            before, flags, name = kept.result, kept.flags, self.compare_to.strip()
        elif is_recorded_compile(text):
            if again:
                raise InputError("a recorded answer is compared as it is", hint="leave old_arch and old_flags out")
            before = read_recorded_compile(text, file)
        else:
            asked = self.flags if self.old_flags is None else self.old_flags
            compiled, flags = self._compiled(means, text, file, self.old_arch or arch, asked)
            before = compiled.result
        return partial(compare_compiles, before, name=name, flags=flags), text

    def _by_another(self, means: Means, arch: str, hip: str) -> Callable[[CompileResult], CompileComparison]:
        """What compares with this kernel as the compiler of the HIP release `hip` makes it."""
        from amdkernel_mcp.compiler.comparison import compare_compiles
        from amdkernel_mcp.execution.docker.image import compilers

        if hip not in compilers():
            raise InputError(f"no HIP release is called {hip!r}", hint=f"known are {', '.join(compilers())}")
        if not is_compiled_by_hip(self.source):
            raise InputError("only HIP and assembly are compiled by HIP: Triton and FlyDSL bring their own compiler")
        flags = self.flags if self.old_flags is None else self.old_flags
        before, whole = self._compiled(means, self.source, self.file_name, self.old_arch or arch, flags, hip)
        return partial(compare_compiles, before.result, name=f"hip:{hip}", flags=whole)

    @classmethod
    def again(cls, attempt: Attempt, given: Repeated) -> Self:
        """With the recorded architecture and flags."""
        from amdkernel_mcp.history.attempts import read_options

        chosen = read_options(CompileOptions, attempt.options)
        return cls(
            source=given.source,
            file_name=attempt.file_name,
            target=given.target,
            arch=chosen.arch,
            flags=chosen.flags,
            compare_to=f"hip:{chosen.old_compiler}" if chosen.old_compiler else given.baseline,
            old_arch=chosen.old_arch,
            old_flags=chosen.old_flags,
        )

    def options_of_tool(self) -> dict[str, Any]:
        """All but the old architecture and flags: with a tool the older kernel is compiled first, as an attempt."""
        if self.old_arch is not None or self.old_flags is not None:
            hint = "compile the older kernel there first, then --compare attempt:ID"
            raise InputError("a server compares with an attempt as it was compiled", hint=hint)
        other = self.compare_to
        if other and not names_no_file(other):
            other = other.rstrip("\n") + "\n"  # one line would be a path there
        return {
            "arch": self.arch,
            "flags": list(self.flags),
            "isa": self.isa,
            "kernel": self.kernel,
            "compare_to": other,
        }

    def files(self) -> Mapping[str, str]:
        """The kernel and the one that it is compared with."""
        return {"file_name": self.file_name, "baseline_file": self.compare_file}

    def received(self, answer: CompileResult) -> CompileResult:
        """With the caller's name of the other kernel."""
        found = answer.comparison
        if found is None or names_no_file(found.compared_with):
            return answer
        return answer.model_copy(update={"comparison": found.model_copy(update={"compared_with": self.compare_file})})

    @staticmethod
    def good(answer: CompileResult) -> bool:
        """It compiles, and nothing became worse."""
        return answer.ok and (answer.comparison is None or answer.comparison.verdict in ("better", "same"))
