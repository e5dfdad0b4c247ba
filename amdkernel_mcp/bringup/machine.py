"""The machine of a bring-up, read by its host and by containers without a device, with the rule, with one node.

Each is asked once. Whatever was read or said is kept for the archive.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.bringup.reading import Tree, read_tree
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import AmdkernelError, InputError, SandboxError
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.tunnel import plain_ssh, shell_command
from amdkernel_mcp.execution.open_sandbox import docker_url, open_sandbox, uses_no_containers

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.execution.sandbox import Completed, Sandbox, SandboxKind

READERS = ("host", "container", "rule", "device")
"""The host's user; containers that have no device, the right to read of GPUs, and one render node."""
_KINDS: dict[str, SandboxKind] = {"container": "compile", "rule": "look", "device": "run"}
READ_TIMEOUT_S = 60.0


@dataclass
class Machine:
    """One machine and one of its GPUs: `host` None is this machine. Close it."""

    settings: Settings
    host: str | None
    index: int
    said: dict[str, bytes] = field(default_factory=dict)
    """What was read and printed, by the file's name in the archive."""
    _trees: dict[str, Tree | AmdkernelError] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target's name."""
        return f"{self.host or 'local'}:{self.index}"

    @property
    def url(self) -> str | None:
        """Of its Docker daemon; None: the local one."""
        return docker_url(self.settings, self.host)

    @property
    def at_a_shell(self) -> str:
        """What a person types before a command of that machine; empty for this one."""
        return f"{plain_ssh(self.url)} " if self.url and self.url.startswith("ssh://") else ""

    def shell(self, script: str, *, stdin: bytes = b"", timeout_s: float = READ_TIMEOUT_S) -> bytes:
        """What a script prints on the host. Raises SandboxError with what it says on stderr."""
        where = ["sh"]
        if self.host is not None:
            if not (self.url or "").startswith("ssh://"):
                raise SandboxError(f"{self.host} is reached by its Docker daemon alone", hint="write ssh://USER@HOST")
            where = [*shell_command(self.url or ""), "sh"]
        try:
            done = subprocess.run(
                [*where, "-c", _quoted(script) if self.host else script],
                input=stdin, capture_output=True, timeout=timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise SandboxError(f"the host does not answer within {timeout_s:g} s") from None
        except OSError as error:
            raise SandboxError(f"{where[0]} cannot be started: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            hint = f"try `{self.at_a_shell}true`" if done.returncode == 255 and self.at_a_shell else None
            raise SandboxError(said or f"exit code {done.returncode}", hint=hint)
        return done.stdout

    def tree(self, reader: str) -> Tree:
        """What one of the readers sees. Raises SandboxError, ToolchainError or TargetError where it cannot look."""
        if reader not in self._trees:
            try:
                self._trees[reader] = self._read(reader)
            except AmdkernelError as error:
                self._trees[reader] = error
        found = self._trees[reader]
        if isinstance(found, AmdkernelError):
            raise found
        return found

    def trees(self) -> dict[str, Tree]:
        """Those that were read so far."""
        return {reader: found for reader, found in self._trees.items() if isinstance(found, Tree)}

    def _read(self, reader: str) -> Tree:
        script = (folder("sandbox") / "bringup" / "read_tree.py").read_bytes()
        if reader == "host":
            place = str(self.info.get("DockerRootDir") or "") if _quietly(lambda: self.info) else ""
            printed = self.shell(f"python3 - {_quoted(place)}", stdin=script)
        else:
            # To a file: stderr is cut in its middle.
            command = ["sh", "-c", 'python3 -s read_tree.py "" >"$OUT/tree.json"']
            done = self.inside(_KINDS[reader], command, {"read_tree.py": script}, timeout_s=READ_TIMEOUT_S)
            printed = done.files.get("tree.json", b"") or done.stderr.encode()
        self.said[f"readings/{reader}.json"] = printed
        return read_tree(printed, reader)

    def inside(
        self, kind: SandboxKind, command: Sequence[str], files: dict[str, bytes], *, timeout_s: float
    ) -> Completed:
        """Run a command in a container of a kind; `run` has the GPU. Raises what the sandbox raises."""
        sandbox = self.with_gpu if kind == "run" else self.without_gpu
        return sandbox.run(kind, command, files, timeout_s=timeout_s)

    @cached_property
    def info(self) -> dict[str, Any]:
        """`docker info`. Raises SandboxError."""
        daemon = connect(self.url)
        try:
            found = daemon.info
        finally:
            daemon.close()
        kept: tuple[str, ...] = (
            "ServerVersion",
            "CgroupVersion",
            "CgroupDriver",
            "SecurityOptions",
            "NCPU",
            "MemTotal",
            "Driver",
        )
        kept += ("KernelVersion", "OperatingSystem", "DockerRootDir", "DefaultRuntime", "Architecture")
        shown = {name: found.get(name) for name in kept}
        self.said["docker_info.json"] = json.dumps(shown).encode()
        return shown

    @property
    def has_containers(self) -> bool:
        """Whether jobs run in containers there."""
        return self.host is not None or not uses_no_containers(self.settings)

    @cached_property
    def without_gpu(self) -> Sandbox:
        """Raises SandboxError, ToolchainError."""
        return open_sandbox(self.settings, host=self.host, compiles=False)

    @cached_property
    def with_gpu(self) -> Sandbox:
        """Raises SandboxError, ToolchainError, TargetError."""
        return open_sandbox(self.settings, host=self.host, gpu=self.index, compiles=False)

    def close(self) -> None:
        """Remove the containers."""
        for name in ("without_gpu", "with_gpu"):
            if name in self.__dict__:
                self.__dict__[name].close()


def machine_of(settings: Settings, target: str) -> Machine:
    """The machine of a target such as `gpu1:0` or `local:1`; `gpu1` is its first GPU. Raises InputError for others."""
    host, _, index = target.partition(":")
    if host != "local" and host not in settings.hosts:
        known = ", ".join(["local:0", *(f"{name}:0" for name in settings.hosts)])
        raise InputError(
            f"{target!r} is not a GPU of this machine or of a host in the settings",
            hint=f"known are {known}; run `amdkernel bringup local:0` on the machine of a worker or of Slurm",
        )
    if index and not index.isdecimal():
        raise InputError(f"{target!r} names no GPU", hint=f"write {host}:0")
    return Machine(settings, None if host == "local" else host, int(index or 0))


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _quietly(ask: Callable[[], object]) -> bool:
    """Whether it answers."""
    try:
        ask()
    except AmdkernelError:
        return False
    return True
