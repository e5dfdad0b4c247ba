"""`amdkernel worker`: takes runs of a server on this machine."""
