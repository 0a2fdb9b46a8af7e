"""The rules: each finds one kind of secret in a page. Data in tables, patterns that look at a bounded stretch."""
