"""What comes back from a tool: results, errors, jobs, progress."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from amdkernel_mcp.results.kernels import CompileResult

pytestmark = pytest.mark.anyio


async def error_of(client: Client, tool: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as raised:
        await client.call_tool(tool, arguments)
    return str(raised.value)


async def test_text_and_structured_content_are_the_same_json(client: Client) -> None:
    answer = await client.call_tool("compile_kernel", {"source": "a kernel"})
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert CompileResult.model_validate(answer.structured_content).diagnostics[0].message == "a kernel"


async def test_a_local_caller_may_name_a_file(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "scale.hip"
    file.write_text("from a file")
    answer = await client.call_tool("compile_kernel", {"path": str(file)})
    assert answer.structured_content["diagnostics"][0]["message"] == "from a file"
    assert answer.structured_content["target"] == "scale.hip"


async def test_a_remote_caller_may_not_name_a_file(remote: Client, tmp_path: Path) -> None:
    file = tmp_path / "scale.hip"
    file.write_text("from a file")
    for arguments in ({"path": str(file)}, {"path": "/proc/self/environ"}):
        assert "does not read files" in await error_of(remote, "compile_kernel", **arguments)
    text = await error_of(remote, "benchmark_kernel", problem="x", source="k", baseline_path=str(file))
    assert "does not read files" in text


@pytest.mark.parametrize("problem", ["/etc", "..", "../examples/row_softmax", "a/b", "", "no_such_problem"])
async def test_a_remote_caller_may_name_bundled_problems_only(remote: Client, problem: str) -> None:
    text = await error_of(remote, "check_kernel", problem=problem, source="k")
    assert "unknown problem" in text or "at least 1 character" in text


async def test_neither_or_both_of_path_and_source_is_refused(client: Client) -> None:
    assert (await error_of(client, "compile_kernel")).endswith("give the path or the source text of the kernel")
    assert (await error_of(client, "compile_kernel", path="a", source="b")).endswith("of the kernel, not both")


async def test_a_problem_in_the_place_of_the_kernel_is_said(client: Client, tmp_path: Path) -> None:
    assert "a folder, not a kernel" in await error_of(client, "compile_kernel", path=str(tmp_path))


async def test_an_error_of_ours_is_reported_with_its_file_and_hint(client: Client, tmp_path: Path) -> None:
    assert (
        await error_of(client, "compile_kernel", path=f"{tmp_path}/no.hip")
        == f"{tmp_path}/no.hip: there is no such file"
    )
    assert "Hint: list_jobs lists yours" in await error_of(client, "get_job", job_id="job-x")


async def test_a_wrong_argument_is_named_without_noise(client: Client) -> None:
    text = await error_of(client, "search_docs", query="x", limit=99)
    assert text == "limit: Input should be less than or equal to 20 (got 99)"
    text = await error_of(client, "compile_kernel", source="k", arch="sm_90")
    assert text.startswith("arch: Input should be 'gfx90a'")
    text = await error_of(client, "compile_kernel", source="k", fast=True)
    assert text.startswith("fast: Unexpected keyword argument")
    text = await error_of(client, "compile_kernel", source="k", archs="gfx942")
    assert text == "archs: Unexpected keyword argument (got 'gfx942'); did you mean arch?"
    text = await error_of(client, "read_doc", id="guide:kernel")
    assert "id: Unexpected keyword argument (got 'guide:kernel'); did you mean ref?" in text.splitlines()
    text = await error_of(client, "read_doc", sectoin="Waits")
    assert "sectoin: Unexpected keyword argument (got 'Waits'); did you mean section?" in text.splitlines()


async def test_an_unexpected_exception_reveals_nothing_of_the_server(client: Client) -> None:
    text = await error_of(client, "compile_kernel", source="break")
    assert text.startswith("internal error")
    assert "secret" not in text


async def test_a_long_answer_is_cut_and_the_whole_is_a_file(client: Client) -> None:
    answer = await client.call_tool("compile_kernel", {"source": "long"})
    result = CompileResult.model_validate(answer.structured_content)
    assert len(answer.content[0].text.encode()) <= 8192
    assert result.left_out
    assert result.left_out[0].endswith("diagnostics")
    whole = json.loads(Path(result.artefacts[0].path).read_text())
    digest = result.artefacts[0].sha256.removeprefix("sha256:")
    assert result.next == f'read_doc(ref="artefact:{digest}")'
    assert len(whole["diagnostics"]) == 200


async def test_a_remote_caller_does_not_see_paths_of_the_server(remote: Client) -> None:
    answer = await remote.call_tool("compile_kernel", {"source": "long"})
    (artefact,) = answer.structured_content["artefacts"]
    assert artefact["path"] == ""
    ref, text, start = answer.structured_content["next"].split('"')[1], "", 0
    while start is not None:
        part = (await remote.call_tool("read_doc", {"ref": ref, "start": start, "max_chars": 7000})).structured_content
        text, start = text + part["text"], part["next_start"]
    assert hashlib.sha256(text.encode()).hexdigest() == artefact["sha256"].removeprefix("sha256:")
    assert len(json.loads(text)["diagnostics"]) == 200, "the whole answer is readable without files"


async def test_work_that_takes_longer_than_wait_s_becomes_a_job(client: Client, engine: Any) -> None:
    first = (await client.call_tool("compile_kernel", {"source": "wait", "wait_s": 0.1})).structured_content
    assert first["status"] == "running"
    again = (await client.call_tool("get_job", {"job_id": first["job_id"], "wait_s": 0})).structured_content
    assert (again["status"], again["progress"]) == ("running", "compiling")
    assert again["state"] == "running"
    for waiting in (first, again):
        assert waiting is not None
        known = {"job_id", "status", "state", "created", "progress", "queue_place", "expected_wait_s", "next"}
        assert set(waiting) <= known
        assert waiting["next"] == f'get_job(job_id="{first["job_id"]}")', "nothing in it looks like a verdict"
    engine.go.set()
    last = (await client.call_tool("get_job", {"job_id": first["job_id"]})).structured_content
    assert last["status"] == "done"
    assert last["compile"]["ok"]
    assert last["check"] is None


async def test_a_job_can_be_cancelled_and_says_so(client: Client) -> None:
    job = (await client.call_tool("compile_kernel", {"source": "wait", "wait_s": 0})).structured_content["job_id"]
    answer = await client.call_tool("get_job", {"job_id": job, "cancel": True})
    assert answer.structured_content["status"] == "cancelled"


async def test_a_job_that_broke_says_so_without_details(client: Client) -> None:
    started = await client.call_tool("compile_kernel", {"source": "break", "wait_s": 0}, raise_on_error=False)
    if not started.is_error:  # it may have broken within the call
        job = started.structured_content["job_id"]
        answer = (await client.call_tool("get_job", {"job_id": job})).structured_content
        assert answer["status"] == "failed"
        assert answer["error"].startswith("internal error")


async def test_progress_arrives_while_a_call_waits(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdkernel_mcp.server.session.PROGRESS_EVERY_S", 0.05)
    seen: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del total  # a client may not know it
        seen.append((progress, message))

    await client.call_tool("compile_kernel", {"source": "wait", "wait_s": 0.4}, progress_handler=note)
    assert len(seen) >= 3, seen
    assert [progress for progress, _ in seen] == sorted({progress for progress, _ in seen}), "progress must grow"
    assert "compiling" in {message for _, message in seen}


async def test_a_client_that_goes_away_cancels_what_it_waited_for(client: Client, engine: Any) -> None:
    waiting = asyncio.create_task(client.call_tool("compile_kernel", {"source": "wait", "wait_s": 200}))
    await asyncio.to_thread(engine.started.wait, 60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(engine.ended.wait, 120), "the work ends though nothing lets it finish"
    assert not engine.go.is_set()


async def test_calls_run_side_by_side(client: Client, engine: Any) -> None:
    waiting = asyncio.create_task(client.call_tool("compile_kernel", {"source": "wait", "wait_s": 20}))
    await asyncio.to_thread(engine.started.wait, 5)
    assert (await client.call_tool("compile_kernel", {"source": "quick"})).structured_content["ok"]
    engine.go.set()
    assert (await waiting).structured_content["status"] == "done"
