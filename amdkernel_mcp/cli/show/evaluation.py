"""What `amdkernel eval` shows."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.evaluation import EvaluatedKernel, Evaluation, FastP


def show_evaluation(console: Console, result: Evaluation) -> None:
    """A line for each candidate, then the scores."""
    table = parts.table("problem", "candidate", "verdict", "speed-up", "", "reason", numbers=[3])
    for row in result.rows:
        verdict = _verdict(row)
        table.add_row(
            row.problem,
            row.candidate.rpartition("/")[2],
            Text(verdict, parts.verdict_style(verdict)),
            "" if row.speedup.value is None else f"{row.speedup.value:.3g}x",
            Text(row.evidence if row.speedup.value is not None else "", parts.evidence_style(row.evidence)),
            Text(row.failed or row.reason, no_wrap=True, overflow="ellipsis"),
        )
    console.print(table)
    if result.programs:
        console.print(Text("\nprograms with host code: unverified, and in no score", "yellow"))
        own = parts.table("problem", "program", "verdict", "reason")
        for row in result.programs:
            name = row.candidate.rpartition("/")[2]
            own.add_row(
                row.problem, name, _verdict(row), Text(row.failed or row.reason, no_wrap=True, overflow="ellipsis")
            )
        console.print(own)
    for line in result.not_judged:
        console.print(Text(f"not judged: {line}", "yellow"))
    _scores(console, result)


def _scores(console: Console, result: Evaluation) -> None:
    scores = result.scores
    several = scores.candidates > scores.problems
    table = parts.table("", "correct", *(f"fast_{each.p:g}" for each in scores.fast_p), numbers=range(1, 9))
    table.add_row("a candidate", _percent(scores.correct), *_shares(scores.fast_p))
    table.add_row(Text("  proven", "dim"), "", *_proven(scores.fast_p))
    if several:
        table.add_row("best of a problem", _percent(scores.best_correct), *_shares(scores.best_fast_p))
        table.add_row(Text("  proven", "dim"), "", *_proven(scores.best_fast_p))
    console.print()
    console.print(table)
    said = f"{_count(scores.problems, 'problem')}, {_count(scores.candidates, 'candidate')} on {result.target}"
    if scores.speedup_evidence:
        said += f"; speed-ups are {' and '.join(scores.speedup_evidence)}"
    console.print(Text(said))
    if scores.failed:
        console.print(Text(f"{scores.failed} without a verdict; run the command again for them", "red"))
    console.print(Text(f"results: {result.results}", "dim"))


def _verdict(row: EvaluatedKernel) -> str:
    if row.failed:
        return "failed"
    return row.benchmark or row.check or "not_measured"


def _shares(found: Sequence[FastP]) -> list[str]:
    return [_percent(each.share) for each in found]


def _proven(found: Sequence[FastP]) -> list[str]:
    return [_percent(each.proven) for each in found]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
