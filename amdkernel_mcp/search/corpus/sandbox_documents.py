"""The documents that the sandbox's compiler brings: HIP's headers, and clang's table of AMDGPU builtins."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import DocumentationError

BUILTINS = "BuiltinsAMDGPU.inc"  # the form in which clang's own sources have this table


def sandbox_documents(settings: Settings) -> Path:
    """The folder of the headers (`hip`) and of the builtins (`clang/builtins`), from which the index is built too."""
    return settings.cache_dir / "docs" / "sandbox"


def write_sandbox_documents(folder: Path, headers: Mapping[str, bytes], builtins: bytes, clang: str) -> None:
    """Replaces both folders; `clang/.info/version` says which clang has the builtins. Raises DocumentationError."""
    made = {f"hip/{name}": data for name, data in headers.items()}
    made |= {f"clang/builtins/{BUILTINS}": builtins, "clang/.info/version": f"{clang}\n".encode()}
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for name, data in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise DocumentationError(f"{folder} cannot be written: {error}") from None
