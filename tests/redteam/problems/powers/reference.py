import numpy as np


def reference(x, *, n):
    return {"y": np.exp(x)}
