"""The skill names the real tools, guides and verbs, and is short enough to be read."""

import re
from pathlib import Path

import pytest

from amdkernel_mcp.reading.cookbook import recipes
from amdkernel_mcp.reading.guides import GUIDES
from tests.tools.names import NAMES

SKILL = Path(__file__).resolve().parent.parent.parent / "integrations/skill"
FILES = sorted(file for file in SKILL.glob("*/**/*") if file.is_file())


def test_there_is_a_file_for_each_client() -> None:
    assert {file.relative_to(SKILL).parts[0] for file in FILES} == {"claude", "codex", "copilot", "cursor"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(SKILL).parts[0])
def test_a_file_is_short_and_has_a_head_and_the_one_body(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    parts = re.fullmatch(r"---\n(.*?)\n---\n\n(.*)", text, re.DOTALL)
    assert parts
    head, body = parts.groups()
    assert body == (SKILL / "skill.md").read_text(encoding="utf-8")
    assert re.search(r"^(description|applyTo): .{5,}", head, re.MULTILINE)


def test_every_tool_and_guide_that_is_named_exists_and_the_loop_is_complete() -> None:
    text = (SKILL / "skill.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    assert named - {"job_id", "not_emulated"} <= set(NAMES)
    loop = ("read_doc", "check_kernel", "profile_kernel", "benchmark_kernel", "note_lesson")
    places = [text.index(f"`{name}`") for name in loop]
    assert places == sorted(places)
    assert set(re.findall(r"guide:([\w-]+)", text)) <= {*GUIDES, *recipes()}
