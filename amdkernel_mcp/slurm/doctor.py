"""`amdkernel slurm doctor`: whether the cluster can run our workers, and what to change where it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from amdkernel_mcp.config import SlurmSettings
from amdkernel_mcp.results.machine import DoctorCheck, DoctorResult
from amdkernel_mcp.slurm.commands import SlurmCommands, SlurmError, SlurmNode

_LEAST_JOB_AGE_S = 60


def slurm_doctor(slurm: SlurmSettings) -> DoctorResult:
    """All checks, in the order in which they depend on each other. Starts no job and changes nothing."""
    checks = list(_checks(slurm, SlurmCommands(slurm.commands)))
    return DoctorResult(ok=all(check.status != "missing" for check in checks), checks=checks)


def _checks(slurm: SlurmSettings, cluster: SlurmCommands) -> Iterator[DoctorCheck]:
    try:
        config = _options(cluster.run("scontrol", "show", "config"))
        nodes = cluster.nodes()
    except SlurmError as error:
        yield DoctorCheck(name="controller", status="missing", found=error.message, remedy=error.hint or _START)
        return
    found = f"{config.get('ClusterName', 'a cluster')}, Slurm {config.get('SLURM_VERSION', 'of unknown version')}"
    yield DoctorCheck(name="controller", status="ok", found=found)
    for arch, gres in slurm.gres.items():
        yield _gpus(arch, gres, nodes)
    yield from _nodes(nodes)
    yield _partition(slurm, cluster)
    yield _hook("prolog", config.get("Prolog", ""), "Prolog=/etc/slurm/amdkernel-prolog.sh")
    yield _hook("epilog", config.get("Epilog", ""), "Epilog=/etc/slurm/amdkernel-epilog.sh")
    yield _devices(config)
    yield _job_age(config)
    yield _jobs(cluster)


_START = "start slurmctld, or set `commands` of [slurm] to what runs Slurm's commands elsewhere, such as `ssh login1`"


def _options(printed: str) -> dict[str, str]:
    """The lines `NAME = VALUE` of `scontrol show config`; a prolog can be listed as `Prolog[0]`."""
    options: dict[str, str] = {}
    for line in printed.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            options.setdefault(name.strip().partition("[")[0], value.strip().strip('"'))
    return options


def _gpus(arch: str, gres: str, nodes: list[SlurmNode]) -> DoctorCheck:
    having = [node.name for node in nodes if any(_is_of(part, gres) for part in node.gres.split(","))]
    if having:
        return DoctorCheck(name=f"slurm:{arch}", status="ok", found=f"{gres} on {', '.join(having)}")
    listed = ", ".join(sorted({node.gres for node in nodes})) or "nothing"
    remedy = f"gres of [slurm]: name one of these for {arch}, or add the GPUs to slurm.conf and gres.conf"
    return DoctorCheck(
        name=f"slurm:{arch}", status="missing", found=f"no node has {gres}; listed: {listed}", remedy=remedy
    )


def _is_of(part: str, gres: str) -> bool:
    """Whether `gpu:mi300x:8(S:0-1)` has what is asked for as `gpu` or `gpu:mi300x`."""
    plain = part.partition("(")[0]
    return plain == gres or plain.startswith(f"{gres}:")


def _nodes(nodes: list[SlurmNode]) -> Iterator[DoctorCheck]:
    down = [node for node in nodes if node.is_down]
    for node in down:
        found = f"{node.state}: {node.reason or 'no reason given'}"
        remedy = f"scontrol update nodename={node.name} state=resume, once its cause is gone"
        if "duplicate jobid" in node.reason.lower():
            remedy += "; it still knew a job that the controller had lost"
        yield DoctorCheck(name=f"node {node.name}", status="warning", found=found, remedy=remedy)
    usable = [node.name for node in nodes if not node.is_down]
    if usable:
        yield DoctorCheck(name="nodes", status="ok", found=f"usable: {', '.join(usable)}")
    else:
        yield DoctorCheck(
            name="nodes", status="missing", found="no node takes jobs", remedy="sinfo -R lists the reasons"
        )


def _partition(slurm: SlurmSettings, cluster: SlurmCommands) -> DoctorCheck:
    wanted = [f"--partition={slurm.partition}"] if slurm.partition else []
    try:
        listed = cluster.run("sinfo", "--noheader", "--format=%P|%a", *wanted).split()
    except SlurmError as error:
        return DoctorCheck(name="partition", status="missing", found=error.message)
    up = [line.partition("|")[0] for line in listed if line.endswith("|up")]
    chosen = up if slurm.partition else [name for name in up if name.endswith("*")]
    if chosen:
        return DoctorCheck(name="partition", status="ok", found=f"{chosen[0].rstrip('*')} is up")
    found = f"no partition {slurm.partition} is up" if slurm.partition else "no default partition is up"
    remedy = f"partition of [slurm]: one of {', '.join(up)}" if up else "scontrol update partition=... state=up"
    return DoctorCheck(name="partition", status="missing", found=found, remedy=remedy)


def _hook(name: str, set_to: str, line: str) -> DoctorCheck:
    if "amdkernel" in set_to:
        return DoctorCheck(name=name, status="ok", found=set_to)
    found = set_to if set_to and set_to != "(null)" else "none"
    remedy = f"copy deploy/slurm/*.sh to each node and set {line}, or call it in yours"
    return DoctorCheck(name=name, status="warning", found=f"{found}: a sick GPU is not noticed", remedy=remedy)


def _devices(config: dict[str, str]) -> DoctorCheck:
    if config.get("ConstrainDevices", "").lower() == "yes":
        return DoctorCheck(name="devices", status="ok", found="ConstrainDevices=yes")
    remedy = "ConstrainDevices=yes in cgroup.conf, TaskPlugin=task/cgroup in slurm.conf"
    found = "ConstrainDevices is not set: a job can open the GPUs of others"
    return DoctorCheck(name="devices", status="warning", found=found, remedy=remedy)


def _job_age(config: dict[str, str]) -> DoctorCheck:
    seconds = config.get("MinJobAge", "").split(" ")[0]
    if seconds.isdigit() and int(seconds) < _LEAST_JOB_AGE_S:
        found = f"{seconds} s: a job that has failed looks like one that was lost"
        return DoctorCheck(name="MinJobAge", status="warning", found=found, remedy="MinJobAge=300 in slurm.conf")
    return DoctorCheck(name="MinJobAge", status="ok", found=f"{seconds or 'unknown'} s")


def _jobs(cluster: SlurmCommands) -> DoctorCheck:
    try:
        jobs = cluster.jobs()
    except SlurmError as error:
        return DoctorCheck(name="jobs", status="missing", found=error.message)
    states = [job.state for job in jobs]
    running, pending = states.count("RUNNING"), states.count("PENDING")
    held = [job for job in jobs if job.state == "PENDING" and "held" in job.reason.lower()]
    found = f"{running} running, {pending} waiting, of amdkernel"
    if held:
        found += f"; held: {', '.join(f'{job.id} ({job.reason})' for job in held[:4])}"
        return DoctorCheck(name="jobs", status="warning", found=found, remedy="the server releases those it waits for")
    return DoctorCheck(name="jobs", status="ok", found=found)
