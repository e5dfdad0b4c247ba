import numpy as np


def reference(x, *, n, bins):
    return {"counts": np.bincount(x, minlength=bins)}
