"""Commands about the MCP server: serve, install."""

import socket
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.clients import CLIENTS, Team, configure, install_link
from amdkernel_mcp.cli.extras import require_team
from amdkernel_mcp.cli.report import GOOD, note, print_line
from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InfrastructureError


class LogFormat(StrEnum):
    """How a server writes its log."""

    text = "text"
    json = "json"


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which clients reach this server, e.g. mcp.example.com; may be repeated."),
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option(help="json: one JSON object per line on stderr, with a line for each job.")
    ] = LogFormat.text,
) -> int:
    """Serve the tools to a team over HTTP.

    Streamable HTTP at /mcp; each user is named by a bearer token.

    Tokens: `amdkernel admin tokens add`, the setting tokens_file (a line each: TOKEN NAME), or an
    identity provider (oidc_issuer). Without any it serves this machine only.

    Example: amdkernel serve --host 0.0.0.0 --allow-host gpu1.example.com
    """
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.server.admission.tokens import known_users, require_users

    require_team("serve")
    settings = load_settings()
    users = known_users(settings)
    require_users(host, users)
    require_free(host, port)
    who = counted(len(users.names), "named user") if users else "every user of this machine, without a token"
    if users.oidc:
        who += f" and those of {settings.oidc_issuer}"
    began = f"amdkernel-mcp serves http://{host}:{port}/mcp to {who}"
    if log_format is LogFormat.text:
        note(f"{began}; Ctrl-C ends it")
    from amdkernel_mcp.server.transports import serve_http  # takes two seconds to import

    serve_http(
        settings,
        users,
        host=host,
        port=port,
        allowed_hosts=allow_host or [],
        began=began,
        json_log=log_format is LogFormat.json,
    )
    return 0


def require_free(host: str, port: int) -> None:
    """Raises InfrastructureError where another process listens there, or where the address is not this machine's."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind(address)
    except OSError as error:
        raise InfrastructureError(
            f"cannot listen at {host}:{port}: {error.strerror}", hint="another port: `amdkernel serve --port N`"
        ) from None


def install(
    client: Annotated[
        str,
        typer.Argument(
            help="cursor, claude-code, claude-desktop, codex, vscode, gemini, opencode, windsurf or zed.",
            autocompletion=lambda: list(CLIENTS),
        ),
    ],
    project: Annotated[
        bool, typer.Option("--project", help="Into the present folder's configuration instead of the user's.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="Use the team's server at this URL instead of one here.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="With --url: the file with your token.", show_default=False)
    ] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="With --url: the client connects itself, and cannot name files here.")
    ] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print the configuration and change nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the server from the client again.")] = False,
) -> int:
    """Add the server to an MCP client, or remove it.

    Other entries of its configuration and its comments stay as they are.

    With --url nothing runs here: the client starts `amdkernel-mcp --url URL`, which sends kernels to
    that server with the token in --token-file or in the environment variable AMDK_TOKEN.

    Example: amdkernel install cursor
    """
    if print_ and remove:
        raise typer.BadParameter("give either --print or --remove")
    if (direct or token_file) and url is None:
        raise typer.BadParameter("--direct and --token-file need --url")
    if direct and token_file:
        raise typer.BadParameter("give either --direct or --token-file")
    team = Team(url, str(token_file.expanduser().absolute()) if token_file else None, direct) if url else None
    change = configure(client, folder=Path.cwd() if project else None, team=team, remove=remove)
    if print_:
        print_line(change.snippet)
        note(f"goes into {change.file}")
        if team is None and (link := install_link(client)):
            note(f"or open {link}")
    else:
        note(f"{change.write()} {change.file}")
    if team and not remove:
        note(_where_the_token_is(team, client))
    return GOOD


def _where_the_token_is(team: Team, client: str) -> str:
    if team.token_file is None:
        return f"the token: in the environment variable AMDK_TOKEN where {client} starts, or --token-file FILE"
    there = "" if Path(team.token_file).is_file() else ", which is not there yet"
    return f"the token: in {team.token_file}{there}"
