def reference(x, z, *, n):
    return {"y": x + 0.001 * z}
