"""The commands of `amdkernel`, a module per group: parse, one call of the engine, print."""
