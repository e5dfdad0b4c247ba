"""Text of clang and the linker as diagnostics of the user's file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.compiler.diagnostics import MAX_DIAGNOSTICS, MAX_MESSAGE_CHARS, parse_diagnostics


def test_an_error_in_the_users_file_has_its_place() -> None:
    [error] = parse_diagnostics("k.hip:7:10: error: use of undeclared identifier 'nope'\n1 error generated.\n", "k.hip")
    assert (error.severity, error.line, error.column) == ("error", 7, 10)


def test_an_error_in_a_header_stands_at_the_include_that_led_there() -> None:
    text = (
        "In file included from k.hip:3:\nIn file included from /usr/include/a.h:1:\n"
        '/usr/include/hip/b.h:9:1: error: #error "too old"\n'
    )
    [error] = parse_diagnostics(text, "k.hip")
    assert (error.line, error.message) == (3, 'hip/b.h:9: #error "too old"')


def test_an_error_in_a_headers_template_stands_where_the_user_asked_for_it() -> None:
    text = "/usr/include/c++/16/array:5:2: error: no\nk.hip:12:9: note: in instantiation of 'f<int>' requested here\n"
    error, note = parse_diagnostics(text, "k.hip")
    assert (error.line, error.column, error.message) == (12, 9, "array:5: no")
    assert note.severity == "note"


def test_a_mask_of_32_bits_is_named_at_the_call() -> None:
    text = (
        "In file included from k.hip:1:\n/opt/include/hip/amd_detail/amd_warp_sync_functions.h:277:3: error: static "
        "assertion failed due to requirement 'sizeof(unsigned int) == 8': The mask must be a 64-bit integer.\n"
        "k.hip:4:6: note: in instantiation of function template specialization '__shfl_sync<unsigned int, float>' "
        "requested here\n"
    )
    first = parse_diagnostics(text, "k.hip")[0]
    assert (first.severity, first.line, first.column) == ("error", 4, 6)
    assert first.message.startswith("the mask of __shfl_sync has 32 bits; a wave has 64 lanes: write 0xffff")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("cuda_runtime.h", "<hip/hip_runtime.h>"),
        ("cub/cub.cuh", "<hip/hip_runtime.h>"),
        ("cufft.h", "without the host's calls"),
        ("cusparse_v2.h", "without the host's calls"),
        ("torch/extension.h", "send the `__global__` function alone"),
        ("rocwmma/rocwmma.hpp", "builtins"),
    ],
)
def test_a_header_of_others_has_the_way_without_it(header: str, says: str) -> None:
    [error] = parse_diagnostics(f"k.hip:1:10: fatal error: '{header}' file not found\n", "k.hip")
    assert says in error.message
    [own] = parse_diagnostics("k.hip:1:10: fatal error: 'mine.h' file not found\n", "k.hip")
    assert own.message == "'mine.h' file not found"


def test_an_undefined_symbol_stands_at_its_first_use() -> None:
    text = (
        "ld.lld: error: undefined hidden symbol: foo(float)\n>>> referenced by k.hip:4 (./k.hip:4)\n"
        ">>>               kernel.o:(k)\n>>> referenced by k.hip:9 (./k.hip:9)\n"
    )
    [error] = parse_diagnostics(text, "k.hip")
    assert error.line == 4
    assert "undefined symbol: foo(float)" in error.message


def test_what_the_driver_echoes_is_left_out() -> None:
    text = "k.hip:1:1: error: x\nclang++: error: amdgcn-link command failed with exit code 1 (use -v to see it)\n"
    assert [d.message for d in parse_diagnostics(text, "k.hip")] == ["x"]


def test_the_drivers_own_error_is_kept() -> None:
    [error] = parse_diagnostics("clang++: error: invalid value 'gnu++99x' in '-std=gnu++99x'\n", "k.hip")
    assert (error.severity, error.message) == ("error", "invalid value 'gnu++99x' in '-std=gnu++99x'")


def test_a_flood_is_cut_and_the_errors_are_kept() -> None:
    text = "k.hip:1:1: warning: w\n" * 500 + "k.hip:9:1: error: the one\n"
    shown = parse_diagnostics(text, "k.hip")
    assert len(shown) == MAX_DIAGNOSTICS + 1
    assert shown[-2].message == "the one"
    assert shown[-1].message == "471 more messages left out"


def test_a_long_message_with_control_characters_is_cut_and_clean() -> None:
    [error] = parse_diagnostics(f"k.hip:1:1: error: \x1b[31m{'x' * 10_000} end\n", "k.hip")
    assert len(error.message) <= MAX_MESSAGE_CHARS
    assert "\x1b" not in error.message
    assert error.message.endswith("end")


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    assert len(parse_diagnostics(f"k.hip:1:1: error: {text}\n{text}", "k.hip")) <= MAX_DIAGNOSTICS + 1
