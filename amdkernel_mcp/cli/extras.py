"""Packages that only some commands need, and that an installation may leave out."""

from importlib.util import find_spec

from amdkernel_mcp.errors import InfrastructureError

TEAM = ("prometheus_client", "websockets")
"""The modules of the extra `team`."""


def require_team(command: str) -> None:
    """Raises InfrastructureError, which says how to install them, unless the packages of the extra `team` are there."""
    missing = [module for module in TEAM if find_spec(module) is None]
    if missing:
        raise InfrastructureError(
            f"`amdkernel {command}` needs {' and '.join(missing)}, which are not installed",
            hint="pip install 'amdkernel-mcp[team]'; in a checkout pip install '.[team]'",
        )
