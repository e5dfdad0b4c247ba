"""The tree of commands. Importing it must stay cheap: a command imports what it needs when it runs."""

from collections.abc import Callable
from typing import Annotated

import typer

from amdkernel_mcp import __version__
from amdkernel_mcp.cli.added_commands import WithAddedCommands
from amdkernel_mcp.cli.commands import (
    admin,
    bringup,
    documentation,
    emulator,
    evaluation,
    examples,
    history,
    inspection,
    jobs,
    kernels,
    machine,
    port,
    problems,
    profiling,
    programs,
    rewards,
    servers,
    slurm,
    top,
    tuning,
    worker,
)
from amdkernel_mcp.cli.commands.run_parser import RunCommand

app = typer.Typer(
    cls=WithAddedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, so that --help needs no rich and reads the same in a pipe
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Compile, check, benchmark and profile HIP kernels for AMD GPUs, with or without a GPU.",
    epilog="Exit codes: 0 the answer is good, 1 the answer is bad, 2 wrong input, 3 the infrastructure failed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"amdkernel {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compile, check, benchmark and profile HIP kernels for AMD GPUs, with or without a GPU."""


_COMMANDS: tuple[Callable[..., int], ...] = (
    kernels.compile,
    inspection.inspect,
    kernels.check,
    kernels.check_program,
    port.port,
    kernels.benchmark,
    tuning.tune,
    profiling.profile,
    evaluation.eval,
    history.history,
    history.lesson,
    history.replay,
    rewards.reward,
    history.export,
    history.verify,
    machine.targets,
    machine.doctor,
    bringup.bringup,
    machine.selftest,
    machine.setup,
    examples.examples,
    examples.new,
    servers.serve,
    servers.install,
    worker.worker,
    top.top,
    jobs.jobs,
    jobs.job,
)
for command in _COMMANDS:
    app.command()(command)
app.command(cls=RunCommand, context_settings=programs.CONTEXT)(programs.run)
app.add_typer(documentation.app, name="docs")
app.add_typer(emulator.app, name="emulator")
app.add_typer(problems.app, name="problem")
app.add_typer(slurm.app, name="slurm")
app.add_typer(admin.app, name="admin")
