"""A kernel that once did not end is not started unasked where a reset would end the work of others."""

from pathlib import Path

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.gpu_idle import GpuState
from amdkernel_mcp.leases.hung_kernels import HungKernels
from amdkernel_mcp.results.kernels import CheckResult

ALONE = GpuState(0, 0, "1a2b", "6.16.6", ())
OF_A_HIVE = GpuState(0, 0, "1a2b", "6.16.6", (), hive=8)
DESKTOP = GpuState(0, 0, "1a2b", "6.16.6", (), display=True)


def test_a_kernel_that_did_not_end_is_refused_where_a_reset_takes_down_others(tmp_path: Path) -> None:
    HungKernels(tmp_path).note("loops", CheckResult(verdict="deadlock", target="emulator:gfx942"))
    HungKernels(tmp_path).note("ends", CheckResult(verdict="incorrect", target="gpu1:0"))
    known = HungKernels(tmp_path)
    for state, others in ((OF_A_HIVE, "7 more GPUs of its XGMI hive"), (DESKTOP, "the desktop on it")):
        with pytest.raises(InputError, match=f"deadlock on emulator:gfx942.* would take down {others}"):
            known.refuse("loops", "gpu1:0", lambda state=state: state)
        known.refuse("ends", "gpu1:0", lambda: pytest.fail("the GPU was looked at"))
    known.refuse("loops", "gpu1:0", lambda: ALONE)


def test_where_nobody_knows_what_a_reset_takes_down_a_kernel_that_hangs_is_refused(tmp_path: Path) -> None:
    HungKernels(tmp_path).note("loops", CheckResult(verdict="timeout", target="gpu1:0"))
    with pytest.raises(InputError, match="it is not known what a reset of gpu1:0 would take down: gpu_id") as error:
        HungKernels(tmp_path).refuse("loops", "gpu1:0", lambda: "gpu_id cannot be read")
    assert "amdkernel bringup gpu1:0 --only neighbours" in (error.value.hint or "")
    assert "amdkernel check --hang" in (error.value.hint or "")
