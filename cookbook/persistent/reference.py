def reference(x, table, *, n):
    return {"y": table[x.astype(int)]}
