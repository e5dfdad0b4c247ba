"""Which flags pass, which do not, and when the precompiled header may serve."""

import pytest

from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.errors import FlagError

ALLOWED = [
    "-O0", "-O1", "-O2", "-O3", "-Os", "-DTILE=64", "-DT=float4", "-DSIZE=(1 << 4)", "-DFLAG", "-UFLAG", "-std=c++20",
    "-std=gnu++17", "-ffast-math", "-ffp-contract=off", "-fno-math-errno", "-fno-signed-zeros", "-fno-unroll-loops",
    "-funroll-loops", "-munsafe-fp-atomics", "-mno-unsafe-fp-atomics", "-mcumode", "-mwavefrontsize64", "-Wall",
    "-Wno-unused-variable", "-Werror", "-w", "-g", "--gpu-max-threads-per-block=256",
    "-Rpass-analysis=kernel-resource-usage", "-fgpu-flush-denormals-to-zero", "-mcode-object-version=5",
]  # fmt: skip
REFUSED = [
    "-fplugin=/tmp/x.so", "-fpass-plugin=x", "-Xclang", "-load", "@flags", "-o", "-o/tmp/x", "-I/etc", "-I.",
    "--config=x",     "-specs=x", "--specs=x", "-B/tmp", "-fuse-ld=/tmp/ld", "-wrapper", "--rocm-path=/tmp",
    "-include", "-isystem", "-c",
    "-S", "-E", "-x", "--offload-arch=gfx90a", "-march=native", "-mcpu=gfx90a", "--target=x86_64", "-Wl,-x", "-Wa,x",
    "-Wp,-MD,x", "-L/tmp", "-lm", "-DX=\"a\"", "-DX=`id`", "-DX=$HOME", "-DX=a;b", "-DX=a\nb", "-D1X", "-std=c11",
    "-O4",
    "-fno-show-column", "-fno-integrated-as", "-fno-diagnostics-show-option", "kernel.hip", "", "-", "--",
    "-save-temps", "-ftime-trace=/tmp/x", "--gpu-max-threads-per-block=2048", "-fconstexpr-steps=1000000000",
    "-ftemplate-depth=100000", "-ferror-limit=0", "-g0", "-fsanitize=address", "-MD", "-MF/tmp/x", "-dumpdir", "-v",
    "-###",
]  # fmt: skip


@pytest.mark.parametrize("flag", ALLOWED)
def test_a_listed_flag_passes(flag: str) -> None:
    assert parse_flags([flag]).given == (flag,)


@pytest.mark.parametrize("flag", REFUSED)
def test_any_other_flag_is_refused_by_name_with_what_is_allowed(flag: str) -> None:
    with pytest.raises(FlagError) as refused:
        parse_flags(["-O2", flag])
    assert repr(flag) in refused.value.message
    assert "-DNAME[=VALUE]" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "option", ["-load=x.so", "-o", "-pass-remarks-output=/tmp/x", "-stats", "-unroll-threshold=-1"]
)
def test_an_llvm_option_outside_the_list_is_refused(option: str) -> None:
    with pytest.raises(FlagError, match="of LLVM's options these are: amdgpu-early-inline-all"):
        parse_flags(["-mllvm", option])


def test_a_listed_llvm_option_reaches_clang_as_two_words() -> None:
    assert parse_flags(["-mllvm", "-unroll-threshold=400"]).passed == ("-mllvm", "-unroll-threshold=400")


@pytest.mark.parametrize("flag", ["-mllvm", "-D"])
def test_a_flag_without_its_value_is_refused(flag: str) -> None:
    with pytest.raises(FlagError, match="has no value"):
        parse_flags([flag])


def test_a_refused_flag_says_why_where_there_is_more_to_say() -> None:
    with pytest.raises(FlagError, match="give the arch or the target instead"):
        parse_flags(["--offload-arch=gfx90a"])


def test_plain_flags_keep_the_precompiled_header() -> None:
    flags = parse_flags(["-O1", "-DTILE=4", "-Wall", "-mllvm", "-inline-threshold=9", "-O2"])
    assert (flags.variant, flags.level) == ("default", "O2"), "the last level counts"
    assert flags.passed == ("-DTILE=4", "-Wall", "-mllvm", "-inline-threshold=9")
    assert flags.macros == ("TILE",)


def test_fast_math_has_a_precompiled_header_of_its_own() -> None:
    flags = parse_flags(["-ffast-math", "-DN=3"])
    assert (flags.variant, flags.passed) == ("fast-math", ("-DN=3",))


@pytest.mark.parametrize(
    "flag", ["-O0", "-Os", "-std=c++20", "-munsafe-fp-atomics", "-g", "-mcumode", "-fno-math-errno"]
)
def test_a_flag_that_may_change_the_header_rules_it_out_and_is_kept(flag: str) -> None:
    flags = parse_flags([flag, "-ffast-math"])
    assert flags.variant == "none"
    assert {flag, "-ffast-math"} <= set(flags.passed)
