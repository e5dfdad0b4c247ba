"""Readers of the files of AMD's profilers: one module per format, all return a `Recording`."""
