"""The verb that imports a problem of another collection. `engine.imports` is one of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from amdkernel_mcp.importing.import_problem import (
    KERNEL,
    Imported,
    Means,
    import_module,
    problem_name,
    refuse_used,
    write_folder,
)
from amdkernel_mcp.importing.inspect_module import ModuleFile
from amdkernel_mcp.importing.task_folders import read_source
from amdkernel_mcp.problems.own_problems import OwnProblems
from amdkernel_mcp.problems.signature import signature
from amdkernel_mcp.results.problems import CreatedProblem, ImportedProblem, ScaledSize
from amdkernel_mcp.work import Work, doing

_SHOWN_CHARS = 6000  # of a drafted kernel: an answer has to fit into what a model reads at once


class Importer:
    """Makes problem folders of other collections' files. `means`: what an import needs of the machine."""

    def __init__(self, means: Callable[[Work], Means], own: OwnProblems) -> None:
        self._means = means
        self._own = own

    def problem(
        self,
        path: Path,
        *,
        to: Path,
        name: str | None = None,
        sizes: Mapping[str, int] | None = None,
        inference: bool = False,
        work: Work | None = None,
    ) -> ImportedProblem:
        """Make a problem folder in `to` from a PyTorch module or a task folder. PyTorch is installed on first use.

        sizes: values for whole numbers of the module, by name. inference: after `.eval()`.
        Raises ImportRefused with the reason, InputError, InfrastructureError.
        """
        module, name = read_source(path, "eval" if inference else "train"), problem_name(path, name)
        folder = to / name
        refuse_used(folder)
        work = work or Work()
        means = self._means(work)
        means.install_torch()
        with doing(work):
            imported = import_module(module, name, sizes or {}, means)
        write_folder(imported, folder)
        return _answer(imported, folder)

    def create(self, name: str, text: str, work: Work, *, shared: bool = False) -> CreatedProblem:
        """Store the problem of a PyTorch module's text for who asks, or for all. PyTorch must be installed.

        Raises ImportRefused with the reason, InputError for the name, InfrastructureError.
        """
        self._own.refuse_name(name, work.owner, shared=shared)
        means = self._means(work)
        with doing(work):
            made = import_module(ModuleFile(text, f"{name}.py"), name, {}, means)
        texts = (made.draft.declaration, made.draft.reference)
        limits, examine = means.limits, lambda _: None  # the import has examined it
        problem = self._own.create(name, *texts, work.owner, limits=limits, examine=examine, shared=shared)
        return CreatedProblem(
            name=name,
            hash=problem.hash,
            signature=signature(problem),
            cases=[case.name for case in problem.cases],
            warnings=[*(f"made smaller: {size} {a} to {b}" for size, (a, b) in made.changed.items()), *made.notes],
            kernel=made.kernel if len(made.kernel) <= _SHOWN_CHARS else None,
        )


def _answer(imported: Imported, folder: Path) -> ImportedProblem:
    problem = imported.problem
    return ImportedProblem(
        name=problem.name,
        folder=str(folder),
        kernel=str(folder / KERNEL),
        kernel_is_whole=imported.whole,
        hash=problem.hash,
        signature=signature(problem),
        cases=[case.name for case in problem.cases],
        scaled=[ScaledSize(name=name, original=there, value=here) for name, (there, here) in imported.changed.items()],
        warnings=list(imported.notes),
    )
