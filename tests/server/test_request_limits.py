"""The limits that docs/serve.md states are those of the code."""

from pathlib import Path

from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE

from amdkernel_mcp.execution.jobs import UNFINISHED_PER_OWNER
from amdkernel_mcp.kernel_source import MAX_BYTES
from amdkernel_mcp.server.limits import MESSAGE_BYTES, REQUEST_BURST, REQUESTS_PER_S

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_the_page_states_the_limits_of_the_code() -> None:
    page = PAGE.read_text()
    assert f"more than {REQUESTS_PER_S:g} requests a second from one user, after {REQUEST_BURST:,} at once" in page
    assert f"more than {UNFINISHED_PER_OWNER} unfinished jobs" in page
    assert f"a kernel over {MAX_BYTES >> 20} MiB" in page
    assert f"a message over {MESSAGE_BYTES >> 20} MiB" in page


def test_over_http_the_library_has_the_same_limit_for_a_message() -> None:
    assert DEFAULT_MAX_REQUEST_BODY_SIZE == MESSAGE_BYTES


def test_a_message_has_room_for_a_kernel_and_its_baseline_however_they_are_escaped() -> None:
    assert MESSAGE_BYTES >= 2 * MAX_BYTES
