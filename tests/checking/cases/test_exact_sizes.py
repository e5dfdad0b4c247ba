"""Sizes that a source compares with are tried, whichever way it asks for them."""

import pytest

from amdkernel_mcp.checking.cases.exact_sizes import exact_sizes

ASKS = {
    "y[i] = n == 5000 ? 1 : x[i];": {"n": 5000},
    "if (5000 == n)": {"n": 5000},
    "y[i] = (n >> 6) == 5 ? 1 : x[i];": {"n": 320},
    "y[i] = n / 100 == 7 ? 1 : x[i];": {"n": 700},
    "float sum = m == 2 * n ? 1 : 0;": {"m": 96, "n": 48},
    "float sum = 2 * m == n ? 1 : 0;": {"m": 48, "n": 96},
    "float sum = m * 3 == n ? 1 : 0;": {"m": 48, "n": 144},
    "float sum = m == n * 3 ? 1 : 0;": {"m": 144, "n": 48},
    "y[i] = blockIdx.x == 1000 ? 1 : x[i];": {"n": 256256},
}


@pytest.mark.parametrize("source", ASKS)
def test_a_size_that_the_source_compares_with_is_tried(source):
    assert ASKS[source] in exact_sizes(source, ("m", "n"), {256, 7})


@pytest.mark.parametrize("source", ["if (lane == 63)", "// n == 5000", "n == 1 ? 1 : 2", "x[i] == 2 * y[i]"])
def test_other_comparisons_ask_for_no_size(source):
    assert exact_sizes(source, ("m", "n"), {256}) == []
