def reference(x, *, n, a):
    return {"y": a * x}
