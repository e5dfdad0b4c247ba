def reference(x, *, n):
    return {"total": x.astype("int64").sum(keepdims=True)}
