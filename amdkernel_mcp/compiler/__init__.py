"""Source to code object: toolchain, flags, diagnostics, resources, cache."""
