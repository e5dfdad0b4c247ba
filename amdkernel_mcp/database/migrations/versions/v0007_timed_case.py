"""What each time is the time of: the case, and the problem as it was. A gain over another one is none."""

import json
from typing import Any

import sqlalchemy as sa

from amdkernel_mcp.database.migrations import change


def upgrade(connection: sa.Connection) -> None:
    """Add the columns, fill them from the records, and forget each gain that compares two things."""
    change.add_column(connection, "attempts", sa.Column("timed_case", sa.Text))
    change.add_column(connection, "attempts", sa.Column("problem_hash", sa.Text))
    columns = 'number, "by", problem, target, verb, record'
    timed = sa.text(f"select {columns} from attempts where time_us is not null order by number")
    last: dict[tuple[Any, ...], tuple[str, str]] = {}
    for row in connection.execute(timed).all():
        record = json.loads(bytes(row.record))
        of = (str(record["answer"].get("case") or ""), str((record["problem"] or {}).get("hash") or ""))
        before = last.get(key := (row.by, row.problem, row.target), of)
        set_gain = "" if before == of else ", gain = null"
        connection.execute(
            sa.text(f"update attempts set timed_case = :case, problem_hash = :hash{set_gain} where number = :number"),
            {"case": of[0], "hash": of[1], "number": row.number},
        )
        if row.verb != "tune_row":
            last[key] = of
