"""The kernel text that a caller sent or named."""

from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import InputError

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class KernelSource:
    """Text of a kernel, and the file name that messages use for it."""

    source: str
    file_name: str


def sent_kernel(source: str, file_name: str = "kernel.hip") -> KernelSource:
    """The kernel whose text was sent. Raises InputError over 1 MiB."""
    if len(source.encode(errors="replace")) > MAX_BYTES:
        raise InputError(f"a kernel may have {MAX_BYTES >> 20} MiB at most", file=file_name)
    return KernelSource(source, file_name)


def read_kernel(path: Path) -> KernelSource:
    """The kernel in the file `path`. Raises InputError when it cannot be read, is not text or is over 1 MiB."""
    try:
        if not path.is_file():
            raise InputError("there is no such file", file=str(path))
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"a kernel may have {MAX_BYTES >> 20} MiB at most", file=str(path))
    try:
        return KernelSource(data.decode(), path.name)
    except UnicodeDecodeError:
        raise InputError("a kernel is UTF-8 text, and this file is not", file=str(path)) from None
