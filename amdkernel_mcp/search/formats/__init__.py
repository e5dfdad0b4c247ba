"""Readers of document formats: each makes a page of sections."""
