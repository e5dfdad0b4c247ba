"""What the README tells a newcomer to type works, as it stands there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
# The demo and the tests themselves are what CI runs; a block's comment is not part of the command.
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("amdkernel ")
]
BAD_ANSWER = {command for command in COMMANDS if "broken" in command}


@pytest.mark.sandbox
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_gives_the_answer_that_it_should(command: str) -> None:
    words = shlex.split(command)
    program = str(Path(sys.executable).parent / words[0])
    done = subprocess.run([program, *words[1:]], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=100)
    expected = 1 if command in BAD_ANSWER else 0
    assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"


def test_the_readme_names_files_that_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r"examples/[\w/.]+\.hip", README)
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing, f"the README points at {missing}"


def test_ci_runs_what_the_readme_tells_a_newcomer_to_run() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"make {target}" in script, f"CI does not run `make {target}`"
