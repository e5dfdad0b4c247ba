"""What an emulated kernel could do better, and what is not its trouble."""

from collections.abc import Sequence

from amdkernel_mcp.profiling.rules.emulated import RULES, RuledOut
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.finding import finding
from amdkernel_mcp.results.kernels import Diagnosis


def diagnose(kernels: Sequence[Facts]) -> list[Diagnosis]:
    """Findings, the kernel with most modelled time first; the last of each kernel says what was ruled out, and why."""
    named = len(kernels) > 1
    found: list[Diagnosis] = []
    for facts in sorted(kernels, key=lambda facts: -facts.model.time_us):
        prefix = f"{facts.largest_dispatch.kernel}: " if named else ""
        answers = [answer for rule in RULES if (answer := rule(facts)) is not None]
        found += [a.model_copy(update={"finding": prefix + a.finding}) for a in answers if isinstance(a, Diagnosis)]
        if ruled_out := [answer for answer in answers if isinstance(answer, RuledOut)]:
            found.append(_why_not(prefix, ruled_out))
    return found


def _why_not(prefix: str, ruled_out: Sequence[RuledOut]) -> Diagnosis:
    return finding(
        f"{prefix}Not the trouble: {', '.join(answer.what for answer in ruled_out)}",
        because="\n".join(f"{answer.what}: {answer.because}" for answer in ruled_out),
        advice="look elsewhere first",
    )
