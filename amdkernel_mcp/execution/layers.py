"""Our layers on a base with a compiler: which files of sandbox/ they hold, and the script that builds the rest.

A layer is named by a hash of its parent and its own files, so that a change rebuilds it and the layers above it only.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.bundled import folder

SETUP_HINT = "`amdkernel setup` builds it"


@dataclass(frozen=True)
class Step:
    """One layer: files of sandbox/ by their place in /opt/amdkernel, and the script that makes the rest from them."""

    repository: str
    script: str
    contents: tuple[tuple[str, str], ...]  # (below sandbox/, below /opt/amdkernel)
    hip_python: bool = False
    # Below sandbox/: the pinned wheels that the script finds in `wheels`, and the Python that they are for.
    wheels: tuple[tuple[str, tuple[int, int]], ...] = ()


STEPS = (
    Step(
        "amdkernel-compiler", "image/build_compiler.sh", (("image/compile", "compile"), ("image/check.sh", "check.sh"))
    ),
    Step(
        "amdkernel-sandbox",
        "image/build_runner.sh",
        (("runner", "runner"), ("emulator", "emulator"), ("image/hip-python.txt", "hip-python.txt")),
        hip_python=True,
    ),
)
COMPILER_STEP = STEPS[0]
IMAGE_STEPS = (*STEPS, Step("amdkernel-sandbox", "image/build_init.sh", (("image/init.c", "init.c"),)))
"""Of an image: the containers' PID 1 lies on top, because it takes a second to build and the emulator minutes."""

TRITON_STEP = Step(
    "amdkernel-triton",
    "image/build_triton.sh",
    (("image/triton.txt", "triton.txt"), ("image/flydsl.txt", "flydsl.txt")),
    wheels=(("image/triton.txt", (3, 12)), ("image/flydsl.txt", (3, 14))),
)
"""The layer on the base image in which kernels in Triton and FlyDSL are compiled; the PID 1 lies on top.

Triton's wheel is for Python 3.12 and every later one, FlyDSL's for that of the base image alone.
"""


def step_name(step: Step, parent: str) -> str:
    """Name of the image that `step` makes from the image called `parent`."""
    digest = hashlib.sha256(parent.encode())
    for path, file in (step_files(step) | {"": folder("sandbox") / step.script}).items():
        content = file.read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return f"{step.repository}:{digest.hexdigest()[:16]}"


def step_files(step: Step) -> dict[str, Path]:
    """The files that a step puts into the image, by their path below /opt/amdkernel."""
    found: dict[str, Path] = {}
    for source, target in step.contents:
        root = folder("sandbox") / source
        if root.is_file():
            found[target] = root
        for path in sorted(root.rglob("*")):
            if path.is_file() and not _is_by_product(path):
                found[f"{target}/{path.relative_to(root)}"] = path
    return found


def _is_by_product(path: Path) -> bool:
    return "__pycache__" in path.parts or path.suffix in (".pyc", ".o", ".so", ".d", ".md") or path.name.startswith(".")
