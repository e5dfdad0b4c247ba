"""`amdkernel-mcp`: the server that an editor starts and talks to over stdin and stdout.

A client may wait only a second for its tools, and importing the server takes longer. So this process starts the server
as its child, answers the opening requests itself from `handshake.json`, and passes everything else through.
"""

import glob
import os
import sys
from collections.abc import Callable

from amdkernel_mcp import __version__

HELP = f"""amdkernel-mcp {__version__}: the MCP server for AMD GPU kernels, over stdin and stdout.

Usage: amdkernel-mcp [--read-only] [--tools NAME,NAME...] [--no-relay]
       amdkernel-mcp --url URL [--token-file FILE]

An MCP client starts it; `amdkernel install CLIENT` writes the client's configuration.

  --read-only        offer only the tools that read and run nothing
  --tools NAMES      offer only these tools
  --no-relay         run only the server, without the process that answers the client's first requests at once
  --url URL          offer the tools of a team's server: nothing runs here, and files named here are sent as text
  --token-file FILE  your token for that server; without it the environment variable AMDK_TOKEN has it
  --version          print the version
  --help             print this

Settings: environment AMDKERNEL_... and ~/.config/amdkernel/config.toml. `amdkernel doctor` reports what is missing.
"""
DIRECT = (["--no-relay"], ["--no-shim"])  # the second is the flag's old name


def main() -> None:
    """Serve until the client closes stdin; exits with the server's exit code, 2 for an unknown argument."""
    if any(word.partition("=")[0] in ("--url", "--token-file") for word in sys.argv[1:]):
        sys.exit(_serve_front(sys.argv[1:]))
    arguments = _selected(sys.argv[1:])
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(HELP)
    elif "--version" in arguments:
        sys.stdout.write(f"amdkernel-mcp {__version__}\n")
    elif arguments in DIRECT or not (arguments or hasattr(os, "posix_spawn")):  # Windows: the relay needs processes
        import gc

        gc.disable()  # the imports make many objects, and all of them stay: a collection would find nothing
        serve_stdio = _server()
        gc.freeze()
        gc.enable()
        sys.exit(serve_stdio())
    elif arguments:
        sys.stderr.write(f"amdkernel-mcp: unknown arguments: {' '.join(arguments)}; see --help\n")
        sys.exit(2)
    else:
        from amdkernel_mcp.stdio import handshake
        from amdkernel_mcp.stdio.relay import Relay

        # -P: the editor's folder, where this process was started, must not be imported from.
        server = [sys.executable, "-P", "-m", "amdkernel_mcp.stdio.main", "--no-relay"]
        recorded = handshake.read()
        if recorded and (_selects() or _adds_tools()):
            recorded = recorded.without_tools()
        sys.exit(Relay(server, recorded).run())


def _server() -> Callable[[], int]:
    """What serves; a package that adds something and cannot be loaded ends the process with one line."""
    from amdkernel_mcp.errors import AmdkernelError

    try:
        from amdkernel_mcp.server.transports import serve_stdio
    except AmdkernelError as error:
        sys.stderr.write(f"amdkernel-mcp: {error.message}; {error.hint}\n")
        sys.exit(error.exit_code)
    return serve_stdio


def _serve_front(arguments: list[str]) -> int:
    """Serve from a team's server; 2 for wrong arguments."""
    from amdkernel_mcp.errors import InputError
    from amdkernel_mcp.stdio import handshake
    from amdkernel_mcp.stdio.front import serve_front
    from amdkernel_mcp.stdio.front_options import FrontOptions

    try:
        options = FrontOptions(arguments)
    except InputError as error:
        sys.stderr.write(f"amdkernel-mcp: {error.message} {error.hint or ''}".rstrip() + "\n")
        return 2
    return serve_front(options.url, options.token, handshake.read())


def _selected(arguments: list[str]) -> list[str]:
    """The arguments without those that select tools; the server finds these in its environment."""
    rest = []
    while arguments:
        word, *arguments = arguments
        name, equals, value = word.partition("=")
        if word == "--read-only":
            os.environ["AMDKERNEL_READ_ONLY"] = "true"
        elif name == "--tools" and (equals or arguments):
            os.environ["AMDKERNEL_TOOLS"] = value if equals else arguments.pop(0)
        else:
            rest.append(word)
    return rest


def _selects() -> bool:
    """Whether the settings may leave tools out. Read without the package's settings, whose import takes too long."""
    if os.environ.get("AMDKERNEL_TOOLS") or os.environ.get("AMDKERNEL_READ_ONLY"):
        return True
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    file = os.environ.get("AMDKERNEL_CONFIG") or os.path.join(folder, "amdkernel", "config.toml")
    try:
        with open(os.path.expanduser(file), encoding="utf-8") as settings:
            return any(line.lstrip().startswith(("tools", "read_only")) for line in settings)
    except (OSError, UnicodeDecodeError):
        return False


def _adds_tools() -> bool:
    """Whether another package adds tools or verbs, which the recorded list does not have. Read as text: the import of
    what reads entry points takes too long."""
    for folder in sys.path:
        for described in glob.iglob(os.path.join(glob.escape(folder), "*.dist-info", "entry_points.txt")):
            try:
                with open(described, encoding="utf-8") as points:
                    text = points.read()
            except (OSError, UnicodeDecodeError):
                continue
            if "[amdkernel_mcp.tools]" in text or "[amdkernel_mcp.verbs]" in text:
                return True
    return False


if __name__ == "__main__":
    main()
