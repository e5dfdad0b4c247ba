"""A cancelled call ends what it waits for."""

import threading
import time

import pytest

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.work import cancelled_by, carried, current_work


def test_what_the_work_waits_for_is_ended_once(request: pytest.FixtureRequest) -> None:
    token, ended = Cancellation(), []
    with pytest.raises(CancelledWorkError), token.ending_with(lambda: ended.append(request.node.name)):
        token.cancel()
    token.cancel()
    assert ended == [request.node.name], "after the block there is nothing to end"


def test_an_error_that_the_cancellation_caused_is_the_cancellation() -> None:
    def work(token: Cancellation) -> None:
        with token.ending_with(lambda: None):
            token.cancel()
            raise SandboxError("the container vanished")

    with pytest.raises(CancelledWorkError):
        work(Cancellation())


def test_an_error_without_a_cancellation_stays_what_it_is() -> None:
    with pytest.raises(SandboxError), Cancellation().ending_with(lambda: None):
        raise SandboxError("the container vanished")


def test_threads_of_the_work_belong_to_it_when_they_are_carried() -> None:
    token, seen = Cancellation(), []
    with cancelled_by(token):
        for work in (
            carried(lambda: seen.append(current_work().cancellation)),
            lambda: seen.append(current_work().cancellation),
        ):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    assert seen[0] is token
    assert seen[1] is not token
    assert current_work().cancellation is not token


@pytest.mark.sandbox
def test_a_job_in_a_container_is_ended_before_its_time(sandbox: Sandbox) -> None:
    token = Cancellation()
    threading.Timer(1.0, token.cancel).start()
    began = time.monotonic()
    with cancelled_by(token), pytest.raises(CancelledWorkError):
        sandbox.run("run", ["sleep", "100"], {}, timeout_s=110)
    assert time.monotonic() - began < 60, "the job ran on"


@pytest.mark.sandbox
def test_work_that_was_cancelled_before_starts_no_job(sandbox: Sandbox) -> None:
    token = Cancellation()
    token.cancel()
    with cancelled_by(token), pytest.raises(CancelledWorkError):
        sandbox.run("run", ["true"], {}, timeout_s=60)
