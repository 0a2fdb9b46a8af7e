"""One model call, whoever answers it."""
