"""Every command of docs/first_kernel.md, in its order, in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "docs/first_kernel.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines() if line
]


@pytest.mark.sandbox
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_newcomer_who_follows_the_page_sees_what_it_says(tmp_path: Path) -> None:
    (kernel,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.hip").write_text(kernel)
    environment = os.environ | {"AMDKERNEL_DATA_DIR": str(tmp_path / "data")}
    for line in COMMANDS:
        command, _, note = line.partition("  #")
        program, *words = shlex.split(command)
        assert program == "amdkernel"
        done = subprocess.run(
            [str(Path(sys.executable).with_name(program)), *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == int("exit code 1" in note), f"{line}\n{done.stdout}{done.stderr}"
        if note:
            assert "incorrect" in done.stdout
