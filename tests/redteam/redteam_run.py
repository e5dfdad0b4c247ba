"""Runs cases and says what each got: `python tests/redteam/redteam_run.py [NAME...]`, or all of them."""

import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redteam_cases import RedTeamCase, all_cases, source_of

from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.errors import ProblemFileError

TOGETHER = 2  # cases at a time: most of a case is waiting for containers


@dataclass(frozen=True)
class Answer:
    """What a case got. `check` is `refused` where the problem itself cannot be used."""

    check: str
    kinds: tuple[str, ...]
    reason: str
    benchmark: str = ""
    benchmark_reason: str = ""

    def misses(self, case: RedTeamCase) -> str:
        """Why this is not what the case must get; empty where it is."""
        if self.check not in case.check:
            return f"the check says {self.check}, not {' or '.join(case.check)}: {self.reason} {self.kinds}"
        if case.kinds and self.check != "refused" and not set(case.kinds) & set(self.kinds):
            return f"no finding is {' or '.join(case.kinds)}, only {self.kinds}: {self.reason}"
        if case.honest and set(self.kinds) - set(case.kinds):
            return f"an honest kernel has findings {self.kinds}: {self.reason}"
        if case.benchmark and self.benchmark not in case.benchmark:
            return f"the benchmark says {self.benchmark}, not {' or '.join(case.benchmark)}: {self.benchmark_reason}"
        if not re.search(case.says, self.benchmark_reason):
            return f"the reason of the benchmark lacks {case.says!r}: {self.benchmark_reason}"
        return ""


def run(engine: Engine, case: RedTeamCase, *, benchmark: bool = True) -> Answer:
    """Check one case and benchmark it where its table says so."""
    source = source_of(case)
    try:
        checked = engine.do(Check(problem=case.folder, source=source, target=case.target))
    except ProblemFileError as error:
        return Answer("refused", (), error.message)
    answer = Answer(str(checked.verdict), tuple(sorted({each.kind for each in checked.findings})), checked.reason)
    if not (case.benchmark and benchmark):
        return answer
    baseline = all_cases()[case.baseline or f"plain_{case.problem}"]
    timed = engine.do(Benchmark(problem=case.folder, source=source, baseline=source_of(baseline), target=case.target))
    return Answer(answer.check, answer.kinds, answer.reason, str(timed.verdict), timed.reason)


def run_all(engine: Engine, cases: Iterable[RedTeamCase]) -> Iterator[tuple[RedTeamCase, Answer]]:
    """Each case with its answer, in order; some run at the same time."""
    chosen = list(cases)
    with ThreadPoolExecutor(TOGETHER) as pool:
        yield from zip(chosen, pool.map(lambda case: run(engine, case), chosen), strict=True)


def main(names: list[str]) -> int:
    """Print a line for each case; how many did not get what they must."""
    from amdkernel_mcp.config import load_settings

    known = all_cases()
    engine = Engine(load_settings())
    missed = 0
    try:
        for case, answer in run_all(engine, [known[name] for name in names] or known.values()):
            why = answer.misses(case)
            missed += bool(why)
            said = " ".join(filter(None, [answer.check, ",".join(answer.kinds), answer.benchmark]))
            print(
                f"{'MISSED' if why else 'ok    '} {case.name}: {said}" + (f"\n       {why}" if why else ""), flush=True
            )
    finally:
        engine.close()
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
