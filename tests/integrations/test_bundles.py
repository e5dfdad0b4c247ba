"""server.json, the plugins, the links and the bundle are what their readers document, and the bundle works."""

import base64
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from amdkernel_mcp.cli.clients import entry_for
from scripts import bundles
from tests.integrations import published_schemas as published
from tests.server.http_server import ANN, http_server
from tests.tools.names import NAMES

ROOT = Path(__file__).resolve().parents[2]
INTEGRATIONS = ROOT / "integrations"
README = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = {
    "server.json": published.SERVER_JSON,
    "integrations/claude-plugin/.claude-plugin/plugin.json": published.CLAUDE_PLUGIN,
    "integrations/claude-plugin/.claude-plugin/marketplace.json": published.CLAUDE_MARKETPLACE,
    "integrations/claude-plugin/.mcp.json": published.CLAUDE_SERVERS,
    "integrations/cursor-plugin/.cursor-plugin/plugin.json": published.CURSOR_PLUGIN,
    "integrations/cursor-plugin/mcp.json": published.CURSOR_SERVERS,
}


def schema_errors(document: object, schema: dict[str, Any]) -> list[str]:
    """What does not fit. Imported here: it takes a second, and each worker collects every file."""
    import jsonschema  # type: ignore[import-untyped]

    validator = jsonschema.validators.validator_for(schema)(schema)
    return [str(error.message) for error in validator.iter_errors(document)]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle, unpacked as a client does it."""
    folder = tmp_path_factory.mktemp("bundle")
    made = bundles.write_bundle(folder)
    first = made.read_bytes()
    assert bundles.write_bundle(folder).read_bytes() == first, "the same sources give the same bundle"
    with zipfile.ZipFile(made) as archive:
        archive.extractall(folder / "unpacked")
    return Path(folder / "unpacked")


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_documented_fields(name: str) -> None:
    assert not schema_errors(json.loads((ROOT / name).read_text(encoding="utf-8")), FILES[name])


@pytest.mark.parametrize("field", ["name", "version"])
def test_a_field_that_is_missing_or_unknown_is_refused(field: str) -> None:
    whole = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    for wrong in ({key: value for key, value in whole.items() if key != field}, {**whole, f"{field}s": "x"}):
        assert schema_errors(wrong, published.SERVER_JSON)


def test_the_registry_finds_its_name_in_the_readme_and_the_version_is_the_packages() -> None:
    from amdkernel_mcp import __version__

    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert f"mcp-name: {entry['name']} " in README
    assert {entry["version"], entry["packages"][0]["version"]} == {__version__}


@pytest.mark.parametrize("plugin", ["claude-plugin", "cursor-plugin"])
def test_a_plugin_starts_the_server_as_install_does_and_has_the_skill(plugin: str) -> None:
    client, file = ("claude-code", ".mcp.json") if plugin == "claude-plugin" else ("cursor", "mcp.json")
    servers = json.loads((INTEGRATIONS / plugin / file).read_text(encoding="utf-8"))["mcpServers"]
    assert servers == {"amdkernel": entry_for(client, command="amdkernel-mcp")}
    skill = (INTEGRATIONS / plugin / "skills/amdkernel/SKILL.md").read_text(encoding="utf-8")
    assert skill == (INTEGRATIONS / "skill/claude/amdkernel/SKILL.md").read_text(encoding="utf-8")


def link(client: str) -> dict[str, list[str]]:
    found = re.search(rf"badges/{client}\.svg\)\]\((\S+)\)", README)
    assert found, f"the README has no link for {client}"
    return parse_qs(urlsplit(found[1]).query, strict_parsing=True)


def test_the_links_of_the_readme_carry_the_entry_that_install_writes() -> None:
    cursor, vscode = link("cursor"), link("vscode")
    assert cursor["name"] == vscode["name"] == ["amdkernel"]
    assert json.loads(base64.b64decode(cursor["config"][0], validate=True)) == entry_for(
        "cursor", command="amdkernel-mcp"
    )
    assert json.loads(vscode["config"][0]) == entry_for("vscode", command="amdkernel-mcp")


def test_the_bundle_has_a_documented_manifest_and_no_more_than_the_front(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    assert not schema_errors(manifest, published.MCPB_MANIFEST)
    assert (bundle / manifest["server"]["entry_point"]).is_file()
    assert {tool["name"] for tool in manifest["tools"]} == set(NAMES)
    given = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert given == set(manifest["user_config"])
    assert not list(bundle.rglob("*sandbox*"))


ONLY_HTTPX2 = """
import importlib.metadata, pathlib, sys
from packaging.requirements import Requirement
wanted, known = ["httpx2"], set()
while wanted:
    name = wanted.pop()
    if name not in known:
        known.add(name)
        for one in map(Requirement, importlib.metadata.requires(name) or []):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                wanted.append(one.name)
import os
place, new = pathlib.Path(importlib.metadata.distribution("httpx2").locate_file("")), pathlib.Path(sys.argv[1])
for name in known:
    for top in {file.parts[0] for file in importlib.metadata.distribution(name).files if file.parts[0] != ".."}:
        if not (new / top).exists():
            os.symlink(place / top, new / top)
"""


@pytest.mark.thorough
@pytest.mark.anyio
async def test_the_bundle_works_with_its_one_dependency_and_a_real_server(bundle: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    subprocess.run([sys.executable, "-c", ONLY_HTTPX2, str(packages)], check=True)
    manifest: dict[str, Any] = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    arguments = manifest["server"]["mcp_config"]["args"]
    script = arguments.index(manifest["server"]["entry_point"])
    with http_server(tmp_path, tokens=f"{ANN} ann\n") as server:
        chosen = {"${__dirname}": str(bundle), "${user_config.url}": server.url}
        command = [str(bundle / arguments[script]), *(chosen.get(word, word) for word in arguments[script + 1 :])]
        environment = {"PATH": os.environ["PATH"], "AMDK_TOKEN": ANN, "PYTHONPATH": str(packages)}
        # -S: of the packages that are installed here, only those above can be imported.
        transport = StdioTransport(sys.executable, ["-S", *command], env=environment, keep_alive=False)
        async with Client(transport) as client:
            assert {tool.name for tool in await client.list_tools()} == set(NAMES)
            assert (await client.call_tool("list_jobs", {})).structured_content == {"jobs": []}
