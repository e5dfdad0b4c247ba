"""Jobs in the database, so that what was accepted is found again when the server that accepted it is gone.

A job belongs to the process that holds its lease. A process that lives renews its leases; another takes over a job
whose lease has ended, or whose holder is known to be dead. Each take-over raises the job's `fence`, and a result is
taken only with the current one, so that no job is finished twice. Times are those of the database's clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection, Row, bindparam, delete, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from amdkernel_mcp.database.holder import new_holder
from amdkernel_mcp.database.leases import LEASE_S, deadline, is_over, mend_deadline, renew
from amdkernel_mcp.database.open_database import (
    database_now,
    now_in,
    reading,
    writing,
    writing_once,
)
from amdkernel_mcp.database.schema import open_tables
from amdkernel_mcp.database.tables import jobs
from amdkernel_mcp.engine.verbs.table import VERB_NAMED
from amdkernel_mcp.errors import DatabaseError, JobError
from amdkernel_mcp.jobs.job import FINISHED, Job
from amdkernel_mcp.jobs.request import Answer, Request

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.results.job_answer import JobStatus

RENEW_S = LEASE_S / 3
MOST_TRIES = 5  # a job that ends its server each time must not be done for ever
MOST_NAME = 200  # characters
KEPT_DAYS = 7
PRUNE_EVERY = 16  # accepted jobs
KEPT_JOBS = 200  # finished ones, of each user
_STOPPED = f"the server stopped {MOST_TRIES} times while it worked on this job"

_MANY = 0x616D646B  # the number of a lock, such as no GPU has by chance

Service = Literal["stdio", "http"]


@dataclass(frozen=True)
class StoredJob:
    """A job as the database has it."""

    id: str
    owner: str
    request: Request
    status: JobStatus
    fence: int
    tries: int
    created_s: float
    answer: Answer | None
    error: str | None


class Journal:
    """The jobs of one kind of server. Thread-safe. Methods raise DatabaseError."""

    def __init__(self, settings: Settings, service: Service) -> None:
        self._service = service
        self._closed = False
        self._accepted = 0
        self._holder = new_holder()
        self._engine = open_tables(settings, "the jobs")
        now = now_in(self._engine)
        fixed = {"service": self._service, "status": "queued", "holder": self._holder, "fence": 1}
        given: dict[str, Any] = {name: bindparam(name) for name in ("id", "owner", "verb", "arguments")}
        insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        row = insert(jobs).values(**fixed, **given, created=now, lease_until=deadline(now))
        self._insert = row.on_conflict_do_nothing()  # built once

    def close(self) -> None:
        """Give the leases of this process back, for the next one, and close the connections."""
        self._closed = True
        with suppress(DatabaseError), self._writing_many() as connection:
            running = (jobs.c.status == "running", self._mine())  # it is not its fault that this process ends
            connection.execute(update(jobs).where(*running).values(tries=jobs.c.tries - 1))
            connection.execute(update(jobs).where(*_unfinished(), self._mine()).values(lease_until=0.0, holder=""))
        self._engine.dispose()

    def accept(self, job: Job) -> int:
        """Store a new job. Returns its fence. May be repeated: it may have ended though its answer was lost."""
        if self._accepted % PRUNE_EVERY == 0:
            with self._writing_many() as connection:
                self._prune(connection, job.owner)
        self._accepted += 1
        arguments = json.dumps(dict(job.request.arguments))
        row = {"id": job.id, "owner": job.owner, "verb": job.request.verb, "arguments": arguments}
        with writing_once(self._engine) as connection:
            connection.execute(self._insert, row)
        return 1

    def begin(self, job: Job) -> None:
        """The job runs."""
        with writing_once(self._engine) as connection:
            connection.execute(update(jobs).where(*_held(job)).values(status="running", tries=jobs.c.tries + 1))

    def hand_back(self, job: Job) -> None:
        """The job waits again: what it ran on was lost."""
        with writing_once(self._engine) as connection:
            connection.execute(update(jobs).where(*_held(job)).values(status="queued", tries=job.tries))

    def end(self, job: Job, status: JobStatus, error: str | None) -> bool:
        """Store how the job ended. False: another process has it by now, and this result counts for nothing."""
        answer = job.answer.model_dump_json(by_alias=True) if job.answer is not None else None
        with writing_once(self._engine) as connection:
            ended = {"status": status, "answer": answer, "error": error, "ended": now_in(connection)}
            ended["arguments"] = json.dumps(_named_in(job))  # all of them may be megabytes, and are not needed any more
            return bool(connection.execute(update(jobs).where(*_held(job)).values(ended)).rowcount)

    def cancel(self, job_id: str, owner: str) -> None:
        """Mark a job that another process has as cancelled: the result of that process will not be taken."""
        with writing(self._engine) as connection:
            mine = (jobs.c.id == job_id, jobs.c.owner == owner, *_unfinished())
            connection.execute(update(jobs).where(*mine).values(status="cancelled", ended=database_now(connection)))

    def renew(self) -> Set[tuple[str, int]]:
        """Renew the leases of this process. Returns the id and fence of the unfinished jobs that it still has."""
        with self._writing_many() as connection:
            renew(connection, jobs, database_now(connection), *_unfinished(), self._mine())
            mine = connection.execute(select(jobs.c.id, jobs.c.fence).where(*_unfinished(), self._mine()))
            return {(row.id, row.fence) for row in mine}

    def take_over(self) -> list[StoredJob]:
        """The unfinished jobs that no living process holds; this one holds them now.

        One whose work was begun several times, each time by a process that stopped, has failed.
        """
        taken: list[StoredJob] = []
        with self._writing_many() as connection:
            if self._closed:  # what it returned belongs to the next process
                return taken
            now = database_now(connection)
            found = select(jobs).where(*_unfinished(), jobs.c.service == self._service).order_by(jobs.c.created)
            for row in connection.execute(found).all():
                if row.holder == self._holder:
                    continue
                if not is_over(row, now, self._holder):
                    mend_deadline(connection, jobs, row, now, jobs.c.id == row.id, jobs.c.fence == row.fence)
                    continue
                change: dict[str, Any] = {"holder": self._holder, "fence": row.fence + 1, "lease_until": deadline(now)}
                if row.status == "running" and row.tries >= MOST_TRIES:
                    change |= {"status": "failed", "ended": now, "error": _STOPPED}
                else:
                    change |= {"status": "queued"}
                # Postgres lets others write meanwhile: what has ended or was renewed since then is left alone.
                as_found = jobs.c.lease_until == row.lease_until
                same = (jobs.c.id == row.id, jobs.c.fence == row.fence, as_found, *_unfinished())
                if (
                    connection.execute(update(jobs).where(*same).values(change)).rowcount
                    and change["status"] == "queued"
                ):
                    taken.append(_stored(row, fence=row.fence + 1))
        return taken

    def find(self, job_id: str, owner: str | None) -> StoredJob | None:
        """The job of this owner; None: of any user of this kind of server."""
        whose = jobs.c.service == self._service if owner is None else jobs.c.owner == owner
        with reading(self._engine) as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == job_id, whose)).first()
        return None if row is None else _stored(row)

    def list(self, owner: str | None, limit: int, attempt: str | None = None) -> list[StoredJob]:
        """The owner's newest jobs, newest first; None: of all users of this kind of server. `attempt`: only those whose
        answer names it."""
        wanted = [jobs.c.service == self._service if owner is None else jobs.c.owner == owner]
        if attempt is not None:
            wanted.append(jobs.c.answer.contains(f'"attempt":"{attempt}"', autoescape=True))
        newest = select(jobs).where(*wanted).order_by(jobs.c.created.desc()).limit(limit)
        with reading(self._engine) as connection:
            return [_stored(row) for row in connection.execute(newest)]

    def _prune(self, connection: Connection, owner: str) -> None:
        """Forget old finished jobs of this user; those of others are not touched."""
        ended = (jobs.c.owner == owner, jobs.c.status.in_(FINISHED))
        kept = select(jobs.c.id).where(*ended).order_by(jobs.c.created.desc()).limit(KEPT_JOBS)
        too_old = database_now(connection) - KEPT_DAYS * 86400.0
        connection.execute(delete(jobs).where(*ended, (jobs.c.ended < too_old) | jobs.c.id.not_in(kept)))

    @contextmanager
    def _writing_many(self) -> Iterator[Connection]:
        """A transaction that writes several jobs: one at a time, or each of two could wait for what the other wrote."""
        with writing(self._engine) as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(text(f"select pg_advisory_xact_lock({_MANY})"))
            yield connection

    def _mine(self) -> Any:
        return jobs.c.holder == self._holder


def as_job(stored: StoredJob) -> Job:
    """The same for this process, which does not have it yet."""
    job = Job(stored.id, stored.owner, stored.request, stored.status, answer=stored.answer, fence=stored.fence)
    job.created_s = stored.created_s
    job.tries = stored.tries
    if stored.error is not None:
        job.error = JobError(stored.error)
    if job.status in FINISHED:
        job.ended.set()
    return job


def _named_in(job: Job) -> dict[str, str]:
    """What a list of jobs says of it: the names of its problem and its target."""
    names = {name: job.request.arguments.get(name) for name in ("problem", "target")}
    return {name: each[:MOST_NAME] for name, each in names.items() if isinstance(each, str)}


def _unfinished() -> Sequence[Any]:
    return (jobs.c.status.in_(("queued", "running")),)


def _held(job: Job) -> Sequence[Any]:
    return (jobs.c.id == job.id, jobs.c.fence == job.fence, *_unfinished())


def _stored(row: Row[Any], fence: int | None = None) -> StoredJob:
    verb = VERB_NAMED.get(row.verb)  # None: the package that added it is not installed any more
    answer = verb.answer.model_validate_json(row.answer) if verb and row.answer else None
    return StoredJob(
        id=row.id,
        owner=row.owner,
        request=Request(row.verb, json.loads(row.arguments)),
        status="queued" if fence else row.status,
        fence=fence or row.fence,
        tries=row.tries,
        created_s=row.created,
        answer=answer,
        error=row.error,
    )
