"""Ears and mouth: what the reply sounds like, sentence by sentence."""
