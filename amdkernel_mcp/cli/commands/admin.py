"""Commands of whoever runs a team's server: users, tokens, GPUs, audit. They use its database alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.access.scopes import SCOPES, USUAL
from amdkernel_mcp.cli.commands import admin_backup, admin_gpus
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish
from amdkernel_mcp.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Users, tokens, GPUs, backups and audit log of a server.",
)
tokens_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Add, list and revoke tokens.")
app.add_typer(tokens_app, name="tokens")
app.add_typer(admin_gpus.app, name="gpus")
app.command()(admin_backup.backup)
app.command()(admin_backup.restore)


@app.command()
def users(json: Json = False) -> int:
    """List who may use the server, with scopes and last use.

    Example: amdkernel admin users
    """
    from amdkernel_mcp.access.listed import user_list
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.cli.show.access import show_users
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.server.admission.tokens import read_tokens

    in_file = set(read_tokens(load_settings()).values())
    with admin_database() as database:
        found = user_list(TokenStore(database).list(), in_file)
    return finish(found, good=True, json=json, show=lambda console: show_users(console, found))


@tokens_app.command()
def add(
    user: Annotated[str, typer.Argument(help="The user's name.", show_default=False)],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(SCOPES)}; may be repeated. Default: {', '.join(USUAL)}.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days for which it is valid; default: until revoked.", show_default=False)
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Write it to this new file, for you alone, and not print it.", show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Make a token for a user and print it, once.

    Servers accept it at once; only its hash is stored. With the scope worker it is for `amdkernel worker`.

    Example: amdkernel admin tokens add ann --scope docs --scope check --days 90
    """
    from amdkernel_mcp.access.listed import listed_token
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.cli.show.access import show_new
    from amdkernel_mcp.results.access import NewToken

    with admin_database() as database, new_private_file(to) as keep:
        text, added = TokenStore(database).add(user, scope or USUAL, days=days)
        keep(text)
    new = NewToken(token=None if to else text, file=str(to) if to else None, added=listed_token(added))
    return finish(new, good=True, json=json, show=lambda console: show_new(console, new))


@tokens_app.command(name="list")
def list_(json: Json = False) -> int:
    """List the tokens in the database, also expired and revoked ones.

    Example: amdkernel admin tokens list
    """
    from amdkernel_mcp.access.listed import token_list
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.cli.show.access import show_tokens

    with admin_database() as database:
        found = token_list(TokenStore(database).list())
    return finish(found, good=True, json=json, show=lambda console: show_tokens(console, found))


@tokens_app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Id of the token, from `list`.", show_default=False)],
    json: Json = False,
) -> int:
    """Revoke a token for good.

    Running servers refuse it 2 seconds later at the latest, also on open connections. Jobs of its user are not
    ended: they are named, with the command by which an admin cancels each.

    Example: amdkernel admin tokens revoke 3f9c01ab
    """
    from amdkernel_mcp.access.listed import listed_token
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.cli.show.access import show_revoked
    from amdkernel_mcp.jobs.unfinished import unfinished_jobs
    from amdkernel_mcp.results.access import RevokedToken

    with admin_database() as database:
        gone = TokenStore(database).revoke(token)
        revoked = RevokedToken(tokens=[listed_token(gone)], unfinished_jobs=unfinished_jobs(database, gone.user))
    return finish(revoked, good=True, json=json, show=lambda console: show_revoked(console, revoked))


@tokens_app.command()
def rotate(
    token: Annotated[str, typer.Argument(help="Id of a valid token, from `list`.", show_default=False)],
    overlap_hours: Annotated[
        float, typer.Option(min=0, max=720, help="Hours for which the old one is still valid.")
    ] = 0.0,
    to: Annotated[
        Path | None,
        typer.Option(help="Write it to this new file, for you alone, and not print it.", show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Make a token in place of another, with its user, its scopes and its end.

    The old one is revoked, or ends after the overlap, in which its user takes the new one.

    Example: amdkernel admin tokens rotate 3f9c01ab --overlap-hours 24
    """
    from amdkernel_mcp.access.listed import listed_token
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.cli.show.access import show_new
    from amdkernel_mcp.results.access import NewToken

    with admin_database() as database, new_private_file(to) as keep:
        text, added = TokenStore(database).rotate(token, overlap_s=overlap_hours * 3600.0)
        keep(text)
    new = NewToken(token=None if to else text, file=str(to) if to else None, added=listed_token(added))
    return finish(new, good=True, json=json, show=lambda console: show_new(console, new))


@app.command()
def audit(
    user: Annotated[str | None, typer.Option(help="Lines of this user only.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=10000, help="How many.")] = 50,
    json: Json = False,
) -> int:
    """Show who did what on the server and what was refused, newest first.

    Example: amdkernel admin audit --user ann
    """
    from amdkernel_mcp.access.audit import AuditLog
    from amdkernel_mcp.access.listed import audit_list
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.cli.show.access import show_audit
    from amdkernel_mcp.config import load_settings

    with admin_database() as database:
        log = AuditLog(database, keep_days=load_settings().audit_days)
        found = audit_list(log.list(user=user, limit=limit))
    return finish(found, good=True, json=json, show=lambda console: show_audit(console, found))


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
