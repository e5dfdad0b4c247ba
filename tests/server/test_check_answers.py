"""The text of a check has what counts; where there is more to say than its sentence, it has the whole."""

import json
from typing import Any

import mcp_types
import pytest
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.tools import ToolResult

from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import CaseResult, CheckResult, Finding
from amdkernel_mcp.server.sparse import SparseAnswers

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
    result = await SparseAnswers().on_call_tool(asked, tool_itself)
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


@pytest.mark.parametrize("check", [FOUND, WRONG])
async def test_what_is_wrong_or_found_is_in_the_text_with_its_cases(check: CheckResult) -> None:
    answer = check.model_dump(mode="json")
    assert await said("check_kernel", answer) == answer
