"""The lane of host code: what a program leaves is judged, what it says is not, and nothing of it is verified."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.checking.cases.seeds import is_committed
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check_program import CheckProgram
from tests.host_programs.programs import BEYOND_THE_END, RIGHT, program

pytestmark = pytest.mark.sandbox

LATE = pytest.mark.thorough
WRONG = {
    "it prints PASS and writes nothing": ('puts("PASS correct");', "incorrect", "without writing z.bin"),
    "it writes half of the output": ("x.resize(n / 2); save(words[3], x);", "incorrect", "bytes to z.bin, not"),
    "it writes its input": ("save(words[3], x);", "incorrect", "z["),
    "it fails": ('fputs("no device\\n", stderr); return 3;', "crashed", "exit code 3: no device"),
    "it aborts": ("abort();", "crashed", "exit code 134"),
    "it writes a folder": ('system("mkdir z.bin");', "incorrect", "without writing z.bin"),
    "it writes a link to the input": ('system("ln -s x.bin z.bin");', "incorrect", "elements of z are wrong"),
}


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


@pytest.mark.thorough
def test_a_right_program_is_correct_and_unverified(engine: Engine) -> None:
    result = engine.do(CheckProgram(problem="vector_add", source=RIGHT))
    assert (result.verdict, result.evidence) == ("correct", "emulated"), result.reason
    assert result.trust == "unverified: host code"
    assert result.reason.startswith("unverified")
    assert any(case.drawn for case in result.cases)
    assert result.seeds is not None
    assert is_committed(result.seeds.commitment, result.seeds.key)
    assert len(result.run_seconds) == len(result.cases) * result.seeds.count
    assert result.attempt
    assert engine.attempts.show(result.attempt).attempt["verb"] == "check_program"


@LATE
@pytest.mark.parametrize("name", WRONG)
def test_what_a_program_leaves_decides(engine: Engine, name: str) -> None:
    body, verdict, words = WRONG[name]
    result = engine.do(CheckProgram(problem="vector_add", source=program(body)))
    assert result.verdict == verdict, result.reason
    assert words in result.reason


@pytest.mark.thorough
def test_a_source_that_does_not_compile_is_invalid_with_the_compilers_words(engine: Engine) -> None:
    result = engine.do(CheckProgram(problem="vector_add", source="int main() { return no_such_name; }"))
    assert result.verdict == "invalid"
    assert "no_such_name" in result.findings[0].message


@LATE
def test_a_store_behind_an_array_is_reported_though_the_results_are_right(engine: Engine) -> None:
    result = engine.do(CheckProgram(problem="vector_add", source=BEYOND_THE_END, file_name="mine.hip"))
    assert result.verdict in ("incorrect", "crashed"), result.reason
    (found,) = [finding for finding in result.findings if finding.kind == "out_of_bounds"]
    assert found.line == 8, found


@LATE
def test_a_check_is_replayed_with_the_inputs_of_then(engine: Engine) -> None:
    first = engine.do(CheckProgram(problem="vector_add", source=program("save(words[3], x);")))
    assert first.attempt
    replay = engine.attempts.replay(first.attempt, target=None)
    assert replay.holds, replay.reason
