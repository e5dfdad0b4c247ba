"""Does the verbs of `verbs/` over one configuration, and opens the documentation, the machine and the attempts.

The command line and the MCP tools call it. It validates, plans, executes, judges and returns a result model; the
workers do the input and output. Methods are thread-safe and raise only errors of `errors.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.engine.kernel_steps import KernelSteps
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.history.judged import JudgedProblems
from amdkernel_mcp.history.recorder import Recorder
from amdkernel_mcp.work import LOCAL, Work, doing

if TYPE_CHECKING:
    from amdkernel_mcp.config import Settings
    from amdkernel_mcp.engine.profile_steps import OnDetail
    from amdkernel_mcp.engine.verbs.verb import Means
    from amdkernel_mcp.execution.machine import Machine
    from amdkernel_mcp.history.attempt import Attempt
    from amdkernel_mcp.history.attempts import Attempts
    from amdkernel_mcp.importing.import_problem import Means as MeansOfImport
    from amdkernel_mcp.importing.importer import Importer
    from amdkernel_mcp.profiling.options import ProfileOptions
    from amdkernel_mcp.reading.reader import Reader
    from amdkernel_mcp.results.documentation import ReadResult, SearchResult
    from amdkernel_mcp.results.history import Pruned
    from amdkernel_mcp.results.inspection import InspectResult
    from amdkernel_mcp.results.job_answer import JobAnswer
    from amdkernel_mcp.results.kernels import ProfileResult
    from amdkernel_mcp.results.problems import CreatedProblem, ProblemList
    from amdkernel_mcp.search.cards.collect import Collected
    from amdkernel_mcp.search.documentation import Documentation
    from amdkernel_mcp.search.query.filters import SearchFilters

_A = TypeVar("_A", covariant=True)


class Does(Protocol[_A]):
    """The request of a verb."""

    def do(self, means: Means) -> _A:
        """Its answer."""


class Engine:
    """The verbs over one configuration. Sandboxes and index are opened on first use; `close` ends them."""

    def __init__(self, settings: Settings) -> None:
        from amdkernel_mcp.execution.added_hosts import added_hosts
        from amdkernel_mcp.leases.leased_sandbox import LeasedSandboxes
        from amdkernel_mcp.slurm.host import SlurmHost
        from amdkernel_mcp.workers.hub import WorkerHub

        self._settings = settings
        self.answers = answers_folder(settings.cache_dir / "answers")
        self.workers = WorkerHub((*settings.hosts, *(host.name for host in added_hosts(settings)), "slurm"))
        self._sandboxes = LeasedSandboxes(settings, self.workers)
        self._sandboxes.add(SlurmHost(settings, self.workers, self._sandboxes.without_gpu))
        self._recorder = Recorder(settings, daily=self._prune_caches)
        self._judged = JudgedProblems(settings.data_dir)
        self._steps = KernelSteps(settings, self._sandboxes, self._judged)
        self._lock = threading.Lock()
        self._docs: Documentation | None = None

    @property
    def docs(self) -> Documentation:
        """The documentation: search, read, build, refresh."""
        from amdkernel_mcp.search.documentation import Documentation

        with self._lock:
            if self._docs is None:
                self._docs = Documentation(self._settings, self._collect_headers)
            return self._docs

    @property
    def machine(self) -> Machine:
        """The machine: targets, set-up, doctor, coverage of the emulator."""
        from amdkernel_mcp.execution.machine import Machine

        quarantined = self._sandboxes.quarantined
        return Machine(self._settings, self._sandboxes, lambda: self.docs.hip_version(), quarantined)

    def inspect(self, path: Path, *, kernel: str | None = None, work: Work | None = None) -> InspectResult:
        """What is in a code object, an offload bundle or a program; with `kernel`, that kernel alone.

        Raises InputError for a file without device code, SandboxError.
        """
        from amdkernel_mcp.engine.inspect_file import inspect_file

        work = work or Work()
        with doing(work):
            return inspect_file(self._sandboxes.without_gpu(), path, kernel=kernel, work=work)

    @property
    def attempts(self) -> Attempts:
        """The attempts that were made: list, show, export, replay."""
        from amdkernel_mcp.history.attempts import Attempts

        return Attempts(self._recorder, self)

    @property
    def _reader(self) -> Reader:
        from amdkernel_mcp.reading.reader import Reader

        return Reader(lambda: self.docs, self.attempts, self._steps.own_problems, self.answers)

    def search(
        self,
        query: str,
        *,
        by: str = LOCAL,
        also: Sequence[str] = (),
        limit: int = 5,
        filters: SearchFilters | None = None,
    ) -> SearchResult:
        """The documentation that answers a query best, our own first, and the lessons of `by`.

        also: the question in other words, three times at most.
        """
        return self._reader.search(query, by=by, also=also, limit=limit, filters=filters)

    def read(self, ref: str, *, by: str = LOCAL, start: int = 0, max_chars: int = 5000, **at: str | None) -> ReadResult:
        """A part of a page, a card, a guide, a problem, an attempt or a whole answer. `at`: `section`, `find`."""
        return self._reader.read(ref, by=by, start=start, max_chars=max_chars, **at)

    def prune(self) -> Pruned:
        """Remove files that no recent attempt needs, and old answers and expected outputs."""
        return self.attempts.prune().model_copy(update={"cache_bytes": self._prune_caches()})

    def _prune_caches(self) -> int:
        from amdkernel_mcp.checking.expected.reference_cache import ReferenceCache

        return self.answers.prune() + ReferenceCache(self._settings.cache_dir / "reference").prune()

    @property
    def imports(self) -> Importer:
        """Problems of other collections."""
        from amdkernel_mcp.importing.importer import Importer

        return Importer(self._means_of_import, self._steps.own_problems)

    def _means_of_import(self, work: Work) -> MeansOfImport:
        from amdkernel_mcp.execution.setup.build import setup_torch
        from amdkernel_mcp.importing.import_problem import Means

        where = self._steps.target(None)

        def compiles(text: str) -> str | None:
            made = self._steps.compiler(where).compile(text, arch=where.arch, flags=(), file_name="kernel.hip").result
            return None if made.ok else next((each.message for each in made.diagnostics), "no reason given")

        return Means(
            sandbox=self._sandboxes.without_gpu(),
            limits=self._steps.limits,
            cache_dir=self._settings.cache_dir,
            install_torch=lambda: setup_torch(self._settings, work.say),
            compiles=compiles,
            work=work,
        )

    def close(self) -> None:
        """Remove all containers and close the index and the history."""
        self._sandboxes.close()
        self._recorder.close()
        with self._lock:
            if self._docs:
                self._docs.close()

    def do(self, asked: Does[_A], work: Work | None = None, *, on_detail: OnDetail | None = None) -> _A:
        """The answer of a verb, done for `work`: for this machine's user, who hears of nothing, where it is None.

        on_detail: is given what the page of a profile shows besides. Raises HistoryError for a parent that is none.
        """
        from amdkernel_mcp.engine.verbs.verb import Means

        work, attempts = work or Work(), self.attempts
        if work.parent is not None:
            work = replace(work, parent=attempts.whole_id(work.parent, by=work.owner))
        with doing(work):
            return asked.do(
                Means(self._steps, self._sandboxes, self._judged, self._recorder, attempts, work, on_detail)
            )

    def profile_import(
        self,
        path: Path,
        *,
        gpu: str | None = None,
        kernel: str = "",
        limit: int | None = None,
        options: ProfileOptions | None = None,
    ) -> ProfileResult:
        """Metrics and a diagnosis from a recording of AMD's profilers. Raises ProfileFileError.

        kernel: a part of the names of the wanted kernels. limit: how many, those with most time first.
        """
        from amdkernel_mcp.engine.profile_steps import profile_recording
        from amdkernel_mcp.profiling.options import NO_OPTIONS

        return profile_recording(path, gpu=gpu, kernel=kernel, limit=limit, options=options or NO_OPTIONS)

    def create_problem(
        self, name: str, declaration: str, reference: str, *, work: Work | None = None, shared: bool = False
    ) -> CreatedProblem:
        """Store a problem of the texts of problem.toml and reference.py, once it was examined; `shared`: for all users.

        Raises ProblemFileError for one that cannot be used or proves nothing, InputError for its name.
        """
        from amdkernel_mcp.measurement.timed_case import what_is_timed
        from amdkernel_mcp.problems.signature import signature
        from amdkernel_mcp.results.problems import CreatedProblem

        work = work or Work()
        with doing(work):
            problem, warnings = self._steps.create_problem(name, declaration, reference, work, shared=shared)
        return CreatedProblem(
            name=problem.name,
            hash=problem.hash,
            signature=signature(problem),
            cases=[case.name for case in problem.cases],
            timed_case=what_is_timed(problem),
            warnings=list(warnings),
        )

    def identity(self, target: str | None = None) -> tuple[str, str]:
        """What decides an answer besides kernel and problem: the target's name and the sandbox image's id."""
        where = self._steps.target(target)
        return where.name, self._sandboxes.of(where).image_id

    def has_own_problem(self, name: str, *, by: str = LOCAL) -> bool:
        """Whether `by` created a problem of this name, or a user shared one."""
        return self._steps.own_problems.find(name, by) is not None

    def list_problems(self, *, by: str = LOCAL) -> ProblemList:
        """The problems that `by` created, shared and bundled ones."""
        return self._steps.list_problems(by)

    def problem_hash(self, name: str, by: str) -> str | None:
        """The hash of the problem of this name as it is now; None where there is none, or several are shared."""
        try:
            return self._steps.problem(name, by).hash
        except InputError:
            return None

    def repeat(
        self,
        attempt: Attempt,
        *,
        source: str,
        baseline: str | None,
        problem: str,
        target: str | None,
        work: Work,
    ) -> JobAnswer:
        """Run the verb of an attempt again, with its options. Raises HistoryError for a verb of another version."""
        from amdkernel_mcp.engine.verbs.table import recorded_verb
        from amdkernel_mcp.engine.verbs.verb import Repeated

        again = recorded_verb(attempt.verb).again(attempt, Repeated(source, baseline, problem, target))
        answer: JobAnswer = self.do(again, work)
        return answer

    def _collect_headers(self) -> Collected:
        from amdkernel_mcp.search.cards.collect import COMMAND, TIMEOUT_S, Collected, command_files

        sandbox = self._sandboxes.without_gpu()
        completed = sandbox.run("compile", COMMAND, command_files(), timeout_s=TIMEOUT_S)
        return Collected(completed.files, completed.stderr, in_sandbox=sandbox.isolation != "none")
