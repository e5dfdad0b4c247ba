"""Commands about the MCP server: serve, install."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.report import GOOD, note, print_line


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which clients reach this server, e.g. mcp.example.com; may be repeated."),
    ] = None,
) -> int:
    """Serve the tools to a team over HTTP.

    Streamable HTTP at /mcp; each user is named by a bearer token.

    Tokens come from the setting tokens_file (a line each: TOKEN NAME) or `tokens`. Without any
    it serves this machine only.

    Example: amdkernel serve --host 0.0.0.0 --allow-host gpu1.example.com
    """
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.server.tokens import read_tokens, require_tokens

    settings = load_settings()
    tokens = read_tokens(settings)
    require_tokens(host, tokens)
    who = f"{len(set(tokens.values()))} named users" if tokens else "every user of this machine, without a token"
    note(f"amdkernel-mcp serves http://{host}:{port}/mcp to {who}; Ctrl-C ends it")
    from amdkernel_mcp.server.transports import serve_http  # takes two seconds to import

    serve_http(settings, tokens, host=host, port=port, allowed_hosts=allow_host or [])
    return 0


def install(
    client: Annotated[str, typer.Argument(help="cursor, claude-code, codex, vscode, gemini or opencode.")],
    project: Annotated[
        bool, typer.Option("--project", help="Into the present folder's configuration instead of the user's.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="Use the team's server at this URL instead of one here.")] = None,
    print_: Annotated[bool, typer.Option("--print", help="Print the configuration and change nothing.")] = False,
) -> int:
    """Add the server to an MCP client.

    Other entries of its configuration stay as they are.

    With --url the client sends the bearer token that it finds in the environment variable AMDK_TOKEN.

    Example: amdkernel install cursor
    """
    from amdkernel_mcp.cli.clients import configure

    change = configure(client, folder=Path.cwd() if project else None, url=url)
    if print_:
        print_line(change.snippet)
        note(f"goes into {change.file}")
    else:
        note(f"{change.write()} {change.file}")
    return GOOD
