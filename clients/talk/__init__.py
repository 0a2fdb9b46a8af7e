"""A client for the command line: the example for client authors, of docs/protocol.md alone."""
