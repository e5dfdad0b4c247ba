"""The diagnosis of emulated kernels: what to improve, and what is ruled out."""

from collections.abc import Sequence

from amdkernel_mcp.profiling.rules.answer import Found, RuledOut, finding
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.results.kernels import Diagnosis


def diagnose(kernels: Sequence[Facts]) -> list[Diagnosis]:
    """Findings, the kernel with most modelled time first; of each, what costs most time first.

    The last row of each kernel lists what is ruled out, and why.
    """
    named = len(kernels) > 1
    found: list[Diagnosis] = []
    for facts in sorted(kernels, key=lambda facts: -facts.model.time_us):
        prefix = f"{facts.largest_dispatch.kernel}: " if named else ""
        answers = [answer for rule in RULES if (answer := rule(facts)) is not None]
        costly = sorted((each for each in answers if isinstance(each, Found)), key=lambda each: -each.cost_us)
        found += [each.row.model_copy(update={"finding": prefix + each.row.finding}) for each in costly]
        if ruled_out := [answer for answer in answers if isinstance(answer, RuledOut)]:
            found.append(_ruled_out(prefix, ruled_out))
    return found


def _ruled_out(prefix: str, answers: Sequence[RuledOut]) -> Diagnosis:
    return finding(
        f"{prefix}Ruled out: {', '.join(answer.what for answer in answers)}",
        because="\n".join(f"{answer.what}: {answer.because}" for answer in answers),
        advice="nothing here: these do not limit this kernel",
    )
