"""One build on a wave of 32 and on a wave of 64: the narrow one is what CUDA means, the wide one is judged against it.

A program that is wrong on both, or that differs from run to run, proves nothing, and the answer says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.counted import counted
from amdkernel_mcp.execution.runner.program import TIMED_OUT, Look, run_program
from amdkernel_mcp.findings.programs import findings_in_orders
from amdkernel_mcp.port.compare import Said, difference
from amdkernel_mcp.results.port import PortRun, PortVerdict
from amdkernel_mcp.runner_protocol.records import REPORT, DispatchRecord, read_dispatches
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.runner.program_files import Program
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.results.host_programs import ProgramCheckResult

WAVES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
NARROW = "emulator:gfx1100"
"""The target whose waves have CUDA's 32 lanes."""
_WRONG = ("incorrect", "crashed", "deadlock")
_MOST_TEXT = 4 << 20


@dataclass(frozen=True)
class Place:
    """Where to run: a target and its sandbox."""

    target: Target
    sandbox: Sandbox


@dataclass(frozen=True)
class Verified:
    """The verdict, why, and what differs first."""

    verdict: PortVerdict
    reason: str
    difference: str | None = None
    runs: tuple[PortRun, ...] = ()


@dataclass(frozen=True)
class RunHints:
    """Of a program's source: the lines of its kernels, and what makes it smaller, as a part of a sentence."""

    lines: Mapping[str, int]
    sizes: str


@dataclass(frozen=True)
class Ran:
    """One run: what it left, and why it stopped where it did."""

    said: Said
    run: PortRun
    stopped: str | None  # why it has no result of its own
    crashed: str | None  # what stopped a kernel


def verify(
    program: Program,
    narrow: Place,
    wide: Place,
    *,
    timeout_s: float,
    work: Work,
    kernels_print: bool = False,
    hints: RunHints | None = None,
) -> Verified:
    """Run a built program on both. kernels_print: their lines may come in any order. Raises SandboxError."""
    first = run_on(program, narrow, timeout_s, work, hints)
    if first.stopped:
        return Verified("not_finished", f"{first.run.target}: {first.stopped}", runs=(first.run,))
    second = run_on(program, wide, timeout_s, work, hints)
    runs = (first.run, second.run)
    if second.stopped:
        return Verified("not_finished", f"{second.run.target}: {second.stopped}", runs=runs)
    found = difference(first.said, second.said, any_order=kernels_print)
    if first.said.looks_wrong and second.said.looks_wrong:
        said = first.crashed or "its own check fails"
        reason = f"{said} on waves of 32 as well as on waves of 64: it proves nothing about the port"
        return Verified("wrong_on_both", reason, found, runs)
    if first.said.looks_wrong:
        return Verified("wave32_mistake", "its own check fails on waves of 32 and not on waves of 64", found, runs)
    if found is None and not first.said.results:
        reason = (
            "it ends, and prints no result that could be compared: this proves nothing; print one, or use --problem"
        )
        return Verified("not_finished", reason, runs=runs)
    if found is None:
        return Verified("same", "the program says and writes the same on waves of 32 and of 64", runs=runs)
    again = run_on(program, narrow, timeout_s, work)
    if again.stopped or difference(first.said, again.said) is not None:
        reason = "two runs on one target differ as well (a seed of the time, or a race), so nothing can be compared"
        return Verified("not_finished", reason, found, runs)
    reason = "right on waves of 32, wrong on waves of 64"
    return Verified("wave64_mistake", f"{reason}: {second.crashed or found}", found, runs)


def run_on(program: Program, place: Place, timeout_s: float, work: Work, hints: RunHints | None = None) -> Ran:
    """Run a built program in one place. Raises SandboxError."""
    printed = bytearray()
    began = time.monotonic()

    def keep(stream: str, piece: bytes) -> None:
        if stream == "stdout" and len(printed) < _MOST_TEXT:
            printed.extend(piece)

    ended = run_program(
        place.sandbox,
        place.target,
        replace(program, keep=True),
        on_output=keep,
        work=work.saying(lambda _: work.say(f"running on {place.target.name}")),
        timeout_s=timeout_s,
        look=Look(),
    )
    seconds = round(time.monotonic() - began, 2)
    found = findings_in_orders(ended.reports, place.target, program.name_file)
    stops = [each.finding for each in found if each.stopped]
    stopped = None
    hang = next((each for each in stops if each.kind in ("timeout", "deadlock", "not_emulated")), None)
    if ended.code == TIMED_OUT and ended.ended:
        raw = b"".join(files.get(REPORT, b"") for files in ended.reports.values())
        spent = where_time_went(read_dispatches(raw, target=place.target.name), seconds, hints)
        stopped = f"it ran for more than {timeout_s:g} s: {spent}"
    elif hang and hang.kind != "deadlock":
        where = f", line {hang.line}" if hang.line else ""
        stopped = f"{hang.message}{where}"
    elif ended.ended:
        stopped = ended.ended
    text = printed.decode(errors="replace")
    says = ended.ended or f"exit code {ended.code}"
    run = PortRun(target=place.target.name, wave=WAVES.get(place.target.arch, 64), ended=says, seconds=seconds)
    crashed = stops[0].message if stops else None
    said = Said(ended.code, text, ended.files, cut=len(printed) >= _MOST_TEXT)
    return Ran(said, run, stopped, crashed)


def where_time_went(launches: Sequence[DispatchRecord], seconds: float, hints: RunHints | None = None) -> str:
    """Which kernel a run of so many seconds spent most in, what was the host's, and what to make smaller."""
    hints = hints or RunHints({}, "")
    of_kernel: dict[str, list[float]] = {}
    for launch in launches:
        of_kernel.setdefault(launch.kernel, []).append(launch.seconds)
    on_gpu = sum(map(sum, of_kernel.values()))
    smaller = f"make it smaller by arguments or with define{hints.sizes}, or give it more time"
    kernel, times = max(of_kernel.items(), key=lambda item: sum(item[1]), default=("", []))
    last = max((each for each in launches if each.kernel == kernel), key=lambda each: each.seconds, default=None)
    shown = ""
    if last is not None:
        name = plain_name(kernel)
        line = f", line {hints.lines[name]}" if name in hints.lines else ""
        size = f"grid {'x'.join(map(str, last.grid))}, block {'x'.join(map(str, last.block))}{line}"
        shown = (
            f"{counted(len(times), 'launch', 'launches')} of {name} took {sum(times):.1f} s of {seconds:.0f} s ({size})"
        )
    if on_gpu < seconds / 2:
        kernels = f"its kernels took {on_gpu:.1f} s of {seconds:.0f} s, the rest is the host's code"
        most = f"; {shown}" if shown else ""
        return f"{kernels}, such as its own reference{most}: {smaller}"
    return f"{shown}: {smaller}"


def plain_name(kernel: str) -> str:
    """A kernel's name as the source has it, of the compiler's: the last part, without parameters."""
    rest = kernel.removeprefix("_ZN").removeprefix("_Z") if kernel.startswith("_Z") else ""
    name = ""
    while digits := re.match(r"[0-9]+", rest):
        length = int(digits.group())
        name = rest[digits.end() : digits.end() + length]
        rest = rest[digits.end() + length :]
        if not kernel.startswith("_ZN"):
            break
    return name or kernel


def verified_by_checks(narrow: ProgramCheckResult, wide: ProgramCheckResult) -> Verified:
    """The verdict by a problem's outputs: what the checks on waves of 32 and of 64 say."""
    for check in (narrow, wide):
        if check.verdict not in ("correct", *_WRONG):
            return Verified("not_finished", f"{check.target}: {check.reason}")
    right = narrow.verdict == "correct", wide.verdict == "correct"
    if right == (True, True):
        return Verified("same", "the outputs are right on waves of 32 and of 64")
    if right == (True, False):
        return Verified("wave64_mistake", f"right on waves of 32, wrong on waves of 64: {wide.reason}", wide.reason)
    if right == (False, True):
        return Verified("wave32_mistake", f"right on waves of 64, wrong on waves of 32: {narrow.reason}", narrow.reason)
    return Verified("wrong_on_both", f"wrong on waves of 32 as well as on waves of 64: {narrow.reason}", narrow.reason)
