import numpy as np


def reference(x, *, n):
    return {"y": x / (1 + np.exp(-x))}
