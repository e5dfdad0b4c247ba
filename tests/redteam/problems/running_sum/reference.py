import numpy as np


def reference(x, *, n):
    return {"y": np.cumsum(x, dtype=np.int32)}
