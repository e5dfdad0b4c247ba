"""The docstrings inside a wheel as documents: the newest reference of HIP's API comes with AMD's Python bindings.

Set-up fetches these wheels for the sandbox by name, from whatever package index this Python's pip has. So the index has
HIP's newest API on a machine that reaches no site of documentation.
"""

import zipfile
from pathlib import Path

from amdkernel_mcp.search.corpus.declared import SourceSpec
from amdkernel_mcp.search.formats.docstrings import pages_of_module

LARGEST_MODULE_BYTES = 4_000_000


def take_docstrings(wheel: Path, spec: SourceSpec, target: Path) -> int:
    """Writes the docstrings of the modules that `spec` takes as Markdown below `target`; how many pages.

    A wheel that is damaged, and a module that is not Python, have none.
    """
    count = 0
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                name = member.filename
                inside = not name.startswith("/") and ".." not in name
                if not inside or not spec.wants(name) or member.file_size > LARGEST_MODULE_BYTES:
                    continue
                for path, page in pages_of_module(name, archive.read(member).decode("utf-8", errors="replace")):
                    into = target / path
                    into.parent.mkdir(parents=True, exist_ok=True)
                    into.write_text(page, encoding="utf-8")
                    count += 1
    except (OSError, zipfile.BadZipFile):
        return count
    return count
