import numpy as np


def reference(x, weight, *, rows, cols, eps):
    return {"y": x * weight / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps)}
