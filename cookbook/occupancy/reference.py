def reference(x, *, rows, times):
    return {"y": x.sum(axis=0)}
