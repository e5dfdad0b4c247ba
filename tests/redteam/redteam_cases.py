"""Reads the cases of `cheats/` and `honest/`: kernels in .hip files, each below the lines that say what it must get.

`//# case NAME` begins a case. The lines above a file's first case belong to all of its cases. README.md has
the other lines.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem

HERE = Path(__file__).parent
KEYS = ("case", "problem", "check", "benchmark", "says", "baseline", "hacks", "class", "target", "gate", "open")
SEEDS_THAT_MAY_BE_KNOWN = 16


@dataclass(frozen=True)
class RedTeamCase:
    """One kernel and what it must get. `check` and `benchmark` are verdicts; each of them will do."""

    name: str
    source: str
    problem: str
    check: tuple[str, ...]
    kinds: tuple[str, ...] = ()  # the check must have a finding of one of these
    benchmark: tuple[str, ...] = ()  # empty: not benchmarked
    says: str = ""  # a pattern in the reason of the benchmark
    baseline: str | None = None  # the case whose kernel is compared with; None: the problem's plain kernel
    hacks: tuple[int, ...] = ()
    hole: str = ""  # the class of holes in the issue that it belongs to
    target: str = "emulator:gfx942"
    gate: bool = False
    open: str = ""  # why it does not get its verdict yet
    honest: bool = field(default=False, compare=False)

    @property
    def folder(self) -> str:
        """The problem's folder."""
        return str(HERE / "problems" / self.problem)


@cache
def all_cases() -> dict[str, RedTeamCase]:
    """Every case by its name."""
    read = [case for path in sorted(HERE.glob("*/*.hip")) for case in cases_of(path)]
    assert len({case.name for case in read}) == len(read), "two cases have one name"
    return {case.name: case for case in read}


def cases_of(path: Path) -> list[RedTeamCase]:
    """The cases of one file."""
    prelude, *texts = re.split(r"^(?=//# case )", path.read_text(), flags=re.MULTILINE)
    return [_case(prelude, text, honest=path.parent.name == "honest") for text in texts]


def _case(prelude: str, text: str, *, honest: bool) -> RedTeamCase:
    said = {}
    for key, value in re.findall(r"^//# (\w+) ?(.*)$", text, flags=re.MULTILINE):
        assert key in KEYS, f"{key} is not a line of a case: {text[:80]}"
        said[key] = value.strip()
    verdicts, _, kinds = said.get("check", "correct").partition(" ")
    return RedTeamCase(
        name=said["case"],
        source=prelude + text,
        problem=said["problem"],
        check=tuple(verdicts.split("|")),
        kinds=tuple(kinds.split("|")) if kinds else (),
        benchmark=tuple(said["benchmark"].split("|")) if "benchmark" in said else (),
        says=said.get("says", ""),
        baseline=said.get("baseline"),
        hacks=tuple(map(int, said.get("hacks", "").split())),
        hole=said.get("class", ""),
        target=f"emulator:{said.get('target', 'gfx942')}",
        gate="gate" in said,
        open=said.get("open", ""),
        honest=honest,
    )


def source_of(case: RedTeamCase) -> str:
    """The kernel's text, with the answers that an attacker who knows the seeds would put into it."""
    place = "@answers_of_first_seeds@"
    return (
        case.source.replace(place, answers_of_first_seeds(load_problem(case.folder)))
        if place in case.source
        else (case.source)
    )


def answers_of_first_seeds(problem: Problem) -> str:
    """The size, the first and the last element of each input of the first seeds, with its sum, as rows in C."""
    rows = []
    for case in problem.cases:
        for seed in range(SEEDS_THAT_MAY_BE_KNOWN):
            x = make_inputs(problem, case, seed=seed)["x"]
            rows.append(f"{{{case.values['n']}, {x[0]}, {x[-1]}, {int(x.astype('int64').sum())}}}")
    return ", ".join(rows)
