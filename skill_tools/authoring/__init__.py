"""Tools for skill authors: new skills, lint, simulated turns, costs."""
