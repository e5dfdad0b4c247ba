"""What reward returns."""

from pydantic import Field

from amdkernel_mcp.results.quantity import Result


class RewardOfAttempt(Result):
    """The reward of one attempt."""

    attempt: str
    verb: str
    verdict: str
    reward: float = Field(ge=0, le=1)
    because: str


class RewardList(Result):
    """The rewards of a batch, in the order of the request."""

    rewards: list[RewardOfAttempt] = []
    modelled: bool = Field(default=False, description="Modelled times were asked for")
