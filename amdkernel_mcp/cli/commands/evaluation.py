"""The command that judges a folder of candidates: eval."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json, Target
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work


def eval(  # noqa: A001 - the command's name is the contract's
    suite: Annotated[
        Path, typer.Argument(help="Folder with a folder for each problem, kernels in it.", show_default=False)
    ],
    target: Target = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; default: SUITE-results.", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Candidates at a time.")] = 2,
    check_only: Annotated[bool, typer.Option("--check-only", help="Do not time what is correct.")] = False,
    json: Json = False,
) -> int:
    """Judge a folder of candidates: correct and fast_p.

    A run that was interrupted continues where it stopped. Writes rows.jsonl, rows.csv and scores.json.

    Exit code 0: every candidate has a verdict.

    Example: amdkernel eval candidates --jobs 4
    """
    from amdkernel_mcp.cli.show.evaluation import show_evaluation
    from amdkernel_mcp.evaluation.evaluate import evaluate

    results = out or suite.resolve().with_name(f"{suite.resolve().name}-results")
    with open_engine() as engine, progress(lines=True) as report:
        result = evaluate(
            engine, suite, target=target, out=results, at_a_time=jobs, timed=not check_only, work=Work(say=report)
        )
    good = result.scores.failed == 0
    return finish(result, good=good, json=json, show=lambda console: show_evaluation(console, result))
