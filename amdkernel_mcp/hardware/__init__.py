"""Facts about GPUs: peaks, limits, occupancy."""
