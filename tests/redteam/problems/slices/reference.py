def reference(x, *, n):
    return {"y": 2 * x}
