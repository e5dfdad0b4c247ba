"""Guard bands, damaged from the host: on the emulator a kernel's write into one is a fault before it is damage."""

import json

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
from guarded_buffer import GUARD_BYTES, GuardedBuffer
from job_plan import Buffer

found = {}

def damaged(name, repeat, *writes):
    buffer = GuardedBuffer(Buffer("y", 1000, "out", None), None, index=0, repeat=repeat)
    for offset, data in writes:
        hip_calls.write(buffer.address + offset, data)
    found[name] = [damage.as_json(repeat) for damage in buffer.damage()]
    found[name + " address"] = buffer.address % 4096
    buffer.free()

damaged("untouched", 0)
damaged("payload", 0, (0, b"x" * 1000))
damaged("just after", 0, (1000, b"x"))
damaged("just before", 1, (-1, b"x"))
damaged("both ends", 2, (-GUARD_BYTES, b"xy"), (1000 + GUARD_BYTES - 1, b"z"))
damaged("with the poison itself", 0, (1000, b"\\xff" * 16))
damaged("with the poison, next repeat", 1, (1000, b"\\xff" * 16))
open(os.environ["OUT"] + "/found.json", "w").write(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(sandbox: Sandbox) -> dict[str, list[dict[str, object]]]:
    command = [*runner_command(EMULATOR, RunnerJob("gfx942", b"", ()))[:-1], "program.py"]
    done = sandbox.run("run", command, {"program.py": PROGRAM.encode()}, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    values: dict[str, list[dict[str, object]]] = json.loads(done.files["found.json"])
    return values


def damage(side: str, offset: int, count: int, repeat: int) -> dict[str, object]:
    return {"buffer": "y", "side": side, "offset": offset, "bytes": count, "repeat": repeat}


@pytest.mark.parametrize("name", ["untouched", "payload"])
def test_writes_to_the_payload_are_no_damage(found: dict[str, list[dict[str, object]]], name: str) -> None:
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
    found: dict[str, list[dict[str, object]]], name: str, expected: list[dict[str, object]]
) -> None:
    assert found[name] == expected


def test_a_write_that_equals_the_poison_is_seen_in_the_next_repeat(found: dict[str, list[dict[str, object]]]) -> None:
    assert found["with the poison itself"] == []
    assert found["with the poison, next repeat"] == [damage("after", 0, 16, 1)]


def test_addresses_differ_between_repeats_and_keep_the_alignment(found: dict[str, list[dict[str, object]]]) -> None:
    addresses = [found[f"{name} address"] for name in ("untouched", "just before", "both ends")]
    assert len({str(address) for address in addresses}) == 3
    assert all(int(str(address)) % 256 == 0 for address in addresses)
