"""What a source decides before it reads the HIP headers."""

from amdkernel_mcp.compiler.compile_job import read_preamble


def test_macros_before_a_hip_header_are_told() -> None:
    preamble = read_preamble("#define A 1\n  # undef B\n#include <hip/hip_runtime.h>\n#define C\n")
    assert preamble.macros == ("A", "B")
    assert preamble.includes_runtime


def test_macros_of_a_source_without_hip_headers_do_not_matter() -> None:
    preamble = read_preamble("#define A 1\n#include <cmath>\n")
    assert preamble.macros == ()
    assert not preamble.includes_runtime


def test_another_hip_header_does_not_bring_the_runtime() -> None:
    preamble = read_preamble("#define A 1\n#include <hip/hip_fp16.h>\n")
    assert (preamble.macros, preamble.includes_runtime) == (("A",), False)
