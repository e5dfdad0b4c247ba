"""What a client sees of the tools. The accepted schemas are those of `handshake.json`, see tests/stdio."""

import json

import pytest
from fastmcp import Client

from amdkernel_mcp.server.app import INSTRUCTIONS
from tests.tools.names import NAMES

pytestmark = pytest.mark.anyio


async def test_the_names_of_the_tools_are_these(client: Client) -> None:
    assert [tool.name for tool in await client.list_tools()] == NAMES


async def test_every_parameter_is_described_and_no_schema_refers_elsewhere(client: Client) -> None:
    for tool in await client.list_tools():
        for name, parameter in tool.input_schema["properties"].items():
            assert parameter.get("description"), f"{tool.name}({name}) is not described"
        assert "$ref" not in json.dumps(tool.input_schema), tool.name


async def test_every_parameter_has_one_type_and_no_default_that_is_not_of_it(client: Client) -> None:
    for tool in await client.list_tools():
        for name, parameter in tool.input_schema["properties"].items():
            assert "anyOf" not in parameter, f"{tool.name}({name})"
            assert parameter.get("default", 0) is not None, f"{tool.name}({name})"


async def test_an_explicit_null_is_taken_for_a_parameter_that_was_left_out(client: Client) -> None:
    for left_out in ({}, {"problem": None, "before": None}):
        listed = await client.call_tool("list_attempts", left_out)
        assert listed.structured_content is not None
        assert "attempts" in listed.structured_content


async def test_every_tool_carries_all_four_hints_so_that_codex_runs_it_without_asking(client: Client) -> None:
    for tool in await client.list_tools():
        hints = tool.annotations
        assert hints is not None, tool.name
        assert None not in (hints.read_only_hint, hints.idempotent_hint), tool.name
        assert hints.destructive_hint is False, tool.name
        assert hints.open_world_hint is False, tool.name


async def test_descriptions_are_short_and_end_with_what_to_call_before_or_next(client: Client) -> None:
    for tool in await client.list_tools():
        assert tool.description is not None
        assert len(tool.description) <= 1024, tool.name
        last = tool.description.strip().splitlines()[-1]
        assert last.startswith(("Next:", "Before:")), f"{tool.name}: {last}"


async def test_the_whole_list_stays_small(client: Client) -> None:
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in await client.list_tools()]
    told = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
    said = sum(len(json.dumps(tool, separators=(",", ":")).encode()) for tool in told)
    assert said <= 9216, f"{said} bytes of every prompt"
    assert len(json.dumps(tools)) < 80_000


async def test_every_tool_asks_to_be_in_the_prompt_from_the_first_turn(client: Client) -> None:
    for tool in await client.list_tools():
        assert (tool.meta or {}).get("anthropic/alwaysLoad") is True, tool.name


async def test_what_the_schema_leaves_out_is_still_enforced(client: Client) -> None:
    for arguments in ({"query": "x", "limit": 21}, {"query": ""}, {"query": "x" * 501}, {"query": "x", "more": 1}):
        answer = await client.call_tool("search_docs", arguments, raise_on_error=False)
        assert answer.is_error, arguments


async def test_instructions_fit_and_name_the_loop(client: Client) -> None:
    assert len(INSTRUCTIONS.encode()) <= 2048
    places = [
        INSTRUCTIONS.index(name) for name in ("search_docs", "compile_kernel", "check_kernel", "benchmark_kernel")
    ]
    assert places == sorted(places)
    assert client.instructions == INSTRUCTIONS
