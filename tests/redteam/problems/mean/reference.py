def reference(x, *, n):
    return {"mean": x.mean(keepdims=True)}
