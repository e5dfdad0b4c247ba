"""Two users, 40 mixed jobs, four GPUs, one slow and one sick: how busy is each? `make bench`.

The bar: each healthy GPU, the slow one included, has a job until nothing waits. tests/jobs/pool_trial.py says what is
real and what is a wait.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.jobs.pool_trial import run_trial


def main() -> None:
    """A line for each GPU."""
    with tempfile.TemporaryDirectory() as folder:
        for line in run_trial(Path(folder)).report():
            print(line)


if __name__ == "__main__":
    main()
