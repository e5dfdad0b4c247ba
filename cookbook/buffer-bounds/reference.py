import numpy as np


def reference(x, *, n):
    padded = np.pad(x, 2)
    return {"y": sum(padded[d : d + n] for d in range(5))}
