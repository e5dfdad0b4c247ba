"""How what a tool answers or raises becomes what a model reads: shortened, over the wire, errors with exit codes."""
