"""The tables of the history. `record` holds the signed bytes; the other columns repeat parts of it for lists."""

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

# Compared byte by byte, so that an index finds the ids with a given beginning.
_ID = Text().with_variant(Text(collation="C"), "postgresql")

attempts = Table(
    "attempts",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),  # the order in which they were recorded
    Column("id", _ID, nullable=False, unique=True),
    Column("created", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("parent", Text),
    Column("problem", Text),
    Column("file_name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text),
    Column("verdict", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("speedup", Float),
    Column("time_us", Float),
    Column("evidence", Text, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("changed", Text),  # lines against the parent's kernel file
    Column("gain", Float),  # the time of the user's attempt that timed the same before this one, divided by this one's
    Column("timed_case", Text),  # of an attempt with a time: the sizes that were timed
    Column("problem_hash", Text),  # the problem as it was then
    sqlite_autoincrement=True,  # a number is never used again
)

Index("attempts_by_user", attempts.c.by, attempts.c.problem, attempts.c.number)
Index("attempts_by_problem", attempts.c.problem, attempts.c.number)
Index("attempts_of_user", attempts.c.by, attempts.c.number)
Index(
    "attempts_timed",
    *(attempts.c.by, attempts.c.problem, attempts.c.target, attempts.c.number),
    sqlite_where=attempts.c.time_us.is_not(None),
    postgresql_where=attempts.c.time_us.is_not(None),
)

artefacts = Table(
    "artefacts",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("last_named", Text, nullable=False),  # when a record last named it: what retention counts from
)

lessons = Table(
    "lessons",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("attempt", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("problem", Text),
    Column("created", Text, nullable=False),
    Column("kind", Text, nullable=False),  # `note` of the user, `finding` of ours
    Column("text", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),  # of user, problem and text: the same lesson is kept once
    sqlite_autoincrement=True,
)

Index("lessons_of_user", lessons.c.by, lessons.c.number)
Index("lessons_of_attempt", lessons.c.attempt, lessons.c.number)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("service", Text, nullable=False),  # `stdio` or `http`: which kind of server may take it over
    Column("owner", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("arguments", Text, nullable=False),  # JSON
    Column("status", Text, nullable=False),
    Column("created", Float, nullable=False),  # all times: seconds since 1970 by the clock of the database
    Column("ended", Float),
    Column("holder", Text, nullable=False),  # the process that works on it
    Column("fence", Integer, nullable=False),  # counts the holders; a result of an earlier one is not taken
    Column("lease_until", Float, nullable=False),
    Column("answer", Text),  # JSON
    Column("error", Text),
    Column("tries", Integer, nullable=False, server_default="0"),  # how often its work was begun
)

Index("jobs_of_user", jobs.c.owner, jobs.c.created)
Index("jobs_unfinished", jobs.c.status, jobs.c.lease_until)

gpu_leases = Table(
    "gpu_leases",
    metadata,
    Column("fence", Integer, primary_key=True, autoincrement=True),  # the order in which they were asked for
    Column("gpu", Text, nullable=False),
    Column("kind", Text, nullable=False),  # `exclusive`: times are measured; `shared`: others may run next to it
    Column("owner", Text, nullable=False),  # the user
    Column("holder", Text, nullable=False),  # the process
    Column("asked", Float, nullable=False),  # all times: seconds since 1970 by the clock of the database
    Column("lease_until", Float, nullable=False),
    Column("granted", Float),  # null: it waits
    Column("ended", Float),  # null: it waits or is held
    sqlite_autoincrement=True,  # a fence is never used again
)

Index("gpu_leases_of_gpu", gpu_leases.c.gpu, gpu_leases.c.ended)
Index("gpu_leases_of_user", gpu_leases.c.owner, gpu_leases.c.ended)

gpu_health = Table(
    "gpu_health",
    metadata,
    Column("gpu", Text, primary_key=True),
    Column("target", Text, nullable=False),  # as the last configuration that used it calls it
    Column("looked", Float),  # all times: seconds since 1970 by the clock of the database
    Column("state", Text),  # JSON: what that look saw
    Column("baseline", Text),  # JSON: the last look at it while nothing of ours used it
    Column("suspect", Text),  # why it must be at its baseline before anything runs on it
    Column("quarantined", Float),
    Column("reason", Text),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),  # may be shown; the token itself is nowhere
    Column("digest", Text, nullable=False, unique=True),
    Column("user", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # names with spaces between
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("last_used", Float),
    Column("revoked", Float),
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),  # by the server's clock: the row may be written a moment later
    Column("user", Text, nullable=False),  # empty: a request without a known token
    Column("token", Text),  # its id
    Column("address", Text, nullable=False),
    Column("action", Text, nullable=False),  # the tool, or the path of a request
    Column("target", Text),
    Column("job", Text),
    Column("attempt", Text),
    Column("outcome", Text, nullable=False),  # `done`, `failed` or `refused`
    Column("reason", Text),
    sqlite_autoincrement=True,
)

Index("audit_of_user", audit.c.user, audit.c.number)
Index("audit_by_age", audit.c.at)
