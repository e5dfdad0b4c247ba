"""The examples of `deploy/` name commands, options, settings and metrics that exist."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from amdkernel_mcp.cli.app import app
from amdkernel_mcp.config import Settings
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.overview import Overview
from amdkernel_mcp.jobs.request import Request
from amdkernel_mcp.leases.gpu_health import KnownGpu
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.server.metrics import Counts, exposition

FOLDER = Path(__file__).resolve().parent.parent / "deploy"
UNIT = (FOLDER / "amdkernel.service").read_text()
WORKER_UNIT = (FOLDER / "amdkernel-worker.service").read_text()
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
DOCKERFILE = (FOLDER / "Dockerfile").read_text()


def commands() -> dict[str, list[str]]:
    """The arguments of `amdkernel` in each file."""
    start = re.search(r"^ExecStart=/opt/amdkernel/bin/amdkernel (.+)$", UNIT, re.MULTILINE)
    default = re.search(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert start is not None
    assert default is not None
    return {
        "amdkernel.service": shlex.split(start[1]),
        "compose.yaml": COMPOSE["services"]["server"]["command"],
        "Dockerfile": yaml.safe_load(default[1]),
    }


@pytest.mark.parametrize("file", ["amdkernel.service", "compose.yaml", "Dockerfile"])
def test_the_command_of_an_example_is_one_of_ours(file: str) -> None:
    verb, *arguments = commands()[file]
    command = typer.main.get_command(app)
    found = command.get_command(None, verb)  # type: ignore[attr-defined]
    context = found.make_context(verb, arguments, resilient_parsing=False)
    assert context.params["host"] in ("127.0.0.1", "0.0.0.0")


def test_the_unit_of_a_worker_starts_one_and_lets_it_drain() -> None:
    start = re.search(r"^ExecStart=/opt/amdkernel/bin/amdkernel (.+)$", WORKER_UNIT, re.MULTILINE)
    assert start is not None
    verb, *arguments = shlex.split(start[1])
    found = typer.main.get_command(app).get_command(None, verb)  # type: ignore[attr-defined]
    context = found.make_context(verb, arguments, resilient_parsing=False)
    assert context.params["token_file"] == Path("/etc/amdkernel/worker.token")
    assert "KillMode=mixed" in WORKER_UNIT, (
        "SIGTERM must not reach the tunnels and containers of what is to be finished"
    )


def test_every_variable_of_an_example_is_a_setting() -> None:
    named = re.findall(r"\bAMDKERNEL_[A-Z_]+", UNIT + WORKER_UNIT + DOCKERFILE)
    named += COMPOSE["services"]["server"]["environment"]
    assert len(named) >= 6
    assert [name for name in named if name.removeprefix("AMDKERNEL_").lower() not in Settings.model_fields] == []


def test_proxies_pass_events_on_at_once_and_hide_health_and_metrics() -> None:
    nginx, caddy = (FOLDER / "nginx.conf").read_text(), (FOLDER / "Caddyfile").read_text()
    assert "proxy_buffering off;" in nginx
    assert "X-Forwarded-For" in nginx
    assert "proxy_set_header Upgrade $http_upgrade;" in nginx, "for workers"
    assert "flush_interval -1" in caddy
    for path in ("healthz", "readyz", "metrics"):
        assert path in nginx
        assert f"/{path}" in caddy


def test_the_image_of_the_server_has_the_lock_and_nothing_that_pip_chose() -> None:
    installs = re.findall(r"pip install [^&]*", DOCKERFILE)
    assert len(installs) == 2
    assert all("--no-deps" in install for install in installs), installs
    assert re.findall(r"--requirement (\S+)", installs[0]) == [
        f"/src/requirements/{each}.txt" for each in ("team", "build")
    ]
    assert "--require-hashes" in installs[0]
    assert "pip check" in DOCKERFILE


def test_the_dashboard_asks_for_metrics_that_the_server_has() -> None:
    """By their names, and by the labels that it groups by."""
    counts = Counts()
    job = Job("job-1", "ann", Request("check"), "failed", error=ValueError("no"), begun_s=1.0, finished_s=2.0)
    job.answer = CheckResult(verdict="correct", reason="", target="gpu1:0")
    counts.job_ended(job)
    seen = Overview(running=(), waiting=(), now_s=0.0, workers=1, draining=False)
    text = exposition(counts, seen, [KnownGpu("gpu", "gpu1:0")])[0].decode()
    labels = {
        name: set(re.findall(r"(\w+)=", given)) for name, given in re.findall(r"^(\w+)\{(.*)\} ", text, re.MULTILINE)
    }
    labels |= {name: set() for name in re.findall(r"^(\w+) ", text, re.MULTILINE)}
    dashboard = json.loads((FOLDER / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) > 8
    for expression in asked:
        [metric] = re.findall(r"amdkernel_\w+", expression)
        by = {name for group in re.findall(r"by \(([\w, ]+)\)", expression) for name in group.split(", ")}
        assert by <= labels[metric], expression
    drawn = {
        metric.removesuffix("_bucket") for expression in asked for metric in re.findall(r"amdkernel_\w+", expression)
    }
    told = set(re.findall(r"`(amdkernel_\w+)`", (FOLDER.parent / "docs/deploy.md").read_text()))
    assert drawn == told, "the page's table and the dashboard have the same metrics"
