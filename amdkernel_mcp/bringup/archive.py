"""The archive of a bring-up: one scrubbed tar, compressed as well as this machine can.

It holds `bringup.json` (the result), `readings/READER.json` (what each reader saw, with an errno for each file) and
what was printed. tests/gpu_host serves it as a machine.
"""

from __future__ import annotations

import importlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from amdkernel_mcp.bringup.reading import Tree, read_tree
from amdkernel_mcp.bringup.scrub import scrubbed
from amdkernel_mcp.errors import InputError, SandboxError

FORMAT = "bringup 1\n"


def write_archive(folder: Path, name: str, files: Mapping[str, bytes], names: Iterable[str]) -> Path:
    """The path of the archive: `name` with .tar.zst, or .tar.gz where nothing here compresses so. Raises InputError."""
    packed = _tar({"format": FORMAT.encode(), **scrubbed(dict(files), names)})
    compress = _zstd()
    path = folder / f"{name}.tar.{'zst' if compress else 'gz'}"
    check_folder(folder)
    try:
        if compress:
            path.write_bytes(compress(packed))
        else:
            with tarfile.open(path, "w:gz") as archive:
                _add_all(archive, _unpacked(packed))
    except OSError as error:
        raise InputError(f"the archive cannot be written: {error.strerror}", file=str(path)) from None
    return path


def check_folder(folder: Path) -> None:
    """Make the folder of an archive where it is missing. Raises InputError where nothing can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"the archive cannot be written: {error.strerror}", file=str(folder)) from None


def read_archive(path: Path) -> dict[str, bytes]:
    """The files of an archive. Raises InputError."""
    try:
        data = path.read_bytes()
        if data[:4] == b"\x28\xb5\x2f\xfd":
            data = _decompressed(data)
        files = _unpacked(data)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(f"this is not an archive of a bring-up: {error}", file=str(path)) from None
    if files.get("format") != FORMAT.encode():
        raise InputError("this is not an archive of a bring-up, or one of another version", file=str(path))
    return files


def trees_of(files: Mapping[str, bytes]) -> dict[str, Tree]:
    """What each reader saw. Raises SandboxError."""
    found = {}
    for name, data in files.items():
        folder, _, file = name.rpartition("/")
        if folder == "readings":
            reader = file.removesuffix(".json")
            found[reader] = read_tree(data, reader)
    return found


def _zstd() -> Callable[[bytes], bytes] | None:
    """What compresses: the extra zstandard, Python 3.14's own module, or the program zstd."""
    for module, function in (("zstandard", "compress"), ("compression.zstd", "compress")):
        try:
            found: Callable[[bytes], bytes] = getattr(importlib.import_module(module), function)
        except ImportError:
            continue
        return found
    return _with_program("-q", "-c") if shutil.which("zstd") else None


def _decompressed(data: bytes) -> bytes:
    for module in ("compression.zstd", "zstandard"):
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        if module == "zstandard":
            with found.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
                return bytes(reader.read())
        return bytes(found.decompress(data))
    if shutil.which("zstd"):
        return _with_program("-q", "-d", "-c")(data)
    raise InputError("nothing here reads .tar.zst", hint="`sudo apt-get install zstd`, or the extra [zstd]")


def _with_program(*options: str) -> Callable[[bytes], bytes]:
    def run(data: bytes) -> bytes:
        done = subprocess.run(["zstd", *options], input=data, capture_output=True, check=False)
        if done.returncode:
            raise SandboxError(f"zstd ends with {done.returncode}: {done.stderr[-200:].decode(errors='replace')}")
        return done.stdout

    return run


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        _add_all(archive, files)
    return buffer.getvalue()


def _add_all(archive: tarfile.TarFile, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o644
        archive.addfile(member, io.BytesIO(data))


def _unpacked(data: bytes) -> dict[str, bytes]:
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)) is not None:
                found[member.name] = file.read()
    return found
