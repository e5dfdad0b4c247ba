"""The HIP compiler of this machine itself; only the fallback without containers uses it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import ToolchainError

OLDEST_CLANG = 18  # the first whose code objects (version 5, gfx942) and flags are the ones we read and give


@dataclass(frozen=True)
class Toolchain:
    """A hipcc that starts, and the version of the clang behind it."""

    hipcc: Path
    hip_version: str
    clang_version: str

    @property
    def rocm_path(self) -> Path:
        """What ROCM_PATH must be for this hipcc."""
        return self.hipcc.parent.parent


def rocm_environment(rocm_path: Path) -> dict[str, str]:
    """The variables that hipcc needs: AMD's own needs its root; a distribution's finds its parts without."""
    return {} if rocm_path == Path("/usr") else {"ROCM_PATH": str(rocm_path)}


def find_toolchain(environ: Mapping[str, str] | None = None) -> Toolchain:
    """The first hipcc that can be used: of ROCM_PATH, of /opt/rocm*, on PATH. Raises ToolchainError."""
    environ = os.environ if environ is None else environ
    reasons: list[str] = []
    for hipcc in _candidates(environ):
        found = _probe(hipcc)
        if isinstance(found, Toolchain):
            return found
        reasons.append(f"{hipcc}: {found}")
    raise ToolchainError(
        "no HIP compiler can be used: " + ("; ".join(reasons) or "no hipcc in ROCM_PATH, /opt/rocm* or PATH"),
        hint="install Docker and run `amdkernel setup`, or install hipcc",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    roots = [Path(environ["ROCM_PATH"])] if environ.get("ROCM_PATH") else []
    # ROCm 10 lies in /opt/rocm/core-N; only a package that may be missing links /opt/rocm/bin to it.
    roots += [Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
    roots += sorted(Path("/opt/rocm").glob("core*"), reverse=True)
    seen: set[Path] = set()
    on_path = shutil.which("hipcc", path=environ.get("PATH", os.defpath))
    for hipcc in [*(root / "bin" / "hipcc" for root in roots), *([Path(on_path)] if on_path else [])]:
        if os.access(hipcc, os.X_OK) and hipcc.resolve() not in seen:
            seen.add(hipcc.resolve())
            yield hipcc


def _probe(hipcc: Path) -> "Toolchain | str":
    """The toolchain, or why it cannot be used."""
    try:
        shown = subprocess.run([hipcc, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start ({error})"
    clang = re.search(r"clang version (\d+)([\d.]*)", shown.stdout)
    if clang is None:
        return "names no clang"
    if int(clang[1]) < OLDEST_CLANG:
        return f"its clang is {clang[1]}{clang[2]}, and {OLDEST_CLANG} is needed"
    hip = re.search(r"^HIP version: *(\S+)", shown.stdout, re.MULTILINE)
    return Toolchain(hipcc, hip[1] if hip else "unknown", clang[1] + clang[2])
