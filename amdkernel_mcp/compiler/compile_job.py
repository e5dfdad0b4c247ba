"""The compile as a job in the sandbox: what goes in, and what comes back as words, code object and disassembly."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.code_object import read_kernels
from amdkernel_mcp.compiler.flags import CompileFlags
from amdkernel_mcp.compiler.header_libraries import NO_HEADERS, HeaderLibraries
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox, SandboxKind

TIMEOUT_S = 60.0
OUTPUT_LIMIT_BYTES = 96 << 20
_SCRIPTS = ("compile-kernel", "find-tools")
_SIGNALS = {
    6: "aborted",
    11: "crashed (SIGSEGV)",
    24: "used up its processor time",
    25: "wrote too much (file size limit)",
}
_KILLED = re.compile(r"due to signal|\bKilled\b")
_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(?:(?:define|undef)[ \t]+(?P<macro>[A-Za-z_]\w*)|include[ \t]*[<\"](?P<header>[^>\"\n]+)[>\"])",
    re.M,
)
_RUNTIME_HEADERS = ("hip/hip_runtime.h", "hip/hip_runtime_api.h")


@dataclass(frozen=True)
class CompileOutcome:
    """How the stages in the sandbox went. `lasting`: the same input would give the same again."""

    ok: bool
    lasting: bool
    messages: str  # of clang and the linker
    failure: str | None  # one sentence, where the messages do not tell it
    code_object: bytes | None
    disassembly: str
    toolchain: str | None
    precompiled_header: str  # "default", "fast-math" or "none": which was used


@cache
def scripts() -> Mapping[str, bytes]:
    """The scripts that run inside, sent along with each job so that both sides are always of one version."""
    place = folder("sandbox") / "image" / "compile"
    return {name: (place / name).read_bytes() for name in _SCRIPTS}


def run_compile(
    sandbox: Sandbox,
    source: str,
    *,
    arch: str,
    flags: CompileFlags,
    file_name: str,
    timeout_s: float = TIMEOUT_S,
    libraries: HeaderLibraries = NO_HEADERS,
) -> CompileOutcome:
    """Compile once. Raises SandboxError or ToolchainError when that could not be tried at all."""
    preamble = read_preamble(source)
    macros = "".join(f"{name}\n" for name in (*flags.macros, *preamble.macros))
    include = "no" if preamble.includes_runtime else "yes"
    own = {**scripts(), file_name: source.encode("utf-8", "replace"), "macros": macros.encode()}
    files = {**libraries.files, **own}
    paths = [part for folder in libraries.folders for part in ("-isystem", folder)]
    command = ["sh", "compile-kernel", arch, file_name, flags.variant, flags.level, include, *flags.passed, *paths]
    return readable(run_stages(sandbox, "compile", command, files, timeout_s=timeout_s))


def run_stages(
    sandbox: Sandbox, kind: SandboxKind, command: Sequence[str], files: Mapping[str, bytes], *, timeout_s: float
) -> CompileOutcome:
    """Run a script that leaves `status`, `messages`, `toolchain`, `kernel.co` and `isa.txt`, as compile-kernel does.

    Raises SandboxError or ToolchainError when it could not begin.
    """
    completed = sandbox.run(kind, command, files, timeout_s=timeout_s, output_limit_bytes=OUTPUT_LIMIT_BYTES)
    status = _status(completed)
    messages = _text(completed, "messages")
    failure, lasting = _failure(completed, status, messages, timeout_s)
    code_object = completed.files.get("kernel.co")
    if failure is None and status.get("stage") == "done" and code_object is None:
        raise ToolchainError("the compiler reported success and left no code object")
    ok = failure is None and status["stage"] == "done"
    return CompileOutcome(
        ok=ok,
        lasting=lasting,
        messages=messages,
        failure=failure,
        code_object=code_object if ok else None,
        disassembly=_text(completed, "isa.txt") if ok else "",
        toolchain="".join(filter(str.isprintable, _text(completed, "toolchain")))[:200].strip() or None,
        precompiled_header=status.get("header", "none"),
    )


def readable(outcome: CompileOutcome) -> CompileOutcome:
    """The outcome of a compiler whose code object the candidate itself may have made: a damaged one is a failure."""
    if outcome.code_object is None:
        return outcome
    try:
        read_kernels(outcome.code_object)
    except ToolchainError as error:
        return replace(outcome, ok=False, failure=error.message, code_object=None, disassembly="")
    return outcome


def _failure(
    completed: Completed, status: Mapping[str, str], messages: str, timeout_s: float
) -> tuple[str | None, bool]:
    """A sentence for an end that clang's messages do not explain, and whether it would come again."""
    if completed.timed_out:
        return f"the compiler did not finish within {timeout_s:g} s", False
    code = int(status.get("code", "0"))
    if completed.out_of_memory or code == 137 or (code != 0 and _KILLED.search(messages)):
        return "the compiler ran out of memory and was killed", False
    if completed.truncated:
        return f"the compiler's output is larger than {OUTPUT_LIMIT_BYTES >> 20} MiB", False
    if not status:
        hint = "run `amdkernel doctor` to check the toolchain"
        said = completed.stderr.strip()[-500:] or "no message"
        if completed.exit_code == 2:
            raise ToolchainError(f"no HIP compiler in the sandbox: {said}", hint=hint)
        raise SandboxError(f"the compile ended with {completed.exit_code} before it began: {said}", hint=hint)
    if status["stage"] == "disassemble":
        raise ToolchainError(f"llvm-objdump refused the code object: {messages.strip()[-500:]}")
    if code > 128:
        return f"the compiler {_SIGNALS.get(code - 128, f'was ended by signal {code - 128}')}", code - 128 in (6, 11)
    return None, True


def _status(completed: Completed) -> dict[str, str]:
    """The script's last words; empty when it did not get so far."""
    pairs = re.findall(r"^(stage|code|header)=([a-z0-9-]{1,20})$", _text(completed, "status"), re.M)
    status = dict(pairs)
    return status if {"stage", "code"} <= status.keys() and status["code"].isdigit() else {}


def _text(completed: Completed, name: str) -> str:
    return completed.files.get(name, b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class Preamble:
    """`macros`: names set or unset before the last HIP header is included, so that the header may depend on them."""

    includes_runtime: bool
    macros: tuple[str, ...]


def read_preamble(source: str) -> Preamble:
    """What a source sets before it reads HIP's headers: whether it includes them, and which macros it defines.

    Read from all directives, also in comments and branches not taken: one name too many costs only time.
    """
    macros: list[str] = []
    before_header: list[str] = []
    includes_runtime = False
    for directive in _DIRECTIVE.finditer(source):
        if name := directive["macro"]:
            macros.append(name)
        elif directive["header"].startswith("hip/"):
            includes_runtime = includes_runtime or directive["header"] in _RUNTIME_HEADERS
            before_header = list(macros)
    return Preamble(includes_runtime, tuple(dict.fromkeys(before_header)))
