"""What a wave finds in registers when it begins: what is documented, or something that differs from wave to wave."""

import numpy as np
import pytest
from values import prepared
from waves import run_waves

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_no_scalar_register_of_rdna_begins_as_zero(sandbox: Sandbox) -> None:
    """s102 to s105 are registers as others there, with what earlier waves left."""
    lines = "\n".join(f"v_mov_b32 v{20 + n}, s{102 + n}" for n in range(4))
    (after,) = run_waves(sandbox, [(lines, prepared())], "gfx1100")
    assert not after.fault, after.fault
    assert all(after.u32(20 + n).any() for n in range(4))


@pytest.mark.parametrize(
    ("arch", "register"), [("gfx942", "flat_scratch_lo"), ("gfx950", "flat_scratch_hi"), ("gfx90a", "xnack_mask_lo")]
)
def test_what_hardware_sets_and_nobody_documents_is_not_emulated(sandbox: Sandbox, arch: str, register: str) -> None:
    (after,) = run_waves(sandbox, [(f"s_mov_b32 s10, {register}", prepared())], arch)
    assert after.fault.startswith("not_emulated"), after.fault


def test_flat_scratch_of_gfx90a_keeps_what_the_kernel_writes(sandbox: Sandbox) -> None:
    """There each kernel sets it up itself.  LLVM AMDGPUUsage, "Flat Scratch"."""
    line = "s_mov_b32 flat_scratch_lo, 7\ns_mov_b32 s10, flat_scratch_lo\nv_mov_b32 v20, s10"
    (after,) = run_waves(sandbox, [(line, prepared())], "gfx90a")
    assert not after.fault, after.fault
    assert (after.u32(20) == np.uint32(7)).all()
