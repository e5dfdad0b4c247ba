"""`amdkernel`: the engine for a person and for scripts. Exit codes: 0 good, 1 bad, 2 wrong input, 3 infrastructure."""


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    import sys

    from amdkernel_mcp.cli.door import run

    sys.exit(run(sys.argv[1:]))
