"""amdkernel-mcp: the execution plane for HIP kernels on AMD GPUs.

Nothing heavy is imported here: the stdio server must answer its client within a second of being started.
"""

__version__ = "0.3.0"
