"""For whom a verb is done: it is given the work, and so is what it runs in a sandbox."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.verb import Means
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.recorder import Tried
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work, current_work


@dataclass(frozen=True)
class Asks:
    """A request that answers for whom it is done: what it is given, and what a sandbox would find."""

    def do(self, means: Means) -> tuple[Work, Work]:
        return means.work, current_work()


@pytest.fixture
def engine(settings: Settings, tmp_path: Path) -> Iterator[Engine]:
    opened = Engine(settings.model_copy(update={"data_dir": tmp_path / "data"}))
    yield opened
    opened.close()


def test_a_sandbox_finds_the_work_that_the_verb_was_given(engine: Engine) -> None:
    ann = Work("user:ann")
    told, found = engine.do(Asks(), ann)
    assert told is found is ann
    assert current_work().owner == "local", "after the call"


def test_a_parent_is_an_attempt_of_who_asks(engine: Engine) -> None:
    first = engine._recorder.record(Tried("check", "", "k.hip"), CheckResult()).attempt or ""
    assert engine.do(Asks(), Work(parent=first[:8]))[0].parent == first
    with pytest.raises(HistoryError, match="there is no attempt"):
        engine.do(Asks(), Work("user:bob", parent=first))
