"""Runs AgentKernelArena with amdkernel-mcp as the treatment: `python3 amdkernel_treatment.py main.py ARGUMENTS`.

Run it in the folder of AgentKernelArena. Every agent gets our MCP server in its workspace, and the task as a problem
folder where it can be imported. Nothing else of the harness changes: tasks, prompts, evaluation and scores are those of
the baseline. It needs Python alone; AMDKERNEL_URL names a server, else `amdkernel-mcp` is started in the workspace.
"""

import functools
import importlib
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Launcher = Callable[..., str]
PROBLEMS = ".amdkernel"
_IMPORT_TIMEOUT_S = 600
_NOTE = """# amdkernel

The MCP server `amdkernel` compiles, checks, benchmarks and profiles HIP kernels, and searches AMD's documentation.
{problem}
Use it while you work. The task's own commands still decide whether the result counts.
"""


def as_treatment(launcher: Launcher) -> Launcher:
    """The launcher of an agent, with our server in the workspace."""

    @functools.wraps(launcher)
    def launch(eval_config: dict[str, Any], task_config_dir: str, workspace: str, *rest: Any, **more: Any) -> str:
        prepare(Path(task_config_dir), Path(workspace))
        return launcher(eval_config, task_config_dir, workspace, *rest, **more)

    return launch


def prepare(task_config: Path, workspace: Path) -> None:
    """Write the configuration of MCP clients, the problem and a note for the agent into a workspace."""
    for name, content in client_files(os.environ.get("AMDKERNEL_URL")).items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(content, encoding="utf-8")
    folder = imported(workspace)
    problem = "This task is not a problem of the server: its own scripts judge it."
    if folder:
        problem = f"This task is its problem `{folder}`, with smaller sizes; `kernel.hip` there is a naive kernel."
    for name in ("CLAUDE.md", "AGENTS.md"):
        with (workspace / name).open("a", encoding="utf-8") as note:
            note.write(_NOTE.format(problem=problem))
    print(f"amdkernel: {task_config} has the server; problem: {folder or 'none'}")


def client_files(url: str | None) -> dict[str, str]:
    """What Claude Code, Cursor and Codex read in a folder, by file name."""
    server = {"type": "http", "url": url} if url else {"type": "stdio", "command": "amdkernel-mcp", "args": []}
    servers = json.dumps({"mcpServers": {"amdkernel": {**server, "alwaysLoad": True}}}, indent=2)
    settings = {"enabledMcpjsonServers": ["amdkernel"], "permissions": {"allow": ["mcp__amdkernel"]}}
    codex = f"url = {json.dumps(url)}" if url else 'command = "amdkernel-mcp"'
    return {
        ".mcp.json": servers,
        ".claude/settings.local.json": json.dumps(settings, indent=2),
        ".cursor/mcp.json": servers,
        ".codex/config.toml": f"[mcp_servers.amdkernel]\n{codex}\n",
    }


def imported(workspace: Path) -> str | None:
    """The problem folder of the task in a workspace; None where it cannot be imported."""
    to = workspace / PROBLEMS
    command = ["amdkernel", "problem", "import", str(workspace), "--to", str(to), "--name", "task", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_TIMEOUT_S, check=False)
        return str(json.loads(done.stdout)["folder"]) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError):
        return None


def treat_all(agents: Any) -> None:
    """Wrap every launcher that is registered, and each that will be. `agents`: the harness's package."""
    register = agents.register_agent

    def register_treated(name: str) -> Callable[[Launcher], Launcher]:
        return lambda launcher: register(name)(as_treatment(launcher))

    agents.register_agent = register_treated
    for name, launcher in list(agents.AGENT_REGISTRY.items()):
        agents.AGENT_REGISTRY[name] = as_treatment(launcher)


def main() -> None:
    """Run the harness's program in this process."""
    if len(sys.argv) < 2:
        sys.exit("usage: python3 amdkernel_treatment.py main.py [ARGUMENTS]")
    sys.path.insert(0, os.getcwd())
    treat_all(importlib.import_module("agents"))  # AgentKernelArena's
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
