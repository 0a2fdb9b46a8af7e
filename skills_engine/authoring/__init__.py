"""Tools for skill authors; nothing at run time needs them."""
