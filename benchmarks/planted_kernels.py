"""The kernels of tests/profiling/planted, one reason or none in each: run on the emulator, and what is diagnosed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.compiler.compile import Compiled, Compiler
from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.measurement.counters import CaseRun
from amdkernel_mcp.measurement.job import plan_measurement, read_measurement
from amdkernel_mcp.measurement.modelled import modelled_ratio
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.profiling.profile import profile
from amdkernel_mcp.profiling.remains import REMAINS
from amdkernel_mcp.results.kernels import Finding, ProfileResult

FOLDER = Path(__file__).resolve().parent.parent / "tests/profiling/planted"
ELEMENTS = 1 << 22
PROBLEM = f"""title = "Two arrays"
[[arguments]]
name = "x"
dtype = "f32"
shape = ["n"]
role = "in"
[[arguments]]
name = "y"
dtype = "f32"
shape = ["n"]
role = "out"
[[arguments]]
name = "n"
dtype = "i32"
[[cases]]
n = {ELEMENTS}
"""
TITLES: Mapping[str, tuple[str, ...]] = {
    "uncoalesced": ("not coalesced", "a part of each is used"),
    "narrow": ("Loads are narrow",),
    "redundant": ("loaded many times", "Data leaves the caches"),
    "bank_conflict": ("LDS bank conflicts",),
    "lds_bandwidth": ("bandwidth of the LDS",),
    "lds_misaligned": ("LDS accesses are misaligned",),
    "lds_atomics": ("LDS atomics",),
    "atomics": ("Atomics take turns",),
    "barriers": ("Barriers",),
    "occupancy": ("Few waves are resident",),
    "little_parallelism": ("cannot fill the GPU",),
    "partial_waves": ("Many lanes are inactive",),
    "divergence": ("Many lanes are inactive",),
    "tail": ("last round of workgroups",),
    "uneven": ("One wave does much more",),
    "intermediate": ("Intermediate arrays",),
    "gather": ("come from loaded data",),
    "launches": ("Starting the launches",),
    "latency": ("Latency is exposed",),
    "double_precision": ("double precision",),
    "integer_division": ("Integer divisions",),
    "transcendental": ("Transcendental functions",),
    "scratch": ("scratch memory",),
    "matrix": ("without matrix instructions",),
    "instruction_cache": ("instruction cache",),
    "slow_matrix": ("below the peak rate",),
    "repeated_stores": ("stored many times",),
    "uniform": ("load the same address",),
    "narrow_lds": ("The LDS holds", "bandwidth of the LDS"),
    "overhead": ("Instructions other than arithmetic",),
    "unpacked": ("not packed",),
    "xcd_order": ("different XCDs",),
}
"""What a finding that names a planted reason says."""
FINE = "The only modelled bound"
"""What the first finding of a control may say, if there is one."""
_HEAD = re.compile(r"// (planted|control): (\w+).*\n// amdkernel: launch (\w+)")
_CURE = re.compile(r"// cured: (\w+)\n// amdkernel: launch (\w+)")


@dataclass(frozen=True)
class Ran:
    """What the kernels of one file did."""

    source: str
    runs: tuple[CaseRun, ...]
    compiled: Compiled
    target: Target

    @cached_property
    def kernels(self) -> dict[str, tuple[str, str]]:
        """`planted` or `control`, and the reason or bound, by name."""
        return {name: (kind, reason) for kind, reason, name in _HEAD.findall(self.source)}

    @cached_property
    def cures(self) -> dict[str, str]:
        """The twin without the reason, by the name of the planted kernel."""
        return dict(_CURE.findall(self.source))

    def gain_of(self, kernel: str) -> Estimate | None:
        """How many times as fast the cured twin is, as a benchmark says it."""
        cured, planted = (Side(self._runs_of(name)) for name in (self.cures[kernel], kernel))
        return modelled_ratio(cured, planted, gpu_by_name(self.target.gpu))

    def _runs_of(self, kernel: str) -> tuple[CaseRun, ...]:
        """As if it were alone in the file."""
        return tuple(
            CaseRun(run.case, tuple(each for each in run.dispatches if each.kernel == kernel)) for run in self.runs
        )

    def findings(self, kernel: str) -> list[str]:
        """The findings on a kernel, the first first, without what is ruled out."""
        return [row.finding for row in self.profile(kernel).diagnosis if not row.finding.startswith("Ruled out")]

    def rank(self, kernel: str) -> int | None:
        """Where the first finding that names the planted reason stands, from 1; None where none does."""
        wanted = TITLES[self.kernels[kernel][1]]
        for rank, finding in enumerate(self.findings(kernel), 1):
            if any(title in finding for title in wanted):
                return rank
        return None

    def is_fine(self, kernel: str) -> bool:
        """Whether the first finding on a control is none, or one that is true of it."""
        found = self.findings(kernel)
        return not found or found[0].startswith((FINE, REMAINS))

    def profile(self, kernel: str) -> ProfileResult:
        """The profile of one of the kernels, as if it were alone in the file."""
        return profile(
            runs=self._runs_of(kernel),
            resources=self.compiled.result.kernels,
            source=self.source,
            lines=self.compiled.lines,
            disassembly=self.compiled.disassembly,
            gpu=gpu_by_name(self.target.gpu),
            target=self.target.name,
        )


def run_file(path: Path, sandbox: Sandbox, target: Target, cache_dir: Path) -> Ran:
    """Compile and run all kernels of a file, with the same inputs each time. Raises RuntimeError where one fails."""
    source, problem = path.read_text(), _problem()
    plan = read_launch_plan(source)  # without the problem: these kernels read the arrays as other types too
    compiled = Compiler(sandbox, cache_dir, timeout_s=300).compile(
        source, arch=target.arch, flags=plan.flags(), file_name=path.name
    )
    if plan.mistakes or compiled.code_object is None:
        raise RuntimeError(f"{path.name}: {plan.mistakes or compiled.result.diagnostics}")
    inputs = {"x": np.random.default_rng(0).random(ELEMENTS, dtype=np.float32)}
    planned = plan_measurement(
        target=target,
        problem=problem,
        plan=plan,
        code_object=compiled.code_object,
        calls=[Call(problem.cases[0], 0, inputs)],
        layout_seed="0",
    )
    if isinstance(planned, Finding):
        raise RuntimeError(f"{path.name}: {planned.message}")
    measured = read_measurement(planned, run_job(sandbox, target, planned.job))
    if measured.finding:
        raise RuntimeError(f"{path.name}: {measured.finding.message}")
    return Ran(source, measured.runs, compiled, target)


def _problem() -> Problem:
    with TemporaryDirectory() as folder:
        (Path(folder) / "problem.toml").write_text(PROBLEM)
        (Path(folder) / "reference.py").write_text("def reference(x, *, n):\n    return {'y': x}\n")
        return load_problem(folder)
