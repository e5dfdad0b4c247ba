"""The Rich consoles of the command line. All text for a person enters a terminal here, and is escaped here."""

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment

from amdkernel_mcp.cli.escape import visible

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType

PIPE_WIDTH = 100


class SafeConsole(Console):
    """A console that escapes what it prints, and leaves it to its caller what a closed pipe means."""

    def render(self, renderable: "RenderableType", options: "ConsoleOptions | None" = None) -> Iterable[Segment]:
        """The segments of `renderable`. Rich calls this for each part, so that widths are those of the escaped text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Rich exits with 1 here, which would be the verdict on a kernel."""
        raise BrokenPipeError


def stdout_console() -> Console:
    """Where answers for a person go. Honours NO_COLOR, FORCE_COLOR and COLUMNS."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """Where everything else goes."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    # No markup: names of kernels and files have brackets of their own.
    return SafeConsole(stderr=stderr, highlight=False, width=width, soft_wrap=False, emoji=False, markup=False)
