"""The text of a check or a benchmark has what counts: what is wrong comes first, with the cases that are wrong."""

import json
from typing import Any

import mcp_types
import pytest
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CaseResult, CheckResult, Finding, Metric, RanCode, Worst
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.server.delivery.deliver import Delivery

pytestmark = pytest.mark.anyio
Asked = MiddlewareContext[mcp_types.CallToolRequestParams]
CASES = [CaseResult(case=f"n={n}", held_out=False, verdict="correct", reason="right") for n in range(9)]
CORRECT = CheckResult(verdict="correct", reason="all 9 cases are correct", cases=CASES, attempt="k1")
FOUND = CORRECT.model_copy(update={"findings": [Finding(kind="suspicious", message="a constant would pass")]})
WORST = Worst(argument="y", index=[3], got=1.5, expected=2.5)
BAD = CaseResult(case="n=77", held_out=True, verdict="incorrect", reason="1 of 77 is wrong", violations=1, worst=WORST)
LINE = Finding(kind="race", message="two waves store to y[3]", line=12)
WRONG = CORRECT.model_copy(update={"verdict": "incorrect", "cases": [*CASES, BAD], "findings": [LINE]})


async def said(tool: str, answer: dict[str, Any]) -> dict[str, Any]:
    async def tool_itself(context: Asked) -> ToolResult:  # noqa: ARG001 - the middleware gives it
        return ToolResult(structured_content=answer)

    asked = MiddlewareContext(message=mcp_types.CallToolRequestParams(name=tool, arguments={}))
    result = await Delivery().on_call_tool(asked, tool_itself)
    assert result.structured_content == answer
    [content] = result.content
    assert isinstance(content, mcp_types.TextContent)
    return dict(json.loads(content.text))


async def test_a_correct_kernel_gets_a_short_text_also_from_a_job() -> None:
    text = await said("check_kernel", CORRECT.model_dump(mode="json"))
    assert CheckResult.model_validate(text).attempt == "k1"
    assert not {"cases", "seeds", "job_id"} & set(text)
    job = {**JobResult(job_id="job-1", status="done").model_dump(mode="json"), "check": CORRECT.model_dump(mode="json")}
    assert (await said("get_job", job))["check"] == text


async def test_what_is_wrong_comes_first_in_the_text_with_its_cases_alone() -> None:
    answer = WRONG.model_dump(mode="json")
    text = await said("check_kernel", answer)
    assert [*text][:3] == ["status", "verdict", "reason"]
    assert [each["case"] for each in text["cases"]] == ["n=77"]
    assert text["cases"][0]["worst"]["got"] == 1.5
    assert CheckResult.model_validate(text).findings == WRONG.findings
    assert len(json.dumps(text)) < 900 < len(json.dumps(answer))
    job = {**JobResult(job_id="job-1", status="done").model_dump(mode="json"), "check": answer}
    brought = await said("get_job", job)
    assert brought["check"] == text
    assert None not in brought.values()


async def test_two_of_many_wrong_cases_are_in_the_text() -> None:
    many = [BAD.model_copy(update={"case": f"n={n}"}) for n in range(5)]
    text = await said("check_kernel", WRONG.model_copy(update={"cases": many}).model_dump(mode="json"))
    assert [each["case"] for each in text["cases"]] == ["n=0", "n=1"]
    assert text["left_out"][0] == "3 more wrong cases"


async def test_what_is_found_in_a_correct_kernel_is_in_the_text_without_its_cases() -> None:
    text = await said("check_kernel", FOUND.model_dump(mode="json"))
    assert text["findings"] == [{"kind": "suspicious", "message": "a constant would pass"}]
    assert "cases" not in text
    assert len(json.dumps(text)) < 600


async def test_the_text_of_a_benchmark_has_the_verdict_and_what_did_not_run_but_no_counters() -> None:
    unrun = RanCode(instructions_not_run=2, lines_not_run=[[7, 7]], not_run="line 7 ran in no case")
    counter = Metric(value=64.0, evidence="emulated", unit="waves")
    whole = BenchmarkResult(
        verdict="faster", reason="2 times", speedup=Interval(value=2, low=1.5, high=3), coverage=unrun,
        counters={"SQ_WAVES": counter}, limits_us={"memory": Quantity(value=3.0, evidence="modelled")},
        left_out=["3 of 9 findings"],
    )  # fmt: skip
    answer = whole.model_dump(mode="json")
    text = await said("benchmark_kernel", answer)
    left_out = ["3 of 9 findings", "counters, hashes: in the structured content"]
    assert BenchmarkResult.model_validate(text) == whole.model_copy(update={"counters": {}, "left_out": left_out})
    job = JobResult(job_id="job-1", status="done").model_dump(mode="json")
    assert (await said("get_job", {**job, "benchmark": answer}))["benchmark"] == text
