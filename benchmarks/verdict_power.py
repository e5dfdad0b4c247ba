"""How often a verdict on two GPU kernels is right, ours and two usual ways, on a simulated GPU clock: `make bench`.

The truth is known because the durations are given to the simulator. Every number printed is a count of simulated
comparisons: none is a time of a GPU. `--update` also writes the tables into docs/timing.md.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean, median

import numpy as np

from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN, PROBES, Comparison, compare
from amdkernel_mcp.measurement.timing.simulated_clock import Parameters, SimulatedGpu, SimulatedPair, read_parameters
from amdkernel_mcp.measurement.timing.statistics import stored_noise_floor

PAGE = Path(__file__).resolve().parent.parent / "docs/timing.md"
SEED = 16
GPUS = 10
FLOOR_RUNS = 20
SHORTEST_US, LONGEST_US = 5.0, 500.0
IDLE_S = 1.0  # compilation, before the first launch of a comparison
BETWEEN_S = 0.005  # without work, between the two sides of a comparison that times one after the other
BUFFER_SETS = 8
FLUSH_US = 80.0  # do_bench writes 256 MB before each launch; at 3.3 TB/s
TRUE_SPEEDUPS = (1.0, 1.05, 1.02)
BARS = {1.0: ("at most", 0.01), 1.05: ("at least", 0.95), 1.02: ("at least", 0.60)}
LOUDER = (2.0, 4.0)


@dataclass
class Count:
    """How many of `of` comparisons said `faster`, and the device time of each."""

    of: int = 0
    faster: int = 0
    device_s: list[float] = field(default_factory=list)

    def add(self, faster: bool, device_s: float) -> None:
        self.of += 1
        self.faster += faster
        self.device_s.append(device_s)

    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        z, share, n = 1.96, self.faster / self.of, self.of
        middle, width = share + z * z / 2 / n, z * sqrt(share * (1 - share) / n + z * z / 4 / n / n)
        return max(0.0, (middle - width) / (1 + z * z / n)), min(1.0, (middle + width) / (1 + z * z / n))

    def text(self) -> str:
        low, high = self.interval()
        return f"{self.faster / self.of:.1%} [{low:.1%}, {high:.1%}]"


@dataclass(frozen=True)
class Trial:
    """One comparison to make: the GPU's parameters and history, and the true durations."""

    parameters: Parameters
    seed: tuple[int, ...]
    baseline_us: float
    true_speedup: float
    floor: float | None

    def gpu(self, *, buffer_sets: int = 1) -> SimulatedGpu:
        gpu = SimulatedGpu(self.parameters, seed=self.seed, buffer_sets=buffer_sets)
        gpu.idle(IDLE_S * 1e6)
        return gpu

    @property
    def candidate_us(self) -> float:
        return self.baseline_us / self.true_speedup


# ---- the ways to compare ----


def interleaved(trial: Trial) -> tuple[Comparison, float]:
    """Ours, and the device time of the comparison in seconds."""
    gpu = trial.gpu(buffer_sets=BUFFER_SETS)
    pair = SimulatedPair(gpu, candidate_us=trial.candidate_us, baseline_us=trial.baseline_us)
    comparison = compare(pair, floor=trial.floor)
    return comparison, gpu.now_us / 1e6 - IDLE_S


Summary = Callable[[np.ndarray], float]


def one_after_the_other(
    trial: Trial,
    *,
    warm_ups: int | None = None,
    repeats: int | None = None,
    summary: Summary,
    settle_s: float = 0.0,
    flush_us: float = 0.0,
) -> tuple[float, float]:
    """Baseline time / candidate time where the baseline is timed first, and the device time in seconds.

    Without `warm_ups` and `repeats`, they take 25 ms and 100 ms.
    """
    gpu, times = trial.gpu(), []
    gpu.work(settle_s * 1e6)
    for kernel, true_us in enumerate((trial.baseline_us, trial.candidate_us)):
        if kernel:
            gpu.idle(BETWEEN_S * 1e6)
        once_us = true_us + flush_us
        gpu.work((warm_ups or max(1, int(25e3 / once_us))) * once_us)
        count = repeats or max(1, int(100e3 / once_us))
        times.append(summary(gpu.run([true_us] * count, kernels=[kernel] * count, untimed_us=flush_us)))
    return times[0] / times[1], gpu.now_us / 1e6 - IDLE_S


def mean_of_100(trial: Trial) -> tuple[float, float]:
    return one_after_the_other(trial, warm_ups=10, repeats=100, summary=mean)


def do_bench(trial: Trial) -> tuple[float, float]:
    """Triton's defaults: 25 ms of warm-up and 100 ms of repeats, a flush before each launch, the median."""
    return one_after_the_other(trial, summary=median_of, flush_us=FLUSH_US)


def with_our_budget(trial: Trial, launches: int, summary: Summary, flush_us: float) -> tuple[float, float]:
    """The same way with our settle time before it, and as many timed launches of each side as ours took."""
    return one_after_the_other(
        trial,
        warm_ups=10,
        repeats=launches,
        summary=summary,
        settle_s=DEFAULT_PLAN.settle_s,
        flush_us=flush_us,
    )


def median_of(times: np.ndarray) -> float:
    return float(np.median(times))


# ---- counting ----

OURS = "interleaved pairs, interval, noise floor"
WITHOUT_FLOOR = "the same without a stored noise floor"
PEERS = (
    "mean of 100 after 10 warm-ups",
    "do_bench, median",
    "mean, our settle and launches",
    "median, our settle and launches",
)
THRESHOLDS = (1.0, 1.02)


def gpus(louder: float) -> list[Parameters]:
    """The parameters of each simulated GPU: from half to twice the noise of the file, times `louder`."""
    factors = np.exp(np.linspace(log(0.5), log(2.0), GPUS)) * louder
    return [read_parameters().louder(float(factor)) for factor in factors]


def floors(parameters: Sequence[Parameters], tag: int) -> list[float | None]:
    """The noise floor of each GPU, from its A/A runs."""
    found = []
    for gpu, each in enumerate(parameters):
        same = [
            Trial(each, (SEED, tag, gpu, 1, run), duration_us(SEED, tag, gpu, run), 1.0, None)
            for run in range(FLOOR_RUNS)
        ]
        found.append(stored_noise_floor([interleaved(trial)[0].estimate.value for trial in same]))
    return found


def duration_us(*seed: int) -> float:
    """Log-uniform."""
    return exp(np.random.default_rng(seed).uniform(log(SHORTEST_US), log(LONGEST_US)))


def trials(comparisons: int, true_speedup: float, louder: float) -> Iterator[Trial]:
    tag = round(louder * 10)
    parameters = gpus(louder)
    known = floors(parameters, tag)
    for number in range(comparisons):
        gpu = number % GPUS
        seed = (SEED, tag, gpu, 2, number, round(true_speedup * 1000))
        yield Trial(parameters[gpu], seed, duration_us(*seed), true_speedup, known[gpu])


def count(comparisons: int, true_speedup: float, *, louder: float = 1.0, peers: bool = True) -> dict[str, Count]:
    """For each way of comparing, how many of the comparisons said `faster`."""
    counts: dict[str, Count] = {OURS: Count()}
    for trial in trials(comparisons, true_speedup, louder):
        ours, device_s = interleaved(trial)
        counts[OURS].add(ours.verdict == "faster", device_s)
        if not peers:
            continue
        unstored, device_s = interleaved(replace(trial, floor=None))
        counts.setdefault(WITHOUT_FLOOR, Count()).add(unstored.verdict == "faster", device_s)
        launches = len(ours.pairs_us) * ours.batch + PROBES
        ways = (mean_of_100(trial), do_bench(trial))
        budget = (
            with_our_budget(trial, launches, mean, 0.0),
            with_our_budget(trial, launches, median_of, FLUSH_US),
        )
        for name, (ratio, spent_s) in zip(PEERS, ways + budget, strict=True):
            for threshold in THRESHOLDS:
                row = f"{name}, ratio > {threshold:g}"
                counts.setdefault(row, Count()).add(ratio > threshold, spent_s)
    return counts


# ---- printing ----


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned for a terminal; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def main_table(by_truth: dict[float, dict[str, Count]]) -> str:
    head = ["`faster` of", "identical code", "truly 5 % faster", "truly 2 % faster", "device time, median"]
    rows = [head]
    for name in by_truth[1.0]:
        spent_s = [second for truth in TRUE_SPEEDUPS for second in by_truth[truth][name].device_s]
        rows.append([name, *(by_truth[truth][name].text() for truth in TRUE_SPEEDUPS), f"{median(spent_s):.2f} s"])
    return table(rows)


def louder_table(comparisons: int) -> str:
    rows = [["noise", "identical code", "truly 5 % faster", "truly 2 % faster"]]
    for louder in LOUDER:
        cells = [count(comparisons, truth, louder=louder, peers=False)[OURS].text() for truth in TRUE_SPEEDUPS]
        rows.append([f"{louder:g} times as large", *cells])
    return table(rows)


def bars(by_truth: dict[float, dict[str, Count]]) -> list[str]:
    """Whether each bar holds, for the share and for the whole of its interval."""
    lines = []
    for truth, (side, bar) in BARS.items():
        found = by_truth[truth][OURS]
        share, (low, high) = found.faster / found.of, found.interval()
        holds = share <= bar if side == "at most" else share >= bar
        surely = high <= bar if side == "at most" else low >= bar
        word = "holds" if surely else "holds, but its interval does not" if holds else "DOES NOT HOLD"
        what = "identical code" if truth == 1 else f"truly {truth - 1:.0%} faster"
        lines.append(f"- `faster` {side} {bar:.0%} for {what}: {word}, {found.text()}")
    return lines


def parameters_text(comparisons: int) -> str:
    return (
        f"{comparisons} comparisons in each cell, seed {SEED}. Kernels take {SHORTEST_US:g} to {LONGEST_US:g} us,"
        f" log-uniform. {GPUS} simulated GPUs have 0.5 to 2 times the noise of `simulated_clock.toml`, and the noise"
        f" floor of each comes from {FLOOR_RUNS} A/A runs. The GPU is idle for {IDLE_S:g} s before each comparison, and"
        f" for {BETWEEN_S * 1e3:g} ms between sides that are timed one after the other. In brackets: Wilson's 95 %"
        " interval of the share."
    )


def main() -> None:
    """Print the tables and whether each bar holds."""
    options = argparse.ArgumentParser(description="How often a verdict on two GPU kernels is right (simulated)")
    options.add_argument("--comparisons", type=int, default=1000, help="for each true speed-up")
    options.add_argument("--update", action="store_true", help="write the tables into docs/timing.md")
    chosen = options.parse_args()
    started = time.process_time()
    by_truth = {truth: count(chosen.comparisons, truth) for truth in TRUE_SPEEDUPS}
    parts = [
        parameters_text(chosen.comparisons),
        main_table(by_truth),
        "\n".join(bars(by_truth)),
        f"Ours on GPUs with more noise, {chosen.comparisons // 2} comparisons in each cell:",
        louder_table(chosen.comparisons // 2),
    ]
    text = "\n\n".join(parts)
    print(f"verdict_power: simulated, nothing here was measured on a GPU\n\n{text}\n")
    print(f"{time.process_time() - started:.0f} s of one core")
    if chosen.update:
        page = PAGE.read_text(encoding="utf-8")
        marked = re.compile(r"(<!-- verdict_power -->\n).*(\n<!-- /verdict_power -->)", re.DOTALL)
        filled, found = marked.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", page)
        if not found:
            raise SystemExit(f"{PAGE} has no place for the tables: a marker line, an empty line, the other marker")
        PAGE.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
