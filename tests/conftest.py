"""Fixtures that all tests share, the order of the files, and a warning about long calls."""

import os
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import Sandbox


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """This machine's settings with a data folder for each worker and a cache folder for the run."""
    folder = tmp_path_factory.getbasetemp()
    run = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    return load_settings({"data_dir": tmp_path_factory.mktemp("amdkernel") / "data", "cache_dir": run / "cache"})


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The open sandbox, shared by all tests of a process; the image's own layers are rebuilt if sandbox/ changed.

    Fails, never skips, when there is no Docker or no base image.
    """
    try:
        opened = _open_with_image_of_this_checkout()
    except AmdkernelError as error:
        pytest.fail(f"{error.message}\nremedy: {error.hint}", pytrace=False)
    opened.warm_up()
    yield opened
    opened.close()


def _open_with_image_of_this_checkout() -> DockerSandbox:
    """Takes seconds, and only after a change of sandbox/; the base image takes minutes: left to `amdkernel setup`.

    With TESTED_SANDBOX_IMAGE in the environment: that image instead, see tests/sandbox/emulator_builds.
    """
    from amdkernel_mcp.execution.docker.daemon import connect
    from amdkernel_mcp.execution.docker.image import base_name, find_image, sandbox_image_id, settled
    from amdkernel_mcp.execution.setup.build import setup

    mine = load_settings()
    daemon = connect(mine.docker_host)
    if other := os.environ.get("TESTED_SANDBOX_IMAGE"):
        return DockerSandbox(daemon, other)
    mine = settled(daemon, mine)
    if find_image(daemon, base_name(mine)) is None:
        sandbox_image_id(daemon, mine)  # raises, with the remedy
    return DockerSandbox(daemon, setup(mine, print).image_id)


# CI gives the time at which it begins no further thorough test, in seconds since 1970, and the part of the files whose
# thorough tests run: `K/N` is the K-th of N, counted from 0. Each day has another K.
UNTIL_S = float(os.environ.get("AMDK_THOROUGH_UNTIL") or "inf")
TURN, TURNS = map(int, (os.environ.get("AMDK_THOROUGH_TURN") or "0/1").split("/"))
NOT_REACHED = "the time for thorough tests was over"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the thorough tests of other turns. Files with slow tests start first."""
    other = [item for item in items if item.get_closest_marker("thorough") and turn_of(item) != TURN]
    if other:
        config.hook.pytest_deselected(items=other)
        left_out = set(other)
        items[:] = [item for item in items if item not in left_out]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def turn_of(item: pytest.Item) -> int:
    """That of its file, whatever other files there are: the tests of a file share what takes long to set up."""
    return zlib.crc32(item.path.relative_to(item.config.rootpath).as_posix().encode()) % TURNS


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves out a thorough test for which there is no time; the summary names it, and pytest's cache as well."""
    if time.time() > UNTIL_S and item.get_closest_marker("thorough"):
        pytest.skip(NOT_REACHED)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Prints a failure when it happens: the whole run may take half an hour more."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid} ({report.when})\n{report.longreprtext[-1500:]}", flush=True)  # noqa: T201


LONG_CALL_S = 20


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the time of each room, and the calls over 20 s that lack a mark; a busy machine makes any test slow."""
    outcomes = ("passed", "failed", "error", "")  # set-up and tear-down that passed are reported under ""
    reports = [
        report
        for outcome in outcomes
        for report in terminalreporter.getreports(outcome)
        if isinstance(report, pytest.TestReport)  # a file that cannot be collected has no time
    ]
    times: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        parts = report.nodeid.partition("::")[0].split("/")
        times["/".join(parts[:3] if parts[1] == "sandbox" else parts[:2])] += report.duration
    if len(times) > 1:
        terminalreporter.section("seconds by room, of all workers")
        for room, seconds in sorted(times.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{seconds:7.0f}  {room}")
    skipped = [report for report in terminalreporter.getreports("skipped") if NOT_REACHED in report.longreprtext]
    if skipped:
        terminalreporter.section(f"{len(skipped)} thorough tests were left out: {NOT_REACHED}", yellow=True)
        for file, count in Counter(report.nodeid.partition("::")[0] for report in skipped).items():
            terminalreporter.line(f"{count:4d}  {file}")
        terminalreporter.config.cache.set("not_reached", [report.nodeid for report in skipped])
    calls = [report for report in reports if report.when == "call"]
    long = [call for call in calls if call.duration > LONG_CALL_S and not {"slow", "thorough"} & set(call.keywords)]
    if long:
        terminalreporter.section(f"calls over {LONG_CALL_S} s without the mark `slow` or `thorough`", yellow=True)
        for report in sorted(long, key=lambda report: -report.duration):
            terminalreporter.line(f"{report.duration:.0f} s  {report.nodeid}")
