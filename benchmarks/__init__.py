"""Measures the running server from outside: real process, real sockets."""
