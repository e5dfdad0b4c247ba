"""What a hostile user writes is text on each page of a team: for the user, for others on a board, and for an admin."""

import html
from urllib.parse import quote

import pytest

from amdkernel_mcp.engine.engine import Engine
from tests.pages.served import ANN, BOB, EVE, HOSTILE, Served

WORDS = (
    "<img src=x onerror=alert(1)>",
    "</pre></script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "' onmouseover='alert(1)",
    "&lt;b&gt;<b>",
)


@pytest.mark.parametrize("words", WORDS)
def test_no_word_of_another_becomes_html_on_a_board_a_comparison_a_job_or_an_attempt(
    here: Served, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr(Engine, "problem_hash", lambda _, name, by: "1")  # noqa: ARG005
    eve = f"user:{HOSTILE}"
    texts = {"problem": words, "file_name": words, "target": words, "judged": "1"}
    first = here.timed(20.0, by=eve, text=f"// {words}\n", **texts)
    best = here.timed(10.0, by=eve, text=f"// {words} better\n", **texts)
    here.timed(15.0, by="user:ann", problem=words, judged="1")
    job = here.start(eve, target="gpu1:0", problem=words, says=words)
    waits = here.start(eve, target="gpu1:0", problem=words)
    here.scopes[BOB] = ("docs", "admin")
    board = f"/problems/{quote(words, safe='')}"
    shared = ("/", "/gpus", "/jobs", board, f"{board}?gpu={quote(words)}")
    own = (f"/jobs/{job}", f"/jobs/{waits}", f"/compare?a={first.id}&b={best.id}", f"/attempts/{best.id}")
    seen = 0
    for token, paths in ((ANN, shared), (BOB, (*shared, *own)), (EVE, (*shared, *own))):
        client = here.client(token)
        for path in paths:
            page = client.get(path).text
            assert words not in page or html.escape(words) == words, f"{path} of {here.names[token]}"
            assert HOSTILE not in page, f"{path} of {here.names[token]}"
            assert "49{%" not in page
            seen += words in html.unescape(page)
    assert seen >= 6, "they are there, as text"
