"""Takes secrets out of texts and structures by the rules of two tables; `redact` is the door."""
