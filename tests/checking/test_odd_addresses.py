"""Which kernels are run with arrays at odd addresses: those that ask for the low bits of one."""

import pytest

from amdkernel_mcp.checking.odd_addresses import tests_addresses as asks_for_low_bits

ASKS = (
    "if ((size_t)x & 15)",
    "if (((uintptr_t)x | (uintptr_t)y) & 15) {",
    "bool wide = reinterpret_cast<uintptr_t>(x) % 16 == 0;",
    "bool wide = ((unsigned long long)&x[i] & 0xf) == 0;",
    "uintptr_t at = (uintptr_t)x; y[i] = at & 8 ? 1 : 2;",
    "int head = (16 - (std::uintptr_t)(x + first) % 16) / 4;",
    "if (__builtin_is_aligned(x, 16))",
)
DOES_NOT = (
    "y[(size_t)row * n + (i & 7)] = x[i] % 3;",
    "size_t at = (size_t)blockIdx.x * 256 + threadIdx.x; if (a && b)",
    "const float4* wide = (const float4*)((size_t)x & ~15);",
    "// (size_t)x & 15",
    "size_t first = (size_t)tile && full;",
)


@pytest.mark.parametrize("source", ASKS)
def test_a_question_for_the_low_bits_of_an_address_is_seen(source):
    assert asks_for_low_bits(source)


@pytest.mark.parametrize("source", DOES_NOT)
def test_arithmetic_on_indices_is_no_such_question(source):
    assert not asks_for_low_bits(source)
