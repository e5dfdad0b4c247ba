import numpy as np


def reference(x, *, rows, cols):
    step = np.maximum(np.abs(x).max(axis=1), 1e-20) / 127
    return {"q": np.rint(x / step[:, None]).astype(np.int8), "step": step}
