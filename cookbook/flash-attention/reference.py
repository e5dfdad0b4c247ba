import numpy as np


def reference(q, k, v, *, heads, n):
    s = q @ k.transpose(0, 2, 1) / np.sqrt(32)
    e = np.exp(s - s.max(axis=2, keepdims=True))
    return {"o": e @ v / e.sum(axis=2, keepdims=True)}
