"""Commands about the GPUs of a team: what is known of them, and the end of a quarantine."""

from __future__ import annotations

from typing import Annotated

import typer

from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import GOOD, finish

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, help="List the GPUs that jobs used; release one.")


@app.callback()
def gpus(context: typer.Context) -> int:
    """List the GPUs that jobs used; release one."""
    return GOOD if context.invoked_subcommand else list_()


@app.command(name="list")
def list_(json: Json = False) -> int:
    """List the GPUs that jobs used, and what keeps jobs off them.

    A job that was killed, hung or faulted must leave its GPU as it was within 60 seconds; else the GPU is
    quarantined, and nothing runs on it until it is released.

    Example: amdkernel admin gpus list
    """
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.cli.show.access import show_gpus
    from amdkernel_mcp.leases.gpu_health import GpuHealth
    from amdkernel_mcp.leases.listed import gpu_list

    with admin_database() as database:
        found = gpu_list(GpuHealth(lambda: database).list())
    return finish(found, good=True, json=json, show=lambda console: show_gpus(console, found))


@app.command()
def release(
    gpu: Annotated[str, typer.Argument(help="Id of the GPU, from `amdkernel admin gpus`.", show_default=False)],
    json: Json = False,
) -> int:
    """Let jobs use a quarantined GPU again, once it was repaired.

    Reset the GPU or restart its machine first: what was left on it is then taken as its normal state. The audit log
    has who released it.

    Example: amdkernel admin gpus release 1a2b3c4d5e6f7000
    """
    from amdkernel_mcp.access.audit import AuditLog, by_command
    from amdkernel_mcp.access.opened import admin_database
    from amdkernel_mcp.cli.show.access import show_gpus
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.leases.gpu_health import GpuHealth
    from amdkernel_mcp.leases.listed import gpu_list

    with admin_database() as database:
        known = GpuHealth(lambda: database).release(gpu)
        AuditLog(database, keep_days=load_settings().audit_days).write(by_command("admin gpus release", known.target))
    released = gpu_list([known])
    return finish(released, good=True, json=json, show=lambda console: show_gpus(console, released))
