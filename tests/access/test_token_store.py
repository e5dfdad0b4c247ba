"""Tokens in the database: only a digest is there, and a token works until it is revoked or expires."""

import pytest
from sqlalchemy import Engine, text, update

from amdkernel_mcp.access.tokens import SHAPE, TokenStore
from amdkernel_mcp.database.tables import tokens
from amdkernel_mcp.errors import DatabaseError, InputError


def shift(database: Engine, column: str, seconds: float) -> None:
    with database.begin() as connection:
        connection.execute(update(tokens).values({column: tokens.c[column] + seconds}))


def test_a_token_is_found_with_its_user_and_scopes(store: TokenStore) -> None:
    made, added = store.add("ann", ["check", "docs"])
    found = store.find(made)
    assert found is not None
    assert (found.id, found.user, found.scopes, found.expires_s) == (added.id, "ann", ("docs", "check"), None)
    assert SHAPE.fullmatch(made)


def test_the_database_has_the_token_nowhere(store: TokenStore, database: Engine) -> None:
    made, _ = store.add("ann", ["docs"])
    with database.connect() as connection:
        stored = repr(connection.execute(text("select * from tokens")).all())
    assert "ann" in stored
    assert made not in stored
    assert made.removeprefix("amdk_") not in stored


def test_two_tokens_of_a_user_differ_and_one_is_revoked_alone(store: TokenStore) -> None:
    (one, first), (two, second) = store.add("ann", ["docs"]), store.add("ann", ["docs"])
    assert one != two
    assert store.revoke(first.id).revoked_s is not None
    assert store.find(one) is None
    found = store.find(two)
    assert found is not None
    assert found.id == second.id


def test_revoking_again_keeps_the_time_of_the_first(store: TokenStore, database: Engine) -> None:
    _, added = store.add("ann", ["docs"])
    store.revoke(added.id)
    shift(database, "revoked", -100.0)
    before = store.list()[0].revoked_s
    assert store.revoke(added.id).revoked_s == before


def test_a_token_is_rotated_with_its_scopes_and_its_end(store: TokenStore) -> None:
    old, first = store.add("ann", ["docs", "check"], days=9)
    new, second = store.rotate(first.id)
    assert store.find(old) is None
    found = store.find(new)
    assert found is not None
    assert (found.id, found.user, found.scopes) == (second.id, "ann", ("docs", "check"))
    assert found.expires_s == second.expires_s == first.expires_s
    with pytest.raises(InputError, match="no valid token"):
        store.rotate(first.id)


def test_in_an_overlap_both_tokens_are_valid_and_then_the_new_one_alone(store: TokenStore, database: Engine) -> None:
    old, first = store.add("ann", ["docs"])
    new, _ = store.rotate(first.id, overlap_s=3600)
    assert store.find(old)
    assert store.find(new)
    shift(database, "expires", -3601)
    assert store.find(old) is None
    assert store.find(new)


def test_an_expired_token_is_not_found(store: TokenStore, database: Engine) -> None:
    made, _ = store.add("ann", ["docs"], days=1)
    assert store.find(made) is not None
    shift(database, "expires", -86401.0)
    assert store.find(made) is None
    assert [token.valid for token in store.list()] == [False]
    assert store.users() == set()


def test_the_last_use_is_noted(store: TokenStore, database: Engine) -> None:
    made, _ = store.add("ann", ["docs"])
    assert store.list()[0].last_used_s is None
    store.find(made)
    first = store.list()[0].last_used_s
    assert first is not None
    shift(database, "last_used", -3600.0)
    store.find(made)
    later = store.list()[0].last_used_s
    assert later is not None
    assert later > first - 3600.0


@pytest.mark.parametrize(
    "wrong", ["", "amdk_", "amdk_" + "A" * 43, "amdk_" + "A" * 42 + "é", "amdk_" + "A" * 43 + "\n", "' or 1=1 --"]
)
def test_what_is_no_token_is_not_found(store: TokenStore, wrong: str) -> None:
    store.add("ann", ["docs"])
    assert store.find(wrong) is None


def test_the_stored_digest_is_not_a_token(store: TokenStore, database: Engine) -> None:
    store.add("ann", ["docs"])
    with database.connect() as connection:
        digest = connection.execute(text("select digest from tokens")).scalar_one()
    assert store.find(digest) is None
    assert store.find(f"amdk_{digest[:43]}") is None


def test_a_scope_that_this_version_does_not_know_gives_nothing(store: TokenStore, database: Engine) -> None:
    made, _ = store.add("ann", ["docs"])
    with database.begin() as connection:
        connection.execute(update(tokens).values(scopes="docs everything"))
    found = store.find(made)
    assert found is not None
    assert found.scopes == ("docs",)


@pytest.mark.parametrize(("user", "scopes", "days"), [("a b", ["docs"], 1), ("ann", ["root"], 1), ("ann", ["docs"], 0)])
def test_what_cannot_be_added_is_refused(store: TokenStore, user: str, scopes: list[str], days: float) -> None:
    with pytest.raises(InputError):
        store.add(user, scopes, days=days)
    assert not store.list()


def test_a_token_that_does_not_exist_cannot_be_revoked(store: TokenStore) -> None:
    store.add("ann", ["docs"])
    with pytest.raises(InputError, match="there is no token 'ann'"):
        store.revoke("ann")
    assert store.list()[0].valid


def test_without_its_table_a_store_raises_and_finds_nobody(store: TokenStore, database: Engine) -> None:
    made, _ = store.add("ann", ["docs"])
    with database.begin() as connection:
        connection.execute(text("drop table tokens"))
    with pytest.raises(DatabaseError):
        store.find(made)
