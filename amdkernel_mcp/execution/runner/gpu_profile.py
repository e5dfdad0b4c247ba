"""Runs rocprofv3 around our runner in a sandbox with a GPU, and returns what it recorded and what the runner reported.

Never run on a GPU so far; tests/gpu_host runs it with a stand-in for rocprofv3.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.runner.job import job_files, output_limit, read_answer
from amdkernel_mcp.execution.runner.rocprofv3_errors import cause_of
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import RunnerJob
from amdkernel_mcp.runner_protocol.report import RunnerReport

_OUT = "@OUT@"
_RECORDED = "profile"
FOLDER = f"{_OUT}/{_RECORDED}"
"""Where the commands are to write: below the output folder, whose place only the sandbox knows."""
_NOT_FOUND, _TIMED_OUT, _KILLED = 127, 124, 137  # of timeout(1)
PASS_TIMEOUT_S = 120.0  # rocprofv3 is known to hang instead of ending with an error
_KILL_S = 5
MOST_RECORDED_BYTES = 256 << 20
LIST_TIMEOUT_S = 60.0
_LISTED = "counters.txt"
# The second is for ROCm 6, which has no rocprofv3-avail.
_LIST_COUNTERS = f"""for tool in 'rocprofv3-avail list --pmc' 'rocprofv3 --list-avail'; do
    timeout {LIST_TIMEOUT_S / 2:g} $tool >"$OUT/{_LISTED}" && break
done"""
_listings: dict[tuple[str, str, str], str] = {}
"""What rocprofv3 lists, by image, GPU and architecture: none changes while the process runs."""


@dataclass(frozen=True)
class Recorded:
    """The files below FOLDER, and the report of the last pass whose runner came to its end; None: none did."""

    files: Mapping[str, bytes]
    report: RunnerReport | None
    warnings: tuple[str, ...] = ()
    """What rocprofv3 complained about although it wrote something."""


def list_counters(sandbox: Sandbox, target: Target) -> str:
    """What the profiler of the image prints about the counters of the GPU, asked once; empty where it lists none.

    Raises SandboxError.
    """
    key = (sandbox.image_id, target.id or target.name, target.arch)
    if key not in _listings:
        done = sandbox.run("run", ["sh", "-c", _LIST_COUNTERS], {}, timeout_s=LIST_TIMEOUT_S + _KILL_S)
        listed = done.files.get(_LISTED, b"").decode(errors="replace")
        if done.exit_code or not listed:
            return ""
        _listings[key] = listed
    return _listings[key]


def record_profile(
    sandbox: Sandbox,
    target: Target,
    job: RunnerJob,
    commands: Sequence[Sequence[str]],
    *,
    pass_timeout_s: float = PASS_TIMEOUT_S,
) -> Recorded:
    """What the `commands` wrote, each around one run of `job`, which is ended after `pass_timeout_s`.

    Raises SandboxError, TargetError when nothing was recorded.
    """
    completed = sandbox.run(
        "run",
        ["sh", "-c", script(commands, pass_timeout_s)],
        job_files(job),
        timeout_s=(pass_timeout_s + _KILL_S) * len(commands),
        output_limit_bytes=output_limit(job) + MOST_RECORDED_BYTES,
    )
    recorded = {name: data for name, data in completed.files.items() if name.startswith(f"{_RECORDED}/")}
    if not recorded and completed.exit_code in (_TIMED_OUT, _KILLED):
        raise TargetError(
            f"rocprofv3 did not end on {target.name} within {pass_timeout_s:g} s",
            hint="`rocprofv3 --kernel-trace -- true` in a container of that image shows whether it can run there",
        )
    if not recorded and completed.exit_code == _NOT_FOUND:
        raise TargetError(
            f"the sandbox image of {target.name} has no rocprofv3",
            hint='docs/sandbox.md, "rocprofv3", makes an image that has it: name it in the setting `image`, and run '
            "`amdkernel setup` for that machine",
        )
    cause = cause_of(completed.stderr)
    if not recorded:
        why = f"{cause.why}; it says: " if cause else ""
        raise TargetError(
            f"rocprofv3 wrote nothing on {target.name}: {why}{completed.stderr[-1000:].strip()}",
            hint=cause.hint if cause else "`rocprofv3 --kernel-trace -- true` in a container of that image shows why",
        )
    report = read_answer(job, target, completed) if "report.json" in completed.files else None
    complaint = () if cause is None else (f"{cause.why}: {cause.hint}",)
    return Recorded(recorded, report, (*complaint, *_lost(report)))


def _lost(report: RunnerReport | None) -> tuple[str, ...]:
    """The cases of which nothing was recorded: rocprofv3 writes when a process ends by itself."""
    ended = ("timeout", "crashed")
    lost = [str(number) for number, case in enumerate(report.cases if report else (), 1) if case.status in ended]
    return (f"rocprofv3 lost what it had of case {', '.join(lost)}, whose process was ended",) if lost else ()


def script(commands: Sequence[Sequence[str]], pass_timeout_s: float = PASS_TIMEOUT_S) -> str:
    """The commands one after the other; one that fails or hangs does not keep the others from running."""
    lines = []
    for command in commands:
        limited = ["timeout", "-k", str(_KILL_S), f"{pass_timeout_s:g}", *command]
        lines.append(" ".join(_quoted(word) for word in limited))
    return " ; ".join(lines)


def _quoted(word: str) -> str:
    """The word for a shell, with the output folder in place of its mark."""
    return '"$OUT"'.join(shlex.quote(part) if part else "" for part in word.split(_OUT)) or "''"
