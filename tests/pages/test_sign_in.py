"""A token opens the page, for as long as the token is good."""

from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from amdkernel_mcp.access.scopes import USUAL
from amdkernel_mcp.pages.sign_in import COOKIE, MOST_SESSIONS, SESSION_S, Known, SignIn
from tests.pages.served import ANN, BOB, Served, served


def test_without_a_session_a_person_gets_the_form_and_nothing_of_the_server(here: Served) -> None:
    here.start("user:ann", problem="row_softmax")
    for path in ("/", "/attempts/abc", "/events"):
        answer = here.client().get(path)
        assert answer.status_code == 401
        assert 'name="token"' in answer.text
        assert "row_softmax" not in answer.text
        assert "emulator" not in answer.text


def test_a_program_without_a_token_gets_a_refusal_that_names_the_scheme(here: Served) -> None:
    answer = here.client().get("/status.json", headers={"accept": "application/json"})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_opens_a_session_whose_cookie_scripts_and_other_sites_do_not_get(here: Served) -> None:
    client = here.client()
    answer = client.post("/sign-in", data={"token": f" {ANN} "}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert ANN not in cookie
    assert "Your attempts" in client.get("/").text


@pytest.mark.parametrize("token", ["", "unknown-token-00000000", ANN[:-1]])
def test_an_unknown_token_opens_none(here: Served, token: str) -> None:
    answer = here.client().post("/sign-in", data={"token": token})
    assert answer.status_code == 401
    assert COOKIE not in answer.cookies


@pytest.mark.parametrize("body", [b"token=" + b"a" * 20_000, b"\xff", b"a=1&" * 50, b"{}"])
def test_a_body_that_is_no_form_of_ours_is_refused(here: Served, body: bytes) -> None:
    assert here.client().post("/sign-in", content=body).status_code == 401


def test_a_token_that_is_taken_back_ends_its_session_at_once(here: Served) -> None:
    client = here.client(ANN)
    del here.names[ANN]
    assert client.get("/").status_code == 401
    here.names[ANN] = "ann"
    assert client.get("/").status_code == 401, "an ended session does not come back"


def test_signing_out_ends_the_session_on_the_server(here: Served) -> None:
    client = here.client(ANN)
    cookie = client.cookies[COOKIE]
    csrf = client.get("/").text.split('name="csrf" value="')[1].split('"')[0]
    assert client.post("/sign-out", data={"csrf": "0" * 64}).status_code == 403
    assert client.post("/sign-out", data={"csrf": csrf}).status_code == 401, "the form of the page it leads to"
    assert here.client().get("/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 401


def test_a_token_without_the_scope_sees_nothing_and_is_decided_which(here: Served) -> None:
    client = here.client(ANN)
    here.scopes[ANN] = ("compile",)
    for path in ("/", "/status.json", "/events"):
        answer = client.get(path)
        assert answer.status_code == 403
        assert "`docs`" in answer.text
    assert client.get("/metrics").status_code == 401


def test_a_made_up_cookie_is_no_session(here: Served) -> None:
    for cookie in ("", "ann", "user:ann", "0" * 43):
        assert here.client().get("/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 401


def test_a_wrong_header_is_not_made_good_by_a_session(here: Served) -> None:
    assert here.client(ANN).get("/", headers={"authorization": "Bearer other"}).status_code == 401


def test_a_server_without_tokens_asks_for_none(tmp_path: Path) -> None:
    with served(tmp_path, tokens=False) as here:
        page = here.client().get("/")
        assert page.status_code == 200
        assert "Sign out" not in page.text


def ask(cookie: str = "", scheme: str = "http") -> Request:
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode()), (b"host", b"here")]
    return Request(
        {"type": "http", "method": "GET", "path": "/", "scheme": scheme, "query_string": b"", "headers": headers}
    )


async def known(token: str) -> Known | None:
    name = {ANN: "ann", BOB: "bob"}.get(token)
    return Known(name, frozenset(USUAL)) if name else None


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def opened(sign_in: SignIn, token: str = ANN, scheme: str = "http") -> tuple[str, str]:
    response = Response()
    assert await sign_in.sign_in(ask(scheme=scheme), token, response)
    header = response.headers["set-cookie"]
    return header.split("=")[1].split(";")[0], header


@pytest.mark.anyio
async def test_a_session_ends_after_its_time() -> None:
    now = [0.0]
    sign_in = SignIn(known, clock=lambda: now[0])
    key, _ = await opened(sign_in)
    now[0] = SESSION_S - 1
    assert await sign_in.viewer(ask(key))
    now[0] = SESSION_S
    assert await sign_in.viewer(ask(key)) is None


@pytest.mark.anyio
async def test_a_user_has_a_bounded_number_of_sessions_and_costs_others_none() -> None:
    sign_in = SignIn(known)
    bobs, _ = await opened(sign_in, BOB)
    keys = [(await opened(sign_in))[0] for _ in range(MOST_SESSIONS + 1)]
    assert await sign_in.viewer(ask(keys[0])) is None
    assert all([await sign_in.viewer(ask(key)) for key in (*keys[1:], bobs)])


@pytest.mark.anyio
async def test_the_cookie_is_for_tls_alone_where_the_page_came_by_tls() -> None:
    sign_in = SignIn(known)
    assert "Secure" in (await opened(sign_in, scheme="https"))[1]
    assert "Secure" not in (await opened(sign_in, scheme="http"))[1]


@pytest.mark.anyio
async def test_a_form_of_one_session_is_not_good_for_another() -> None:
    sign_in = SignIn(known)
    anns, bobs = [await sign_in.viewer(ask((await opened(sign_in, token))[0])) for token in (ANN, BOB)]
    assert anns is not None
    assert bobs is not None
    assert sign_in.is_own_form(anns, anns.csrf)
    assert not sign_in.is_own_form(anns, bobs.csrf)
    assert not sign_in.is_own_form(anns, "")
    assert not sign_in.is_own_form(anns, "é")
