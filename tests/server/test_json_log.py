"""`amdkernel serve --log-format json`: every line on stderr is one JSON object, and none has a secret."""

import asyncio
import json
import logging
import socket
import time
from pathlib import Path

import pytest
from fastmcp import Client

from amdkernel_mcp.server.json_log import OneObject
from tests.server.http_server import ANN, HttpServer, http_server
from tests.waiting import AT_MOST_S

TOKEN = "amdk_" + "s3cret-Token_" * 3


async def compile_with_a_wrong_flag(server: HttpServer) -> None:
    async with Client(server.url, auth=ANN) as client:
        arguments = {"source": "// nothing", "flags": ["-fplugin=x"]}
        await client.call_tool("compile_kernel", arguments, raise_on_error=False)


@pytest.mark.thorough
def test_every_line_of_a_server_is_an_object_and_a_job_has_one(tmp_path: Path) -> None:
    with http_server(tmp_path, tokens=f"{ANN} ann\n", options=("--log-format", "json")) as server:
        asyncio.run(compile_with_a_wrong_flag(server))
        with socket.create_connection(("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))) as wrong:
            wrong.sendall(b"GET / HTTP/1.1\r\nbad header\r\n\r\n")  # of which uvicorn complains
            assert b"400" in wrong.recv(1000)
        deadline = time.monotonic() + AT_MOST_S
        while server.log.read_text().count("\n") < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert "serves http://127.0.0.1" in lines[0]["message"]
    (job,) = [line for line in lines if line["message"] == "job ended"]
    assert (job["user"], job["verb"], job["status"], job["error"]) == (
        "user:ann",
        "compile",
        "failed",
        "FlagError",
    )
    assert any(line["level"] == "warning" and "Invalid HTTP request" in line["message"] for line in lines)
    for line in lines:
        assert {"time", "level", "logger", "message"} <= set(line)
    assert ANN not in server.log.read_text()


def test_a_line_has_no_secrets_no_line_breaks_and_an_end() -> None:
    record = logging.LogRecord(
        "x", logging.ERROR, "f", 1, "sent %s\nand %s to %s", (TOKEN, "Bearer abcdef", "postgres://me:pw@host"), None
    )
    text = OneObject().format(record)
    assert "\n" not in text
    for secret in (TOKEN, "abcdef", "pw@"):
        assert secret not in text
    assert json.loads(text)["message"].startswith("sent [left out]")
    try:
        raise ValueError(f"{TOKEN}" + "x" * 100_000)
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    text = OneObject().format(record)
    assert json.loads(text)["error"].startswith("ValueError: [left out]")
    assert len(text) < 20_000
