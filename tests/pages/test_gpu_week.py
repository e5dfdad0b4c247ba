"""The use of GPUs over a week."""

import re

from amdkernel_mcp.leases.gpu_leases import PastLease
from amdkernel_mcp.pages.drawn import week_of
from tests.pages.served import ANN, BOB, GPU, Served


def test_an_hour_is_as_dark_as_it_was_held_and_what_overlaps_counts_once() -> None:
    leases = [
        PastLease("g", "shared", "user:ann", 7200.0, 5400.0),
        PastLease("g", "shared", "user:bob", 6300.0, 4500.0),
        PastLease("g", "exclusive", "user:ann", 1800.0, 0.0),
    ]
    week = week_of("gpu1:0", "MI300X", leases)
    assert [(hour.ago, hour.share) for hour in week.hours if hour.share] == [(1, 0.75), (0, 0.5)]
    assert week.of == {"user:ann": 3600.0, "user:bob": 1800.0}
    assert (week.held_s, week.exclusive_s, len(week.hours)) == (4500.0, 1800.0, 168)


def test_a_user_sees_how_busy_gpus_are_and_their_own_share_and_an_admin_all(here: Served) -> None:
    asked, _ = here.leases.ask(GPU, "exclusive", "user:ann")
    now = re.sub(r"<[^>]*>|\s+", " ", here.client(BOB).get("/gpus").text)
    assert "Now: ann holds it alone for" in re.sub(r" +", " ", now), "as the cards under Targets say it to all"
    here.leases.end(asked)
    assert "no user holds it" in here.client(BOB).get("/gpus").text
    bob = here.client(BOB)
    assert "<li>ann" in here.client(ANN).get("/gpus").text
    page = bob.get("/gpus").text
    assert "gpu1:0" in page
    assert "<li>ann" not in page
    here.scopes[BOB] = ("docs", "admin")
    assert "<li>ann" in bob.get("/gpus").text
