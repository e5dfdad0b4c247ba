import numpy as np


def reference(q, k, v, *, heads, n):
    s = np.einsum("hd,hnd->hn", q, k) / 8
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return {"o": np.einsum("hn,hnd->hd", e, v) / e.sum(axis=1, keepdims=True)}
