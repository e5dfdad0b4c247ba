"""Source to code object, resources and diagnostics: through the cache, or through the sandbox.

What differs from language to language is a `Toolchain`; HIP's is the default.
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from amdkernel_mcp import __version__
from amdkernel_mcp.compiler.cache import CompileCache, Entry, key_of
from amdkernel_mcp.compiler.code_object import Function, Kernel, read_kernel_code, read_kernels
from amdkernel_mcp.compiler.compile_job import TIMEOUT_S, CompileOutcome, scripts
from amdkernel_mcp.compiler.disassembly import Instruction, parse_disassembly
from amdkernel_mcp.compiler.header_libraries import FOLDER, named_libraries, read_libraries
from amdkernel_mcp.compiler.hip import HIP, Hip
from amdkernel_mcp.compiler.instruction_mix import instruction_mix
from amdkernel_mcp.compiler.isa import annotated_isa, code_of
from amdkernel_mcp.compiler.toolchain import CodeLines, Toolchain
from amdkernel_mcp.errors import FlagError, InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.extensions import origin
from amdkernel_mcp.hardware.occupancy import SIMDS, occupancy
from amdkernel_mcp.results.kernels import CompileResult, Diagnostic, KernelResources

ARCHES = tuple(SIMDS)
MAX_SOURCE_BYTES = 4 << 20
LIBRARY_TIMEOUT_S = 300.0
"""With header libraries: a GEMM of CK-Tile is more than a minute of templates on a slow machine."""
_FORMAT = 2  # of what an entry's result holds: raise it when the same compile would say something else
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_OUR_NAMES = ("macros", "messages", "kernel.o", "kernel.co", "compile-kernel", "find-tools", FOLDER)


@dataclass(frozen=True)
class Compiled:
    """The answer, and what other workers need: nothing of it when the compile failed."""

    result: CompileResult
    code_object: bytes | None
    lines: CodeLines | None
    disassembly: str
    source: str
    text: str
    """What `lines` are lines of: the source, or a listing of the instructions."""

    def isa(self, kernels: Sequence[str] = ()) -> str:
        """The code with its source lines: of all kernels, then of the file's other functions; or of `kernels` alone."""
        if self.code_object is None or self.lines is None:
            return ""
        order = [*kernels] or [kernel.name for kernel in self.result.kernels]
        functions = read_kernel_code(self.code_object)
        chosen = [functions.pop(name) for name in order if name in functions]
        if not kernels:
            chosen += functions.values()
        return annotated_isa(list(parse_disassembly(self.disassembly)), chosen, self.lines, self.text)


class Compiler:
    """Compiles in a sandbox, remembers results in a folder. Thread-safe."""

    def __init__(
        self,
        sandbox: Sandbox,
        cache_dir: Path,
        *,
        timeout_s: float = TIMEOUT_S,
        headers: Mapping[str, Path] | None = None,
    ) -> None:
        """`headers`: folders of header libraries by name."""
        self._headers = headers or {}
        self._sandbox = sandbox
        self._cache = CompileCache(cache_dir / "compile")
        self._timeout_s = timeout_s

    def compile(
        self,
        source: str,
        *,
        arch: str,
        flags: Sequence[str] = (),
        file_name: str = "kernel.hip",
        toolchain: Toolchain = HIP,
    ) -> Compiled:
        """Device code for `arch`; a failed compile is a result whose `ok` is false and whose diagnostics say why.

        `seconds` is the wall time of the compile, also where its result comes from the cache. Raises FlagError for a
        flag outside the list, InputError for an unknown arch, SandboxError or ToolchainError without a compiler.
        """
        libraries, flags = named_libraries(flags)
        if libraries:
            if not isinstance(toolchain, Hip):
                raise FlagError("--headers is for HIP kernels alone")
            toolchain = replace(toolchain, libraries=read_libraries(self._headers, libraries))
        toolchain.check(flags)
        _check_input(source, arch)
        name = _plain_name(file_name, toolchain)
        key = key_of(
            {
                "source": source,
                "flags": flags,
                "arch": arch,
                "file": name,
                "image": self._sandbox.image_id,
                "tool": [
                    __version__,
                    _FORMAT,
                    _scripts_sha256(),
                    *origin(toolchain),
                    *toolchain.decides(self._sandbox),
                ],
            }
        )
        entry = self._cache.get(key)
        cached, not_kept = entry is not None, None
        if entry is None:
            started = time.monotonic()
            limit_s = LIBRARY_TIMEOUT_S if libraries else self._timeout_s
            outcome = toolchain.run(self._sandbox, source, arch=arch, flags=flags, file_name=name, timeout_s=limit_s)
            diagnostics = toolchain.diagnostics(outcome.messages, name)
            result = _result(outcome, arch, diagnostics).model_copy(
                update={"seconds": round(time.monotonic() - started, 4)}
            )
            entry = Entry(result.model_dump_json().encode(), outcome.code_object, outcome.disassembly)
            if outcome.lasting:
                not_kept = self._cache.put(key, entry)
        update = {
            "cached": cached,
            "isolation": self._sandbox.isolation,
            "headers": dict(toolchain.libraries.digests) if isinstance(toolchain, Hip) else {},
            "not_cached": [f"the compile was not cached: {not_kept}"] if not_kept else [],
        }
        result = CompileResult.model_validate_json(entry.result).model_copy(update=update)
        lines = None if entry.code_object is None else toolchain.lines(entry.code_object, entry.disassembly)
        text = source if lines is None else toolchain.text(source, lines)
        return Compiled(result, entry.code_object, lines, entry.disassembly, source, text)


def _check_input(source: str, arch: str) -> None:
    if arch not in SIMDS:
        raise InputError(f"no arch is called {arch!r}", hint=f"known are {', '.join(ARCHES)}")
    if len(source) > MAX_SOURCE_BYTES:
        raise InputError(f"the source has {len(source)} characters, more than {MAX_SOURCE_BYTES}")


def _plain_name(file_name: str, toolchain: Toolchain) -> str:
    """The name that the compiler sees: the caller's, unless it could be taken for a path, a flag or a file of ours."""
    name = Path(file_name).name
    fits = _PLAIN_NAME.fullmatch(name) and name not in _OUR_NAMES and toolchain.takes(name)
    return name if fits else toolchain.file_name


@cache
def _scripts_sha256() -> str:
    return hashlib.sha256(b"\0".join(scripts()[name] for name in sorted(scripts()))).hexdigest()


def _result(outcome: CompileOutcome, arch: str, diagnostics: list[Diagnostic]) -> CompileResult:
    if outcome.failure:
        diagnostics.insert(0, Diagnostic(severity="error", message=outcome.failure))
    if not outcome.ok and not any(d.severity == "error" for d in diagnostics):
        said = outcome.messages.partition("failed to execute:")[0].strip()[-300:] or "it gave no reason"
        diagnostics.insert(0, Diagnostic(severity="error", message=f"the compiler failed: {said}"))
    kernels: list[KernelResources] = []
    if outcome.code_object is not None:
        kernels = resources_of(outcome.code_object, outcome.disassembly, arch)
        if not kernels:
            text = "the file defines no kernel: no __global__ function (a template counts where it is instantiated)"
            diagnostics.append(Diagnostic(severity="warning", message=text))
    return CompileResult(
        ok=outcome.ok,
        arch=arch,
        code_object=f"sha256:{hashlib.sha256(outcome.code_object).hexdigest()}" if outcome.code_object else None,
        diagnostics=diagnostics,
        kernels=kernels,
        toolchain=outcome.toolchain,
    )


def resources_of(code_object: bytes, disassembly: str, arch: str) -> list[KernelResources]:
    """What the kernels of a code object take, in the order of its metadata. Raises ToolchainError."""
    kernels = read_kernels(code_object)
    functions = read_kernel_code(code_object)
    instructions = list(parse_disassembly(disassembly))
    return [_kernel_resources(kernel, functions.get(kernel.name), instructions, arch) for kernel in kernels]


def _kernel_resources(
    kernel: Kernel, function: Function | None, instructions: Sequence[Instruction], arch: str
) -> KernelResources:
    fits = occupancy(
        arch,
        vgprs=kernel.vgprs,
        sgprs=kernel.sgprs,
        lds_bytes=kernel.lds_bytes,
        workgroup_size=kernel.max_workgroup_size,
        wave_size=kernel.wave_size,
        cu_mode=kernel.cu_mode,
    )
    return KernelResources(
        name=kernel.name,
        vgpr=kernel.vgprs,
        agpr=kernel.agprs,
        sgpr=kernel.sgprs,
        lds_bytes=kernel.lds_bytes,
        scratch_bytes=kernel.scratch_bytes,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        wavefront_size=kernel.wave_size,
        occupancy_waves_per_simd=fits.waves_per_simd,
        occupancy_limit=fits.limit,
        instructions=instruction_mix(code_of(function, instructions) if function else []),
    )
