"""What a human is asked about a tool call, how a yes sounds, and what is remembered."""
