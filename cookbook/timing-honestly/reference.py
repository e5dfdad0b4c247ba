import numpy as np


def reference(x, *, n, factor):
    return {"y": np.maximum(x * factor + 1, 0)}
