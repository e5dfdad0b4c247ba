"""`amdkernel bringup`: what a machine with an AMD GPU is and does, as probes and an archive of what they read."""
