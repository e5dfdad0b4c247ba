"""The library's exported symbols, beside those of AMD's library in the same image."""

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

LIST = """
list() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 ~ /[TW]/ {print $3}' >"$OUT/$2"; }
list /opt/amdkernel/emulator/libamdhip64.so.6 ours
list "$(ls /usr/lib/*/libamdhip64.so.6 /opt/rocm/lib/libamdhip64.so.6 2>/dev/null | head -n 1)" theirs
"""


def test_every_function_has_the_version_that_amds_library_gives_it(sandbox: Sandbox) -> None:
    done = sandbox.run("compile", ["sh", "-c", LIST], {}, timeout_s=30)
    ours, theirs = (set(done.files[name].decode().split()) for name in ("ours", "theirs"))
    assert len(ours) > 100, done.stderr
    assert ours - theirs == {"amdkernelDescribeMemory@@amdkernel_1"}
