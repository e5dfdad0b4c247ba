"""`amdkernel setup`: make the sandbox image on a daemon, from what is there already as far as possible."""

import contextlib
import fcntl
import io
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.bare.runtime import make_runtime
from amdkernel_mcp.execution.docker.daemon import Daemon, connect, docker_errors
from amdkernel_mcp.execution.docker.image import STEPS, Step, base_name, find_image, image_name, step_files, step_name
from amdkernel_mcp.execution.docker.ownership import ownership_labels
from amdkernel_mcp.execution.docker.reaper import remove
from amdkernel_mcp.execution.open_sandbox import docker_url, uses_no_containers
from amdkernel_mcp.execution.setup.hip_python import hip_python
from amdkernel_mcp.execution.setup.rootfs import root_file_system

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.models.images import Image

Progress = Callable[[str], None]
_HOME = "/opt/amdkernel"
_BUILD_TIMEOUT_S = 900.0


@dataclass(frozen=True)
class SetupReport:
    """What setup made or found; `built` names the layers that were made."""

    image: str
    image_id: str
    built: tuple[str, ...]
    seconds: float


def setup(settings: Settings, progress: Progress, *, host: str | None = None) -> SetupReport:
    """Make the sandbox image where it is missing. Raises SandboxError or ToolchainError with the remedy."""
    started = time.monotonic()
    if host is None and uses_no_containers(settings):
        kit = make_runtime(settings, progress)
        return SetupReport(str(kit), f"none:{kit.name}", (), time.monotonic() - started)
    daemon = connect(docker_url(settings, host))
    built: list[str] = []
    try:
        with _only_one_at_a_time(settings):
            name = image_name(settings)
            image = find_image(daemon, name) or _build(daemon, settings, progress, built)
        return SetupReport(name, str(image.id), tuple(built), time.monotonic() - started)
    finally:
        daemon.close()


def _build(daemon: Daemon, settings: Settings, progress: Progress, built: list[str]) -> "Image":
    name = base_name(settings)
    image = find_image(daemon, name)
    if image is None:
        image = _base(daemon, settings, progress)
        built.append(name)
    for step in STEPS:
        name = step_name(step, name)
        found = find_image(daemon, name)
        if found is None:
            found = _add_layer(daemon, image, step, name, settings, progress)
            built.append(name)
        image = found
    return image


def _base(daemon: Daemon, settings: Settings, progress: Progress) -> "Image":
    name = base_name(settings)
    if settings.image:
        progress(f"pulling {name}")
        with docker_errors(f"the image {name} is neither here nor can it be pulled"):
            return daemon.client.images.pull(*_name_and_tag(name))
    with root_file_system(settings, progress) as pieces, docker_errors("the root file system cannot be imported"):
        repository, _, tag = name.partition(":")
        daemon.client.api.import_image_from_stream(_announced(pieces, progress), repository=repository, tag=tag)
    image = find_image(daemon, name)
    if image is None:
        raise SandboxError("Docker did not take the root file system")
    return image


def _name_and_tag(name: str) -> tuple[str, str]:
    head, _, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    return (f"{head}/{repository}" if head else repository), tag or "latest"


def _announced(pieces: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    for number, piece in enumerate(pieces):
        if number == 0:
            progress("handing the root file system to Docker")
        yield piece


def _add_layer(
    daemon: Daemon, parent: "Image", step: Step, name: str, settings: Settings, progress: Progress
) -> "Image":
    files = {path: (source.read_bytes(), source.stat().st_mode & 0o755) for path, source in step_files(step).items()}
    files["build.sh"] = ((folder("sandbox") / step.script).read_bytes(), 0o755)
    if step.hip_python:
        files |= {
            f"python/{path}": (content, 0o644)
            for path, content in hip_python(settings.cache_dir / "wheels", (3, 12), progress).items()
        }
    labels = ownership_labels("setup")
    with docker_errors("the sandbox image cannot be built"):
        container = daemon.client.containers.create(
            image=str(parent.id),
            entrypoint=[],
            command=["/bin/sh", f"{_HOME}/build.sh"],
            network_mode="none",
            user="0:0",
            working_dir="/",
            labels=labels,
        )
        try:
            container.put_archive("/", _tar(files))
            container.start()
            _follow(container, progress)
            changes = ["ENTRYPOINT []", "CMD []", "USER 65532:65532", *(f"LABEL {label}=" for label in labels)]
            image = container.commit(*name.split(":"), changes=changes)
        finally:
            remove(container)
    return image


def _follow(container: "Container", progress: Progress) -> None:
    last: list[str] = []
    for chunk in container.logs(stream=True, follow=True):
        for line in chunk.decode(errors="replace").splitlines():
            last = [*last[-30:], line]
            if not line.startswith((" ", "make", "clang")):
                progress(line[:200])
    status = container.wait(timeout=_BUILD_TIMEOUT_S)["StatusCode"]
    if status != 0:
        raise ToolchainError(f"building the sandbox image failed with status {status}:\n" + "\n".join(last))


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, (content, mode) in files.items():
            member = tarfile.TarInfo(f"{_HOME.lstrip('/')}/{path}")
            member.size, member.mode, member.mtime = len(content), mode | 0o644, int(time.time())
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@contextlib.contextmanager
def _only_one_at_a_time(settings: Settings) -> Iterator[None]:
    """Two set-ups of one user would do the same work twice."""
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    with (settings.cache_dir / "setup.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
