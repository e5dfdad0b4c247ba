"""`amdkernel setup` and `amdkernel doctor`: the image, its root file system, what is missing."""
