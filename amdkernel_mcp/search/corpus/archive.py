"""Unpacks an archive of documents from elsewhere: regular files only, inside one folder, of bounded size."""

import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.progress import Progress, silent

MOST_FILES = 50_000
MOST_BYTES = 1_000_000_000
LARGEST_FILE_BYTES = 50_000_000
_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst", ".tzst")


def is_archive(path: Path) -> bool:
    """Whether `path` is a file with the name of a tar archive."""
    return path.is_file() and path.name.lower().endswith(_SUFFIXES)


@contextmanager
def unpacked(archive: Path, on_progress: Progress = silent) -> Iterator[Path]:
    """A folder with the contents of `archive`, removed afterwards. Raises DocumentationError for a bad archive."""
    on_progress(f"unpacking {archive.name}")
    with tempfile.TemporaryDirectory(prefix="amdkernel-docs-") as scratch:
        target = Path(scratch)
        try:
            with open_tar(archive) as tar:
                extract_text(tar, target, archive.name)
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise DocumentationError(f"the archive is damaged: {error}", file=str(archive)) from None
        inside = list(target.iterdir())
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def extract_text(
    tar: tarfile.TarFile,
    target: Path,
    name: str,
    *,
    wanted: Callable[[PurePosixPath], PurePosixPath | None] = lambda path: path,
) -> int:
    """Extracts the regular files of `tar` into `target`; the number of files.

    wanted: the path below `target` that a file gets, None for a file that is not wanted.

    Links and devices are left out: no document needs them, and a link is how an archive reaches out of its folder.
    Raises DocumentationError for a path that leaves `target`, and for an archive over the limits.
    """
    files = total = 0
    for member in tar:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts:
            raise DocumentationError(f"a file of the archive has a path outside it: {member.name!r}", file=name)
        place = wanted(path) if member.isfile() else None
        if place is None:
            continue
        files, total = files + 1, total + member.size
        if files > MOST_FILES or total > MOST_BYTES:
            raise DocumentationError(
                f"the archive holds more than {MOST_FILES} files or {MOST_BYTES // 10**9} GB",
                file=name,
            )
        if member.size > LARGEST_FILE_BYTES:
            continue
        into = target / place
        into.parent.mkdir(parents=True, exist_ok=True)
        content = tar.extractfile(member)
        if content is not None:
            with into.open("wb") as out:
                shutil.copyfileobj(content, out)
    return files


@contextmanager
def open_tar(archive: Path) -> Iterator[tarfile.TarFile]:
    """The archive, to be read once from its beginning to its end."""
    with _opened(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        yield tar


@contextmanager
def _opened(archive: Path) -> Iterator[IO[bytes]]:
    """The archive's tar stream; decompression runs as the reader asks, so that a bomb is stopped by the limits."""
    name = archive.name.lower()
    if name.endswith((".zst", ".tzst")):
        with archive.open("rb") as packed, _zstandard_reader(packed) as stream:
            yield stream
    elif name.endswith((".gz", ".tgz")):
        import gzip

        with gzip.open(archive) as stream:
            yield cast("IO[bytes]", stream)
    elif name.endswith((".xz", ".txz")):
        import lzma

        with lzma.open(archive) as stream:
            yield cast("IO[bytes]", stream)
    elif name.endswith(".bz2"):
        import bz2

        with bz2.open(archive) as stream:
            yield cast("IO[bytes]", stream)
    else:
        with archive.open("rb") as stream:
            yield stream


@contextmanager
def _zstandard_reader(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise DocumentationError(
            "a `.tar.zst` needs a package that is not installed",
            file=getattr(packed, "name", None),
            hint="pip install 'amdkernel-mcp[zstd]', or pack the documents as `.tar.gz` or `.tar.xz`",
        ) from None

    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as stream:
            yield cast("IO[bytes]", stream)
    except zstandard.ZstdError as error:
        raise DocumentationError(f"the archive is damaged: {error}", file=getattr(packed, "name", None)) from None
