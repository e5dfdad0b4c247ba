"""The loop that the stand-in model takes: from the list of targets to a lesson, a wrong kernel and mistakes included.

Each answer must reach the model whole: it is JSON that the result model of the tool accepts, with every key.
"""

import importlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from amdkernel_mcp.stdio.handshake import FILE
from tests.clients.stand_in_model import Answer, Call, Json, Script, Tools
from tests.tools.names import NAMES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KERNELS = EXAMPLES / "row_softmax" / "kernels"
DOES_NOT_COMPILE = 'extern "C" __global__ void twice(float* y)\n{\n    y[threadIdx.x] *= undeclared;\n}\n'
STEPS = [
    "list_targets",
    "list_problems",
    "read_doc",
    "search_docs",
    "create_problem",
    "compile_kernel",
    "compile_kernel",
    "check_kernel",
    "check_kernel",
    "check_kernel",
    "benchmark_kernel",
    "profile_kernel",
    "profile_kernel",
    "list_attempts",
    "note_lesson",
    "list_jobs",
]
Step = Generator[Call, Answer, Json]


def first_steps(prefix: str, tools: Tools) -> Script:
    """All tools are there in the first turn, and one can be called."""
    _require_all_tools(prefix, tools)
    targets = yield from _call(prefix, "list_targets")
    assert any(target["name"] == "emulator:gfx942" for target in targets["targets"]), targets


def whole_loop(prefix: str, tools: Tools) -> Script:
    """The steps of STEPS; a call that is still running is followed with get_job."""
    yield from first_steps(prefix, tools)
    yield from _read(prefix)
    yield from _write(prefix)
    yield from _measure(prefix)


def _read(prefix: str) -> Step:
    problems = yield from _call(prefix, "list_problems")
    assert {"row_softmax", "vector_add"} <= {problem["name"] for problem in problems["problems"]}
    page = yield from _call(prefix, "read_doc", ref="problem:row_softmax")
    assert "extern" in page["text"], "the page of a problem has a kernel to start from"
    found = yield from _call(prefix, "search_docs", query="bank conflicts of the LDS", also=["shared memory stride"])
    assert found["results"], found
    return {}


def _write(prefix: str) -> Step:
    """A problem of its own, a kernel that does not compile, one that does, wrong ones and right ones."""
    vector_add = EXAMPLES / "vector_add"
    texts = {name: (vector_add / name.replace("_", ".")).read_text() for name in ("problem_toml", "reference_py")}
    yield from _call(prefix, "create_problem", name="my_vector_add", **texts)
    refused = yield from _call(prefix, "compile_kernel", source=DOES_NOT_COMPILE)
    assert not refused["ok"]
    assert [found["line"] for found in refused["diagnostics"] if found["severity"] == "error"] == [3]
    built = yield from _call(prefix, "compile_kernel", path=str(KERNELS / "naive.hip"))
    assert built["ok"], built
    wrong = yield from _call(prefix, "check_kernel", problem="row_softmax", source=_text("broken_tail.hip"))
    assert (wrong["verdict"], wrong["findings"][0]["line"]) == ("incorrect", 12)
    right = yield from _call(prefix, "check_kernel", problem="row_softmax", path=str(KERNELS / "better.hip"))
    assert right["verdict"] == "correct", right["reason"]
    mine = (vector_add / "kernels" / "naive.hip").read_text()
    right = yield from _call(prefix, "check_kernel", problem="my_vector_add", source=mine)
    assert right["verdict"] == "correct", right["reason"]
    return {}


def _measure(prefix: str) -> Step:
    both = {"path": str(KERNELS / "better.hip"), "baseline_path": str(KERNELS / "naive.hip")}
    timed = yield from _call(prefix, "benchmark_kernel", problem="row_softmax", **both)
    assert timed["verdict"] in ("faster", "inconclusive"), timed["reason"]
    for name in ("naive.hip", "better.hip"):
        profile = yield from _call(prefix, "profile_kernel", problem="row_softmax", source=_text(name))
        assert profile["kernels"][0]["metrics"], profile
    attempts = yield from _call(prefix, "list_attempts", problem="row_softmax")
    assert len(attempts["attempts"]) >= 3, attempts
    lesson = "One pass over a row is enough."
    yield from _call(prefix, "note_lesson", attempt=attempts["attempts"][0]["id"], lesson=lesson)
    jobs = yield from _call(prefix, "list_jobs")
    assert jobs["jobs"], jobs
    return {}


def _call(prefix: str, tool: str, **arguments: Any) -> Step:
    """Call it, and wait for its end if it is still running."""
    answer = yield Call(prefix + tool, arguments)
    result = _whole(tool, answer)
    while result.get("status") in ("queued", "running"):
        answer = yield Call(prefix + "get_job", {"job_id": result["job_id"]})
        job = _whole("get_job", answer)
        assert job["status"] not in ("failed", "cancelled"), job
        result = job if job["status"] in ("queued", "running") else job[tool.removesuffix("_kernel")]
    return result


def _whole(tool: str, answer: Answer) -> Json:
    """The answer as JSON. Raises AssertionError where the model got an error, a part, or something around it."""
    assert not answer.failed, f"{tool} answered with an error: {answer.text[:2000]}"
    hints = get_type_hints(getattr(importlib.import_module(f"tools.{tool}"), tool))
    try:
        TypeAdapter(hints["return"]).validate_json(answer.text)
    except ValueError as error:
        raise AssertionError(f"the model did not see the whole answer of {tool}: {answer.text!r}") from error
    result: Json = json.loads(answer.text)
    return result


def _require_all_tools(prefix: str, tools: Tools) -> None:
    """Every tool, with the whole of its description and all parameters, as the server lists it."""
    recorded = json.loads(FILE.read_bytes())["handshake"]["tools/list"]["tools"]
    assert sorted(name.removeprefix(prefix) for name in tools if name.startswith(prefix)) == NAMES
    for tool in recorded:
        offered = tools[prefix + tool["name"]]
        assert tool["description"].strip() in offered.description, f"cut: {offered.description!r}"
        assert offered.parameters >= set(tool["inputSchema"]["properties"]), f"{tool['name']}: {offered.parameters}"


def _text(kernel: str) -> str:
    return (KERNELS / kernel).read_text()
