"""Tells which tool calls a careful person would want to be asked about. Pure."""
