"""Programs that run others: what they run is judged."""
