import numpy as np


def reference(x, *, n):
    kept = x[x > 0]
    y = np.zeros(n, np.int32)
    y[: kept.size] = kept
    return {"y": y, "count": np.array([kept.size], np.int32)}
