"""What a source file of a HIP program is called."""

import posixpath

SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu")


def is_source(name: str) -> bool:
    """Whether hipcc compiles a file of this name."""
    return posixpath.splitext(name)[1] in SOURCES
