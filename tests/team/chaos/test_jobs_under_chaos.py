"""Servers of a team that are killed, stopped and cut off at random points: nothing is lost, nothing is finished twice.

AMDK_CHAOS_JOBS: jobs of each store, 200 without it. AMDK_CHAOS_SEED: what happens when; it is printed.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from tests.history.postgres import postgres_server
from tests.team.chaos.team_of_servers import (
    USERS,
    Agent,
    Asked,
    Clock,
    NotAnsweredError,
    TeamServer,
    a_full_disk,
    servers,
    small_disk,
)
from tests.team.chaos.team_server import LEASE_S

pytestmark = [pytest.mark.thorough, pytest.mark.slow]

JOBS = int(os.environ.get("AMDK_CHAOS_JOBS", "200"))
SEED = int(os.environ.get("AMDK_CHAOS_SEED", "18"))
SERVERS, SUBMITTERS, LOOKERS = 3, 3, 1
SIX_HOURS_S = 6 * 3600.0
ENDED = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Store:
    """A database, and how it is made useless for some seconds."""

    folder: Path
    database: str | None
    take_away: Callable[[], None]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            folder = stack.enter_context(small_disk(tmp_path / "disk", 48))

            def fill() -> None:
                with a_full_disk(folder):
                    time.sleep(3)

            yield Store(folder / "data", None, fill)
        else:
            server = stack.enter_context(postgres_server())
            yield Store(tmp_path / "data", server, server.restart)


def submit(number: int, team: list[TeamServer], agents: dict[int, Agent], asked: Asked, chance: random.Random) -> None:
    """Ask until one server has accepted it."""
    user = number % USERS
    sent = {"source": f"// job {number}", "flags": [f"gpu{number % 2}"], "wait_s": 0}
    while True:
        try:
            answer = agents[user].call(chance.choice(team), "compile_kernel", **sent)
        except NotAnsweredError as error:
            asked.was_refused(str(error)[:160])
            time.sleep(0.05)
            continue
        with asked.lock:
            if answer["status"] in ENDED:
                asked.at_once += 1
            else:
                asked.promised[answer["job_id"]] = user
        return


def submit_all(numbers: "Iterator[int]", team: list[TeamServer], asked: Asked, seed: int) -> None:
    agents, chance = {user: Agent(user) for user in range(USERS)}, random.Random(seed)
    for number in numbers:
        submit(number, team, agents, asked, chance)
    for each in agents.values():
        each.close()


def look(team: list[TeamServer], asked: Asked, over: threading.Event, seed: int) -> None:
    """Ask random servers for random jobs."""
    agents, chance = {user: Agent(user) for user in range(USERS)}, random.Random(seed)
    while not over.wait(0.02):
        with asked.lock:
            known = [*asked.promised.items()]
        if known:
            job, user = chance.choice(known)
            with suppress(NotAnsweredError):
                asked.saw(job, agents[user].call(chance.choice(team), "get_job", job_id=job, wait_s=0))
    for each in agents.values():
        each.close()


def disturb(store: Store, team: list[TeamServer], clock: Clock, over: threading.Event, happened: list[str]) -> None:
    """One thing after another until all is submitted."""
    chance = random.Random(SEED)
    things: list[Callable[[], str]] = [
        lambda: killed(chance.choice(team), chance.uniform(0, 1.0)),
        lambda: killed(chance.choice(team), chance.uniform(0, 1.0)),
        lambda: stopped(chance.choice(team), LEASE_S * chance.uniform(0.5, 2.0)),
        lambda: jumped(clock, chance.choice((-SIX_HOURS_S, SIX_HOURS_S))),
        lambda: taken_away(store),
    ]
    number = 0
    while not over.wait(chance.uniform(0.2, 2.0)):
        # Each in turn at first, so that none is left out by chance.
        happened.append(things[number]() if number < len(things) else chance.choice(things)())
        number += 1


def killed(server: TeamServer, pause_s: float) -> str:
    server.kill()
    time.sleep(pause_s)
    server.start()
    return "killed"


def stopped(server: TeamServer, seconds: float) -> str:
    server.send(signal.SIGSTOP)
    time.sleep(seconds)
    server.send(signal.SIGCONT)
    return "stopped"


def jumped(clock: Clock, seconds: float) -> str:
    with suppress(SQLAlchemyError):
        clock.jump(seconds)
    return "clock"


def taken_away(store: Store) -> str:
    store.take_away()
    return "database away"


def test_what_servers_accept_is_done_once_whatever_happens_to_them(store: Store, tmp_path: Path) -> None:
    print(f"AMDK_CHAOS_SEED={SEED} AMDK_CHAOS_JOBS={JOBS}")  # noqa: T201
    notes, asked, happened = tmp_path / "notes", Asked(), list[str]()
    store.folder.mkdir(parents=True, exist_ok=True)
    clock = Clock(store.folder, store.database)
    numbers = iter(range(JOBS))
    taking, submitted, over = threading.Lock(), threading.Event(), threading.Event()

    def each_once() -> Iterator[int]:
        while True:
            with taking:
                number = next(numbers, None)
            if number is None:
                return
            yield number

    begun = time.monotonic()
    with servers(store.folder, notes, store.database, SERVERS) as team:
        submitters = [
            threading.Thread(target=submit_all, args=(each_once(), team, asked, SEED + number), daemon=True)
            for number in range(SUBMITTERS)
        ]
        lookers = [
            threading.Thread(target=look, args=(team, asked, over, -SEED - number), daemon=True)
            for number in range(LOOKERS)
        ]
        trouble = threading.Thread(target=disturb, args=(store, team, clock, submitted, happened), daemon=True)
        for thread in (*submitters, *lookers, trouble):
            thread.start()
        for thread in submitters:
            thread.join()
        submitted.set()
        trouble.join()
        states = states_at_the_end(clock, asked)
        over.set()
        for thread in lookers:
            thread.join()
        print(f"{time.monotonic() - begun:.0f} s, {Counter(happened)}, at once {asked.at_once}, {asked.refused}")  # noqa: T201
        assert states == {"done": len(asked.promised)}, reasons(clock)
        agents = {user: Agent(user) for user in range(USERS)}
        for job, user in asked.promised.items():
            for server in team:
                with suppress(NotAnsweredError):
                    asked.saw(job, agents[user].call(server, "get_job", job_id=job, wait_s=0))
        for each in agents.values():
            each.close()
    noted = notes / "errors"  # not there where no server met one
    errors = Counter(noted.read_text().splitlines() if noted.exists() else ())
    print(errors.most_common(5))  # noqa: T201
    assert len(asked.promised) > JOBS / 2
    assert set(asked.seen) == set(asked.promised)
    twice = {job: answers for job, answers in asked.seen.items() if len(answers) > 1}
    assert not twice, "agents saw two answers of one job"
    taken = Counter(line.split()[0] for line in (notes / "taken").read_text().splitlines())
    assert max(taken.values()) == 1, taken.most_common(3)
    assert not measured_together(notes), "two jobs had one GPU at once, and both counted"
    clock.engine.dispose()


def states_at_the_end(clock: Clock, asked: Asked) -> Counter[str]:
    """How the promised jobs stand once all have ended, or 100 s after the last change."""
    changed, before = time.monotonic(), Counter[str]()
    while time.monotonic() - changed < 100:
        with suppress(SQLAlchemyError), clock.engine.connect() as connection:
            rows = {row.id: row.status for row in connection.execute(text("select id, status from jobs"))}
            states = Counter(rows.get(job, "lost") for job in asked.promised)
            if set(states) <= set(ENDED) | {"lost"}:
                return states
            if states != before:
                changed, before = time.monotonic(), states
        time.sleep(0.3)
    return before


def reasons(clock: Clock) -> list[str]:
    with clock.engine.connect() as connection:
        return [str(row.error) for row in connection.execute(text("select error from jobs where status = 'failed'"))]


def measured_together(notes: Path) -> list[str]:
    """Runs that counted and began on a GPU while another that counted was on it."""
    on: dict[str, list[tuple[float, float]]] = {}
    for line in (notes / "counted").read_text().splitlines():
        gpu, begun, ended = line.split()
        on.setdefault(gpu, []).append((float(begun), float(ended)))
    return [
        f"{gpu} {later} {earlier}"
        for gpu, runs in on.items()
        for earlier, later in pairwise(sorted(runs))
        if later[0] < earlier[1]
    ]
