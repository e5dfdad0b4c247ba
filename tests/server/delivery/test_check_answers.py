"""The text of a check or a benchmark has what counts; what was found wrong is in it with all cases."""

import json
from typing import Any

import mcp_types
import pytest
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import BenchmarkResult, CaseResult, CheckResult, Finding, Metric, RanCode
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.server.delivery.deliver import Delivery

pytestmark = pytest.mark.anyio
Asked = MiddlewareContext[mcp_types.CallToolRequestParams]
CASES = [CaseResult(case=f"n={n}", held_out=False, verdict="correct", reason="right") for n in range(9)]
CORRECT = CheckResult(verdict="correct", reason="all 9 cases are correct", cases=CASES, attempt="k1")
FOUND = CORRECT.model_copy(update={"findings": [Finding(kind="suspicious", message="a constant would pass")]})
WRONG = CORRECT.model_copy(update={"verdict": "incorrect"})


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


async def test_what_is_wrong_is_in_the_text_with_its_cases() -> None:
    answer = WRONG.model_dump(mode="json")
    assert await said("check_kernel", answer) == answer


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
