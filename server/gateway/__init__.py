"""The gateway: the only code that holds sockets and HTTP requests."""
