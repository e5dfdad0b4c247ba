"""`amdkernel run` as a user starts it."""

import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("amdkernel"))


def amdkernel_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [COMMAND, "run", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=500, check=False)
