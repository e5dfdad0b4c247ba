"""Whose a container is, also on a machine without /proc."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.execution.docker import ownership


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """As on macOS. What was remembered of this machine is forgotten before and after."""
    monkeypatch.setattr(ownership, "PROC", tmp_path)
    ownership._machine.cache_clear()
    yield
    ownership._machine.cache_clear()


def test_a_container_of_a_process_that_runs_is_kept_until_its_deadline() -> None:
    labels = ownership.ownership_labels("job")
    assert not ownership.is_abandoned(labels, now=time.time())
    assert ownership.is_abandoned(labels, now=time.time() + ownership.LIFETIME_S + 1)


@pytest.mark.usefixtures("without_proc")
def test_without_proc_a_container_is_kept_until_its_deadline() -> None:
    labels = ownership.ownership_labels("job")
    assert ownership.is_of_this_process(labels)
    assert not ownership.is_abandoned(labels, now=time.time())
    assert ownership.is_abandoned(labels, now=time.time() + ownership.LIFETIME_S + 1)
