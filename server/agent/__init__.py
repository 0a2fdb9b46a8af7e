"""One reply: planning, tools, answer, and what skills inject on the way."""
