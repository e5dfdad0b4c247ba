"""What `amdkernel history`, `export`, `verify` and `replay` show."""

from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.history import AttemptList, AttemptShown, Export, Lesson, Pruned, Replay

_FIRST = "no attempts yet: `amdkernel check` makes the first one"


def show_list(console: Console, result: AttemptList, *, chosen: bool = False) -> None:
    """One line for each attempt, newest first. `chosen`: the list has only some of all attempts."""
    if not result.attempts:
        none = "no attempt fits: `amdkernel history` lists all" if chosen else _FIRST
        console.print(Text(none, "yellow"))
        return
    users = {attempt.by for attempt in result.attempts}
    who = ("by",) if len(users) > 1 else ()
    table = parts.table(
        "attempt", "when (UTC)", *who, "problem", "verb", "verdict", "speed-up", "gain", "lines", "what"
    )
    for attempt in result.attempts:
        table.add_row(
            Text(attempt.id, "cyan"),
            attempt.created[:16].replace("T", " "),
            *(attempt.by for _ in who),
            attempt.problem or "",
            attempt.verb,
            Text(attempt.verdict, parts.verdict_style(attempt.verdict)),
            _factor(attempt.speedup, attempt.evidence, attempt.speedup_low, attempt.speedup_high),
            _factor(attempt.gain, attempt.evidence),
            attempt.changed or "",
            Text(attempt.note or attempt.reason or attempt.file_name, no_wrap=True, overflow="ellipsis"),
        )
    console.print(table)
    explained = "speed-up: against its baseline; gain: against the timed attempt before it; lines: against its parent"
    evidence = {each.evidence for each in result.attempts if each.speedup or each.gain}
    console.print(Text("; ".join([explained, *(f"times are {word}" for word in sorted(evidence))]), "dim"))
    if result.next:
        console.print(Text(f"older ones: --before {result.next}", "dim"))


def show_attempt(console: Console, result: AttemptShown) -> None:
    """The record in words, then what changed since the attempt before it."""
    record = result.attempt
    parts.headline(console, record["verdict"], record["verb"], record["file_name"])
    if reason := record["answer"].get("reason"):
        console.print(Text(str(reason)))
    facts = parts.table("", "")
    for name in ("id", "created", "by", "target", "parent", "version"):
        facts.add_row(name, str(record[name] or ""))
    facts.add_row("problem", record["problem"]["name"] if record["problem"] else "")
    facts.add_row("signed by", result.key)
    console.print(facts)
    if record["verb"] == "tune":
        _show_rows(console, record["answer"].get("rows") or [])
    for lesson in result.lessons:
        show_lesson(console, lesson)
    show_difference(console, result)


def _show_rows(console: Console, rows: list[dict[str, Any]]) -> None:
    """The rows of a sweep with their own records."""
    table = parts.table("", "values", "verdict", "ratio", "attempt", numbers=(0, 3))
    for row in rows:
        ratio = row["ratio"]["value"]
        table.add_row(
            str(row["rank"] or ""),
            Text(" ".join(f"{name}={value}" for name, value in row["values"].items())),
            Text(row["verdict"], parts.verdict_style(row["verdict"])),
            "" if ratio is None else f"{ratio:.3g}x",
            Text(row["attempt"] or "", "cyan"),
        )
    console.print(table)


def show_difference(console: Console, result: AttemptShown) -> None:
    """What changed since the attempt that it is compared with."""
    if result.diff:
        console.print(Syntax(result.diff, "diff", background_color="default", word_wrap=True))
    elif result.diff is not None:
        console.print(Text(f"the kernel file is the same as that of {result.compared_with}", "dim"))
    else:
        console.print(Text("there is no attempt before it", "dim"))


def show_lesson(console: Console, result: Lesson) -> None:
    """One lesson, and whether a person or a finding says so."""
    console.print(Text.assemble((f"{result.kind}  ", "magenta"), result.text))


def show_pruned(console: Console, result: Pruned) -> None:
    """What was removed, and what is left."""
    removed = f"removed {result.files} files, {_mib(result.bytes)}; caches {_mib(result.cache_bytes)}"
    console.print(Text(f"{removed}; {result.left_files} files, {_mib(result.left_bytes)} are left"))


def show_export(console: Console, result: Export, done: str) -> None:
    """Whose attempt it is, and which key signed it."""
    if result.known_key:
        parts.headline(console, "ok", f"{done}  {result.folder}")
    else:
        parts.headline(console, "unknown key", f"intact, but signed by an unknown key  {result.folder}")
    owner = f", the key of {result.key_owner}" if result.key_owner else ""
    console.print(Text(f"{result.verb} {result.attempt} by {result.by}, {result.created}: {result.verdict}"))
    console.print(Text(f"signed by {result.key}{owner}"))
    if not result.known_key:
        hint = "Anybody can sign a changed record with a key of their own: ask the server's owner for its fingerprint,"
        console.print(Text(f"{hint} then give it with --key.", "yellow"))
    for warning in result.warnings:
        console.print(Text(warning, "yellow"))


def show_replay(console: Console, result: Replay) -> None:
    """Whether it holds."""
    parts.headline(console, "ok" if result.holds else "differs", result.replayed, result.target or "")
    console.print(Text(result.reason))
    parts.footer(console, result)


def _factor(value: float | None, evidence: str, low: float | None = None, high: float | None = None) -> Text:
    """The middle, and its interval where there is one."""
    if value is None:
        return Text("")
    span = "" if low is None or high is None else f" [{low:.3g}, {high:.3g}]"
    return Text(f"{value:.3g}x{span}", parts.evidence_style(evidence))


def _mib(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
