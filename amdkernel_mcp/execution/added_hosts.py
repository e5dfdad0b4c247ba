"""Hosts that other packages add: docs/extending.md. Those of the settings, workers and Slurm are known without one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.extensions import installed
from amdkernel_mcp.hardware.target import Target

_OURS = ("emulator", "local", "slurm", "any")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}", re.ASCII)


@runtime_checkable
class Host(Protocol):
    """A machine, or several behind one name, on which code runs."""

    name: str
    """Before the colon of its targets."""

    def targets(self) -> Sequence[Target]:
        """What it has now: `NAME:0` for a GPU, `NAME:gfx942` for an emulated one, with `host=NAME`.

        A GPU has an index, and an id, under which it is leased. Raises SandboxError where the host does not answer.
        """
        ...

    def open(self, target: Target) -> Sandbox:
        """A sandbox there, which is closed by whoever asked for it. Raises SandboxError, ToolchainError."""
        ...

    def render_node(self, target: Target) -> str:
        """Of a GPU, such as `/dev/dri/renderD128` there. Raises TargetError where it is gone."""
        ...


def added_hosts(settings: Settings) -> Sequence[Host]:
    """The hosts of other packages. One that the settings name as well is the settings'.

    Raises InfrastructureError for a package that cannot be loaded, or whose name cannot be that of a host.
    """
    found: tuple[Host, ...] = installed("hosts", Host)  # type: ignore[type-abstract]
    for each in found:
        if each.name in _OURS or not _NAME.fullmatch(each.name):
            raise InfrastructureError(f"{each.name[:80]!r}, which a package adds, cannot be the name of a host")
    return [each for each in found if each.name not in settings.hosts]


def added_host(name: str | None, settings: Settings) -> Host | None:
    """The host of this name; None for any that no package adds."""
    return None if name is None else next((each for each in added_hosts(settings) if each.name == name), None)
