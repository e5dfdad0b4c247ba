"""Old files go, and no file that a recent attempt names."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from amdkernel_mcp.config import Settings
from amdkernel_mcp.database.open_database import writing
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempt import Attempt
from amdkernel_mcp.history.history import History

Make = Callable[..., Attempt]
OLD_S = 200 * 86400


@pytest.fixture
def own_settings(own_settings: Settings) -> Settings:
    return own_settings.model_copy(update={"keep_mib": 0})


def files(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "artefacts").glob("*/*") if path.is_file()]


def age(settings: Settings, *, records: bool = True, database: bool = True) -> None:
    """Make every file old, and what the database says of it."""
    for path in files(settings) if records else ():
        os.utime(path, (time.time() - OLD_S,) * 2)
    if database:
        url = settings.database or f"sqlite:///{settings.data_dir / 'history.sqlite3'}"
        engine = create_engine(url.replace("postgresql:", "postgresql+pg8000:"))
        with engine.begin() as connection:
            connection.execute(text("update artefacts set last_named = '2020-01-01T00:00:00.000Z'"))
        engine.dispose()


def test_an_old_file_is_removed_and_its_record_stays(history: History, make: Make, own_settings: Settings) -> None:
    attempt = make("old")
    age(own_settings)
    assert history.prune().files == 1
    assert history.find(attempt.id).attempt.verdict == "correct"
    with pytest.raises(HistoryError, match="is not there"):
        history.artefacts.read(attempt.source)
    assert make("old").source == attempt.source
    assert history.artefacts.read(attempt.source) == b"old"


def test_a_file_that_a_recent_attempt_names_stays_whatever_its_age(
    history: History, make: Make, own_settings: Settings
) -> None:
    make("kept")
    age(own_settings, database=False)
    assert history.prune().files == 0
    assert len(files(own_settings)) == 1


def test_a_file_that_is_named_again_is_recent_again(history: History, make: Make, own_settings: Settings) -> None:
    make("again")
    age(own_settings)
    make("again")
    age(own_settings, database=False)
    assert history.prune().files == 0


def test_a_file_that_is_about_to_be_named_stays(history: History, make: Make, own_settings: Settings) -> None:
    make("about to be named again")
    age(own_settings)
    history.artefacts.keep(b"about to be named again")
    history.artefacts.keep(b"new, and not named yet")
    assert history.prune().files == 0


def test_what_a_killed_process_left_is_removed_after_a_day(
    history: History, make: Make, own_settings: Settings
) -> None:
    name = make("kept").source
    left = own_settings.data_dir / "artefacts" / name[:2] / ".new-left"
    left.write_bytes(b"half")
    age(own_settings, database=False)
    assert history.prune().files == 1
    assert not left.exists()


def test_old_files_stay_while_there_is_room(own_settings: Settings) -> None:
    history = History(own_settings.model_copy(update={"keep_mib": 1}))
    names = [history.artefacts.keep(bytes([n]) * (400 << 10)) for n in range(4)]
    from sqlalchemy import insert

    from amdkernel_mcp.database.tables import artefacts

    with writing(history._engine) as connection:
        rows = [{"sha256": name, "last_named": f"2020-01-0{n + 1}"} for n, name in enumerate(names)]
        connection.execute(insert(artefacts), rows)
    age(own_settings, database=False)
    assert history.prune().files == 2
    left = {path.name for path in files(own_settings)}
    assert left == set(names[2:]), "the two that were named last stay"
    history.close()


def test_pruning_by_itself_comes_once_a_day(history: History, make: Make, own_settings: Settings) -> None:
    assert history.prune_daily()
    make("old")
    age(own_settings)
    assert not history.prune_daily()
    stamp = own_settings.data_dir / "artefacts" / ".pruned"
    os.utime(stamp, (time.time() - 2 * 86400,) * 2)
    assert history.prune_daily()
    assert files(own_settings) == []
