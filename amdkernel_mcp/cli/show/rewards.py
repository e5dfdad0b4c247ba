"""What `amdkernel reward` shows."""

from rich.console import Console
from rich.text import Text

from amdkernel_mcp.cli.show import parts
from amdkernel_mcp.results.rewards import RewardList


def show_rewards(console: Console, result: RewardList) -> None:
    """One line for each attempt."""
    table = parts.table("attempt", "verb", "verdict", "reward", "because", numbers=(3,))
    for each in result.rewards:
        verdict = Text(each.verdict, parts.verdict_style(each.verdict))
        table.add_row(Text(each.attempt, "cyan"), each.verb, verdict, f"{each.reward:.3f}", each.because)
    console.print(table)
