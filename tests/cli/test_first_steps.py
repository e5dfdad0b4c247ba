"""A newcomer's first minutes at a shell: set-up, examples, a kernel from stdin, clear refusals."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.cli.console import SafeConsole
from amdkernel_mcp.cli.main import run
from amdkernel_mcp.cli.show.documentation import show_search
from amdkernel_mcp.cli.show.machine import show_targets
from amdkernel_mcp.problems.problem_file import bundled_problems
from amdkernel_mcp.results.documentation import Card, Hit, SearchResult
from amdkernel_mcp.results.machine import TargetInfo, TargetsResult
from amdkernel_mcp.search.library import ABSENT
from tests.one_in import one_in
from tests.waiting import AT_MOST_S

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
NAIVE = folder("examples") / "row_softmax/kernels/naive.hip"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is set up and no Docker answers."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("AMDKERNEL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AMDKERNEL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.usefixtures("bare")
def test_no_target_is_ready_where_docker_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets", "--json"]) == 0
    found = TargetsResult.model_validate_json(capsys.readouterr().out).targets
    assert [target.name for target in found if target.ready] == []
    assert all("does not answer" in (target.note or "") and "run `" in (target.note or "") for target in found)


def test_an_image_that_was_not_built_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AMDKERNEL_IMAGE", "no-such-image:1")
    monkeypatch.setenv("AMDKERNEL_DATA_DIR", str(tmp_path))
    assert run(["targets", "--json"]) == 0
    found = TargetsResult.model_validate_json(capsys.readouterr().out).targets
    assert not any(target.ready for target in found)
    assert "`amdkernel setup`" in (found[0].note or "")


@pytest.mark.usefixtures("bare")
def test_the_first_command_on_a_bare_machine_names_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", str(NAIVE)]) == 3
    hint = capsys.readouterr().err.splitlines()[1]
    assert hint.count("`") in (2, 4), hint
    assert hint.strip().startswith("run `sudo ")


@pytest.mark.sandbox
def test_setup_says_that_it_is_ready_and_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["setup"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ready. ")
    assert "amdkernel check row_softmax" in out


def test_examples_are_listed_and_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["examples"]) == 0
    assert capsys.readouterr().out.split() == bundled_problems()
    to = tmp_path / "softmax"
    assert run(["examples", "row_softmax", "--to", str(to)]) == 0
    assert (to / "kernels/naive.hip").read_text() == NAIVE.read_text()
    assert run(["examples", "row_softmax", "--to", str(to)]) == 2, "nothing is overwritten"
    assert run(["examples", "nosuch"]) == 2
    assert "`amdkernel examples` lists them" in capsys.readouterr().err


def test_a_new_problem_is_a_folder_that_a_check_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "mine"
    assert run(["new", str(made)]) == 0
    assert sorted(file.name for file in made.iterdir()) == ["kernel.hip", "problem.toml", "reference.py"]
    assert f"amdkernel check {made} {made}/kernel.hip" in capsys.readouterr().err
    assert run(["new", str(made)]) == 2
    assert run(["new", str(tmp_path / "a b")]) == 2


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.parametrize("name", one_in(9, ["-", "/dev/stdin"], others=pytest.mark.thorough))
def test_a_kernel_is_read_from_stdin(name: str) -> None:
    ended = subprocess.run([COMMAND, "compile", name], input=NAIVE.read_text(), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "stdin.hip" in ended.stdout


def test_what_is_no_text_on_stdin_is_refused() -> None:
    ended = subprocess.run([COMMAND, "compile", "-"], input=b"\xff\xfe", capture_output=True)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"UTF-8" in ended.stderr


@pytest.mark.usefixtures("bare")
def test_a_busy_port_is_said_before_the_server_claims_to_serve() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        ended = subprocess.run([COMMAND, "serve", "--port", port], capture_output=True, text=True)
    assert ended.returncode == 3
    assert "cannot listen" in ended.stderr
    assert "serves" not in ended.stderr


@pytest.mark.thorough
@pytest.mark.sandbox
def test_sigterm_ends_a_command_and_removes_its_containers(tmp_path: Path) -> None:
    file = tmp_path / "sleeps.hip"
    file.write_text('#include <cstdio>\n#include <unistd.h>\nint main() { puts("up"); fflush(stdout); pause(); }\n')
    with subprocess.Popen([COMMAND, "run", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGTERM)
        errors = process.stderr.read()
        assert process.wait() == 128 + signal.SIGTERM
    assert b"terminated" in errors
    assert containers_of(process.pid) == []


def containers_of(pid: int) -> list[str]:
    """Ids of the containers that the process made; asked again, because Docker removes them in the background."""
    import docker

    client = docker.from_env()
    try:
        until = time.monotonic() + AT_MOST_S
        while True:
            named = [each for each in client.api.containers(all=True) if f"{pid}:" in str(each["Labels"])]
            mine = [each["Id"] for each in named if each["Labels"].get("amdkernel.process", "").startswith(f"{pid}:")]
            if not mine or time.monotonic() > until:
                return mine
            time.sleep(0.5)
    finally:
        client.close()


def narrow(show: Callable[..., None], result: object) -> str:
    out = io.StringIO()
    show(SafeConsole(file=out, width=40, highlight=False, emoji=False, markup=False), result)
    return out.getvalue()


def test_links_and_commands_are_not_broken_by_newlines() -> None:
    url = f"https://example.com/{'long/' * 20}"
    hit = Hit(
        rank=1, title="t", heading="t", source="s", path="p", url=url, version=None, snippet="", score=1,
        ref=f"hip/{'x' * 80}",
    )  # fmt: skip
    shown = narrow(show_search, SearchResult(query="q", results=[hit]))
    assert url in shown
    assert f"amdkernel docs read {hit.ref}" in shown
    note = f"the daemon does not answer; run `{'sudo systemctl start docker ' * 3}`"
    target = TargetInfo(
        name="e", kind="emulator", arch="a", gpu="g", rocm=None, default=True, ready=False, note=note
    )  # fmt: skip
    assert narrow(show_targets, TargetsResult(targets=[target, target])).count(note) == 1


def test_that_nothing_has_a_name_is_said_before_the_hits() -> None:
    hit = Hit(
        rank=1, title="t", heading="First hit", source="s", path="p", url=None, version=None, snippet="", score=1,
        ref="s/p",
    )  # fmt: skip
    notes = (f"{ABSENT} x.", "An old page.")
    absent, other = (narrow(show_search, SearchResult(query="q", results=[hit], note=note)) for note in notes)
    assert absent.startswith(ABSENT)
    assert other.rstrip().endswith("An old page.")


def test_a_card_names_commands_and_not_tools() -> None:
    card = Card(ref="api:x", kind="api", name="x", title="x", text="… read_doc('api:x') shows all of it.", origin="o")
    shown = narrow(show_search, SearchResult(query="x", exact=[card], results=[]))
    assert "amdkernel docs read api:x" in " ".join(shown.split())


@pytest.mark.parametrize("shell", one_in(9, ["bash", "zsh", "fish"], others=pytest.mark.thorough))
def test_a_shell_completes_commands_and_clients(shell: str) -> None:
    def complete(line: str) -> str:
        words = {
            "_AMDKERNEL_COMPLETE": f"complete_{shell}",
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        return subprocess.run([COMMAND], env=os.environ | words, capture_output=True, text=True).stdout.replace(
            "\\", ""
        )

    assert "examples" in complete("amdkernel exa")
    assert "cursor" in complete("amdkernel install cur")
    assert "row_softmax" in complete("amdkernel check row_s")
    assert "emulator:gfx942" in complete("amdkernel check --target emu")
