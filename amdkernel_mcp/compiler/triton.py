"""The toolchain of Triton and Gluon: Python that is imported and compiled in the sandbox, ahead of time, without a GPU.

Everything that comes back is untrusted, since the candidate's own Python runs next to the compiler.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.compile_job import CompileOutcome, readable, run_stages, scripts
from amdkernel_mcp.compiler.diagnostics import parse_diagnostics
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.compiler.toolchain import CodeLines
from amdkernel_mcp.errors import FlagError, ToolchainError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Diagnostic

FOLDER = "/opt/amdkernel/triton"
"""Where the image has Triton."""
OPTIONS = (
    *("num_warps", "num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "enable_fp_fusion"),
    *("allow_flush_denorm", "schedule_hint"),
)
"""Constants that Triton's AMD back end takes as options. Source: `HIPOptions` of Triton 3.9."""
_FILE = "kernel.py"
_SCRIPTS = ("compile-triton", "compile_triton.py", "candidate_module.py")
_PLACE = re.compile(r"^(?:\S*/)?kernel\.py:", re.MULTILINE)
_DEFINE = re.compile(r"-D([A-Za-z_]\w*)(?:=(.{0,100}))?", re.ASCII)
_NOT_INSTALLED = "no_triton"


@dataclass(frozen=True)
class KernelTypes:
    """What one kernel is compiled for. `types`: of its arguments, as Triton writes them; `1`: the literal 1.

    variants: the positions of integers that are multiples of 16, one tuple for each code.
    constants: sets of constants that the cases compute, one code for each as well.
    """

    types: tuple[str, ...]
    variants: tuple[tuple[int, ...], ...]
    constants: tuple[tuple[tuple[str, int], ...], ...] = ((),)


@dataclass(frozen=True)
class TritonCompiler:
    """Implements `Toolchain`. `used`: constants that the launch plan uses; `untyped`: a kernel without types."""

    kernels: Mapping[str, KernelTypes]
    used: tuple[str, ...] = ()
    untyped: str | None = None
    file_name: str = _FILE

    def takes(self, file_name: str) -> bool:
        """Never: the script and the debug data know one name."""
        del file_name
        return False

    def check(self, flags: Sequence[str]) -> None:
        """Only constants: see `Toolchain`."""
        for flag in flags:
            if not _DEFINE.fullmatch(flag):
                hint = "Triton takes constants alone: -DNAME=VALUE, or `# amdkernel: constexpr NAME=VALUE`"
                raise FlagError(f"the compiler flag {flag[:200]!r} is not allowed for Triton", hint=hint)

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        """Types, and the release and scripts that compile."""
        del sandbox
        return ("triton", _release(), {name: asdict(how) for name, how in sorted(self.kernels.items())}, self.untyped)

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        """See `Toolchain`."""
        if self.untyped:
            return _untyped(self.untyped)
        values = {found[1]: found[2] or "1" for flag in flags if (found := _DEFINE.fullmatch(flag))}
        job = {
            "kernels": {name: asdict(how) for name, how in self.kernels.items()},
            "values": values,
            "used": self.used,
            "options": OPTIONS,
        }
        files = {
            **_own_scripts(),
            "find-tools": scripts()["find-tools"],
            "job.json": json.dumps(job).encode(),
            file_name: source.encode("utf-8", "replace"),
        }
        outcome = run_stages(sandbox, "triton", ["sh", "compile-triton", arch, FOLDER], files, timeout_s=timeout_s)
        if outcome.toolchain == _NOT_INSTALLED:
            raise ToolchainError(
                "the kernel is in Triton, which this Python lacks", hint="`pip install triton` into it installs it"
            )
        return readable(outcome)

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        """See `Toolchain`."""
        return parse_diagnostics(_PLACE.sub(f"{file_name}:", messages), file_name)

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        """Lines of the candidate's own functions; Triton's library has none."""
        del disassembly
        return LineTable(code_object, lambda path, _: "" if posixpath.basename(path) == _FILE else None)

    def text(self, source: str, lines: CodeLines) -> str:
        """The candidate's."""
        del lines
        return source


def _untyped(kernel: str) -> CompileOutcome:
    failure = f"without a problem the types of {kernel}'s arguments are unknown: add types=[*f32, i32] to its launch"
    return CompileOutcome(False, True, "", failure, None, "", None, "none")


@cache
def _own_scripts() -> Mapping[str, bytes]:
    place = folder("sandbox") / "languages"
    return {name: (place / name).read_bytes() for name in _SCRIPTS}


@cache
def _release() -> str:
    pinned = (folder("sandbox") / "image" / "triton.txt").read_bytes()
    return hashlib.sha256(b"\0".join([pinned, *_own_scripts().values()])).hexdigest()
