"""The profile of a whole program: every kernel that it launched, with the share of the modelled time. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import ceil

from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.compiler.sleeps import sleep_clocks
from amdkernel_mcp.counted import counted
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch, PcCounts
from amdkernel_mcp.measurement.time_interval import TimeInterval, launch_interval
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.profiling.executed_code import executed_code
from amdkernel_mcp.profiling.hot_lines import line_table
from amdkernel_mcp.profiling.profile import kernel_profile
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import KernelResources, Span
from amdkernel_mcp.results.programs import ProgramKernel, ProgramProfile
from amdkernel_mcp.results.source_line import SourceLine
from amdkernel_mcp.runner_protocol.records import DispatchRecord, LaunchCount

MOST_SHAPES = 256
"""Kernels with their grids and blocks that the emulator keeps apart in a process (dispatch_report.c)."""
_Shape = tuple[tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True)
class ProgramCode:
    """What is known of one code object of the program."""

    resources: Sequence[KernelResources] = ()
    line_of: Callable[[int], int | None] = lambda _: None
    disassembly: str = ""


@dataclass(frozen=True)
class _Launches:
    """All launches of a kernel with one grid and block: how many, and the mean of those that were counted."""

    mean: Dispatch
    launches: int
    counted: int


def profile_program(
    records: Sequence[DispatchRecord],
    counts: Iterable[LaunchCount],
    *,
    code: Mapping[int, ProgramCode],
    names: Mapping[str, str],
    sources: Mapping[str, str],
    gpu: Gpu,
    target: str,
    kept: int,
) -> ProgramProfile:
    """Of the emulator's records of a program. `code`: by the number of the code object; `names`: of kernels, demangled;
    `sources`: the texts of the user's files by their names in lines; `kept`: launches of a shape that have a record."""
    by_kernel = _by_kernel(records, counts, kept)
    stopped = sum(record.fault is not None for record in records)
    notes = [f"{counted(stopped, 'launch', 'launches')} that a fault stopped: left out"] if stopped else []
    if not by_kernel:
        return ProgramProfile(target=target, reason="the program launched no kernel that came to its end", notes=notes)
    kernels = [_kernel(key, shapes, code.get(key[1], ProgramCode()), sources, gpu) for key, shapes in by_kernel.items()]
    total = sum(likely for _, likely in kernels)
    rows = [
        row.model_copy(update={"name": names.get(row.name, row.name), "share": likely / total if total else None})
        for row, likely in sorted(kernels, key=lambda each: -each[1])
    ]
    launches = sum(row.launches for row in rows)
    if sum(row.shapes for row in rows) >= MOST_SHAPES:
        notes.append(f"only the first {MOST_SHAPES} combinations of kernel, grid and block of a process are profiled")
    return ProgramProfile(
        target=target,
        kernels=rows,
        notes=notes,
        reason=f"{counted(launches, 'launch', 'launches', grouped=True)} of {counted(len(rows), 'kernel')}: exact "
        f"counts of the emulator; times are modelled for an {gpu.name}, not measured",
    )


def _by_kernel(
    records: Iterable[DispatchRecord], counts: Iterable[LaunchCount], kept: int
) -> dict[tuple[str, int], list[_Launches]]:
    """Launches by kernel and code object; those that a fault stopped are left out."""
    full: dict[tuple[str, int], dict[_Shape, list[DispatchRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.fault is None:
            full[record.kernel, record.object][record.grid, record.block].append(record)
    more: dict[tuple[str, int, _Shape], Counter[int]] = defaultdict(Counter)
    for count in counts:
        processes = more[count.again, count.object, (count.grid, count.block)]
        processes[count.process] = max(processes[count.process], count.count)
    return {
        (kernel, number): [
            _Launches(_mean(ran), _total(len(ran), more.get((kernel, number, shape), Counter()), kept), len(ran))
            for shape, ran in shapes.items()
        ]
        for (kernel, number), shapes in full.items()
    }


def _total(recorded: int, processes: Counter[int], kept: int) -> int:
    """Launches of a shape: each process with a count has `kept` of the records, the other records are of others."""
    return sum(processes.values()) + max(recorded - kept * len(processes), 0)


def _mean(ran: Sequence[DispatchRecord]) -> Dispatch:
    first, number = ran[0], len(ran)
    counters: Counter[str] = Counter()
    pcs: dict[int, list[int]] = {}
    for record in ran:
        counters.update(record.counters)
        for address, *row in record.pcs or ():
            known = pcs.get(address)
            pcs[address] = row if known is None else [a + b for a, b in zip(known, row, strict=True)]
    assert len(fields(PcCounts)) == len(next(iter(pcs.values()), fields(PcCounts)))
    means = {address: PcCounts(*(ceil(each / number) for each in row)) for address, row in pcs.items()}
    values = {name: count / number for name, count in counters.items()}
    return Dispatch(first.kernel, first.grid, first.block, values, None, means, first.lds_bytes)


def _kernel(
    key: tuple[str, int], shapes: Sequence[_Launches], code: ProgramCode, sources: Mapping[str, str], gpu: Gpu
) -> tuple[ProgramKernel, float]:
    """The row of a kernel, and the middle of its modelled time."""
    name, _ = key
    resources = next((each for each in code.resources if each.name == name), None)
    sleeps = sleep_clocks(parse_disassembly(code.disassembly))
    ran = [shape.mean for shape in shapes for _ in range(shape.counted)]
    file, line_of = _own_file(ran, code.line_of)
    lines = line_table(ran, line_of=line_of, source=sources.get(file, ""))
    facts = Facts(ran, gpu, resources, lines, executed_code(ran, code.disassembly, line_of), sleeps)
    limit = resources.occupancy_waves_per_simd if resources else None
    time = TimeInterval()
    for shape in shapes:
        one = launch_interval(shape.mean, gpu, waves_per_simd=limit, sleeps=sleeps)
        time += TimeInterval(*(each * shape.launches for each in (one.low_us, one.likely_us, one.high_us)))
    modelled = facts.model.limiter is not None
    seen = kernel_profile(facts)
    hot = [line.model_copy(update={"file": file or None}) for line in seen.hot_lines]
    row = ProgramKernel(
        name=name,
        launches=sum(shape.launches for shape in shapes),
        shapes=len(shapes),
        share=None,
        modelled_us=Span(low=time.low_us, high=time.high_us) if modelled else None,
        bound=seen.bound,
        occupancy_waves_per_simd=facts.occupancy.waves_per_simd if facts.occupancy else None,
        occupancy_limit=facts.occupancy.limit if facts.occupancy else None,
        profile=seen.model_copy(update={"hot_lines": hot}),
        diagnosis=diagnose([facts]),
    )
    return row, time.likely_us if modelled else 0.0


def _own_file(ran: Iterable[Dispatch], line_of: Callable[[int], int | None]) -> tuple[str, Callable[[int], int | None]]:
    """The file whose lines the kernel executes most, and the lines of that file alone; empty without lines."""
    executed: Counter[str] = Counter()
    for dispatch in ran:
        for address, counts in dispatch.pcs.items():
            line = line_of(address)
            if isinstance(line, SourceLine):
                executed[line.file] += counts.executions
    if not executed:
        return "", lambda _: None
    file = executed.most_common(1)[0][0]

    def own(address: int) -> int | None:
        line = line_of(address)
        return int(line) if isinstance(line, SourceLine) and line.file == file else None

    return file, own
