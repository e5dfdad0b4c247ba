"""`amdkernel docs` over a small index built here: one document a query, the contract's keys."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
HIT = {"rank", "title", "heading", "source", "path", "url", "version", "snippet", "score"}
PAGE = """# Shared memory

Words about LDS.

## Bank conflicts

LDS bank conflicts happen when lanes of a wave touch the same bank; padding a row by one element avoids them.
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    corpus = home / "manual"
    corpus.mkdir()
    (corpus / "lds.md").write_text(PAGE)
    found = os.environ | {"AMDKERNEL_DATA_DIR": str(home / "data"), "AMDKERNEL_CACHE_DIR": str(home / "cache")}
    command = [COMMAND, "docs", "build", "--from", str(corpus)]
    ended = subprocess.run(command, env=found, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return found


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "docs", *arguments], env=environment, capture_output=True, text=True)


def test_search_and_read_answer_with_the_keys_of_the_contract(environment: dict[str, str]) -> None:
    ended = run(environment, "search", "LDS", "bank", "conflicts", "--json")
    assert ended.returncode == 0, ended.stderr
    hit = json.loads(ended.stdout)["results"][0]
    assert set(hit) >= HIT
    assert hit["heading"] == "Shared memory > Bank conflicts"
    read = run(environment, "read", hit["ref"])
    assert "padding a row" in read.stdout


def test_many_queries_are_answered_a_line_each(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": "a", "query": "LDS bank conflicts"}\n\n{"id": 2, "query": "shared memory"}\n')
    ended = run(environment, "search", "--queries", str(file), "--limit", "3")
    assert ended.returncode == 0, ended.stderr
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == ["a", 2]
    assert all("results" in answer for answer in answers)


@pytest.mark.thorough
def test_other_words_for_the_same_are_searched_too(environment: dict[str, str], tmp_path: Path) -> None:
    words = ["--also", "lanes of a wave", "--also", "padding a row"]
    ended = run(environment, "search", "qqqqqqqqqqqq", *words, "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["results"][0]["heading"] == "Shared memory > Bank conflicts"
    assert run(environment, "search", "LDS", *words, *words).returncode == 2, "four others are too many"
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": 1, "query": "qqqqqqqqqqqq", "also": ["padding"]}\n{"id": 2, "query": "LDS", "also": "x"}\n')
    first, second = map(json.loads, run(environment, "search", "--queries", str(file)).stdout.splitlines())
    assert first["results"]
    assert "`also` is a list" in second["error"]
    assert run(environment, "search", "--queries", str(file), *words).returncode == 2


def test_an_odd_line_is_answered_with_the_reason_and_the_rest_as_ever(
    environment: dict[str, str], tmp_path: Path
) -> None:
    odd = ["{", "[]", '{"id": 1}', '{"id": 1, "query": 2}', '{"id": "\\ud800", "query": "\\ud800"}', "[" * 5000, "\x00"]
    odd += [
        '{"id": 2, "query": ""}',
        json.dumps({"id": 3, "query": "?!"}),
        json.dumps({"id": 4, "query": "a" * 200_000}),
    ]
    file = tmp_path / "queries.jsonl"
    good = '{"id": "good", "query": "LDS\u2028bank conflicts"}'
    file.write_bytes("\n".join(["\ufeff" + good, *odd, good]).encode() + b"\r\n\xff\n")
    ended = run(environment, "search", "--queries", str(file))
    assert ended.returncode == 0, ended.stderr
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(answers) == len(odd) + 3
    assert [bool(answer["results"]) for answer in answers] == [True, *[False] * len(odd), True, False]
    assert all(answer.get("error") or answer.get("note") for answer in answers[1:-2])


def test_a_file_of_queries_that_is_not_there_is_a_clear_error(environment: dict[str, str], tmp_path: Path) -> None:
    ended = run(environment, "search", "--queries", str(tmp_path / "none.jsonl"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "none.jsonl" in ended.stderr
