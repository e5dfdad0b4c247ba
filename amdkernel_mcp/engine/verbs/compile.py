"""compile: diagnostics, registers, LDS, occupancy and the disassembly of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from amdkernel_mcp.engine.verbs.shorten import STRINGS, Cut, Keep
from amdkernel_mcp.engine.verbs.verb import Means, Repeated, Text, Verb
from amdkernel_mcp.results.kernels import CompileResult

if TYPE_CHECKING:
    from amdkernel_mcp.history.attempt import Attempt


@dataclass(frozen=True)
class CompileOptions:
    """What the record of a compile keeps of the caller's choice."""

    arch: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Compile(Verb[CompileResult]):
    """Compile for `arch` (default: the target's), with `flags` after those of the file's `build` line.

    `isa`: with the disassembly of the kernels and the file's other functions; `kernel`: with that of this one.
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
        Cut("isa", 1500),
        Keep("diagnostics", 6),
        *STRINGS,
        Keep("kernels", 3),
    )

    arch: Text | None = None
    flags: tuple[Text, ...] = ()
    isa: bool = False
    kernel: Text | None = None

    def do(self, means: Means) -> CompileResult:
        """The result, with the disassembly where it was asked for."""
        from amdkernel_mcp.engine.kernel_steps import ran_of
        from amdkernel_mcp.languages.table import language_of
        from amdkernel_mcp.launch.kernel_symbols import symbols_called

        where = means.steps.target(self.target)
        means.recorder.warm_up()
        arch = self.arch or where.arch
        means.on_progress(f"compiling for {arch}")
        language = language_of(self.source, self.file_name)
        plan = language.read_plan(self.source)
        flags, toolchain = (*plan.flags(), *self.flags), language.toolchain(plan, None)
        compiled = means.steps.compiler(where).compile(
            self.source, arch=arch, flags=flags, file_name=self.file_name, toolchain=toolchain
        )
        sandbox = means.sandboxes.of(where)
        given = {"arch": self.arch, "flags": list(self.flags)}
        tried = self.tried(means, options=given, ran=lambda: [ran_of(compiled, flags, sandbox)])
        result = means.recorder.record(tried, compiled.result.model_copy(update={"target": where.name}))
        if not result.ok or not (self.isa or self.kernel):
            return result
        names = [found.name for found in result.kernels]
        shown = symbols_called(self.kernel, names) if self.kernel else []
        return result.model_copy(update={"isa": compiled.isa(shown)})

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
        )

    def options_of_tool(self) -> dict[str, Any]:
        """All of them."""
        return {"arch": self.arch, "flags": list(self.flags), "isa": self.isa, "kernel": self.kernel}

    @staticmethod
    def good(answer: CompileResult) -> bool:
        """It compiles."""
        return answer.ok
