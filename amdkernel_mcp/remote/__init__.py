"""A team's server as its users reach it: one request over HTTP, and an engine whose work is done there."""
