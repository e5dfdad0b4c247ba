"""Where code runs: the emulator, GPUs of this machine, of configured and added hosts, and of hosts that reach out."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import InfrastructureError, UnknownTargetError
from amdkernel_mcp.execution.added_hosts import added_host, added_hosts
from amdkernel_mcp.execution.hosts import DockerHost, ThisMachine, targets_of_worker
from amdkernel_mcp.execution.slurm_targets import SLURM, slurm_target
from amdkernel_mcp.hardware.pool import is_in_pool, is_pool, no_gpu_in_pool
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.results.machine import TargetInfo

if TYPE_CHECKING:
    from amdkernel_mcp.execution.brought_hosts import Workers


def find_target(name: str | None, settings: Settings, workers: Workers | None = None) -> Target:
    """The target of this name, or the default one; of a pool, the first GPU. Contacts another host only for a target of
    that host, and for a pool all of them.

    Raises UnknownTargetError with the known names; SandboxError when the host does not answer, or its worker is away.
    """
    asked, name = name, name or settings.default_target
    if is_pool(name):
        return _first_of(name, settings, workers)
    host, _, index = name.partition(":")
    if host == SLURM and settings.slurm is not None:
        return slurm_target(settings.slurm, index)
    is_remote = host in settings.hosts and re.fullmatch(r"\d{1,3}", index) is not None
    added = added_host(host, settings)
    named = DockerHost(settings, host) if is_remote else added or ThisMachine(settings)
    known = [*named.targets()]
    if workers is not None and all(target.name != name for target in known):
        brought = workers.find(host) if re.fullmatch(r"\d{1,3}|gfx\w+", index) else None
        known += [target for each in ([brought] if brought else workers.hosts()) for target in targets_of_worker(each)]
    for target in known:
        if target.name == name:
            return target
    if is_remote and not known:
        raise UnknownTargetError(f"there is no target {name!r}: {_no_gpu(host)}", hint=_DRIVER_HINT)
    others = [] if is_remote or added else [f"{h}:0" for h in settings.hosts]
    names = [target.name for target in known] + others
    away = [] if workers is None else [f"{seen}:{index}" for seen in workers.seen]
    near = difflib.get_close_matches(name, [*names, *away], n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    whose = "" if asked else ", which is `default_target` in the settings"
    hint = f"known are {', '.join(names) or 'none'}"
    if not is_remote and not near and re.fullmatch(r".+:\d{1,3}", name):
        hint += "; other machines are named under [hosts] in the settings"
    raise UnknownTargetError(f"there is no target {name!r}{whose}{meant}", hint=hint)


def _first_of(pool: str, settings: Settings, workers: Workers | None) -> Target:
    """A GPU of this pool. A server's jobs are bound to one before they come here: jobs/pools.py."""
    listed = list_targets(settings, workers)
    for each in listed:
        if each.kind == "gpu" and each.ready and is_in_pool(each.arch, each.gpu, pool):
            return find_target(each.name, settings, workers)
    raise no_gpu_in_pool(pool, [each.name for each in listed])


def list_targets(settings: Settings, workers: Workers | None = None) -> list[TargetInfo]:
    """All targets, the default one marked; a host that does not answer is listed with the reason."""
    listed = [_info(target, settings) for target in ThisMachine(settings).targets()]
    for host in (*(DockerHost(settings, name) for name in settings.hosts), *added_hosts(settings)):
        try:
            found = [_info(target, settings) for target in host.targets()]
            if not found and host.name in settings.hosts:
                found = [_unknown(host.name, f"{_no_gpu(host.name)}; {_DRIVER_HINT}", settings)]
            listed += found
        except InfrastructureError as error:
            note = f"{error.message}; {error.hint}" if error.hint else error.message
            listed.append(_unknown(host.name, note, settings))
    if settings.slurm:
        why_not = None if workers is not None and workers.is_open else "only a running `amdkernel serve` has it"
        listed += [_info(slurm_target(settings.slurm, arch), settings, why_not) for arch in settings.slurm.gres]
    for brought in workers.hosts() if workers else ():
        for target in targets_of_worker(brought):
            info = _info(target, settings, brought.note)
            reset = workers.last_reset(target.name) if workers and info.note is None else None
            listed.append(info.model_copy(update={"note": reset}) if reset else info)
    return listed


_DRIVER_HINT = "is the driver amdgpu loaded there? `ls /sys/class/kfd/kfd/topology/nodes` lists what it found"


def _no_gpu(host: str) -> str:
    return f"{host} answers, but its kernel driver lists no AMD GPU"


def _unknown(host: str, note: str, settings: Settings) -> TargetInfo:
    unknown = Target(f"{host}:0", "gpu", "unknown", "unknown", host, 0)
    return _info(unknown, settings).model_copy(update={"ready": False, "note": note})


def _in_default(target: Target, settings: Settings) -> bool:
    return is_in_pool(target.arch, target.gpu, settings.default_target)


def _info(target: Target, settings: Settings, why_not: str | None = None) -> TargetInfo:
    return TargetInfo(
        name=target.name,
        kind=target.kind,
        arch=target.arch,
        gpu=target.gpu,
        rocm=None,
        default=target.name == settings.default_target
        or (is_pool(settings.default_target) and target.kind == "gpu" and _in_default(target, settings)),
        ready=why_not is None,
        note=why_not or ("exact counts, modelled times" if target.kind == "emulator" else None),
        gpu_id=target.id,
    )
