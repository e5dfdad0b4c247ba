"""The command that shows a running server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import GOOD, finish
from amdkernel_mcp.errors import InfrastructureError, SettingsError

if TYPE_CHECKING:
    from amdkernel_mcp.results.server import ServerStatus

TOKEN = "AMDK_TOKEN"
_TIMEOUT_S = 60.0  # the first question may wait for the answers of GPU hosts


def top(
    url: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8080",
    every: Annotated[float, typer.Option(min=0.5, max=3600, help="Seconds between two questions.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and exit.")] = False,
    json: Json = False,
) -> int:
    """Show what runs on a server and what waits.

    GPUs and who uses them, and the queue with its places, as on the server's page. Ctrl-C ends it.

    The bearer token comes from the environment variable AMDK_TOKEN. --json prints one document and exits.

    Example: amdkernel top --url https://gpu1.example.com
    """
    from amdkernel_mcp.cli.show.top import show_status

    status = ask(url)
    if once or json:
        return finish(status, good=True, json=json, show=lambda console: show_status(console, status))
    _follow(url, status, every)
    return GOOD


def _follow(url: str, status: ServerStatus, every: float) -> None:
    import time

    from rich.live import Live

    from amdkernel_mcp.cli.console import stdout_console
    from amdkernel_mcp.cli.show.top import lost, screen

    with Live(screen(status), console=stdout_console(), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(every)
            try:
                status = ask(url)
                live.update(screen(status), refresh=True)
            except InfrastructureError as error:
                live.update(lost(status, error.message), refresh=True)


def ask(url: str, token_file: Path | None = None) -> ServerStatus:
    """What the server at `url` says. Raises InputError for the address or token, InfrastructureError else."""
    import httpx2
    from pydantic import ValidationError

    from amdkernel_mcp.results.server import ServerStatus
    from amdkernel_mcp.server.token_file import read_token

    token = read_token(token_file.expanduser() if token_file else None)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    address = url.rstrip("/").removesuffix("/mcp") + "/status.json"
    try:
        answer = httpx2.get(address, headers=headers, timeout=_TIMEOUT_S)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
        raise SettingsError(f"--url: {error}", hint="an address looks like https://gpu1.example.com:8080") from None
    except httpx2.HTTPError as error:
        said = str(error) or type(error).__name__
        raise InfrastructureError(f"{url} does not answer: {said}", hint="start it with `amdkernel serve`") from None
    if answer.status_code == 401:
        known = "does not know the token in" if token else "needs a token in"
        renewed = "it is wrong, expired or revoked: ask who runs the server for a new one"
        raise SettingsError(f"{url} {known} {TOKEN}", hint=renewed if token else "it is the one that your editor sends")
    try:
        answer.raise_for_status()
        return ServerStatus.model_validate_json(answer.content)
    except (httpx2.HTTPStatusError, ValidationError):
        raise InfrastructureError(
            f"{url} answers with status {answer.status_code}, but not as a server of this version does"
        ) from None
