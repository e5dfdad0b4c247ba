import numpy as np


def reference(x, *, n):
    return {"bins": np.bincount(x, minlength=64).astype(np.int32)}
