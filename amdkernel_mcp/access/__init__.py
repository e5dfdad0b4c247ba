"""Who may what: scopes, tokens and the audit log, in the database."""
