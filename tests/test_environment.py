"""Episodes: a bad kernel is an observation with reward 0, a better one has a larger reward, and a seed repeats."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.environment import KernelEnvironment
from amdkernel_mcp.errors import InputError, ProblemFileError
from amdkernel_mcp.reward import CORRECT

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

EXAMPLE = folder("examples") / "vector_add" / "kernels"
NAIVE = (EXAMPLE / "naive.hip").read_text()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    data = tmp_path_factory.mktemp("environment")
    return load_settings({"data_dir": data / "data", "cache_dir": data / "cache"})


@pytest.fixture
def environment(own: Settings) -> Iterator[KernelEnvironment]:
    with KernelEnvironment(settings=own, max_steps=6) as opened:
        yield opened


@pytest.mark.thorough
def test_an_episode_of_bad_kernels_ends_after_its_steps_without_an_exception(environment: KernelEnvironment) -> None:
    with pytest.raises(InputError, match="call reset"):
        environment.step(NAIVE)
    first = environment.reset("vector_add")
    assert (first.problem, first.step, first.verdict) == ("vector_add", 0, None)
    assert "const float* x" in first.signature
    bad: list[Any] = [
        "",
        "// amdkernel: launch add grid=[1] block=[64]\nthis does not compile",
        "// amdkernel: build -fplugin=/tmp/x.so\n" + NAIVE,
        "\ud800",
        None,
        "x" * ((1 << 20) + 1),
    ]
    for number, source in enumerate(bad, 1):
        observation, reward, done, info = environment.step(source)
        assert (observation.step, observation.verdict, reward) == (number, "invalid", 0.0), observation.reason
        assert observation.reason
        assert done == (number == len(bad))
        assert (info["best"], info["because"]) == (0.0, "invalid")
    with pytest.raises(InputError, match="call reset"):
        environment.step(NAIVE)


def test_wrong_uses_are_errors(own: Settings, environment: KernelEnvironment) -> None:
    with pytest.raises(ProblemFileError):
        environment.reset("no_such_problem")
    with pytest.raises(InputError, match="the baseline is invalid"):
        environment.reset("vector_add", baseline="no kernel")
    for given in ({"max_steps": 0}, {"max_steps": 10_001}, {"shaping": 0.5, "profile": False}):
        with pytest.raises(InputError):
            KernelEnvironment(settings=own, **given)


@pytest.mark.thorough
def test_a_correct_kernel_is_profiled_and_its_modelled_time_brings_nothing_unless_asked(own: Settings) -> None:
    with KernelEnvironment(settings=own, shaping=0.5) as environment:
        environment.reset("vector_add")
        observation, reward, done, info = environment.step((EXAMPLE / "better.hip").read_text())
    assert observation.verdict in ("faster", "inconclusive")
    assert CORRECT / 2 < reward <= CORRECT
    assert observation.time_us.evidence == "modelled"
    assert observation.bounds
    assert not done
    assert info["attempt"]
    assert "profile" in info["because"]


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", ["broken_tail", "broken_grid", "broken_block"])
def test_a_broken_kernel_is_an_observation_with_its_findings(environment: KernelEnvironment, kernel: str) -> None:
    environment.reset("vector_add")
    observation, reward, _, _ = environment.step((EXAMPLE / f"{kernel}.hip").read_text())
    assert reward == 0
    assert observation.verdict in ("incorrect", "invalid")
    assert observation.findings


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_steps(own: Settings) -> None:
    found = []
    for seed in (1, 1):
        with KernelEnvironment(settings=own, seed=seed, modelled=True) as environment:
            environment.reset("vector_add")
            observation, reward, _, _ = environment.step(NAIVE.replace("// ", "// again: ", 1))
            found.append((observation, reward))
    assert found[0] == found[1]


@pytest.mark.thorough
def test_random_search_ends_with_a_better_row_softmax(own: Settings) -> None:
    script = Path(folder("examples")) / "random_search.py"
    command = [sys.executable, str(script), "--steps", "3"]
    folders = {"AMDKERNEL_DATA_DIR": str(own.data_dir), "AMDKERNEL_CACHE_DIR": str(own.cache_dir)}
    ended = subprocess.run(command, env=os.environ | folders, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stderr
    rewards = [float(line.split("reward ")[1].split()[0]) for line in ended.stdout.splitlines()]
    assert len(rewards) == 4
    assert rewards[-1] == max(rewards) > CORRECT
    assert rewards[-1] > rewards[0]
