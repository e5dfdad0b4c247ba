import numpy as np


def reference(x, *, rows, cols):
    centred = x - x.mean(axis=1, keepdims=True)
    return {"y": centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)}
