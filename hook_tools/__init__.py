"""Tools for the authors of process hooks."""
