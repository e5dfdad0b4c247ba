"""What every command shares: settings and engine on the way in, printing and the exit code on the way out."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from amdkernel_mcp.engine import Engine
    from amdkernel_mcp.results.quantity import Result

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Target = Annotated[str | None, typer.Option(help="Where it runs; see `amdkernel targets`.", show_default=False)]

GOOD, BAD, USAGE, BROKEN = 0, 1, 2, 3
INTERRUPTED = 130
PIPE_WIDTH = 100


@contextlib.contextmanager
def open_engine() -> Iterator[Engine]:
    """An engine over the settings in force; closed, with its containers, however the command ends."""
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine import Engine

    engine = Engine(load_settings())
    try:
        yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def progress(*, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """A progress report for a person: a spinner on a terminal; elsewhere nothing, or `lines` on stderr."""
    if not sys.stderr.isatty():
        yield _line if lines else lambda _: None
        return
    console = stderr_console()
    with console.status("starting", spinner="dots") as status:
        done: list[str] = []

        def show(message: str) -> None:
            if lines and done:
                console.print(f"[green]✓[/] {done.pop()}")
            done.append(message)
            status.update(message)

        yield show


def finish(result: Result, *, good: bool, json: bool, show: Callable[[Console], None]) -> int:
    """Print the result, as JSON or by `show`; the exit code."""
    if json:
        sys.stdout.write(result.model_dump_json(by_alias=True) + "\n")
    else:
        show(stdout_console())
    return GOOD if good else BAD


def complain(
    message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None, as_json: bool
) -> None:
    """Print an error: with `as_json` as the one JSON document on stdout, and always for a person on stderr."""
    if as_json:
        error = {"message": message, "file": file, "line": line, "hint": hint}
        sys.stdout.write(json.dumps({"error": error}, ensure_ascii=False) + "\n")
    place = ":".join(str(part) for part in (file, line) if part is not None)
    prefix = f"{place}: " if place and not message.startswith(place) else ""
    sys.stderr.write(f"amdkernel: {prefix}{message}\n")
    if hint:
        sys.stderr.write(f"  {hint}\n")


def stdout_console() -> Console:
    """Where answers for a person go. Honours NO_COLOR, FORCE_COLOR and COLUMNS."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """Where everything else goes."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    import os

    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, width=width, soft_wrap=False, emoji=False, markup=True)


def _line(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
