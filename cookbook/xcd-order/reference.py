def reference(x, w, *, rows, k):
    return {"y": x @ w.T}
