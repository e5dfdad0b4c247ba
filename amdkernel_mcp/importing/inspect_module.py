"""Runs a PyTorch module once in the sandbox, to find out what goes in, what comes out and which sizes it has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.errors import ImportRefused
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.importing.inspection import Inspection, Refusal, read_inspection

TIMEOUT_S = 300.0


@dataclass(frozen=True)
class ModuleFile:
    """The text of a PyTorch module, and the file it came from.

    mode: train, as modules start, or eval. tests: values of sizes that its author tests.
    """

    text: str
    file: str
    mode: str = "train"
    tests: tuple[Mapping[str, int], ...] = ()


def inspect_module(sandbox: Sandbox, module: ModuleFile, sizes: Mapping[str, int]) -> Inspection:
    """What the module is with sizes that can be emulated; `sizes`: those that the user chose.

    Raises ImportRefused with the reason; SandboxError, ToolchainError where there is no PyTorch.
    """
    scripts = {path.name: path.read_bytes() for path in (bundled_folder("sandbox") / "modules").glob("*.py")}
    tests = [dict(each) for each in module.tests]
    job = json.dumps({"text": module.text, "mode": module.mode, "sizes": dict(sizes), "tests": tests}).encode()
    command = ["python3", "inspect_module.py"]
    completed = sandbox.run("torch", command, {**scripts, "job.json": job}, timeout_s=TIMEOUT_S)
    reason = None
    if completed.timed_out:
        reason = f"running it took more than {TIMEOUT_S:g} s"
    elif completed.out_of_memory or completed.exit_code == 137:
        reason = "it needs more memory than the sandbox has"
    elif "answer.json" not in completed.files:
        reason = f"it ended the interpreter (exit code {completed.exit_code})"
        if "No module named 'torch'" in completed.stderr:
            reason = "Python has no torch here: install PyTorch for the Python that runs jobs"
    if reason:
        raise ImportRefused(f"size: {reason}" if "memory" in reason or "took" in reason else reason, file=module.file)
    try:
        found = read_inspection(completed.files["answer.json"])
    except ValueError:
        raise ImportRefused("it overwrote the answer about itself", file=module.file) from None
    if isinstance(found, Refusal):
        raise ImportRefused(f"{found.error.code}: {found.error.message}", file=module.file)
    return found
