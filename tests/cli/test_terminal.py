"""What reaches a terminal: foreign text is escaped, and closed or broken streams change no exit code."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from rich.table import Table
from rich.text import Text

from amdkernel_mcp.cli.console import SafeConsole
from amdkernel_mcp.cli.escape import visible
from amdkernel_mcp.cli.main import run
from amdkernel_mcp.cli.show.check import show_check
from amdkernel_mcp.cli.show.compile import show_compile
from amdkernel_mcp.kernel_source import KernelSource
from amdkernel_mcp.results.kernels import CheckResult, CompileResult, Diagnostic, Finding, KernelResources
from tests.one_in import one_in

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\ud800"
SHELL = ["bash", "-c"]


def shown(*shows: Callable[[SafeConsole], object]) -> str:
    out = io.StringIO()
    console = SafeConsole(file=out, width=100, highlight=False, emoji=False, markup=False)
    for show in shows:
        show(console)
    return out.getvalue()


def is_plain(text: str) -> bool:
    return all(character == "\n" or character.isprintable() for character in text)


def test_escapes_are_spelt_out_and_other_text_stays() -> None:
    assert visible("\x1b[31mä\t[b]\n\x9b\u202e\x7f\r") == "\\x1b[31mä\t[b]\n\\x9b\\u202e\\x7f\\r"
    assert visible("\udcff") == "\\udcff"
    assert visible("日本 ✓ e\u0301 👩\u200d🔬\u00a0") == "日本 ✓ e\u0301 👩\u200d🔬\u00a0"


def test_a_console_escapes_text_tables_and_plain_strings_and_keeps_columns() -> None:
    table = Table("name", "value")
    table.add_row(f"a{HOSTILE}", Text(HOSTILE))
    table.add_row("[bold]b[/]", "[link=file:///etc/passwd]c[/link]")
    text = shown(lambda c: c.print(HOSTILE), lambda c: c.print(Text(HOSTILE, "red")), lambda c: c.print(table))
    assert is_plain(text), repr(text)
    assert "\\x1b[2J" in text
    assert "[bold]b[/]" in text, "brackets in a name are text"


def test_source_lines_names_and_messages_are_escaped() -> None:
    kernel = KernelSource(f"// {HOSTILE}\n", f"k{HOSTILE}.hip")
    resources = KernelResources(
        name=f"k{HOSTILE}", vgpr=1, agpr=0, sgpr=1, lds_bytes=0, scratch_bytes=0, vgpr_spills=0, sgpr_spills=0,
        wavefront_size=64, occupancy_waves_per_simd=8, occupancy_limit="vgpr", instructions={HOSTILE: 1},
    )  # fmt: skip
    diagnostic = Diagnostic(severity="error", message=HOSTILE, line=1, column=1)
    compiled = CompileResult(arch="gfx942", diagnostics=[diagnostic], kernels=[resources], isa=HOSTILE)
    checked = CheckResult(
        verdict="incorrect", reason=HOSTILE, findings=[Finding(kind="race", message=HOSTILE, line=1)], notes=[HOSTILE]
    )
    text = shown(
        partial(show_compile, result=compiled, kernel=kernel), partial(show_check, result=checked, kernel=kernel)
    )
    assert is_plain(text), repr(text)
    assert text.count("\\x1b") >= 8


def test_errors_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", f"{tmp_path}/{HOSTILE}"]) == 2
    assert run([HOSTILE]) == 2
    assert run(["run", f"--{HOSTILE}"]) == 2
    said = capsys.readouterr().err
    assert is_plain(said), repr(said)
    assert said.count("\\x1b[2J") == 3


def test_a_file_name_that_is_no_text_is_an_error_like_any_other() -> None:
    commands: list[list[str | bytes]] = [["compile", b"\xff\x1b.hip"], ["compile", b"\xff\x1b.hip", "--json"]]
    for command in commands:
        ended = subprocess.run([COMMAND, *command], capture_output=True)
        assert ended.returncode == 2
        assert ended.stderr.startswith(b"amdkernel: \\udcff\\x1b.hip: there is no such file"), ended.stderr
        assert "--json" not in command or json.loads(ended.stdout)["error"]["file"] == "\udcff\x1b.hip"


def test_an_error_with_json_is_one_document_of_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", HOSTILE[:-1], "--json"]) == 2
    out = capsys.readouterr().out
    assert is_plain(out), repr(out)
    assert json.loads(out)["error"]["file"] == HOSTILE[:-1]


STREAMS = ["", ">&-", "2>&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-", "2>/dev/full", ">&- 2>/dev/full"]
COMMANDS = [("targets", 0), ("compile none.hip", 2), ("targets --json", 0)]


def closed_streams() -> list[ParameterSet]:
    """The gate takes each stream once, and both that are written to for each kind of answer."""
    pairs = [(command, stream) for command in COMMANDS for stream in STREAMS]
    in_gate = {(COMMANDS[n % 2], stream) for n, stream in enumerate(STREAMS)}
    in_gate |= {(command, stream) for command in COMMANDS for stream in (">&-", "2>/dev/full")}
    return [
        pytest.param(*command, stream, marks=() if (command, stream) in in_gate else pytest.mark.thorough)
        for command, stream in pairs
    ]


@pytest.mark.parametrize(("arguments", "code", "stream"), one_in(5, closed_streams(), others=pytest.mark.thorough))
def test_a_closed_stream_changes_no_exit_code_and_causes_no_traceback(arguments: str, code: int, stream: str) -> None:
    ended = subprocess.run([*SHELL, f"{COMMAND} {arguments} {stream}"], capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("arguments", ["targets", "targets --json"])
def test_an_answer_that_cannot_be_written_is_the_infrastructures_fault(arguments: str) -> None:
    ended = subprocess.run([*SHELL, f"{COMMAND} {arguments} >/dev/full"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (3, "amdkernel: the answer cannot be written: No space left on device\n")


READER = "{command} | {reader}; echo ${{PIPESTATUS[0]}} >&2"


@pytest.mark.parametrize(
    "reader", ["true", *(pytest.param(r, marks=pytest.mark.thorough) for r in ("head -1", "head -c1"))]
)
@pytest.mark.parametrize(("arguments", "code"), [("targets", 0), ("compile none.hip --json", 2), ("--help", 0)])
def test_a_reader_that_goes_away_changes_no_exit_code(arguments: str, code: int, reader: str) -> None:
    line = READER.format(command=f"{COMMAND} {arguments}", reader=reader)
    ended = subprocess.run([*SHELL, line], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == str(code), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.parametrize(("kernel", "code"), [("naive", 0), ("broken", 1)])
def test_the_verdict_is_the_exit_code_though_nobody_reads_it(kernel: str, code: int, tmp_path: Path) -> None:
    from amdkernel_mcp import bundled

    kernels = bundled.folder("examples") / "vector_add/kernels"
    [file] = list(kernels.glob(f"{kernel}*.hip"))[:1]
    line = READER.format(command=f"{COMMAND} check vector_add {file}", reader="true")
    folders = {"AMDKERNEL_CACHE_DIR": str(tmp_path)}
    ended = subprocess.run([*SHELL, line], capture_output=True, text=True, check=True, env=os.environ | folders)
    assert ended.stderr == f"{code}\n"
