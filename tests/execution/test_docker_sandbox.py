"""A job's way through the sandbox."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_a_job_gets_its_files_and_gives_its_output_folder_back(sandbox: Sandbox) -> None:
    done = sandbox.run(
        "compile", ["sh", "-c", 'tr a-z A-Z < in/word > "$OUT/word"; echo said'], {"in/word": b"hip"}, timeout_s=60
    )
    assert (done.exit_code, done.files, done.stderr) == (0, {"word": b"HIP"}, "said\n")


def test_the_last_words_of_a_job_are_never_lost(sandbox: Sandbox) -> None:
    # Docker brings stdout and stderr through separate pipes, and either can be the slower one.
    for number in range(8):
        done = sandbox.run("compile", ["sh", "-c", f"printf {number}"], {}, timeout_s=60)
        assert done.stderr == str(number)


def test_a_job_ends_with_its_exit_code_and_without_time_out(sandbox: Sandbox) -> None:
    done = sandbox.run("run", ["sh", "-c", "exit 124"], {}, timeout_s=60)
    assert (done.exit_code, done.timed_out, done.out_of_memory, done.truncated) == (124, False, False, False)


def test_a_command_that_is_not_there_fails_as_in_a_shell(sandbox: Sandbox) -> None:
    assert sandbox.run("compile", ["no-such-command"], {}, timeout_s=60).exit_code == 127


def test_lines_are_told_as_they_come(sandbox: Sandbox) -> None:
    told: list[tuple[float, str]] = []
    started = time.monotonic()
    command = ["sh", "-c", "echo one; sleep 0.6; echo two"]
    sandbox.run("compile", command, {}, timeout_s=10, on_stderr=lambda line: told.append((time.monotonic(), line)))
    assert [line for _, line in told] == ["one", "two"]
    assert told[1][0] - told[0][0] > 0.3, f"both came at the end, after {told[0][0] - started:.2f} s"


def test_large_inputs_and_outputs_pass_whole(sandbox: Sandbox) -> None:
    big = bytes(range(256)) * (24 << 12)
    done = sandbox.run("run", ["sh", "-c", 'cp big "$OUT/big"'], {"big": big}, timeout_s=30)
    assert done.files["big"] == big, done


def test_an_input_that_does_not_fit_is_said_not_hung_on(sandbox: Sandbox) -> None:
    done = sandbox.run("compile", ["true"], {f"d{n}/f": b"" for n in range(9000)}, timeout_s=60)
    assert done.exit_code == 125
    assert "No space left" in done.stderr


def test_jobs_run_at_the_same_time_and_never_share_a_container(sandbox: Sandbox) -> None:
    def job(number: int) -> str:
        command = ["sh", "-c", "ls /tmp; touch /tmp/was-here; cat name; sleep 0.2"]
        return sandbox.run("compile", command, {"name": b"%d" % number}, timeout_s=20).stderr

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(job, range(12))) == [str(number) for number in range(12)]
