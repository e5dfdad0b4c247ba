"""The package on the page about extensions, installed from the page: what each of its parts does here."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amdkernel_mcp import extensions
from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.hip import HIP
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.errors import ImportRefused, InfrastructureError, UnknownTargetError
from amdkernel_mcp.execution.added_hosts import added_hosts
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target, list_targets
from amdkernel_mcp.importing.task_folders import read_source
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.search.corpus.declared import load_specs
from amdkernel_mcp.workers.hub import WorkerRefused
from tests.languages.triton_kernels import VECTOR_ADD
from tests.pages.profiles import WAVES, hostile_facts
from tests.server.http_server import ANN, http_server
from tests.waiting import AT_MOST_S
from tests.workers.server_with_workers import AMDKERNEL
from tests.workers.test_worker_hub import HELLO, Link

PAGE = Path(__file__).parent.parent / "docs/extending.md"
ADD = "# amdkernel: launch map grid=[ceil_div(n, 256)] block=[256]\nmap z(x, y) = x + y\n"


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which it is installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name, text in re.findall(r'^```\w+ title="(.+?)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL):
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-cache"]
    subprocess.run([*install, "--no-build-isolation", "--target", target, source], check=True)
    with searched_too(target):
        yield target


@contextmanager
def searched_too(folder: Path) -> Iterator[None]:
    """Packages in the folder count as installed, as they would in a process that starts now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        extensions._points.cache_clear()
        yield
    extensions._points.cache_clear()


def test_what_is_installed_is_listed_with_its_version() -> None:
    added = "languages map, hosts twin, collections formulas, rules many_loads, documents map"
    assert f"amdkernel-map 1.0: {added}, verbs count, tools count, commands count" in extensions.listed()


def test_a_language_takes_its_texts_and_none_of_ours() -> None:
    assert language_of(ADD, "add.map").name == "map"
    assert language_of("__global__ void map() {}", "map.hip").name == "HIP"
    assert language_of(f"{VECTOR_ADD}\n'''\nmap z(x) = x\n'''\n", "kernel.py").name == "Triton"


@pytest.mark.sandbox
def test_a_kernel_in_the_language_is_judged_on_the_host_and_has_its_lines(settings: Settings, sandbox: Sandbox) -> None:
    del sandbox  # its image is there then
    engine = Engine(settings)
    try:
        options = CheckOptions(seed_count=1, schedules=0)
        answer = engine.do(Check(problem="vector_add", source=ADD, target="twin:gfx942", options=options))
        assert (answer.verdict, answer.target) == ("correct", "twin:gfx942"), answer.reason
        failed = engine.do(Compile(source="\n" + ADD.replace("x + y", "x + w")))
        assert (failed.ok, [found.line for found in failed.diagnostics]) == (False, [3]), failed.diagnostics
    finally:
        engine.close()


def test_a_host_has_targets_unless_the_settings_name_it(settings: Settings) -> None:
    assert "twin:gfx942" in {each.name for each in list_targets(settings)}
    assert find_target("twin:gfx942", settings).host == "twin"
    with pytest.raises(UnknownTargetError, match="did you mean twin:gfx942"):
        find_target("twin:gfx941", settings)
    named = settings.model_copy(update={"hosts": {"twin": "unix:///nowhere"}})
    assert added_hosts(named) == []
    engine = Engine(settings)
    try:
        with pytest.raises(WorkerRefused, match="twin is a host"):
            engine.workers.join(HELLO.model_copy(update={"name": "twin"}), Link())
    finally:
        engine.close()


def test_compiles_of_two_versions_of_a_package_are_kept_apart() -> None:
    language = language_of(ADD, "add.map")
    assert extensions.origin(language.toolchain(language.read_plan(ADD), None)) == ["amdkernel-map 1.0"]
    assert extensions.origin(HIP) == []


def test_a_collection_is_read_before_a_file_is_taken_as_a_module(tmp_path: Path) -> None:
    file = tmp_path / "relu.formula"
    file.write_text("torch.relu(x) + 1\n")
    assert "return torch.relu(x) + 1" in read_source(file, "train").text
    file.write_text("x\nx\n")
    with pytest.raises(ImportRefused, match="a formula is one line"):
        read_source(file, "train")


def test_a_rule_finds_or_rules_out() -> None:
    found = diagnose(hostile_facts(SQ_INSTS_VMEM_RD=4 * WAVES, memory_bytes_read=1 << 30))
    [row] = [row for row in found if "A map reads many arrays" in row.finding]
    assert (row.topic, row.docs, row.because.partition(",")[0]) == ("memory", [], "4.0 loads per wave")
    assert any("more than two arrays" in row.finding for row in diagnose(hostile_facts(), "memory"))


def test_documents_of_a_package_are_a_source() -> None:
    [spec] = [spec for spec in load_specs() if spec.name == "map"]
    assert spec.folder
    assert [page.name for page in spec.folder.iterdir()] == ["map.md"]


def in_a_new_process(code: str, *folders: Path, **environment: str) -> str:
    """What Python prints that starts with these folders installed: the table of verbs is made when it is imported."""
    path = os.pathsep.join(map(str, (*folders, PAGE.parent.parent)))
    around = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200", **environment}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


TOOLS_OF_A_SERVER = """
import asyncio, json
from fastmcp import Client
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.server.admission.permissions import needed
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.stdio.main import _adds_tools

async def tools():
    async with Client(build_server(load_settings(), local=True)) as client:
        return await client.list_tools()

listed = {tool.name: tool for tool in asyncio.run(tools())}
print(json.dumps([
    "check_kernel" in listed, sorted(listed["count_loads"].inputSchema["properties"]),
    "count" in listed["get_job"].outputSchema["properties"],
    [*needed("count_loads", None, default_target="local:0")], _adds_tools(),
]))
"""


@pytest.mark.thorough
def test_the_tool_of_a_verb_is_listed_and_needs_the_scope_of_the_verb(package: Path, tmp_path: Path) -> None:
    found = json.loads(in_a_new_process(TOOLS_OF_A_SERVER, package, AMDKERNEL_DATA_DIR=str(tmp_path)))
    assert found == [True, ["source", "target", "wait_s"], True, ["compile"], True]


AT_A_SHELL = """
import contextlib, io, json
from amdkernel_mcp.cli.main import run

def said(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run([*words, "--json"])
    return [code, json.loads(out.getvalue())]

first = said("count", FILE)
print(json.dumps([first, said("replay", first[1]["attempt"])]))
"""


@pytest.mark.sandbox
def test_a_verb_is_a_command_and_its_record_is_replayed(sandbox: Sandbox, package: Path, tmp_path: Path) -> None:
    del sandbox  # its image is there then
    file = tmp_path / "add.map"
    file.write_text(ADD)
    code = AT_A_SHELL.replace("FILE", repr(str(file)))
    counted, replayed = json.loads(in_a_new_process(code, package, AMDKERNEL_DATA_DIR=str(tmp_path)))
    assert (counted[0], counted[1]["loads"]) == (0, 2), counted
    assert replayed[0] == 0, replayed
    assert (replayed[1]["replayed"], replayed[1]["holds"]) == (counted[1]["attempt"], True)


@pytest.mark.thorough
@pytest.mark.sandbox
def test_a_command_of_a_verb_works_on_a_server_that_has_the_package(
    sandbox: Sandbox, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del sandbox  # its image is there then
    file = tmp_path / "add.map"
    file.write_text(ADD)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (package, PAGE.parent.parent))))
    monkeypatch.setenv("AMDK_TOKEN", ANN)
    with http_server(tmp_path, tokens=f"{ANN} ann\n") as server:
        asked = [AMDKERNEL, "count", str(file), "--json", "--url", server.url]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=AT_MOST_S)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["loads"] == 2, answer
        listed = subprocess.run(
            [AMDKERNEL, "jobs", "--json", "--url", server.url], capture_output=True, text=True, check=False
        )
        assert [job["verb"] for job in json.loads(listed.stdout)["jobs"]] == ["count"], listed


def packaged(folder: Path, name: str, entry_points: str) -> None:
    """What an installer writes about a package."""
    described = folder / f"{name}-2.1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1\n")
    (described / "entry_points.txt").write_text(entry_points)


def test_a_server_that_cannot_load_a_verb_ends_with_one_line_that_names_the_package(tmp_path: Path) -> None:
    packaged(tmp_path, "gone", "[amdkernel_mcp.verbs]\na = gone:VERB\n")
    command = [sys.executable, "-m", "amdkernel_mcp.stdio.main", "--no-relay"]
    around = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=around, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    [line] = done.stderr.splitlines()
    assert "'a' of the package gone 2.1 (amdkernel_mcp.verbs) cannot be loaded" in line


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("MAP = 5", "is not an object that is a Language"),
        ("class MAP:\n    speaks = read_plan = fixed = toolchain = name = options = words = None", "is not an object"),
        ("import nothing_of_this_name", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(tmp_path: Path, module: str, said: str) -> None:
    name = f"unusable_{abs(hash(module))}"
    packaged(tmp_path, name, f"[amdkernel_mcp.languages]\na = {name}:MAP\n")
    (tmp_path / f"{name}.py").write_text(f"{module}\n")
    with searched_too(tmp_path), pytest.raises(InfrastructureError, match=said) as refused:
        language_of(ADD, "add.map")
    assert f"{name} 2.1" in refused.value.message
    assert refused.value.hint
