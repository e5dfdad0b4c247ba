"""Scopes: what each tool needs, and that no other way leads to it."""

from pathlib import Path

import pytest

from amdkernel_mcp.access.scopes import USUAL, known_scopes, refuse_name
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.admission.permissions import TOOL_SCOPES, needed, refuse_without

TOOLS = Path(__file__).parents[3] / "tools"
EMULATED = "emulator:gfx942"
TIMED = ["benchmark_kernel", "profile_kernel", "tune_kernel"]


def test_every_tool_has_a_scope_and_no_other_name_has_one() -> None:
    files = {file.stem for file in TOOLS.glob("[a-z]*.py")} - {
        "documentation",
        "prompts",
        "reports",
    }  # resources need `docs`; prompts are the same for all
    assert set(TOOL_SCOPES) == files


@pytest.mark.parametrize("tool", TIMED)
def test_timing_on_a_gpu_needs_gpu_time_and_on_the_emulator_check(tool: str) -> None:
    target: object
    for target in (
        "local:0",
        "gpu1:3",
        "big:0",
        "big:",
        ":gfx942",
        "a b:gfx942",
        "emulator",
        "emulator",
        " emulator:gfx942",
        "EMULATOR:gfx942",
        ["emulator:x"],
    ):
        assert needed(tool, target, default_target=EMULATED) == {"gpu:time"}, target
    for target in (EMULATED, "big:gfx942", None, "", 0):
        assert needed(tool, target, default_target=EMULATED) == {"check"}, target
    assert needed(tool, None, default_target="local:0") == {"gpu:time"}
    assert needed(tool, "", default_target="local:0") == {"gpu:time"}, "an empty name means the default target"


def test_a_check_on_a_gpu_needs_check() -> None:
    assert needed("check_kernel", "local:0", default_target="local:0") == {"check"}


def test_an_unknown_tool_is_closed_even_with_all_scopes() -> None:
    assert needed("drop_tables", None, default_target=EMULATED) == frozenset()
    with pytest.raises(InputError, match="this server has no drop_tables"):
        refuse_without(frozenset(), frozenset({*USUAL, "admin"}), "drop_tables")


def test_a_missing_scope_is_named_with_what_the_token_has_and_what_to_ask_for() -> None:
    with pytest.raises(InputError) as raised:
        refuse_without(frozenset({"gpu:time"}), frozenset({"docs", "check"}), "benchmark_kernel on local:0")
    assert raised.value.message == "benchmark_kernel on local:0 needs the scope `gpu:time`; your token has check, docs"
    assert "--scope gpu:time" in (raised.value.hint or "")


def test_admin_contains_no_other_scope() -> None:
    with pytest.raises(InputError):
        refuse_without(frozenset({"docs"}), frozenset({"admin"}), "search_docs")


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "a\nb", "a\x1b[31m", "oidc:ann", "OIDC:ann", "x" * 65, "a\u202eb"])
def test_a_name_that_deceives_or_breaks_lines_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        refuse_name(name)


@pytest.mark.parametrize("name", ["ann", "<b>eve</b>", "../../etc", "%2e", "ann@example.com", "名前", "';drop-table--"])
def test_odd_names_are_only_names(name: str) -> None:
    refuse_name(name)


def test_scopes_have_one_order_and_unknown_ones_are_refused() -> None:
    assert known_scopes(["check", "docs", "check"]) == ("docs", "check")
    for wrong in (["root"], [], ["docs "]):
        with pytest.raises(InputError):
            known_scopes(wrong)
