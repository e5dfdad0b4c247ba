"""`amdkernel-mcp`: the server that an editor starts and talks to over stdin and stdout.

A client may wait only a second for its tools, and importing the server takes longer. So this process starts the server
as its child, answers the opening requests itself from `handshake.json`, and passes everything else through.
"""

import sys

from amdkernel_mcp import __version__

HELP = f"""amdkernel-mcp {__version__}: the MCP server for AMD GPU kernels, over stdin and stdout.

Usage: amdkernel-mcp [--no-relay]

An MCP client starts it; `amdkernel install CLIENT` writes the client's configuration.

  --no-relay  run only the server, without the process that answers the client's first requests at once
  --version   print the version
  --help      print this

Settings: environment AMDKERNEL_... and ~/.config/amdkernel/config.toml. `amdkernel doctor` reports what is missing.
"""
DIRECT = (["--no-relay"], ["--no-shim"])  # the second is the flag's old name


def main() -> None:
    """Serve until the client closes stdin; exits with the server's exit code, 2 for an unknown argument."""
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(HELP)
    elif "--version" in arguments:
        sys.stdout.write(f"amdkernel-mcp {__version__}\n")
    elif arguments in DIRECT:
        import gc

        gc.disable()  # the imports make many objects, all of which stay: collecting would find nothing
        from amdkernel_mcp.server.transports import serve_stdio

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
        sys.exit(Relay(server, handshake.read()).run())


if __name__ == "__main__":
    main()
