"""Who may use a GPU now."""
