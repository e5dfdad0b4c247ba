"""All probes of a bring-up in order, and its archive; and the short form of them, which starts nothing on a GPU."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from amdkernel_mcp import __version__
from amdkernel_mcp.bringup.archive import check_folder, write_archive
from amdkernel_mcp.bringup.looks import LOOKS
from amdkernel_mcp.bringup.machine import Machine, machine_of
from amdkernel_mcp.bringup.probe import Probe, promises_of
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.results.bringup import BringupResult, ProbeResult
from amdkernel_mcp.results.machine import DoctorCheck, DoctorResult

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings

_M = TypeVar("_M")

WITHIN_S = 570.0
"""For all probes together. One that lasts longer is left alone, and those after it are not run."""


def bringup(
    settings: Settings,
    target: str,
    *,
    hang: bool = False,
    instructions: bool = False,
    only: Collection[str] = (),
    watch_s: float = 60.0,
    within_s: float = WITHIN_S,
    archive_in: Path | None = None,
    on_progress: Progress = silent,
) -> BringupResult:
    """Run the probes on a GPU, those of `only` where it names some; a probe that fails stops no other.

    hang: also start a kernel that never ends. instructions: also run the emulator's tests there. watch_s: how long the
    idle GPU is watched. within_s: for all probes, without those of `instructions`. archive_in: a folder for an archive;
    None: no archive. Raises InputError for a target or probe that does not exist.
    """
    from amdkernel_mcp.bringup.runs import HANG, INSTRUCTIONS, RUNS, Bench
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.leases.leased_sandbox import LeasedSandboxes

    began = time.monotonic()
    asked = {HANG: hang, INSTRUCTIONS: instructions}
    runs = (*RUNS, *(probe for probe, wanted in asked.items() if wanted or probe.id in only))
    ids = [*(probe.id for probe in LOOKS), *(probe.id for probe in (*RUNS, *asked))]
    if unknown := [name for name in only if name not in ids]:
        raise InputError(f"there is no probe {', '.join(unknown)}", hint=f"the probes are {', '.join(ids)}")
    machine = machine_of(settings, target)
    if archive_in is not None:
        check_folder(archive_in)  # not after ten minutes
    engine, sandboxes = Engine(settings), LeasedSandboxes(settings)
    try:
        bench = Bench(machine, engine, sandboxes, watch_s)
        until = began + within_s
        probes = [_run(probe, machine, on_progress, until) for probe in LOOKS if not only or probe.id in only]
        probes += [
            _run(probe, bench, on_progress, None if probe is INSTRUCTIONS else until)
            for probe in runs
            if not only or probe.id in only
        ]
        result = BringupResult(
            ok=all(probe.status != "fail" for probe in probes),
            target=machine.target,
            version=__version__,
            seconds=round(time.monotonic() - began, 1),
            promises=promises_of(probes),
            probes=probes,
        )
        if archive_in is None:
            return result
        path = _archived(machine, result, archive_in)
        return result.model_copy(update={"archive": str(path)})
    finally:
        sandboxes.close()
        engine.close()
        machine.close()


TRIED = ("launches", "counted")
"""The probes with which a set-up ends: a kernel runs, a counter is read."""


def try_gpus(settings: Settings, host: str, on_progress: Progress = silent) -> list[BringupResult]:
    """What became of a kernel and of a counter on each GPU of a host. Raises SandboxError, ToolchainError, TargetError
    where they cannot be listed."""
    from amdkernel_mcp.execution.remote_gpus import remote_gpus

    gpus = remote_gpus(settings, host)
    return [bringup(settings, f"{host}:{gpu.index}", only=TRIED, on_progress=on_progress) for gpu in gpus]


def doctor_of_host(settings: Settings, host: str, on_progress: Progress = silent) -> DoctorResult:
    """The probes that start nothing, as checks. Raises InputError for a host that is not in the settings."""
    machine = machine_of(settings, f"{host}:0")
    words = {"pass": "ok", "unknown": "warning", "fail": "missing"}
    try:
        probes = [_run(probe, machine, on_progress) for probe in LOOKS]
    finally:
        machine.close()
    checks = [
        DoctorCheck.model_validate(
            {"name": probe.id, "status": words[probe.status], "found": probe.found, "remedy": probe.next}
        )
        for probe in probes
    ]
    return DoctorResult(ok=all(check.status != "missing" for check in checks), checks=checks)


def _run(probe: Probe[_M], machine: _M, on_progress: Progress, until: float | None = None) -> ProbeResult:
    """until: by the monotonic clock."""
    on_progress(f"{probe.id}: {probe.asks}")
    return probe.run(machine, within_s=None if until is None else until - time.monotonic())


def _archived(machine: Machine, result: BringupResult, folder: Path) -> Path:
    """Everything that was read, scrubbed of the names that the machine and the settings know."""
    host, url = machine.host or "", machine.url or ""
    names = {host, *(part for part in _words(url) if not part.isdigit())}
    for tree in machine.trees().values():
        names |= {*tree.names}
    files = {"bringup.json": result.model_dump_json(indent=1).encode(), **machine.said}
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return write_archive(folder, f"bringup-{stamp}", files, names)


def _words(url: str) -> list[str]:
    """The user and the host of a URL."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return [part for part in (parts.username, parts.hostname) if part]
