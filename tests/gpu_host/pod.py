"""A pod in the box: a container with GPUs and ROCm, in which there is no Docker and we are installed."""

import io
import json
import secrets
import sys
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpu_host_box import GpuHost
from rocm_image import ROCM

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.hip_python import pinned_wheels

AMDKERNEL = Path(sys.executable).with_name("amdkernel")
CHECKOUT = Path(__file__).parents[2]
WHEELS = "root/.cache/amdkernel/wheels"


@dataclass(frozen=True)
class Pod:
    """A pod that runs, with the render nodes that it was given."""

    host: GpuHost
    name: str

    def inside(self, *command: str) -> str:
        """What a command of its root prints. Raises RuntimeError with its stderr."""
        return self.host.inside("docker", "exec", self.name, *command)

    def write(self, path: str, text: str) -> None:
        """Make a file there."""
        self.host.inside("docker", "exec", "-i", self.name, "sh", "-c", f"cat >{path}", stdin=text.encode())

    def is_clocked(self, scale: int) -> None:
        """Its GPUs are 8 emulated ones whose launches take `scale` times as long by their simulated clock."""
        options = f"arch=gfx942,residency=1,clock=simulated,clock_seed=1,clock_scale={scale},devices=8\n"
        self.write("/etc/options-in-a-box", options)

    def amdkernel(self, *arguments: str) -> str:
        """What our command prints there, whatever its exit code is."""
        return self.inside("sh", "-c", '"$@" || echo >&2 "exit code $?"', "sh", str(AMDKERNEL), *arguments)

    def answer(self, *arguments: str) -> dict:
        """The JSON that a command prints, an error's as well."""
        found: dict = json.loads(self.amdkernel(*arguments, "--json"))
        return found

    def stop(self) -> None:
        """Remove it."""
        self.host.inside("docker", "rm", "--force", self.name)


def start_pod(host: GpuHost, programs: Iterable[Path], minors: Iterable[int]) -> Pod:
    """A pod with these render nodes, as the box has them, and with `programs` at the places where they are here."""
    pod = Pod(host, f"pod-{secrets.token_hex(4)}")
    devices = ("/dev/kfd", *(f"/dev/dri/renderD{minor}" for minor in minors))
    options = [*(f"--device={path}" for path in devices), *(f"--volume={path}:{path}:ro" for path in programs)]
    host.inside(
        "docker", "run", "--detach", f"--name={pod.name}", "--network=none", *options, ROCM, "sleep", "infinity"
    )
    # Jobs have users of their own, who must reach the Python that they run in, which may be in root's home here.
    pod.inside("chmod", "755", "/root")
    host.inside("docker", "exec", "-i", pod.name, "tar", "-C", "/", "-x", stdin=_wheels())
    pod.is_clocked(100)
    return pod


def _wheels() -> bytes:
    """What a set-up there would fetch, as a tar: a pod of the tests has no network."""
    pins = folder("sandbox") / "image/hip-python.txt"
    python = (sys.version_info[0], sys.version_info[1])
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for wheel in pinned_wheels(load_settings().cache_dir / "wheels", pins, python, print):
            archive.add(wheel, f"{WHEELS}/{wheel.parent.name}/{wheel.name}")
    return buffer.getvalue()


def python_and_ours() -> list[Path]:
    """The folders that a worker inside the box, or we in a pod, are made of; all below /usr is there."""
    found: list[Path] = []
    wanted = {CHECKOUT, Path(sys.base_prefix), *(Path(entry).resolve() for entry in sys.path if Path(entry).is_dir())}
    for path in sorted(wanted):
        if not any(path.is_relative_to(other) for other in (Path("/usr"), *found)):
            found.append(path)
    return found
