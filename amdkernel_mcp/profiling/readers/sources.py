"""The source files that a thread trace brings along: rocprofv3 copies them next to code.json.

snapshots.json is a tree of folders whose leaves name the copies. It is untrusted: only plain files of that folder are
opened, never a path that the recording names.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.recording import visible

SNAPSHOTS = "snapshots.json"
LARGEST_INDEX_BYTES = 1 << 20
LARGEST_SOURCE_BYTES = 4 << 20
DEEPEST = 100


def source_copies(folder: Path) -> dict[str, Path]:
    """The copy of each source file by the path that the code names. Empty without snapshots.json.

    Raises ProfileFileError for a snapshots.json that is none.
    """
    index = folder / SNAPSHOTS
    if index.is_symlink() or not index.is_file():
        return {}
    try:
        if index.stat().st_size > LARGEST_INDEX_BYTES:
            raise ValueError("it is too large")
        tree = json.loads(index.read_bytes())
        if not isinstance(tree, dict):
            raise ValueError("it is not an object")
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileFileError(f"snapshots.json cannot be read: {error}"[:200], file=str(index)) from error
    found = {}
    for path, name in _leaves(tree):
        if Path(name).name == name and not name.startswith(".") and _is_plain_file(folder / name):
            found[path] = folder / name
    return found


def _is_plain_file(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_file()
    except OSError:  # a name that is too long
        return False


def _leaves(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pending = [("", tree, 0)]
    while pending:
        path, node, depth = pending.pop()
        for name, below in node.items():
            here = name if not path else f"{path.rstrip('/')}/{name}"
            if isinstance(below, dict) and depth < DEEPEST:
                pending.append((here, below, depth + 1))
            elif isinstance(below, str):
                yield visible(here), below


def source_lines(copy: Path) -> list[str]:
    """The lines of a copied source file; empty where it cannot be read, since a profile is worth something without."""
    try:
        if copy.is_symlink() or copy.stat().st_size > LARGEST_SOURCE_BYTES:
            return []
        return copy.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
