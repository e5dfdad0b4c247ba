"""Every command of the README works as written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import AT_MOST_S

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
# CI runs the make targets. The comment behind a command is not part of it.
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("amdkernel ")
]
BAD_ANSWER = {command for command in COMMANDS if "broken" in command}


@pytest.mark.sandbox
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_exits_as_the_readme_says(command: str) -> None:
    words = shlex.split(command)
    program = str(Path(sys.executable).parent / words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=AT_MOST_S
    )
    expected = 1 if command in BAD_ANSWER else 0
    assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"


def test_files_that_the_readme_names_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r"examples/[\w/.]+\.hip", README)
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing, f"the README points at {missing}"


def test_ci_runs_the_make_targets_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"make {target}" in script, f"CI does not run `make {target}`"
