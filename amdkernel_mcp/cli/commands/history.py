"""Commands about attempts: history, lesson, export, verify, replay."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine, open_remote_engine
from amdkernel_mcp.cli.options import Json, Target, TokenFile, Url
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work

Attempt = Annotated[str, typer.Argument(help="Id of an attempt; its first letters are enough.", show_default=False)]


def history(
    attempt: Annotated[
        str | None, typer.Argument(help="Show this attempt with its lessons and its diff.", show_default=False)
    ] = None,
    other: Annotated[
        str | None, typer.Argument(help="Compare it with this one instead of its parent.", show_default=False)
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the difference alone.")] = False,
    problem: Annotated[str | None, typer.Option(help="Attempts on this problem only.", show_default=False)] = None,
    by: Annotated[str | None, typer.Option(help="Attempts of this user only.", show_default=False)] = None,
    before: Annotated[str | None, typer.Option(help="Attempts older than this one.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove old files instead: settings keep_days and keep_mib.")
    ] = False,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """List what was tried, newest first, or show one attempt.

    Example: amdkernel history --problem row_softmax
    """
    from amdkernel_mcp.cli.show.history import show_attempt, show_difference, show_list, show_pruned

    if token_file is not None and url is None:
        raise typer.BadParameter("--token-file needs --url")
    if diff and attempt is None:
        raise typer.BadParameter("--diff needs an attempt")
    if url is not None:
        if attempt is not None or prune or by is not None:
            raise typer.BadParameter("--url lists your attempts there; its page shows one of them: ADDRESS/attempts/ID")
        with open_remote_engine(url, token_file) as remote:
            listed = remote.attempts(problem=problem, before=before, limit=limit)
        some = any((problem, before))
        return finish(listed, good=True, json=json, show=lambda console: show_list(console, listed, chosen=some))
    with open_engine() as engine:
        if prune:
            pruned = engine.prune()
            return finish(pruned, good=True, json=json, show=lambda console: show_pruned(console, pruned))
        if attempt is None:
            found = engine.attempts.list(by=by, problem=problem, before=before, limit=limit)
            chosen = any((by, problem, before))
            return finish(found, good=True, json=json, show=lambda console: show_list(console, found, chosen=chosen))
        shown = engine.attempts.show(attempt, other=other)
    show = show_difference if diff else show_attempt
    return finish(shown, good=True, json=json, show=lambda console: show(console, shown))


def lesson(
    attempt: Attempt,
    text: Annotated[str, typer.Argument(help="What was learnt, in 500 characters.", show_default=False)],
    json: Json = False,
) -> int:
    """Note what was learnt from an attempt; `docs search` finds it.

    Example: amdkernel lesson kq7fx2 "padding LDS by one word removed the bank conflicts"
    """
    from amdkernel_mcp.cli.show.history import show_lesson

    with open_engine() as engine:
        kept = engine.attempts.note(attempt, text)
    return finish(kept, good=True, json=json, show=lambda console: show_lesson(console, kept))


def export(
    attempt: Attempt,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write; default: attempt-ID.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Write an attempt as a folder that others can verify without this server.

    Example: amdkernel export kq7fx2 --out for-review
    """
    from amdkernel_mcp.cli.show.history import show_export

    with open_engine() as engine:
        result = engine.attempts.export(attempt, out)
    return finish(result, good=True, json=json, show=lambda console: show_export(console, result, "exported"))


def verify(
    folder: Annotated[Path, typer.Argument(help="A folder that `amdkernel export` wrote.", show_default=False)],
    key: Annotated[
        str | None, typer.Option(help="Fingerprint that the signing key must have.", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Verify the signature and the files of an export.

    Needs no server, no sandbox and no network. Exit code 1: a key signed it that
    is neither that of --key nor known here.

    Example: amdkernel verify for-review
    """
    from amdkernel_mcp.cli.show.history import show_export
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.history.attempts import verify as verify_folder

    result = verify_folder(folder, key=key, data_dir=load_settings().data_dir)
    good = result.known_key
    return finish(result, good=good, json=json, show=lambda console: show_export(console, result, "verified"))


def replay(
    attempt: Annotated[str, typer.Argument(help="Id of an attempt, or the folder of an export.", show_default=False)],
    target: Target = None,
    json: Json = False,
) -> int:
    """Run an attempt again and say whether it holds.

    Exit code 0: the verdict is the same as then.

    Example: amdkernel replay kq7fx2
    """
    from amdkernel_mcp.cli.show.history import show_replay

    with open_engine() as engine, progress() as report:
        result = engine.attempts.replay(attempt, target=target, work=Work(say=report))
    return finish(result, good=result.holds, json=json, show=lambda console: show_replay(console, result))
