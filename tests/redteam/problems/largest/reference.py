import numpy as np


def reference(x, *, n):
    at = int(np.argmax(x))
    return {"value": x[at : at + 1], "where": np.array([at], np.int32)}
