"""Commands about the Slurm cluster of the settings."""

from __future__ import annotations

import typer

from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import GOOD, deliver, finish, print_line, progress
from amdkernel_mcp.errors import SettingsError, TargetError

app = typer.Typer(no_args_is_help=True, help="GPUs of a Slurm cluster: what is wrong with it; the GPU of a job.")


@app.command()
def doctor(json: Json = False) -> int:
    """Look at the cluster: controller, GPUs, drained nodes, hooks, settings. Changes nothing.

    Exit code 1: sessions cannot run there.

    Example: amdkernel slurm doctor
    """
    from amdkernel_mcp.cli.show.machine import show_checks
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.slurm.doctor import slurm_doctor

    slurm = load_settings().slurm
    if slurm is None:
        raise SettingsError("the settings have no table [slurm]", hint="docs/slurm.md has one to copy")
    with progress() as report:
        report("asking Slurm")
        result = slurm_doctor(slurm)
    return finish(result, good=result.ok, json=json, show=lambda console: show_checks(console, result))


@app.command()
def gpu() -> int:
    """Print the index of the GPU that this job has; the batch script of a session calls it.

    Example: amdkernel slurm gpu
    """
    import os

    from amdkernel_mcp.execution.gpus import hidden_nodes, local_gpus
    from amdkernel_mcp.slurm.commands import SlurmCommands
    from amdkernel_mcp.slurm.device import allocated_gpu, is_refused

    job, node = os.environ.get("SLURM_JOB_ID", ""), os.environ.get("SLURMD_NODENAME", "")
    if not job.isdigit() or not node:
        raise TargetError("this is not a job of Slurm", hint="the batch script of a session calls this command")
    described = SlurmCommands().run("scontrol", "show", "job", "-d", job)
    index = allocated_gpu(described, node, local_gpus(), is_refused, hidden=hidden_nodes()).index
    deliver(lambda: print_line(str(index)))
    return GOOD
