"""OpenAI's Realtime API (GA) as a translation of `parley.v1`: no I/O, no second agent loop (docs/realtime.md)."""
