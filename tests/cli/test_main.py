"""The entry point: exit codes, JSON errors, no traceback, whatever happens inside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.cli.main import run
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import InputError, SandboxError
from amdkernel_mcp.execution.machine import Machine

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
ERROR_KEYS = ["message", "file", "line", "hint"]


def error_of(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    out, errors = capsys.readouterr()
    assert out.count("\n") == 1, f"one line with one document, not {out!r}"
    error = json.loads(out)["error"]
    assert list(error) == ERROR_KEYS
    assert str(error["message"]) in errors, "a person reads it on stderr as well"
    return dict(error)


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile"],
        ["compile", "a", "b"],
        ["compile", "--bogus", "a"],
        ["nope"],
        ["check", "problem"],
        ["docs", "search", "--limit", "99", "x"],
        ["docs", "search"],
        ["docs", "nope"],
        ["profile", "row_softmax", "k.hip", "--gpu", "MI300X"],
        ["install", "emacs"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_and_one_json_document(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    accepts = arguments[0] != "install"
    assert run([*arguments, "--json"]) == 2
    error = error_of(capsys)
    assert not accepts or "--help" in str(error["hint"])


def test_a_file_that_is_missing_or_no_text_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary = tmp_path / "kernel.hip"
    binary.write_bytes(b"\xff\xfe\x00")
    for file, message in ((tmp_path / "no.hip", "no such file"), (binary, "not"), (tmp_path, "a folder, not a kernel")):
        assert run(["compile", str(file), "--json"]) == 2
        error = error_of(capsys)
        assert error["file"] == str(file)
        assert message in str(error["message"])


@pytest.mark.parametrize("command", ["check", "check-program"])
def test_an_extension_of_pytorch_is_refused_with_the_reason(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "extension.py"
    file.write_text("from torch.utils.cpp_extension import load_inline\n\nload_inline(name='m', cuda_sources='')\n")
    assert run([command, "vector_add", str(file), "--json"]) == 2
    assert "load_inline), which is not judged" in str(error_of(capsys)["message"])


@pytest.mark.parametrize("arguments", [["verify"], ["eval"], ["problem", "import"]], ids=" ".join)
def test_a_name_that_no_file_can_have_is_wrong_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "a" * 5000, "--json"]) == 2
    assert len(str(error_of(capsys)["message"])) < 500


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (InputError("the problem is wrong", file="problem.toml", line=3), 2, "the problem is wrong"),
        (SandboxError("no Docker", hint="start it"), 3, "no Docker"),
        (ZeroDivisionError("division\nby zero"), 3, "internal error: ZeroDivisionError: division"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_the_engine_raises_becomes_an_exit_code_and_one_line(
    raised: BaseException,
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    file = tmp_path / "kernel.hip"
    file.write_text("kernel")
    monkeypatch.setattr(Engine, "do", fail)
    assert run(["compile", str(file), "--json"]) == code
    assert error_of(capsys)["message"] == message
    assert run(["compile", str(file)]) == code
    out, errors = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in errors
    assert message in errors


def test_the_engine_is_closed_however_a_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "close", lambda _: closed.append(True))
    monkeypatch.setattr(Machine, "targets", fail)
    assert run(["targets"]) == 130
    assert closed == [True]


def test_a_reader_that_goes_away_is_no_error() -> None:
    line = f"{COMMAND} --help | head -1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "0"
    assert ended.stderr == ""


def test_help_needs_nothing_heavy() -> None:
    code = "import sys; from amdkernel_mcp.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"pydantic", "mcp", "fastmcp", "numpy", "docker", "rich"} & set(loaded)


def test_a_bad_setting_is_wrong_input_with_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\nmax_wrokers = 3\n")
    ended = subprocess.run(
        [COMMAND, "targets", "--json"], env=os.environ | {"AMDKERNEL_CONFIG": str(file)}, capture_output=True, text=True
    )
    assert ended.returncode == 2
    error = json.loads(ended.stdout)["error"]
    assert (error["file"], error["line"]) == (str(file), 2)


def test_a_traceback_is_shown_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("amdkernel_mcp.cli.commands.machine.open_engine", fail)
    monkeypatch.setenv("AMDKERNEL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(["targets"])


@pytest.mark.parametrize("words", [[], ["docs"], ["problem"]])
def test_a_command_without_arguments_shows_its_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Usage: amdkernel")
    assert len(shown.out.splitlines()) > 5
    assert not shown.err
