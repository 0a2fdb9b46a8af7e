"""Rates tool calls by what they would do, from the rules of one table; `judge` is the door."""
