"""Commands about the jobs of a team's server: jobs, job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_remote_engine
from amdkernel_mcp.cli.options import Json, ServerUrl, TokenFile
from amdkernel_mcp.cli.report import finish, progress

if TYPE_CHECKING:
    from amdkernel_mcp.results.jobs import JobResult


def jobs(
    url: ServerUrl,
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many.")] = 10,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """List your jobs on a server, newest first.

    Example: amdkernel jobs --url https://gpus.example.com
    """
    from amdkernel_mcp.cli.show.jobs import show_jobs

    with open_remote_engine(url, token_file) as engine:
        found = engine.jobs(limit)
    return finish(found, good=True, json=json, show=lambda console: show_jobs(console, found))


def job(
    job_id: Annotated[str, typer.Argument(metavar="ID", help="As `amdkernel jobs` lists it.", show_default=False)],
    url: ServerUrl,
    cancel: Annotated[bool, typer.Option("--cancel", help="End the job.")] = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Wait for the answer of a job on a server, or end the job.

    Exit code: that of the command that started it; with --cancel 0 if the job was ended, else 1. Ctrl-C ends the
    waiting and not the job.

    Example: amdkernel job job-1f0c9a3b7d2e --url https://gpus.example.com
    """
    from amdkernel_mcp.cli.show.jobs import show_job

    with open_remote_engine(url, token_file) as engine, progress() as report:
        found = engine.cancel(job_id) if cancel else engine.job(job_id, say=report)
    good = found.status == "cancelled" if cancel else is_good(found)
    return finish(found, good=good, json=json, show=lambda console: show_job(console, found))


def is_good(found: JobResult) -> bool:
    """Whether the answer is good news, as the command that started the job decides it."""
    from amdkernel_mcp.engine.verbs.table import verb_of

    return any(verb_of(answer).good(answer) for answer in found.answers().values())
