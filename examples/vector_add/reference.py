def reference(x, y, *, n):
    return {"z": x + y}
