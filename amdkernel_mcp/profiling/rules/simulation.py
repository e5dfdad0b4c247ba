"""What the simulation of a unit says to a rule: what a finding costs, what else is found, what is not ruled out.

The same instructions run once more without a loss, and the difference of the times is what the loss costs. So the next
bound limits each gain by itself, and a loss that something else hides costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from amdkernel_mcp.counted import rounded
from amdkernel_mcp.measurement.simulated import Loss
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.rules.answer import NOT_RULED_OUT, Answer, Found, RuledOut, costly
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.parallelism import LOW_OCCUPANCY
from amdkernel_mcp.profiling.rules.rule import Rule
from amdkernel_mcp.profiling.rules.waiting import DEPENDENT_WAITS, loops_over_loads

FOUND_ALONE: Mapping[Loss, float] = {
    "latency": 0.2,
    "late_loads": 0.15,
    "few_waves": 0.2,
    "slow_matrix": 0.1,
    "xcd_order": 0.15,
    "lds_conflicts": 0.2,
    "barriers": 0.3,
    "lds": 0.4,
}
"""Parts of the time from which the simulation alone makes a finding: any tile costs some LDS time and some barriers."""
_CAUSES = frozenset[Loss]({"slow_matrix", "late_loads"})
"""A count or the code itself shows why; the others are symptoms of something."""
MOST_OF_IT = 0.7
"""Of what latency costs: where loads that are issued one turn earlier bring so much, they are its cause."""
_SENTENCES: Mapping[Loss, tuple[str, str, str]] = {
    "latency": (
        "Latency is exposed: waves wait for loads that nothing hides",
        "if all loads returned at once",
        "issue the loads of the next turn before the work on this one (registers or a second LDS buffer), keep several "
        "loads of a wave in flight, or let more waves be resident",
    ),
    "late_loads": (
        "Latency is exposed: a loop waits for the loads of its own turn",
        "if each load were issued one turn earlier",
        "issue the loads of the next turn before the work on this one, into registers or a second LDS buffer (double "
        "buffering), and wait for the older ones only",
    ),
    "few_waves": (
        "Few waves are resident to hide latency",
        "if twice as many workgroups were resident",
        "use fewer registers or less LDS for each workgroup (smaller tiles, __launch_bounds__), or keep several "
        "independent loads in flight per wave",
    ),
    "xcd_order": (
        "Workgroups that read the same data run on different XCDs",
        "if what another XCD has read were in the L2",
        "let workgroups that share data have numbers that are equal modulo the XCDs (8 of an MI300X): "
        "group = id % 8 * (groups / 8) + id / 8, or tiles of tiles within each XCD",
    ),
    "slow_matrix": (
        "Matrix instructions run below the peak rate of their type",
        "at the peak rate of their type",
        "use a shape of one block that reaches it, such as 16x16x16 or 32x32x8 of f16 and bf16, 16x16x32 or 32x32x16 "
        "of 8 bits, and not 4x4x4 or several blocks",
    ),
    "lds_conflicts": (
        "LDS bank conflicts",
        "without bank conflicts",
        "pad each row of the LDS array by one element, or swizzle the column with the row, so that lanes that access "
        "LDS together hit different banks",
    ),
    "lds": (
        "The LDS holds the waves up",
        "if the LDS took no time",
        "keep values in registers: several results per thread use each loaded value several times; read 8 or 16 bytes "
        "per lane; exchange values of a wave by DPP or __shfl",
    ),
    "barriers": (
        "Waves wait for each other at barriers",
        "without barriers",
        "double-buffer LDS, which saves one of two barriers; give each thread more work between them; keep several "
        "workgroups resident, so that others run while one waits",
    ),
}


def by_simulation(rule: Rule, facts: Facts) -> Answer:
    """The rule's answer, with the cost that the simulation shows; as it is where nothing was simulated."""
    answer = rule.ask(facts)
    saved_us = facts.saved_us(rule.loss) if rule.loss else None
    if rule.loss is None or saved_us is None:
        return answer
    if rule.loss == "latency" and saved_us and _is_of_late_loads(saved_us, facts):
        return None
    if isinstance(answer, Found):
        # of many waves, what hides the latency of one load leaves that of others: the rule's own estimate is the most
        row = answer.row.model_copy(update={"because": f"{answer.row.because}; {_says(rule.loss, saved_us, facts)}"})
        cost_us = saved_us if _can_tell(rule.loss, facts) else min(saved_us, answer.cost_us)
        if rule.loss == "few_waves":  # twice the waves halve the waits, and more waves can save the other half
            cost_us = max(saved_us, min(answer.cost_us, 2 * saved_us))
        return replace(answer, row=row, cost_us=cost_us)
    part = saved_us / facts.time_us if facts.time_us else 0.0
    if rule.loss == "late_loads" and not _is_of_late_loads(facts.saved_us("latency") or 0.0, facts):
        return None if part > NOT_RULED_OUT else answer  # exposed latency says it
    if part >= FOUND_ALONE[rule.loss] and _can_tell(rule.loss, facts):
        return _found(rule.loss, saved_us, facts)
    return None if isinstance(answer, RuledOut) and part > NOT_RULED_OUT else answer


def _is_of_late_loads(saved_us: float, facts: Facts) -> bool:
    """Whether loads one turn earlier bring most of what latency costs; then that finding says it."""
    late_us = facts.saved_us("late_loads") or 0.0
    found = facts.costs("late_loads") >= FOUND_ALONE["late_loads"] and _can_tell("late_loads", facts)
    return found and late_us >= MOST_OF_IT * saved_us


def ranked_us(each: Found, answers: Sequence[Found]) -> float:
    """The cost that orders a finding: a symptom comes after causes that cost half as much or more."""
    if not each.symptom:
        return each.cost_us
    causes = [max(other.cost_us, other.most_us) for other in answers if not other.symptom]
    return min([each.cost_us, *(0.95 * cost for cost in causes if cost >= each.cost_us / 2)])


def _can_tell(loss: Loss, facts: Facts) -> bool:
    """Of a kernel that outlasts its launch; latency of few waves in a loop, not only at its start and its end."""
    if facts.time_us <= LAUNCH_US:
        return False
    few = facts.busy.resident_waves / facts.gpu.simds <= LOW_OCCUPANCY
    if loss == "late_loads":  # what many waves leave of the latency is too uncertain
        return few and loops_over_loads(facts)
    if loss == "few_waves":
        return few and facts.occupancy is not None and facts.occupancy.limit != "wave_slots"
    return loss != "latency" or (few and facts.per_wave("waits_for_memory") >= DEPENDENT_WAITS)


def _found(loss: Loss, saved_us: float, facts: Facts) -> Found:
    what, _, advice = _SENTENCES[loss]
    because = _says(loss, saved_us, facts)
    if loss == "xcd_order":  # data that all workgroups need must cross to each XCD in any order
        return costly(saved_us / 2, what, because=because, advice=advice, most_us=saved_us)
    return costly(saved_us, what, because=because, advice=advice, symptom=loss not in _CAUSES)


def _says(loss: Loss, saved_us: float, facts: Facts) -> str:
    needs, left = rounded(facts.time_us), rounded(facts.time_us - saved_us)
    return f"a simulated CU needs {needs} us for its share of the workgroups, and {left} us {_SENTENCES[loss][1]}"
