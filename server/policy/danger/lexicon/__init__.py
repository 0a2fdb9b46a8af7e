"""Words of other languages, and what they mean in the words that the rules are written in."""
