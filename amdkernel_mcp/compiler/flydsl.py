"""The toolchain of FlyDSL: Python whose host function is traced and compiled in the sandbox, without a GPU.

Everything that comes back is untrusted, since the candidate's own Python runs next to the compiler.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.compiler.compile_job import CompileOutcome, readable, run_stages, scripts
from amdkernel_mcp.compiler.diagnostics import parse_diagnostics
from amdkernel_mcp.compiler.line_table import LineTable
from amdkernel_mcp.compiler.toolchain import CodeLines
from amdkernel_mcp.errors import FlagError, ToolchainError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.kernels import Diagnostic

FOLDER = "/opt/amdkernel/flydsl"
"""Where the image with Triton has FlyDSL."""
_FILE = "kernel.py"
_SCRIPTS = ("compile-flydsl", "compile_flydsl.py", "candidate_module.py")
_PLACE = re.compile(r"^(?:\S*/)?kernel\.py:", re.MULTILINE)
_DEFINE = re.compile(r"-D([A-Za-z_]\w*)(?:=(.{0,100}))?", re.ASCII)
_NOT_INSTALLED = "no_flydsl"


@dataclass(frozen=True)
class HostArgument:
    """An argument of the host function. `dtype`: of an array's elements; None: a scalar, a float if `is_float`."""

    dtype: str | None = None
    rank: int = 1
    is_float: bool = False

    def described(self) -> Mapping[str, object]:
        """As the script in the sandbox has it."""
        if self.dtype is None:
            return {"value": 1.0 if self.is_float else 1}
        return {"dtype": self.dtype, "rank": self.rank}


@dataclass(frozen=True)
class FlyDslCompiler:
    """Implements `Toolchain`. `arguments`: None where nothing says them; `used`: constants of the launch plan."""

    function: str
    arguments: tuple[HostArgument, ...] | None
    used: tuple[str, ...] = ()
    file_name: str = _FILE

    def takes(self, file_name: str) -> bool:
        """Never: the script and the debug data know one name."""
        del file_name
        return False

    def check(self, flags: Sequence[str]) -> None:
        """Only constants: see `Toolchain`."""
        for flag in flags:
            if not _DEFINE.fullmatch(flag):
                hint = "FlyDSL takes constants alone: -DNAME=VALUE, or `# amdkernel: constexpr NAME=VALUE`"
                raise FlagError(f"the compiler flag {flag[:200]!r} is not allowed for FlyDSL", hint=hint)

    def decides(self, sandbox: Sandbox) -> Sequence[object]:
        """Arguments, and the release and scripts that compile."""
        del sandbox
        return ("flydsl", _release(), self.function, self._described())

    def _described(self) -> list[Mapping[str, object]] | None:
        return None if self.arguments is None else [each.described() for each in self.arguments]

    def run(
        self, sandbox: Sandbox, source: str, *, arch: str, flags: Sequence[str], file_name: str, timeout_s: float
    ) -> CompileOutcome:
        """See `Toolchain`."""
        if self.arguments is None:
            failure = f"without a problem the types of {self.function}'s arguments are unknown: add types=[*f32, i32]"
            return CompileOutcome(False, True, "", f"{failure} to its launch", None, "", None, "none")
        values = {found[1]: found[2] or "1" for flag in flags if (found := _DEFINE.fullmatch(flag))}
        job = {"function": self.function, "arguments": self._described(), "values": values, "used": self.used}
        files = {
            **_own_scripts(),
            "find-tools": scripts()["find-tools"],
            "job.json": json.dumps(job).encode(),
            file_name: source.encode("utf-8", "replace"),
        }
        outcome = run_stages(sandbox, "triton", ["sh", "compile-flydsl", arch, FOLDER], files, timeout_s=timeout_s)
        if outcome.toolchain == _NOT_INSTALLED:
            hint = "`amdkernel setup --triton` installs it; without containers, `pip install flydsl` into this Python"
            raise ToolchainError("the kernel is in FlyDSL, which the sandbox lacks", hint=hint)
        return readable(outcome)

    def diagnostics(self, messages: str, file_name: str) -> list[Diagnostic]:
        """See `Toolchain`."""
        return parse_diagnostics(_PLACE.sub(f"{file_name}:", messages), file_name)

    def lines(self, code_object: bytes, disassembly: str) -> CodeLines:
        """Lines of the candidate's own functions; FlyDSL's library has none."""
        del disassembly
        return LineTable(code_object, lambda path, _: "" if posixpath.basename(path) == _FILE else None)

    def text(self, source: str, lines: CodeLines) -> str:
        """The candidate's."""
        del lines
        return source


@cache
def _own_scripts() -> Mapping[str, bytes]:
    place = folder("sandbox") / "languages"
    return {name: (place / name).read_bytes() for name in _SCRIPTS}


@cache
def _release() -> str:
    pinned = (folder("sandbox") / "image" / "flydsl.txt").read_bytes()
    return hashlib.sha256(b"\0".join([pinned, *_own_scripts().values()])).hexdigest()
