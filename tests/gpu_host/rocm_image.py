"""The ROCm image of the box: Debian's compiler, the emulator with a simulated clock, and a stand-in for rocprofv3."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

from gpu_host_box import GpuHost

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.image import base_name, settled
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.profiling.metrics.counter_names import ARCHITECTURES, shown_name
from amdkernel_mcp.profiling.metrics.emulator_counters import COUNTERS

HERE = Path(__file__).parent
ROCM = "rocm-in-a-box:7.2"


def give_rocm_image(host: GpuHost, sandbox: Sandbox) -> None:
    """Build rocm/Dockerfile in the box on this machine's base image."""
    daemon = connect(load_settings().docker_host)
    try:
        base = base_name(settled(daemon, load_settings()))
    finally:
        daemon.close()
    with subprocess.Popen(["docker", "save", base], stdout=subprocess.PIPE) as saving:
        subprocess.run(["docker", "exec", "-i", host.name, "docker", "load"], stdin=saving.stdout, check=True)
    done = sandbox.run("run", ["sh", "-c", 'cp /opt/amdkernel/emulator/libamdhip64.so "$OUT"'], {}, timeout_s=60)
    context = {path.name: path.read_bytes() for path in (HERE / "rocm").iterdir()}
    context |= {
        "libamdhip64.so": _as_amd_names_it(done.files["libamdhip64.so"]),
        "names.json": json.dumps(other_names()).encode(),
    }
    build = (
        "env",
        "DOCKER_BUILDKIT=0",
        "docker",
        "build",
        "--network=none",
        f"--build-arg=base={base}",
        f"--tag={ROCM}",
        "-",
    )
    host.inside(*build, stdin=_tar(context))


def _as_amd_names_it(library: bytes) -> bytes:
    """The emulator without what AMD's runtime does not have: our functions, and the variables that a job could set."""
    for ours, other in (
        (b"AMDKERNEL_EMULATOR_", b"ROCM_IN_A_BOX_STUB_"),
        (b"amdkernelDescribeMemory", b"xxxxxxxxxDescribeMemory"),
        (b"amdkernelSetOptions", b"xxxxxxxxxSetOptions"),
    ):
        assert ours in library
        library = library.replace(ours, other)
    return library


def other_names() -> dict[str, dict[str, str]]:
    """By architecture: what the emulator calls a counter that rocprofv3 calls otherwise there."""
    pairs = {gfx: {shown_name(name, gfx): name for name in COUNTERS} for gfx in ARCHITECTURES}
    return {gfx: {shown: own for shown, own in each.items() if shown and shown != own} for gfx, each in pairs.items()}


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
