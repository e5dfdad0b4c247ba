"""Which machine code surely ends."""

import pytest

from amdkernel_mcp.compiler.endless import may_not_end

START = ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)")


def disassembly(*code: str) -> str:
    """As llvm-objdump prints it; each instruction here has one word."""
    return "".join(f"\t{text}    // {0x1600 + 4 * n:012X}: BF800000\n" for n, text in enumerate(code))


@pytest.mark.parametrize("barrier", ["s_barrier", "s_nop 0"])
def test_code_whose_branches_all_lead_forward_ends(barrier: str) -> None:
    assert not may_not_end(disassembly(*START, "s_cbranch_execz 2", barrier, "s_sleep 1", "s_endpgm"))


@pytest.mark.parametrize(
    "text",
    [
        "s_cbranch_scc1 65533",  # back to the start
        "s_branch 65535",  # to itself
        "s_cbranch_scc0 100",  # to where no instruction begins
        "s_branch somewhere",
        "s_setpc_b64 s[30:31]",
        "s_swappc_b64 s[30:31], s[0:1]",
        "s_call_b64 s[30:31], 4",
        "s_sethalt 1",
        "s_barrier_wait 0xffff",
        "ds_gws_barrier v0 gds",
    ],
)
def test_code_that_can_come_back_or_wait_may_not_end(text: str) -> None:
    assert may_not_end(disassembly(*START, text, "s_endpgm"))


def test_where_there_is_no_code_nothing_is_known() -> None:
    assert may_not_end("")
