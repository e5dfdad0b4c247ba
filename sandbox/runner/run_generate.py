"""Runs a problem's `generate` for many seeds: `python3 run_generate.py`, in the folder that holds the job.

Reads `job.json` ({"calls": [{"seed": N, "scalars": {...}}], "inputs": [names]}) and `reference.py`. Leaves in $OUT what
run_reference.py leaves. All of it is untrusted for the reader.
"""

from pathlib import Path
from typing import Any

import numpy as np
from run_reference import Unusable, accepted, answer_job, as_array, load


def generate(job: dict[str, Any], out: Path, answer: dict[str, Any]) -> None:
    """Call `generate` for every seed; `answer` says how far it came."""
    function = load("generate")
    for number, call in enumerate(job["calls"]):
        answer["call"] = number
        random = np.random.Generator(np.random.PCG64(call["seed"]))
        result = function(random, **accepted(function, call["scalars"], []))
        if not isinstance(result, dict):
            raise Unusable(f"it returned {type(result).__name__}, not a dict such as {{{job['inputs'][0]!r}: array}}")
        folder = out / str(number)
        folder.mkdir()
        for name, value in result.items():
            if name not in job["inputs"]:
                raise Unusable(f"it returned {name!r}, which is not an input (inputs: {', '.join(job['inputs'])})")
            np.save(folder / f"{name}.npy", as_array(name, value), allow_pickle=False)


if __name__ == "__main__":
    answer_job(generate)
