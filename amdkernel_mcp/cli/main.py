"""The outer door of the command line: every way to leave ends here in an exit code and at most one line."""

import os
import sys

import typer

from amdkernel_mcp.cli.app import app
from amdkernel_mcp.cli.report import BROKEN, INTERRUPTED, USAGE, complain
from amdkernel_mcp.errors import AmdkernelError

# typer carries its own copy of click and does not export the class that all errors of usage have in common.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of `amdkernel ARGUMENTS`."""
    as_json = "--json" in arguments
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="amdkernel", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer has turned a Ctrl-C into this
            complain("interrupted", as_json=as_json)
        return code if isinstance(code, int) else 0
    except AmdkernelError as error:
        complain(error.message, file=error.file, line=error.line, hint=error.hint, as_json=as_json)
        return error.exit_code
    except _UsageError as error:
        complain(_usage_message(error), hint=_usage_hint(error), as_json=as_json)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted", as_json=as_json)
        return INTERRUPTED
    except BrokenPipeError:  # `amdkernel ... | head`: nobody reads any more, and Python must not complain at its exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("AMDKERNEL_DEBUG"):
            raise
        what = f"internal error: {type(error).__name__}: {error}".splitlines()[0]
        complain(what, hint="AMDKERNEL_DEBUG=1 shows where", as_json=as_json)
        return BROKEN


def _usage_message(error: Exception) -> str:
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message else str(error)
    return " ".join(text.split()) or "wrong usage"


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'amdkernel'} --help"
