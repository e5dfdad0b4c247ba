"""A job's way through the sandbox."""

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_a_job_gets_its_files_and_gives_its_output_folder_back(sandbox: Sandbox) -> None:
    done = sandbox.run(
        "compile", ["sh", "-c", 'tr a-z A-Z < in/word > "$OUT/word"; echo said'], {"in/word": b"hip"}, timeout_s=10
    )
    assert (done.exit_code, done.files, done.stderr) == (0, {"word": b"HIP"}, "said\n")
