"""What `amdkernel top` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from amdkernel_mcp.results.server import RunningJob, ServerStatus

_STATE = {"busy": "cyan", "idle": "dim", "draining": "yellow", "quarantined": "red", "unreachable": "red"}


def show_status(console: Console, status: ServerStatus) -> None:
    """Targets, then the queue."""
    console.print(screen(status))


def screen(status: ServerStatus) -> RenderableType:
    """One picture of the server."""
    running = sum(len(target.jobs) for target in status.targets) + len(status.compiling)
    head = Text.assemble(
        ("amdkernel ", "bold"), status.version, "  ", name(status.user), "  ",
        f"{counted(running, 'job')} running, {len(status.waiting)} waiting",
    )  # fmt: skip
    if status.draining:
        head.append("  the server is ending: it takes no new work", "yellow")
    away = [Text(f"away: {', '.join(status.away)}", "dim")] if status.away else []
    return Group(head, Text(), _targets(status), *away, Text(), _queue(status))


def lost(status: ServerStatus, message: str) -> RenderableType:
    """The last picture, and why there is no newer one."""
    return Group(screen(status), Text(), Text(f"{message}; trying again", "bold red"))


def name(user: str) -> str:
    """A user as people write it."""
    return user.removeprefix("user:")


def duration(seconds: float) -> str:
    """`12 s`, `3 min 05 s`, `2 h 05 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _targets(status: ServerStatus) -> RenderableType:
    table = parts.table("target", "GPU", "state", "user", "job", "for", numbers=(5,))
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    lanes = [(one.name, one.gpu, one.state, one.jobs, one.leases, one.note) for one in status.targets]
    if status.compiling:
        lanes.append(("compiler", "", "busy", status.compiling, [], None))
    for target, gpu, state, jobs, leases, note in lanes:
        why = note or "" if state in ("draining", "unreachable", "quarantined") else ""
        first: tuple[Text, str, Text] = (Text(target, "bold"), gpu, Text(state, _STATE[state]))
        for job in jobs[:1]:
            table.add_row(*first, name(job.owner), _job(job), duration(job.seconds))
        if not jobs:
            table.add_row(*first, "", Text(why, "dim"), "")
        for job in jobs[1:]:
            table.add_row("", "", "", name(job.owner), _job(job), duration(job.seconds))
        for lease in leases:
            table.add_row("", "", "", name(lease.owner), Text(f"{lease.kind} lease", "dim"), duration(lease.seconds))
    return table


def _job(job: RunningJob) -> Text:
    text = Text(" ".join(filter(None, [job.verb, job.problem])))
    if job.state == "waits_for_gpu":
        text.append("  waits for the GPU", "yellow")
    return text.append(f"  {job.progress}", "dim") if job.progress else text


def _queue(status: ServerStatus) -> RenderableType:
    if not status.waiting:
        return Text("nothing waits", "dim")
    table = parts.table("place", "user", "job", "target", "waits for", "expected", numbers=(0, 4, 5))
    for job in status.waiting:
        what = " ".join(filter(None, [job.verb, job.problem]))
        expected = "-" if job.expected_wait_s is None else duration(job.expected_wait_s)
        if job.wait_range_s is not None:
            expected += " ({} to {})".format(*map(duration, job.wait_range_s))
        row = (str(job.place), name(job.owner), what, job.target or "compiler", duration(job.seconds), expected)
        table.add_row(*row, style="bold" if job.owner == status.user else "")
    return table
