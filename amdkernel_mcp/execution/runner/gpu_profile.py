"""The profile of a kernel on a GPU: rocprofv3 around our runner in the sandbox, and the import of what it wrote.

Unproven on hardware: written without a GPU at hand. The pure parts (command lines, import) are tested.
"""

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.job import job_files, runner_command
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.rocprofv3 import commands
from amdkernel_mcp.results.kernels import ProfileResult
from amdkernel_mcp.runner_protocol.job import RunnerJob

FOLDER = "profile"
_OUT = "@OUT@"
PASS_TIMEOUT_S = 120.0  # rocprofv3 is known to hang instead of ending with an error


def profile_on_gpu(
    sandbox: Sandbox, target: Target, job: RunnerJob, *, kernels: Sequence[str], on_progress: Callable[[str], None]
) -> ProfileResult:
    """Counters and times of `kernels`, one run of the job per pass.

    Raises SandboxError, TargetError when nothing was recorded, ProfileFileError when it cannot be read.
    """
    runs = profile_commands(target, job, kernels=kernels)
    on_progress(f"profiling in {len(runs)} passes on {target.name}")
    completed = sandbox.run("run", ["sh", "-c", script(runs)], job_files(job), timeout_s=PASS_TIMEOUT_S * len(runs))
    recorded = {name: data for name, data in completed.files.items() if name.startswith(f"{FOLDER}/")}
    if not recorded:
        raise TargetError(
            f"rocprofv3 wrote nothing on {target.name}: {completed.stderr[-1000:].strip()}",
            hint="does the image have rocprofv3, and may the container count (CAP_PERFMON)?",
        )
    answer = import_files(recorded, gpu=target.gpu)
    return answer.model_copy(update={"target": target.name})


def profile_commands(target: Target, job: RunnerJob, *, kernels: Sequence[str]) -> list[list[str]]:
    """All rocprofv3 runs; the folder of each stands below the sandbox's output folder."""
    return commands(target.arch, folder=f"{_OUT}/{FOLDER}", program=runner_command(target, job), kernels=kernels)


def script(runs: Sequence[Sequence[str]]) -> str:
    """The runs one after the other; one that fails or hangs does not keep the others from counting."""
    lines = []
    for run in runs:
        limited = ["timeout", "-k", "5", str(int(PASS_TIMEOUT_S)), *run]
        lines.append(" ".join(_quoted(word) for word in limited))
    return " ; ".join(lines)


def _quoted(word: str) -> str:
    """The word for a shell, with the output folder that only the sandbox knows."""
    return '"$OUT"'.join(shlex.quote(part) if part else "" for part in word.split(_OUT)) or "''"


def import_files(files: Mapping[str, bytes], *, gpu: str) -> ProfileResult:
    """The profile of files that came out of a sandbox. Raises ProfileFileError."""
    with tempfile.TemporaryDirectory(prefix="amdkernel-profile-") as folder:
        for name, data in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                continue  # what runs in a sandbox does not choose where we write
            place = Path(folder, *path.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return import_recording(Path(folder), gpu=gpu)
