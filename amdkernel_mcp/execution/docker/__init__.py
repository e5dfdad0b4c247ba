"""The sandbox in Docker: daemon, containers, streams, clean-up."""
