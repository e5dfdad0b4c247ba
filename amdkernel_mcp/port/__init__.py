"""CUDA sources: what they are in HIP, what in them breaks on waves of 64, and kernels of theirs as candidates."""
