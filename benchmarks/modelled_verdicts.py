"""How often a modelled `faster` is wrong, and how often it is missed, over pairs whose truth is known.

The counts are those of the emulator for kernels of examples/. A GPU is drawn for each pair: what its waits and launches
cost, which of the model's estimates come true, and how far each of the two kernels is from all that by itself. So the
two times of that GPU are known. Then the pair is made what it is to be: a tie, by scaling one of two different kernels
until both take the same time; or a kernel next to one of the same kind that truly takes 1 / 1.3 of its time. Nothing is
asserted.

`--write` also writes the table of docs/timing.md.
"""

import random
import sys
from dataclasses import replace
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.kernel_steps import KernelSteps
from amdkernel_mcp.engine.prepared_kernel import side_of
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.modelled import HIDDEN_US, terms_of
from amdkernel_mcp.measurement.paired import USUAL_WAITS, CaseTerms, LaunchTerms, paired
from amdkernel_mcp.measurement.simulated import Simulated
from amdkernel_mcp.measurement.unmodelled import SENTENCES, Unmodelled
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.work import Work

PAGE = Path(__file__).parents[1] / "docs/timing.md"
MARK = "modelled_verdicts"
GPU = gpu_by_name("MI300X")
PROBLEMS = {
    "vector_add": ("n=4194304", "n=4096"),
    "row_softmax": ("rows=4096", "rows=64"),
    "rmsnorm": ("rows=4096", "rows=32"),
    "transpose": ("rows=2048", "rows=1536"),
    "reduce_sum": ("n=4194304", "n=10000"),
    "gemm_f32": ("m=512",),
}
FALSE = ("faster", "slower")
PAIRS = 2000
SEED = 31
FACTOR = 1.3
SAME_SPREAD, OTHER_SPREAD, WAIT_SPREAD = 0.03, 0.08, 0.06
"""Of the logarithm of a kernel's own share: how evenly it uses the unit that binds it, and how its waits overlap."""


def emulated_terms(steps: KernelSteps) -> dict[str, CaseTerms]:
    """What the time of each kernel may consist of, by its name and case."""
    found = {}
    for problem_name, cases in PROBLEMS.items():
        problem = steps.problem(problem_name)
        for case in cases:
            for kernel in ("naive", "better"):
                source = (folder("examples") / problem_name / "kernels" / f"{kernel}.hip").read_text()
                prepared = steps.prepare(problem, source, file_name="k.hip", target="emulator:gfx942", work=Work())
                planned = steps.plan_measurement(prepared, case=case)
                if isinstance(planned, Finding):
                    raise RuntimeError(planned.message)
                side = side_of(prepared, steps.measure(prepared, planned, Work()))
                found[f"{problem_name} {kernel} {case}"] = terms_of(side, GPU)[0]
    return found


def waits_us(launch: LaunchTerms, part: float) -> float:
    """What waits cost a launch where they cost this part of the most: of its simulation, or else of the estimate."""
    return launch.unit.with_latency(part / USUAL_WAITS) if launch.unit else part * launch.waits_us


class DrawnGpu:
    """What the model does not know of a GPU, and of two kernels on it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._waits = rng.uniform(0.2, 1.0)
        self._launch_us = rng.uniform(2.7, 5.0)
        self._left_out = {name: rng.random() < 0.5 for name in SENTENCES}
        self._rates: dict[str, float] = {}

    def own(self) -> tuple[float, float, float]:
        """A kernel's own shares: of its unit, of its waits, of what the model leaves out."""
        gauss = self._rng.gauss
        return exp(gauss(0, SAME_SPREAD)), exp(gauss(0, WAIT_SPREAD)), self._rng.uniform(0.8, 1.0)

    def time_us(self, case: CaseTerms, own: tuple[float, float, float]) -> float:
        """The true time of a kernel with these shares."""
        unit, overlap, met = own
        total = len(case.launches) * self._launch_us
        for each in case.launches:
            rate = self._rates.setdefault(each.bound, exp(self._rng.gauss(0, OTHER_SPREAD)))
            total += max(each.reached_us * rate * unit, overlap * waits_us(each, self._waits))
        return float(total + met * sum(vars(case.left_out)[name] for name, counts in self._left_out.items() if counts))


def scaled_unit(unit: Simulated, factor: float) -> Simulated:
    """The simulation of as much more work."""
    return Simulated(unit.time_us * factor, {loss: us * factor for loss, us in unit.without_us.items()})


def scaled(case: CaseTerms, factor: float) -> CaseTerms:
    """The case with all that it may consist of multiplied."""
    launches = tuple(
        replace(
            each,
            peak_us=each.peak_us * factor,
            reached_us=each.reached_us * factor,
            waits_us=each.waits_us * factor,
            unit=each.unit and scaled_unit(each.unit, factor),
        )
        for each in case.launches
    )
    left_out = {name: us * factor for name, us in vars(case.left_out).items()}
    return CaseTerms(launches, Unmodelled(**left_out))


def made_a_tie(gpu: DrawnGpu, first: CaseTerms, other: CaseTerms) -> CaseTerms | None:
    """The other kernel with as much work as takes the time of the first on this GPU; None where launches hide it."""
    mine, its = gpu.own(), gpu.own()
    wanted = gpu.time_us(first, mine)
    found = with_time(gpu, other, its, wanted)
    return found if abs(gpu.time_us(found, its) / wanted - 1) < 0.001 else None


def with_time(gpu: DrawnGpu, case: CaseTerms, own: tuple[float, float, float], wanted_us: float) -> CaseTerms:
    """The kernel with as much work as takes this time."""
    low, high = 1e-4, 1e4
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if gpu.time_us(scaled(case, middle), own) < wanted_us else (low, middle)
    return scaled(case, low)


def judged(candidate: CaseTerms, baseline: CaseTerms) -> str:
    """`faster`, `slower` or `inconclusive`, as a benchmark decides."""
    value = sum(each.peak_us for each in baseline.launches) / sum(each.peak_us for each in candidate.launches)
    if all(
        sum(each.peak_us for each in side.launches) < HIDDEN_US * len(side.launches) for side in (candidate, baseline)
    ):
        return "inconclusive"
    estimate = paired([candidate], [baseline], value=value).estimate
    return "faster" if estimate.low > 1 else "slower" if estimate.high < 1 else "inconclusive"


def found_among(cases: list[CaseTerms], rng: random.Random, factor: float = FACTOR) -> tuple[float, float]:
    """The shares of `faster` and of `slower` among pairs whose candidate truly is `factor` times as fast.

    The candidate is the same kind of kernel with less to do; both have shares of their own.
    """
    found = wrong = 0
    for _ in range(PAIRS):
        gpu, case = DrawnGpu(rng), rng.choice(cases)
        mine, its = gpu.own(), gpu.own()
        candidate = with_time(gpu, case, mine, gpu.time_us(case, its) / factor)
        verdict = judged(candidate, case)
        found += verdict == "faster"
        wrong += verdict == "slower"
    return found / PAIRS, wrong / PAIRS


def counted(terms: dict[str, CaseTerms]) -> list[str]:
    """The lines of the table."""
    rng = random.Random(SEED)
    cases = list(terms.values())
    ties: list[str] = []
    while len(ties) < PAIRS:
        gpu, (first, other) = DrawnGpu(rng), rng.sample(cases, 2)
        if (tied := made_a_tie(gpu, first, other)) is not None:
            ties.append(judged(tied, first))
    bound = [case for case in cases if all(each.reached_us > max(waits_us(each, 1.0), 5) for each in case.launches)]
    waiting = [case for case in cases if all(waits_us(each, 0.2) > max(each.reached_us, 5) for each in case.launches)]
    found, wrong = found_among(bound, rng)
    found_waiting, wrong_waiting = found_among(waiting, rng)
    equal = found_among(cases, rng, 1.0)
    itself = [judged(case, case) for case in cases]
    return [
        f"{len(terms)} kernels and cases, {PAIRS} pairs of each kind, seed {SEED}.",
        "",
        "| pairs | verdict | share |",
        "| --- | --- | --- |",
        f"| A/A: each of the {len(cases)} with itself | `faster` or `slower` | {sum(v in FALSE for v in itself)} |",
        *(
            f"| ties of two kernels of one kind | `{word}`, which is false | {share:.1%} |"
            for word, share in zip(FALSE, equal, strict=True)
        ),
        *(
            f"| ties of two different kernels | `{word}`, which is false | {ties.count(word) / PAIRS:.1%} |"
            for word in FALSE
        ),
        f"| {FACTOR:g} times as fast, {len(bound)} kernels that a unit binds | `faster` | {found:.1%} |",
        f"| the same | `slower`, which is false | {wrong:.1%} |",
        f"| {FACTOR:g} times as fast, {len(waiting)} kernels that waits bind | `faster` | {found_waiting:.1%} |",
        f"| the same | `slower`, which is false | {wrong_waiting:.1%} |",
    ]


def main() -> None:
    """Print the table; write it where that was asked for."""
    with TemporaryDirectory() as data:
        engine = Engine(load_settings({"data_dir": Path(data)}))
        try:
            lines = counted(emulated_terms(engine._steps))
        finally:
            engine.close()
    print("\n".join(lines))
    if "--write" in sys.argv:
        page, (begin, end) = PAGE.read_text(), (f"<!-- {MARK} -->", f"<!-- /{MARK} -->")
        before, _, rest = page.partition(begin)
        PAGE.write_text("\n".join([f"{before}{begin}", "", *lines, "", end]) + rest.partition(end)[2])


if __name__ == "__main__":
    main()
