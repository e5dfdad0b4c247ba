"""What goes to the runner in the sandbox and what comes back: data only, nothing here runs anything."""
