"""Claude Code, Codex, Gemini CLI and opencode, as users install them, take a kernel through the whole loop."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.agent_loop import STEPS, first_steps, whole_loop
from tests.clients.agents import AGENTS, Agent
from tests.clients.stand_in_model import Script, StandInModel, Tools, serve

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.sandbox]
TIME_LIMIT_S = 400
SLOW = ("claude-code", "codex")


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """What it printed. Raises AssertionError with that if it fails."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{said[-3000:]}"
    return said


def let_it_work(agent: Agent, model: StandInModel, environment: dict[str, str], folder: Path) -> None:
    try:
        said = run(list(agent.command), environment | agent.environment(model.url), folder)
    finally:
        if model.failure:
            raise AssertionError(f"after {model.calls}: {model.failure!r}") from model.failure
    assert model.done, f"the client ended after {model.calls}:\n{said[-3000:]}"


@pytest.mark.parametrize(
    ("name", "start"),
    # How long a server takes to start is hardly the client's matter: two of them show it, and soak the rest of it.
    [
        *(pytest.param(name, "slow_start") for name in SLOW),
        *(pytest.param(name, "quick_start", marks=[pytest.mark.soak] if name in SLOW else []) for name in AGENTS),
    ],
)
def test_a_client_that_install_configured_takes_the_whole_loop(
    name: str, start: str, home: Path, environment: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    agent, commands = AGENTS[name], request.getfixturevalue(start)

    def script(tools: Tools) -> Script:
        return whole_loop(agent.prefix, tools)

    with serve(StandInModel(agent.dialect, script)) as model:
        agent.prepare(home, model.url)
        run([str(commands / "amdkernel"), "install", name], environment, tmp_path)
        let_it_work(agent, model, environment, tmp_path)
    waited = f"{agent.prefix}get_job"
    assert [call for call in model.calls if call != waited] == [agent.prefix + step for step in STEPS]


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if agent.own_command])
def test_a_client_that_its_own_command_configured_has_the_tools_in_the_first_turn(
    name: str, quick_start: Path, home: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    agent = AGENTS[name]
    environment = environment | {"PATH": f"{quick_start}:{environment['PATH']}"}

    def script(tools: Tools) -> Script:
        return first_steps(agent.prefix, tools)

    with serve(StandInModel(agent.dialect, script)) as model:
        agent.prepare(home, model.url)
        run(list(agent.own_command or ()), environment, tmp_path)
        let_it_work(agent, model, environment, tmp_path)
