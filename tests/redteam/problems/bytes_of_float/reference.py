def reference(x, *, n, factor):
    return {"y": x * factor}
