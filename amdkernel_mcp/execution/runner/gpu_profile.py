"""Runs rocprofv3 around our runner in a sandbox with a GPU, and returns the files that it recorded.

Never run on a GPU so far; the parts that need none are tested.
"""

import shlex
from collections.abc import Sequence

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.job import job_files
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import RunnerJob

_OUT = "@OUT@"
_RECORDED = "profile"
FOLDER = f"{_OUT}/{_RECORDED}"
"""Where the commands are to write: below the output folder, whose place only the sandbox knows."""
PASS_TIMEOUT_S = 120.0  # rocprofv3 is known to hang instead of ending with an error


def record_profile(
    sandbox: Sandbox, target: Target, job: RunnerJob, commands: Sequence[Sequence[str]]
) -> dict[str, bytes]:
    """What the `commands` wrote below FOLDER, each around one run of `job`.

    Raises SandboxError, TargetError when nothing was recorded.
    """
    timeout_s = PASS_TIMEOUT_S * len(commands)
    completed = sandbox.run("run", ["sh", "-c", script(commands)], job_files(job), timeout_s=timeout_s)
    recorded = {name: data for name, data in completed.files.items() if name.startswith(f"{_RECORDED}/")}
    if not recorded:
        raise TargetError(
            f"rocprofv3 wrote nothing on {target.name}: {completed.stderr[-1000:].strip()}",
            hint="check that the image has rocprofv3 and that the container may count (CAP_PERFMON)",
        )
    return recorded


def script(commands: Sequence[Sequence[str]]) -> str:
    """The commands one after the other; one that fails or hangs does not keep the others from running."""
    lines = []
    for command in commands:
        limited = ["timeout", "-k", "5", str(int(PASS_TIMEOUT_S)), *command]
        lines.append(" ".join(_quoted(word) for word in limited))
    return " ; ".join(lines)


def _quoted(word: str) -> str:
    """The word for a shell, with the output folder in place of its mark."""
    return '"$OUT"'.join(shlex.quote(part) if part else "" for part in word.split(_OUT)) or "''"
