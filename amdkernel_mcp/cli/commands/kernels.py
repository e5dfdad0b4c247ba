"""Commands about a kernel: compile, check, benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine_at
from amdkernel_mcp.cli.options import Case, Json, Parent, Target, TokenFile, Url, problem_names
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.kernel_source import KernelSource

Problem = Annotated[
    str,
    typer.Argument(help="Name of a bundled problem, or a folder with problem.toml.", autocompletion=problem_names),
]
Kernel = Annotated[Path, typer.Argument(help="File with HIP device code; - is stdin.", show_default=False)]


def compile(  # noqa: A001 - the command's name is the contract's
    file: Kernel,
    arch: Annotated[str | None, typer.Option(help="gfx90a, gfx942, gfx950, gfx1100 or gfx1201.")] = None,
    target: Target = None,
    flag: Annotated[list[str] | None, typer.Option(help="Compiler flag, e.g. --flag=-O2; may be repeated.")] = None,
    isa: Annotated[bool, typer.Option("--isa", help="Show the disassembly with source lines, kernels first.")] = False,
    kernel: Annotated[
        str | None, typer.Option(help="Show the disassembly of this kernel alone.", show_default=False)
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(
            help="The older kernel: a file, attempt:ID, what --json printed before, or hip:6.4 for this kernel by the "
            "compiler of that HIP release. Exit code 1 where it got worse.",
            show_default=False,
        ),
    ] = None,
    old_arch: Annotated[
        str | None, typer.Option(help="Compile the older kernel for this one.", show_default=False)
    ] = None,
    old_flag: Annotated[
        list[str] | None,
        typer.Option(help="Compile the older kernel with this one in place of --flag; may be repeated."),
    ] = None,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Compile a kernel in the sandbox.

    Shows diagnostics, registers, LDS, occupancy and the instruction mix; with --compare what changed in them.

    Example: amdkernel compile softmax.hip --arch gfx942
    """
    from amdkernel_mcp.cli.show.compile import show_compile
    from amdkernel_mcp.engine.verbs.compile import Compile
    from amdkernel_mcp.errors import InputError
    from amdkernel_mcp.kernel_source import read_named_kernel

    if compare is None and (old_arch or old_flag):
        raise InputError("--old-arch and --old-flag are about the kernel that --compare names")
    candidate, other = read_named_kernel(file), _named(compare)
    asked = Compile(
        source=candidate.source,
        file_name=candidate.file_name,
        arch=arch,
        target=target,
        flags=tuple(flag or ()),
        isa=isa,
        kernel=kernel,
        compare_to=other.source if other else None,
        compare_file=other.file_name if other else "baseline.hip",
        old_arch=old_arch,
        old_flags=tuple(old_flag) if old_flag else None,
    )
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    good = Compile.good(result)
    return finish(result, good=good, json=json, show=lambda console: show_compile(console, result, candidate))


def _named(path: Path | None) -> KernelSource | None:
    """The kernel to compare with: a file, or `attempt:ID`, which the engine looks up."""
    from amdkernel_mcp.kernel_source import KernelSource, names_no_file, read_named_kernel

    if path is None:
        return None
    return KernelSource(str(path), str(path)) if names_no_file(str(path)) else read_named_kernel(path)


def check(
    problem: Problem,
    file: Kernel,
    target: Target = None,
    schedules: Annotated[
        int | None, typer.Option(min=0, max=32, help="Other orders of waves and workgroups to try on the emulator.")
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(min=1, help="Replay one of them: the seed that a finding names.", show_default=False),
    ] = None,
    seed_key: Annotated[
        str | None,
        typer.Option(
            help="Replay the inputs and shapes of an earlier check: `seeds.key` in its JSON.", show_default=False
        ),
    ] = None,
    hang: Annotated[
        bool,
        typer.Option("--hang", help="Start it though it may hang and a reset of the GPU would take down others."),
    ] = False,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Check that a kernel is correct.

    Runs the cases of its problem against the reference; names the worst element and the line that is wrong.

    Example: amdkernel check row_softmax softmax.hip
    """
    from amdkernel_mcp.checking.options import CheckOptions
    from amdkernel_mcp.cli.show.check import show_check
    from amdkernel_mcp.engine.verbs.check import Check
    from amdkernel_mcp.kernel_source import read_named_kernel

    kernel = read_named_kernel(file)
    options = CheckOptions(schedules=schedules, order=order, seed_key=seed_key, hang=hang)
    asked = Check(problem=problem, source=kernel.source, file_name=kernel.file_name, target=target, options=options)
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    good = result.verdict == "correct"
    return finish(result, good=good, json=json, show=lambda console: show_check(console, result, kernel))


def check_program(
    problem: Problem,
    file: Annotated[Path, typer.Argument(help="Source of a HIP program with `main`.", show_default=False)],
    target: Target = None,
    seed_key: Annotated[
        str | None,
        typer.Option(help="Replay the inputs of an earlier check: `seeds.key` in its JSON.", show_default=False),
    ] = None,
    hang: Annotated[
        bool,
        typer.Option("--hang", help="Start it though it may hang and a reset of the GPU would take down others."),
    ] = False,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Check a program that has its own main.

    Its arguments are those of the problem in their order: files for arrays, values for scalars. The verdict is marked
    `unverified: host code`, and there are no times.

    Example: amdkernel check-program row_softmax softmax_main.hip
    """
    from amdkernel_mcp.cli.show.check import show_check
    from amdkernel_mcp.engine.verbs.check_program import CheckProgram
    from amdkernel_mcp.kernel_source import read_named_kernel

    kernel = read_named_kernel(file)
    asked = CheckProgram(
        problem=problem,
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        seed_key=seed_key,
        hang=hang,
    )
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    good = result.verdict == "correct"
    return finish(result, good=good, json=json, show=lambda console: show_check(console, result, kernel))


def benchmark(
    problem: Problem,
    file: Kernel,
    baseline: Annotated[
        Path | None, typer.Option(help="Kernel file, or attempt:ID, to compare with.", show_default=False)
    ] = None,
    target: Target = None,
    case: Case = None,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Time a kernel, against a baseline or alone.

    Exit code 0: faster than the baseline, or timed where there is none to compare with.

    Example: amdkernel benchmark row_softmax better.hip --baseline naive.hip
    """
    from amdkernel_mcp.cli.show.benchmark import show_benchmark
    from amdkernel_mcp.engine.verbs.benchmark import Benchmark
    from amdkernel_mcp.kernel_source import read_named_kernel

    kernel, other = read_named_kernel(file), _named(baseline)
    asked = Benchmark(
        problem=problem,
        source=kernel.source,
        file_name=kernel.file_name,
        target=target,
        baseline=other.source if other else None,
        baseline_file=other.file_name if other else "",
        case=case,
    )
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    timed = baseline is None and result.time_us.value is not None and result.verdict in (None, "inconclusive")
    good = result.verdict == "faster" or timed
    return finish(result, good=good, json=json, show=lambda console: show_benchmark(console, result, kernel, other))
