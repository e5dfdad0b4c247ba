"""The treatment of AgentKernelArena: with a harness of our own and, where it is available, with theirs."""

import importlib
import json
import logging
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADAPTER = ROOT / "integrations" / "agent_kernel_arena" / "amdkernel_treatment.py"
THEIRS = ROOT.parent / "shared" / "data" / "problems" / "agentkernelarena"
AGENTS = """AGENT_REGISTRY = {}


def register_agent(name):
    def register(launcher):
        AGENT_REGISTRY[name] = launcher
        return launcher
    return register
"""
LAUNCHER = """from pathlib import Path

from agents import register_agent


@register_agent("claude_code")
def launch_agent(eval_config, task_config_dir, workspace):
    return ",".join(sorted(file.name for file in Path(workspace).iterdir()))
"""
MAIN = """import sys
from agents import AGENT_REGISTRY
import agents.claude_code.launch_agent

print(AGENT_REGISTRY["claude_code"]({}, "config.yaml", sys.argv[1]))
"""


@pytest.fixture
def harness(tmp_path, monkeypatch):
    """A folder with the harness's package `agents`; modules that it brings are forgotten afterwards."""
    package = tmp_path / "harness" / "agents" / "claude_code"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "launch_agent.py").write_text(LAUNCHER)
    (package.parent / "__init__.py").write_text(AGENTS)
    (tmp_path / "harness" / "main.py").write_text(MAIN)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "bin").mkdir()  # no `amdkernel` there: the import is tested in tests/importing
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path / "harness")
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.split(".")[0] in ("agents", "src"):
            del sys.modules[name]


def test_an_agent_of_the_treatment_finds_the_server_in_its_workspace(harness, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(ADAPTER), "main.py", str(harness / "workspace")])
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_path(str(ADAPTER), run_name="__main__")
    assert ".claude,.codex,.cursor,.mcp.json,AGENTS.md,CLAUDE.md" in capsys.readouterr().out
    servers = json.loads((harness / "workspace" / ".mcp.json").read_text())
    assert servers["mcpServers"]["amdkernel"]["command"] == "amdkernel-mcp"
    assert "its own scripts judge it" in (harness / "workspace" / "CLAUDE.md").read_text()


def test_a_server_of_a_team_and_files_of_the_task_are_kept(harness, monkeypatch):
    adapter = runpy.run_path(str(ADAPTER))
    monkeypatch.setenv("AMDKERNEL_URL", "http://gpu.example/mcp")
    (harness / "workspace" / ".mcp.json").write_text("{}")
    (harness / "workspace" / "CLAUDE.md").write_text("The task.\n")
    adapter["prepare"](Path("config.yaml"), harness / "workspace")
    assert (harness / "workspace" / ".mcp.json").read_text() == "{}"
    assert "http://gpu.example/mcp" in (harness / "workspace" / ".cursor" / "mcp.json").read_text()
    assert (harness / "workspace" / "CLAUDE.md").read_text().startswith("The task.\n# amdkernel")


def test_the_task_is_a_problem_where_it_can_be_imported(harness):
    adapter = runpy.run_path(str(ADAPTER))
    command = harness / "bin" / "amdkernel"
    command.write_text("#!/bin/sh\necho '{\"folder\": \"'$5/$7'\"}'\n")
    command.chmod(0o755)
    adapter["prepare"](Path("config.yaml"), harness / "workspace")
    assert f"problem `{harness}/workspace/.amdkernel/task`" in (harness / "workspace" / "AGENTS.md").read_text()


@pytest.mark.parametrize("source", ["ours", *(["theirs"] if THEIRS.is_dir() else [])])
def test_every_launcher_that_the_harness_loads_is_treated(harness, monkeypatch, source):
    monkeypatch.syspath_prepend(str(harness / "harness"))
    agents = importlib.import_module("agents")
    runpy.run_path(str(ADAPTER))["treat_all"](agents)
    if source == "theirs":
        monkeypatch.syspath_prepend(str(THEIRS))
        registration = importlib.import_module("src.module_registration")
        kind = registration.AgentType.from_string("claude_code")
        launcher = registration.load_agent_launcher(kind, logging.getLogger("test"))
    else:
        importlib.import_module("agents.claude_code.launch_agent")
        launcher = agents.AGENT_REGISTRY["claude_code"]
    assert ".mcp.json" in launcher({}, "config.yaml", str(harness / "workspace"))
