"""The engine that a command calls: this machine's, or a team's server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.cli.report import note
from amdkernel_mcp.errors import InputError

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.remote.engine import RemoteEngine


@contextlib.contextmanager
def open_engine() -> Iterator[Engine]:
    """An engine with the current settings; it is closed, with its containers, however the command ends."""
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine.engine import Engine

    engine = Engine(load_settings())
    try:
        yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def open_engine_at(url: str | None, token_file: Path | None) -> Iterator[Engine | RemoteEngine]:
    """The engine of the server at `url`; without one, that of this machine. Raises InputError for wrong options."""
    if url is not None:
        with open_remote_engine(url, token_file) as remote:
            yield remote
        return
    if token_file is not None:
        raise InputError("--token-file needs --url")
    with open_engine() as engine:
        yield engine


@contextlib.contextmanager
def open_remote_engine(url: str, token_file: Path | None) -> Iterator[RemoteEngine]:
    """The engine of a team's server. Raises InputError for an address that is none."""
    from amdkernel_mcp.remote.calls import Server
    from amdkernel_mcp.remote.engine import RemoteEngine
    from amdkernel_mcp.server.address import checked_url, is_readable_by_others
    from amdkernel_mcp.server.token_file import read_token

    address = checked_url(url)
    if is_readable_by_others(address):
        note(f"amdkernel: {address} is not encrypted: others on the network can read token and kernels")
    file = token_file.expanduser() if token_file else None
    engine = RemoteEngine(Server(address, lambda: read_token(file)), note)
    try:
        yield engine
    finally:
        engine.close()
