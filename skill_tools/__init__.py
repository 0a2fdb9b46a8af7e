"""Tools for skill authors, which stand on the engine and the server: neither imports them."""
