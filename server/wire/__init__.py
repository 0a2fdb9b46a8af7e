"""The language of client and server: frames and their bytes, no I/O."""
