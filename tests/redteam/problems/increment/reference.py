def reference(x, *, n):
    return {"x": 2 * x + 1}
