"""Guard bands, damaged from the host: on the emulator a kernel's write into one is a fault before it is damage."""

import json
from typing import Any

import pytest

from amdkernel_mcp.execution.runner.job import runner_command
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import RunnerJob

pytestmark = pytest.mark.sandbox

EMULATOR = Target("emulator:gfx942", "emulator", "gfx942", "MI300X")

PROGRAM = """
import json, os, sys
sys.path.insert(0, "/opt/amdkernel/runner")
import hip_calls
from guarded_buffer import GUARD_BYTES, GuardedBuffer, allocate_all, free_all
from job_plan import Buffer
from memory_layout import MemoryLayout

found = {}

def damaged(name, repeat, *writes):
    buffer = GuardedBuffer(Buffer("y", 1000, "out", None), None, shift=512, repeat=repeat)
    for offset, data in writes:
        hip_calls.write(buffer.address + offset, data)
    found[name] = [damage.as_json(repeat) for damage in buffer.damage()]
    buffer.free()

damaged("untouched", 0)
damaged("payload", 0, (0, b"x" * 1000))
damaged("just after", 0, (1000, b"x"))
damaged("just before", 1, (-1, b"x"))
damaged("both ends", 2, (-GUARD_BYTES, b"xy"), (1000 + GUARD_BYTES - 1, b"z"))
damaged("with the poison itself", 0, (1000, b"\\xff" * 16))
damaged("with the poison, next repeat", 1, (1000, b"\\xff" * 16))
buffer = Buffer("y", 1000, "out", None)
for name, seed in (("one", "a"), ("again", "a"), ("other", "b")):
    layout, places = MemoryLayout(seed), []
    for turn in range(40):
        buffers = allocate_all((buffer, buffer), [None, None], layout, repeat=turn)
        places.append([each.address % 4096 for each in buffers])
        free_all(buffers)
    found[name] = places
open(os.environ["OUT"] + "/found.json", "w").write(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(sandbox: Sandbox) -> dict[str, Any]:
    command = [*runner_command(EMULATOR, RunnerJob("gfx942", b"", ()))[:-1], "program.py"]
    done = sandbox.run("run", command, {"program.py": PROGRAM.encode()}, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    values: dict[str, Any] = json.loads(done.files["found.json"])
    return values


def damage(side: str, offset: int, count: int, repeat: int) -> dict[str, object]:
    return {"buffer": "y", "side": side, "offset": offset, "bytes": count, "repeat": repeat}


@pytest.mark.parametrize("name", ["untouched", "payload"])
def test_writes_to_the_payload_are_no_damage(found: dict[str, Any], name: str) -> None:
    assert found[name] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("just after", [damage("after", 0, 1, 0)]),
        ("just before", [damage("before", -1, 1, 1)]),
        ("both ends", [damage("before", -65536, 2, 2), damage("after", 65535, 1, 2)]),
    ],
)
def test_damage_is_told_with_its_side_offset_and_extent(
    found: dict[str, Any], name: str, expected: list[dict[str, object]]
) -> None:
    assert found[name] == expected


def test_a_write_that_equals_the_poison_is_seen_in_the_next_repeat(found: dict[str, Any]) -> None:
    assert found["with the poison itself"] == []
    assert found["with the poison, next repeat"] == [damage("after", 0, 16, 1)]


def test_places_are_drawn_from_the_seed_and_keep_the_alignment(found: dict[str, Any]) -> None:
    assert found["one"] == found["again"] != found["other"]
    shifts = {address % 4096 for turn in found["one"] for address in turn}
    assert len(shifts) == 16, "each multiple of 256 is used, in whichever turn"
    assert all(address % 256 == 0 for turn in found["one"] for address in turn)
