def reference(x, *, rows, cols):
    return {"y": x.T}
