"""Skills that travel: packed, added from elsewhere, imported."""
