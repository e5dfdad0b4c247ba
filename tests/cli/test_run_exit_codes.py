"""The exit code of `amdkernel run` is the program's, even one that the sandbox's shell or `timeout` uses as well."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run_command import COMMAND, amdkernel_run
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that ends with the exit code that it is given, built as a user builds one."""
    folder = tmp_path_factory.mktemp("exit")
    (folder / "exit.hip").write_text(
        "#include <cstdio>\n#include <cstdlib>\n"
        'int main(int, char** words) { std::puts("\\033[31mred\\033[0m"); return std::atoi(words[1]); }\n'
    )
    built = amdkernel_run("--out", folder / "built", "--dir", folder, "exit.hip", "0")
    assert built.returncode == 0, built.stderr
    return folder / "built/program"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "code", [3, *(pytest.param(code, marks=pytest.mark.thorough) for code in (1, 2, 124, 125, 126, 127, 130, 137, 255))]
)
def test_an_exit_code_that_others_use_too_is_still_the_programs(program: Path, code: int) -> None:
    ended = amdkernel_run(program, code)
    assert (ended.returncode, ended.stderr) == (code, "")


def test_the_output_of_the_program_is_not_escaped(program: Path) -> None:
    assert amdkernel_run(program, 0).stdout == "\x1b[31mred\x1b[0m\n"


def test_a_program_that_cannot_be_started_is_reported_as_a_shell_does(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF" + bytes(200))
    ended = amdkernel_run(tmp_path / "broken")
    assert ended.returncode == 127
    assert "the program cannot be started" in ended.stderr


@pytest.mark.thorough
def test_a_reader_that_goes_away_ends_the_program_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "yes.hip").write_text('#include <cstdio>\nint main() { for (;;) std::puts("y"); }\n')
    line = f"{COMMAND} run {tmp_path}/yes.hip | head -1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=AT_MOST_S, check=True)
    assert (ended.stdout, ended.stderr) == ("y\n141\n", "")
