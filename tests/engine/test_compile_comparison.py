"""A compile compared with another: of the same file with other flags, of a record, of another architecture."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.errors import InputError, ToolchainError
from amdkernel_mcp.execution.setup.build import setup_compiler

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]
TABLE = """extern "C" __global__ void lookup(float* out, const int* at) {
  float table[N];
  for (int i = 0; i < N; i++) table[i] = out[i];
  out[threadIdx.x] = table[at[threadIdx.x] % N];
}
"""
SMALL, LARGE = ("-DN=1",), ("-DN=64",)


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    opened = Engine(settings)
    yield opened
    opened.close()


def test_other_flags_are_compared_and_worse_is_bad_news(engine: Engine) -> None:
    answer = engine.do(Compile(source=TABLE, flags=LARGE, compare_to=TABLE, compare_file="t.hip", old_flags=SMALL))
    found = answer.comparison
    assert found is not None
    assert (found.verdict, found.flags, found.compared_with) == ("worse", ["-DN=1"], "t.hip")
    scratch = next(each for each in found.kernels[0].figures if each.figure == "scratch_bytes")
    assert (scratch.before, scratch.after, scratch.better) == (0, answer.kernels[0].scratch_bytes, False)
    assert scratch.after >= 256
    assert not Compile.good(answer)


@pytest.mark.thorough
def test_a_record_is_compared_as_it_was_and_compiled_again_where_that_is_asked(engine: Engine) -> None:
    kept = engine.do(Compile(source=TABLE, flags=SMALL))
    name = f"attempt:{kept.attempt}"
    as_it_was = engine.do(Compile(source=TABLE, flags=LARGE, compare_to=name)).comparison
    again = engine.do(Compile(source=TABLE, flags=LARGE, compare_to=name, old_flags=LARGE)).comparison
    assert as_it_was is not None
    assert again is not None
    assert (as_it_was.verdict, as_it_was.compared_with, as_it_was.flags) == ("worse", name, ["-DN=1"])
    assert (again.verdict, again.reason) == ("same", "nothing changed")


def test_the_answer_of_an_earlier_compile_is_a_baseline(engine: Engine) -> None:
    kept = engine.do(Compile(source=TABLE, flags=LARGE)).model_dump_json()
    found = engine.do(Compile(source=TABLE, flags=SMALL, compare_to=kept, compare_file="old.json")).comparison
    assert found is not None
    assert (found.verdict, found.flags, found.compared_with) == ("better", None, "old.json")
    with pytest.raises(InputError, match="compared as it is"):
        engine.do(Compile(source=TABLE, flags=SMALL, compare_to=kept, old_arch="gfx90a"))


@pytest.mark.thorough
def test_another_architecture_and_another_language_are_compared(engine: Engine) -> None:
    answer = engine.do(Compile(source=TABLE, flags=SMALL, arch="gfx1100", compare_to=TABLE, old_arch="gfx942"))
    assert answer.comparison is not None
    assert (answer.arch, answer.comparison.arch) == ("gfx1100", "gfx942")
    sizes = [each for each in answer.comparison.kernels[0].figures if each.figure == "wavefront_size"]
    assert [(each.before, each.after) for each in sizes] == [(64, 32)]


def test_the_compiler_of_a_release_that_is_not_installed_is_named_with_its_set_up(engine: Engine) -> None:
    with pytest.raises(InputError, match="no HIP release is called '9'"):
        engine.do(Compile(source=TABLE, flags=SMALL, compare_to="hip:9"))
    with pytest.raises(ToolchainError) as caught:
        engine.do(Compile(source=TABLE, flags=SMALL, compare_to="hip:rocm-10.1"))
    assert "`amdkernel setup --compiler rocm-10.1`" in str(caught.value.hint)
    with pytest.raises(InputError, match="bring their own compiler"):
        engine.do(Compile(source="import triton\n@triton.jit\ndef k(): pass\n", compare_to="hip:6.4"))


@pytest.mark.thorough
def test_two_compilers_are_compared_in_one_step_and_again_by_a_replay(engine: Engine, settings: Settings) -> None:
    setup_compiler(settings, print, "6.4")
    answer = engine.do(Compile(source=TABLE, flags=LARGE, compare_to="hip:6.4", old_flags=SMALL))
    assert answer.comparison is not None
    assert (answer.comparison.verdict, answer.comparison.compared_with) == ("worse", "hip:6.4")
    assert "HIP 6.4" in str(answer.comparison.toolchain)
    assert "HIP 6.4" not in str(answer.toolchain)
    again = engine.attempts.replay(answer.attempt or "")
    shown = engine.attempts.show(again.attempt or "").attempt["answer"]["comparison"]
    assert (shown["compared_with"], shown["verdict"]) == ("hip:6.4", "worse")


@pytest.mark.thorough
def test_a_replay_compares_again(engine: Engine) -> None:
    made = engine.do(Compile(source=TABLE, flags=LARGE, compare_to=TABLE, old_flags=SMALL))
    assert made.attempt
    again = engine.attempts.replay(made.attempt)
    shown = engine.attempts.show(again.attempt or "").attempt["answer"]
    assert shown["comparison"]["verdict"] == "worse"
