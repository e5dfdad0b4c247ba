"""Printing and exit codes: answers on stdout, everything else on stderr.

A reader that goes away changes no exit code, and a stream that is closed or broken causes no traceback.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from amdkernel_mcp.cli.escape import visible
from amdkernel_mcp.errors import InfrastructureError
from amdkernel_mcp.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console

    from amdkernel_mcp.results.quantity import Result

GOOD, BAD, USAGE, BROKEN = 0, 1, 2, 3
INTERRUPTED = 130


class ProgramCode(int):
    """An exit code that is the user's program's own, whatever it means for us."""


def finish(result: Result, *, good: bool, json: bool, show: Callable[[Console], None]) -> int:
    """Print the result, as JSON or by `show`. Returns the exit code. Raises InfrastructureError: a full disk."""
    from amdkernel_mcp.cli.console import stdout_console

    if json:
        deliver(lambda: print_line(result.model_dump_json(by_alias=True)))
    else:
        deliver(lambda: show(stdout_console()))
    return GOOD if good else BAD


def deliver(write: Callable[[], None]) -> None:
    """Write to stdout, all of it. A reader that has gone away has seen enough: that is not an error."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout.fileno())
    except OSError as error:
        discard(sys.stdout.fileno())
        raise InfrastructureError(f"the answer cannot be written: {error.strerror}") from None


def discard(descriptor: int) -> None:
    """Send what is still written to this descriptor to nowhere, so that Python does not complain when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def print_line(text: str) -> None:
    """One line on stdout, as it is: for JSON and for files."""
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """One line for a person, on stderr."""
    with contextlib.suppress(OSError, ValueError):  # closed, or its reader is gone
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()


def complain(
    message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None, as_json: bool = False
) -> None:
    """Print an error on stderr, as `amdkernel: FILE:LINE: MESSAGE`; with `as_json` also as JSON on stdout."""
    if as_json:
        error_as_json(message, file=file, line=line, hint=hint)
    place = ":".join(str(part) for part in (file, line) if part is not None)
    prefix = f"{place}: " if place and not message.startswith(place) else ""
    note(f"amdkernel: {prefix}{message}")
    if hint:
        note(f"  {hint}")


def error_as_json(message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None) -> None:
    """The error on stdout, for whoever reads JSON there."""
    error = {"message": message, "file": file, "line": line, "hint": hint}
    with contextlib.suppress(InfrastructureError):  # the error itself goes to stderr
        deliver(lambda: print_line(json.dumps({"error": error})))


@contextlib.contextmanager
def progress(*, lines: bool = False) -> Iterator[Progress]:
    """A function that reports progress: a spinner on a terminal; elsewhere nothing, or `lines` on stderr.

    Called with an empty text it ends the spinner for good, because output follows.
    """
    if not sys.stderr.isatty():
        yield note if lines else silent
        return
    from rich.text import Text

    from amdkernel_mcp.cli.console import stderr_console

    console = stderr_console()
    with console.status("starting", spinner="dots") as status:
        done: list[str] = []

        def show(message: str) -> None:
            if not message:
                status.stop()
                return
            if lines and done:
                console.print(Text.assemble(("✓ ", "green"), done.pop()))
            done.append(message)
            status.update(Text(message))

        yield show
