"""Parameters and hints that several tools share."""

from typing import Annotated, Literal

from mcp_types import ToolAnnotations
from pydantic import Field

Path = Annotated[
    str | None, Field(description="Kernel file on this machine (stdio server only); or use `source`", max_length=4096)
]
Source = Annotated[
    str | None, Field(description="Full text of the kernel file (HIP device code); or use `path`", max_length=1 << 20)
]
Problem = Annotated[
    str,
    Field(
        description="Name of a bundled problem, e.g. row_softmax, or a folder with problem.toml",
        min_length=1,
        max_length=4096,
    ),
]
Target = Annotated[
    str | None, Field(description="Where to run it, from list_targets; default: an emulated MI300X", max_length=200)
]
Schedules = Annotated[
    int | None,
    Field(
        ge=0, le=32, description="Number of other orders of waves and workgroups that the emulator tries; default: 2"
    ),
]
Order = Annotated[int | None, Field(ge=1, description="Replay one order: the seed in a `non_deterministic` finding")]
Arch = Literal["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
WaitS = Annotated[
    float,
    Field(ge=0, le=300, description="Seconds to wait; then the call returns status `running` and a job_id for get_job"),
]

# `openWorldHint` is false everywhere: no tool accesses anything but the sandbox and the targets. Some clients run a
# tool without asking only if all four hints say that it is harmless.
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
RUNS_IN_SANDBOX = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MEASURES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
