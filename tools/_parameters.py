"""Parameters and hints that several tools share."""

from typing import Annotated, Literal

from mcp_types import ToolAnnotations
from pydantic import Field

Path = Annotated[str | None, Field(description="File", max_length=4096)]
Source = Annotated[str | None, Field(description="Or its text", max_length=1 << 20)]
Problem = Annotated[
    str,
    Field(
        description="Name, or local folder",
        min_length=1,
        max_length=4096,
    ),
]
Target = Annotated[str | None, Field(description="From list_targets", max_length=200)]
Case = Annotated[str | None, Field(description="n=4096")]
Schedules = Annotated[
    int | None,
    Field(ge=0, le=32, description="Other orders of waves; default 2"),
]
Order = Annotated[int | None, Field(ge=1, description="Replay the seed of a finding")]
Arch = Literal["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
WaitS = Annotated[
    float,
    Field(ge=0, le=300, description="Seconds"),
]

# `openWorldHint` is false everywhere: no tool accesses anything but the sandbox and the targets. Some clients run a
# tool without asking only if all four hints say that it is harmless.
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
RUNS_IN_SANDBOX = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
NOTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
MEASURES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)

SHOWN_AS_REPORT = {"ui": {"resourceUri": "ui://amdkernel/report"}}
"""In the `_meta` of a tool: a client with MCP Apps shows this page next to its answer. See reports.py."""
