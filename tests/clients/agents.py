"""The four clients: how each is pointed at a stand-in model, and how it is given one task without a terminal."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.clients.dialects import Chat, Gemini, Messages, Responses
from tests.clients.stand_in_model import Dialect, Json

PROMPT = "Write a fast softmax."


@dataclass(frozen=True)
class Agent:
    """A client. `prefix`: what it puts before the names of our tools. `prepare(home, url)` writes its own settings."""

    dialect: Dialect
    prefix: str
    command: tuple[str, ...]
    environment: Callable[[str], dict[str, str]]
    prepare: Callable[[Path, str], None]
    own_command: tuple[str, ...] | None = None


def _nothing(_home: Path, _url: str) -> None:
    pass


def _codex_provider(home: Path, url: str) -> None:
    _write(
        home / ".codex" / "config.toml",
        'model = "gpt-5"\nmodel_provider = "stand_in"\n\n[model_providers.stand_in]\nname = "stand-in"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "STAND_IN_KEY"\n',
    )


def _gemini_settings(home: Path, _url: str) -> None:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    _write(home / ".gemini" / "settings.json", json.dumps(settings))


def _opencode_provider(home: Path, url: str) -> None:
    provider: Json = {"npm": "@ai-sdk/openai-compatible", "name": "stand-in", "models": {"m": {"name": "m"}}}
    provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "none"}
    settings = {"provider": {"stand-in": provider}, "model": "stand-in/m", "small_model": "stand-in/m"}
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


AGENTS = {
    "claude-code": Agent(
        Messages(),
        "mcp__amdkernel__",
        ("claude", "-p", PROMPT, "--allowedTools", "mcp__amdkernel__*", "--output-format", "json"),
        lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        _nothing,
        ("claude", "mcp", "add", "amdkernel", "--", "amdkernel-mcp"),
    ),
    "codex": Agent(
        Responses(),
        "mcp__amdkernel__",
        ("codex", "exec", "--skip-git-repo-check", "--json", PROMPT),
        lambda _: {"STAND_IN_KEY": "none"},
        _codex_provider,
        ("codex", "mcp", "add", "amdkernel", "--", "amdkernel-mcp"),
    ),
    "gemini": Agent(
        Gemini(),
        "mcp_amdkernel_",
        ("gemini", "--model", "gemini-2.5-pro", "--yolo", "-p", PROMPT),  # without one it asks a model which
        lambda url: {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        _gemini_settings,
        ("gemini", "mcp", "add", "amdkernel", "amdkernel-mcp"),
    ),
    "opencode": Agent(
        Chat(),
        "amdkernel_",
        ("opencode", "run", PROMPT),
        lambda _: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        _opencode_provider,
    ),
}
