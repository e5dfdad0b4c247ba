"""Prompts: the loop as a person starts it from a client's menu."""

from fastmcp.prompts import prompt


@prompt(title="Make a kernel faster")
def optimise_kernel(problem: str, path: str, target: str = "emulator:gfx942") -> str:
    """Make a kernel that is correct faster, one change at a time."""
    return (
        f"Make the HIP kernel in {path} faster for the problem {problem} on {target}.\n\n"
        f'1. read_doc("problem:{problem}"), list_attempts(problem="{problem}"): what was tried and what it brought.\n'
        "2. check_kernel: it must be `correct` before anything else counts.\n"
        "3. profile_kernel: take the first diagnosis, open its `docs` with read_doc.\n"
        "4. Make one change, check_kernel, then benchmark_kernel against the version before it.\n"
        "5. Keep what is `faster`; note_lesson what an attempt taught, also where it did not help.\n\n"
        "Repeat 3 to 5. Report the speed-up with its interval and its evidence, and never a number you did not get."
    )


@prompt(title="Write a kernel")
def write_kernel(problem: str, target: str = "emulator:gfx942") -> str:
    """Write a correct kernel for a problem, the naive one first."""
    return (
        f"Write a HIP kernel for the problem {problem} on {target}.\n\n"
        f'1. read_doc("problem:{problem}") has dtypes, cases, tolerance; read_doc("guide:kernel") the launch plan.\n'
        "2. search_docs with what it does names a `guide:` of the cookbook: read its kernel and its mistakes.\n"
        "3. Write the simplest kernel that can be right. Send device code only, with its `// amdkernel: launch` line.\n"
        "4. compile_kernel, then check_kernel; repair what a finding names, at its line, until it is `correct`.\n"
        "5. profile_kernel, and say what bounds it.\n\n"
        "Show the kernel and its verdict as the tools returned it."
    )


@prompt(title="Explain a profile")
def explain_profile(problem: str, path: str, target: str = "emulator:gfx942") -> str:
    """Explain why a kernel is slow, in words, with the figures behind them."""
    return (
        f"Explain why the kernel in {path} takes the time it takes for {problem} on {target}.\n\n"
        "1. profile_kernel: what bounds it, its hot lines, its diagnosis.\n"
        "2. read_doc with the `docs` of each diagnosis; read what you quote.\n"
        "3. Say in plain words what the GPU waits for, with the figures and their evidence (measured, emulated,"
        " modelled), and which one change should help most.\n\n"
        "Change no file."
    )
