def reference(x, *, rows, cols):
    return {"y": x.sum(axis=1)}
