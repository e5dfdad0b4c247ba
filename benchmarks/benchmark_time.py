"""How long a benchmark takes from call to answer, on the emulator, with the CPU seconds here and in its sandboxes.

The promise, on two quiet cores: 25 s for a matrix product at its profile case where nothing is known, half of that
where the baseline is known. Also a copy with another comment, of which nothing runs. On a busy machine the CPU seconds
say more than the clock. `python benchmarks/benchmark_time.py gemm_f32`: another example; `--stages`: where they go.
"""

import os
import resource
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import docker
from docker.errors import APIError

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.work import Work

BAR_S, BAR_KNOWN_S = 25.0, 12.5
OTHER_CODE = 'extern "C" __global__ void other(int* p) { *p = 0; }\n'
"""It makes another machine code of a kernel, which does the same."""
_EVERY_S = 0.05
_GROUPS = (
    ("/sys/fs/cgroup/cpuacct/docker/{}", "cpuacct.usage", 1e9),
    ("/sys/fs/cgroup/system.slice/docker-{}.scope", "cpu.stat", 1e6),
)


@dataclass
class SandboxCpu:
    """The CPU seconds of the containers of this process, as their control groups count them; sampled."""

    by_container: dict[str, float] = field(default_factory=dict)

    def watch(self) -> None:
        """Sample for ever, in a thread of its own."""
        client, own = docker.from_env(), f"{os.getpid()}:"
        others: set[str] = set()
        while True:
            for each in {str(one["Id"]) for one in client.api.containers(quiet=True)} - others - {*self.by_container}:
                try:
                    labels = client.api.inspect_container(each)["Config"]["Labels"] or {}
                except APIError:
                    continue  # it has ended
                if str(labels.get("amdkernel.process", "")).startswith(own):
                    self.by_container[each] = 0.0
                else:
                    others.add(each)
            for each in [*self.by_container]:
                self.by_container[each] = max(self.by_container[each], _used_s(each))
            time.sleep(_EVERY_S)

    @property
    def seconds(self) -> float:
        """Of all of them so far."""
        return sum(self.by_container.values())


def _used_s(container: str) -> float:
    for place, name, per_second in _GROUPS:
        try:
            text = Path(place.format(container), name).read_text()
        except OSError:
            continue
        return int(text.split()[1] if name == "cpu.stat" else text) / per_second
    return 0.0


def own_s() -> float:
    """The CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """A line for each kind of benchmark."""
    names = [each for each in sys.argv[1:] if not each.startswith("--")] or ["gemm_f16"]
    sandboxes = SandboxCpu()
    threading.Thread(target=sandboxes.watch, daemon=True).start()
    for name in names:
        better, naive = (
            (folder("examples") / name / "kernels" / f"{each}.hip").read_text() for each in ("better", "naive")
        )
        with tempfile.TemporaryDirectory() as data:
            engine = Engine(load_settings({"data_dir": Path(data) / "data", "cache_dir": Path(data) / "cache"}))
            try:
                measure(engine, name, "nothing is known", better, naive, sandboxes)
                measure(engine, name, "the baseline is known", f"{better}{OTHER_CODE}", naive, sandboxes)
                measure(engine, name, "another comment", f"{better}// a comment\n", naive, sandboxes)
            finally:
                engine.close()
    print(f"the promise is {BAR_S:g} s, and {BAR_KNOWN_S:g} s where the baseline is known, on two quiet cores")


def measure(engine: Engine, problem: str, what: str, source: str, baseline: str, sandboxes: SandboxCpu) -> None:
    """Print the seconds of one benchmark."""
    began, own, theirs = time.perf_counter(), own_s(), sandboxes.seconds
    last = [began, own, theirs]

    def say(text: str) -> None:
        if "--stages" in sys.argv:
            now = [time.perf_counter(), own_s(), sandboxes.seconds]
            gone = [after - before for after, before in zip(now, last, strict=True)]
            print(
                f"    {gone[0]:5.1f} s, CPU {gone[1]:.1f} s here, {gone[2]:.1f} s in sandboxes; then {text}", flush=True
            )
            last[:] = now

    answer = engine.do(Benchmark(problem=problem, source=source, baseline=baseline), Work(say=say))
    say("the answer")
    here, there = own_s() - own, sandboxes.seconds - theirs
    print(
        f"benchmark of {problem}, {what}: {time.perf_counter() - began:.1f} s, CPU {here + there:.1f} s"
        f" ({here:.1f} s here, {there:.1f} s in sandboxes), {answer.verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
