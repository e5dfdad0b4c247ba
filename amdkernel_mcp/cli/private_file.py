"""A new file that only its owner can read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from amdkernel_mcp.errors import InputError


@contextmanager
def new_private_file(file: Path | None) -> Iterator[Callable[[str], None]]:
    """What writes a line to the file, made before the block begins and removed if the block fails.

    Without a file it writes nothing. Raises InputError for one that exists or cannot be made.
    """
    if file is None:
        yield lambda _: None
        return
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError("this file exists already", file=str(file), hint="name another one, or remove it") from None
    except OSError as error:
        raise InputError(f"the file cannot be made: {error.strerror}", file=str(file)) from None
    try:
        with os.fdopen(opened, "w", encoding="utf-8") as out:
            yield lambda line: print(line, file=out)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
