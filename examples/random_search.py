"""Random search over the parameters of a kernel: the smallest agent that learns from rewards.

    python examples/random_search.py [--steps 6] [--seed 0]

It fills LANES and ROWS of a row softmax with random values and keeps what brought the largest reward. Times on the
emulated MI300X are modelled, so the environment is asked to count modelled times.
"""

import argparse
import random
import re
from pathlib import Path

from amdkernel_mcp.environment import KernelEnvironment

TEMPLATE = (Path(__file__).parent / "row_softmax" / "kernels" / "tunable.hip").read_text(encoding="utf-8")
CHOICES = {"LANES": [4, 16, 32, 64], "ROWS": [1, 4, 16]}


def kernel(values: dict[str, int]) -> str:
    """The kernel with these values in place of its `tune` line."""
    line = "// amdkernel: build " + " ".join(f"-D{name}={value}" for name, value in values.items())
    return re.sub(r"(?m)^// amdkernel: tune .*$", line, TEMPLATE)


def search(steps: int, seed: int) -> list[tuple[float, dict[str, int]]]:
    """The rewards of random values, each tried once, in the order of the trials."""
    tries = [{"LANES": lanes, "ROWS": rows} for lanes in CHOICES["LANES"] for rows in CHOICES["ROWS"]]
    random.Random(seed).shuffle(tries)
    found = []
    with KernelEnvironment(seed=seed, max_steps=steps, modelled=True, profile=False) as environment:
        environment.reset("row_softmax")
        for values in tries[:steps]:
            observation, reward, done, info = environment.step(kernel(values))
            print(f"{values}  {observation.verdict}  reward {reward:.3f}  ({info['because']})")
            found.append((reward, values))
            if done:
                break
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6, choices=range(1, 13))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    reward, best = max(search(given.steps, given.seed), key=lambda each: each[0])
    print(f"best: {best} with reward {reward:.3f}")
