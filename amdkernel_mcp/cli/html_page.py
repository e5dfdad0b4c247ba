"""Writing a page to the file that a user named, and opening it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.report import note

Html = Annotated[Path | None, typer.Option(help="Write it as one web page that needs no network.", show_default=False)]
Open = Annotated[bool, typer.Option("--open", help="With --html: open the page in the browser.")]


def require_folder(page: Path | None, *, then_open: bool = False) -> None:
    """A page that cannot be written is reported before the work. Raises BadParameter."""
    if page is None and then_open:
        raise typer.BadParameter("--open goes with --html FILE only")
    if page is not None and (page.is_dir() or not page.absolute().parent.is_dir()):
        raise typer.BadParameter(f"--html {page}: a file in a folder that exists")
    if page is not None and (why := _cannot_write(page)):
        raise typer.BadParameter(f"--html {page}: cannot be written: {why}")


def _cannot_write(page: Path) -> str | None:
    """Why a page cannot be written there; None where nothing says so before it is written."""
    if page.exists():
        return None if os.access(page, os.W_OK) else "permission denied"
    try:
        with tempfile.TemporaryFile(dir=page.absolute().parent):
            return None
    except OSError as error:
        return (error.strerror or "no file can be made there").lower()


def write_page(page: Path, text: str, *, then_open: bool = False) -> None:
    """Write the page and say where it is. Raises InputError for a disk that refuses it."""
    from amdkernel_mcp.errors import InputError

    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the page cannot be written: {error.strerror}", file=str(page)) from None
    note(f"wrote {page}")
    if then_open:
        import webbrowser

        if not webbrowser.open(page.absolute().as_uri()):
            note("no browser was found to open it")
