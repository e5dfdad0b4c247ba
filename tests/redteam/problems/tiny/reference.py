def reference(x, *, n):
    return {"y": x * 2.0**-130}
