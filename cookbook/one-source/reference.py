def reference(a, b, *, rows, words):
    return {"y": a.astype(int) @ b.astype(int)}
