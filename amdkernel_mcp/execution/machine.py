"""What this machine has: targets, set-up, doctor, and what the emulator knows. `engine.machine` is one of these."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import AmdkernelError, DatabaseError
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.results.machine import ArchCoverage, CoverageResult, DoctorResult, TargetInfo, TargetsResult


class Machine:
    """The verbs about the machine. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        sandboxes: Sandboxes,
        hip_version: Callable[[], str | None],
        quarantined: Callable[[], Mapping[str, str]],
    ) -> None:
        """`hip_version`: of the headers that this machine's kernels are compiled with, None where it is not known.
        `quarantined`: ids of the GPUs on which nothing runs, and why; asked only where there are GPUs."""
        self._settings = settings
        self._sandboxes = sandboxes
        self._hip_version = hip_version
        self._quarantined = quarantined

    def targets(self) -> TargetsResult:
        """Where code can run."""
        from amdkernel_mcp.execution.open_sandbox import why_not_ready
        from amdkernel_mcp.execution.targets import list_targets

        here: dict[str, object] = {"rocm": self._hip_version()}
        if missing := why_not_ready(self._settings):
            note = "; ".join(filter(None, [missing.message, missing.hint]))
            here |= {"ready": False, "note": note}
        found = [
            one.model_copy(update=here) if one.name.partition(":")[0] in ("emulator", "local") else one
            for one in list_targets(self._settings, self._sandboxes.workers)
        ]
        return TargetsResult(targets=self._fit_for_use(found))

    def _fit_for_use(self, found: list[TargetInfo]) -> list[TargetInfo]:
        """The targets; a GPU that is quarantined, or of which that cannot be known, is not ready."""
        if not any(one.gpu_id for one in found):
            return found
        try:
            reasons = self._quarantined()
        except DatabaseError as error:  # without it there are no leases either
            unknown = {"ready": False, "note": error.message}
            return [one.model_copy(update=unknown) if one.gpu_id else one for one in found]
        held = {one.name: reasons.get(one.gpu_id or "") for one in found}
        return [
            one.model_copy(update={"ready": False, "note": f"quarantined: {why}", "quarantine": why})
            if (why := held.get(one.name))
            else one
            for one in found
        ]

    def why_not_ready(self) -> str | None:
        """Why no kernel can be compiled here now; None if one can. The first call opens the sandbox."""
        try:
            connected = self._sandboxes.without_gpu().is_connected()
        except AmdkernelError as error:
            return error.message
        return None if connected else "the sandbox does not answer"

    def why_not_hang(self, name: str | None) -> str | None:
        """Why nothing that may hang is started on a target unasked; None: emulated, or a reset ends its own work alone.

        Raises UnknownTargetError, TargetError, SandboxError, ToolchainError.
        """
        from amdkernel_mcp.execution.gpu_idle import why_not_hang
        from amdkernel_mcp.execution.targets import find_target

        target = find_target(name, self._settings, self._sandboxes.workers)
        if target.kind == "emulator":
            return None
        return why_not_hang(target.name, self._sandboxes.look_at(target))

    def doctor(self) -> DoctorResult:
        """What is installed, what is missing, and the command that fixes it."""
        from amdkernel_mcp.execution.setup.doctor import doctor

        return doctor(self._settings)

    def setup(
        self,
        on_progress: Progress,
        *,
        host: str | None = None,
        prune: bool = False,
        torch: bool = False,
        triton: bool = False,
        compiler: str | None = None,
        base: str | None = None,
    ) -> bool:
        """Build the sandbox image where it is missing or of another release; `torch`, `triton`: the one with it, too.
        `compiler`: that of this HIP release, to compare with.

        prune: remove images not used. base: a Debian image into which Docker installs the packages. Returns whether the
        sandbox image was missing.
        """
        from amdkernel_mcp.execution.setup.build import setup, setup_compiler, setup_torch, setup_triton
        from amdkernel_mcp.execution.setup.prune import prune as remove_unused_images

        made = setup(self._settings, on_progress, host=host, base=base)
        if torch:
            setup_torch(self._settings, on_progress, host=host)
        if triton:
            setup_triton(self._settings, on_progress, host=host)
        if compiler:
            setup_compiler(self._settings, on_progress, compiler)
        if prune:
            remove_unused_images(self._settings, on_progress, host=host)
        return bool(made.built)

    def coverage(self, paths: Sequence[Path]) -> CoverageResult:
        """Which instructions of code objects, bundles and programs the emulator does not know."""
        from amdkernel_mcp.execution.runner.coverage import coverage_of_files, read_files

        files = read_files(paths)
        return coverage_of_files(self._sandboxes.without_gpu(), files)

    def instructions(self, arch: str) -> ArchCoverage:
        """Which instructions of an architecture the emulator does not know."""
        from amdkernel_mcp.execution.runner.coverage import coverage_of_arch

        return coverage_of_arch(self._sandboxes.without_gpu(), arch)
