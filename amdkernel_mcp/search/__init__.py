"""Documentation: corpus to passages, passages to answers."""
