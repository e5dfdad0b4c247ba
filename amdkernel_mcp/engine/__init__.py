"""The verbs on kernels and the steps that they are made of."""
