"""The outer door of the command line: every way to leave ends here in an exit code and at most one line."""

import json
import os
import sys

import typer

from amdkernel_mcp.cli.app import app
from amdkernel_mcp.errors import AmdkernelError

USAGE = 2
BROKEN = 3
INTERRUPTED = 130

# typer carries its own copy of click and does not export the class that all errors of usage have in common.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


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


def complain(
    message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None, as_json: bool
) -> None:
    """Print an error: with `as_json` as the one JSON document on stdout, and always for a person on stderr."""
    if as_json:
        error = {"message": message, "file": file, "line": line, "hint": hint}
        sys.stdout.write(json.dumps({"error": error}, ensure_ascii=False) + "\n")
    place = ":".join(str(part) for part in (file, line) if part is not None)
    prefix = f"{place}: " if place and not message.startswith(place) else ""
    sys.stderr.write(f"amdkernel: {prefix}{message}\n")
    if hint:
        sys.stderr.write(f"  {hint}\n")


def _usage_message(error: Exception) -> str:
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message else str(error)
    return " ".join(text.split()) or "wrong usage"


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'amdkernel'} --help"
