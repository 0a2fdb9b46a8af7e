"""The doors: the only code that holds sockets and HTTP requests."""
