import numpy as np


def reference(x, *, n):
    count = sum((x > t).astype(int) for t in range(4))
    return {"y": np.array([count[i : i + 256].sum() for i in range(0, n, 256)])}
