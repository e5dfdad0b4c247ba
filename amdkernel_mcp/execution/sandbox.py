"""What a sandbox is: it gets a few files, runs one command on them, and returns a few files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Required, TypedDict

from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.results.job_answer import Isolation

# The output folder of a job: more files, or deeper ones, are left out.
MAX_MEMBERS = 16384
MAX_DEPTH = 16

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/opt/rocm/bin:/opt/rocm/llvm/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONPATH": "/opt/amdkernel/python",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "2",  # else one for each CPU of the host, which passes the limit of processes
    "HSA_XNACK": "0",  # a retried fault would let a kernel touch any host page
}
"""The environment of every job; `OUT` is added to it."""

SandboxKind = Literal["compile", "torch", "triton", "run", "look"]
"""`compile` has no GPU and holds nothing secret; `torch` is the same with PyTorch, without a compiler, `triton`
that with Triton; `run` is where kernels are launched (a GPU's render node, or none); `look` is a `compile` that may
read what the driver lists of GPUs in sysfs, and cannot open one."""


@dataclass(frozen=True)
class Completed:
    """How a command ended, and the regular files that it left in its output folder."""

    exit_code: int
    files: Mapping[str, bytes]
    stderr: str  # of the command, bounded: head and tail
    timed_out: bool
    out_of_memory: bool
    truncated: bool  # outputs or stderr passed their byte limit; what is missing was thrown away
    seconds: float
    stderr_cut: bool = False  # stderr passed its limit


class RunOptions(TypedDict, total=False):
    """The named arguments of `Sandbox.run`, for those who hand them on."""

    timeout_s: Required[float]
    output_limit_bytes: int
    on_stderr: Callable[[str], None] | None
    stdin_stream: StdinStream | None


class Sandbox(Protocol):
    """One way to run untrusted work. Thread-safe."""

    isolation: Isolation
    image_id: str

    def run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        timeout_s: float,
        output_limit_bytes: int = 256 << 20,
        on_stderr: Callable[[str], None] | None = None,
        stdin_stream: StdinStream | None = None,
    ) -> Completed:
        """Unpack `files` (relative path to content) into a fresh working folder, run `command`, return what it left.

        The command finds its output folder in the environment variable `OUT`; only regular files in it come back.
        `on_stderr` gets each whole line of stderr as it comes. The command's stdin is the lines of `stdin_stream`, or
        empty. A command that fails, is killed for memory or passes `timeout_s` is a value; SandboxError is raised only
        when the sandbox itself fails.
        """
        ...

    def is_connected(self) -> bool:
        """Whether the way to it is open; false where the tunnel to another machine has ended."""
        ...

    def close(self) -> None:
        """Remove every container that this object started."""
        ...
