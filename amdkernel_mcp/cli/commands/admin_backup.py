"""Commands that copy the server's database, and bring a copy back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.", show_default=False)],
    json: Json = False,
) -> int:
    """Write a copy of the database: attempts, jobs, leases, tokens, audit log.

    Servers continue meanwhile; the copy is what the database was at one moment. It names what else belongs to it.

    Example: amdkernel admin backup /backup/amdkernel-2026-11-23.sqlite3
    """
    from amdkernel_mcp.access.audit import AuditLog, by_command
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.cli.show.access import show_backup
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.database.backup import back_up

    settings = load_settings()
    made = back_up(settings, file.absolute())
    with admin_database() as database:
        AuditLog(database, keep_days=settings.audit_days).write(by_command("admin backup"))
    return finish(made, good=True, json=json, show=lambda console: show_backup(console, made))


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `backup` wrote.", show_default=False)],
    json: Json = False,
) -> int:
    """Make a backup the database; the old one is kept next to it.

    It is refused while a server or another command has the database open.

    Example: amdkernel admin restore /backup/amdkernel-2026-11-23.sqlite3
    """
    from amdkernel_mcp.access.audit import AuditLog, by_command
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.cli.show.access import show_restored
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.database.backup import restore

    settings = load_settings()
    done = restore(settings, file.absolute())
    with admin_database() as database:
        AuditLog(database, keep_days=settings.audit_days).write(by_command("admin restore"))
    return finish(done, good=True, json=json, show=lambda console: show_restored(console, done))
