"""Who may use a team's server: tokens come from the settings, and no message ever shows one."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SettingsError
from amdkernel_mcp.server.admission.tokens import read_tokens

ANN, BOB = "token-of-ann-0123456789", "token-of-bob-0123456789"


def tokens(settings: Settings, file: Path | None = None, **direct: str) -> dict[str, str]:
    return read_tokens(settings.model_copy(update={"tokens": direct, "tokens_file": file}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "tokens"
    made.touch(0o600)
    return made


def test_settings_and_file_are_joined(settings: Settings, file: Path) -> None:
    file.write_text(f"# the team\n\n{BOB} bob\n")
    assert tokens(settings, file, **{ANN: "ann"}) == {ANN: "ann", BOB: "bob"}
    assert tokens(settings) == {}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (f"{BOB}\n", "`TOKEN NAME`", 1),
        (f"\n{BOB} bob smith\n", "`TOKEN NAME`", 2),
        ("short bob\n", "shorter than 16", 1),
        (f"{ANN} ann\n{ANN} bob\n", "have the same token", 2),
        ("# no users yet\n", "has no users", None),
    ],
)
def test_a_file_that_is_wrong_is_refused_without_showing_a_token(
    settings: Settings, file: Path, text: str, message: str, line: int | None
) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match=message) as raised:
        tokens(settings, file)
    assert raised.value.line == line
    assert ANN not in str(raised.value)
    assert BOB not in str(raised.value)


def test_a_file_that_is_missing_is_an_error_and_does_not_mean_no_tokens(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        tokens(settings, tmp_path / "none")
