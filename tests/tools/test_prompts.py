"""The prompts name the real tools, and names are completed."""

import re

import pytest
from fastmcp import Client
from mcp_types import PromptReference, ResourceTemplateReference

from tests.tools.names import NAMES

pytestmark = pytest.mark.anyio
ARGUMENTS = {"problem": "rmsnorm", "path": "mine.hip", "target": "emulator:gfx950"}


async def test_each_prompt_uses_its_arguments_and_names_only_tools_that_exist(client: Client) -> None:
    listed = await client.list_prompts()
    assert [prompt.name for prompt in listed] == ["explain_profile", "optimise_kernel", "write_kernel"]
    for prompt in listed:
        taken = {argument.name for argument in prompt.arguments or []}
        given = {name: value for name, value in ARGUMENTS.items() if name in taken}
        (message,) = (await client.get_prompt(prompt.name, given)).messages
        text = message.content.text
        assert all(value in text for value in given.values()), prompt.name
        named = set(re.findall(r"\b(?:\w+_(?:kernel|docs?|attempts|lesson|targets|problems?|job))\b", text))
        assert named
        assert named <= set(NAMES), prompt.name


@pytest.mark.parametrize(
    ("argument", "typed", "value"),
    [("problem", "row", "row_softmax"), ("target", "emulator:gfx95", "emulator:gfx950"), ("problem", "zz", None)],
)
async def test_arguments_of_prompts_are_completed(client: Client, argument: str, typed: str, value: str | None) -> None:
    reference = PromptReference(type="ref/prompt", name="write_kernel")
    found = await client.complete(reference, {"name": argument, "value": typed})
    assert found.values == ([value] if value else [])


@pytest.mark.parametrize(
    ("uri", "argument", "typed", "value"),
    [
        ("amdkernel://arch/{gfx}", "gfx", "gfx94", "gfx942"),
        ("amdkernel://problem/{name}", "name", "rms", "rmsnorm"),
        ("amdkernel://guide/{name}", "name", "err", "errors"),
    ],
)
async def test_arguments_of_resources_are_completed(
    client: Client, uri: str, argument: str, typed: str, value: str
) -> None:
    reference = ResourceTemplateReference(type="ref/resource", uri=uri)
    assert (await client.complete(reference, {"name": argument, "value": typed})).values == [value]
