"""Every cheat gets the verdict that its table line asks for, and every honest look-alike is correct."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from redteam_cases import RedTeamCase, all_cases
from redteam_run import TOGETHER, Answer, run

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CASES = all_cases()
HACKS = range(1, 39)
LEAST_CHEATS, LEAST_HONEST = 60, 80
README = (Path(__file__).parent / "README.md").read_text()
ROWS = {int(row[1]): row[0] for row in re.finditer(r"^\| (\d+) \|.*$", README, flags=re.MULTILINE)}


def each_case():
    """All cases: those of `gate` in `make test`, of the others one in three in the full gate, and all with soak."""
    others = [name for name, case in CASES.items() if not case.gate]
    for case in CASES.values():
        marks = [pytest.mark.sandbox]
        if not case.gate:
            marks.append(pytest.mark.thorough)
            marks += [pytest.mark.soak] if others.index(case.name) % 3 else []
        if case.open:  # strict: a hole that was closed must lose its line
            marks.append(pytest.mark.xfail(reason=case.open, strict=True, raises=AssertionError))
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.fixture(scope="module")
def answers(
    request: pytest.FixtureRequest, settings: Settings, sandbox: object
) -> Iterator[Callable[[RedTeamCase], Answer]]:
    """What a case got. All chosen cases are begun at once; `sandbox` made the image of this checkout."""
    callspecs = (getattr(item, "callspec", None) for item in request.session.items)
    given = [spec.params.get("case") for spec in callspecs if spec]  # of all files of the run
    chosen = [case for case in given if isinstance(case, RedTeamCase)]
    engine = Engine(settings)
    with ThreadPoolExecutor(TOGETHER) as pool:
        begun: dict[str, Future[Answer]] = {case.name: pool.submit(run, engine, case) for case in chosen}
        yield lambda case: begun[case.name].result()
        pool.shutdown(cancel_futures=True)
    engine.close()


@pytest.mark.parametrize("case", list(each_case()))
def test_a_kernel_gets_the_verdict_that_it_deserves(answers, case: RedTeamCase) -> None:
    why = answers(case).misses(case)
    assert not why, why


def test_there_are_enough_cheats_and_enough_honest_kernels() -> None:
    honest = [case for case in CASES.values() if case.honest]
    assert len(CASES) - len(honest) >= LEAST_CHEATS
    assert len(honest) >= LEAST_HONEST
    assert all(case.check[0] == "correct" and case.kinds in ((), ("unread_input",)) for case in honest)
    cheats = [case for case in CASES.values() if not case.honest and case.hole != "B"]
    assert not [case.name for case in cheats if "correct" in case.check and not (case.benchmark or case.kinds)]


@pytest.mark.parametrize("hack", HACKS)
def test_a_known_hack_has_a_case_or_a_reason_why_it_cannot_be_expressed(hack: int) -> None:
    named = set(re.findall(r"`(\w+)`", ROWS[hack])) & set(CASES)
    strangers = {name for name in named if hack not in CASES[name].hacks}
    assert not strangers, f"these cases do not name hack {hack}"
    assert named or ROWS[hack].rstrip(" |").endswith(".")
