"""A sweep on each shape of a table, and a rule from shape to values that is judged on shapes that it has not seen.

Whether a row is correct does not depend on the shape: it is checked once, on the problem's cases. Each shape is timed
by the rules of a benchmark, which judge the outputs there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.tuned import Tuning, name_of
from amdkernel_mcp.counted import counted
from amdkernel_mcp.engine.tuning.ranking import RankedRow
from amdkernel_mcp.engine.tuning.rows import Verdicts
from amdkernel_mcp.engine.tuning.rule import FEWEST_SHAPES, Rule, Timed, fit, held_out, loss
from amdkernel_mcp.engine.tuning.shapes import read_shapes
from amdkernel_mcp.engine.tuning.space import Space, TuneOptions
from amdkernel_mcp.engine.tuning.sweep import Sweep
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.results.kernels import BenchmarkVerdict
from amdkernel_mcp.results.tuning import RuleLeaf, ShapeRule, TunedShape, TuneResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.problems.problem import Case


@dataclass(frozen=True)
class _Tuned:
    """One shape with its rows."""

    case: Case
    answer: TuneResult
    timed: Timed


def tune_shapes(steps: KernelSteps, base: PreparedKernel, space: Space, options: TuneOptions, work: Work) -> TuneResult:
    """The best values for each shape of `options.shapes`, and the rule. Raises InputError for a table without use."""
    began = time.monotonic()
    table = read_shapes(options.shapes or "", base.problem, steps.limits)
    if space.size > options.rows:
        raise InputError(
            f"on a table of shapes all combinations are tried, and the `tune` lines have {space.size:,}",
            hint=f"list fewer values, or raise the number of rows ({options.rows})",
        )
    own, verdicts = replace(options, shapes=None), Verdicts()
    names = {name_of(tuning): tuning for tuning in (space.default, *space.others())}
    tuned: list[_Tuned] = []
    for number, case in enumerate(table.cases, 1):

        def say(step: str, at: str = f"shape {number} of {len(table.cases)}, {case.name}: ") -> None:
            work.say(at + step)

        there = replace(base, problem=replace(base.problem, profile_cases=(case,)))
        sweep = Sweep(steps, there, space, own, work.saying(say), verdicts)
        rows = sweep.rows_ranked()
        sizes = {name: case.values[name] for name in table.columns}
        tuned.append(_Tuned(case, sweep.answer(rows), Timed(sizes, _ratios(rows, names))))
    return _answer(base, tuned, names, seed=options.seed, notes=table.notes).model_copy(
        update={"combinations": space.size, "seconds": round(time.monotonic() - began, 3)}
    )


def _ratios(rows: Sequence[RankedRow], names: dict[str, Tuning]) -> dict[str, float | None]:
    """Of each variant, how many times the best one's time; 1 for a tie."""
    found: dict[str, float | None] = dict.fromkeys(names)
    first = _cost(rows[0])
    for row in rows:
        cost = _cost(row)
        if row.rank is not None and cost is not None and first:
            found[row.outcome.name] = 1.0 if row.tie else max(1.0, cost / first)
    return found


def _cost(row: RankedRow) -> float | None:
    """The modelled time, or the share of the default's time on a GPU."""
    if row.rank is None:
        return None
    if row.time:
        return row.time.value
    speed = row.answer.speedup.value
    return 1 / speed if speed else 1.0


def _answer(
    base: PreparedKernel, tuned: Sequence[_Tuned], names: dict[str, Tuning], *, seed: int, notes: Sequence[str]
) -> TuneResult:
    language = language_of(base.compiled.source, base.file_name)
    usable = [each for each in tuned if each.answer.best is not None]
    kept_out = [usable[at] for at in sorted(held_out(len(usable), seed))]
    seen = [each for each in usable if each not in kept_out]
    rule = fit([each.timed for each in seen]) if seen else None
    shown = None
    if rule and kept_out:
        judged = [each.timed for each in kept_out]
        by_rule, by_one = loss(judged, rule), loss(judged, rule, alone=True)
        shown = ShapeRule(
            leaves=[
                RuleLeaf(
                    when=" and ".join(f"{name} {sign} {bound}" for name, sign, bound in leaf.conditions) or "always",
                    line=language.fixed(names[leaf.variant]),
                )
                for leaf in rule.leaves
            ],
            held_out=len(kept_out),
            mean_cost=by_rule and round(by_rule[0], 4),
            worst_cost=by_rule and round(by_rule[1], 4),
            best_mean_cost=by_one and round(by_one[0], 4),
            best_worst_cost=by_one and round(by_one[1], 4),
        )
    first = tuned[0].answer
    best = names[rule.one_for_all] if rule else None
    verdict, reason = _said(tuned, usable, shown, best)
    few = f"a rule needs {FEWEST_SHAPES} shapes with a best row: a quarter of them judges it"
    return TuneResult(
        verdict=verdict,
        reason=reason,
        evidence=next((each.answer.evidence for each in usable), "not_measured"),
        best=dict(best) if best else None,
        line=language.fixed(best) if best else None,
        strategy="sweep",
        rows=[row.model_copy(update={"shape": each.case.name}) for each in tuned for row in each.answer.rows],
        target=first.target,
        isolation=first.isolation,
        shapes=[_shown(each, rule if shown else None, names, held=each in kept_out) for each in tuned],
        rule=shown,
        notes=[*notes, *first.notes, *([] if shown else [few])],
        not_cached=list(dict.fromkeys(note for each in tuned for note in each.answer.not_cached)),
        findings=[] if usable else first.findings,
    )


def _shown(each: _Tuned, rule: Rule | None, names: dict[str, Tuning], *, held: bool) -> TunedShape:
    answer = each.answer
    chosen = rule.variant(each.timed.sizes) if rule else None
    return TunedShape(
        shape=each.case.name,
        held_out=held,
        verdict=answer.verdict or "not_measured",
        reason=answer.reason,
        best=answer.best,
        speedup=answer.speedup,
        by_rule=dict(names[chosen]) if chosen else None,
        by_rule_costs=each.timed.ratios[chosen] if chosen else None,
    )


def _said(
    tuned: Sequence[_Tuned], usable: Sequence[_Tuned], rule: ShapeRule | None, best: Tuning | None
) -> tuple[BenchmarkVerdict | None, str]:
    if not usable:
        return tuned[0].answer.verdict, f"no shape has a correct row; {tuned[0].answer.reason}"
    faster = sum(each.answer.verdict == "faster" for each in usable)
    modelled = "modelled: " if usable[0].answer.evidence == "modelled" else ""
    said = f"{modelled}the best row is faster than the default values on {faster} of {counted(len(tuned), 'shape')}"
    if rule and best:
        choices = (
            (f"the rule of {counted(len(rule.leaves), 'leaf', 'leaves')}", rule.mean_cost, rule.worst_cost),
            (f"{name_of(best)} on all", rule.best_mean_cost, rule.best_worst_cost),
        )
        said += f"; on {counted(rule.held_out, 'held-out shape')} " + ", and ".join(
            f"{what} takes {mean:.3g} times the best row's time, {worst:.3g} at worst"
            if mean is not None and worst is not None
            else f"{what} is not correct or has no time"
            for what, mean, worst in choices
        )
    return ("faster" if faster else "inconclusive"), said
