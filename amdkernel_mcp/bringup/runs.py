"""The probes that start something on the GPU: HIP, kernels through the whole product, rocprofv3, a fault, a hang.

Only small kernels of ours run, under the same leases as anybody's.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.bringup.instructions import instructions
from amdkernel_mcp.bringup.looks import neighbours
from amdkernel_mcp.bringup.machine import Machine
from amdkernel_mcp.bringup.probe import Finding, Probe
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile_job import run_compile
from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.profile import Profile
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.gpu_idle import GpuState, read_state
from amdkernel_mcp.execution.runner.gpu_profile import list_counters
from amdkernel_mcp.execution.runner.rocprofv3_errors import cause_of
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.profiling.options import ProfileOptions
from amdkernel_mcp.profiling.rocprofv3 import listed_counters, missing_counters, wanted_counters

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.leases.leased_sandbox import LeasedSandboxes

PROBLEM, CASE = "vector_add", "n=4096"
ONE_COUNTER = "SQ_WAVES"
_LEVEL = "sudo amd-smi set -l stable_std"
"""A performance level at which Radeons count. Source: rocprofv3's documentation, "performance level"."""
WATCH_EVERY_S = 5.0
RUN_TIMEOUT_S = 120.0
_GUARDED = "while (atomicAdd((int *)z, 0) != 12345)\n        ;"
_OUTSIDE = "z[(1ll << 40) + threadIdx.x] = x[0];"
_KERNEL = """// amdkernel: launch vector_add grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>
extern "C" __global__ void vector_add(const float *x, const float *y, float *z, int n)
{{
    {body}
}}
"""


@dataclass
class Bench:
    """The machine, and what runs something on it."""

    machine: Machine
    engine: Engine
    sandboxes: LeasedSandboxes
    watch_s: float

    @property
    def sandbox(self) -> Sandbox:
        """The containers of the target; those with the GPU wait for a lease. Raises what opening it raises."""
        return self.sandboxes.of(find_target(self.machine.target, self.machine.settings))

    def keep(self, name: str, answer: Any) -> None:
        """Put an answer of the engine into the archive."""
        self.machine.said[f"answers/{name}.json"] = answer.model_dump_json().encode()


def opened(bench: Bench) -> Finding:
    """Whether a container with one render node opens the devices; without containers, whether a job opens all."""
    tree = bench.machine.tree("device")
    found = [node for path in tree.nodes if (node := tree.device_node(path))]
    said = ", ".join(f"{node.path}: {node.opening}" for node in found)
    if len(tree.gpus()) > 1 and bench.machine.has_containers:  # else a variable names one to HIP: see launches
        return Finding("fail", f"{said}; the container sees {len(tree.gpus())} GPUs in place of one", "report this")
    if not found or any(node.opening != "opened" for node in found if "/card" not in node.path):
        return Finding(
            "fail", said or "there are no device nodes", "see probe nodes; `docker info` for what confines it"
        )
    return Finding("pass", f"{said}; the topology shows {len(tree.gpus())} GPU")


def launches(bench: Bench) -> Finding:
    """HIP starts, a module loads, launches and copies work: their times by events and by the host's clock."""
    times = _measure(bench, "")
    bench.machine.said["launches.json"] = json.dumps(times).encode()
    first, settled = times["single_us"][0], median(times["single_us"][len(times["single_us"]) // 2 :])
    gap = 1 - settled / times["together_us"] if times["together_us"] > settled else 0.0
    waits = "waits" if times["waits_for_values"] else "cannot wait"
    found = (
        f"start {times['start_us'] / 1e3:.0f} ms, load {times['load_us'] / 1e3:.1f} ms; {times['launch_us']:.1f} us a "
        f"launch from Python; a wave's wait takes {first:.1f} us at first and {settled:.1f} us later by events, "
        f"{times['together_us']:.1f} us one of many ({gap:.0%} gaps), {times['graph_us']:.1f} us one of a graph, "
        f"{times['done_us']:.1f} us by the host's clock; a stream {waits} for a value"
    )
    if times["done_us"] < settled / 2:
        return Finding("fail", f"{found}: events and the host's clock do not agree", "report this with the archive")
    if times["devices"] != 1:
        return Finding("fail", f"HIP sees {times['devices']} devices in place of one; {found}", "report this")
    return Finding("pass", found)


def correct(bench: Bench) -> Finding:
    """A right and a wrong kernel through the whole product."""
    verdicts = {}
    for name in ("naive", "broken_tail"):
        source = (folder("examples") / PROBLEM / "kernels" / f"{name}.hip").read_text(encoding="utf-8")
        answer = bench.engine.do(
            Check(problem=PROBLEM, source=source, file_name=f"{name}.hip", target=bench.machine.target)
        )
        bench.keep(f"check_{name}", answer)
        verdicts[name] = (answer.verdict, answer.reason)
    found = "; ".join(f"{name}: {verdict}" for name, (verdict, _) in verdicts.items())
    if (verdicts["naive"][0], verdicts["broken_tail"][0]) != ("correct", "incorrect"):
        why = "; ".join(reason for _, reason in verdicts.values())
        return Finding("fail", f"{found}: {why[:300]}", f"`amdkernel selftest --target {bench.machine.target}`")
    return Finding("pass", found)


def timed(bench: Bench) -> Finding:
    """A kernel in turns with itself: clocks, settling, the noise, and whether the kernel trace agrees."""
    answer = bench.engine.do(
        Benchmark(problem=PROBLEM, source=_naive(), file_name="naive.hip", target=bench.machine.target, case=CASE)
    )
    bench.keep("benchmark", answer)
    if answer.time_us.value is None:
        return Finding(
            "fail",
            f"{answer.verdict}: {answer.reason}",
            f"`amdkernel targets` and the probe activity of {bench.machine.target}",
        )
    how = answer.timing
    traced = (
        "" if how is None else f"; kernel trace: {how.kernel_trace}; clocks {how.clocks_before} to {how.clocks_after}"
    )
    found = f"{answer.time_us.value:.2f} us, {answer.reason}{traced}"
    if "differs_from_itself" in answer.flags:
        return Finding("fail", f"a kernel differs from itself: {found}", "let nothing else run there, and repeat it")
    if {"not_idle", "not_settled", "trace_disagrees", "launch_bound"} & {*answer.flags}:
        return Finding("fail", found, "let nothing else run there, and repeat it")
    doubts = sorted({"idle_unknown", "no_kernel_trace"} & {*answer.flags})
    return Finding(
        "unknown" if doubts else "pass", f"{found}{' (' if doubts else ''}{', '.join(doubts)}{')' if doubts else ''}"
    )


def counters(bench: Bench) -> Finding:
    """Which counters the profiler of the image lists, and which of ours it lacks."""
    target = find_target(bench.machine.target, bench.machine.settings)
    printed = list_counters(bench.sandbox, target)
    bench.machine.said["counters.txt"] = printed.encode()
    known = listed_counters(printed)
    newer = 'name an image with rocprofv3 of ROCm 7.0 or newer in the setting `image` (docs/sandbox.md, "rocprofv3")'
    if known is None:
        return Finding("fail", "the image has no rocprofv3 that lists counters here", newer)
    lacking = missing_counters(target.arch, known)
    wanted = len({name for group in wanted_counters(target.arch) for name in group})
    if lacking:
        return Finding(
            "fail", f"{len(lacking)} of {wanted} counters of our metrics are missing: {', '.join(lacking)}", newer
        )
    return Finding("pass", f"{len(known)} names; all {wanted} counters of our metrics are there")


def counted(bench: Bench) -> Finding:
    """Whether one counter of one launch after the other has a value: the waves, of which each launch here has one."""
    files = _run(bench, "", ["rocprofv3", "-f", "csv", "-d", "@", "-o", "out_%pid%", "--pmc", ONE_COUNTER, "--"])
    tables = [data.decode(errors="replace") for name, data in files.items() if name.endswith("counter_collection.csv")]
    rows = [row for table in tables for row in csv.DictReader(table.splitlines())]
    values = [row["Counter_Value"] for row in rows if row.get("Counter_Name") == ONE_COUNTER]
    right = sum(float(value) == 1 for value in values if re.fullmatch(r"\d{1,9}(\.\d+)?", value or ""))
    found = f"{ONE_COUNTER} was read of {len(values)} launches, and of {right} it is 1 as it should be"
    return Finding("pass" if right else "fail", found, None if right else f"`--only profiled`, then `{_LEVEL}`")


def profiled(bench: Bench) -> Finding:
    """Every pass and the trace of a profile."""
    answer = bench.engine.do(
        Profile(
            problem=PROBLEM,
            source=_naive(),
            file_name="naive.hip",
            target=bench.machine.target,
            options=ProfileOptions(case=CASE),
        )
    )
    bench.keep("profile", answer)
    metrics = [metric for kernel in answer.kernels for metric in kernel.metrics.values()]
    counted = [metric for metric in metrics if metric.value is not None]
    found = f"{len(counted)} of {len(metrics)} metrics have a value"
    refused = [warning for warning in answer.warnings if "rocprofv3" in warning]
    if not counted or refused:
        cause = cause_of(" ".join(answer.warnings))
        return Finding(
            "fail", "; ".join([found, *refused])[:600], cause.hint if cause else "read the warnings in the archive"
        )
    return Finding("pass", found)


def children(bench: Bench) -> Finding:
    """Whether rocprofv3 records a process that the program started by fork and exec, and one that was forked alone."""
    seen = {}
    for word in ("exec", "fork"):
        wrapped = ["rocprofv3", "-f", "csv", "-d", "@", "-o", "out_%pid%", "--kernel-trace", "--"]
        files = _run(bench, word, wrapped)
        traces = [data for name, data in files.items() if name.endswith("kernel_trace.csv")]
        seen[word] = sum(max(0, data.count(b"\n") - 1) for data in traces)
    found = f"launches in the trace: {seen['exec']} of a child that calls exec, {seen['fork']} of a forked one"
    if not seen["exec"]:
        return Finding("fail", found, "`rocprofv3 --version` of the image: profiles need a child's launches")
    return Finding("pass", found)


def sampling(bench: Bench) -> Finding:
    """Whether PC sampling starts. It is not used by us: this is for the record."""
    wrapped = ["rocprofv3", "--pc-sampling-beta-enabled", "--pc-sampling-unit", "time", "--pc-sampling-method",
               "host_trap", "--pc-sampling-interval", "100", "-f", "csv", "-d", "@", "--"]  # fmt: skip
    try:
        files = _run(bench, "", wrapped)
    except SandboxError as error:
        return Finding("unknown", f"it does not start: {error.message[:200]}")
    sampled = [name for name in files if "pc_sampling" in name]
    return Finding("pass" if sampled else "unknown", f"files: {', '.join(sampled) or 'none'}")


def watched(bench: Bench) -> Finding:
    """The GPU while it has no work: activity, memory, clocks, and whether it goes to sleep."""
    node = bench.sandboxes.render_node(find_target(bench.machine.target, bench.machine.settings))
    states: list[GpuState | str] = []
    end = time.monotonic() + bench.watch_s
    while not states or time.monotonic() < end:
        states.append(read_state(bench.machine.without_gpu, node))
        time.sleep(min(WATCH_EVERY_S, max(0.0, end - time.monotonic())))
    texts = [state if isinstance(state, str) else f"{state.text}, {state.clocks}" for state in states]
    bench.machine.said["idle.txt"] = "\n".join(texts).encode()
    last = states[-1]
    if isinstance(last, str):
        return Finding("unknown", last)
    return Finding("unknown" if last.busy_percent is None else "pass", f"after {len(states)} looks: {last.text}")


def fault(bench: Bench) -> Finding:
    """A kernel that stores outside all memory, and whether the GPU computes right afterwards."""
    return _and_afterwards(bench, "fault", _OUTSIDE, ("crashed", "incorrect"))


def hang(bench: Bench) -> Finding:
    """A kernel that never ends, and whether the GPU computes right afterwards."""
    beside = neighbours(bench.machine)
    if beside.status != "pass":  # a display, or nothing is known
        return Finding("unknown", f"not tried: {beside.found}", beside.next)
    return _and_afterwards(bench, "hang", _GUARDED, ("timeout",), CheckOptions(hang=True))


def _and_afterwards(
    bench: Bench, name: str, body: str, right: tuple[str, ...], options: CheckOptions | None = None
) -> Finding:
    source, where = _KERNEL.format(body=body), bench.machine.target
    answer = bench.engine.do(
        Check(problem=PROBLEM, source=source, file_name=f"{name}.hip", target=where, options=options)
    )
    bench.keep(name, answer)
    afterwards = bench.engine.do(Check(problem=PROBLEM, source=_naive(), file_name="naive.hip", target=where))
    bench.keep(f"after_{name}", afterwards)
    found = f"it is {answer.verdict}; the next kernel is {afterwards.verdict}"
    if answer.verdict not in right or afterwards.verdict != "correct":
        return Finding(
            "fail", f"{found}: {answer.reason[:200]}", f"`amdkernel admin gpus`; `{bench.machine.at_a_shell}sudo dmesg`"
        )
    return Finding("pass", found)


def _measure(bench: Bench, word: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(_run(bench, word, [])["launches.json"])
    except (KeyError, ValueError):
        raise SandboxError("the program that launches left no times", hint="see launches.txt in the archive") from None
    return found


def _run(bench: Bench, word: str, wrapped: list[str]) -> dict[str, bytes]:
    """The files that time_launches.py left, run by the words before it, in which @ is the output folder."""
    place = folder("sandbox") / "bringup"
    target = find_target(bench.machine.target, bench.machine.settings)
    source = (place / "launches.hip").read_text(encoding="utf-8")
    compiled = run_compile(bench.sandbox, source, arch=target.arch, flags=parse_flags(()), file_name="launches.hip")
    if compiled.code_object is None:
        raise ToolchainError(
            f"the kernels of the probes cannot be compiled: {compiled.failure or compiled.messages[-300:]}"
        )
    files = {"time_launches.py": (place / "time_launches.py").read_bytes(), "launches.co": compiled.code_object}
    words = [*wrapped, "python3", "-s", "time_launches.py", *([word] if word else [])]
    command = " ".join('"$OUT"' if each == "@" else shlex.quote(each) for each in words)
    done = bench.sandbox.run("run", ["sh", "-c", command], files, timeout_s=RUN_TIMEOUT_S)
    bench.machine.said[f"said/{wrapped[0] if wrapped else 'launches'}_{word or 'plain'}.txt"] = done.stderr.encode()
    if done.exit_code:
        said = done.stderr.strip()[-300:]
        cause = cause_of(done.stderr)
        raise SandboxError(f"exit code {done.exit_code}: {said}", hint=cause.hint if cause else None)
    return dict(done.files)


def _naive() -> str:
    return (folder("examples") / PROBLEM / "kernels" / "naive.hip").read_text(encoding="utf-8")


RUNS: tuple[Probe[Bench], ...] = (
    Probe("open", "does a container with one render node open it?", ("correct",), opened),
    Probe("launches", "do HIP, a module, launches, copies and events work?", ("correct", "timed"), launches),
    Probe("correct", "are a right and a wrong kernel distinguished?", ("correct",), correct),
    Probe("timed", "is a kernel as fast as itself?", ("timed",), timed),
    Probe("counters", "which counters does rocprofv3 have?", ("profiled",), counters),
    Probe("counted", "is one counter counted?", ("profiled",), counted),
    Probe("profiled", "is every pass counted?", ("profiled",), profiled),
    Probe("children", "does rocprofv3 follow exec and fork?", ("profiled",), children),
    Probe("sampling", "does PC sampling start?", (), sampling),
    Probe("watched", "what does the GPU do without work?", ("timed",), watched),
    Probe("fault", "does the GPU survive a memory fault?", ("correct", "shared"), fault),
)
INSTRUCTIONS = Probe[Bench](
    "instructions",
    "does the GPU compute what the emulator computes?",
    (),
    lambda bench: instructions(bench.machine),
)
HANG = Probe("hang", "does the GPU survive a kernel that never ends?", ("shared",), hang)
