"""The commands of the own machine at a team's server: the same reports, documents and exit codes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.one_in import one_in
from tests.remote.shell import COMMAND, amdkernel, ids
from tests.server.http_server import BOB, HttpServer, free_port

KERNELS = Path(__file__).resolve().parents[2] / "examples/vector_add/kernels"
NAIVE, WRONG = KERNELS / "naive.hip", KERNELS / "broken_tail.hip"


def keys(value: Any) -> Any:
    """The shape of a document, without its values."""
    if isinstance(value, dict):
        return {name: keys(each) for name, each in value.items()}
    return [keys(each) for each in value[:1]] if isinstance(value, list) else None


def on_this_machine(*words: object) -> tuple[int, dict[str, Any]]:
    import subprocess

    ended = subprocess.run([COMMAND, *map(str, words), "--json"], capture_output=True, text=True)
    return ended.returncode, json.loads(ended.stdout)


def at(team: HttpServer, *words: object) -> tuple[int, dict[str, Any]]:
    code, out, _ = amdkernel(team.url, *words, "--json")
    return code, json.loads(out)


@pytest.mark.sandbox
def test_a_compile_error_has_the_users_file_and_the_exit_code_of_a_bad_answer(
    team_of_two: HttpServer, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.hip"
    mine.write_text("// süß\nint x = ;\n", encoding="utf-8")
    code, out, _ = amdkernel(team_of_two.url, "compile", mine)
    assert code == 1
    assert "mine.hip:2:9  expected expression" in out
    assert "int x = ;" in out, "the line of the file here"
    theirs, ours = at(team_of_two, "compile", mine), on_this_machine("compile", mine)
    assert theirs[0] == ours[0] == 1
    assert keys(theirs[1]) == keys(ours[1])
    code, _, err = amdkernel(team_of_two.url, "compile", mine, "--flag=--evil")
    assert code == 2
    assert "the compiler flag '--evil' is not allowed" in err


@pytest.mark.sandbox
@pytest.mark.thorough
def test_checks_have_the_verdicts_documents_and_exit_codes_of_the_own_machine(team_of_two: HttpServer) -> None:
    for kernel, code in ((NAIVE, 0), (WRONG, 1)):
        theirs, ours = (at(team_of_two, "check", "vector_add", kernel), on_this_machine("check", "vector_add", kernel))
        assert (theirs[0], ours[0]) == (code, code)
        assert theirs[1]["verdict"] == ours[1]["verdict"]
        assert keys(theirs[1]) == keys(ours[1])
    assert at(team_of_two, "history")[1]["attempts"][0]["verdict"] == "incorrect"
    assert json.loads(amdkernel(team_of_two.url, "history", "--json", token=BOB)[1])["attempts"] == []


@pytest.mark.sandbox
@pytest.mark.thorough
def test_a_profile_and_a_benchmark_are_whole(team_of_two: HttpServer, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, theirs = at(team_of_two, "profile", "vector_add", NAIVE, "--html", page)
    ours = on_this_machine("profile", "vector_add", NAIVE)[1]
    assert code == 0
    assert keys(theirs["kernels"][0]["metrics"]) == keys(ours["kernels"][0]["metrics"])
    assert page.read_text().lstrip().startswith("<!doctype html>")
    words = ("benchmark", "vector_add", KERNELS / "better.hip", "--baseline", WRONG)
    theirs, ours = at(team_of_two, *words)[1], on_this_machine(*words)[1]
    assert theirs["at_fault"] == ours["at_fault"] == "broken_tail.hip"
    assert theirs["reason"] == ours["reason"]


@pytest.mark.sandbox
@pytest.mark.thorough
def test_a_problem_folder_is_stored_for_its_user_and_replaced_when_it_changes(
    team_of_two: HttpServer, tmp_path: Path
) -> None:
    folder = tmp_path / "Mine & yours"
    folder.mkdir()
    for name in ("problem.toml", "reference.py"):
        (folder / name).write_text((KERNELS.parent / name).read_text())
    code, answer = at(team_of_two, "check", folder, NAIVE)
    assert (code, answer["verdict"]) == (0, "correct")
    (folder / "reference.py").write_text("def reference(x, y, *, n):\n    return {'z': x - y}\n")
    code, changed = at(team_of_two, "check", folder / "problem.toml", NAIVE)
    assert (code, changed["verdict"]) == (1, "incorrect")
    assert changed["hashes"]["problem"] != answer["hashes"]["problem"]
    assert at(team_of_two, "check", "local-mine-yours", NAIVE)[0] == 1
    assert amdkernel(team_of_two.url, "check", "local-mine-yours", NAIVE, token=BOB)[0] == 2
    (folder / "problem.toml").write_text("title = 3\n")
    code, refused = at(team_of_two, "check", folder, NAIVE)
    assert code == 2
    assert "problem.toml" in refused["error"]["message"] + str(refused["error"]["file"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "vector_addd", NAIVE], "unknown problem 'vector_addd'"),
        (["check", "./no/folder", NAIVE], "neither a problem folder nor the name of a problem"),
        (["check", KERNELS, NAIVE], "problem.toml cannot be read"),
        (["check", "vector_add", "no.hip"], "there is no such file"),
        (["check", "vector_add", NAIVE, "--parent", "x"], "--parent does not go with --url"),
        (["check", "vector_add", NAIVE, "--seed-key", "00"], "leave --url out"),
        (["tune", "vector_add", NAIVE, "--seed", "3"], "leave --url out"),
        (["profile", "vector_add", NAIVE, "--compare-to", KERNELS], "not with a recording"),
        (["history", "kq7fx2"], "ADDRESS/attempts/ID"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, list) else "",
)
def test_wrong_input_is_said_in_a_sentence_and_starts_no_job(
    team_of_two: HttpServer, words: list[object], said: str
) -> None:
    before = ids(team_of_two.url)
    code, out, err = amdkernel(team_of_two.url, *words, "--json")
    assert code == 2, err
    assert said in err
    assert set(json.loads(out)) == {"error"}
    assert ids(team_of_two.url) == before


@pytest.mark.thorough
def test_a_token_that_is_missing_wrong_or_open_to_others_is_named(team_of_two: HttpServer, tmp_path: Path) -> None:
    words = ("compile", NAIVE)
    code, _, err = amdkernel(team_of_two.url, *words, token=None)
    assert (code, "set AMDK_TOKEN, or give --token-file FILE" in err) == (2, True)
    code, _, err = amdkernel(team_of_two.url, *words, token="token-of-nobody-000000")
    assert (code, "refuses the token" in err) == (2, True)
    file = tmp_path / "token"
    file.write_text(BOB)
    file.chmod(0o644)
    code, _, err = amdkernel(team_of_two.url, *words, "--token-file", file, token=None)
    assert (code, "other users can read the token file" in err) == (2, True)
    file.chmod(0o600)
    assert amdkernel(team_of_two.url, "jobs", "--token-file", file, token=None)[0] == 0


@pytest.mark.thorough
def test_an_address_without_such_a_server_is_explained(team_of_two: HttpServer) -> None:
    words = ("compile", NAIVE)
    code, _, err = amdkernel(f"http://127.0.0.1:{free_port()}", *words)
    assert (code, "cannot be reached: Connection refused" in err) == (3, True)
    code, _, err = amdkernel(team_of_two.url.replace("http:", "https:"), *words)
    assert (code, "does the server speak http:// instead?" in err) == (2, True)
    code, _, err = amdkernel(team_of_two.url.replace("/mcp", "/elsewhere"), *words)
    assert (code, "there is no MCP server" in err) == (2, True)
    code, _, err = amdkernel("gpus.example", *words)
    assert (code, "is not a URL" in err) == (2, True)
    code, _, err = amdkernel("http://nobody.invalid", *words)
    assert (code, "can read token and kernels" in err, "host name" in err) == (2, True, True)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    one_in(
        4,
        [
            (b"<html>welcome</html>", 2, "not an MCP server"),
            (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', 3, "does not understand"),
            (
                b'{"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"status": "splendid"}}}',
                3,
                "does not understand",
            ),
            (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "version?"}}', 3, "version?"),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_what_is_not_our_server_causes_no_traceback(body: bytes, code: int, said: str) -> None:
    with a_web_server(body) as url:
        ended, _, err = amdkernel(url, "compile", NAIVE)
    assert ended == code
    assert said in err
    assert err.count("\n") == 2, "what is wrong, and what to do"


@contextmanager
def a_web_server(body: bytes) -> Iterator[str]:
    """A server that answers every POST with `body`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json" if body[:1] == b"{" else "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()
