"""The page of a profile that an agent asked for: only its user can open the address that read_doc gives."""

from pathlib import Path

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.server.http_server import ANN, BOB, http_server
from tests.waiting import AT_MOST_S

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough]


async def test_a_person_opens_the_profile_that_an_agent_made(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox
    kernel = (folder("examples") / "histogram" / "kernels" / "better.hip").read_text()
    with http_server(tmp_path, tokens=f"{ANN} ann\n{BOB} bob\n") as server:
        transport = StreamableHttpTransport(server.url, headers={"Authorization": f"Bearer {ANN}"})
        async with Client(transport) as client:
            call = {"problem": "histogram", "source": kernel, "wait_s": 300}
            answer = (await client.call_tool("profile_kernel", call)).structured_content
            ref = f"attempt:{answer['attempt']}"
            url = (await client.call_tool("read_doc", {"ref": ref})).structured_content["url"]
        site = server.url.removesuffix("/mcp")
        assert url == f"{site}/attempts/{answer['attempt']}/profile"
        assert httpx.get(url, headers={"accept": "text/html"}, timeout=AT_MOST_S).status_code == 401
        for token, status in ((ANN, 200), (BOB, 404)):
            with httpx.Client(base_url=site, timeout=AT_MOST_S, follow_redirects=True) as browser:
                assert browser.post("/sign-in", data={"token": token}, headers={"origin": site}).status_code == 200
                page = browser.get(url)
                assert page.status_code == status
                assert ("Where the bytes go" in page.text) == (token == ANN), "the details were kept"
                assert page.headers["content-security-policy"].startswith("default-src 'none'")
