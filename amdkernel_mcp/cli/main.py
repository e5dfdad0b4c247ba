"""The entry point of the command line: every way to leave ends here in an exit code and at most one error."""

import os
import signal
import sys

import typer

from amdkernel_mcp.cli.app import app
from amdkernel_mcp.cli.report import (
    BROKEN,
    GOOD,
    INTERRUPTED,
    USAGE,
    ProgramCode,
    complain,
    deliver,
    discard,
    print_line,
)
from amdkernel_mcp.errors import AmdkernelError, wrong_path

# typer carries its own copy of click and does not export the class that all errors of usage have in common.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_NO_ARGUMENTS = "NoArgsIsHelpError"


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    _open_streams()
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(sys.argv[1:]))


class _Terminated(SystemExit):
    """A SIGTERM; like a Ctrl-C it passes every `finally`, so that containers are removed."""


def _terminate(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # one is enough, and cleaning up must not be interrupted
    raise _Terminated(128 + number)


def run(arguments: list[str]) -> int:
    """The exit code of `amdkernel ARGUMENTS`."""
    as_json = "--json" in arguments
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="amdkernel", standalone_mode=False)
        deliver(lambda: None)
        if code == INTERRUPTED and not isinstance(code, ProgramCode):  # typer has turned a Ctrl-C into this
            complain("interrupted", as_json=as_json)
        return code if isinstance(code, int) else GOOD
    except AmdkernelError as error:
        complain(error.message, file=error.file, line=error.line, hint=error.hint, as_json=as_json)
        return error.exit_code
    except _UsageError as error:
        if type(error).__name__ == _NO_ARGUMENTS:
            shown = str(error)  # the help
            deliver(lambda: print_line(shown))
            return GOOD
        complain(_usage_message(error), hint=_usage_hint(error), as_json=as_json)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted", as_json=as_json)
        return INTERRUPTED
    except _Terminated as ended:
        complain("terminated", as_json=as_json)
        return int(str(ended.code))
    except (BrokenPipeError, SystemExit):  # `amdkernel --help | true`: typer turns the one into the other
        discard(sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return GOOD
    except Exception as error:
        if wrong := wrong_path(error):
            complain(wrong.message, as_json=as_json)
            return USAGE
        if os.environ.get("AMDKERNEL_DEBUG"):
            raise
        what = f"internal error: {type(error).__name__}: {error}".splitlines()[0]
        complain(what, hint="AMDKERNEL_DEBUG=1 shows where", as_json=as_json)
        return BROKEN


def _open_streams() -> None:
    """Open a stream that the caller has closed (`>&-`), and let no text fail for its encoding."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _usage_message(error: Exception) -> str:
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message else str(error)
    return " ".join(text.split()) or "wrong usage"


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'amdkernel'} --help"
