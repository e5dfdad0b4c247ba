"""What `amdkernel profile` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.counted import counted, rounded
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.profiling.brief import LEAST_SLOTS, digits, important, in_full, issue_slots
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from amdkernel_mcp.results.kernels import (
    Comparison,
    Diagnosis,
    HotInstruction,
    HotLine,
    KernelProfile,
    ProfileResult,
    Span,
)

MOST_FINDINGS, MOST_LINES, MOST_INSTRUCTIONS = 3, 5, 6
_BAR = 10
_TOO_COLD = 0.005


def show_profile(
    console: Console, result: ProfileResult, kernel: KernelSource, *, all_in: str = "--html FILE and --json have all"
) -> None:
    """The diagnosis first, then what a change brought, then each kernel's hot lines and most important numbers.

    `all_in`: the options of the command that show the other metrics.
    """
    if not result.kernels:
        parts.headline(console, "not_measured", result.reason)
    elif result.reason:
        console.print(Text(result.reason))
    for warning in result.warnings:
        console.print(Text(f"warning  {warning}", "yellow"))
    parts.diagnostics(console, result.diagnostics, kernel)
    parts.findings(console, result.findings, kernel)
    found = [each for each in result.diagnosis if RULED_OUT not in each.finding]
    full = in_full(result.diagnosis)[:MOST_FINDINGS]
    for diagnosis in full:
        _diagnosis(console, diagnosis)
    rest = [_line(each) for each in found if each not in full]
    rest += [each.finding for each in result.diagnosis if each not in found and (result.focus or not found)]
    for line in rest:
        console.print(Text(line, "dim"))
    if result.comparison:
        _comparison(console, result.comparison)
    for profile in result.kernels:
        _kernel(console, profile, important(profile, result.focus), all_in)
    parts.footer(console, result)


def _line(diagnosis: Diagnosis) -> str:
    """A finding that has no room or brings little, with what it may bring."""
    return f"{diagnosis.finding}  (may be {_gain(diagnosis.gain)})" if diagnosis.gain else diagnosis.finding


def _gain(gain: Span) -> str:
    return f"{gain.low:.3g} to {gain.high:.3g} times as fast, modelled"


def _diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    console.print(Text.assemble(("● ", "bold magenta"), (diagnosis.finding, "bold")))
    rows = parts.table("", "")
    rows.show_header = False
    rows.add_row(Text("  because", "dim"), diagnosis.because)
    rows.add_row(Text("  try", "dim"), Text(diagnosis.try_, "green"))
    if diagnosis.places:
        rows.add_row(Text("  where", "dim"), ", ".join(diagnosis.places))
    if diagnosis.gain:
        rows.add_row(Text("  may be", "dim"), _gain(diagnosis.gain))
    if diagnosis.refuted_by:
        rows.add_row(Text("  not if", "dim"), diagnosis.refuted_by)
    if diagnosis.lines:
        rows.add_row(Text("  lines", "dim"), ", ".join(map(str, diagnosis.lines)))
    if diagnosis.docs:
        rows.add_row(
            Text("  read", "dim"), Text("\n".join(f"amdkernel docs read {ref}" for ref in diagnosis.docs), "cyan")
        )
    console.print(rows)


def _comparison(console: Console, found: Comparison) -> None:
    """Whether it helped; what went, came and stayed against the other kernel, and the figures that say so."""
    console.print(Text(f"\nagainst {found.compared_with}", "bold underline"))
    times = parts.table("", "before", "after", "", "", numbers=(1, 2))
    for row in found.times:
        style = {"faster": "green", "slower": "yellow"}.get(row.says.partition(":")[0], "dim")
        evidence = Text(row.evidence, parts.evidence_style(row.evidence))
        kernel = Text(f"time of {row.kernel or 'all kernels'}")
        times.add_row(kernel, _time(row.before), _time(row.after), evidence, Text(row.says, style))
    console.print(times)
    for gone in found.gone:
        console.print(Text.assemble(("  gone    ", "green"), gone.finding, (f"  ({gone.because})", "dim")))
    for new in found.new:
        console.print(Text.assemble(("  new     ", "yellow"), new))
    for stayed in found.stayed:
        console.print(Text.assemble(("  stayed  ", "dim"), stayed))
    table = parts.table("", "before", "after", "", numbers=(1, 2))
    for each in found.figures:
        style = "green" if each.better else "yellow"
        before, after = (parts.number(digits(value), each.unit) for value in (each.before, each.after))
        evidence = Text(each.evidence, parts.evidence_style(each.evidence))
        table.add_row(each.metric, before, Text(str(after), style), evidence)
    console.print(table)


def _time(span: Span | None) -> str:
    """`5.9 to 31 us`, as everywhere in the answer."""
    return f"{rounded(span.low)} to {rounded(span.high)} us" if span else "-"


def _waste(line: HotLine) -> str:
    """What a line's memory instructions waste, in a few words; mostly nothing."""
    if line.memory is None:
        return ""
    asked = line.memory.bytes_asked - line.memory.lds_bytes
    touched, conflicts = line.memory.bytes_touched, line.memory.lds_conflicts
    words = [f"touches {touched / asked:.0f} x the bytes it asks for"] if asked and touched > 2 * asked else []
    if conflicts > 0.25 * max(line.memory.lds_cycles, 1):
        words.append(f"{conflicts / line.memory.lds_cycles:.0%} of its LDS cycles are conflicts")
    return f"  ← {', '.join(words)}" if words else ""


def _reasons(hot: HotInstruction) -> str:
    """The two most frequent stall reasons of an instruction, or its stalled cycles."""
    cost = hot.recorded
    if cost.latency_cycles is not None:
        return f"  ← {cost.latency_cycles:,} cycles, {cost.stall_cycles:,} stalled; {cost.idle_cycles:,} idle before"
    named = [f"{reason} {count:,}" for reason, count in list(cost.reasons.items())[:2]]
    return f"  ← {', '.join(named)}" if named else ""


def _issue_slots(profile: KernelProfile) -> str:
    """What they went to, the largest first; empty where nothing was simulated."""
    return ", ".join(f"{share:.0f} % {name}" for name, share in issue_slots(profile) if share >= LEAST_SLOTS)


def _kernel(console: Console, profile: KernelProfile, short: KernelProfile, all_in: str) -> None:
    bound = f"bound by {profile.bound}" if profile.bound else "the data do not show what bounds it"
    span = profile.modelled_us
    time = f", {_time(span)} modelled" if span else ""
    dispatches = f"{profile.dispatches:,} dispatch{'' if profile.dispatches == 1 else 'es'}"
    if not profile.dispatches:
        bound, dispatches = "", "instructions only"
    console.print(Text.assemble("\n", (profile.name, "bold underline"), f"  {bound}{time}", (f"  {dispatches}", "dim")))
    for line in profile.hot_lines[:MOST_LINES]:
        if line.share < _TOO_COLD and line.memory is None:
            continue
        bar = "█" * max(1, round(line.share * _BAR))
        where = f"{line.line:>4}" if line.file is None else f"{line.file.rsplit('/', 1)[-1]}:{line.line}"
        share = Text.assemble(f"{line.share:6.1%} ", (f"{bar:<{_BAR}} ", "magenta"), (f"{where} │ ", "dim"))
        share.append(line.source.strip()).append(_waste(line), "yellow")
        console.print(share, no_wrap=True, overflow="ellipsis", crop=True)
    for hot in profile.hot_instructions[:MOST_INSTRUCTIONS]:
        console.print(Text(f"{hot.share:6.1%} {hot.instruction}{_reasons(hot)}"), no_wrap=True, overflow="ellipsis")
    if slots := _issue_slots(profile):
        console.print(Text(f"issue slots of a simulated SIMD: {slots}"))
    metrics = short.metrics
    table = parts.table("metric", "value", "", numbers=(1,))
    for name, metric in metrics.items():
        value = parts.number(metric.value, metric.unit)
        table.add_row(name, value, Text(metric.evidence, parts.evidence_style(metric.evidence)))
    if metrics:
        console.print(table)
    if len(profile.metrics) > len(metrics):
        more = counted(len(profile.metrics) - len(metrics), "more metric")
        console.print(Text(f"… and {more} ({all_in})", "dim"))
