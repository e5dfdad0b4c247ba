"""What `amdkernel run --profile` reports: a table of the program's kernels, and all about some of them."""

from contextlib import suppress

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.report import complain, deliver, print_line
from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.cli.show.profile import show_profile
from amdkernel_mcp.counted import counted, rounded
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.results.kernels import ProfileResult
from amdkernel_mcp.results.programs import ProgramKernel, ProgramProfile

MOST_KERNELS, MOST_FINDINGS = 30, 5
_NAME_WIDTH = 36


def show_program_profile(profile: ProgramProfile, *, kernel: str | None, as_json: bool) -> None:
    """The table on stderr, next to the program's own output; as JSON on stdout, of `kernel` alone where it is given."""
    from amdkernel_mcp.cli.console import stderr_console

    wanted = [row for row in profile.kernels if kernel is not None and kernel in row.name]
    if kernel is not None and not wanted:
        names = ", ".join(row.name for row in profile.kernels) or "none"
        complain(f"the program launched no kernel with {kernel!r} in its name; its kernels: {names}")
    if as_json:
        shown = profile.model_copy(update={"kernels": wanted}) if kernel is not None else profile
        deliver(lambda: print_line(shown.model_dump_json(by_alias=True)))
        return
    with suppress(BrokenPipeError, OSError):  # whoever reads stderr has seen enough
        console = stderr_console()
        _table(console, profile)
        if kernel is None:
            _first_findings(console, profile)
        for row in wanted:
            _details(console, row, profile.target)


def _table(console: Console, profile: ProgramProfile) -> None:
    console.print(Text(f"\nprofile on {profile.target}: {profile.reason}"))
    table = parts.table("kernel", "launches", "share", "time, modelled", "bound by", "waves", numbers=(1, 2))
    for row in profile.kernels[:MOST_KERNELS]:
        table.add_row(
            _short(row.name),
            f"{row.launches:,}",
            f"{row.share:.1%}" if row.share is not None else "",
            f"{rounded(row.modelled_us.low)} to {rounded(row.modelled_us.high)} us" if row.modelled_us else "",
            row.bound or "",
            f"{row.occupancy_waves_per_simd} ({row.occupancy_limit})" if row.occupancy_waves_per_simd else "",
        )
    if profile.kernels:
        console.print(table)
        console.print(Text("waves: that fit on a SIMD, and what limits them; --kernel NAME shows all of it", "dim"))
    if len(profile.kernels) > MOST_KERNELS:
        more = counted(len(profile.kernels) - MOST_KERNELS, "more kernel")
        console.print(Text(f"… and {more} (--json has all)", "dim"))
    for note in profile.notes:
        console.print(Text(note, "yellow"))


def _first_findings(console: Console, profile: ProgramProfile) -> None:
    """The first of each of the kernels with most time; those of one kernel alone are with all about it."""
    for row in profile.kernels[:MOST_FINDINGS]:
        if first := next((each for each in row.diagnosis if not each.finding.startswith(RULED_OUT)), None):
            console.print(Text.assemble(("● ", "bold magenta"), (f"{_short(row.name)}: ", "bold"), first.finding))


def _short(name: str) -> str:
    """`scale<float>` of `void scale<float>(float*, float)`; lambdas and the like are cut."""
    plain = name.removeprefix("void ")
    if plain.endswith(")") and not plain.startswith("("):
        plain = plain[: _opening(plain)]
    return plain if len(plain) <= _NAME_WIDTH else f"{plain[: _NAME_WIDTH - 1]}…"


def _opening(name: str) -> int:
    """Where the parentheses that the name ends with begin."""
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return at
    return len(name)


def _details(console: Console, row: ProgramKernel, target: str) -> None:
    seen = row.profile.model_copy(update={"name": row.name})
    short = _short(row.name)
    rows = [each.model_copy(update={"finding": f"{short}: {each.finding}"}) for each in row.diagnosis]
    shown = ProfileResult(target=target, kernels=[seen], diagnosis=rows)
    show_profile(console, shown, KernelSource("", ""), all_in="--json has all")
