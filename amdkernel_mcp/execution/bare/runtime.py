"""The bare runtime: what the image has in /opt/amdkernel, built on this host for jobs without containers."""

import os
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.bare.sandbox import BareSandbox
from amdkernel_mcp.execution.bare.toolchain import Toolchain, find_toolchain, rocm_environment
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.hip_python import hip_python
from amdkernel_mcp.execution.layers import SETUP_HINT, STEPS, Step, step_files, step_name
from amdkernel_mcp.progress import Progress

OF_ROOT = Path("/var/lib/amdkernel")
"""For root's runtimes where its data folder is closed to others. Source: Filesystem Hierarchy Standard, /var/lib."""


def open_bare(settings: Settings, gpu: GpuDevice | None = None) -> BareSandbox:
    """The fallback, with this host's own compiler. `gpu`: the one that its runs see.

    Raises ToolchainError when there is no compiler, or no runtime for it.
    """
    toolchain = find_toolchain()
    runtime = runtime_folder(settings, toolchain)
    if not (runtime / "ready").exists():
        raise ToolchainError("the emulator and the runner have not been built on this host", hint=SETUP_HINT)
    return BareSandbox(runtime, toolchain.rocm_path, gpu=gpu)


def runtime_folder(settings: Settings, toolchain: Toolchain) -> Path:
    """Where the runtime for this compiler and this version of sandbox/ is, or would be.

    Jobs of root have users of their own, who cannot read root's home, nor a data folder that a database was made in.
    """
    start = f"{toolchain.hipcc} {toolchain.hip_version} {toolchain.clang_version} {sys.version_info[:2]}"
    name = reduce(lambda parent, step: step_name(step, parent), STEPS, start)
    is_root = os.geteuid() == 0
    places = [settings.data_dir] if not is_root or _is_open_to_all(settings.data_dir) else []
    places += [OF_ROOT] if is_root else []  # also where the data folder was made after the runtime
    folders = [place / "runtimes" / name.rpartition(":")[2] for place in places]
    return next((each for each in folders if (each / "ready").exists()), folders[0])


def _is_open_to_all(folder: Path) -> bool:
    """Whether every user reaches what is in it; one that is not there yet will be made for its owner alone."""
    return all(path.is_dir() and path.stat().st_mode & 0o001 for path in (folder, *folder.absolute().parents))


def make_runtime(settings: Settings, progress: Progress) -> Path:
    """Make the runtime where it is missing. Raises ToolchainError."""
    toolchain = find_toolchain()
    runtime = runtime_folder(settings, toolchain)
    if (runtime / "ready").exists():
        return runtime
    shutil.rmtree(runtime, ignore_errors=True)
    for step in STEPS:
        _make(step, runtime, toolchain, settings, progress)
    (runtime / "ready").touch()
    return runtime


def _make(step: Step, runtime: Path, toolchain: Toolchain, settings: Settings, progress: Progress) -> None:
    for path, source in step_files(step).items():
        (runtime / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, runtime / path)
    if step.hip_python:
        python = (sys.version_info[0], sys.version_info[1])
        for path, content in hip_python(settings.cache_dir / "wheels", python, progress).items():
            (runtime / "python" / path).parent.mkdir(parents=True, exist_ok=True)
            (runtime / "python" / path).write_bytes(content)
    progress(f"running {step.script} on this host")
    search = (
        f"{Path(sys.executable).parent}:{toolchain.rocm_path}/bin:{toolchain.rocm_path}/llvm/bin:{os.environ['PATH']}"
    )
    done = subprocess.run(
        ["/bin/sh", str(folder("sandbox") / step.script)],
        env=os.environ | {"AMDKERNEL_HOME": str(runtime), "PATH": search} | rocm_environment(toolchain.rocm_path),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ToolchainError(f"{step.script} failed: {(done.stdout + done.stderr).strip()[-800:]}")
