import numpy as np


def reference(x, *, n, step):
    return {"q": np.clip(np.rint(x / step), -128, 127).astype(np.int8)}
