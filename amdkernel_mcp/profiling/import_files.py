"""The profile of a recording that came out of a sandbox."""

import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.results.kernels import ProfileResult


def import_files(files: Mapping[str, bytes], *, gpu: str) -> ProfileResult:
    """The profile of a recording whose files are given by relative path. Raises ProfileFileError."""
    with tempfile.TemporaryDirectory(prefix="amdkernel-profile-") as folder:
        for name, data in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                continue  # code in a sandbox must not choose where we write
            place = Path(folder, *path.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return import_recording(Path(folder), gpu=gpu)
