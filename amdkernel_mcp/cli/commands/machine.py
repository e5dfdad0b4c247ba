"""Commands about this machine: targets, doctor, selftest, setup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json, Target, TokenFile
from amdkernel_mcp.cli.report import BAD, GOOD, deliver, finish, print_line, progress

if TYPE_CHECKING:
    from amdkernel_mcp.results.machine import DoctorCheck, TargetsResult

_READY = """\
ready. To try it:
  amdkernel examples row_softmax --to row_softmax
  amdkernel check row_softmax row_softmax/kernels/better.hip
  amdkernel install cursor    (or claude-code, codex, vscode, ...)"""


def targets(
    url: Annotated[
        str | None,
        typer.Option(help="List those of the server at this address; AMDK_TOKEN has the token.", show_default=False),
    ] = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """List where kernels can run.

    With --url, also on the hosts that workers bring to that server, and which of them have left.

    Example: amdkernel targets
    """
    from amdkernel_mcp.cli.show.machine import show_targets

    if url is not None:
        result = _of_server(url, token_file)
    elif token_file is not None:
        raise typer.BadParameter("--token-file needs --url")
    else:
        with open_engine() as engine:
            result = engine.machine.targets()
    return finish(result, good=True, json=json, show=lambda console: show_targets(console, result))


def _of_server(url: str, token_file: Path | None) -> TargetsResult:
    from amdkernel_mcp.cli.commands.top import ask
    from amdkernel_mcp.results.machine import TargetInfo, TargetsResult

    found = [
        TargetInfo(
            name=each.name, kind=each.kind, arch=each.arch, gpu=each.gpu, rocm=None, default=each.default,
            ready=each.state in ("idle", "busy"), note=each.note, gpu_id=None,
            quarantine=each.note if each.state == "quarantined" else None,
        )
        for each in ask(url, token_file).targets
    ]  # fmt: skip
    return TargetsResult(targets=found)


def doctor(
    host: Annotated[
        str | None, typer.Option(help="Look at this machine of the setting `hosts` instead.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Report what is missing and the command that fixes it.

    On the machine of a server that has tokens for workers, also which of them are connected.
    With --host at a GPU host, from ssh to its GPUs, without a kernel: `amdkernel bringup` goes further.
    Exit code 1: something is missing.

    Example: amdkernel doctor
    """
    from amdkernel_mcp.cli.show.machine import show_checks, show_doctor

    if host is not None:
        from amdkernel_mcp.bringup.run import doctor_of_host
        from amdkernel_mcp.config import load_settings

        with progress() as report:
            found = doctor_of_host(load_settings(), host, report)
        return finish(found, good=found.ok, json=json, show=lambda console: show_checks(console, found))
    with open_engine() as engine, progress() as report:
        report("checking this machine")
        result = engine.machine.doctor()
        result = result.model_copy(update={"checks": [*result.checks, *_documents(), *_workers()]})
    return finish(result, good=result.ok, json=json, show=lambda console: show_doctor(console, result))


def _documents() -> list[DoctorCheck]:
    """Each source of the documentation with version and age, and what was not reached; none without an index."""
    from datetime import date

    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.errors import DocumentationError
    from amdkernel_mcp.results.machine import DoctorCheck
    from amdkernel_mcp.search.documented import documented

    index = load_settings().data_dir / "docs.sqlite3"
    if not index.is_file():
        return []
    name = "docs sources"
    try:
        found = documented(index, date.today())
    except DocumentationError as error:
        return [DoctorCheck(name=name, status="warning", found=error.message, remedy="amdkernel docs build")]
    remedy = "amdkernel docs refresh" if found.not_reached else None
    return [DoctorCheck(name=name, status="warning" if remedy else "ok", found=found.text, remedy=remedy)]


def _workers() -> list[DoctorCheck]:
    """The checks of the workers of this machine's server; none where it has no database yet."""
    from amdkernel_mcp.access.audit import AuditLog
    from amdkernel_mcp.access.opened import open_access
    from amdkernel_mcp.access.tokens import TokenStore
    from amdkernel_mcp.access.workers import worker_checks
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.errors import DatabaseError
    from amdkernel_mcp.leases.gpu_health import GpuHealth
    from amdkernel_mcp.leases.listed import gpu_list
    from amdkernel_mcp.results.machine import DoctorCheck

    settings = load_settings()
    if settings.database is None and not (settings.data_dir / "history.sqlite3").exists():
        return []
    try:
        database = open_access(settings)
    except DatabaseError as error:
        return [DoctorCheck(name="workers", status="warning", found=error.message, remedy=error.hint)]
    try:
        audit, tokens = AuditLog(database, keep_days=settings.audit_days), TokenStore(database).list()
        users = {token.user for token in tokens if token.valid and "worker" in token.scopes}
        newest = [event for user in sorted(users) for event in audit.list(user=user, limit=1)]
        refused = [event for event in newest if event.outcome == "refused"]
        gpus = gpu_list(GpuHealth(lambda: database).list()).gpus
        return [*worker_checks(tokens, audit.workers(), refused, gpus)]
    except DatabaseError as error:
        return [DoctorCheck(name="workers", status="warning", found=error.message, remedy=error.hint)]
    finally:
        database.dispose()


def selftest(
    target: Target = None,
    hang: Annotated[
        bool,
        typer.Option("--hang", help="Also the kernels that never end, where a reset would take down other GPUs."),
    ] = False,
    json: Json = False,
) -> int:
    """Run kernels that are known to be right or wrong, and compare the verdicts.

    Honest kernels, cheats, one that hangs and one that crashes, through the whole product on one target. Exit code 1: a
    verdict is not the right one, so do not believe the others.

    Example: amdkernel selftest --target emulator:gfx90a
    """
    from amdkernel_mcp.cli.show.selftest import show_selftest
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.selftest.run import selftest as run
    from amdkernel_mcp.work import Work

    with progress() as report:
        result = run(load_settings(), target=target, hang=hang, work=Work(say=report))
    return finish(result, good=result.ok, json=json, show=lambda console: show_selftest(console, result))


def setup(
    host: Annotated[
        str | None, typer.Option(help="Set up this machine of the setting `hosts` instead.", show_default=False)
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove sandbox images of other versions.")] = False,
    torch: Annotated[
        bool, typer.Option("--torch", help="Install PyTorch as well, for references that import torch.")
    ] = False,
    triton: Annotated[
        bool, typer.Option("--triton", help="Install Triton and FlyDSL as well, for kernels in them and in Gluon.")
    ] = False,
    compiler: Annotated[
        str | None,
        typer.Option(help="Install the compiler of this HIP release as well, for compile --compare hip:6.4."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="Let Docker install the packages into this Debian image.", show_default=False),
    ] = None,
) -> int:
    """Install the sandbox and the documentation index.

    The HIP compiler, the sandbox image, the emulator and the documentation index. Parts that
    exist are kept, so running it again is quick.

    Packages are installed with mmdebstrap. With --base Docker does it, which works with Docker Desktop
    too: amdkernel setup --base debian:forky-slim

    With --host what is missing there is sent over ssh compressed, and continued after a cut line. It ends with a kernel
    and a counter on each GPU there. Exit code 1: a kernel did not run.

    Example: amdkernel setup
    """
    with open_engine() as engine, progress(lines=True) as report:
        made = engine.machine.setup(
            report, host=host, prune=prune, torch=torch, triton=triton, compiler=compiler, base=base
        )
        if host is None:  # the index is this machine's
            engine.docs.remake(report)
    if host is None:
        deliver(lambda: print_line(_READY))
        return GOOD
    return _tried(host) if made else GOOD


def _tried(host: str) -> int:
    """Run a kernel and read a counter on each GPU of a host that has just been set up, and show what came."""
    from amdkernel_mcp.bringup.run import try_gpus
    from amdkernel_mcp.cli.show.bringup import show_tried
    from amdkernel_mcp.config import load_settings

    with progress(lines=True) as report:
        results = try_gpus(load_settings(), host, report)
    deliver(lambda: print_line(show_tried(host, results)))
    return GOOD if all(probe.status == "pass" for each in results for probe in each.probes[:1]) else BAD
