"""What the registry and the clients document about their files, as JSON schemas with the fields that ours use.

A field that is not listed is refused, also where the published schema would allow it: so a new one is looked up first.
Sources: MCP registry, server.schema.json of 2025-12-11; MCPB manifest 0.4; Claude Code, plugins reference and
marketplaces; Cursor, plugins reference.
"""

from typing import Any

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
SEMVER: dict[str, Any] = {"type": "string", "pattern": r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"}
RELATIVE: dict[str, Any] = {"type": "string", "pattern": r"^\./(?!.*\.\.)"}


def closed(required: list[str], /, **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


AUTHOR = closed(["name"], name=TEXT, email=TEXT)
STDIO = closed(["command"], type={"const": "stdio"}, command=TEXT, args=TEXTS, env={"type": "object"})

_NAMED = closed(
    ["type", "name"], type={"const": "named"}, name={"type": "string", "pattern": "^--"}, description=TEXT,
    isRequired={"type": "boolean"}, isSecret={"type": "boolean"}, format={"enum": ["string", "filepath"]},
)  # fmt: skip
_VARIABLE = closed(["name"], name=TEXT, description=TEXT, isRequired={"type": "boolean"}, isSecret={"type": "boolean"})
_PACKAGE = closed(
    ["registryType", "identifier", "version", "transport"], registryType={"const": "pypi"}, identifier=TEXT,
    version={**SEMVER, "not": {"const": "latest"}}, runtimeHint={"const": "uvx"},
    transport=closed(["type"], type={"const": "stdio"}), packageArguments={"type": "array", "items": _NAMED},
    environmentVariables={"type": "array", "items": _VARIABLE},
)  # fmt: skip
SERVER_JSON = closed(
    ["$schema", "name", "description", "version", "packages"],
    name={"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
    title={**TEXT, "maxLength": 100}, description={**TEXT, "maxLength": 100}, version={**SEMVER, "maxLength": 255},
    packages={"type": "array", "items": _PACKAGE, "minItems": 1},
    **{"$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}},
)  # fmt: skip

_OPTION = closed(
    ["type", "title", "description"], type={"enum": ["string", "number", "boolean", "directory", "file"]}, title=TEXT,
    description=TEXT, required={"type": "boolean"}, sensitive={"type": "boolean"}, default={"type": "string"},
)  # fmt: skip
MCPB_MANIFEST = closed(
    ["manifest_version", "name", "version", "description", "author", "server"], manifest_version={"const": "0.4"},
    name=TEXT, display_name=TEXT, version=SEMVER, description=TEXT, author=AUTHOR, license=TEXT, keywords=TEXTS,
    server=closed(["type", "entry_point"], type={"const": "uv"}, entry_point=TEXT, mcp_config=STDIO),
    tools={"type": "array", "items": closed(["name"], name=TEXT, description=TEXT)},
    user_config={"type": "object", "additionalProperties": _OPTION},
    compatibility=closed(
        [], platforms={"type": "array", "items": {"enum": ["darwin", "win32", "linux"]}},
        runtimes=closed([], python=TEXT),
    ),
)  # fmt: skip

_KEBAB = {"type": "string", "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"}
CLAUDE_PLUGIN = closed(
    ["name", "version", "description"], name=_KEBAB, version=SEMVER, description={**TEXT, "maxLength": 200},
    author=AUTHOR, license=TEXT, keywords=TEXTS,
)  # fmt: skip
CLAUDE_MARKETPLACE = closed(
    ["name", "owner", "plugins"], name=_KEBAB, owner=AUTHOR, description=TEXT,
    plugins={"type": "array", "minItems": 1, "items": closed(
        ["name", "source"], name=_KEBAB, source=RELATIVE, description=TEXT, version=SEMVER)},
)  # fmt: skip
CLAUDE_SERVERS = closed(
    ["mcpServers"],
    mcpServers={"type": "object", "additionalProperties": {
        **STDIO, "properties": {**STDIO["properties"], "alwaysLoad": {"type": "boolean"}}}},
)  # fmt: skip
CURSOR_PLUGIN = closed(
    ["name"], name={"type": "string", "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"}, displayName=TEXT, version=SEMVER,
    description=TEXT, author=AUTHOR, license=TEXT, keywords=TEXTS,
)  # fmt: skip
CURSOR_SERVERS = closed(["mcpServers"], mcpServers={"type": "object", "additionalProperties": STDIO})
