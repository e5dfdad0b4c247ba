"""The launch plan of a kernel: its lines, and the launches that they become for one case."""
