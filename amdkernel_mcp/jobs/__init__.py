"""Work that may outlast the call that asked for it, and the server that accepted it."""
