import numpy as np


def reference(x, index, *, n, bins):
    y = np.zeros((bins, 2))
    np.add.at(y, index.astype(int), x)
    return {"y": y}
