"""What the names of tools say."""
