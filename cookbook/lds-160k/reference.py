def reference(index, table, *, times):
    return {"y": table[index.astype(int)]}
