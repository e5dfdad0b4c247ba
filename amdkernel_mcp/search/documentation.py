"""The library of one configuration, and how its index is made. `engine.docs` is one of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import AmdkernelError, DocumentationError
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.search.cards.architecture import architecture_card, architectures
from amdkernel_mcp.search.cards.collect import Collected, keep_declarations
from amdkernel_mcp.search.corpus.sandbox_documents import sandbox_documents
from amdkernel_mcp.search.library import Library
from amdkernel_mcp.search.query.evaluate import Evaluation, evaluate

if TYPE_CHECKING:
    from amdkernel_mcp.search.corpus.online import Refreshed


class Documentation(Library):
    """Search and read, build and refresh. Thread-safe."""

    def __init__(self, settings: Settings, collect: Callable[[], Collected]) -> None:
        """`collect` runs the command of cards.collect in a sandbox, when the HIP headers are needed."""
        self.index_path = settings.data_dir / "docs.sqlite3"
        self._settings = settings
        declarations = settings.data_dir / "hip-api.sqlite3"
        documents = sandbox_documents(settings)
        super().__init__(self.index_path, declarations, lambda: keep_declarations(collect(), declarations, documents))

    def build(self, folders: Sequence[Path], *, online: bool, on_progress: Progress) -> list[str]:
        """Build the index over `folders`, or over what this machine can have; returns what was skipped, and why.

        online: fetch the declared online sources first, and index them too.
        """
        from amdkernel_mcp.search.update import build, fetch_online  # brings an HTTP client, which a search spares

        skipped = self._renew_declarations(on_progress)
        skipped += fetch_online(self._settings, on_progress).skipped if online else ()
        report = build(self._settings, self.index_path, folders, online=online, on_progress=on_progress)
        self.close()
        return [*skipped, *report.skipped]

    def refresh(self, on_progress: Progress) -> Refreshed:
        """Fetch what changed in the online sources, and build the index again if anything did."""
        from amdkernel_mcp.search.update import refresh

        refreshed, _ = refresh(self._settings, self.index_path, on_progress=on_progress)
        self.close()
        return refreshed

    def remake(self, on_progress: Progress) -> None:
        """Build the index where it is missing or of another release."""
        from amdkernel_mcp.search.update import remake

        if remake(self._settings, self.index_path, on_progress=on_progress):
            self.close()

    def evaluate(self, questions: Path) -> Evaluation:
        """How well the index answers questions whose answers are known."""
        return evaluate(self.index(), questions)

    def architecture(self, gfx: str) -> str:
        """The card of an architecture as Markdown. Raises DocumentationError where there is none."""
        card = architecture_card(gfx)
        if card is None:
            raise DocumentationError(f"no card of {gfx[:50]!r}", hint=f"there are {', '.join(architectures())}")
        return f"# {card.title}\n\n{card.text}\n"

    def hip_version(self) -> str | None:
        """The version of the HIP headers that kernels are compiled with, where they were read."""
        declared = self.declarations()
        return declared.hip_version if declared else None

    def _renew_declarations(self, on_progress: Progress) -> list[str]:
        """Reads the sandbox's HIP headers; returns why not where there is no sandbox yet."""
        on_progress("reading the HIP headers of the sandbox")
        try:
            self._collect()
        except AmdkernelError as error:
            return [f"the HIP headers of the sandbox: {error.message}"]
        return []
