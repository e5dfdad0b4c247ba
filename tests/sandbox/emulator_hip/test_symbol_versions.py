"""The library's exported symbols, compared with those of AMD's library in the same image."""

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

LIST = """
list() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 ~ /[TW]/ {print $3}' >"$OUT/$2"; }
list /opt/amdkernel/emulator/libamdhip64.so.6 ours
list "$(ls /usr/lib/*/libamdhip64.so.[67] /opt/rocm/lib/libamdhip64.so.[67] 2>/dev/null | head -n 1)" theirs
"""


# What AMD's library of one HIP version exports and that of the other does not. hipRTC left it with HIP 7.
OF_HIP_7 = {"hip_6.5", "hip_7.1", "hip_7.2"}
OF_HIP_7_IN_OLD_VERSIONS = ("hipDeviceGetTexture1DLinearMaxWidth@", "hipGraph", "hiprtc")


def test_every_function_of_amds_library_is_there_with_its_version(sandbox: Sandbox) -> None:
    done = sandbox.run("compile", ["sh", "-c", LIST], {}, timeout_s=30)
    ours, theirs = (set(done.files[name].decode().split()) for name in ("ours", "theirs"))
    assert len(theirs) > 400, done.stderr
    assert theirs - ours == set()
    more = {name for name in ours - theirs if name.split("@@")[1] not in OF_HIP_7}
    assert {name for name in more if not name.startswith(OF_HIP_7_IN_OLD_VERSIONS)} == {
        "amdkernelBeginRun@@amdkernel_1",
        "amdkernelDescribeMemory@@amdkernel_1",
        "amdkernelInstructions@@amdkernel_1",
        "amdkernelSetOptions@@amdkernel_1",
        "amdkernelUntouched@@amdkernel_1",
    }
