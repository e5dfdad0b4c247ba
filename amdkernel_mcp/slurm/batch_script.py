"""The batch script of one session, and the options of sbatch. Pure."""

from __future__ import annotations

import re
import shlex

from amdkernel_mcp.config import SlurmSettings
from amdkernel_mcp.slurm.commands import Comment


def batch_script(slurm: SlurmSettings, worker_key: str) -> str:
    """Find the GPU of the job, then become the worker: SIGTERM reaches it, and its end is the job's."""
    program, url, token_file = (shlex.quote(each) for each in (slurm.amdkernel, slurm.url, slurm.token_file))
    return f"""#!/bin/sh
gpu=$({program} slurm gpu) || exit 1
exec {program} worker --url {url} --token-file {token_file} --once {shlex.quote(worker_key)} --gpu "$gpu"
"""


def sbatch_options(slurm: SlurmSettings, arch: str, user: str, comment: Comment) -> list[str]:
    """One GPU of `arch` on one node. The administrator's options come last, so that they win."""
    options = ["--nodes=1", "--ntasks=1", f"--gres={slurm.gres[arch]}:1", f"--time={slurm.minutes}"]
    options += ["--requeue", f"--comment={comment}", f"--output={slurm.output}"]
    if slurm.partition:
        options.append(f"--partition={slurm.partition}")
    if slurm.account:
        options.append(f"--account={slurm.account.replace('{user}', account_name(user))}")
    return [*options, *slurm.options]


def account_name(user: str) -> str:
    """A user's name as Slurm's accounts are written: lower-case letters, digits, _ and -."""
    return re.sub(r"[^a-z0-9_-]", "_", user.lower())[:60]
