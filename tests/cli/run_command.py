"""`amdkernel run` as tests start it."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from amdkernel_mcp.cli.main import run

COMMAND = str(Path(sys.executable).with_name("amdkernel"))


def amdkernel_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """In this process, which saves the start of another; tests of streams and signals start COMMAND themselves."""
    words = ["run", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace") for _ in range(2))
    with (
        open(os.devnull, encoding="utf-8") as nothing,
        patch.object(sys, "stdin", nothing),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = run(words)
    return subprocess.CompletedProcess(words, code, *(_printed(stream) for stream in (out, err)))


def _printed(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # BytesIO
