"""Reading what AMD's profilers wrote: one module per format, all giving the same `Recording`."""
