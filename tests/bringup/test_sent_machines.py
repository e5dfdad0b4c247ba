"""How a machine is sent, and what becomes of it: the issue form, the workflow of a fork, the page of seen machines."""

import json
import re
import runpy
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml

from amdkernel_mcp.bringup.archive import check_folder, write_archive
from amdkernel_mcp.cli.app import app

ROOT = Path(__file__).parents[2]
FORMS = [file for file in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if file.name != "config.yml"]
WORKFLOW = ROOT / ".github/workflows/bringup.yml"
# Source: GitHub documentation, "Syntax for GitHub's form schema".
FIELDS = {
    "markdown": {"value"},
    "input": {"label", "description", "placeholder", "value"},
    "textarea": {"label", "description", "placeholder", "value", "render"},
    "dropdown": {"label", "description", "options", "multiple", "default"},
    "checkboxes": {"label", "description", "options"},
}


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that these words after `amdkernel` begin with, and the rest of them. Fails where there is none."""
    found: Any = typer.main.get_command(app)
    while words and hasattr(found, "commands") and words[0] not in [each for one in found.params for each in one.opts]:
        assert words[0] in found.commands, f"amdkernel has no command {words[0]}"
        found, words = found.commands[words[0]], words[1:]
    return found, words


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_is_one_that_github_shows_and_names_commands_that_there_are(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    form = yaml.safe_load(text)
    assert set(form) <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert form["name"]
    assert form["description"]
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    for field in form["body"]:
        assert set(field) <= {"type", "id", "attributes", "validations"}
        assert set(field["attributes"]) <= FIELDS[field["type"]], field
        assert field["attributes"].get("label") or field["type"] == "markdown"
        assert set(field.get("validations", {})) <= {"required"}
    for command in re.findall(r"`amdkernel ([^`]+)`", text):
        command_of(shlex.split(command))


def test_the_form_of_a_machine_takes_what_a_bringup_leaves(tmp_path: Path) -> None:
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/machine.yml").read_text(encoding="utf-8"))
    page = (ROOT / "docs/bringup.md").read_text(encoding="utf-8")
    assert f'issue form "{form["name"]}"' in page
    archive = next(field for field in form["body"] if field["id"] == "archive")["attributes"]["description"]
    made = write_archive(tmp_path, "bringup-1", {"bringup.json": b"{}"}, [])
    suffix = "".join(made.suffixes)
    assert suffix in (".tar.zst", ".tar.gz")
    assert {".tar.zst", ".tar.gz"} <= set(re.findall(r"\.tar\.\w+", archive)), "a form that knows both"


def test_the_workflow_runs_a_bringup_with_options_that_there_are(tmp_path: Path) -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    flow = yaml.safe_load(text)
    dispatch = flow[True]["workflow_dispatch"]  # YAML 1.1 reads the key `on` as a truth
    assert set(flow[True]) == {"workflow_dispatch"}, "nothing starts it by itself"
    assert flow["permissions"] == {"contents": "read"}
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(dispatch["inputs"])
    [job] = flow["jobs"].values()
    assert "self-hosted" in job["runs-on"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    kept = next(step["with"]["path"] for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    targets = [line.removeprefix("make ") for line in runs if line.startswith("make ")]
    done = subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (targets, done.returncode) == (["setup"], 0), done.stderr
    [line] = [line for line in runs if "amdkernel " in line]
    words = shlex.split(re.sub(r"\$\{\{.*?'(--\w+)'.*?\}\}", r"\1", line))
    assert not re.search(r"\$\{\{(?!.*&& '--\w+' \|\| '')", line), "an input in a shell is code: it goes through env"
    command, rest = command_of(words[1:])
    with command.make_context("bringup", rest) as context:
        assert (context.params["target"], context.params["hang"]) == ("$TARGET", True)
        assert str(context.params["to"]) == kept.rstrip("/")
    assert set(re.findall(r"\$(\w+)", line)) <= set(job["env"])
    check_folder(tmp_path / "bringup")  # made where it is missing


def seen_on(root: Path) -> str:
    script = runpy.run_path(str(ROOT / "scripts/generate_docs.py"))
    script["seen_on"].__globals__["ROOT"] = root
    page: str = script["seen_on"]()
    return page


def test_a_machine_that_was_sent_is_a_row_with_its_driver_gpus_and_promises(tmp_path: Path) -> None:
    seen = tmp_path / "tests/gpu_host/seen"
    seen.mkdir(parents=True)
    host: dict[str, object] = {"entries": {"/sys/module/amdgpu/version": {"text": "6.16.6\n"}}, "nodes": {}}
    host |= {"kernel": "6.8.0", "cgroup": 2, "groups": [], "root": False, "space": {}, "names": []}
    answer = {
        "probes": [{"id": "listed", "found": "HOST:0 MI300X (gfx942)"}],
        "promises": {"listed": "holds", "timed": "broken"},
    }
    for name, entries in (("rented", host["entries"]), ("without_version", {})):
        files = {
            "bringup.json": json.dumps(answer).encode(),
            "readings/host.json": json.dumps(host | {"entries": entries}).encode(),
        }
        write_archive(seen, name, files, [])
    page = seen_on(tmp_path)
    row = "recorded | {} | HOST:0 MI300X (gfx942) | listed holds, timed broken |"
    assert f"| rented | {row.format('6.16.6')}" in page
    assert f"| without_version | {row.format('of kernel 6.8.0')}" in page


def test_every_machine_of_the_tests_is_a_row_of_the_page() -> None:
    page = (ROOT / "docs/seen_on.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    box = ROOT / "tests/gpu_host"
    assert len(rows) == len([*box.glob("trees/*.toml"), *box.glob("seen/*.tar.*")]) > 10
    assert all(line.count(" | ") == 4 for line in rows), "a column is missing, or a text has a bar"
