"""Measures the running server from outside: real processes, real sockets, one clock.

All processes stand on one machine and read the same monotonic clock, so that a
time stamp taken in one may be subtracted from one taken in another.
"""
