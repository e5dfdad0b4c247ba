"""`amdkernel setup`: builds the layers of the sandbox image that a daemon lacks.

Each layer is reproducible: built twice from the same parent, it has the same bytes.
"""

import contextlib
import io
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import InputError, SandboxError, ToolchainError
from amdkernel_mcp.execution.bare.runtime import make_runtime
from amdkernel_mcp.execution.docker.container import INIT
from amdkernel_mcp.execution.docker.daemon import Daemon, connect, docker_errors
from amdkernel_mcp.execution.docker.image import (
    DATE,
    HIP_RELEASES,
    SUITES,
    base_name,
    compiler_base_name,
    compiler_name,
    compilers,
    find_image,
    image_name,
    is_of_amd,
    of_compiler,
    sandbox_image_id,
    settled,
    torch_base_name,
    torch_name,
    triton_base_name,
    triton_name,
)
from amdkernel_mcp.execution.docker.ownership import ownership_labels
from amdkernel_mcp.execution.docker.reaper import remove
from amdkernel_mcp.execution.hip_python import hip_python, pinned_wheels
from amdkernel_mcp.execution.layers import (
    COMPILER_STEP,
    IMAGE_STEPS,
    SETUP_HINT,
    TRITON_STEP,
    Step,
    step_files,
    step_name,
)
from amdkernel_mcp.execution.open_sandbox import docker_url, uses_no_containers
from amdkernel_mcp.execution.setup.docker_build import UBUNTU, build_from
from amdkernel_mcp.execution.setup.parts import keep_parts, send_parts
from amdkernel_mcp.execution.setup.rootfs import (
    WITHOUT_MMDEBSTRAP,
    DebianSystem,
    debian_system,
    find_tool,
    root_file_system,
    torch_system,
)
from amdkernel_mcp.execution.setup.send import imports_files, keep_compressed, send_and_import
from amdkernel_mcp.file_lock import locked
from amdkernel_mcp.kept_values import name_of
from amdkernel_mcp.progress import Progress

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.models.images import Image

_HOME = "/opt/amdkernel"
_BUILD_TIMEOUT_S = 900.0
# The times of files and folders that the build touched would differ from build to build. What cannot be changed here
# (/proc, /dev, files that Docker mounts) is not in the layer.
_SAME_TIMES = (
    'find / -xdev -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} + '
    "2>/dev/null || true"
)


@dataclass(frozen=True)
class SetupReport:
    """What setup made or found. `built` names the layers that were made, `suites` the Debian suites and their dates."""

    image: str
    image_id: str
    built: tuple[str, ...]
    seconds: float
    suites: str | None = None


def setup(settings: Settings, progress: Progress, *, host: str | None = None, base: str | None = None) -> SetupReport:
    """Make the sandbox image where it is missing. Raises SandboxError or ToolchainError with the remedy.

    base: a Debian image into which Docker installs the packages, instead of mmdebstrap on this machine.
    """
    started = time.monotonic()
    if host is None and uses_no_containers(settings):
        runtime = make_runtime(settings, progress)
        return SetupReport(str(runtime), f"none:{runtime.name}", (), time.monotonic() - started)
    daemon = connect(docker_url(settings, host))
    built: list[str] = []
    try:
        name = image_name(settings)
        image = find_image(daemon, name)
        if image is None:
            with _only_one_at_a_time(settings):
                url = None if host is None else docker_url(settings, host)
                name, image = _base_image(daemon, settings, progress, built, base, url)
                name, image = _layers(daemon, name, image, settings, progress, built)
        seconds = time.monotonic() - started
        return SetupReport(name, str(image.id), tuple(built), seconds, image.labels.get(SUITES))
    finally:
        daemon.close()


def setup_torch(settings: Settings, progress: Progress, *, host: str | None = None) -> str | None:
    """Make the image with PyTorch where it is missing. Returns its name; None where jobs run without containers.

    Raises SandboxError or ToolchainError with the remedy.
    """

    def torch(daemon: Daemon, _: Settings) -> "Image":
        base = torch_base_name(settings)
        url = None if host is None else docker_url(settings, host)
        return find_image(daemon, base) or _import(daemon, base, torch_system(settings), settings, progress, url)

    return _setup_beside(settings, torch_name, torch, host)


def setup_triton(settings: Settings, progress: Progress, *, host: str | None = None) -> str | None:
    """Make the image with Triton on the base image, as `setup_torch` does. The sandbox image must be there."""

    def triton(daemon: Daemon, settings: Settings) -> "Image":
        parent, name = find_image(daemon, base_name(settings)), triton_base_name(settings)
        if parent is None:
            raise ToolchainError("the sandbox image has not been built", hint=SETUP_HINT)
        return find_image(daemon, name) or add_layer(daemon, parent, TRITON_STEP, name, settings, progress)

    return _setup_beside(settings, triton_name, triton, host)


def setup_compiler(settings: Settings, progress: Progress, hip: str) -> str | None:
    """Make the image that compiles with another HIP release, as `setup_torch` does. The sandbox image must be there."""
    if hip not in compilers():
        raise InputError(f"no HIP release is called {hip!r}", hint=f"known are {', '.join(compilers())}")
    other = of_compiler(settings, hip)

    def compiler(daemon: Daemon, _: Settings) -> "Image":
        base, name = base_name(other), compiler_base_name(other)
        parent = find_image(daemon, base) or _base(daemon, other, progress, None, None)
        return find_image(daemon, name) or add_layer(daemon, parent, COMPILER_STEP, name, other, progress)

    return _setup_beside(settings, lambda _: compiler_name(other), compiler, None)


def _setup_beside(
    settings: Settings,
    name_of: Callable[[Settings], str],
    make: "Callable[[Daemon, Settings], Image]",
    host: str | None,
) -> str | None:
    """Make an image besides the sandbox image where missing: `make`'s, and on it our PID 1."""
    if host is None and uses_no_containers(settings):
        return None
    daemon = connect(docker_url(settings, host))
    try:
        settings = settled(daemon, settings)
        name = name_of(settings)
        if find_image(daemon, name) is None:  # who has it does not wait for another set-up
            with _only_one_at_a_time(settings):
                if find_image(daemon, name) is None:
                    _add_init(daemon, make(daemon, settings), name, settings)
        return name
    finally:
        daemon.close()


def _add_init(daemon: Daemon, parent: "Image", name: str, settings: Settings) -> None:
    """The image `name`: `parent`, and on it the PID 1 of the sandbox image, so that it needs no compiler."""
    sandbox = sandbox_image_id(daemon, settings)
    labels = ownership_labels("setup")
    with docker_errors(f"PID 1 cannot be put into {name}"):
        source = daemon.client.containers.create(sandbox, command=["true"], labels=labels, network_mode="none")
        try:
            archive = io.BytesIO(b"".join(source.get_archive(INIT)[0]))
        finally:
            remove(source)
        with tarfile.open(fileobj=archive) as files:
            file = files.extractfile(files.getmembers()[0])
            assert file is not None
            init = _tar({INIT.removeprefix(f"{_HOME}/"): (file.read(), 0o755)}, _epoch(parent))
        target = daemon.client.containers.create(str(parent.id), command=["true"], labels=labels, network_mode="none")
        try:
            target.put_archive("/", init)
            target.commit(*name.split(":"), changes=["CMD []", *(f"LABEL {label}=" for label in labels)])
        finally:
            remove(target)


def _base_image(
    daemon: Daemon, settings: Settings, progress: Progress, built: list[str], debian: str | None, url: str | None
) -> "tuple[str, Image]":
    """The base image and its name, built or pulled where the daemon lacks it. url: of another machine's daemon."""
    choices = [settings]
    if settings.hip == "auto" and not settings.image:
        choices = [settings.model_copy(update={"hip": hip}) for hip in HIP_RELEASES]
    for choice in choices:
        name = base_name(choice)
        image = find_image(daemon, name)
        if image is not None:
            return name, image
        try:
            image = _base(daemon, choice, progress, debian, url)
        except ToolchainError as error:
            if choice is choices[-1]:
                raise
            progress(f"HIP {choice.hip} cannot be installed, so HIP {HIP_RELEASES[-1]} is: {error.message}")
        else:
            built.append(name)
            return name, image
    raise AssertionError("the last choice returns or raises")


def _layers(
    daemon: Daemon, name: str, image: "Image", settings: Settings, progress: Progress, built: list[str]
) -> "tuple[str, Image]":
    """The sandbox image and its name: the layers of `IMAGE_STEPS` on the base image."""
    for step in IMAGE_STEPS:
        name = step_name(step, name)
        found = find_image(daemon, name)
        if found is None:
            found = add_layer(daemon, image, step, name, settings, progress)
            built.append(name)
        image = found
    return name, image


def _base(daemon: Daemon, settings: Settings, progress: Progress, debian: str | None, url: str | None) -> "Image":
    name = base_name(settings)
    if settings.image:
        progress(f"pulling {name}")
        with docker_errors(f"the image {name} is not on this machine and cannot be pulled"):
            return daemon.client.images.pull(*_name_and_tag(name))
    if debian or is_of_amd(settings):
        return build_from(debian or UBUNTU, daemon, name, settings, progress)
    if not find_tool():
        raise ToolchainError("mmdebstrap is not installed", hint=WITHOUT_MMDEBSTRAP)
    return _import(daemon, name, debian_system(settings), settings, progress, url)


def _import(
    daemon: Daemon, name: str, system: DebianSystem, settings: Settings, progress: Progress, url: str | None
) -> "Image":
    """The image `name` made from a Debian system, on the daemon of `url`.

    To another machine the root file system is sent compressed, and continued after a cut line, also by the next set-up:
    until it has arrived it is kept here. Over ssh it is one file that Docker there imports; over tcp, and to a host
    without Docker's client, it is parts, of which Docker there makes the image.
    """
    labels = [f'LABEL {DATE}="{system.date.isoformat()}" {SUITES}="{system.described}"']
    made_of = name_of(name, system.described, system.packages, system.left_out).rpartition("/")[2]
    kept = settings.cache_dir / "to_send"
    if url is not None and url.startswith("ssh://") and imports_files(url):
        file = kept / f"{made_of}.tar.gz"
        if not file.exists():
            with root_file_system(system, progress) as pieces:
                keep_compressed(pieces, file)
        send_and_import(url, file, name, labels, progress)
        shutil.rmtree(kept, ignore_errors=True)  # with what an older state of the mirror left
    elif url is not None:
        if not (kept / made_of).is_dir():
            with root_file_system(system, progress) as pieces:
                keep_parts(pieces, kept / made_of)
        send_parts(daemon, kept / made_of, name, labels, progress)
        shutil.rmtree(kept, ignore_errors=True)
    else:
        repository, _, tag = name.partition(":")
        with root_file_system(system, progress) as pieces, docker_errors("the root file system cannot be imported"):
            stream = _announced(pieces, progress)
            daemon.client.api.import_image_from_stream(stream, repository=repository, tag=tag, changes=labels)
    image = find_image(daemon, name)
    if image is None:
        raise SandboxError("Docker did not accept the root file system")
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


def add_layer(
    daemon: Daemon, parent: "Image", step: Step, name: str, settings: Settings, progress: Progress
) -> "Image":
    """The image that `step` makes from `parent`, tagged `name`. Raises SandboxError or ToolchainError."""
    epoch = _epoch(parent)
    labels = ownership_labels("setup")
    with docker_errors("the sandbox image cannot be built"):
        container = daemon.client.containers.create(
            image=str(parent.id),
            entrypoint=[],
            command=["/bin/sh", "-c", f"sh {_HOME}/build.sh && {{ {_SAME_TIMES}; }}"],
            environment={"SOURCE_DATE_EPOCH": str(epoch), "PYTHONDONTWRITEBYTECODE": "1"},
            network_mode="none",
            user="0:0",
            working_dir="/",
            labels=labels,
        )
        try:
            container.put_archive("/", _tar(_step_contents(step, settings, progress), epoch))
            container.start()
            _follow(container, progress)
            changes = ["ENTRYPOINT []", "CMD []", "USER 65532:65532", *(f"LABEL {label}=" for label in labels)]
            image = container.commit(*name.split(":"), changes=changes)
        finally:
            remove(container)
    return image


def _step_contents(step: Step, settings: Settings, progress: Progress) -> dict[str, tuple[bytes, int]]:
    """Content and mode of the files that a step puts into /opt/amdkernel."""
    files = {path: (source.read_bytes(), source.stat().st_mode & 0o755) for path, source in step_files(step).items()}
    files["build.sh"] = ((folder("sandbox") / step.script).read_bytes(), 0o755)
    if step.hip_python:
        wheels = hip_python(settings.cache_dir / "wheels", (3, 12), progress)
        files |= {f"python/{path}": (content, 0o644) for path, content in wheels.items()}
    for path, python in step.wheels:
        pins = folder("sandbox") / path
        fetched = pinned_wheels(settings.cache_dir / "wheels" / pins.stem, pins, python, progress)
        files |= {f"wheels/{wheel.name}": (wheel.read_bytes(), 0o644) for wheel in fetched}
    return files


def _epoch(image: "Image") -> int:
    """The time that every file of a further layer gets: the date of the Debian suites, or when the image was made."""
    date = image.labels.get(DATE) or image.attrs["Created"]
    return int(datetime.fromisoformat(date).timestamp())


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


def _tar(files: Mapping[str, tuple[bytes, int]], epoch: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, (content, mode) in sorted(files.items()):
            member = tarfile.TarInfo(f"{_HOME.lstrip('/')}/{path}")
            member.size, member.mode, member.mtime = len(content), mode | 0o644, epoch
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@contextlib.contextmanager
def _only_one_at_a_time(settings: Settings) -> Iterator[None]:
    """Hold a lock, so that two set-ups of one user do not do the same work twice."""
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    with locked(settings.cache_dir / "setup.lock"):
        yield
