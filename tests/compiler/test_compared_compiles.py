"""What a comparison of two compiles calls better and worse."""

import pytest

from amdkernel_mcp.compiler.comparison import compare_compiles, is_recorded_compile, read_recorded_compile
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.kernel_source import other_compiler
from amdkernel_mcp.results.compile_comparison import CompileComparison
from amdkernel_mcp.results.kernels import CompileResult, KernelResources

PLAIN = KernelResources(
    name="k",
    vgpr=64,
    agpr=0,
    sgpr=16,
    lds_bytes=0,
    scratch_bytes=0,
    vgpr_spills=0,
    sgpr_spills=0,
    wavefront_size=64,
    occupancy_waves_per_simd=8,
    occupancy_limit="wave_slots",
    instructions={"valu": 10, "mfma": 4, "wmma": 0},
)


def compiled(*kernels: KernelResources, ok: bool = True, arch: str = "gfx942") -> CompileResult:
    return CompileResult(ok=ok, arch=arch, kernels=list(kernels), toolchain="clang 21")


def compared(before: CompileResult, after: CompileResult) -> CompileComparison:
    return compare_compiles(before, after, name="old.hip", flags=("-O3",))


def changed(**figures: object) -> KernelResources:
    return PLAIN.model_copy(update=figures)


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({}, "same"),
        ({"vgpr": 60, "instructions": {"valu": 90, "mfma": 2, "wmma": 0}}, "same"),
        ({"vgpr_spills": 12}, "worse"),
        ({"sgpr_spills": 1}, "worse"),
        ({"scratch_bytes": 128}, "worse"),
        ({"vgpr": 128, "occupancy_waves_per_simd": 4}, "worse"),
        ({"instructions": {"valu": 300, "mfma": 0, "wmma": 0}}, "worse"),
        ({"vgpr_spills": 3, "occupancy_waves_per_simd": 4}, "worse"),
    ],
)
def test_spills_scratch_occupancy_and_lost_matrix_instructions_decide(figures: dict[str, object], verdict: str) -> None:
    there, here = compiled(PLAIN), compiled(changed(**figures))
    assert compared(there, here).verdict == verdict
    assert compared(here, there).verdict == {"same": "same", "worse": "better"}[verdict]


def test_fewer_spills_for_fewer_waves_are_mixed() -> None:
    found = compared(compiled(changed(vgpr_spills=9)), compiled(changed(occupancy_waves_per_simd=4)))
    assert found.verdict == found.kernels[0].verdict == "mixed"
    assert found.reason == "k has 4 waves per SIMD (8 before); k has 0 vector registers spilled (9 before)"


def test_only_what_differs_is_listed_with_both_numbers() -> None:
    [kernel] = compared(compiled(PLAIN), compiled(changed(vgpr=80))).kernels
    assert [(each.figure, each.before, each.after, each.better) for each in kernel.figures] == [("vgpr", 64, 80, None)]


def test_occupancy_of_two_architectures_is_compared_as_a_share_of_their_wave_slots() -> None:
    there, full = compiled(PLAIN), changed(occupancy_waves_per_simd=16)
    assert compared(there, compiled(full, arch="gfx1100")).verdict == "same"
    assert compared(there, compiled(changed(occupancy_waves_per_simd=12), arch="gfx1100")).verdict == "worse"


def test_a_renamed_kernel_is_found_where_only_one_is_left_and_a_missing_one_is_worse() -> None:
    other, more = changed(name="other"), changed(name="more")
    renamed = compared(compiled(PLAIN, other), compiled(other, more))
    assert [(each.kernel, each.earlier_name) for each in renamed.kernels] == [("other", None), ("more", "k")]
    assert renamed.verdict == "same"
    gone = compared(compiled(PLAIN, other), compiled(other))
    assert (gone.gone, gone.verdict, gone.reason) == (["k"], "worse", "k is gone")
    added = compared(compiled(other), compiled(PLAIN, other))
    assert (added.new, added.verdict) == (["k"], "same")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(True, False, "worse"), (False, True, "better"), (False, False, "same")],
)
def test_whether_it_compiles_decides_first(before: bool, after: bool, verdict: str) -> None:
    found = compared(compiled(*[PLAIN] * before, ok=before), compiled(*[PLAIN] * after, ok=after))
    assert found.verdict == verdict
    assert "compile" in found.reason


def test_a_recorded_answer_is_read_back_also_of_another_version() -> None:
    answer = compiled(PLAIN)
    text = answer.model_dump_json()[:-1] + ', "of_a_later_version": 1}'
    assert is_recorded_compile(text)
    assert not is_recorded_compile('extern "C" __global__ void k() {}')
    assert read_recorded_compile(text, "old.json").kernels == [PLAIN]
    for broken in ("{", "{]", '{"kernels": 3}', "[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(InputError, match="not an answer of `amdkernel compile --json`"):
            read_recorded_compile(broken, "old.json")


def test_another_compiler_is_named_in_place_of_a_kernel() -> None:
    assert (other_compiler("hip:6.4"), other_compiler(" hip:rocm-7.2\n")) == ("6.4", "rocm-7.2")
    assert [other_compiler(text) for text in (None, "hip:", "hip: 6.4", "attempt:hip", "__global__ hip:6.4")] == [
        None
    ] * 5
    sent = Compile(source="k", compare_to="hip:6.4").options_of_tool()["compare_to"]
    assert sent == "hip:6.4"  # with a line feed it would be a text
