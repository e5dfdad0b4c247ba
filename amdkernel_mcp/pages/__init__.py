"""The page of a server: what runs, what waits, what was tried."""
