"""The command that values attempts."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import finish


def reward(
    attempts: Annotated[list[str], typer.Argument(help="Ids of attempts, or folders of exports.", show_default=False)],
    baseline: Annotated[
        Path | None, typer.Option(help="Only a speed-up over this kernel file counts.", show_default=False)
    ] = None,
    modelled: Annotated[bool, typer.Option("--modelled", help="Modelled times count too.")] = False,
    shaping: Annotated[
        float, typer.Option(min=0, max=1, help="Share of a correct kernel's reward that its profile must earn.")
    ] = 0.0,
    cap: Annotated[float, typer.Option(help="The speed-up that brings 1.")] = 10.0,
    json: Json = False,
) -> int:
    """Value attempts as numbers of 0 to 1, for reinforcement learning.

    0 for all but correct kernels. With --shaping, name the attempts of profiles as well.

    Exit code 0: every attempt was valued. Refused: a record that this server did not sign.

    Example: amdkernel reward kq7fx2 w8r3md --baseline naive.hip
    """
    from amdkernel_mcp.cli.show.rewards import show_rewards
    from amdkernel_mcp.history.attempt import sha256
    from amdkernel_mcp.kernel_source import read_kernel
    from amdkernel_mcp.reward import RewardOptions

    over = sha256(read_kernel(baseline).source.encode()) if baseline else None
    options = RewardOptions(modelled=modelled, shaping=shaping, cap=cap, baseline=over)
    with open_engine() as engine:
        result = engine.attempts.rewards(attempts, options=options)
    return finish(result, good=True, json=json, show=lambda console: show_rewards(console, result))
