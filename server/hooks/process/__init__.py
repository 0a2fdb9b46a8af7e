"""A hook in a child process: its lines, its life, its health."""
