"""The command that lets this machine work for a server."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.extras import require_team
from amdkernel_mcp.cli.report import GOOD, note
from amdkernel_mcp.errors import InputError


def worker(
    url: Annotated[str, typer.Option(help="Address of the server, such as https://amdkernel.example.com.")],
    name: Annotated[
        str | None, typer.Option(help="What its targets begin with; without it, this machine's name.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the worker's token; else AMDK_TOKEN has it.", show_default=False),
    ] = None,
    gpu: Annotated[
        list[int] | None, typer.Option(help="Offer only this GPU; may be repeated. Without it all.", min=0)
    ] = None,
    emulator: Annotated[bool, typer.Option("--emulator", help="Offer emulated GPUs too: NAME:gfx942, ...")] = False,
    host: Annotated[
        str | None,
        typer.Option(help="Offer the GPUs of this entry of the setting `hosts` instead.", show_default=False),
    ] = None,
    once: Annotated[
        str | None,
        typer.Option(help="Serve only the session of this key, then exit.", metavar="KEY", show_default=False),
    ] = None,
    allow_reset: Annotated[
        bool,
        typer.Option("--allow-reset", help="Reset a GPU that does not come back after a job (AMDKERNEL_ALLOW_RESET)."),
    ] = False,
) -> int:
    """Run the work of a server on this machine's GPUs.

    It connects to the server, so nothing needs to reach this machine. Its GPUs are the server's
    targets NAME:0, NAME:1, ... until it ends. SIGTERM takes no new job and finishes those that have begun.

    Example: amdkernel worker --url https://amdkernel.example.com --token-file worker.token
    """
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.server.address import is_readable_by_others
    from amdkernel_mcp.server.token_file import read_token
    from amdkernel_mcp.workers.agent import Agent, worker_url
    from amdkernel_mcp.workers.messages import NAME
    from amdkernel_mcp.workers.offer import Offer

    require_team("worker")
    worker_url(url)
    if is_readable_by_others(url):
        note(f"{url} is not encrypted: others on the network can read the token and what is run")
    read_token(token_file)
    chosen = name or host or socket.gethostname().partition(".")[0]
    if not re.fullmatch(NAME, chosen) or chosen in ("emulator", "local"):
        raise InputError(f"{chosen!r} cannot be the name of a worker", hint="give another with --name")
    settings = load_settings()
    may_reset = allow_reset or settings.allow_reset
    if may_reset and host is not None:
        raise InputError("a worker resets GPUs of its own machine only", hint="run it on that host, without --host")
    compiles = once is None  # the server of a single session compiles on its own machine
    offer = Offer(settings, only=gpu or (), host=host, emulator=emulator, may_reset=may_reset, compiles=compiles)
    try:
        Agent(url, lambda: read_token(token_file), offer, offer.hello(chosen, once), note).work()
    finally:
        offer.close()
    return GOOD
