"""Who may read the file of a database: hashes of tokens lie in it."""

from pathlib import Path

from sqlalchemy import text

from amdkernel_mcp.database.open_database import open_database


def test_a_database_that_others_could_read_becomes_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite3"
    file.touch(0o644)
    engine = open_database(None, file)
    with engine.begin() as connection:
        connection.execute(text("create table things (name text)"))
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    engine.dispose()
    assert set(modes.values()) == {0o600}, modes
