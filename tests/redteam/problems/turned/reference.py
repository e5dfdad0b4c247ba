import numpy as np


def reference(x, *, rows, cols):
    return {"y": np.ascontiguousarray(x.T)}
