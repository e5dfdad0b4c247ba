"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def problem_names() -> list[str]:
    """The bundled problems, for a shell that completes a word."""
    from amdkernel_mcp.problems.problem_file import bundled_problems

    return bundled_problems()


def target_names() -> list[str]:
    """The emulated GPUs, for a shell that completes a word; to ask for real ones would take too long."""
    from amdkernel_mcp.execution.hosts import EMULATED

    return [f"emulator:{arch}" for arch in EMULATED]


Target = Annotated[
    str | None,
    typer.Option(
        help="Where it runs; see `amdkernel targets`. `any`, `any:MI300X`, `gfx942`: a GPU of that kind.",
        show_default=False,
        autocompletion=target_names,
    ),
]
Case = Annotated[
    str | None,
    typer.Option(help="The case to time, such as n=4096; default: its profile case, or largest.", show_default=False),
]
Parent = Annotated[
    str | None,
    typer.Option(help="The attempt that this one builds on; default: the one before it.", show_default=False),
]
Url = Annotated[
    str | None,
    typer.Option(help="Do it on the team's server at this address, with your token in AMDK_TOKEN.", show_default=False),
]
ServerUrl = Annotated[
    str, typer.Option("--url", help="Address of the server; AMDK_TOKEN has your token.", show_default=False)
]
TokenFile = Annotated[Path | None, typer.Option(help="With --url: the file with your token.", show_default=False)]
