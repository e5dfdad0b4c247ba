"""Which Debian packages the sandbox has, in which versions: the list that its image was built with."""

from dataclasses import dataclass

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.sandbox import Sandbox

LIST = "/opt/amdkernel/packages"


@dataclass(frozen=True)
class DebianPackage:
    """One installed package."""

    name: str
    version: str
    architecture: str


def debian_packages(sandbox: Sandbox) -> list[DebianPackage]:
    """The packages by name; empty where the base is not a Debian. Raises SandboxError."""
    done = sandbox.run("compile", ["sh", "-c", f'! [ -e {LIST} ] || cp {LIST} "$OUT/packages"'], {}, timeout_s=60)
    if done.exit_code:
        raise SandboxError(f"the list of packages cannot be read: {done.stderr.strip()}")
    lines = done.files.get("packages", b"").decode().splitlines()
    return [DebianPackage(*line.split()) for line in lines]
