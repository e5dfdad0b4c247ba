"""Where documents come from, and how they get here."""
