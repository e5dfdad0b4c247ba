"""A machine with two AMD GPUs in a container: sshd, a Docker daemon, device nodes without a driver, files as sysfs.

Its programs are those of this machine (/usr is mounted), so nothing is downloaded or built for it.
"""

import contextlib
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sysfs import EMPTY, HIVE, sysfs

from amdkernel_mcp.config import Settings, load_settings

HERE = Path(__file__).parent
USER, RENDER, DOCKER = 1000, 44110, 998
PASSWD = (
    "root:*:0:0:root:/root:/bin/sh\nsshd:*:100:65534::/run/sshd:/usr/sbin/nologin\nme:*:1000:1000::/home/me:/bin/sh\n"
)
GROUP = f"root:x:0:\nnogroup:x:65534:\nrender:x:{RENDER}:\ndocker:x:{DOCKER}:me\nme:x:{USER}:\n"
FOLDERS = ("data", "dev", "etc", "home/me", "machine", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var/log")
SSH_CONFIG = """
Host {name} *.invalid
    HostName 127.0.0.1
    Port {port}
    User me
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    LogLevel ERROR
"""


@dataclass(frozen=True)
class GpuHost:
    """A box that runs. `folder` has the keys and the settings of ssh, and of ours, where it is `known_as`."""

    name: str
    folder: Path
    known_as: str = "gpu1"

    def inside(self, *command: str, stdin: bytes = b"") -> str:
        """What a command of the box's root prints. Raises CalledProcessError with its stderr."""
        return _docker("exec", "-i", self.name, *command, stdin=stdin)

    def containers(self) -> list[str]:
        """The containers of the box's own daemon, ended ones as well."""
        return self.inside("docker", "ps", "--all", "--quiet").split()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Its GPUs are in no hive meanwhile, so that a reset of one takes down no other."""
        script = "sed -i 's/^hive_id {}$/hive_id {}/' /machine/sys/class/kfd/kfd/topology/nodes/*/properties"
        self.inside("sh", "-c", script.format(HIVE, 0))
        try:
            yield
        finally:
            self.inside("sh", "-c", script.format(0, HIVE))

    @property
    def environment(self) -> dict[str, str]:
        """For processes that are to know the box by its name."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("AMDKERNEL_", "SSH_"))}
        return own | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "AMDKERNEL_CONFIG": str(self.folder / "config.toml"),
        }

    def amdkernel(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command line, with the box in its settings."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )

    def answer(self, *arguments: str) -> dict:
        """The JSON that a command prints, an error's as well."""
        ended = self.amdkernel(*arguments, "--json")
        assert ended.stdout, f"exit code {ended.returncode}: {ended.stderr}"
        return json.loads(ended.stdout)

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [str(Path(sys.executable).with_name("amdkernel")), *arguments]

    def stop(self) -> None:
        """Remove the container with its volume, and the image."""
        _docker("rm", "--force", "--volumes", self.name)
        _docker("rmi", f"{self.name}:1")


def refusal(host: GpuHost, *arguments: str, code: int = 3) -> tuple[str, str]:
    """Message and hint of a command that fails, by default because of the infrastructure."""
    ended = host.amdkernel(*arguments, "--json")
    assert ended.returncode == code, ended.stdout + ended.stderr
    error = json.loads(ended.stdout)["error"]
    return error["message"], error["hint"]


@contextlib.contextmanager
def changed(host: GpuHost, break_it: str, repair_it: str) -> Iterator[None]:
    host.inside("sh", "-c", break_it)
    try:
        yield
    finally:
        host.inside("sh", "-c", repair_it)


def no_container_is_left(host: GpuHost) -> None:
    """Waits for the end of what is being removed, up to the time limit of the tests."""
    while host.containers():
        time.sleep(0.2)


def settings_of(host: GpuHost) -> Settings:
    return load_settings(environ=host.environment)


def start_gpu_host(
    folder: Path,
    settings: Mapping[str, object],
    *,
    machine: int = 1,
    shared: Path | None = None,
    programs: Sequence[Path] = (),
) -> GpuHost:
    """Start a box, `gpu1` or the machine of another number, with `settings` for the processes that use it.

    Its Docker daemon has no image yet. `shared`: a folder for the socket of that daemon. `programs`: folders of this
    machine that it has as well.
    """
    host = GpuHost(f"amdkernel-gpu-host-{secrets.token_hex(4)}", folder, f"gpu{machine}")
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    _docker("import", "-", f"{host.name}:1", stdin=_files(folder, machine))
    try:
        _docker(
            "run",
            *_options(host),
            *([f"--volume={shared}:/shared"] if shared else []),
            *(f"--volume={path}:{path}:ro" for path in programs),
            f"{host.name}:1",
            "/machine/start",
        )
        host.inside("sh", "-c", "until docker info >/dev/null 2>&1; do sleep 0.1; done")
    except BaseException:
        host.stop()
        raise
    _configure(host, settings, port=_docker("port", host.name, "22").split()[0].rpartition(":")[2])
    return host


def _options(host: GpuHost) -> list[str]:
    """Rights to run a Docker daemon, and no more: --privileged asks for SYS_RESOURCE, which few containers can give."""
    mounts = ("/usr", "/etc/alternatives", "/etc/ld.so.cache")
    return [
        "--detach", "--init", f"--name={host.name}", f"--hostname={host.known_as}",
        "--publish=127.0.0.1::22", "--volume=/data",
        "--cap-add=ALL", "--cap-drop=SYS_RESOURCE", "--security-opt=seccomp=unconfined",
        "--security-opt=apparmor=unconfined", "--device-cgroup-rule=c 240:* rwm",
        "--device-cgroup-rule=c 226:* rw",  # to be given on; no device of that number is there
        *(f"--volume={path}:{path}:ro" for path in mounts),
    ]  # fmt: skip


def _configure(host: GpuHost, settings: Mapping[str, object], *, port: str) -> None:
    folder, name = host.folder, host.known_as
    (folder / "ssh_config").write_text(SSH_CONFIG.format(name=name, port=port, folder=folder))
    public = (folder / "host_key.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n')
    wrapper.chmod(0o755)
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    (folder / "config.toml").write_text("\n".join([*lines, "[hosts]", f'{name} = "ssh://{name}"', ""]))


def _files(folder: Path, number: int) -> bytes:
    """The root file system of the box, as a tar."""
    machine = {path.name: path.read_bytes() for path in (HERE / "machine").iterdir()}
    machine["ld.so.preload"] = b"/etc/errnos-in-a-box.so\n"
    machine["errnos.so"] = _compiled(folder, HERE / "machine/errnos.c")
    machine |= {f"sys/{path}": text.encode() for path, text in sysfs(number).items()}
    machine["host_key"] = (folder / "host_key").read_bytes()
    machine["authorized_keys"] = (folder / "user_key.pub").read_bytes()
    files = {f"machine/{path}": content for path, content in machine.items()}
    files |= {"etc/passwd": PASSWD.encode(), "etc/group": GROUP.encode()}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in (*FOLDERS, *(f"machine/sys/{path}" for path in EMPTY)):
            _add(archive, path, tarfile.DIRTYPE, mode=0o755)
        for name in ("bin", "lib", "lib64"):
            _add(archive, name, tarfile.SYMTYPE, target=f"usr/{name}")
        _add(archive, "var/run", tarfile.SYMTYPE, target="../run")
        for path, content in files.items():
            _add(archive, path, tarfile.REGTYPE, content, mode=0o600 if path.endswith("host_key") else 0o755)
    return buffer.getvalue()


def _compiled(folder: Path, source: Path) -> bytes:
    """A library of this machine's compiler."""
    library = folder / source.with_suffix(".so").name
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library.read_bytes()


def _add(
    archive: tarfile.TarFile, path: str, kind: bytes, content: bytes = b"", *, mode: int = 0o777, target: str = ""
) -> None:
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.linkname, member.size = kind, mode, target, len(content)
    archive.addfile(member, io.BytesIO(content))


def _docker(*arguments: str, stdin: bytes = b"") -> str:
    ended = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace")[-3000:]
        raise RuntimeError(f"docker {' '.join(arguments)[:300]}: exit code {ended.returncode}\n{said}")
    return ended.stdout.decode(errors="replace")
