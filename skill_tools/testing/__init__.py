"""Tests of skills: read from YAML, played without a model, reported side by side with what was read."""
