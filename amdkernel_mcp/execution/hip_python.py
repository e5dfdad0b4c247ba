"""Pinned wheels for the sandbox, fetched by our pip for whichever Python it has: AMD's bindings, Triton, FlyDSL."""

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.progress import Progress

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def hip_python(wheels: Path, python: tuple[int, int], progress: Progress) -> Mapping[str, bytes]:
    """Path in the search path to content. `wheels`: folder that keeps what was fetched. Raises ToolchainError."""
    files: dict[str, bytes] = {}
    for wheel in pinned_wheels(wheels, folder("sandbox") / "image" / "hip-python.txt", python, progress):
        with zipfile.ZipFile(wheel) as archive:
            files |= {member.filename: archive.read(member) for member in archive.infolist() if not member.is_dir()}
    return files


def pinned_wheels(wheels: Path, requirements: Path, python: tuple[int, int], progress: Progress) -> list[Path]:
    """The wheels that the file `requirements` pins, fetched where `wheels` lacks them. Raises ToolchainError."""
    pins = [line.split("==") for line in requirements.read_text().split() if "==" in line]
    tag = f"cp{python[0]}{python[1]}" if python in ((3, 11), (3, 14)) else "cp312"
    kept = wheels / tag
    if len(_wheels(kept, pins)) != len(pins):
        progress(f"fetching {requirements.stem}")
        _fetch(kept, requirements, tag)
    return _wheels(kept, pins)


def _wheels(kept: Path, pins: list[list[str]]) -> list[Path]:
    return [path for name, version in pins for path in kept.glob(f"{name.replace('-', '_')}-{version}-*.whl")]


def _fetch(kept: Path, requirements: Path, tag: str) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    # `-qq`: no warning for each index that lacks a package, so that the end of stderr is the error.
    command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={tag[2:3]}.{tag[3:]}"]
    command += [f"--abi={abi}" for abi in ("abi3", tag, "none")]
    command += [f"--platform={platform}" for platform in _PLATFORMS]
    command += ["--dest", str(kept), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolchainError(
            f"pip could not fetch {requirements.stem}: {done.stderr.strip()[-500:]}",
            hint="this Python needs pip and a way to its package index",
        )
