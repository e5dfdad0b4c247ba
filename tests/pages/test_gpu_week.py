"""The use of GPUs over a week."""

import re

from sqlalchemy import update

from amdkernel_mcp.database.open_database import writing
from amdkernel_mcp.database.tables import gpu_leases
from amdkernel_mcp.leases.gpu_leases import PastLease
from amdkernel_mcp.pages.drawn import week_of
from tests.pages.served import ANN, BOB, GPU, Served


def text_of(page: str) -> str:
    """What a page says, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_an_hour_is_as_dark_as_it_was_held_and_what_overlaps_counts_once() -> None:
    leases = [
        PastLease("g", "shared", "user:ann", 7200.0, 5400.0),
        PastLease("g", "shared", "user:bob", 6300.0, 4500.0),
        PastLease("g", "exclusive", "user:ann", 1800.0, 0.0),
    ]
    week = week_of("gpu1:0", "MI300X", leases)
    assert [(hour.ago, hour.share) for hour in week.hours if hour.share] == [(1, 0.75), (0, 0.5)]
    assert week.of == {"user:ann": 3600.0, "user:bob": 1800.0}
    assert [week.share_of(owner) for owner in ("user:ann", "user:bob", "user:eve")] == [2 / 3, 1 / 3, 0]
    assert [hour.of for hour in week.hours[-2:]] == [{"user:ann": 0.5, "user:bob": 0.5}, {"user:ann": 0.5}]
    assert (week.held_s, week.exclusive_s, len(week.hours)) == (4500.0, 1800.0, 168)


def test_a_user_sees_how_busy_gpus_are_and_their_own_share_and_an_admin_all(here: Served) -> None:
    asked, _ = here.leases.ask(GPU, "exclusive", "user:ann")
    now = text_of(here.client(BOB).get("/gpus").text)
    assert "Now: ann holds it alone since" in now, "as the cards under Targets say it to all"
    here.leases.end(asked)
    assert "no user holds it" in here.client(BOB).get("/gpus").text
    bob = here.client(BOB)
    assert "<li>ann" in here.client(ANN).get("/gpus").text
    page = bob.get("/gpus").text
    assert "gpu1:0" in page
    assert "<li>ann" not in page
    here.scopes[BOB] = ("docs", "admin")
    assert "<li>ann" in bob.get("/gpus").text


def test_a_gpu_that_cannot_be_reached_is_shown_with_its_state_and_not_counted_as_free(here: Served) -> None:
    page = text_of(here.client(ANN).get("/gpus").text)
    assert "gpu2:0 unreachable It cannot take new jobs now: no route" in page
    assert "Its use is not known" in page
    here.leases.health.suspect("2b2b", "gpu2:0", None)  # a job used it under this name
    asked, _ = here.leases.ask("2b2b", "shared", "user:ann")
    here.leases.end(asked)
    assert "Its use is not known" not in here.client(ANN).get("/gpus").text
    assert "GPUs busy 0 of 1; 1 more cannot be used" in text_of(here.client(ANN).get("/").text)


def test_a_lease_whose_holder_is_gone_is_neither_held_now_nor_counted_on(here: Served) -> None:
    here.leases.ask(GPU, "exclusive", "user:ann")
    with writing(here.leases._engine()) as connection:
        ago = gpu_leases.c.asked
        connection.execute(update(gpu_leases).values(granted=ago - 7200, lease_until=ago - 3600))
    page = text_of(here.client(ANN).get("/gpus").text)
    assert "no user holds it" in page
    assert "ann 1 h 00 min 100 % of the use" in page
    here.scopes[BOB] = ("docs", "admin")
    assert "1 h 00 min" in text_of(here.client(BOB).get("/").text)


def test_the_hours_of_a_gpu_name_who_held_it_for_an_admin_and_oneself_for_a_user(here: Served) -> None:
    here.leases.ask(GPU, "exclusive", "user:ann")
    with writing(here.leases._engine()) as connection:
        connection.execute(update(gpu_leases).values(granted=gpu_leases.c.asked - 1800))
    bob = here.client(BOB)
    assert "held 50 %</title>" in bob.get("/gpus").text
    for each in (here.client(ANN), bob):
        here.scopes[BOB] = ("docs", "admin")
        assert "held 50 %; ann 50 %</title>" in each.get("/gpus").text
