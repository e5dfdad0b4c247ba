"""The help of every command is pinned, says what it does, and has an example."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from amdkernel_mcp.cli.app import app
from amdkernel_mcp.cli.main import run
from tests.snapshots import assert_snapshot

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
SNAPSHOTS = Path(__file__).parent / "help"


def commands() -> dict[str, object]:
    return commands_of(typer.main.get_command(app), "")


def commands_of(group: object, before: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        inner = hasattr(command, "commands")
        found |= commands_of(command, f"{before}{name} ") if inner else {f"{before}{name}": command}
    return found


@pytest.mark.parametrize("name", ["", "docs", *commands()])
def test_the_help_is_the_accepted_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run([*name.split(), "--help"]) == 0
    printed = capsys.readouterr()
    assert_snapshot(SNAPSHOTS / f"{name.replace(' ', '-') or 'amdkernel'}.txt", printed.out)
    assert printed.err == ""


def test_the_help_needs_nothing_of_the_machine() -> None:
    ended = subprocess.run(
        [COMMAND, "--help"], env={"COLUMNS": "100", "PATH": ""}, capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ((SNAPSHOTS / "amdkernel.txt").read_text(encoding="utf-8"), "")


@pytest.mark.parametrize("name", commands())
def test_every_command_has_an_example_and_describes_its_options(name: str) -> None:
    command = commands()[name]
    assert f"Example: amdkernel {name}" in command.help  # type: ignore[attr-defined]
    for parameter in command.params:  # type: ignore[attr-defined]
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not described"


def test_no_help_is_kept_of_a_command_that_is_gone() -> None:
    expected = {"amdkernel", "docs", *(name.replace(" ", "-") for name in commands())}
    assert {file.stem for file in SNAPSHOTS.glob("*.txt")} == expected
