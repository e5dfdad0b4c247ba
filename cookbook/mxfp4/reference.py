import numpy as np


def reference(x, scale, *, blocks):
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    x = x.astype(int)
    v = np.stack([x & 15, x >> 4], axis=2).reshape(blocks, 32)
    values = np.where(v & 8, -1, 1) * table[v & 7]
    return {"y": values * 2.0 ** (scale.astype(int)[:, None] - 127)}
