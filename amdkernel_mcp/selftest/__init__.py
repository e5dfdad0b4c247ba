"""`amdkernel selftest`: kernels whose verdict is known, through the whole product on one target."""
