"""A code object loads if AMD's runtime accepts it, whoever wrote it. The others are refused with its reason."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.foreign_objects import Metadata, bundle, with_header, with_metadata

pytestmark = pytest.mark.sandbox

TRIPLED = 21
NO_BINARY_FOR_GPU, INVALID_IMAGE = 209, 200
GFX942, GFX90A, GENERIC = 0x4C, 0x3F, 0x5F
ANY, XNACK_ON, XNACK_OFF, SRAMECC_ON, SRAMECC_OFF = 0x500, 0x300, 0x200, 0xC00, 0x800  # of versions 4 to 6
XNACK_OF_3, SRAMECC_OF_3 = 0x100, 0x200
RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=100000,arena_mb=64
python3 load_each.py {names} >$OUT/printed 2>$OUT/errors
"""


def _target(value: str | None) -> Callable[[Metadata], None]:
    def change(metadata: Metadata) -> None:
        metadata.pop("amdhsa.target")
        if value is not None:
            metadata["amdhsa.target"] = value

    return change


def _as_assembler_of_others(metadata: Metadata) -> None:
    """Version 1.0, no target, few keys, two that are not known here."""
    metadata.pop("amdhsa.target")
    metadata["amdhsa.version"] = [1, 0]
    metadata["amdhsa.future"] = {"a": [1, 2.5, None, True, b"x"]}
    for kernel in metadata["amdhsa.kernels"]:
        for key in list(kernel):
            if key not in (".name", ".symbol", ".args"):
                del kernel[key]
        kernel[".cluster_dims"] = [1, 1, 1]


def _changed_kernel(key: str) -> Callable[[Metadata], None]:
    return lambda metadata: metadata["amdhsa.kernels"][0].pop(key)


ACCEPTED: dict[str, Callable[[bytes], bytes]] = {
    "version-4": lambda code: with_header(code, abi=2),
    "version-5": lambda code: with_header(code, abi=3),
    "version-6": lambda code: with_header(code, abi=4),
    "version-3": lambda code: with_header(code, abi=1, flags=GFX942 | SRAMECC_OF_3),
    "the-settings-of-the-device": lambda code: with_header(code, flags=GFX942 | SRAMECC_ON | XNACK_OFF),
    "no-settings": lambda code: with_header(code, flags=GFX942),
    "generic": lambda code: with_header(code, abi=4, flags=1 << 24 | GENERIC | ANY),
    "new-triple": lambda code: with_metadata(code, _target("amdgpu9.42-amd-amdhsa-unknown-gfx942")),
    "no-target": lambda code: with_metadata(code, _target(None)),
    "wrong-target": lambda code: with_metadata(code, _target("amdgcn-amd-amdhsa--gfx90a")),
    "few-and-unknown-keys": lambda code: with_metadata(code, _as_assembler_of_others),
    "bundle-of-new-triples": lambda code: bundle(
        [
            ("host-x86_64-unknown-linux-gnu-", b""),
            ("hipv4-amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack+", with_header(code, flags=GFX942 | XNACK_ON)),
            ("hipv4-amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack-", with_header(code, flags=GFX942 | XNACK_OFF)),
        ]
    ),
    "bundle-with-a-generic-one": lambda code: bundle(
        [("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", with_header(code, abi=4, flags=1 << 24 | GENERIC))]
    ),
}

Refused = tuple[Callable[[bytes], bytes], int, str]
REFUSED: dict[str, Refused] = {
    "another-gpu": (
        lambda code: with_header(code, flags=GFX90A | ANY),
        NO_BINARY_FOR_GPU,
        "the code object is for gfx90a, but the device is a gfx942",
    ),
    "xnack": (
        lambda code: with_header(code, flags=GFX942 | XNACK_ON),
        NO_BINARY_FOR_GPU,
        "for gfx942:xnack+, but the device is a gfx942:sramecc+:xnack-",
    ),
    "no-sramecc": (lambda code: with_header(code, flags=GFX942 | SRAMECC_OFF), NO_BINARY_FOR_GPU, "gfx942:sramecc-"),
    "version-3-of-any-xnack": (
        lambda code: with_header(code, abi=1, flags=GFX942 | SRAMECC_OF_3 | XNACK_OF_3),
        NO_BINARY_FOR_GPU,
        "for gfx942:sramecc+:xnack+",
    ),
    "version-2": (lambda code: with_header(code, abi=0), INVALID_IMAGE, "version 2, and only 3 to 6"),
    "version-7": (lambda code: with_header(code, abi=5), INVALID_IMAGE, "version 7, and only 3 to 6"),
    "another-system": (lambda code: with_header(code, os_abi=65), INVALID_IMAGE, "OS ABI 65"),
    "no-machine": (
        lambda code: with_header(code, flags=0),
        INVALID_IMAGE,
        "its machine is 0x0, though the metadata say amdgcn-amd-amdhsa--gfx942",
    ),
    "no-version": (
        lambda code: with_metadata(code, lambda metadata: metadata.pop("amdhsa.version")),
        INVALID_IMAGE,
        "have no amdhsa.version",
    ),
    "no-name": (lambda code: with_metadata(code, _changed_kernel(".name")), INVALID_IMAGE, "has no .name"),
    "no-symbol": (lambda code: with_metadata(code, _changed_kernel(".symbol")), INVALID_IMAGE, "has no .symbol"),
    "bundle-of-others": (
        lambda code: bundle([("hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", code)]),
        NO_BINARY_FOR_GPU,
        "the image has code for gfx942:xnack+, but the device is a gfx942:sramecc+:xnack-",
    ),
}

Outcome = tuple[int, int | None, str]


@pytest.fixture(scope="module")
def outcomes(sandbox: Sandbox, built: dict[str, bytes]) -> dict[str, Outcome]:
    """Of each file: what loading it returned, what its kernel stored, and what a person read."""
    code = built["triple-gfx942.co"]
    files = {name: make(code) for name, make in ACCEPTED.items()}
    files |= {name: make(code) for name, (make, _, _) in REFUSED.items()}
    script = (Path(__file__).parent / "load_each.py").read_bytes()
    command = RUN.format(names=" ".join(files))
    done = sandbox.run("run", ["sh", "-c", command], files | {"load_each.py": script}, timeout_s=300)
    assert done.exit_code == 0, done.files["errors"].decode()
    read = {}
    for part in done.files["errors"].decode().split("file ")[1:]:
        name, _, text = part.partition("\n")
        read[name] = text
    rows = [json.loads(line) for line in done.files["printed"].decode().splitlines()]
    return {name: (status, value, read[name]) for name, status, value in rows}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_code_object_that_the_runtime_accepts_runs(outcomes: dict[str, Outcome], name: str) -> None:
    status, value, read = outcomes[name]
    assert (status, value) == (0, TRIPLED), read


@pytest.mark.parametrize("name", REFUSED)
def test_one_that_the_runtime_refuses_is_refused_with_the_reason(outcomes: dict[str, Outcome], name: str) -> None:
    _, wanted, reason = REFUSED[name]
    status, _, read = outcomes[name]
    assert status == wanted, read
    assert reason in read
