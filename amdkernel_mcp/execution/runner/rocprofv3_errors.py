"""What rocprofv3's messages mean, and the one thing that helps where it did not count.

Source of the messages: rocprofiler-sdk, ioctl.cpp and its documentation of `rocprofv3 --doctor`; issues of
ROCm/rocm-systems. Not seen on hardware: no GPU was available.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """Why rocprofv3 did not count, in a sentence, and what to do."""

    why: str
    hint: str


_CAUSES: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), Cause(why, hint))
    for pattern, why, hint in (
        (r"/dev/kfd\S*:? .*permission denied|permission denied.*/dev/kfd",
         "the container may not open /dev/kfd",
         "add the user of the service to the group that owns it (`stat -c %G /dev/kfd`): usermod -aG GROUP USER"),
        (r"hipErrorNoDevice|no ROCm-capable device",
         "rocprofv3 sees no GPU",
         "check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES of the service: unset them"),
        (r"has a profiler attached",
         "another profiler uses this GPU",
         "end the other profiler (`rocprofv3`, `omnistat`, `rdcd`) and profile again"),
        (r"does not support locking|newer version of (the )?KFD",
         "the kernel's amdgpu driver is too old for this rocprofv3",
         "install the amdgpu driver of the same ROCm release"),
        (r"\berror code 38\b|exceeds? the (?:hardware|capabilities)",
         "a pass asks for more counters than the hardware has at once",
         "`rocprofv3-avail pmc-check` with the counters of the pass shows which; please report it with the GPU's name"),
        (r"unable to find all counters|no counter of \S+ is called",
         "this rocprofv3 does not know a counter of the pass",
         "use the image of a newer ROCm (7.0 or later) in the setting `image`"),
        (r"unordered_map::at|hsa_ven_amd_aqlprofile_get_info|hsa_iterate_agents: HSA_STATUS_ERROR",
         "this rocprofv3 has no counters for a GPU that it sees, such as the one inside the CPU, and aborts",
         "use the image of a newer ROCm in the setting `image` or `hip`; without containers, switch the integrated GPU "
         "off"),
        (r"could not be locked for profiling|CAP_PERFMON\S* is not set|capability SYS_PERFMON",
         "rocprofv3 may not lock the GPU: its counts are right only while no other process profiles there",
         "let nothing else profile this GPU; or run `rocprofv3` yourself with `docker run --cap-add=PERFMON`, a "
         "capability that our container has not, and `amdkernel profile import FOLDER`"),
    )
)  # fmt: skip


def cause_of(stderr: str) -> Cause | None:
    """The first known cause that rocprofv3's output names, or None."""
    return next((cause for pattern, cause in _CAUSES if pattern.search(stderr)), None)
