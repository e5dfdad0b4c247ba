def reference(x, *, n, scale):
    return {"y": x * scale}
