"""What rocprofv3 prints when it cannot count becomes a sentence and the one thing that helps."""

import pytest

from amdkernel_mcp.execution.runner.rocprofv3_errors import cause_of


@pytest.mark.parametrize(
    ("stderr", "why", "hint"),
    [
        ("W2025 ioctl.cpp:68] Device 3 could not be locked for profiling due to lack of permissions (capability "
         "SYS_PERFMON). PMC Counters may be inaccurate", "may not lock the GPU", "--cap-add=PERFMON"),
        ("Required permission (CAP_PERFMON) is not set, permission denied", "may not lock the GPU", "PERFMON"),
        ("open /dev/kfd failed: Permission denied", "may not open /dev/kfd", "usermod"),
        ("Device 1 has a profiler attached to it. PMC Counters may be inaccurate.", "another profiler", "end the"),
        ("Driver/Kernel version does not support locking device 1.", "too old", "amdgpu driver"),
        ("error code 38 :: Request exceeds the capabilities of the hardware", "more counters than", "pmc-check"),
        ("Unable to find all counters for agent 1 (gpu-0, gfx1101). Missing: [A]", "does not know", "newer ROCm"),
        # ROCm/rocprofiler-sdk issue 148 (gfx1036 next to gfx1100), ROCm/rocm-systems issue 2169 (gfx1151).
        ("terminate called: std::out_of_range\n  what():  unordered_map::at", "inside the CPU", "newer ROCm"),
        ("Error Calling hsa_iterate_agents: HSA_STATUS_ERROR: A generic error", "no counters for", "newer ROCm"),
        ("hipErrorNoDevice: no ROCm-capable device is detected", "sees no GPU", "HIP_VISIBLE_DEVICES"),
    ],
)  # fmt: skip
def test_a_known_message_has_a_cause_and_one_remedy(stderr: str, why: str, hint: str) -> None:
    cause = cause_of(f"some line\n{stderr}\nanother line")
    assert cause is not None
    assert why in cause.why
    assert hint in cause.hint


@pytest.mark.parametrize("stderr", ["", "segmentation fault", "wrote 138 records", "terror 38"])
def test_an_unknown_message_has_no_invented_cause(stderr: str) -> None:
    assert cause_of(stderr) is None
