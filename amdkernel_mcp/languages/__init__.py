"""How a candidate of any language becomes a launch plan, a code object and source lines."""
